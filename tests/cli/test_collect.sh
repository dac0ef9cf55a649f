# labels: any-processor
# Several seeds and sweeps by one command, resumed and stopped; the table of their scores, whose means and deviations are
# counted again here from the records of the runs.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks # lib.sh
cat >config.yaml <<YAML
run: { dir: runs/grid }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
task: { data: marks.tsv, valid: 20%, input: "mark: {text}", target: "{mark}", scores: "accuracy,f1", positive: good }
data: { input_length: 32, target_length: 16 }
train: { length: 30 steps, batch: 16 samples, micro_batch: 16 samples, log_every: 10 steps, eval_every: 5 steps, threads: 1, precision: f32, best: accuracy }
optim: { name: adamw, lr: 1e-2, schedule: constant, warmup: 0 steps }
YAML
# best RUN FIGURE: its value at the run's best checkpoint; last RUN FIGURE: at the end.
at_step() { sed -n "s/.*\"kind\":\"score\",\"step\":$2,.*\"$3\":\([0-9.]*\),.*/\1/p" "$1/metrics.jsonl"; }
best() { at_step "$1" "$(readlink "$1/checkpoints/best" | sed 's/step-0*//')" "$2"; }
# row FIGURE RUN…: "MEAN ± STD" with two digits.
row() {
    local figure=$1 run
    shift
    for run; do best "$run" "$figure"; done | awk '{ x[NR] = $1; sum += $1 } END { mean = sum / NR
        for (i = 1; i <= NR; i++) squares += (x[i] - mean) ^ 2
        printf "%.2f ± %.2f", mean, sqrt(squares / (NR - 1)) }'
}

sweep="train config.yaml --seeds 3 --sweep optim.lr=1e-2,3e-3"
# Killed in the third run: the runs before it stay as they are, the third goes on, and the rest follows.
status=0
(LOAM_FAULT=step:70 "$loam" $sweep || exit $?) >out 2>log || status=$?
[ "$status" = 137 ] && [ -d runs/grid/optim.lr=1e-2/seed-3 ] && [ ! -d runs/grid/optim.lr=3e-3 ] || fail "status $status: $(ls runs/grid)"
cp runs/grid/optim.lr=1e-2/seed-1/metrics.jsonl before
status=0
(LOAM_FAULT=step:50:TERM "$loam" $sweep || exit $?) >out 2>log || status=$?
[ "$status" = 75 ] && [ ! -s out ] && grep -q 'stopped on request' log || fail "status $status: $(tail -n 2 log)"
"$loam" $sweep >table 2>log || fail "$(tail -n 1 log)"
cmp before runs/grid/optim.lr=1e-2/seed-1/metrics.jsonl || fail "a run that had ended was trained again"
[ "$(grep -c '== run' log)" = 6 ] && [ "$(grep -c 'nothing left to do at step 30' log)" -ge 3 ] || fail "$(cat log)"
for seed in 1 2 3; do
    grep -q "^  seed: $seed$" "runs/grid/optim.lr=3e-3/seed-$seed/config.yaml" || fail "seed $seed"
done
echo "ok: six runs by one command, killed, stopped and resumed"
"$loam" train config.yaml run.dir=runs/one run.seed=2 optim.lr=3e-3 2>log || fail "$(tail -n 1 log)"
cmp runs/one/checkpoints/latest/weights-*.safetensors runs/grid/optim.lr=3e-3/seed-2/checkpoints/latest/weights-*.safetensors ||
    fail "another run than the one of the same options and seed"
rm -r runs/one
echo "ok: a run of the sweep is the run of its options"

for rate in 1e-2:0.01 3e-3:0.003; do
    runs=$(echo "runs/grid/optim.lr=${rate%:*}"/seed-*)
    want="$(row accuracy $runs)  *$(row f1 $runs)"
    grep -Eq "^optim.lr=${rate#*:} +3 +$want\$" table || fail "want $want of ${rate#*:}: $(cat table)"
done
head -n 1 table | grep -Eq '^ +runs +accuracy +f1$' || fail "the heading: $(cat table)"
"$loam" collect runs/grid/optim.lr=1e-2/ runs/grid/optim.lr=3e-3 >again 2>err && cmp table again || fail "collect: $(cat again err)"
echo "ok: means and deviations: $(tail -n 1 table)"

