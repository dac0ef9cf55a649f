# labels: repeats
# A run killed at exact places and started again ends with the same bytes as one that was left alone.
. tests/cli/lib.sh "$1"
make_dataset
length='train.length=110 steps'
losses() { sed -n 's/.*"kind":"\(train\|valid\)".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }

"$loam" train "$work/config.yaml" run.dir="$work/whole" "$length" 2>"$work/log"
# Where base/fault.h stops the process, one start after the other: before a step, an evaluation, a save, a line of the log,
# and before the n-th system call of a kind, which lies in opening the run or in a save.
kills=0
for fault in evaluation:1 step:1 save:1 step:4 mkdir:3 write:30 fsync:2 fsync:5 rename:3 rename:4 symlink:2 close:9 save:2 \
    evaluation:1 step:9 log:7 unlink:4 io:80 io:120 evaluation:2 rename:9 save:3; do
    status=0
    (LOAM_FAULT=$fault "$loam" train "$work/config.yaml" run.dir="$work/cut" "$length" || exit $?) 2>"$work/log" || status=$?
    [ "$status" = 137 ] || fail "$fault ended with $status: $(tail -n 2 "$work/log")"
    kills=$((kills + 1))
done
"$loam" train "$work/config.yaml" run.dir="$work/cut" "$length" 2>"$work/log"

diff <(losses "$work/whole") <(losses "$work/cut") >"$work/diff" || fail "the logged losses differ: $(head -n 5 "$work/diff")"
for file in "$work"/whole/checkpoints/step-00000110/*; do
    cmp "$file" "$work/cut/checkpoints/step-00000110/${file##*/}" || fail "$file differs"
done
[ "$(losses "$work/whole" | wc -l)" -ge 120 ] || fail "too few losses compared"
ls -a "$work/cut/checkpoints" >"$work/out"
! grep -q tmp- "$work/out" || fail "an unfinished save is left: $(cat "$work/out")"
echo "ok: $kills kills, same bytes"

# Two processes may not train in one run directory.
"$loam" train "$work/config.yaml" run.dir="$work/busy" 'train.length=100k steps' optim.schedule=constant 2>"$work/log" &
pid=$!
until_true grep -q '"step":3,' "$work/busy/metrics.jsonl" 2>/dev/null
expect 1 'another process is training in' "$loam" train "$work/config.yaml" run.dir="$work/busy" optim.schedule=constant
kill -9 "$pid"
wait "$pid" 2>/dev/null || true # a process that still writes would keep its folder from being removed
