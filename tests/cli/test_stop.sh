# labels: any-processor
# Stops: every request saves what was trained and exits with 75, and the run that goes on ends as if it had never stopped.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
losses() { sed -n 's/.*"kind":"\(train\|valid\)","step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }

# ends_like WHOLE RUN: the same losses, each once, the same links and the same bytes.
ends_like() {
    diff <(losses "$1") <(losses "$2") >"$work/diff" || fail "$2: other losses: $(head -n 4 "$work/diff")"
    for link in latest best; do
        [ "$(readlink "$1/checkpoints/$link")" = "$(readlink "$2/checkpoints/$link")" ] || fail "$2: another $link"
        for file in "$1/checkpoints/$link"/*; do
            cmp "$file" "$2/checkpoints/$link/${file##*/}" || fail "$2: another ${file##*/}"
        done
    done
}

# stopped COMMAND…: the command ends with 75 and says so in one line.
stopped() { expect 75 'stopped on request at step' "$@"; }

# A run that never ends is stopped by a signal from outside; the answer comes before the save.
for signal in TERM USR1 USR2 XCPU HUP INT PIPE; do
    "$loam" train "$config" run.dir="$work/$signal" 'train.length=100k steps' optim.schedule=constant train.save_every=0 \
        2>"$work/log" &
    pid=$!
    until_true grep -q '"step":3,' "$work/$signal/metrics.jsonl" 2>/dev/null
    kill -"$signal" "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" = 75 ] || fail "SIG$signal ended with $status"
    [ -e "$work/$signal/checkpoints/latest/state.json" ] || fail "SIG$signal saved nothing"
    grep -q 'stopping after this step, saving' "$work/log" || fail "SIG$signal: no answer: $(tail -n 2 "$work/log")"
    echo "ok: SIG$signal"
done
grep -q 'again to stop now$' "$work/INT/log.txt" || fail "the answer to Ctrl-C"

# A second Ctrl-C ends the program at once, here while it saves.
LOAM_FAULT=save:1:STOP "$loam" train "$config" run.dir="$work/twice" 'train.length=100k steps' optim.schedule=constant \
    train.save_every=0 train.eval_every=0 2>"$work/log" &
pid=$!
until_true grep -q '"step":3,' "$work/twice/metrics.jsonl" 2>/dev/null
kill -INT "$pid"
until_true grep -q ' T ' "/proc/$pid/stat"
kill -INT "$pid" && kill -CONT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 130 ] || fail "a second Ctrl-C ended with $status"
echo "ok: a second Ctrl-C"

# The time of a save, here two seconds longer than it takes, is no time of the steps around it.
LOAM_FAULT=save:1:STOP "$loam" train "$config" run.dir="$work/slow" 'train.length=4 steps' optim.schedule=constant \
    train.save_every=2 train.eval_every=0 train.log_every=1 2>"$work/log" &
pid=$!
until_true grep -q ' T ' "/proc/$pid/stat"
sleep 2
kill -CONT "$pid"
wait "$pid" || fail "a slow save: $(tail -n 1 "$work/log")"
sed -n 's/.*"kind":"train","step":\([23]\),.*"step_s":\([^,]*\),.*"wall_s":\([^,}]*\).*/\1 \2 \3/p' "$work/slow/metrics.jsonl" |
    awk '$1 == 2 { before = $3 } $1 == 3 { exit !($3 - before - $2 > 1.9) }' || fail "step_s holds the time of a save"
echo "ok: the time of a save"

# Nobody reads standard error any more.
status=0
"$loam" train "$config" run.dir="$work/head" 'train.length=100k steps' optim.schedule=constant 2> >(head -n 3 >"$work/out") ||
    status=$?
[ "$status" = 75 ] && [ -e "$work/head/checkpoints/latest/state.json" ] || fail "a closed pipe: status $status"
echo "ok: a closed pipe"

# nohup: a lost terminal is nothing to it.
nohup "$loam" train "$config" run.dir="$work/nohup" 'train.length=100k steps' optim.schedule=constant >"$work/out" 2>"$work/log" &
pid=$!
until_true grep -q '"step":3,' "$work/nohup/metrics.jsonl" 2>/dev/null
kill -HUP "$pid"
until_true grep -q '"step":6,' "$work/nohup/metrics.jsonl"
kill -TERM "$pid"
wait "$pid" || true
grep -q 'SIGHUP' "$work/log" && fail "a nohup run heard SIGHUP"
echo "ok: nohup"