# A run that was begun by a version without an option has the option's default.
cp -r runs/grid runs/older
sed -i '/^  architecture:/d; /^  tf32:/d; /^fp8:/,$d' runs/older/optim.lr=1e-2/seed-3/config.yaml
"$loam" collect runs/older >again 2>err && cmp table again || fail "collect of an older run: $(cat again err)"
rm -r runs/older

# A run that was continued by its folder names its own copy of the tokenizer, which is no other tokenizer.
goes_on() { "$loam" train "$1" run.seed="$2" train.length='10 steps' "${@:3}" 2>log; }
status=0
(LOAM_FAULT=step:5:TERM goes_on config.yaml 1 run.dir=runs/again/seed-1) || status=$?
[ "$status" = 75 ] || fail "status $status: $(tail -n 1 log)"
"$loam" collect runs/again 2>err >out && grep -q '1 of 1 runs have not ended (such as runs/again/seed-1): their scores' err || fail "$(cat out err)"
goes_on runs/again/seed-1 1 && goes_on config.yaml 2 run.dir=runs/again/seed-2 || fail "$status: $(tail -n 1 log)"
grep -q 'seed-1/spiece.model' runs/again/seed-1/config.yaml || fail "the run does not name its own tokenizer"
"$loam" collect runs/again >out 2>err && [ ! -s err ] && grep -Eq '^all runs +2 ' out || fail "two rows of one tokenizer, or not ended: $(cat out err)"
"$loam" compare runs/again/seed-1 runs/again/seed-2 >out
grep -q '^run.seed' out && ! grep tokenizer.path out || fail "the tokenizers are the same: $(cat out)"
"$loam" tokenizer train --type bpe --vocab-size 40 --out other.model <(cut -f 1 marks.tsv) 2>log || fail "$(cat log)"
goes_on config.yaml 2 run.dir=runs/again/other tokenizer.path=other.model || fail "$(tail -n 1 log)"
"$loam" collect runs/again >out 2>&1 && [ "$(grep -c '^tokenizer.path=' out)" = 2 ] || fail "another tokenizer: $(cat out)"
rm -r runs/again
echo "ok: one tokenizer at two paths is no difference"

# What cannot be counted is told: an evaluation that the file of a run with a best checkpoint lacks. A name is one line.
odd=$'runs/odd\n\033[31m'
cp -r runs/grid/optim.lr=3e-3/seed-2 "$odd"
for format in text tsv latex markdown; do
    "$loam" collect "$odd" --by path --format $format >out 2>err && grep -Eq 'odd\\+x0a' out && ! grep -q "$(printf '\033')" out || fail "$format: $(cat -v out err)"
done
sed -i '/"kind":"\(valid\|score\)"/d' "$odd/metrics.jsonl"
expect 1 'is left out: its metrics.jsonl lacks the evaluation of its best checkpoint, step ' "$loam" collect "$odd"
rm -r "$odd"

# A run counts once, by whatever paths it is given; a copy of it is said; one run has no deviation.
ln -s grid runs/link
"$loam" collect runs/grid runs/grid/optim.lr=3e-3/ "$PWD/runs/grid" runs/link/optim.lr=3e-3/seed-1 >again 2>err && cmp table again && [ ! -s err ] ||
    fail "runs that are given twice: $(cat again err)"
cp -r runs/grid/optim.lr=3e-3/seed-2 runs/copy
"$loam" collect runs/grid runs/copy >again 2>err && grep -Eq '^optim.lr=0.003 +4 ' again &&
    grep -qF '1 of 7 runs have the options and the seed of another one (runs/grid/optim.lr=3e-3/seed-2 and runs/copy have run.seed=2)' err ||
    fail "a copy of a run: $(cat again err)"
"$loam" collect runs/copy --format json >again 2>err && grep -q '"n":1,"mean":[0-9.]*,"std":null,' again || fail "one run: $(cat again)"
"$loam" collect runs/copy --format tsv >again && [ "$(sed -n 2p again | cut -f 4)" = '' ] || fail "one run: $(cat again)"
rm -r runs/link runs/copy
echo "ok: one run per folder"

