# Evaluations of a run with a task: its scores in the log, the best checkpoint by one of them, an end when the patience is
# used up, a rate that falls on a plateau; a run that was killed ends with the same bytes.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks # lib.sh
cat >config.yaml <<YAML
run: { dir: runs/a, seed: 7 }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
task: { data: marks.tsv, valid: 20%, input: "mark: {text}", target: "{mark}", scores: "accuracy,f1", positive: good }
data: { input_length: 32, target_length: 16 }
train: { length: 300 steps, batch: 16 samples, micro_batch: 8 samples, log_every: 5 steps, eval_every: 5 steps, save_every: 20, threads: 1,
         precision: f32, best: f1, patience: 4 }
optim: { name: adamw, lr: 1e-2, schedule: plateau, plateau_patience: 2, plateau_factor: 0.3, warmup: 3 steps }
YAML
records() { sed -n 's/,"\(tokens_per_s\|seconds\)":.*//p' "$1/metrics.jsonl"; }
state() { sed -n "s/.*\"$2\": \([-0-9.e]*\),*/\1/p" "$1/checkpoints/latest/state.json"; }

"$loam" train config.yaml 2>log || fail "train: $(tail -n 3 log)"
grep -q '"kind":"score","step":5,"examples":[0-9]*,"accuracy":[0-9.]*,"f1":[0-9.]*,"f1.precision":' runs/a/metrics.jsonl || fail "$(cat runs/a/metrics.jsonl)"
! grep -q '"kind":"score","step":0,' runs/a/metrics.jsonl || fail "an untrained model was scored"
last=$(sed -n 's/.*"kind":"score","step":\([0-9]*\),.*/\1/p' runs/a/metrics.jsonl | tail -n 1)
best=$(sed -n 's/.*"kind":"score","step":\([0-9]*\),.*"f1":\([0-9.]*\),.*/\1 \2/p' runs/a/metrics.jsonl | sort -k2,2gr -k1,1n | sed -n 1p)
[ "$(readlink runs/a/checkpoints/best)" = "step-$(printf %08d "${best% *}")" ] || fail "best is $(readlink runs/a/checkpoints/best), not $best"
[ "$last" = $((${best% *} + 20)) ] && [ "$last" -lt 300 ] || fail "best at ${best% *} and an end at $last, not 4 evaluations later"
grep -q "step $last  no better f1 in 4 evaluations: the run ends" log || fail "$(tail -n 3 log)"
tail -n 2 log >end
grep -q "^best by f1: step ${best% *}: f1 $(printf %.2f "${best#* }"), accuracy [0-9.]*, held-out loss [0-9.]*  runs/a/checkpoints/best" end || fail "$(cat end)"
"$loam" eval runs/a@best --task --json >out 2>err || fail "$(cat err)"
grep -q "\"name\":\"f1\".*\"f1\":${best#* }" out || fail "the best checkpoint scores $(cat out), not $best"
echo "ok: the best checkpoint by f1: step $best, and an end at $last"
# Another metric that a command on the ended run names is ignored, as it says, and the best checkpoint is still that of f1.
for metric in loss accuracy; do
    "$loam" train config.yaml train.best=$metric 2>err || fail "$(cat err)"
    grep -q 'the changes above are ignored' err && grep -q "^best by f1: step ${best% *}: f1 " err || fail "$(cat err)"
done
# The path of such a run means its best checkpoint, in every verb.
grep -q "^runs/a means the best checkpoint from here on, runs/a@latest the one of step $last" end || fail "$(cat end)"
"$loam" eval runs/a --task --json >again 2>err || fail "$(cat err)"
cmp out again && grep -q "^runs/a: its best checkpoint, step ${best% *}; runs/a@latest is step $last" err || fail "$(cat again err)"
"$loam" export runs/a@latest --to hf --out hf-last >/dev/null 2>err || fail "$(cat err)"
! grep -q 'its best checkpoint' err || fail "$(cat err)"
"$loam" export runs/a --to hf --out hf-best >/dev/null 2>err && "$loam" export runs/a@best --to hf --out hf-named >/dev/null 2>err || fail "$(cat err)"
cmp hf-best/model.safetensors hf-named/model.safetensors || fail "export RUN takes another checkpoint"
! cmp -s hf-best/model.safetensors hf-last/model.safetensors || fail "the last checkpoint is the best one"

# The rate: peak times 0.3 for every drop, as many as the state says.
drops=$(state runs/a drops)
[ "$drops" -ge 2 ] && [ "$(grep -c 'the learning rate is multiplied by 0.3' log)" = "$drops" ] || fail "$drops drops"
awk -v drops="$drops" -F'"lr":' '/"kind":"train"/ { split($2, at, ","); rate = at[1] } END { want = 0.01 * 0.3 ^ drops
    exit !(rate < want / 0.29 && rate > want * 0.99) }' runs/a/metrics.jsonl || fail "the last rate after $drops drops: $(tail -n 9 runs/a/metrics.jsonl)"
