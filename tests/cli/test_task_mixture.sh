# A mixture of tasks: each task's scores at each evaluation, the best checkpoint by one of them or by their mean.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks # lib.sh
cat >task.yaml <<YAML
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
data: { input_length: 32, target_length: 8 }
YAML
mkdir here
(cd here && cp ../marks.tsv ../tok.model . &&
    "$loam" task prepare --out data/mark ../task.yaml task.data=marks.tsv task.valid=20% 'task.input=mark: {text}' 'task.target={mark}' \
        task.scores=accuracy,f1 task.positive=good 2>err) || fail "$(cat here/err)"
head -n 60 marks.tsv >odd.tsv
"$loam" task prepare --out here/data/odd task.yaml task.data=marks.tsv task.valid=odd.tsv 'task.input=odd: {text}' 'task.target={mark}' 2>err || fail "$(cat err)"
grep -q "data: $PWD/here/marks.tsv" here/data/mark-valid.task.yaml && grep -q 'valid: "20%"' here/data/mark-valid.task.yaml &&
    grep -q "valid: $PWD/odd.tsv" here/data/odd-valid.task.yaml || fail "$(cat here/data/*.yaml)"
cat >mix.yaml <<YAML
extends: task.yaml
run: { dir: runs/mix, seed: 7 }
data: { train: "here/data/mark,here/data/odd", valid: "mark:here/data/mark-valid,odd:here/data/odd-valid", objective: seq2seq }
train: { length: 60 steps, batch: 16 samples, micro_batch: 8 samples, log_every: 10 steps, eval_every: 10 steps, save_every: 20, threads: 1,
         precision: f32, best: mean }
optim: { name: adamw, lr: 1e-2, schedule: constant, warmup: 0 steps }
YAML
# figure RUN STEP NAME FIGURE: its value in the records of the run; without NAME "" that of the mean.
figure() { sed -n "s/.*\"kind\":\"score\",\"step\":$2,${3:+\"name\":\"$3\",}\"examples\".*\"$4\":\([0-9.]*\),.*/\1/p" "$1/metrics.jsonl"; }
"$loam" train mix.yaml 2>log || fail "$(tail -n 1 log)"
[ "$(grep -c '"kind":"score"' runs/mix/metrics.jsonl)" = 18 ] || fail "$(grep score runs/mix/metrics.jsonl)"
for step in 10 40 60; do
    awk -v a="$(figure runs/mix $step mark accuracy)" -v f="$(figure runs/mix $step mark f1)" -v o="$(figure runs/mix $step odd exact_match)" \
        -v m="$(figure runs/mix $step '' mean)" 'BEGIN { d = ((a + f) / 2 + o) / 2 - m; exit !(m != "" && d < 1e-9 && d > -1e-9) }' ||
        fail "the mean at $step: $(grep "\"score\",\"step\":$step," runs/mix/metrics.jsonl)"
done
"$loam" eval runs/mix --task task.data=here/marks.tsv task.valid=20% 'task.input=mark: {text}' 'task.target={mark}' task.scores=f1 task.positive=good --json >out 2>err ||
    fail "$(cat err)"
grep -q "\"f1\":$(figure runs/mix 60 mark f1)[,}]" out || fail "$(figure runs/mix 60 mark f1) in training: $(cat out)"
best=$(for step in 10 20 30 40 50 60; do echo "$step $(figure runs/mix $step '' mean)"; done | sort -k2,2gr -k1,1n | sed -n 1p)
[ "$(readlink runs/mix/checkpoints/best)" = "step-$(printf %08d "${best% *}")" ] || fail "best is $(readlink runs/mix/checkpoints/best), not $best"
tail -n 2 log | grep -q "^best by mean: step ${best% *}: mean $(printf %.2f "${best#* }"), mark.accuracy [0-9.]*, mark.f1 [0-9.]*, odd.exact_match" || fail "$(tail -n 1 log)"
"$loam" collect runs/mix >out
head -n 1 out | grep -Eq 'runs +mark.accuracy +mark.f1 +odd.exact_match +mean$' || fail "$(cat out)"
echo "ok: the scores of two tasks and their mean, $best at the best step"

# Killed before an evaluation and after one: the same records.
for fault in evaluation:3 step:25 save:2; do
    status=0
    (LOAM_FAULT=$fault "$loam" train mix.yaml run.dir=runs/again || exit $?) 2>log || status=$?
    [ "$status" = 137 ] || fail "$fault ended with $status: $(tail -n 2 log)"
done
"$loam" train mix.yaml run.dir=runs/again 2>log || fail "$(tail -n 1 log)"
records() { grep '"kind":"score"' "$1/metrics.jsonl" | sed 's/,"seconds":.*//'; }
diff <(records runs/mix) <(records runs/again) || fail "other records after kills"
"$loam" train mix.yaml run.dir=runs/one train.best=odd.exact_match train.length='10 steps' 2>log || fail "$(tail -n 1 log)"
grep -q '^best by odd.exact_match: step 10' log || fail "$(tail -n 1 log)"
"$loam" train mix.yaml run.dir=runs/single data.valid=here/data/mark-valid train.best=f1 train.length='10 steps' 2>log || fail "$(tail -n 1 log)"
grep -q '^best by f1: step 10' log && ! grep -q '"mean"' runs/single/metrics.jsonl || fail "$(tail -n 1 log)"
"$loam" train mix.yaml run.dir=runs/none train.best=loss train.scores=false train.length='10 steps' 2>log && ! grep -q '"score"' runs/none/metrics.jsonl || fail "scores: $(cat log)"
expect 1 'train.best=f2: want the score of a task, or their mean: mean, mark.accuracy, odd.exact_match' "$loam" train mix.yaml run.dir=runs/x train.best=f2
expect 1 'train.best: no score of the task is called f2; there are accuracy' "$loam" train mix.yaml run.dir=runs/x train.best=mark.f2
expect 1 'train.best=f1: no dataset of data.valid was made from a task' "$loam" train mix.yaml run.dir=runs/x train.best=f1 data.valid=here/data/mark
mv odd.tsv gone.tsv
expect 0 'odd.exact_match' "$loam" train mix.yaml run.dir=runs/kept train.length='10 steps' # its examples are beside the dataset
rm here/data/odd-valid.jsonl
expect 1 "train.best=mean: cannot open $PWD/odd.tsv" "$loam" train mix.yaml run.dir=runs/x
expect 0 'evaluations give no scores' "$loam" train mix.yaml run.dir=runs/y train.best=loss train.length='10 steps'
grep -q '"name":"mark"' runs/y/metrics.jsonl || fail "no scores of the other task"
echo 'task: { scores: f1, positve: x }' >here/data/mark-valid.task.yaml
expect 1 'mark-valid.task.yaml' "$loam" train mix.yaml run.dir=runs/x train.best=loss