"$loam" collect runs/grid --by path --scores f1.recall --digits 1 --format markdown >out
grep -Eq '^\| runs/grid/optim.lr=3e-3 \| +3 \| +[0-9.]+ ± [0-9.]+ \|$' out && [ "$(sed -n 2p out)" = '|---|--:|--:|' ] || fail "$(cat out)"
"$loam" collect runs/grid --scores loss,accuracy --digits 1 >out
head -n 1 out | grep -Eq 'loss +accuracy$' && grep -Eq '^optim.lr=0.003 +3 +[0-9]\.[0-9]{4} ± [0-9]\.[0-9]{4} +[0-9]+\.[0-9] ± ' out || fail "$(cat out)"
"$loam" collect runs/grid --format latex >out
grep -q '^optim.lr=0.01 & \$[0-9.]* \\pm [0-9.]*\$ & ' out && grep -q '^\\begin{tabular}{lrr}' out || fail "$(cat out)"
"$loam" collect runs/grid --last --format json >out
value=$(at_step runs/grid/optim.lr=1e-2/seed-2 30 accuracy)
sed -n 1p out | grep -q "\"name\":\"accuracy\",\"n\":3,.*\"values\":\[[0-9.]*,$value,[0-9.]*\]" || fail "no $value of step 30: $(cat out)"
"$loam" collect runs/grid --format tsv >out
[ "$(awk -F '\t' 'NF == 9' out | wc -l)" = 3 ] || fail "$(cat out)"
echo "ok: Markdown, LaTeX, TSV, JSON"

# Two tasks: their scores side by side; a list of seeds; a row by path; a run of no task by its loss.
sed 's/tuka/kale/' marks.tsv >others.tsv
for task in marks others; do
    "$loam" train config.yaml "run.dir=runs/pair/$task" task.data=$task.tsv train.length='5 steps' --seeds 7,9 >out 2>log || fail "$(tail -n 1 log)"
done
"$loam" collect runs/pair >out
[ "$(wc -l <out)" = 2 ] && grep -Eq 'runs +marks accuracy +marks f1 +others accuracy +others f1$' out &&
    grep -Eq '^all runs +2( +[0-9.]+ ± [0-9.]+){4}$' out || fail "$(cat out)"
"$loam" collect runs/pair/* --by path >out
grep -Eq '^runs/pair/others +2 +- +- ' out || fail "$(cat out)"
echo "ok: two tasks side by side"

# Options are compared over all tasks, but for those of a task, and those that decide nothing that is learnt.
other="task.data=others.tsv train.length=5"
"$loam" train config.yaml run.dir=runs/pair/slow $other optim.lr=1e-3 run.seed=7 2>log || fail "$(tail -n 1 log)"
"$loam" collect runs/pair/marks runs/pair/slow --scores accuracy >out
[ "$(sed 1d out | sed 's/  .*//' | tr '\n' ' ')" = 'optim.lr=0.01 optim.lr=0.001 ' ] || fail "$(cat out)"
"$loam" train config.yaml run.dir=runs/pair/heads $other model.classifier=sequence task.target= 'task.label={mark}' task.positive= \
    task.scores=accuracy train.micro_batch='8 samples' train.batch='8 samples' data.target_length=0 data.input_length=24 2>log || fail "$(tail -n 1 log)"
"$loam" collect runs/pair/marks runs/pair/heads --scores accuracy >out
grep -Eq '^all runs +2 ' out && [ "$(wc -l <out)" = 2 ] || fail "$(cat out)"
rm -r runs/pair/slow runs/pair/heads
echo "ok: options over all tasks"