echo "ok: $drops drops of the rate"

# Killed before steps, evaluations and saves: the same lines, the same drops, the same bytes.
for fault in evaluation:2 step:7 save:2 evaluation:3 save:1 step:9; do
    status=0
    (LOAM_FAULT=$fault "$loam" train config.yaml run.dir=runs/b || exit $?) 2>log || status=$?
    [ "$status" = 137 ] || fail "$fault ended with $status: $(tail -n 2 log)"
done
"$loam" train config.yaml run.dir=runs/b 2>log || fail "resumed: $(tail -n 1 log)"
diff <(records runs/a) <(records runs/b) >diff || fail "other records: $(head -n 4 diff)"
for file in runs/a/checkpoints/latest/*; do
    cmp "$file" "runs/b/checkpoints/latest/${file##*/}" || fail "$file differs"
done
"$loam" train config.yaml run.dir=runs/b 2>log || fail "an ended run: $(tail -n 1 log)"
grep -q "nothing left to do at step $last; a larger train.patience goes on" log || fail "$(cat log)"
sed 's,runs/b,runs/a,g' log | tail -n 2 | cmp - end || fail "$(tail -n 1 log)"
echo "ok: a killed run ends with the same bytes"

# A part of the examples; none; a table that has gone, in runs that kept no examples (of earlier versions).
"$loam" train config.yaml run.dir=runs/part train.length='5 steps' train.eval_samples=20 2>log || fail "$(tail -n 1 log)"
grep -q 'evaluations answer 20 of its [0-9]* examples' log && grep -q '"examples":20,' runs/part/metrics.jsonl || fail "$(cat log)"
cp -r runs/part runs/other
expect 0 'the best loss so far (step 5) was computed by another train.best: the next' "$loam" train config.yaml run.dir=runs/other \
    train.length='6 steps' train.eval_samples=20 train.best=loss
"$loam" train config.yaml run.dir=runs/none train.length='5 steps' train.scores=false train.best=loss 2>log || fail "$(tail -n 1 log)"
! grep -q '"kind":"score"' runs/none/metrics.jsonl || fail "scores that nobody wanted"
grep -q '^best by loss: step 5: held-out loss [0-9.]*  runs/none' log || fail "$(tail -n 1 log)"
mv marks.tsv away.tsv
rm runs/none/task/train-valid.jsonl runs/part/task/train-valid.jsonl
"$loam" train config.yaml run.dir=runs/none train.length='10 steps' train.best=loss 2>log || fail "$(tail -n 1 log)"
grep -q 'cannot open marks.tsv: No such file or directory; evaluations give no scores' log || fail "$(cat log)"
expect 1 'train.best=f1: cannot open marks.tsv' "$loam" train config.yaml run.dir=runs/part
mv away.tsv marks.tsv
expect 1 'train.best: no score of the task is called f2; there are accuracy, f1, f1.precision, f1.recall' "$loam" train config.yaml run.dir=runs/c train.best=f2
expect 1 'train.best=f1 needs task.valid' "$loam" train config.yaml run.dir=runs/c task.valid= train.patience=0 optim.schedule=constant
expect 1 'train.patience needs held-out data' "$loam" train config.yaml run.dir=runs/d task.valid= train.best=loss

