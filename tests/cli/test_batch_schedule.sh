# Batches that change during a run: their counters, the same on any number of ranks and after kill -9.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
counters() { sed -n 's/.*"kind":"train","step":\([0-9]*\),.*"samples":\([0-9]*\),.*"lr":\([0-9.e+-]*\),.*/\1 \2 \3/p' "$1/metrics.jsonl"; }
losses() { sed -n 's/.*"kind":"train","step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }
same_bytes() {
    for file in weights-00001-of-00001 optimizer-00001-of-00001; do
        cmp "$1/checkpoints/latest/$file.safetensors" "$2/checkpoints/latest/$file.safetensors" || fail "$2: another $file"
    done
    cmp "$1/checkpoints/latest/state.json" "$2/checkpoints/latest/state.json" || fail "$2: other counters"
}
ramp='train.batch=8samples train.length=70samples train.eval_every=0 optim.schedule=linear'

# 2 samples a step up to 10 samples, 4 up to 20, 6 up to 30, then 8: 2 2 2 2 2 4 4 4 6 6 8 8 8 8 8.
"$loam" train "$config" run.dir="$work/whole" $ramp 'train.batch_rampup=2 2 30 samples' optim.warmup='20 samples' 2>"$work/log"
counters "$work/whole" | awk '{ printf "%s%d", (NR > 1 ? " " : ""), $2 - was; was = $2 }' >"$work/out"
[ "$(cat "$work/out")" = '2 2 2 2 2 4 4 4 6 6 8 8 8 8 8' ] || fail "batches $(cat "$work/out")"
counters "$work/whole" | awk '{ want = $2 <= 20 ? $2 / 20 : was <= 20 ? 1 : (70 - was) / 50; was = $2; d = $3 - 3e-3 * want
    if (d * d > 1e-24) bad++ } END { exit bad + 0 }' || fail "rates: $(counters "$work/whole")"
grep -q 'step 5  the batch is 4 samples from here on' "$work/log" || fail "the change is not logged"
echo "ok: ramp-up"

# A last decay in steps is one of as many steps, also of a batch that has become smaller: 25 of 8, then 20 of 2 samples.
"$loam" train "$config" run.dir="$work/smaller" 'train.batch_schedule=0 samples:8 200 samples:2' train.micro_batch=2samples train.length=240samples \
    train.eval_every=0 train.save_every=0 optim.schedule=wsd optim.decay_length=8steps optim.decay_curve=linear 2>"$work/log" || fail "$(cat "$work/log")"
counters "$work/smaller" | awk '$1 > 36 { want = 3e-3 * (46 - $1) / 8; d = $3 - (want < 3e-3 ? want : 3e-3); if (d * d > 1e-12) exit 1 }' ||
    fail "rates: $(counters "$work/smaller")"

# kill -9 at the beginning of any step, also where the batch has just changed.
for step in 2 6 9 12; do
    status=0
    LOAM_FAULT=step:$step "$loam" train "$config" run.dir="$work/killed" $ramp 'train.batch_rampup=2 2 30 samples' \
        optim.warmup='20 samples' train.save_every=1 2>"$work/log" || status=$?
    [ "$status" = 137 ] || fail "status $status"
    "$loam" train "$config" run.dir="$work/killed" $ramp 'train.batch_rampup=2 2 30 samples' optim.warmup='20 samples' \
        train.save_every=1 2>"$work/log" || fail "$(cat "$work/log")"
    diff <(losses "$work/whole") <(losses "$work/killed") || fail "other losses after a kill at step $step"
    same_bytes "$work/whole" "$work/killed"
    rm -r "$work/killed"
done
echo "ok: kill -9"

# Two ranks: the same counters and rates; losses differ by rounding.
"$loam" train "$config" run.dir="$work/ranks" $ramp 'train.batch_rampup=2 2 30 samples' optim.warmup='20 samples' \
    parallel.ranks=2 parallel.zero=2 train.precision=f32 2>"$work/log" || fail "$(cat "$work/log")"