# Runs that differ in an option of their task or in the examples of their table are no seeds of each other; a copy of a
# table is the same table.
tells() { "$loam" train config.yaml "run.dir=runs/tells/$1" train.length='2 steps' "${@:2}" 2>log || fail "$1: $(tail -n 1 log)"; }
mkdir A B moved
cp marks.tsv A/table.tsv && cp marks.tsv moved/table.tsv && sed '2,$s/good/b/; s/bad/good/; s/\tb\t/\tbad\t/' marks.tsv >B/table.tsv
head -n 60 marks.tsv >held.tsv && cp held.tsv moved/ && sed 1,40d marks.tsv | sed '1i text\tmark\tnumber' >other.tsv
# shared ROWS: the table of runs/tells has these rows, each of them "OPTIONS RUNS", and no warning.
shared() {
    "$loam" collect runs/tells --scores accuracy >out 2>err && [ ! -s err ] || fail "$(cat out err)"
    diff <(sed '1d; s/  *[0-9.]*\( ± .*\)*$//; s/  */ /g' out) <(printf '%s\n' "$@") || fail "the rows: $(cat out)"
    rm -r runs/tells
}
tells a task.data=A/table.tsv && tells b task.data=B/table.tsv && tells c task.data=moved/table.tsv run.seed=2
shared "task.data=$PWD/A/table.tsv 2" "task.data=$PWD/B/table.tsv 1"
tells a && tells b 'task.input=is it: {text}' && tells c run.seed=2
shared 'task.input=mark: {text} 2' 'task.input=is it: {text} 1'
tells a task.valid=held.tsv && tells b task.valid=other.tsv && tells c task.valid=moved/held.tsv run.seed=2
shared "task.valid=$PWD/held.tsv 2" "task.valid=$PWD/other.tsv 1"
tells a && tells b task.on_error=skip && tells c run.seed=2
rm runs/tells/c/task/train-valid.jsonl # as in a run of an earlier version
shared 'task.on_error=stop 2' 'task.on_error=skip 1'
tells a task.data=A/table.tsv && cp B/table.tsv A/table.tsv && tells b task.data=A/table.tsv
"$loam" collect runs/tells >out 2>err && [ ! -s err ] && [ "$(grep -Ec '^all runs  data:[0-9a-f]{8} +1 ' out)" = 2 ] || fail "an edited table: $(cat out err)"
rm -r runs/tells
echo "ok: other tables and options of a task"

"$loam" task prepare --out data/mark config.yaml 2>err || fail "$(cat err)"
"$loam" train config.yaml run.dir=runs/plain task.data= task.input= task.target= task.valid= data.train=data/mark data.valid=data/mark-valid \
    data.objective=seq2seq train.best=loss train.scores=false train.length='5 steps' --seeds 2 >out 2>log || fail "$(tail -n 1 log)"
head -n 1 out | grep -Eq '^ +runs +loss +perplexity$' && grep -Eq '^all runs +2 +[0-9]\.[0-9]{4} ± [0-9]\.[0-9]{4} ' out || fail "$(cat out)"
echo "ok: runs of no task, by their loss"

# A value that is written in another way is the same run, also where an earlier command trained it. A run whose best
# checkpoint is the model that it started from is marked, and so is one that failed.
"$loam" prepare --tokenizer tok.model --out text corpus.txt >/dev/null 2>log || fail "$(cat log)"
sed '/^task:/d; s/best: accuracy/best: loss/; s/^data: {/data: { train: text, valid: text,/' config.yaml >text.yaml
"$loam" train text.yaml run.dir=start train.length=20 2>log || fail "$(tail -n 1 log)"
small="train text.yaml run.dir=runs/marks train.init=start train.length=20 train.eval_every=10"
"$loam" $small --sweep optim.lr=0,1e-3 >out 2>log || fail "$(tail -n 1 log)"
grep -Eq '^optim.lr=0 .* step 0: no better than the start$' out && ! grep -q '^optim.lr=0.001.*step 0' out || fail "$(cat out)"
grep -q 'best by loss: step 0, the model that the run started from: held-out loss' log || fail "$(cat log)"
"$loam" $small --sweep optim.lr=0.001 >out 2>log || fail "$(tail -n 1 log)"
[ "$(ls runs/marks)" = "$(printf 'optim.lr=0\noptim.lr=1e-3')" ] || fail "runs: $(ls runs/marks)"
# A run that had ended keeps its options: its row is marked if this command has others. A run that goes on takes them.
"$loam" $small run.dir=runs/former --seeds 1 >out 2>log || fail "$(tail -n 1 log)"
"$loam" $small run.dir=runs/former --seeds 1 >out 2>log && ! grep -q 'other options' out log || fail "$(cat out log)"
"$loam" $small run.dir=runs/former --seeds 2 optim.weight_decay=0.5 >out 2>log || fail "$(tail -n 1 log)"
grep -Eq '^optim.weight_decay=0.01 .* of other options$' out && ! grep -q '=0.5 .* of other options' out || fail "$(cat out)"
grep -q '1 of 2 runs had ended with other options (seed-1: optim.weight_decay changed from 0.01 to 0.5): the table has' log || fail "$(cat log)"
"$loam" $small run.dir=runs/former --seeds 2 optim.weight_decay=0.5 train.length=30 >out 2>log || fail "$(tail -n 1 log)"
! grep -q 'of other options' out || fail "$(cat out)"
status=0
"$loam" $small run.dir=runs/bad optim.weight_decay=10 --sweep optim.lr=1e-4,10 >out 2>log || status=$?
[ "$status" = 1 ] && grep -Eq '^optim.lr=10 .* failed' out && ! grep -q '^optim.lr=0.0001 .*failed' out || fail "$(cat out log)"
"$loam" collect runs/bad --format json >out 2>err || fail "$(cat err)"
[ "$(grep -c '"failed":1' out)" = 1 ] || fail "$(cat out)"
"$loam" collect runs/bad --format tsv >out 2>err || fail "$(cat err)"
[ "$(head -n 1 out | cut -f 7-)" = "$(printf 'failed\tuntrained\tchanged')" ] && [ "$(grep '^optim.lr=10' out | cut -f 7)" = 1 ] || fail "$(cat out)"
"$loam" collect runs/bad --format latex >out 2>err && grep -q '^optim.lr=10 & .* & failed' out && grep -q '{lrrl}' out || fail "$(cat out)"
"$loam" collect runs/marks --format latex >out 2>err && grep -q '^optim.lr=0 & .* & step 0: no better than the start ' out || fail "$(cat out)"
echo "ok: equal values, models that are no better, failed runs"

