# labels: starts-first
# loam rollback: back to a checkpoint with logs and TensorBoard, undone again, and killed at each of its system calls.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
train="$loam train $config train.length=20steps train.save_every=4 train.eval_every=4 train.keep_last=100 optim.schedule=constant"
losses() { sed -n 's/.*"kind":"\(train\|valid\)","step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }
state() { (cd "$1" && ls -1 checkpoints && readlink checkpoints/latest checkpoints/best && cat checkpoints/*/state.json && ls -1 spikes && losses .); }

$train run.dir="$work/run" 2>"$work/log"
# A file or folder that the run does not have is not there after an undo, either, such as one that a start made.
ls "$work/run" >"$work/names"
cp -r "$work/run" "$work/branch"
"$loam" rollback "$work/branch" --to 12 2>"$work/log"
{ LOAM_FAULT=step:2 $train run.dir="$work/branch" train.fairseq_log=true log.mlflow="$work/mlruns" >"$work/out" 2>&1 && fail "no kill"; } 2>/dev/null
[ -e "$work/branch/train_inner.jsonl" ] && [ -e "$work/branch/mlflow.txt" ] || fail "the start made no files: $(ls "$work/branch")"
"$loam" rollback "$work/branch" --undo 2>"$work/log"
ls "$work/branch" | diff "$work/names" - || fail "other files after an undo"
mkdir "$work/run/spikes"
echo '{}' | tee "$work/run/spikes/step-00000003.json" >"$work/run/spikes/step-00000015.json"
state "$work/run" >"$work/whole"
cp "$work/run/metrics.jsonl" "$work/metrics"
cp -r "$work/run" "$work/other"

expect 1 'no checkpoint of step 9; it has those of 20, 16, 12, 8, 4' "$loam" rollback "$work/run" --to 9
expect 1 'there is no rollback to undo' "$loam" rollback "$work/run" --undo
expect 1 'give --to STEP, or --undo' "$loam" rollback "$work/run"
expect 1 'give one of --to STEP and --undo' "$loam" rollback "$work/run" --to 4 --undo
expect 1 '--to is "best", want the step of a checkpoint, such as 12000' "$loam" rollback "$work/run" --to best
expect 1 'is no run of loam' "$loam" rollback "$work" --to 4
[ ! -e "$work/run/rollback" ] || fail "something was made"

# A newest checkpoint that is missing is so after an undo, too.
cp -r "$work/run" "$work/lost"
rm -r "$work/lost/checkpoints/step-00000020"
expect 0 'is at step 12' "$loam" rollback "$work/lost" --to 12
expect 0 'its newest checkpoint is step 16, step 20 is missing' "$loam" rollback "$work/lost" --undo

# A checkpoint under the name of another step is none of that step.
cp -r "$work/run" "$work/renamed"
mv "$work/renamed/checkpoints/step-00000008" "$work/renamed/checkpoints/step-00000010"
expect 1 'step-00000010 holds the checkpoint of step 8: it was renamed' "$loam" rollback "$work/renamed" --to 10

# In a copy whose links were followed, the folder of a best checkpoint that comes later does not stay under that name.
$train run.dir="$work/late" train.length=8 train.eval_every=8 2>"$work/log"
cp -rL "$work/late" "$work/copied"
expect 0 'is at step 4' "$loam" rollback "$work/copied" --to 4
[ "$(ls "$work/copied/checkpoints" | tr '\n' ' ')" = 'copied-best copied-latest latest step-00000004 ' ] || fail "$(ls "$work/copied/checkpoints")"
# Back, and further back; what came after is gone from every list, and back after --undo, byte for byte.
expect 0 'is at step 12' "$loam" rollback "$work/run" --to 12
[ "$(ls "$work/run/checkpoints" | tr '\n' ' ')" = 'best latest step-00000004 step-00000008 step-00000012 ' ] || fail "$(ls "$work/run/checkpoints")"
[ "$(losses "$work/run" | tail -n 1 | cut -d ' ' -f 2)" = 12 ] || fail "lines: $(losses "$work/run" | tail -n 1)"
[ "$(ls "$work/run/spikes")" = step-00000003.json ] || fail "spikes: $(ls "$work/run/spikes")"
expect 0 ': stopped' "$loam" status "$work/run"
grep -q 'last event: rolled back to step 12; the same command goes on from there' "$work/out" || fail "$(cat "$work/out")"
expect 0 'is at step 4' "$loam" rollback "$work/run" --to 4
state "$work/run" >"$work/at4"
expect 0 'its newest checkpoint is step 20' "$loam" rollback "$work/run" --undo
expect 0 ': ended' "$loam" status "$work/run"
state "$work/run" | diff "$work/whole" - || fail "not as before"
cmp "$work/metrics" "$work/run/metrics.jsonl" || fail "other lines"
[ ! -e "$work/run/rollback" ] || fail "rollback/ is left"

# Also after a start with other options, which saved nothing.
cp "$work/run/config.yaml" "$work/whole.yaml"
"$loam" rollback "$work/run" --to 8 2>"$work/log"
{ LOAM_FAULT=step:2 $train run.dir="$work/run" optim.lr=1e-4 >"$work/out" 2>&1 && fail "no kill"; } 2>/dev/null
"$loam" rollback "$work/run" --undo 2>"$work/log" || fail "$(cat "$work/log")"
cmp "$work/whole.yaml" "$work/run/config.yaml" || fail "the options of an undone branch are left"
state "$work/run" | diff "$work/whole" - || fail "not as before, after a start"

# A run that goes on after a rollback has the same losses as before, and its first save makes the rollback final.
"$loam" rollback "$work/run" --to 8 2>"$work/log"
$train run.dir="$work/run" 2>"$work/log"
diff <(losses "$work/other") <(losses "$work/run") || fail "other losses"
cmp "$work/other/checkpoints/latest/weights-00001-of-00001.safetensors" "$work/run/checkpoints/latest/weights-00001-of-00001.safetensors"
expect 1 'there is no rollback to undo' "$loam" rollback "$work/run" --undo

# Checkpoints on another disk, behind a link, cannot be moved: nothing is changed. A rollback that stopped there can be undone.
far=$(mktemp -d -p /dev/shm 2>/dev/null) || far=$work
at_end() { rm -rf "$far"; }
if [ "$(stat -c %d "$far")" != "$(stat -c %d "$work")" ]; then
    cp -r "$work/other" "$work/linked"
    mv "$work/linked/checkpoints" "$far/checkpoints"
    ln -s "$far/checkpoints" "$work/linked/checkpoints"
    expect 1 'linked/checkpoints is on another disk than the run' "$loam" rollback "$work/linked" --to 8
    [ ! -e "$work/linked/rollback" ] && state "$work/linked" | diff "$work/whole" - || fail "a refused rollback changed something"
    expect 0 'is at step 20' "$loam" rollback "$work/linked" --to 20
    echo 8 >"$work/linked/rollback/to"
    rm "$work/linked/rollback/done"
    expect 2 "\`loam rollback $work/linked --undo\` gives it up" "$loam" rollback "$work/linked" --to 20
    expect 2 "\`loam rollback $work/linked --undo\` gives it up" $train run.dir="$work/linked"
    expect 0 'its newest checkpoint is step 20' "$loam" rollback "$work/linked" --undo
    state "$work/linked" | diff "$work/whole" - || fail "not as before, on another disk"
fi

# kill -9 at system calls of the rollback, and of its reversal: the next command completes it, and nothing is lost.
killed() { # killed N COMMAND…: false if the command ends before its N-th call
    local status=0 n=$1
    shift
    LOAM_FAULT=io:$n "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" = 137 ] || [ "$status" = 0 ] || fail "status $status: $(cat "$work/out")"
    [ "$status" = 137 ]
} 2>/dev/null
step=${LOAM_ROLLBACK_STEP:-7}
n=1
kills=0
while cp -r "$work/other" "$work/copy" && killed "$n" "$loam" rollback "$work/copy" --to 4; do
    "$loam" rollback "$work/copy" --to 4 2>"$work/log" || fail "$(cat "$work/log")"
    state "$work/copy" | diff "$work/at4" - || fail "killed at call $n of a rollback"
    "$loam" rollback "$work/copy" --undo 2>"$work/log" || fail "$(cat "$work/log")"
    state "$work/copy" | diff "$work/whole" - || fail "killed at call $n of a rollback, then undone"
    rm -r "$work/copy"
    n=$((n + step))
    kills=$((kills + 1))
done
n=1
while rm -rf "$work/copy" && cp -r "$work/other" "$work/copy" && "$loam" rollback "$work/copy" --to 4 2>"$work/log" &&
    killed "$n" "$loam" rollback "$work/copy" --undo; do
    "$loam" rollback "$work/copy" --undo 2>"$work/log" || grep -q 'no rollback to undo' "$work/log" || fail "$(cat "$work/log")"
    state "$work/copy" | diff "$work/whole" - || fail "killed at call $n of an --undo"
    cmp "$work/metrics" "$work/copy/metrics.jsonl" || fail "killed at call $n of an --undo: other lines"
    n=$((n + step))
    kills=$((kills + 1))
done
[ "$kills" -ge 5 ] || fail "$kills kills"

# A killed rollback is completed by the run that goes on: it trains from the step that was asked for.
half() { [ -e "$work/copy/rollback/to" ] && [ ! -e "$work/copy/checkpoints/step-00000016" ] && [ -e "$work/copy/checkpoints/step-00000008" ]; }
for n in $(seq 10 100); do
    rm -rf "$work/copy"
    cp -r "$work/other" "$work/copy"
    killed "$n" "$loam" rollback "$work/copy" --to 4 || break
    half && break
done
half || fail "no call lies between the first and the last checkpoint"
$train run.dir="$work/copy" 2>"$work/log"
grep -q 'going on from .*step-00000004' "$work/log" || fail "$(cat "$work/log")"
diff <(losses "$work/other") <(losses "$work/copy") || fail "other losses"
echo "ok: $kills kills"

# After a start that was killed, an undo brings back how the run had ended.
"$loam" train "$work/config.yaml" run.dir="$work/over" 'train.length=10 steps' train.keep_every=5 2>"$work/log" || fail "$(cat "$work/log")"
"$loam" rollback "$work/over" --to 5 2>"$work/log" || fail "$(cat "$work/log")"
LOAM_FAULT=step:2 "$loam" train "$work/over" train.save_every=0 2>"$work/log" && fail "the start was not killed"
expect 1 ': lost' "$loam" status "$work/over"
expect 0 'its newest checkpoint is step 10' "$loam" rollback "$work/over" --undo
expect 0 ': ended' "$loam" status "$work/over"
