# Answers as lines: what is not UTF-8, line ends, empty prompts. Models of bytes with random weights say anything.
. tests/cli/lib.sh "$1"
seq 1 400 | awk '{ print "line " $1 " says " $1 * 7 ".\n" }' >"$work/corpus.txt"
"$loam" prepare --tokenizer bytes --out "$work/data" "$work/corpus.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
tiny='model.width=16 model.ffn=32 model.heads=2 model.head_dim=8'
common="data.train=$work/data data.valid= data.input_length=32 train.batch=1samples train.length=1steps"
common="$common train.threads=1 optim.lr=0 model.vocab=auto"
echo "tokenizer: { path: bytes }" >"$work/config.yaml"
make_model() {
    local name=$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$work/$name" $common $tiny "$@" 2>"$work/log" || fail "$name: $(cat "$work/log")"
}
make_model t5 model.n_enc=1 model.n_dec=1
make_model gpt model.preset=gpt2 model.n_enc=0 model.n_dec=1 model.max_positions=512 data.objective=clm
make_model bert model.preset=bert-tiny model.n_enc=1 model.sentence_head=false model.pooler=false data.objective=mlm data.whole_word=false

# generate MODEL PROMPT OPTIONS…: answers on standard output.
generate() {
    local model=$1 prompt=$2
    shift 2
    printf '%b\n' "$prompt" | "$loam" generate --model "$model" "$@" 2>"$work/err" || fail "$model: $(cat "$work/err")"
}

generate "$work/t5" 'one\ntwo' --temperature 3 --n 20 --max-tokens 30 --json >"$work/out"
[ "$(wc -l <"$work/out")" = 40 ] || fail "$(wc -l <"$work/out") answers of 40"
iconv -f utf-8 -t utf-8 "$work/out" >/dev/null || fail "answers are not UTF-8"
grep -q '"invalid_utf8":true' "$work/out" && grep -q '�' "$work/out" || fail "nothing was replaced"
[ -z "$(grep -v '�' "$work/out" | grep invalid_utf8)" ] || fail "what is UTF-8 is said not to be"
echo "ok: bytes that are no UTF-8 are replaced, and said to be"
generate "$work/bert" 'caf <extra_id_0>' --json >"$work/out"
[ "$(grep -o '"piece"' "$work/out" | wc -l)" = 5 ] || fail "$(cat "$work/out")"
echo "ok: guesses are pieces of any bytes"

generate "$work/gpt" 'one\ntwo' --temperature 3 --n 50 --max-tokens 60 >"$work/out"
[ "$(wc -l <"$work/out")" = 100 ] || fail "$(wc -l <"$work/out") lines for 100 answers"
grep -aqF '\n' "$work/out" || fail "no line end was said, so none was escaped"
[ "$(tr -dc '\r' <"$work/out" | wc -c)" = 0 ] || fail "a carriage return in a line"
generate "$work/gpt" 'one\ntwo' --temperature 3 --n 50 --max-tokens 60 --json >"$work/json"
[ "$(wc -l <"$work/json")" = 100 ] && grep -qF '\n' "$work/json" || fail "--json"
echo "ok: an answer is a line"

# An empty prompt is the token that ended the text before.
generate "$work/gpt" '' --json >"$work/out"
grep -q '"prompt":"","text":' "$work/out" || fail "$(cat "$work/out")"
[ "$(generate "$work/gpt" '' --max-tokens 9)" = "$(generate "$work/gpt" 1 --ids --max-tokens 9)" ] || fail "it begins with another token"
echo "ok: a GPT answers an empty prompt"

for model in t5 gpt; do
    for beams in 1 3; do
        "$loam" bench generate --model "$work/$model" --batch 2 --input 5 --tokens 4 --beams $beams --runs 1 --threads 1 --json \
            >"$work/out" 2>"$work/err" || fail "bench generate of $model: $(cat "$work/err")"
        grep -q '"tokens_per_s": *[0-9.]*[1-9]' "$work/out" || fail "$(cat "$work/out")"
    done
done
"$loam" bench generate --model "$work/gpt" --input 5 --tokens 4 --runs 1 --threads 1 --profile >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '^speed .* tokens/s' "$work/out" && grep -q 'linear .* calls' "$work/out" || fail "$(cat "$work/out")"
expect 1 '--beams 0 is out of range' "$loam" bench generate --model "$work/gpt" --beams 0
expect 1 '--tokens 600 is too much: to prompts of 10 tokens this model has positions for answers of 503' "$loam" bench generate --model "$work/gpt" --input 10 --tokens 600
expect 1 'model.max_positions is 512' "$loam" bench generate --model "$work/gpt" --input 600 --tokens 4
expect 1 'has no decoder' "$loam" bench generate --model "$work/bert"
echo "ok: the answers of a model are timed, greedy and by beams"

# An answer ends where the positions of the model end, whatever stands beside it in its batch.
long=$(printf 'x%.0s' $(seq 500))
for how in '--temperature 3 --seed 3' '' '--beams 2'; do
    generate "$work/gpt" "one\n$long\ntwo" $how --max-tokens 60 --json >"$work/out"
    grep -q 'warning: answers end where the model.s context does: model.max_positions=512, prompt included' "$work/err" || fail "$(cat "$work/err")"
    [ "$(sed -n 2p "$work/out" | sed 's/.*"ids":\[\([^]]*\)\].*/\1/' | tr , '\n' | wc -l)" = 13 ] || fail "$how: $(sed -n 2p "$work/out")"
    generate "$work/gpt" "one\n$long\ntwo" $how --max-tokens 60 --json --batch 1 >"$work/alone"
    cmp <(sed 's/"logprob":[^,]*//' "$work/out") <(sed 's/"logprob":[^,]*//' "$work/alone") || fail "answers depend on their batch"
done
expect 1 '513 tokens; a prompt has at most 512, the positions of this model' bash -c "printf 'x%.0s' \$(seq 513) | '$loam' generate --model '$work/gpt'"
echo "ok: answers end with the model's context"

# On a terminal it says how to begin and how to end; elsewhere nobody is told.
if command -v script >/dev/null; then
    script -qec "$loam generate --model $work/gpt" /dev/null </dev/null >"$work/out"
    grep -q 'type a line and press Enter to get its answer; Ctrl-D ends' "$work/out" || fail "$(cat "$work/out")"
fi
"$loam" generate --model "$work/gpt" </dev/null 2>"$work/err" && ! grep -q 'Ctrl-D' "$work/err" || fail "$(cat "$work/err")"
