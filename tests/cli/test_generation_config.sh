# What config.json and generation_config.json say of starts, ends and settings is what generation, scores and exports go by.
# The folders and their answers are transformers' own (tools/make-generation.py); none has a tokenizer, so prompts are ids.
. tests/cli/lib.sh "$1"

# answers MODEL FOLDER: MODEL answers the prompts of FOLDER as transformers did, with no option but --jsonl.
answers() {
    "$loam" generate --model "$1" --jsonl prompt --json <"$2/answers.jsonl" >"$work/answers" 2>"$work/err" ||
        fail "$1: $(cat "$work/err")"
    diff <(grep -o '"ids": \[[^]]*\]\|"finished": [a-z]*' "$2/answers.jsonl" | tr -d ' ') \
        <(grep -o '"ids":\[[^]]*\]\|"finished":[a-z]*' "$work/answers") || fail "$1 answers otherwise than transformers"
    echo "ok: $1 answers as transformers does"
}

# setting FOLDER KEY: what generation_config.json says there, without blanks.
setting() {
    tr -d ' \n' <"$1/generation_config.json" | grep -o "\"$2\":\(\[[^]]*\]\|[^],}]*\)" || true
}

# scores MODEL FOLDER: the score of each target is that of the training loss.
scores() {
    sed 's/"prompt"/"input"/' "$2/answers.jsonl" >"$work/pairs"
    "$loam" eval "$1" --score "$work/pairs" >"$work/scores" 2>"$work/err" || fail "$1: $(cat "$work/err")"
    paste <(sed 's/.*"score": \([-0-9.]*\).*/\1/' "$2/answers.jsonl") <(sed 's/.*"logprob":\([-0-9.]*\).*/\1/' "$work/scores") |
        awk '{ if ($1 - $2 > 1e-3 || $2 - $1 > 1e-3) exit 1 }' || fail "$1: scores differ"
    echo "ok: $1 scores as training does"
}

for name in t5-start llama-ends gpt2-penalty; do
    folder=tests/generation/$name
    answers "$folder" "$folder"
    expect 0 "$work/$name" "$loam" import "$folder" --out "$work/$name"
    answers "$work/$name" "$folder"
    expect 0 "$work/$name-hf" "$loam" export "$work/$name" --to hf --out "$work/$name-hf"
    answers "$work/$name-hf" "$folder"
    for key in eos_token_id bos_token_id decoder_start_token_id pad_token_id max_new_tokens repetition_penalty; do
        was=$(setting "$folder" $key) is=$(setting "$work/$name-hf" $key)
        [ -z "$was" ] || [ "$was" = "$is" ] || fail "$name: $was became $is on its way"
    done
done
for model in tests/generation/t5-start "$work/t5-start" "$work/t5-start-hf"; do
    scores "$model" tests/generation/t5-start
done

# Batches of one size on one thread, whose sums round alike. A decoder that starts with another id than the tokenizer's padding: in the loss, in training, and in what training writes.
make_dataset
short="run.dir=$work/run train.precision=f32 train.length=2steps"
"$loam" train "$work/config.yaml" $short 2>"$work/log" || fail "$(cat "$work/log")"
"$loam" export "$work/run" --to hf --out "$work/zero" >/dev/null
cp -r "$work/zero" "$work/seven"
sed -i 's/"decoder_start_token_id": 0/"decoder_start_token_id": 7/' "$work/seven"/*.json
loss() { "$loam" eval "$1" data.valid="$work/data-valid" data.input_length=64 run.seed=7 train.micro_batch=4samples train.threads=1 --json | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
zero=$(loss "$work/zero") seven=$(loss "$work/seven")
[ "$zero" = "$(loss "$work/run")" ] || fail "the run starts otherwise than its export"
[ "$zero" != "$seven" ] || fail "the loss does not see how the decoder starts"
tune="run.dir=$work/tuned train.precision=f32 train.init=$work/seven optim.lr=0 train.eval_every=1steps train.eval_samples=0"
"$loam" train "$work/config.yaml" $tune train.length=1steps 2>"$work/log" || fail "$(cat "$work/log")"
"$loam" train "$work/config.yaml" $tune train.length=2steps 2>"$work/log" || fail "$(cat "$work/log")"
sed -n 's/.*"kind":"valid".*"loss":\([0-9.]*\).*/\1/p' "$work/tuned/metrics.jsonl" >"$work/losses"
[ "$(sort -u "$work/losses" | cut -c1-8)" = "${seven:0:8}" ] || fail "a run from the folder starts otherwise: $(cat "$work/losses"), not $seven"
[ "$(loss "$work/tuned")" = "$seven" ] || fail "the run forgot how its decoder starts"
"$loam" export "$work/tuned" --to hf --out "$work/tuned-hf" >/dev/null
grep -q '"decoder_start_token_id": 7' "$work/tuned-hf/config.json" || fail "the export of the run starts otherwise"
echo "ok: a decoder's start goes from a folder through training to a folder"

# Ids that are none of the tokenizer's have no probability, unlike in transformers, which an export tells by suppress_tokens.
cp -r "$work/zero" "$work/padded"
echo '{}' >"$work/padded/generation_config.json"
echo '{"input": "ba ce", "target": "di"}' >"$work/pairs"
told="of the model's 384 ids; the others have no probability"
expect 0 "$told" "$loam" eval "$work/padded" --score "$work/pairs"
expect 0 "$told" "$loam" import "$work/padded" --out "$work/padded-in"
"$loam" eval "$work/zero" --score "$work/pairs" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
! grep -q "no probability" "$work/err" || fail "an export of loam: $(cat "$work/err")"