diff <(counters "$work/whole") <(counters "$work/ranks") || fail "other counters on two ranks"
"$loam" train "$config" run.dir="$work/one" $ramp 'train.batch_rampup=2 2 30 samples' optim.warmup='20 samples' \
    train.precision=f32 2>"$work/log" || fail "$(cat "$work/log")"
paste <(losses "$work/one") <(losses "$work/ranks") | awk '{ d = $2 - $4; if (d * d > 1e-8) exit 1 }' || fail "other losses"
expect 1 'ranks for a batch of 2 samples' "$loam" train "$config" run.dir="$work/many" $ramp \
    'train.batch_rampup=2 2 30 samples' parallel.ranks=3
# loam plan refuses what the start of the run refuses: the first batch of a ramp-up, the smallest stage. Where the ramp-up
# is over, a run goes on with more ranks, and a plan of it says so.
for batch in 'train.batch_rampup=2 2 30 samples' 'train.batch_schedule=0:8 30 samples:2'; do
    for verb in train plan; do
        expect 1 "3 data-parallel ranks for a batch of 2 samples: some would have none; start at most 2, or set ${batch%%=*}" \
            "$loam" $verb "$config" run.dir="$work/many" $ramp "$batch" parallel.ranks=3
    done
done
"$loam" train "$config" run.dir="$work/grown" $ramp 'train.batch_rampup=2 2 30 samples' train.stop_at='36 samples' 2>"$work/log" || fail "$(cat "$work/log")"
for verb in plan train; do
    "$loam" $verb "$config" run.dir="$work/grown" $ramp 'train.batch_rampup=2 2 30 samples' parallel.ranks=8 >"$work/out" 2>"$work/log" ||
        fail "$verb after the ramp-up: $(cat "$work/log")"
done
# Rank 2 of 5 has 4 of 17 samples, and 3 of 18.
for ranks in 1 5; do
    "$loam" train "$config" run.dir="$work/uneven-$ranks" 'train.batch_schedule=0:17 34 samples:18' train.micro_batch=1samples \
        train.length='70 samples' train.eval_every=0 parallel.ranks=$ranks train.precision=f32 2>"$work/log" || fail "$(cat "$work/log")"
done
paste <(losses "$work/uneven-1") <(losses "$work/uneven-5") | awk '{ d = $2 - $4; if (d * d > 1e-8) exit 1 } END { exit NR != 4 }' ||
    fail "other losses on 5 ranks"
echo "ok: ranks"

# Stages by tokens read: the batch of a step follows from what was read before it.
"$loam" train "$config" run.dir="$work/stages" 'train.batch_schedule=0:2 512 tokens:6 1024:3' train.length='2000 tokens' \
    train.save_every='500 tokens' train.keep_last=100 2>"$work/log" || fail "$(cat "$work/log")"
sed -n 's/.*"kind":"train","step":[0-9]*,.*"samples":\([0-9]*\),"tokens":\([0-9]*\),.*/\1 \2/p' "$work/stages/metrics.jsonl" |
    awk '{ want = tokens < 512 ? 2 : tokens < 1024 ? 6 : 3; if ($1 - samples != want) exit 1; samples = $1; tokens = $2 }' ||
    fail "batches of stages"
[ "$(grep -c '"kind":"save"' "$work/stages/metrics.jsonl")" = 4 ] || fail "saves by tokens"

# A changed rate of a run that goes on: it is taken and logged, or the run keeps its own, or it refuses.
"$loam" train "$config" run.dir="$work/changed" 'train.length=4 steps' optim.schedule=wsd optim.decay_length=50% optim.warmup='1 steps' 2>"$work/log"
rate() { sed -n "s/.*\"kind\":\"train\",\"step\":$1,.*\"lr\":\([0-9.e+-]*\),.*/\1/p" "$work/changed/metrics.jsonl"; }
changed="$loam train $config run.dir=$work/changed optim.schedule=constant optim.warmup=1steps"
expect 1 'optim.on_change is refuse' $changed train.length=6steps optim.on_change=refuse
expect 0 'optim.schedule stays wsd, not constant' $changed train.length=6steps optim.on_change=keep optim.decay_length=50%
awk -v a="$(rate 4)" -v b="$(rate 6)" 'BEGIN { a -= 3e-3 * (1 - sqrt(1 / 2)); b -= 3e-3 * (1 - sqrt(2 / 3)); exit !(a * a < 1e-24 && b * b < 1e-24) }' ||
    fail "rates $(rate 4) $(rate 6)"