# A stop on a step that is due for evaluation: the run that goes on makes it, and keeps the best.
every='train.eval_every=1 train.keep_last=1 train.save_every=0'
"$loam" train "$config" run.dir="$work/whole" 'train.length=12 steps' $every 2>"$work/log"
LOAM_FAULT=step:7:TERM stopped "$loam" train "$config" run.dir="$work/step" 'train.length=12 steps' $every
step=$(readlink "$work/step/checkpoints/latest")
"$loam" train "$config" run.dir="$work/step" 'train.length=12 steps' $every 2>"$work/log"
[ -e "$work/step/checkpoints/best/state.json" ] || fail "best dangles after a stop at $step"
ends_like "$work/whole" "$work/step"
LOAM_FAULT=evaluation:7:TERM stopped "$loam" train "$config" run.dir="$work/best" 'train.length=12 steps' $every
step=$(readlink "$work/best/checkpoints/latest")
"$loam" train "$config" run.dir="$work/best" "train.length=$((10#${step#step-})) steps" optim.schedule=constant $every 2>"$work/log"
[ "$(readlink "$work/best/checkpoints/best")" = "$step" ] || fail "the best of $step was forgotten"
expect 0 'loss' "$loam" eval "$work/best@best"

# A stop during an evaluation that would take long: it is abandoned, no line of it is left, and made when the run goes on.
sets="a:$work/data"
for i in $(seq 5); do sets="$sets,s$i:$work/data"; done
long="data.valid=$sets train.eval_samples=0 train.micro_batch=2samples train.eval_every=4"
for at in 1 2; do
    LOAM_FAULT=evaluation:$at:TERM stopped "$loam" train "$config" run.dir="$work/eval$at" 'train.length=4 steps' $long
    [ "$(losses "$work/eval$at" | grep -c "^valid $((at * 4 - 4)) ")" = 0 ] || fail "an evaluation that was abandoned is logged"
    [ -e "$work/eval$at/checkpoints/latest/state.json" ] || fail "nothing saved"
done
"$loam" train "$config" run.dir="$work/eval2" 'train.length=4 steps' $long data.valid="$work/data-valid" 2>"$work/log"
[ "$(losses "$work/eval2" | grep -c '^valid 4 ')" = 1 ] || fail "the evaluation of the last step was not made"
[ "$(readlink "$work/eval2/checkpoints/best")" = step-00000004 ] || fail "best"
echo "ok: stops during an evaluation"

# A step that would take long is abandoned and leaves nothing: a run of other batches goes on from the step before.
constant="optim.schedule=constant $every"
"$loam" train "$config" run.dir="$work/plain" 'train.length=6 steps' $constant 2>"$work/log"
"$loam" train "$config" run.dir="$work/long" 'train.length=3 steps' $constant 2>"$work/log"
for point in step:1 microbatch:3; do
    LOAM_FAULT=$point:TERM stopped "$loam" train "$config" run.dir="$work/long" 'train.length=6 steps' $constant \
        'train.batch=40k samples' 'train.micro_batch=1 samples'
    grep -q 'at step 3,' "$work/err" || fail "$(cat "$work/err")"
done
"$loam" train "$config" run.dir="$work/long" 'train.length=6 steps' $constant 2>"$work/log"
ends_like "$work/plain" "$work/long"

# A terminal shows how far a long step and an evaluation are; a file gets no such line.
show="train.length=1 train.micro_batch=1samples train.batch=1800samples train.precision=f32 data.valid=$work/data train.eval_samples=0"
show="$show model.n_enc=2 model.n_dec=2 model.width=128 model.ffn=512" # both take long on any machine
"$loam" train "$config" run.dir="$work/file" $show 2>"$work/log"
grep -q '\[=' "$work/log" && fail "a bar in a file"
if command -v script >/dev/null; then
    TERM=xterm script -qec "$loam train $config run.dir=$work/terminal $show" /dev/null </dev/null >"$work/log"
    for what in 'step 1 .*% .*samples, .*/s, .* left  loss [0-9]' 'evaluating .*% .*samples.*  loss [0-9]'; do
        tr '\r' '\n' <"$work/log" | grep "$what" >"$work/out" || fail "no \"$what\" on a terminal"
    done