# A run that went on between two runs that name it as train.init is another model for the second.
"$loam" $small run.dir=runs/begun --seeds 1 >out 2>log || fail "$(tail -n 1 log)"
"$loam" train start train.length=30 2>log || fail "$(tail -n 1 log)"
"$loam" $small run.dir=runs/begun --seeds 1,2 >out 2>log || fail "$(tail -n 1 log)"
[ "$(grep -Ec '^train.init=.*/start:[0-9a-f]{8} +1 ' out)" = 2 ] || fail "runs from two models share a row: $(cat out)"
expect 0 'began with other weights, though train.init is the same' "$loam" compare runs/begun
expect 0 'the row runs/begun holds runs of other options or data' "$loam" collect runs/begun --by path
expect 0 'runs/marks' "$loam" collect runs/marks --by path
! grep -q 'the row' err || fail "rows of one run each: $(cat err)"

# A run that cannot be trained leaves the others; what is wrong is said before any run starts.
sed '7s/.*/only one cell/' marks.tsv >torn.tsv
status=0
"$loam" train config.yaml run.dir=runs/torn train.length='5 steps' --sweep task.data=torn.tsv,marks.tsv >out 2>log || status=$?
[ "$status" = 1 ] && grep -Eq '^all runs +1 ' out && tail -n 1 log | grep -q 'torn.tsv:7: 1 columns' || fail "status $status: $(cat out log)"
expect 1 'optim.lr' "$loam" train config.yaml run.dir=runs/x --sweep optim.lr=1e-3,fast
expect 1 'such as optim.lr=1e-4,3e-4' "$loam" train config.yaml run.dir=runs/x --sweep optim.lr=
grep -q 'there is no option' err && fail "optim.lr is one: $(cat err)"
expect 1 'there is no option optim.rate' "$loam" train config.yaml run.dir=runs/x --sweep optim.rate=1
expect 1 'a value is there twice' "$loam" train config.yaml run.dir=runs/x --sweep optim.lr=1e-3,1e-3
expect 1 'optim.lr=1e-3 and optim.lr=0.001 would be the same run, optim.lr=0.001' "$loam" train config.yaml run.dir=runs/x --sweep optim.lr=1e-3,0.001
expect 1 'would be the same run, train.length=5 steps run.seed=1' "$loam" train config.yaml run.dir=runs/x --sweep 'train.length=5,5 steps' --seeds 2
expect 1 '--sweep optim.lr=: want OPTION=VALUE,VALUE…, such as optim.lr=1e-4,3e-4' "$loam" train config.yaml run.dir=runs/x --sweep optim.lr=
! grep -q 'there is no option' err || fail "$(cat err)"
expect 1 'optim.lr is in another --sweep' "$loam" train config.yaml run.dir=runs/x --sweep optim.lr=1e-3,1e-2 --sweep optim.lr=3e-3
expect 1 'run.seed=9: the values of run.seed are those of --seeds: leave one of the two out' "$loam" train config.yaml run.dir=runs/x --seeds 2 run.seed=9
expect 1 'the values of optim.lr are those of --sweep' "$loam" train config.yaml run.dir=runs/x optim.lr=1 --sweep optim.lr=1e-3,1e-2
expect 1 '--seeds is "0"' "$loam" train config.yaml run.dir=runs/x --seeds 0
expect 1 'is a run; --seeds and --sweep make runs below it' "$loam" train config.yaml run.dir=runs/torn/task.data=marks.tsv --seeds 2
expect 1 '--seeds gives seeds' "$loam" train config.yaml run.dir=runs/x --sweep run.seed=1,2
[ ! -d runs/x ] || fail "a run was started: $(find runs/x)"
expect 1 'no run has a metric bleu' "$loam" collect runs/grid --scores bleu
expect 1 'no run with an evaluation in runs/x' "$loam" collect runs/x
expect 1 '--format is "html", want one of text, markdown' "$loam" collect runs/grid --format html

