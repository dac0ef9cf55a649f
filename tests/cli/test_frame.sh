# What stands around a text is one thing: in training on a task, in answers to it, in prompts and in exports; and it is what the
# files of the tokenizer say.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks
sed -n '2,$p' marks.tsv | cut -f 1 >corpus.txt
cut -f 1 marks.tsv | sed -n '2,13s/^/mark: /p' >prompts
cat >config.yaml <<YAML
run: { seed: 7 }
model: { width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0, vocab: auto }
task: { data: marks.tsv, valid: 20%, input: "mark: {text}", target: "{mark}", scores: accuracy }
data: { input_length: 48 }
train: { batch: 16 samples, eval_every: 0 steps, log_every: 100 steps, threads: 1, precision: f32 }
optim: { name: adamw, lr: 5e-3, schedule: constant, warmup: 0 steps }
YAML
# tunes NAME TOKENIZER STEPS OPTION…: a run on the task.
tunes() {
    "$loam" train config.yaml run.dir="runs/$1" tokenizer.path="$2" "train.length=$3 steps" "${@:4}" 2>log ||
        fail "$1: $(tail -n 3 log)"
}
# first NAME FIELD: the ids of that field of a sample of the run.
first() { "$loam" inspect batch "runs/$1/config.yaml" --step 1 --json 2>/dev/null | sed -n "1s/.*\"$2\": *\\[\\([0-9, ]*\\)\\].*/\\1/p" | tr -d ' '; }

# A Llama whose files say that BOS begins a text, by a flag of tokenizer_config.json.
"$loam" tokenizer train --kind sentencepiece-bpe --for gpt --vocab-size 40 --out llama.model corpus.txt 2>err || fail "$(cat err)"
mkdir llama && mv llama.model llama/spiece.model
cat >llama/tokenizer_config.json <<'JSON'
{"add_bos_token": true, "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 77, "chat_template": "{{ messages }}",
 "tokenizer_class": "LlamaTokenizer", "tokenizer_file": "/a/b", "padding_side": "left", "sp_model_kwargs": {"alpha": 0.5}}
JSON
bos=$("$loam" tokenizer describe --model llama --json | sed -n 's/.*"bos": *\([0-9]*\).*/\1/p')
tunes llama llama 5 model.preset=tinyllama-1.1b model.n_dec=1 model.kv_heads=2
case $(first llama ids) in $bos,*) ;; *) fail "a sample without <s>: $(first llama ids)" ;; esac
"$loam" export runs/llama --to hf --out hf >/dev/null 2>err || fail "$(cat err)"
grep -q '"SpecialToken"' hf/tokenizer.json && grep -q '"<s>"' hf/tokenizer.json || fail "the export adds no <s>"
tr -d ' \n' <hf/tokenizer_config.json >all
for part in '"model_max_length":77,' '"chat_template":"{{messages}}"' '"padding_side":"left"' '{"alpha":0.5}' \
    '"tokenizer_class":"PreTrainedTokenizerFast"'; do
    grep -qF -- "$part" all || fail "no $part in the export: $(cat all)"
done
! grep -q '/a/b' all || fail "a path of the base in the export"
for model in runs/llama hf; do
    for how in "predict $model --raw data.target_length=16" "generate --model $model --max-tokens 16"; do
        "$loam" $how <prompts >"out" 2>err || fail "$how: $(cat err)"
        sed 's/^ *//' out >trimmed
        [ -e answers ] || cp trimmed answers
        cmp answers trimmed || fail "$how answers otherwise: $(diff answers trimmed)"
    done
done
grep -q . answers || fail "no answer"
echo "ok: a decoder reads <s> in training, prompts, answers and exports"

# The same model without the flag reads no <s>, and gives other probabilities.
cp -r hf bare && sed -i 's/"SpecialToken"/"Nothing"/' bare/tokenizer.json
for model in hf bare; do "$loam" predict $model --raw --json data.target_length=16 <prompts >$model.jsonl 2>err || fail "$(cat err)"; done
! cmp -s hf.jsonl bare.jsonl || fail "<s> changes nothing"

# A T5 with a tokenizer of RoBERTa, as CodeT5 has one: <s> A </s> for inputs and targets; <s> is no part of an answer.
"$loam" tokenizer train --kind byte-bpe --for roberta --vocab-size 300 --min-frequency 1 --out roberta corpus.txt 2>err || fail "$(cat err)"
tunes codet5 roberta 160 model.n_enc=1 model.n_dec=1 data.target_length=16
case $(first codet5 input_ids) in 0,*) ;; *) fail "an input without <s>: $(first codet5 input_ids)" ;; esac
case $(first codet5 target_ids) in 0,*,2) ;; *) fail "a target without <s>: $(first codet5 target_ids)" ;; esac
"$loam" eval runs/codet5 --task >scores 2>err || fail "$(cat err)"
awk '/^accuracy/ { exit !($3 > 90) }' scores || fail "it learned little: $(cat scores)"
"$loam" eval runs/codet5 --task --rank sum >scores 2>err || fail "$(cat err)"
awk '/^accuracy/ { exit !($3 > 90) }' scores || fail "labels are ranked without <s>: $(cat scores)"
printf 'mark: bari tuka koti mesa\n' | "$loam" generate --model runs/codet5 >out 2>err
[ "$(cat out)" = good ] || fail "generate: $(cat out)"
echo "ok: a T5 with RoBERTa's tokenizer reads and writes <s> A </s>"