fi
echo "ok: a live line"

# Another held-out set, of letters that no training text has: its losses are higher, and not compared with those of before.
head -n 400 "$work/corpus.txt" | tr a-z A-Z >"$work/upper.txt"
"$loam" prepare --tokenizer "$work/tok.model" --out "$work/upper" "$work/upper.txt" >/dev/null 2>"$work/log" ||
    fail "prepare: $(cat "$work/log")"
"$loam" train "$config" run.dir="$work/other" 'train.length=6 steps' $constant 2>"$work/log"
for step in 7 8; do # at a rate of 0 the loss stays what it is
    "$loam" train "$config" run.dir="$work/other" "train.length=$step steps" $constant optim.lr=0 data.valid="$work/upper" 2>"$work/log"
    [ "$(readlink "$work/other/checkpoints/best")" = step-00000007 ] || fail "step $step: best is $(readlink "$work/other/checkpoints/best")"
    [ "$(grep -c 'the best loss so far (step 6) was computed on other held-out samples' "$work/log")" = $((8 - step)) ] || fail "$(cat "$work/log")"
done
losses "$work/other" | awk '$1 == "valid" { loss[$2] = $3 } END { exit !(loss[7] > loss[6]) }' || fail "$(losses "$work/other")"
echo "ok: another held-out set"

# Saves, evaluations and log lines by time change no number.
"$loam" train "$config" run.dir="$work/often" 'train.length=12 steps' $every train.save_within=0.001s 2>"$work/log"
ends_like "$work/whole" "$work/often"
[ "$(grep -c '"kind":"save"' "$work/often/metrics.jsonl")" = 12 ] || fail "not a save a step"
"$loam" train "$config" run.dir="$work/timed" 'train.length=12 steps' train.log_every=2h train.eval_every=0.001s train.save_every=2h \
    train.save_within=0.001s train.keep_last=1 2>"$work/log"
[ "$(losses "$work/timed" | grep -c valid)" = 13 ] || fail "not an evaluation a step"
[ "$(losses "$work/timed" | awk '$1 == "train" { print $2 }')" = 12 ] || fail "a log line before its time, or none of the last step"
cmp "$work/whole/checkpoints/latest/weights-00001-of-00001.safetensors" \
    "$work/timed/checkpoints/latest/weights-00001-of-00001.safetensors" || fail "other weights"
echo "ok: by time"

# A length in time: shares of it are times, a decay ends with it, on one rank and on two, and the run that goes on keeps its seconds.
# Each rate lies between those that the schedule has when the step before the last one was logged and when this step was, so
# it does not matter how many steps fit into the time. A warm-up of more steps than fit is said while it trains.
for ranks in 1 2; do
    "$loam" train "$config" run.dir="$work/hours-$ranks" train.length=0.6s optim.schedule=cosine optim.warmup=10% train.log_every=1 train.eval_every=50% \
        train.save_every=0 parallel.ranks=$ranks 2>"$work/err" || fail "a length in time on $ranks ranks: $(tail -n 2 "$work/err")"
    sed -n 's/.*"kind":"train",.*"lr":\([0-9.e+-]*\),.*"step_s":\([0-9.e+-]*\),.*"wall_s":\([0-9.e+-]*\).*/\1 \2 \3/p' "$work/hours-$ranks/metrics.jsonl" >"$work/rates"
    awk 'function rate(s) { return s <= 0.06 ? 3e-3 : s >= 0.6 ? 0 : 1.5e-3 * (1 + cos(3.14159265358979 * (s - 0.06) / 0.54)) }
        $1 > rate(passed) * 1.001 + 1e-9 || (decays && $1 < rate($3) * 0.999 - 1e-9) { print "line " NR ": " $0; bad = 1 }
        { passed = logged; logged += $2; decays = decays || passed > 0.06 }
        END { exit bad || NR == 0 }' "$work/rates" >"$work/diff" || fail "rates: $(cat "$work/diff" "$work/rates")"
    sed -n 's/.*"trained_s": *\([0-9.]*\).*/\1/p' "$work/hours-$ranks/checkpoints/latest/state.json" >"$work/seconds"
    awk 'FNR == NR { passed = logged; logged += $2; next } { seconds = $1 }
        END { exit !(seconds > 0 && seconds >= passed * 0.999) }' "$work/rates" "$work/seconds" || # counted at the last update
        fail "seconds in state.json: $(cat "$work/seconds" "$work/rates")"
