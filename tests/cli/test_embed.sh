# Lines become vectors: as JSON, as a matrix for NumPy, whatever the batch.
. tests/cli/lib.sh "$1"
make_dataset

small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.vocab=auto'
"$loam" train "$work/config.yaml" run.dir="$work/bert" model.preset=bert-base model.n_enc=1 model.n_dec=0 $small \
    model.max_positions=64 data.objective=mlm 'train.length=2 steps' 2>"$work/log" || fail "bert: $(tail -n 2 "$work/log")"
"$loam" train "$work/config.yaml" run.dir="$work/t5" 'train.length=2 steps' 2>"$work/log" || fail "t5"

head -n 50 "$work/corpus.txt" | grep . >"$work/lines"
n=$(wc -l <"$work/lines")
vectors() { "$loam" embed "$@" 2>"$work/err" || fail "embed $*: $(cat "$work/err")"; }
numbers() { tr -cs '0-9.e\n-' ' ' <"$1" | sed 's/^ *e*[a-z]* *//'; }

for pooling in mean first pooler; do
    vectors --model "$work/bert" --pooling "$pooling" <"$work/lines" >"$work/$pooling"
    [ "$(grep -c '^{"embedding":\[-\?[0-9]' "$work/$pooling")" = "$n" ] || fail "$pooling: not $n lines"
    [ "$(head -n 1 "$work/$pooling" | tr -cd , | wc -c)" = 31 ] || fail "$pooling: not 32 numbers"
done
cmp -s "$work/mean" "$work/first" && fail "mean and first are the same"
vectors --model "$work/t5" "$work/lines" "$work/lines" >"$work/t5.json"
[ "$(wc -l <"$work/t5.json")" = $((2 * n)) ] || fail "a T5, two files"
cmp -s <(head -n "$n" "$work/t5.json") <(tail -n "$n" "$work/t5.json") || fail "the same lines, other vectors"
echo "ok: a line a vector, from a BERT and from a T5"

vectors --model "$work/bert" --batch 1 <"$work/lines" >"$work/single"
paste -d' ' <(numbers "$work/mean") <(numbers "$work/single") | awk '{
    for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d > 1e-5 || d < -1e-5) exit 1 } }' || fail "batches differ"
echo "ok: the batch does not matter"

vectors --model "$work/bert" --normalize <"$work/lines" >"$work/unit"
numbers "$work/unit" | awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.9999 || s > 1.0001) exit 1 }' ||
    fail "not of length 1"
sed 's/.*/{"id": 1, "text": "&"}/' "$work/lines" >"$work/lines.jsonl"
vectors --model "$work/bert" --jsonl text "$work/lines.jsonl" >"$work/jsonl"
cmp "$work/jsonl" "$work/mean" || fail "the lines as JSON, other vectors"
vectors --model "$work/bert" --npy "$work/out.npy" <"$work/lines" >"$work/out"
[ ! -s "$work/out" ] && [ "$(stat -c %s "$work/out.npy")" = $((128 + n * 32 * 4)) ] || fail "the matrix has another size"
head -c 128 "$work/out.npy" | grep -qaF "'shape': ($n, 32)" || fail "the matrix does not say its shape"
! compgen -G "$work/out.npy*.tmp" >/dev/null || fail "a file is left"
ln -s target.npy "$work/link.npy"
vectors --model "$work/bert" --npy "$work/link.npy" <"$work/lines" >"$work/out"
[ -L "$work/link.npy" ] && cmp "$work/target.npy" "$work/out.npy" || fail "a link is replaced"
echo 'ba ce' | vectors --model "$work/bert" --pooling none >"$work/out"
grep -q '^{"ids":\[[0-9,]*\],"embedding":\[\[-\?[0-9]' "$work/out" || fail "no vector a token: $(cat "$work/out")"
echo "ok: lengths, JSON fields, matrices, tokens"

tr '\n' ' ' <"$work/lines" >"$work/long"
vectors --model "$work/bert" "$work/long" "$work/long" >"$work/out"
grep -q 'texts longer than 64 tokens are cut, such as line 1$' "$work/err" && grep -q '2 of 2 texts were cut' "$work/err" ||
    fail "no word of the cut: $(cat "$work/err")"
echo "ok: long texts are cut with a warning"

"$loam" export "$work/bert" --to hf --out "$work/hf" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
ids() { echo 'ba ce di fo gu ha je' | vectors --model "$work/hf" --pooling none "$@" | grep -o '"ids":\[[0-9,]*' | tr -c '0-9\n' ' '; }
whole=$(ids) right=$(ids --max-tokens 4)
sed -i 's/^{/{"truncation_side": "left",/' "$work/hf/tokenizer_config.json"
left=$(ids --max-tokens 4)
[ "$(wc -w <<<"$left")" = 4 ] && [ "$left" != "$right" ] || fail "of $whole the right cut keeps $right, the left one $left"
[ "$(awk '{ print $(NF - 1), $NF }' <<<"$left")" = "$(awk '{ print $(NF - 1), $NF }' <<<"$whole")" ] || fail "$whole is cut to $left"
echo '{"t":[7,8,9,10,11,12]}' | vectors --model "$work/bert" --jsonl t --pooling none --max-tokens 4 >"$work/out"
grep -q '^{"ids":\[7,8,9,10\],' "$work/out" || fail "ids, which have no special tokens around them: $(cat "$work/out")"
echo "ok: texts are cut on the side that tokenizer_config.json names"

expect 1 'want mean, first, pooler, none, last, max, sqrt or weighted' "$loam" embed --model "$work/bert" --pooling median
expect 1 'no pooler' "$loam" embed --model "$work/t5" --pooling pooler
expect 1 'model.max_positions is 64' "$loam" embed --model "$work/bert" --max-tokens 65
expect 1 'a --pooling other than none' "$loam" embed --model "$work/bert" --pooling none --npy "$work/x.npy"
expect 1 'line 1: not JSON' "$loam" embed --model "$work/bert" --jsonl text "$work/lines"
expect 1 '--model is missing' "$loam" embed
expect 1 'cannot read' "$loam" embed --model "$work/bert" "$work/absent"
echo '{"text": [5, 6, 7]}' >"$work/ids.jsonl"
expect 0 '{"embedding":[' "$loam" embed --model tests/parity/bert --jsonl text "$work/ids.jsonl"