# What can never be scored is said before the first step.
awk -F '\t' -v OFS='\t' 'NR > 1 && NR % 3 == 0 { $2 = "so" } { print }' marks.tsv >three.tsv
expect 1 'f1: the references have three labels or more' "$loam" train config.yaml run.dir=runs/three task.data=three.tsv train.best=loss
[ ! -d runs/three/checkpoints ] || fail "a run was trained that cannot be scored"

# A start that failed leaves no held-out examples to a run without any.
expect 2 'this machine has' "$loam" train config.yaml run.dir=runs/again model.width=65536 model.ffn=1048576 model.n_enc=64
[ -s runs/again/task/train-valid.idx ] || fail "the start failed earlier: $(ls -R runs/again)"
echo mine >runs/again/task/notes.txt
"$loam" train config.yaml run.dir=runs/again task.valid= train.length='2 steps' train.best=loss train.patience=0 optim.schedule=constant 2>log || fail "$(tail -n 1 log)"
! grep -q 'held-out loss' log && [ ! -e runs/again/task/train-valid.idx ] && [ -s runs/again/task/notes.txt ] || fail "held-out examples of another start: $(cat log)"

# A head for labels is scored too, and its memory is beside that of the training.
"$loam" tokenizer train --type wordpiece --for bert --vocab-size 60 --out tok corpus.txt 2>err || fail "$(cat err)"
"$loam" train config.yaml run.dir=runs/bert tokenizer.path=tok model.family=bert model.n_dec=0 model.position=learned model.max_positions=64 \
    model.token_types=2 'task.input={text}' task.target= 'task.label={mark}' data.target_length=0 train.length='20 steps' \
    train.batch='128 samples' train.micro_batch='128 samples' 2>log || fail "$(tail -n 1 log)"
value=$(sed -n 's/.*"kind":"score","step":20,.*"accuracy":\([0-9.]*\),.*/\1/p' runs/bert/metrics.jsonl)
"$loam" eval runs/bert --task --json >out 2>err || fail "$(cat err)"
[ -n "$value" ] && grep -q "\"accuracy\":$value}" out || fail "accuracy $value in training: $(cat out)"
echo "ok: a classifier's accuracy of $value is that of eval --task"

# A score that is undefined in every evaluation, as pearson of references that are all equal, makes no checkpoint the best.
sed '2,$s/[0-9]*$/3/' marks.tsv >equal.tsv
"$loam" train config.yaml run.dir=runs/equal tokenizer.path=tok model.family=bert model.n_dec=0 model.position=learned model.max_positions=64 \
    model.token_types=2 task.data=equal.tsv 'task.input={text}' task.target= 'task.value={number}' task.scores=pearson train.best=pearson \
    data.target_length=0 train.length='10 steps' train.patience=0 optim.schedule=constant 2>log || fail "$(tail -n 1 log)"
why='there is no best checkpoint: the last 2 evaluations gave no finite pearson (train.best)'
[ "$(grep -c "^warning: $why" log)" = 1 ] || fail "$(cat log)"
expect 1 "runs/equal: $why; of its checkpoints there are latest, 10" "$loam" eval runs/equal@best --task

# So is a decoder alone, whose answers lose the space before them.
"$loam" train config.yaml run.dir=runs/gpt tokenizer.path=tok.model model.preset=gpt2 model.n_enc=0 model.max_positions=64 'task.target= {mark}' \
    data.target_length=8 train.length='60 steps' train.eval_every='60 steps' optim.lr=4e-3 2>log || fail "$(tail -n 1 log)"
value=$(sed -n 's/.*"kind":"score","step":60,.*"accuracy":\([0-9.]*\),.*/\1/p' runs/gpt/metrics.jsonl)
"$loam" eval runs/gpt --task --json >out 2>err || fail "$(cat err)"
[ -n "$value" ] && grep -q "\"accuracy\":$value}" out || fail "accuracy $value in training: $(cat out)"
echo "ok: a decoder's accuracy of $value is that of eval --task"