expect 0 'optim.schedule changed from wsd to constant' $changed train.length=7steps
[ "$(rate 7)" = 0.0030000000000000001 ] || fail "rate $(rate 7)"

# What the plan says of the published run.
"$loam" plan "$config" train.batch_rampup='16 16 5M samples' train.batch='1024 samples' train.length='300M samples' >"$work/out" 2>&1
grep -q 'grows from 16 to 1024 samples by 16, until step 23456' "$work/out" || fail "$(cat "$work/out")"
grep -q 'the run .*311542 steps' "$work/out" || fail "$(cat "$work/out")"
echo "ok: plan"

# inspect batch shows what each step of a run has read: with a ramp-up, with ranges left out, and where the batch was changed
# meanwhile; what it cannot know it says.
samples() { "$loam" inspect batch "$1" --step "$2" --json 2>"$work/err" | sed 's/.*"sample":\([0-9]*\),.*/\1/' | tr '\n' ' '; }
reads() { # reads RUN STEP 'SAMPLES '
    [ "$(samples "$1" "$2")" = "$3" ] || fail "step $2 of $1 read $3, not $(samples "$1" "$2"): $(cat "$work/err")"
}
flat="train.length=6steps train.eval_every=0 train.batch=4samples data.objective=span_corruption"
"$loam" train "$config" run.dir="$work/left" $flat train.skip_samples=9-13 2>"$work/log" || fail "$(cat "$work/log")"
reads "$work/whole" 6 '10 11 12 13 '
reads "$work/left" 2 '4 5 6 7 '
reads "$work/left" 3 '13 14 15 16 '
reads "$work/left" 9 '37 38 39 40 '
"$loam" train "$work/left" train.length=8steps train.batch=6samples 2>"$work/log" || fail "$(cat "$work/log")"
reads "$work/left" 6 '25 26 27 28 '
reads "$work/left" 7 '29 30 31 32 33 34 '
[ ! -s "$work/err" ] || fail "a warning of what is known: $(cat "$work/err")"
sed -i '/"step":[4567],/d' "$work/left/metrics.jsonl"
rm -rf "$work/left/checkpoints/step-00000005" "$work/left/checkpoints/step-00000006"
samples "$work/left" 5 >"$work/out"
grep -q 'left read samples 17 to 40 in steps 4 to 8, with another train.batch or train.skip_samples than it has now; which of them were step 5 is a guess' \
    "$work/err" || fail "$(cat "$work/err")"
# Far steps are reached in jumps: over what is skipped, and up to the changes of the batch.
far() { "$loam" inspect batch "$@" --samples 1 --json 2>"$work/err" | grep -o '"sample":[0-9]*' | sed -n 1p; }
for case in '20000000003=train.skip_samples=5-9 train.batch=2samples train.batch_rampup= --step 10000000000' \
    '20000000006=train.skip_samples=5-9,20000000000-20000000001,20000000003-20000000004 train.batch=2samples train.batch_rampup= --step 10000000000' \
    '79999999863=train.batch=8samples train.batch_rampup=2,2,100samples train.skip_samples=5-9 --step 10000000000'; do
    got=$(far "$work/config.yaml" ${case#*=}) || fail "$(cat "$work/err")"
    [ "$got" = "\"sample\":${case%%=*}" ] || fail "$case: $got"
done
# A dataset that was made again is not what the run has read.
"$loam" prepare --tokenizer "$work/tok.model" --out "$work/data" --replace --valid 20% --workers 2 "$work/corpus.txt" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
expect 0 'the run has not read these samples' "$loam" inspect batch "$work/left" --samples 1
echo "ok: inspect batch of a run"
