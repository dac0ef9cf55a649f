# labels: any-processor
# Options that change on the way: what is left of a run is counted from the samples it has read, collect and compare mark
# the run, and samples that were read already cannot be left out.
. tests/cli/lib.sh "$1"
make_dataset
cd "$work"
first="$loam train config.yaml train.eval_every=0 train.log_every=20"
stops() { "$@" 2>err && fail "it did not stop: $*" || [ $? = 75 ] || fail "$(cat err)"; }
# ends RUN OPTION…: plan says at which step the run ends, and it does.
ends() {
    "$loam" plan "$@" >plan 2>err || fail "$(cat err)"
    local want
    want=$(sed -n 's/^the run  *\(about \)*\([0-9]*\) steps.*/\2/p' plan)
    "$loam" train "$@" train.exit_every=0 2>err || fail "$(cat err)"
    [ -n "$want" ] && [ -d "$(printf '%s/checkpoints/step-%08d' "$1" "$want")" ] &&
        [ "$(readlink "$1/checkpoints/latest")" = "$(printf 'step-%08d' "$want")" ] ||
        fail "plan: $want steps, and the run ended at $(readlink "$1/checkpoints/latest")"
    echo "ok: $1 ends at step $want, as plan says"
}
for length in '240 samples' '16k tokens' '0.5 epochs'; do
    dir=${length#* }
    stops $first run.dir="$dir" train.length="$length" 'train.batch=2 samples' 'train.micro_batch=2 samples' train.exit_every=20
    stops "$loam" train "$dir" 'train.batch=8 samples' train.exit_every=22
    ends "$dir"
done
# train.stop_at counts samples in the same way.
stops $first run.dir=stop 'train.length=400 samples' 'train.batch=2 samples' 'train.micro_batch=2 samples' train.exit_every=20
ends stop 'train.batch=8 samples' 'train.stop_at=104 samples'
[ "$(readlink stop/checkpoints/latest)" = step-00000028 ] || fail "20 steps of 2 and 8 of 8 samples are 104"
# plan counts a warm-up in samples in the same way: 20 steps of 2 and 5 of 8 samples are 80.
stops $first run.dir=warm 'train.length=400 samples' optim.warmup='80 samples' 'train.batch=2 samples' 'train.micro_batch=2 samples' train.exit_every=20
expect 0 'warm-up ends     at step 25' "$loam" plan warm 'train.batch=8 samples'
# So does a decay in samples: at step 40, after 200 of 400 samples, the rate is about half its peak.
stops $first run.dir=decay 'train.length=400 samples' optim.decay_until='400 samples' 'train.batch=2 samples' 'train.micro_batch=2 samples' train.exit_every=20
"$loam" train decay 'train.batch=8 samples' train.exit_every=0 2>err || fail "$(cat err)"
sed -n 's/.*"kind":"train","step":40,.*"lr":\([-0-9.e]*\),.*/\1/p' decay/metrics.jsonl | awk '{ exit !($1 > 1.5e-3 && $1 < 1.8e-3) }' ||
    fail "the rate of a decay in samples: $(grep '"kind":"train"' decay/metrics.jsonl)"
# A last decay in samples takes its samples: 64 are the last 8 steps of 8 samples, whatever the steps before had.
stops $first run.dir=wsd 'train.length=400 samples' optim.schedule=wsd optim.decay_curve=linear optim.decay_length='64 samples' \
    'train.batch=2 samples' 'train.micro_batch=2 samples' train.exit_every=40
"$loam" train wsd 'train.batch=8 samples' train.exit_every=0 train.log_every=1 2>err || fail "$(cat err)"
sed -n 's/.*"kind":"train","step":\([0-9]*\),.*"lr":\([-0-9.e]*\),.*/\1 \2/p' wsd/metrics.jsonl >rates
awk '$1 == 73 && $2 == 3e-3 { full = 1 } $1 == 77 && $2 > 1.4e-3 && $2 < 1.6e-3 { half = 1 } END { exit !(full && half) }' rates ||
    fail "the rates of a last decay in samples: $(cat rates)"

# So does one in steps before an end in samples: its steps are those of the end.
stops $first run.dir=steps 'train.length=400 samples' optim.decay_until='400 samples' optim.schedule=wsd optim.decay_curve=linear optim.decay_length='8 steps' \
    'train.batch=2 samples' 'train.micro_batch=2 samples' train.exit_every=40
"$loam" train steps 'train.batch=8 samples' train.exit_every=0 train.log_every=1 2>err || fail "$(cat err)"
sed -n 's/.*"kind":"train","step":\([0-9]*\),.*"lr":\([-0-9.e]*\),.*/\1 \2/p' steps/metrics.jsonl | diff rates - || fail "the rates of a last decay in steps"

# A run that was not trained with its options from the start is marked, by what decides the learning.
first="$loam train config.yaml train.eval_every=20 train.save_every=10 train.log_every=20"
$first run.dir=cm/seed-1 run.seed=1 2>err || fail "$(cat err)"
stops $first run.dir=cm/seed-2 run.seed=2 optim.lr=1e-5 train.exit_every=20 train.save_every=20
"$loam" train cm/seed-2 optim.lr=3e-3 train.exit_every=0 train.save_every=10 2>err || fail "$(cat err)"
"$loam" collect cm >table 2>err || fail "$(cat err)"
grep -q '^all runs .* options changed on the way (1 of 2)' table || fail "$(cat table)"
grep -q '1 of 2 runs had options changed on the way (cm/seed-2: optim.lr from 1e-05 to 0.003 at step 20): ' err || fail "$(cat err)"
expect 0 'failed	untrained	changed' "$loam" collect cm --format tsv
expect 0 '"changed":1' "$loam" collect cm --format json
expect 0 'cm/seed-2: options changed on the way: optim.lr from 1e-05 to 0.003 at step 20' "$loam" compare cm
"$loam" train cm/seed-1 'train.length=60 steps' 2>err || fail "$(cat err)"
expect 0 'cm/seed-1: options changed on the way: train.length from 40 steps to 60 steps at step 40' "$loam" compare cm/seed-1
expect 0 'held-out loss at step' "$loam" compare cm/seed-2 cm/seed-2 # stops and saves are no such options
! grep -q 'exit_every\|save_every' "$work/err" || fail "$(cat "$work/err")"

# Which checkpoints stay, and which hooks run, is no detail: a command that lacks these options says so.
stops $first run.dir=keep train.keep_every=10 train.save_every=5 'hooks.on_save=echo backup' train.exit_every=20
$first run.dir=keep train.save_every=5 2>err || fail "$(cat err)"
for change in 'train.keep_every changed from 10 to 0' 'hooks.on_save changed from echo backup to ""'; do
    grep -qF "$change" err || fail "no word of it: $change: $(cat err)"
done
# A run whose metrics.jsonl is gone begins a new one, and says so.
rm keep/metrics.jsonl
expect 0 'warning: keep/metrics.jsonl is gone: it is made again, and holds nothing of what came before step 40' "$loam" train keep 'train.length=42 steps'
# The checkpoints that train.keep_every names have to be saved.
expect 0 'warning: train.keep_every is 10 steps, no multiple of train.save_every, 4 steps: of the checkpoints that train.save_every makes only' $first run.dir=lcm train.save_every=4 train.keep_every=10
expect 0 'with train.save_every=1m no save is due at multiples of 10 steps' $first run.dir=clock train.save_every=1m train.keep_every=10
$first run.dir=multiple train.save_every=5 train.keep_every=10 2>err && ! grep -q 'keep_every' err || fail "$(cat err)"

# plan counts no samples that are left out, of ranges that overlap each once: 384 of 400 samples are 48 steps of 8.
expect 0 'the run          about 48 steps' "$loam" plan config.yaml 'train.length=400 samples' train.skip_samples=16-32,20-28
# Nor does it when the run goes on: 320 samples are 20.5k tokens, and the warm-up is still one of 25 steps.
stops $first run.dir=skip 'train.length=400 samples' optim.warmup='200 samples' train.skip_samples=16-96 train.exit_every=10
expect 0 'the run          about 40 steps, 20.5k input tokens' "$loam" plan skip
grep -q '^warm-up ends  *at step 25$' out || fail "$(cat out)"
# With a batch of 4 samples from step 10 on, 80 samples later, the other 120 of the warm-up are 30 steps.
expect 0 'warm-up ends     at step 40' "$loam" plan skip 'train.batch=4 samples'
# Samples that were read cannot be left out; those that are still to come can, and are not warned of again.
"$loam" train cm/seed-1 'train.length=62 steps' train.skip_samples=100-120,470-490,484-486,600-610 2>err || fail "$(cat err)"
for range in '100 to 119' '470 to 479'; do
    grep -q "warning: train.skip_samples: samples $range were read before, as the run goes on from sample 480: .*loam rollback cm/seed-1 --to STEP" err ||
        fail "$range: $(cat err)"
done
[ "$(grep -c 'were read before' err)" = 2 ] || fail "$(cat err)"
"$loam" train cm/seed-1 'train.length=64 steps' 2>err && ! grep -q 'were read before' err || fail "$(cat err)"
