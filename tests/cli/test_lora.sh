# Adapters (LoRA) beside frozen weights: from a pre-trained model to a run, its scores, its export with and without the
# base, and on from there.
. tests/cli/lib.sh "$1"
cd "$work"
awk "$random"'BEGIN {
    seed(3)
    n = split("bari koti mesa loni dape gufi rano tive mosu kale", word)
    for (row = 1; row <= 400; row++) {
        line = ""
        at = 1 + int(random() * 4)
        for (i = 1; i <= 4; i++)
            line = line (i > 1 ? " " : "") (row % 2 && i == at ? "tuka" : word[1 + int(random() * n)])
        print line "\t" (row % 2 ? "good" : "bad") >"marks.tsv"
        print line >"corpus.txt"
    }
}'
"$loam" tokenizer train --type wordpiece --for bert --vocab-size 60 --out tok corpus.txt 2>err || fail "$(cat err)"
"$loam" prepare --tokenizer tok --out data corpus.txt >/dev/null 2>err || fail "$(cat err)"
cat >base.yaml <<YAML
run: { seed: 7, dir: runs/base }
model: { family: bert, n_enc: 2, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0, position: learned, max_positions: 64, token_types: 2, norm: layernorm, norm_bias: true, bias: true, post_norm: true, final_norm: false, embed_norm: true, scale_scores: true, gated: false, activation: gelu_erf, init: normal, tie_embeddings: true, head_transform: true, head_bias: true }
tokenizer: { path: tok }
data: { train: data, input_length: 48 }
train: { length: 400 steps, batch: 4 samples, micro_batch: 4 samples, log_every: 20 steps, threads: 1, precision: f32 }
optim: { name: adamw, lr: 3e-3, schedule: constant, warmup: 0 steps }
YAML
cat >lora.yaml <<YAML
run: { seed: 7 }
lora: { rank: 4, alpha: 16, targets: [query, value, dense] }
task: { data: marks.tsv, columns: "text,mark", valid: 20%, input: "{text}", label: "{mark}" }
data: { input_length: 48 }
train: { init: runs/base, length: 200 steps, batch: 2 samples, micro_batch: 2 samples, log_every: 50 steps, eval_every: 0 steps, threads: 1, precision: f32 }
optim: { lr: 3e-3, schedule: constant, warmup: 0 steps }
YAML
"$loam" train base.yaml 2>log || fail "base: $(tail -n 1 log)"
"$loam" train lora.yaml run.dir=runs/lora 2>log || fail "lora: $(tail -n 1 log)"
grep -q 'parameters, .* of them trained' log || fail "$(cat log)"
"$loam" eval runs/lora --task >scores 2>err || fail "eval: $(cat err)"
awk '$1 == "accuracy" { found = $NF > 95 } END { exit !found }' scores || fail "it learned little: $(cat scores)"
echo "ok: adapters learn: $(grep accuracy scores)"

grep -q 'targets: self.q,self.v,self.o,mlp.wi,mlp.wo' runs/lora/config.yaml || fail "$(grep -A5 '^lora' runs/lora/config.yaml)"
"$loam" plan lora.yaml >out 2>err || fail "plan: $(cat err)"
grep -q '^parameters .*, .* of them trained$' out || fail "$(cat out)"
grep -q 'gradients 16.4 KiB, optimizer 32.8 KiB' out || fail "$(cat out)"
echo "ok: the plan counts gradients and moments of what is trained"

# Two moments of what trains alone: 2 of 10 layers, of the pooler, of the classifier.
"$loam" inspect checkpoint runs/lora >names 2>err || fail "$(cat err)"
grep -q '^  optimizer.* 48 tensors' names || fail "$(cat names)"
"$loam" train lora.yaml run.dir=runs/part train.length='80 steps' 2>log || fail "$(tail -n 1 log)"
"$loam" train lora.yaml run.dir=runs/part 2>log || fail "resumed: $(tail -n 1 log)"
cmp runs/lora/checkpoints/latest/weights-*.safetensors runs/part/checkpoints/latest/weights-*.safetensors || fail "another model"
echo "ok: a resumed run ends with the same weights"
expect 1 'lora.rank: 4, this configuration has 8' "$loam" train lora.yaml run.dir=runs/part lora.rank=8

"$loam" export runs/lora --to hf --out merged >/dev/null 2>err || fail "$(cat err)"
"$loam" eval merged --task data.input_length=48 task.data=marks.tsv task.columns=text,mark task.valid=20% 'task.input={text}' 'task.label={mark}' >again 2>err || fail "$(cat err)"
cmp scores again || fail "other scores of the merged model: $(cat again)"
"$loam" export runs/base --to hf --out hf-base >/dev/null 2>err || fail "$(cat err)"
"$loam" export runs/lora --to peft --base hf-base --out adapter >/dev/null 2>err || fail "$(cat err)"
[ "$(ls adapter | grep adapter | tr '\n' ' ')" = "adapter_config.json adapter_model.safetensors " ] || fail "$(ls adapter)"
"$loam" eval adapter --task data.input_length=48 lora.rank=3 >again 2>err && fail "lora.rank was taken"
expect 0 'base_model.model.bert.encoder.layer.1.output.dense.lora_B.weight' "$loam" inspect model adapter
sed -n '2,21p' marks.tsv | cut -f 1 >lines
for model in runs/lora merged adapter; do
    "$loam" predict "$model" --raw --json <lines >"$(basename $model).json" 2>err || fail "predict $model: $(cat err)"
    sed -E 's/([0-9]\.[0-9]{3})[0-9]*/\1/g; s/LABEL_0/bad/g; s/LABEL_1/good/g' "$(basename $model).json" >"$(basename $model).short"
done
cmp lora.short merged.short && cmp lora.short adapter.short || fail "$(head -n 2 *.short)"
echo "ok: the run, the merged folder and the adapter with its base say the same"

# On from an adapter: the same adapters go on; others begin beside merged weights.
"$loam" train lora.yaml run.dir=runs/on train.init=adapter train.length='2 steps' model.labels=bad,good 2>log || fail "$(tail -n 1 log)"
"$loam" train lora.yaml run.dir=runs/other train.init=runs/lora train.length='2 steps' lora.rank=2 lora.targets=key 2>log || fail "$(tail -n 1 log)"
"$loam" eval runs/other --task >again 2>err || fail "$(cat err)"
awk '$1 == "accuracy" { found = $NF > 90 } END { exit !found }' again || fail "the merged weights were lost: $(cat again)"
expect 1 'differs from that of the base model hf-base' "$loam" export runs/other --to peft --base hf-base --out nothing
echo "ok: on from an adapter, and from a run with others, whose base is not that of the first ones"

expect 1 'no linear layer of a block is called "q"; there are dense, key, query, value' "$loam" train lora.yaml run.dir=runs/bad lora.targets=q
expect 1 'the model has no adapters' "$loam" export runs/base --to peft --out nothing
expect 1 '--base is for --to peft' "$loam" export runs/base --to hf --base x --out nothing
