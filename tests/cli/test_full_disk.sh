# labels: any-processor
# A disk that fills up: the checkpoint before stands, the run says so, goes on, and tears no record of its logs.
. tests/cli/lib.sh "$1"
make_dataset

check() { # check DIR: what the run in DIR must have done
    grep -q 'was not saved, the previous checkpoint is kept' "$work/log" || fail "no warning: $(cat "$work/log")"
    grep -q '"step":20' "$1/metrics.jsonl" || fail "training did not go on"
    [ "$(readlink "$1/checkpoints/latest")" = step-00000005 ] || fail "latest is $(readlink "$1/checkpoints/latest")"
    "$loam" inspect checkpoint "$1" >"$work/out" || fail "the checkpoint before is damaged"
    grep -q 'attempts *5$' "$work/out" || fail "$(cat "$work/out")"
}

# A limit on the size of files, below a checkpoint's and above a log's.
"$loam" train "$work/config.yaml" run.dir="$work/run" 'train.length=5 steps' 2>"$work/log"
cp -r "$work/run" "$work/ranks"
status=0
(
    ulimit -f 40
    "$loam" train "$work/config.yaml" run.dir="$work/run" 'train.length=20 steps' 2>"$work/log"
) || status=$?
[ "$status" = 2 ] || fail "exit status $status: the last save failed, which is the machine's: $(tail -n 2 "$work/log")"
check "$work/run"

# The same for parts of three ranks, which threads write while training goes on.
status=0
(
    ulimit -f 40
    "$loam" train "$work/config.yaml" run.dir="$work/ranks" 'train.length=20 steps' parallel.ranks=3 parallel.zero=1 \
        train.save_async=true 2>"$work/log"
) || status=$?
[ "$status" = 2 ] || fail "exit status $status with ranks: $(tail -n 2 "$work/log")"
check "$work/ranks"
status=0
(LOAM_FAULT=save:1 "$loam" train "$work/config.yaml" run.dir="$work/never" 2>"$work/log" || true) 2>"$work/err"
(
    ulimit -f 40
    "$loam" train "$work/config.yaml" run.dir="$work/never" 'train.length=6 steps' 2>"$work/log"
) || status=$?
[ "$status" = 2 ] || fail "exit status $status: $(tail -n 2 "$work/log")"
grep -q 'step 5 was not saved, no save has succeeded so far' "$work/log" || fail "$(cat "$work/log")"
grep -q '^loam train: the last save failed, no save has succeeded so far' "$work/log" || fail "$(cat "$work/log")"
# A rollback that finds no room changes nothing, and leaves nothing.
"$loam" train "$work/config.yaml" run.dir="$work/back" 'train.length=10 steps' 2>"$work/log"
status=0
(
    ulimit -f 2
    "$loam" rollback "$work/back" --to 5 >"$work/out" 2>&1
) || status=$?
[ "$status" = 2 ] && grep -q 'File too large' "$work/out" || fail "exit status $status: $(cat "$work/out")"
[ ! -e "$work/back/tmp-rollback" ] && [ ! -e "$work/back/rollback" ] || fail "left: $(ls "$work/back")"
[ "$(readlink "$work/back/checkpoints/latest")" = step-00000010 ] || fail "latest is $(readlink "$work/back/checkpoints/latest")"
echo "ok: files limited in size"

# For a while no file may grow: it begins at the second save and ends some steps later, however late this script is.
LOAM_FAULT=save:2:STOP "$loam" train "$work/config.yaml" run.dir="$work/while" 'train.length=1M steps' train.eval_every=0 \
    train.save_every=500 2> >(cat >"$work/log") & # by a pipe: a file would be limited as well