# Runs from two models on two tasks, written by hand: what follows from train.init is no row of its own.
for model in small:32 base:64; do
    for task in rte cola; do
        run=runs/hand/${model%:*}-$task
        mkdir -p "$run/checkpoints" && touch "$run/lock"
        printf 'run:\n  dir: %s\nmodel:\n  width: %s\ntask:\n  name: %s\ntrain:\n  init: %s\n' "$run" "${model#*:}" "$task" "${model%:*}" >"$run/config.yaml"
        printf '{"kind":"valid","step":9,"name":"valid","loss":0.5}\n{"kind":"score","step":9,"examples":4,"accuracy":%s,"seconds":1}\n' "${model#*:}.5" >"$run/metrics.jsonl"
    done
done
"$loam" collect runs/hand --digits 1 >out
diff out - <<'TABLE' || fail "the table of two models and two tasks"
                  runs  cola accuracy  rte accuracy
train.init=base      1           64.5          64.5
train.init=small     1           32.5          32.5
TABLE
# An evaluation that was made twice, because the run was killed after it, counts once.
printf '{"kind":"valid","step":9,"name":"valid","loss":0.4}\n{"kind":"score","step":9,"examples":4,"accuracy":70.5}\n' >>runs/hand/base-rte/metrics.jsonl
"$loam" collect runs/hand/base-rte --format json >out
grep -q '"name":"accuracy","n":1,"mean":70.5,' out && [ "$(grep -o '"name"' out | wc -l)" = 1 ] || fail "$(cat out)"
mkdir -p runs/hand/new/checkpoints && touch runs/hand/new/lock && cp runs/hand/base-rte/config.yaml runs/hand/new/ && : >runs/hand/new/metrics.jsonl
expect 0 'runs/hand/new has no evaluation yet and is left out' "$loam" collect runs/hand
# A run that cannot be read takes no other one away.
"$loam" collect runs/hand >table 2>err
cp -r runs/hand/base-rte runs/hand/bad && echo 'x: [' >>runs/hand/bad/config.yaml
expect 0 'warning: runs/hand/bad is left out: runs/hand/bad/config.yaml:9: x: a list is not accepted here' "$loam" collect runs/hand
cmp table out || fail "the others: $(cat out)"
expect 0 'runs/hand/bad is left out' "$loam" collect runs/hand --by path
[ "$(sed 1d out | cut -d ' ' -f 1 | tr '\n' ' ')" = 'runs/hand/base-cola runs/hand/base-rte runs/hand/small-cola runs/hand/small-rte ' ] || fail "$(cat out)"
expect 1 'no run with an evaluation in runs/hand/bad' "$loam" collect runs/hand/bad

# Many runs: the time of the table does not grow with the square of them, and they hold no file open once they have ended.
for run in $(seq 400); do
    mkdir -p "runs/many/$run/checkpoints" && : >"runs/many/$run/lock"
    sed "s/^  lr: .*/  lr: 0.$run/" "runs/grid/optim.lr=1e-2/seed-1/config.yaml" >"runs/many/$run/config.yaml"
    ln "$PWD/runs/hand/small-rte/metrics.jsonl" "runs/many/$run/"
done
(ulimit -t 6; "$loam" collect runs/many >out 2>err || true)
[ "$(wc -l <out)" = 401 ] || fail "400 runs: $(cat err)"
(ulimit -n 24 && "$loam" train config.yaml run.dir=runs/open train.length='1 steps' --seeds 18) >out 2>log || fail "$(tail -n 1 log)"
grep -Eq '^all runs +18 ' out || fail "$(cat out)"
echo "ok: many runs"