echo '{"num_beams": 4, "do_sample": true, "length_penalty": 1.0}' >"$work/padded/generation_config.json"
echo 'ba ce' | "$loam" predict "$work/padded" --raw >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'that only loam generate may use: num_beams 4, do_sample true$' "$work/err" || fail "predict does not tell: $(cat "$work/err")"

# The settings of a model are defaults: named, and overruled by options.
cp -r tests/generation/gpt2-penalty "$work/chat"
cat >"$work/chat/generation_config.json" <<'JSON'
{"do_sample": true, "temperature": 0.5, "max_new_tokens": 3, "num_beams": 2, "no_repeat_ngram_size": 3, "length_penalty": 1.0}
JSON
say() { echo '20 30 40' | "$loam" generate --model "$work/chat" --ids "$@" 2>"$work/err" || fail "$(cat "$work/err")"; }
drawn=$(say)
[ "$(wc -w <<<"$drawn")" -le 3 ] || fail "max_new_tokens: $drawn"
grep -q "settings from the model's generation_config.json: .*do_sample true" "$work/err" || fail "no word of do_sample: $(cat "$work/err")"
grep -q "max_new_tokens 3" "$work/err" || fail "no word of max_new_tokens: $(cat "$work/err")"
grep -q "does not use: .*no_repeat_ngram_size 3" "$work/err" || fail "no word of what is not used: $(cat "$work/err")"
grep -q "does not use: .*num_beams 2" "$work/err" || fail "no word of num_beams: $(cat "$work/err")"
! grep -q "length_penalty" "$work/err" || fail "a setting that changes nothing is named"
[ "$drawn" = "$(say --temperature 0.5 --top-k 50 --max-tokens 3)" ] || fail "do_sample draws otherwise than its options"
! grep -q "beam search" "$work/err" || fail "no search: $(cat "$work/err")"
[ "$(say --temperature 0 --max-tokens 5)" = "$(say --beams 1 --temperature 0 --max-tokens 5)" ] || fail "--temperature 0 draws"
[ "$(wc -w <<<"$(say --temperature 0 --max-tokens 9)")" -gt 3 ] || fail "--max-tokens does not win"
say --beams 2 >/dev/null
! grep -q do_sample "$work/err" || fail "--beams draws"
echo "ok: settings of the model are defaults that options overrule"
cat >"$work/chat/generation_config.json" <<'JSON'
{"forced_bos_token_id": 0, "forced_eos_token_id": 1, "no_repeat_ngram_size": 1, "min_new_tokens": 1, "length_penalty": 0.0,
 "min_length": 0, "num_beam_groups": 1, "typical_p": 1.0, "bad_words_ids": null, "early_stopping": false}
JSON
say --max-tokens 1 >/dev/null
grep -q "does not use: forced_bos_token_id 0, forced_eos_token_id 1, no_repeat_ngram_size 1, min_new_tokens 1, length_penalty 0.0\$" "$work/err" ||
    fail "settings of 0 and 1, some without effect: $(cat "$work/err")"
echo '{"num_beams": 2}' >"$work/chat/generation_config.json"
say --max-tokens 1 >/dev/null
grep -q "the beam search is T5X's with --length-penalty 0.6" "$work/err" || fail "no word of the search: $(cat "$work/err")"
vocab=$(grep -o '"vocab_size": *[0-9]*' "$work/chat/config.json" | grep -o '[0-9]*$')
echo "{\"suppress_tokens\": [$((vocab - 1))]}" >"$work/chat/generation_config.json"
say --max-tokens 1 >/dev/null
grep -q "does not use: suppress_tokens \[$((vocab - 1))\]\$" "$work/err" || fail "the last id, which is a token: $(cat "$work/err")"
echo "ok: a setting of 0 or 1 is named unless transformers ignores that number"
echo '{"do_sample": true, "temperature": -2}' >"$work/chat/generation_config.json"
expect 1 'generation_config.json: --temperature -2 is out of range' "$loam" generate --model "$work/chat" --ids
echo '{"max_new_tokens": "many"}' >"$work/chat/generation_config.json"
expect 1 'generation_config.json: max_new_tokens is not a whole number' "$loam" generate --model "$work/chat" --ids
echo '{"eos_token_id": "</s>"}' >"$work/chat/generation_config.json"
expect 1 'chat/generation_config.json: eos_token_id is not a token id' "$loam" generate --model "$work/chat" --ids
expect 1 'has no tokenizer with it; give --tokenizer FILE, or --ids' "$loam" generate --model tests/generation/t5-start
expect 1 '--beams searches, --temperature draws' "$loam" generate --model "$work/absent" --beams 2 --temperature 1
echo '{"prompt": "a text"}' >"$work/text"
"$loam" generate --model tests/generation/llama-ends --jsonl prompt <"$work/text" 2>"$work/err" && fail "text without a tokenizer"
grep -q 'it is text, and the model has no tokenizer with it: give one, or token ids' "$work/err" || fail "$(cat "$work/err")"
echo '{"input": [], "target": [9, 8]}' >"$work/pairs"
expect 0 '"tokens":2' "$loam" eval tests/generation/llama-ends --score "$work/pairs"
cp tests/generation/llama-ends/* "$work/chat/" && sed 's/"bos_token_id": *[0-9]*/"bos_token_id": 50256/' tests/generation/llama-ends/config.json >"$work/chat/config.json"
echo '{"bos_token_id": 50256, "eos_token_id": 2}' >"$work/chat/generation_config.json"
echo 9 | "$loam" generate --model "$work/chat" --ids --max-tokens 1 >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(grep -c 'bos_token_id 50256 is left out' "$work/err")" = 1 ] || fail "not said once: $(cat "$work/err")"
echo "ok: an id beyond the vocabulary that two files name is left out with one line"
