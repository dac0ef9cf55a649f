# Text that the tokenizer does not know is told where a dataset is made, shown and trained on; losses are given per byte, too.
. tests/cli/lib.sh "$1"
make_dataset

printf 'ba ce di fo\n\nзимний лес и река\n\nва ве %s\n' "$(printf 'и%.0s' {1..20})" >"$work/strange.txt"
prepare() { "$loam" prepare --tokenizer "$work/tok.model" --keep-duplicates --replace --out "$work/strange" "$@"; }
expect 0 'strange: 3 documents, ' prepare "$work/strange.txt"
grep -q ' tokens, unknown [0-9.]* %$' "$work/out" || fail "no share: $(cat "$work/out")"
grep -q '^warning: .*strange: [0-9.]* % of the tokens are the unknown token.*does not know: и е .*--byte-fallback' "$work/err" || fail "$(cat "$work/err")"
grep -q '"commonest": "и е ' "$work/strange.json" || fail "$(cat "$work/strange.json")"
# Each dataset of one command has its own list.
printf '{"a": "猫 ba", "b": "犬 ce"}\n' >"$work/two.jsonl"
"$loam" prepare --tokenizer "$work/tok.model" --fields a,b --out "$work/two" "$work/two.jsonl" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '"commonest": "猫"' "$work/two_a_document.json" && grep -q '"commonest": "犬"' "$work/two_b_document.json" ||
    fail "$(cat "$work"/two_*.json)"
expect 0 '"unknown":' prepare --json "$work/strange.txt"
expect 0 'unknown tokens  ' "$loam" inspect dataset "$work/strange" --check
expect 0 '"unknown":' "$loam" inspect dataset "$work/strange" --json
"$loam" inspect dataset "$work/strange@test:2/0/1" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'strange@test:2/0/1: 1 documents' "$work/out" && ! grep -q unknown "$work/out" || fail "a part has the count of the whole: $(cat "$work/out")"
expect 0 'shuffled: 3 documents' "$loam" dataset shuffle "$work/strange" --out "$work/shuffled" # its writer counts, too
grep -A 4 '"unknown"' "$work/strange.json" >"$work/a" && grep -A 4 '"unknown"' "$work/shuffled.json" >"$work/b" && cmp "$work/a" "$work/b" ||
    fail "$(cat "$work/shuffled.json")"
expect 0 'of the tokens are the unknown token' "$loam" train "$work/config.yaml" run.dir="$work/run" data.train="$work/strange" \
    'train.length=1 steps'
sed -n 1,12p "$work/err" | grep -q '^warning: .*strange: ' || fail "not in the first lines: $(cat "$work/err")"
grep -q 'held-out loss .* bits per byte' "$work/err" || fail "$(cat "$work/err")"
eval_bits=$("$loam" eval "$work/run" --samples 16 --json | sed -E 's/.*"bits_per_byte": *([0-9.]{7}).*/\1/')
grep -q "\"bits_per_byte\": *$eval_bits" "$work/run/metrics.jsonl" || fail "eval says $eval_bits: $(cat "$work/run/metrics.jsonl")"
echo "ok: eval and training give the same bits per byte"

printf 'text\tlabel\nзимний лес\tgood\nриека\tbad\n' >"$work/table.tsv"
expect 0 'table.tsv: ' "$loam" task prepare --out "$work/table" tokenizer.path="$work/tok.model" task.data="$work/table.tsv" task.input='{text}' \
    task.target='{label}'
grep -q 'of the tokens are the unknown token' "$work/err" || fail "$(cat "$work/err")"

# A run on a table tells it once for each of its datasets, and that it would be judged by what it learns.
ln -s "$work/table.tsv" "$work/same.tsv"
expect 0 'step 1' "$loam" train "$work/config.yaml" run.dir="$work/table-run" data.train= data.valid= data.objective=seq2seq \
    task.data="$work/table.tsv" task.valid="$work/same.tsv" task.header=true task.input='{1}' task.target='{2}' task.scores=accuracy train.length='1 steps'
[ "$(grep -c 'of the tokens are the unknown token' "$work/err")" = 2 ] || fail "not once for each dataset: $(cat "$work/err")"
grep -q 'warning: task.valid: .*same.tsv is trained on (task.data)' "$work/err" || fail "$(cat "$work/err")"
# A pipe is read once, not for advice.
"$loam" task prepare --out "$work/piped" tokenizer.path="$work/tok.model" task.data=<(cat "$work/table.tsv") \
    task.format=tsv task.header=true task.input='{1}' task.target='{2}' >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q ': 2 examples' "$work/out" || fail "$(cat "$work/out")"
expect 0 "warning: data.valid: $work/strange is trained on (data.train)" "$loam" train "$work/config.yaml" run.dir="$work/judged" \
    data.train="$work/data,$work/strange" data.valid="own:$work/data-valid,learnt:$work/strange" train.length='1 steps'
[ "$(grep -c 'is trained on' "$work/err")" = 1 ] || fail "$(cat "$work/err")"

# A tokenizer that falls back to bytes knows everything, and says so.
"$loam" tokenizer train --type unigram --byte-fallback --vocab-size 400 --out "$work/bytes.model" "$work/corpus.txt" 2>"$work/err" || fail "$(cat "$work/err")"
expect 0 'bytes: 3 documents' "$loam" prepare --tokenizer "$work/bytes.model" --out "$work/bytes" "$work/strange.txt"
! grep -q unknown "$work/out" "$work/err" || fail "unknown: $(cat "$work/err")"
expect 0 'unknown tokens  0, 0 %' "$loam" inspect dataset "$work/bytes"

# A piece that is a part of a character, cut off by a sentinel, counts as its bytes, not as the three of U+FFFD.
sed 's/[a-z]/ж/g' "$work/corpus.txt" >"$work/letters.txt"
"$loam" tokenizer train --kind byte-bpe --for t5 --vocab-size 259 --out "$work/letters-tok" "$work/letters.txt" 2>"$work/err" || fail "$(cat "$work/err")"
"$loam" prepare --tokenizer "$work/letters-tok" --keep-duplicates --out "$work/letters" "$work/letters.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
letters="tokenizer.path=$work/letters-tok data.train=$work/letters data.valid=$work/letters"
# shellcheck disable=SC2086
"$loam" train "$work/config.yaml" run.dir="$work/bytes-run" $letters train.length='1 steps' 2>"$work/err" || fail "$(cat "$work/err")"
# shellcheck disable=SC2086
bytes=$("$loam" inspect batch "$work/config.yaml" --valid --samples 4 --json $letters | sed 's/.*"target_ids":\[//; s/].*//' |
    tr ',' '\n' | awk '$1 >= 3 && $1 < 259 { n++ } END { print n }')
"$loam" eval "$work/bytes-run" --samples 4 --json | tr ',{}' '\n\n\n' | awk -F : -v bytes="$bytes" '{ of[$1] = $2 }
    END { n = of["\"bits\""] * of["\"tokens\""] / of["\"bits_per_byte\""]; print n " bytes, not " bytes; exit n < bytes - 0.5 || n > bytes + 0.5 }' >"$work/out" ||
    fail "$(cat "$work/out")"
echo "ok: bytes of pieces that are parts of characters"
