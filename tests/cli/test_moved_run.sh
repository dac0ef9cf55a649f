# A run directory that is renamed, deleted or replaced while the run trains: the run ends with one line, and writes nothing into
# the folder that has the name since. A deleted lock file is made again.
. tests/cli/lib.sh "$1"
make_dataset
has_step() { grep -qs '"kind":"train"' "$1/metrics.jsonl"; }
start() { # start RUN OPTION…: a long run in the background
    local run=$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$run" train.length=100000 train.eval_every=100000 train.save_every=3 "$@" 2>"$work/log" &
    pid=$!
    until_true has_step "$run"
}
start_quiet() { # as start, with nothing to log, evaluate or save before its end
    local run=$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$run" train.length=100000 train.log_every=100000 train.eval_every=100000 \
        train.save_every=100000 "$@" 2>"$work/log" &
    pid=$!
    until_true grep -qs '"step":[1-9]' "$run/ranks/0000.json"
}
ends() { # ends TEXT: with status 2, and with this line
    local status=0
    wait "$pid" || status=$?
    [ "$status" = 2 ] || fail "status $status: $(tail -n 2 "$work/log")"
    [ "$(grep -c "^loam train: .*$1" "$work/log")" = 1 ] || fail "no \"$1\": $(tail -n 3 "$work/log")"
    echo "ok: $1"
}

for ranks in 1 2; do
    run=$work/run$ranks
    start "$run" parallel.ranks=$ranks train.report=true hooks.retries=0 hooks.on_alert='echo alarm; exit 3'
    mv "$run" "$run-moved"
    ends "run.dir $run is no longer the folder that this run trains in"
    [ ! -e "$run" ] || fail "made again: $(ls "$run")"
    grep -q 'is no longer the folder' "$run-moved/log.txt" && grep -q alarm "$run-moved/hooks.log" || fail "no log in the moved folder"
    # The reason is told, though the hook failed after it.
    expect 1 ": failed" "$loam" status "$run-moved"
    grep -q "last event: run.dir $run is no longer the folder" "$work/out" || fail "$(cat "$work/out")"
    grep -q "after it: hooks.on_alert of step .* (exit status 3); its output is in the run's hooks.log$" "$work/out" || fail "$(cat "$work/out")"
    "$loam" train "$run-moved" train.length=1 2>"$work/err" || fail "does not go on: $(cat "$work/err")"
done

stop_at() { # stop_at POINT OPTION…: a run that stops itself there
    LOAM_FAULT=$1:STOP "$loam" train "$work/config.yaml" run.dir="$run" train.length=9 train.save_every=3 "${@:2}" 2>"$work/log" &
    pid=$!
    until_true grep -q '^State:.*stopped' "/proc/$pid/status"
}
stop_within_save() { # stop_within_save OPTION…: before one of its fsyncs; which one that is depends on the other threads
    local n
    for n in $(seq 8 30); do
        stop_at "fsync:$n" "$@"
        compgen -G "$run/checkpoints/tmp-*" >/dev/null && return
        kill -KILL "$pid"
        wait "$pid" || true
        rm -rf "$run"
    done
    fail "no fsync is within a save"
}