done
"$loam" train "$config" run.dir="$work/short" train.length=0.3s optim.schedule=inverse_sqrt optim.warmup='10M steps' train.log_every=1 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(grep -c 'warning: optim.warmup is longer than the run, about [0-9]* steps at this speed' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
echo "ok: a length in time"

# All commands of a run share its length in time, and its schedule goes by the time that all have trained. Nothing here
# depends on how fast a step is: the lengths are those seconds that the first command has trained, and twice as many.
seconds() { sed -n 's/.*"trained_s": *\([0-9.]*\).*/\1/p' "$1/checkpoints/latest/state.json"; }
timed=(train.length=1000h train.eval_every=0 optim.schedule=linear optim.warmup=0)
"$loam" train "$config" run.dir="$work/shared" "${timed[@]}" train.exit_every=3 2>"$work/err" || [ $? = 75 ] || fail "$(cat "$work/err")"
first=$(seconds "$work/shared")
cp -r "$work/shared" "$work/half"
expect 0 'nothing left to do at step 3' "$loam" train "$work/shared" train.length="${first}s" train.exit_every=0
[ "$(ls "$work/shared/checkpoints") $(seconds "$work/shared")" = "$(printf 'best\nlatest\nstep-00000003') $first" ] || fail "a run whose time is up went on"
for ranks in 1 2; do
    cp -r "$work/half" "$work/half-$ranks"
    "$loam" train "$work/half-$ranks" train.length="$(awk -v s="$first" 'BEGIN { printf "%.17g", 2 * s }')s" train.exit_every=1 \
        parallel.ranks=$ranks 2>"$work/err" || [ $? = 75 ] || fail "$(cat "$work/err")"
    grep '"kind":"train","step":4,' "$work/half-$ranks/metrics.jsonl" | grep -q '"lr":0.0015,' || fail "another rate at half of the length: $(tail -n 3 "$work/err")"
done
expect 0 'of train.length=1000h, which all commands of the run share' "$loam" plan "$work/half-1" train.length=1000h
expect 0 'nothing is left to do' "$loam" plan "$work/half-1" train.length="${first}s"

# A length of time that is up after the first step is up at the next start, and a longer one goes on.
"$loam" train "$config" run.dir="$work/blink" "${timed[@]}" train.length=0.000001s 2>"$work/err" || fail "$(cat "$work/err")"
expect 0 'nothing left to do at step 1; a longer train.length goes on from there' "$loam" train "$work/blink"
expect 75 'at step 2, ' "$loam" train "$work/blink" train.length=1000h train.exit_every=1

# Checkpoints without the time: that of metrics.jsonl counts, and none without that file.
"$loam" train "$config" run.dir="$work/steps" train.length=3steps 2>"$work/err" || fail "$(cat "$work/err")"
expect 0 'by metrics.jsonl' "$loam" train "$work/steps" train.length=0.000001s
grep -q 'nothing left to do at step 3' "$work/err" || fail "$(cat "$work/err")"
rm "$work/steps/metrics.jsonl"
expect 75 'the time that the run has trained; it counts as 0s' "$loam" train "$work/steps" train.length=1000h train.exit_every=1

# Commands that are shorter than the period of evaluations add up to one.
"$loam" train "$config" run.dir="$work/period" train.eval_every=1000h train.exit_every=2 2>"$work/err" || [ $? = 75 ] || fail "$(cat "$work/err")"
expect 75 'at step 4, ' "$loam" train "$work/period" train.eval_every="$(seconds "$work/period" | awk '{ printf "%.17g", $1 + 1e-6 }')s"
grep -q '"kind":"valid","step":[23],' "$work/period/metrics.jsonl" || fail "no evaluation after a period of two commands"
echo "ok: a time of several commands"
