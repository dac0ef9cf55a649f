# A place where the links latest and best cannot be made or renamed: checkpoints are saved, pruned and found all the same.
. tests/cli/lib.sh "$1"
make_dataset
run=$work/run
train="$loam train $work/config.yaml run.dir=$run train.save_every=2 train.eval_every=2"
$train train.length=2 2>"$work/log" || fail "$(cat "$work/log")"
mkdir -p "$run"/checkpoints/{latest,best}.tmp/in-the-way # a link is made under this name first
expect 0 'the checkpoint is complete, and is found without the link' $train train.length=10
[ "$(grep -c 'found without the link' "$work/err")" = 1 ] || fail "said more than once: $(cat "$work/err")"
[ ! -L "$run/checkpoints/latest" ] && [ ! -L "$run/checkpoints/best" ] || fail "a link of an earlier save"
[ "$(ls -d "$run"/checkpoints/step-* | wc -l)" -le 3 ] || fail "not pruned: $(ls "$run/checkpoints")"
grep -q '"kind":"event".*not saved' "$run/metrics.jsonl" && fail "counted as a failure"
expect 0 'saved step 10' "$loam" status "$run"
expect 0 'attempts       10' "$loam" inspect checkpoint "$run@latest"
expect 0 'best_step' "$loam" inspect checkpoint "$run@best"
expect 0 'loss' "$loam" eval "$run@best"
expect 0 'going on from' $train train.length=12
expect 0 'step 10' "$loam" rollback "$run" --to 10
expect 1 'there are latest, best, 1' "$loam" eval "$run@worst"
