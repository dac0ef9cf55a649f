# A run whose weights are no longer finite ends with status 1 and says how to go back; the last good checkpoint is kept.
. tests/cli/lib.sh "$1"
make_dataset
options="train $work/config.yaml train.length=20steps train.eval_every=0 train.save_every=2 train.keep_last=2"
train="$loam $options" breaks="$spoiled $options"
finite='with a finite loss and gradient:'

# The weights break at the beginning of step 7, after the checkpoint of step 6. Step 6 was good, but what it saved need not be.
expect 1 "step 6 was the last one $finite 14 steps since were skipped, and the weights are not finite; \`loam rollback $work/run --to 4\` goes back" \
    env LOAM_FAULT=overflow:7 $breaks run.dir="$work/run"
grep -qF "look at the data (loam inspect batch $work/run --step 7)" "$work/err" || fail "$(tail -n 1 "$work/err")"
expect 1 ': failed' "$loam" status "$work/run"

# The same command fails again, with the same advice, which helps.
expect 1 "step 6 was the last one $finite 14 steps since were skipped" $train run.dir="$work/run"
expect 1 "step 6 was the last one $finite 16 steps since were skipped" $train run.dir="$work/run" train.length=22steps
expect 0 'is at step 4' "$loam" rollback "$work/run" --to 4
$train run.dir="$work/run" 2>"$work/log" || fail "$(tail -n 1 "$work/log")"
$train run.dir="$work/whole" 2>"$work/log"
cmp "$work/run/checkpoints/latest/weights-00001-of-00001.safetensors" "$work/whole/checkpoints/latest/weights-00001-of-00001.safetensors"

# A single broken step at the end; two ranks; a run that would never end is ended after 100 steps.
expect 1 "step 19 was the last one $finite 1 step since was skipped, and the weights are not finite" env LOAM_FAULT=overflow:20 $breaks run.dir="$work/last"
expect 1 "step 6 was the last one $finite 14 steps since were skipped" env LOAM_FAULT=overflow:7@1 $breaks run.dir="$work/ranks" parallel.ranks=2
expect 1 "no step had a finite loss and gradient: 100 steps since were skipped, the most that a run skips in a row; there is no checkpoint from before it" \
    env LOAM_FAULT=overflow:1 $breaks run.dir="$work/long" train.length=1ksteps train.save_every=0
