# Loss spikes: checkpoints from before and after, the samples by number, skipped by themselves; and samples that are left out.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
train="$loam train $config train.length=30steps train.eval_every=0 train.save_every=0 train.keep_last=1 train.batch=2samples train.micro_batch=1samples train.precision=f32"
spike='train.spike=1.8 train.spike_window=6 train.spike_after=3'
losses() { sed -n 's/.*"kind":"train","step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }
spikes() { sed -n 's/.*"kind":"event","step":\([0-9]*\),"what":"loss .* is a spike.*/\1/p' "$1/metrics.jsonl"; }
same() {
    diff <(losses "$1") <(losses "$2") || fail "$2: other losses"
    cmp "$1/checkpoints/latest/weights-00001-of-00001.safetensors" "$2/checkpoints/latest/weights-00001-of-00001.safetensors"
    cmp "$1/checkpoints/latest/optimizer-00001-of-00001.safetensors" "$2/checkpoints/latest/optimizer-00001-of-00001.safetensors"
}

# Looking for spikes and saving at them changes no number of the run.
$train run.dir="$work/plain" 2>"$work/log"
$train run.dir="$work/report" $spike train.spike_action=report 2>"$work/log"
same "$work/plain" "$work/report"
at=$(spikes "$work/report" | tail -n 1)
[ -n "$at" ] && [ "$at" -lt 27 ] || fail "spikes at: $(spikes "$work/report")"
$train run.dir="$work/save" $spike 2>"$work/log"
same "$work/plain" "$work/save"
diff <(spikes "$work/report") <(spikes "$work/save") || fail "other spikes"
[ "$(ls "$work/save/checkpoints" | tr '\n' ' ')" = "$(printf 'best latest step-%08d step-%08d step-%08d ' $((at - 1)) $((at + 3)) 30)" ] ||
    fail "spike at $at, checkpoints $(ls "$work/save/checkpoints")"
grep -q "\"step\": $at, \"first_sample\": $((2 * at - 2)), \"samples\": 2, " "$work/save/spikes/step-$(printf %08d "$at").json" ||
    fail "$(cat "$work/save/spikes/"*)"
grep -q "its samples are $((2 * at - 2)) to $((2 * at - 1)) (loam inspect batch $work/save --first $((2 * at - 2)))" "$work/log" || fail "$(cat "$work/log")"
[ "$("$loam" inspect batch "$work/save" --first $((2 * at - 2)) --samples 1 --json)" = "$("$loam" inspect batch "$work/save" --step "$at" --samples 1 --json | sed "s/,\"step\":$at//;s/\"step\":$at,//")" ] ||
    fail "inspect batch --first: $("$loam" inspect batch "$work/save" --first $((2 * at - 2)) --samples 1 --json 2>&1 | head -c 300) / $("$loam" inspect batch "$work/save" --step "$at" --samples 1 --json 2>&1 | head -c 300)"
# What is said of a spike is the mean and the deviation of the losses before it, whatever the run does at it.
diff -r "$work/report/spikes" "$work/save/spikes" || fail "other means with train.spike_action=report"
losses "$work/report" | awk -v at="$at" '$1 >= at - 6 && $1 < at { n++; sum += $2; squares += $2 * $2; high = $2 > high ? $2 : high }
    END { printf "%.4f %.4f\n", sum / n, sqrt(squares / n - sum * sum / n / n) }' >"$work/want"
sed -n 's/.*"mean": \([0-9.]*\), "deviation": \([0-9.]*\)}.*/\1 \2/p' "$work/report/spikes/"*"$at.json" | awk '{ printf "%.4f %.4f\n", $1, $2 }' |
    cmp - "$work/want" || fail "$(cat "$work/want" "$work/report/spikes/"*"$at.json")"
echo "ok: a spike at step $at"
# What a kill left beside a report is removed by the next start.
touch "$work/report/spikes/step-00000001.json.abc123.tmp"
$train run.dir="$work/report" $spike train.spike_action=report train.length=31 2>"$work/log" || fail "$(cat "$work/log")"
[ ! -e "$work/report/spikes/step-00000001.json.abc123.tmp" ] || fail "left: $(ls "$work/report/spikes")"

# kill -9 before, in and after the saves around a spike; a spike that is skipped is skipped again.
more="save:2 step:$((at + 1))"
[ -z "${LOAM_SANITIZED:-}" ] || more=
for action in save skip; do
    $train run.dir="$work/$action-whole" $spike train.spike_action=$action 2>"$work/log"
    for point in save:1 $more; do
        { LOAM_FAULT=$point $train run.dir="$work/killed" $spike train.spike_action=$action >"$work/out" 2>&1 && fail "no kill at $point"; } 2>/dev/null
        $train run.dir="$work/killed" $spike train.spike_action=$action 2>"$work/log" || fail "$(cat "$work/log")"
        same "$work/$action-whole" "$work/killed"
        diff <(spikes "$work/$action-whole") <(spikes "$work/killed") || fail "other spikes after a kill at $point"
        rm -r "$work/killed"
    done
done
cmp -s "$work/plain/checkpoints/latest/weights-00001-of-00001.safetensors" "$work/skip-whole/checkpoints/latest/weights-00001-of-00001.safetensors" &&
    fail "nothing was skipped"
n=$(spikes "$work/skip-whole" | grep -c .)
grep -q "\"step\":30,\"updates\":$((30 - n)),\"samples\":60," "$work/skip-whole/metrics.jsonl" || fail "$n skipped: $(tail -n 2 "$work/skip-whole/metrics.jsonl")"
$train run.dir="$work/ranks" $spike train.spike_action=skip parallel.ranks=2 2>"$work/log" || fail "$(cat "$work/log")"
diff <(spikes "$work/skip-whole") <(spikes "$work/ranks") || fail "other spikes on two ranks"
echo "ok: skipped"

# What counts steps takes their unit; a window of an earlier version may be longer than the losses that are kept.
$train run.dir="$work/long" $spike train.spike_window='5k steps' train.spike_after=3steps train.keep_every='10 steps' train.length=1 2>"$work/log" || fail "$(cat "$work/log")"
grep -q 'spike_window: 5000$' "$work/long/config.yaml" && grep -q 'keep_every: 10$' "$work/long/config.yaml" || fail "$(grep -E 'spike|keep' "$work/long/config.yaml")"
expect 1 'train.spike_window: "6 samples" is not a whole number' $train run.dir="$work/x" train.spike=1 train.spike_window='6 samples'
expect 1 'run.seed: "6 steps" is not a whole number' $train run.dir="$work/x" run.seed='6 steps'

# Samples 21 to 24 are left out: steps that would touch them begin after them; the next steps read what follows.
$train run.dir="$work/left" train.skip_samples=21-25 2>"$work/log"
samples() { sed -n 's/.*"kind":"train","step":\([0-9]*\),.*"samples":\([0-9]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
[ "$(samples "$work/left" | sed -n '10,12p' | tr '\n' ';')" = '10 20;11 27;12 29;' ] || fail "$(samples "$work/left")"
grep -q 'step 10  samples 20 to 24 are left out' "$work/log" || fail "$(cat "$work/log")"
{ LOAM_FAULT=step:12 $train run.dir="$work/killed" train.skip_samples=21-25 train.save_every=1 >"$work/out" 2>&1 && fail "no kill"; } 2>/dev/null
$train run.dir="$work/killed" train.skip_samples=21-25 2>"$work/log"
same "$work/left" "$work/killed"
$train run.dir="$work/length" train.skip_samples=21-25 train.length='40 samples' 2>"$work/log"
[ "$(samples "$work/length" | tail -n 1)" = '18 41' ] || fail "$(samples "$work/length")"
# A range that reaches past the end of the run: no step begins after it, and a range of nothing but the end changes nothing.
$train run.dir="$work/end" train.skip_samples=35-60 train.length='40 samples' 2>"$work/log" || fail "$(cat "$work/log")"
[ "$(samples "$work/end" | tail -n 1)" = '17 34' ] || fail "$(samples "$work/end" | tail -n 2)"
expect 0 'nothing left to do at step 17' $train run.dir="$work/end" train.skip_samples=35-60 train.length='40 samples'
# A schedule ends with the run, whichever unit its length has, with batches that grow, too, and after a kill.
rates() { sed -n 's/.*"kind":"train","step":\([0-9]*\),.*"lr":\([0-9.e-]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
for batches in '' '1 1 8 samples'; do
    falls=(train.skip_samples=21-25 train.length='40 samples' train.batch_rampup="$batches" optim.schedule=linear optim.warmup=0 optim.lr=1e-3)
    rm -rf "$work/falls" "$work/goes-on"
    $train run.dir="$work/falls" "${falls[@]}" 2>"$work/log" || fail "$(cat "$work/log")"
    steps=$(rates "$work/falls" | tail -n 1 | cut -d ' ' -f 1)
    rates "$work/falls" | awk -v n="$steps" 'END { if (NR != n || $2 <= 0 || $2 > 1.5e-3 / n) exit 1 }' || fail "$batches: $(rates "$work/falls")"
    $train run.dir="$work/goes-on" "${falls[@]}" train.stop_after=1 train.exit_every=9 2>"$work/log" && fail "it did not stop"
    $train run.dir="$work/goes-on" "${falls[@]}" 2>"$work/log" || fail "$(cat "$work/log")"
    cmp <(rates "$work/falls") <(rates "$work/goes-on") || fail "$batches: other rates of a run that went on"
done
# So it does in Megatron-LM's order, whose last step a run without train.skip_samples leaves out.
"$loam" prepare --tokenizer "$work/tok.model" --append-eod --out "$work/eod" "$work/corpus.txt" >/dev/null 2>"$work/log" || fail "$(cat "$work/log")"
$train run.dir="$work/megatron" model.family=gpt model.n_enc=0 data.train="$work/eod" data.valid= data.objective=clm data.compat=megatron \
    data.compat_samples=200 train.skip_samples=21-25 train.length='40 samples' train.batch_rampup='1 1 8 samples' log.format=megatron 2>"$work/log" || fail "$(cat "$work/log")"
sed -n 's,.* iteration *\([0-9]*\)/ *\([0-9]*\) | consumed.*,\1 \2,p' "$work/log" | awk '{ last = $1; wrong += NR > 1 && $2 != of; of = $2 } END { exit !(last > 0 && last == of && !wrong) }' ||
    fail "other steps than told: $(grep ' iteration' "$work/log")"
# The report counts the samples that were trained on.
"$loam" report "$work/length" --out "$work/length.html" 2>"$work/log"
grep -qF ', 36 samples' "$work/length.html" || fail "$(grep -o '[0-9.k]* samples' "$work/length.html")"
expect 1 'write up to 64 ranges FIRST-END' $train run.dir="$work/x" train.skip_samples=25-21
echo "ok: samples left out"
