# A disk that fills up during a save: the checkpoint before it stands, the run says so and goes on.
. tests/cli/lib.sh "$1"
make_dataset

check() { # check DIR: what the run in DIR must have done
    grep -q 'was not saved, the checkpoint before it stands' "$work/log" || fail "no warning: $(cat "$work/log")"
    grep -q '"step":20' "$1/metrics.jsonl" || fail "training did not go on"
    [ "$(readlink "$1/checkpoints/latest")" = step-00000005 ] || fail "latest is $(readlink "$1/checkpoints/latest")"
    "$loam" inspect checkpoint "$1" >"$work/out" || fail "the checkpoint before is damaged"
    grep -q 'attempts *5$' "$work/out" || fail "$(cat "$work/out")"
}

# A limit on the size of files, below a checkpoint's and above a log's.
"$loam" train "$work/config.yaml" run.dir="$work/run" 'train.length=5 steps' 2>"$work/log"
status=0
(
    ulimit -f 40
    trap '' XFSZ
    "$loam" train "$work/config.yaml" run.dir="$work/run" 'train.length=20 steps' 2>"$work/log"
) || status=$?
[ "$status" = 2 ] || fail "exit status $status: the last save failed, which is the machine's: $(tail -n 2 "$work/log")"
check "$work/run"
echo "ok: files limited in size"

# A small file system, where this user may mount one.
mkdir "$work/disk"
if mount -t tmpfs -o size=4m tmpfs "$work/disk" 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    "$loam" train "$work/config.yaml" run.dir="$work/disk/run" 'train.length=5 steps' 2>"$work/log"
    dd if=/dev/zero of="$work/disk/filler" bs=1k 2>/dev/null || true
    truncate -s -80k "$work/disk/filler" # room for the logs
    status=0
    "$loam" train "$work/config.yaml" run.dir="$work/disk/run" 'train.length=20 steps' 2>"$work/log" || status=$?
    [ "$status" = 2 ] || fail "exit status $status on a full file system: $(tail -n 2 "$work/log")"
    grep -q 'No space left on device' "$work/log" || fail "$(cat "$work/log")"
    check "$work/disk/run"
    echo "ok: a full file system"
else
    echo "skipped: no permission to mount a small file system"
fi
