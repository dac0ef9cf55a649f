# train.save_async: checkpoints that are written while training goes on hold what others hold, on one rank and on several,
# and a process that dies while it writes one leaves the one before.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
options=("$config" train.length='24 steps' train.save_every='4 steps' train.keep_last=10 train.precision=f32)

for ranks in 1 3; do
    more=(parallel.ranks=$ranks parallel.zero=$((ranks / 2)))
    "$loam" train "${options[@]}" "${more[@]}" run.dir="$work/waits$ranks" 2>"$work/err" || fail "$(cat "$work/err")"
    "$loam" train "${options[@]}" "${more[@]}" run.dir="$work/beside$ranks" train.save_async=true 2>"$work/err" ||
        fail "$(cat "$work/err")"
    for step in 04 08 12 16 20 24; do
        diff -rq "$work"/{waits,beside}$ranks/checkpoints/step-000000$step || fail "$ranks ranks: step $step"
    done
    [ "$(grep -c '"kind":"save".*"stall_s":' "$work/beside$ranks/metrics.jsonl")" -ge 6 ] || fail "saves of $ranks ranks in the metrics"
    echo "ok: the same checkpoints from $ranks ranks"
done

# Killed when the third save begins, or in it: the second one stands, and the run goes on from it to the same end.
for fault in save:3 fsync:30 fsync:5@1; do
    run=$work/killed-${fault/:/-}
    LOAM_FAULT=$fault "$loam" train "${options[@]}" parallel.ranks=3 parallel.zero=1 run.dir="$run" train.save_async=true \
        2>"$work/err" && fail "$fault did not kill"
    last=$(readlink "$run/checkpoints/latest") || fail "$fault: no checkpoint is left"
    "$loam" inspect checkpoint "$run/checkpoints/latest" >/dev/null 2>"$work/err" || fail "$last is damaged: $(cat "$work/err")"
    "$loam" train "${options[@]}" parallel.ranks=3 parallel.zero=1 run.dir="$run" train.save_async=true 2>"$work/err" ||
        fail "$(cat "$work/err")"
    diff -rq "$work/waits3/checkpoints/step-00000024" "$run/checkpoints/step-00000024" || fail "$fault: another end"
    echo "ok: killed at $fault after $last"
done

# Stopped: the save that is under way ends first.
"$loam" train "${options[@]}" train.length='100k steps' optim.schedule=constant run.dir="$work/stopped" train.save_async=true \
    2>"$work/log" &
pid=$!
until_true grep -q '"step":6,' "$work/stopped/metrics.jsonl" 2>/dev/null
kill -USR1 "$pid"
wait "$pid" && fail "a stopped run ended with 0" || [ $? = 75 ] || fail "status of a stopped run"
"$loam" inspect checkpoint "$work/stopped" >/dev/null 2>"$work/err" || fail "stopped: $(cat "$work/err")"