# A save that finds the folder gone, at its start or later, says only that the run ends.
for case in 'stop_at save:2' 'stop_within_save' 'stop_within_save train.save_async=true'; do
    run=$work/save-${case##* }
    $case
    mv "$run" "$run-moved"
    kill -CONT "$pid"
    ends "run.dir $run is no longer the folder that this run trains in"
    [ "$(grep -c 'no longer the folder' "$work/log")" = 1 ] && ! grep -q 'training goes on' "$work/log" || fail "$case: $(tail -n 4 "$work/log")"
done

# A copy that followed links has folders in place of the links latest and best: it means the same checkpoints.
"$loam" train "$work/config.yaml" run.dir="$work/linked" train.length=6 train.eval_every=2 train.save_every=2 train.patience=9 optim.lr=1 \
    train.keep_last=9 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(readlink "$work/linked/checkpoints/best")" != step-00000006 ] || fail "the last checkpoint is the best one"
cp -rL "$work/linked" "$work/followed"
for verb in collect status; do
    for run in linked followed; do
        (cd "$work/$run" && "$loam" $verb . | sed 's/, [^ ]* ago//g') >"$work/$run.out" 2>"$work/err" || fail "$(cat "$work/err")"
    done
    cmp "$work/linked.out" "$work/followed.out" || fail "$verb of a copy: $(cat "$work/linked.out" "$work/followed.out")"
done
for run in linked followed; do "$loam" eval "$work/$run" >"$work/$run.out" 2>"$work/err" || fail "$(cat "$work/err")"; done
cmp "$work/linked.out" "$work/followed.out" || fail "a copy means another checkpoint: $(cat "$work/linked.out" "$work/followed.out")"

# A request to stop, at a step that would have looked at nothing else, writes no report into the folder that has the name since.
run=$work/stopped
start_quiet "$run" train.report=true
kill -STOP "$pid"
until_true grep -q '^State:.*stopped' "/proc/$pid/status"
mv "$run" "$run-moved"
mkdir "$run"
kill -TERM "$pid"
kill -CONT "$pid"
ends "run.dir $run is no longer the folder that this run trains in"
[ -z "$(ls "$run")" ] || fail "written into another folder: $(ls "$run")"

# Deleted, and another run started in its place, which keeps its own.
run=$work/same
start "$run"
first=$pid
mv "$work/log" "$work/first.log"
until rm -rf "$run" 2>/dev/null; do :; done # while the run writes into it, a folder may be not empty again and again
"$loam" train "$work/config.yaml" run.dir="$run" train.length=40 train.save_every=10 run.seed=8 2>"$work/err" || fail "$(cat "$work/err")"
status=0
wait "$first" || status=$?
[ "$status" = 2 ] || fail "status $status: $(tail -n 2 "$work/first.log")"
[ "$(readlink "$run/checkpoints/latest")" = step-00000040 ] || fail "$(ls "$run/checkpoints")"
[ "$("$loam" status "$run" | head -n 1)" = "$run: ended" ] || fail "$("$loam" status "$run")"
! grep -q 'no longer the folder' "$run/log.txt" || fail "two runs in one log"
expect 0 'step 41/41' "$loam" train "$run" train.length=41

# Without its lock file a second command is kept away all the same.
start "$work/unlocked"
rm "$work/unlocked/lock"
until_true grep -q "lock was deleted while the run trains; it is made again" "$work/log"
expect 1 'another process is training in' "$loam" train "$work/config.yaml" run.dir="$work/unlocked"
kill -TERM "$pid"
wait "$pid" || status=$?
[ "$status" = 75 ] || fail "status $status"

# Logs that are renamed, as by logrotate, or deleted while the run trains are made again, with one warning each.
run=$work/rotated
start "$run"
mv "$run/log.txt" "$run/log.txt.1"
mv "$run/metrics.jsonl" "$run/metrics.jsonl.1"
until_true has_step "$run"
until_true grep -qs 'step' "$run/log.txt"
for file in log.txt metrics.jsonl; do
    until_true grep -q "$file was renamed or deleted while it was written; it is made again" "$work/log"
done
rm "$run/log.txt"
until_true grep -qs 'made again' "$run/log.txt"
events=$(ls "$run"/tb/events.*)
rm "$events"
until_true grep -qs 'train/loss' "$events"
grep -qaF brain.Event:2 "$events" || fail "events without their header"
# Without its heartbeats it is alive, since its lock is held; they come back.
kill -STOP "$pid"
until_true grep -q '^State:.*stopped' "/proc/$pid/status"
rm -r "$run/ranks"
expect 0 ': alive' "$loam" status "$run"
grep -q 'a process holds its lock' "$work/out" || fail "$(cat "$work/out")"
kill -CONT "$pid"
until_true test -s "$run/ranks/0000.json"
until_true grep -q 'ranks was deleted while the run trains; it is made again' "$work/log"
kill -TERM "$pid"
wait "$pid" || true
# One that has ended is what its last events say.
"$loam" train "$work/config.yaml" run.dir="$work/short" train.length=2 2>"$work/err" || fail "$(cat "$work/err")"
for case in "$run stopped" "$work/short ended"; do
    read -r dir state <<<"$case"
    printf garbage >"$dir/ranks/0000.json"
    expect 0 ": $state" "$loam" status "$dir"
    rm -r "$dir/ranks"
    expect 0 ": $state" "$loam" status "$dir"
done
echo "ok: logs and heartbeats that are gone"
