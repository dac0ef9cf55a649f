# What saves and stops a run by itself: phases of saves, train.stop_at, stop_after, stop_date, stop_file, exit_every.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
losses() { sed -n 's/.*"kind":"train","step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }
same() {
    diff <(losses "$1") <(losses "$2") || fail "$2: other losses"
    cmp "$1/checkpoints/latest/weights-00001-of-00001.safetensors" "$2/checkpoints/latest/weights-00001-of-00001.safetensors"
    cmp "$1/checkpoints/latest/optimizer-00001-of-00001.safetensors" "$2/checkpoints/latest/optimizer-00001-of-00001.safetensors"
}
run="$loam train $config train.length=24steps train.eval_every=0"
$run run.dir="$work/whole" train.save_every=0 2>"$work/log"

# Every 2 steps until step 6, every 5 until step 15, then train.save_every; also after kill -9 at each kind of save.
phases='train.save_phases=6:2,15:5 train.save_every=8 train.keep_last=100'
saves() { sed -n 's/.*"kind":"save","step":\([0-9]*\).*/\1/p' "$1/metrics.jsonl" | tr '\n' ' '; }
$run run.dir="$work/phases" $phases 2>"$work/log"
[ "$(saves "$work/phases")" = '2 4 6 10 15 16 24 ' ] || fail "saves at $(saves "$work/phases")"
same "$work/whole" "$work/phases"
for save in 2 4 6; do
    status=0
    LOAM_FAULT=save:$save $run run.dir="$work/killed" $phases 2>"$work/log" || status=$?
    [ "$status" = 137 ] || fail "status $status"
    $run run.dir="$work/killed" $phases 2>"$work/log" || fail "$(cat "$work/log")"
    [ "$(saves "$work/killed")" = '2 4 6 10 15 16 24 ' ] || fail "saves at $(saves "$work/killed") after a kill at save $save"
    same "$work/whole" "$work/killed"
    rm -r "$work/killed"
done
cat >"$work/phases.yaml" <<YAML
extends: $config
train: { save_phases: [{ until: 6 steps, every: 2 }, { until: 15, every: 5 }, { every: 8 }] }
YAML
"$loam" plan "$work/phases.yaml" >"$work/out" 2>&1
grep -q 'a save *every 2 steps until 6 steps' "$work/out" || fail "$(cat "$work/out")"
echo "ok: phases"

# The best three: the newest of those that were the best when they were saved.
$run run.dir="$work/best" train.eval_every=2 train.save_every=0 train.keep_last=1 train.keep_best=3 optim.schedule=constant 2>"$work/log"
awk -F'[:,]' '/"kind":"valid"/ { for (i = 1; i < NF; i++) { if ($i == "\"step\"") step = $(i + 1); if ($i == "\"loss\"") loss = $(i + 1) }
    if (step > 0 && (best == "" || loss + 0 < best + 0)) { best = loss; printf "step-%08d\n", step } }' "$work/best/metrics.jsonl" | tail -n 3 >"$work/want"
echo step-00000024 >>"$work/want"
diff <(sort -u "$work/want") <(ls "$work/best/checkpoints" | grep ^step) || fail "keep_best"
echo "ok: keep_best"

# stop_at: the schedule is that of the whole run, which goes on as if it had never stopped.
expect 0 'saved' $run run.dir="$work/at" 'train.stop_at=64 samples'
[ "$(readlink "$work/at/checkpoints/latest")" = step-00000008 ] || fail "stop_at"
# What is left is the way to the end that comes first.
expect 0 '  left 0s' $run run.dir="$work/early" train.length=9Msteps train.stop_at=8steps
expect 0 '  left 0s' $run run.dir="$work/seconds" train.length=0.1s
expect 0 ': stopped' "$loam" status "$work/at"
grep -q 'last event: stopped at step 8 (train.stop_at=64 samples); a later train.stop_at, or none, goes on from there' "$work/out" ||
    fail "$(cat "$work/out")"
expect 0 'a later train.stop_at goes on' $run run.dir="$work/at" 'train.stop_at=8 steps'
$run run.dir="$work/at" 2>"$work/log"
same "$work/whole" "$work/at"
for what in 'train.stop_at changed from 64 samples to 0 steps' 'ended at step 24 (train.length=24 steps)'; do
    [ "$(grep -cF "\"kind\":\"event\",\"step\":$([ "${what%% *}" = ended ] && echo 24 || echo 8),\"what\":\"$what\"" "$work/at/metrics.jsonl")" = 1 ] ||
        fail "no event of: $what: $(grep event "$work/at/metrics.jsonl")"