pid=$!
until_true grep -q '^State:.*stopped' "/proc/$pid/status"
prlimit --pid "$pid" --fsize=6000:
kill -CONT "$pid"
until_true grep -q 'step 1[1-9][0-9][0-9]/' "$work/log"
records=$(wc -l <"$work/while/metrics.jsonl")
prlimit --pid "$pid" --fsize=unlimited:
more_records() { [ "$(wc -l <"$work/while/metrics.jsonl")" -gt $((records + 10)) ]; }
until_true more_records
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 75 ] || fail "exit status $status: $(tail -n 2 "$work/log")"
lines=$(wc -l <"$work/while/metrics.jsonl")
[ "$(grep -c '^{"kind":.*}$' "$work/while/metrics.jsonl")" = "$lines" ] || fail "a torn line in metrics.jsonl"
[ "$(grep -c '{"kind"' "$work/while/metrics.jsonl")" = "$lines" ] || fail "two records in one line"
! grep -q '"kind":"train","step":1001,' "$work/while/metrics.jsonl" || fail "the disk was not full"
grep -q 'lines are missing here' "$work/while/log.txt" || fail "log.txt does not say what is missing"
! grep -qv '^[0-9-]*T[0-9:]*Z ' "$work/while/log.txt" || fail "a torn line in log.txt"
expect 75 'going on from' "$loam" train "$work/config.yaml" run.dir="$work/while" 'train.length=1M steps' train.eval_every=0 'train.exit_every=1 steps'
! grep -q 'torn' "$work/err" || fail "a torn record of TensorBoard: $(grep torn "$work/err")"
echo "ok: full for a while"

# A disk that has room for a checkpoint and not for all that a run keeps at a time: said before the first step, and by plan.
many="model.width=256 model.ffn=1024 train.keep_last=1000000 train.eval_every=0 train.eval_samples=8"
# A run has no more of them than it saves, whatever it would keep.
expect 0 'disk             up to 4 checkpoints of' "$loam" plan "$work/config.yaml" run.dir="$work/none" $many train.length=8 train.save_every=5
! grep -q 'later saves' "$work/err" || fail "$(cat "$work/err")"
many+=" train.length=1M train.save_every=1"
expect 0 'warning: the run has up to 1000002 checkpoints of' "$loam" train "$work/config.yaml" run.dir="$work/many" $many train.stop_at=1
grep -q "free: later saves would fail; make room, or keep fewer by train.keep_last" "$work/err" || fail "$(cat "$work/err")"
grep -q 'disk: up to 1000002 checkpoints of [0-9.]* MiB: [0-9.]* TiB' "$work/many/log.txt" || fail "$(grep disk: "$work/many/log.txt")"
expect 0 'warning: the run has up to 1000002 checkpoints of' "$loam" plan "$work/config.yaml" run.dir="$work/none/none" $many
grep -q '^disk  *up to 1000002 checkpoints of ' "$work/out" || fail "$(cat "$work/out")"
expect 0 'disk             up to 4 checkpoints of' "$loam" plan "$work/config.yaml" run.dir="$work/none"
! grep -q 'later saves' "$work/err" || fail "$(cat "$work/err")"

# A small file system, where this user may mount one.
mkdir "$work/disk"
if mount -t tmpfs -o size=4m tmpfs "$work/disk" 2>/dev/null; then
    at_end() { umount -l "$work/disk"; }
    LOAM_FAULT=save:2:STOP "$loam" train "$work/config.yaml" run.dir="$work/disk/run" 'train.length=20 steps' 2>"$work/log" &
    pid=$!
    until_true grep -q '^State:.*stopped' "/proc/$pid/status"
    dd if=/dev/zero of="$work/disk/filler" bs=1k 2>/dev/null || true
    truncate -s -80k "$work/disk/filler" # room for the logs
    kill -CONT "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = 2 ] || fail "exit status $status on a full file system: $(tail -n 2 "$work/log")"
    grep -q 'No space left on device' "$work/log" || fail "$(cat "$work/log")"
    check "$work/disk/run"
    expect 2 'free: no save would succeed' "$loam" train "$work/config.yaml" run.dir="$work/disk/run"
    echo "ok: a full file system"
else
    echo "skipped: no permission to mount a small file system"
fi