done
$run run.dir="$work/at" 2>"$work/log" # nothing is left to do
[ "$(grep -c '"what":"ended at' "$work/at/metrics.jsonl")" = 1 ] || fail "it ended twice"

# exit_every: at multiples of the steps of the run, not of the command.
expect 75 'stopped by train.exit_every=10 steps at step 10, checkpoint saved' $run run.dir="$work/exit" train.exit_every=10
expect 75 'at step 20' $run run.dir="$work/exit" train.exit_every=10
expect 0 'saved' $run run.dir="$work/exit" train.exit_every=10
same "$work/whole" "$work/exit"
expect 75 'stopped by train.exit_every=100 samples at step 13' $run run.dir="$work/samples" 'train.exit_every=100 samples'
expect 75 'stopped by train.exit_every=10 steps at step 10' $run run.dir="$work/ranks" train.exit_every=10 parallel.ranks=2

# train.stop_after counts from the start of the command, not of each run of several: these take a second each, or more.
expect 75 'stopped by train.stop_after=3s' $run run.dir="$work/many" train.save_every=0 train.stop_after=3s --seeds 9 hooks.on_stop='sleep 1'

# A time and a date, with room for the save; a date that has passed stops after one step.
long="$loam train $config train.length=100ksteps train.save_every=0 train.eval_every=0 optim.schedule=constant"
expect 75 'stopped by train.stop_after=2s' $long run.dir="$work/after" train.stop_after=2s
expect 75 'stopped by train.stop_date=2020-01-31 07:30 at step 1,' $long run.dir="$work/date" 'train.stop_date=2020-01-31 07:30'
expect 75 'stopped by train.stop_date=2020-01-31 07:30 at step 1,' $long run.dir="$work/dates" 'train.stop_date=2020-01-31 07:30' \
    parallel.ranks=2

# What is accepted, but probably not meant, is said at the start.
expect 0 "warning: train.stop_file: there is no folder $work/nowhere in which the file could be made" "$loam" train "$config" \
    run.dir="$work/nostop" train.length=1 train.stop_file="$work/nowhere/stop"
expect 0 'warning: train.length is 0: the model is evaluated as it is, and nothing is trained or saved' "$loam" train "$config" \
    run.dir="$work/none" train.length=0
"$loam" train "$config" run.dir="$work/meant" 'train.length=2 steps' train.eval_every=0 train.skip_samples=100-200,150-300 \
    'train.stop_date=2020-01-31 07:30' log.emissions=true log.country=fra log.cpu_watts=5 >"$work/out" 2>"$work/log" || [ $? = 75 ] || fail "$(cat "$work/log")"
for what in 'train.skip_samples: 100-200 and 150-300 overlap' 'train.stop_date: 2020-01-31 07:30 is past' 'log.country: "fra" is no code of ISO 3166-1'; do
    [ "$(grep -c "warning: $what" "$work/log")" = 1 ] || fail "no word of: $what: $(cat "$work/log")"
done
"$loam" train "$config" run.dir="$work/right" 'train.length=2 steps' train.eval_every=0 train.skip_samples=100-200,200-300 \
    'train.stop_date=2126-01-31 07:30' log.emissions=true log.country=FRA log.cpu_watts=5 2>"$work/log" || fail "$(cat "$work/log")"
! grep 'warning: \(train\|log.country\)' "$work/log" || fail "a warning of nothing"

# A file stops a run, and keeps one from starting.
$long run.dir="$work/file" train.stop_file="$work/stop" 2>"$work/log" &
pid=$!
until_true grep -q '"step":3,' "$work/file/metrics.jsonl" 2>/dev/null
touch "$work/stop"
status=0
wait "$pid" || status=$?
[ "$status" = 75 ] && grep -q "stopped by train.stop_file=$work/stop .*once this file is removed" "$work/log" || fail "$status: $(tail -n 1 "$work/log")"
cp -r "$work/file" "$work/before"
expect 1 'nothing is trained; remove it' $long run.dir="$work/file" train.stop_file="$work/stop"
expect 1 'nothing is trained; remove it' $long run.dir="$work/new" train.stop_file="$work/stop" parallel.ranks=2
[ ! -e "$work/new" ] || fail "a run directory was made"
diff -r "$work/before" "$work/file" || fail "something was changed"
rm "$work/stop"
# A relative path means the same file from wherever the run goes on.
loam=$(realpath "$loam")
(cd "$work" && "$loam" train config.yaml run.dir=near train.length=3steps train.stop_file=halt 2>log) || fail "$(cat "$work/log")"
touch "$work/halt"
expect 1 'nothing is trained; remove it' "$loam" train "$work/near" train.length=5steps
expect 75 'stopped by train.exit_every' $long run.dir="$work/file" train.stop_file="$work/stop" train.exit_every=10
