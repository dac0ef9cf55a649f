# A run from raw text to an answer: it learns, reports every step once, keeps the checkpoints it should.
. tests/cli/lib.sh "$1"
make_dataset
run=$work/run
"$loam" train "$work/config.yaml" run.dir="$run" 'train.length=60 steps' train.keep_last=1 train.keep_every=20 2>"$work/log"

[ "$(grep -c '"kind":"train"' "$run/metrics.jsonl")" = 60 ] || fail "not one line a step"
first=$(grep -m 1 '"kind":"valid"' "$run/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/')
last=$(grep '"kind":"valid"' "$run/metrics.jsonl" | tail -n 1 | sed 's/.*"loss":\([0-9.]*\).*/\1/')
awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < a - 1) }' || fail "held-out loss went from $first to $last"
echo "ok: held-out loss $first -> $last"

for step in 20 40 60; do
    [ -e "$run/checkpoints/step-000000$step/state.json" ] || fail "checkpoint of step $step is gone"
done
[ ! -e "$run/checkpoints/step-00000045" ] || fail "step 45 should be gone"
[ "$(readlink "$run/checkpoints/latest")" = step-00000060 ] || fail "latest"
[ -e "$run/checkpoints/best/state.json" ] || fail "best"
"$loam" train "$work/config.yaml" run.dir="$work/sets" 'train.length=1 steps' \
    "data.valid=one:$work/data-valid,two:$work/data" 2>"$work/log"
[ "$(tail -n 4 "$work/sets/metrics.jsonl" | grep -c '"kind":"valid".*"name":"\(one\|two\)"')" = 2 ] ||
    fail "two held-out sets: $(cat "$work/sets/metrics.jsonl")"
ls "$run"/tb/events.out.tfevents.* >/dev/null
echo "ok: checkpoints, links, events"

echo 'bace <extra_id_0> dihaki <extra_id_1>.' | "$loam" generate --model "$run" --max-tokens 12 --json >"$work/answer"
grep -q '"prompt":"bace <extra_id_0> dihaki' "$work/answer" || fail "generate: $(cat "$work/answer")"
echo 'bace <extra_id_0> dihaki.' | "$loam" generate --model "$run@best" --fill >"$work/answer"
[ "$(wc -l <"$work/answer")" = 1 ] || fail "one line in, one line out"

# Lines, JSON and ids ask the same; three answers to each of many lines, whatever the batch.
printf 'bace <extra_id_0> dihaki.\r\n' | "$loam" generate --model "$run" >"$work/lines"
echo '{"id": 1, "code": "bace <extra_id_0> dihaki."}' | "$loam" generate --model "$run" --jsonl code >"$work/jsonl"
cmp "$work/lines" "$work/jsonl" || fail "a line and a field"
for i in $(seq 20); do echo "bace <extra_id_0> dihaki $i."; done >"$work/many"
for flags in "--temperature 1 --top-k 20 --seed 3" "--beams 3"; do
    "$loam" generate --model "$run" --max-tokens 8 --n 3 $flags --batch 1 <"$work/many" >"$work/alone"
    "$loam" generate --model "$run" --max-tokens 8 --n 3 $flags --batch 16 <"$work/many" >"$work/batched"
    [ "$(wc -l <"$work/alone")" = 60 ] || fail "three answers a line: $flags"
    cmp "$work/alone" "$work/batched" || fail "batches of 1 and 16: $flags"
done
echo "ok: searches and samples"

# Given targets, as text and as ids; a torn run goes on where it stopped and ends with the same bytes.
text='bace <extra_id_0> dihaki.'
for i in $(seq 9); do echo "{\"input\": \"$text\", \"target\": \"<extra_id_0> bace $i\"}"; done >"$work/pairs"
echo '{"input": [5, 6, 1], "target": [7, 1]}' >>"$work/pairs"
"$loam" eval "$run" --score "$work/pairs" --out "$work/scores"
[ "$(grep -c '"logprob":-[0-9.]*,"tokens"' "$work/scores")" = 10 ] || fail "scores: $(cat "$work/scores")"
head -c 400 "$work/scores" >"$work/torn"
"$loam" eval "$run" --score "$work/pairs" --out "$work/torn" 2>"$work/log"
cmp "$work/scores" "$work/torn" || fail "a torn file of scores"
grep -q 'torn has [1-9] answers: going on' "$work/log" || fail "nothing was gone on with: $(cat "$work/log")"
# Of another model, of another input, of fewer lines, or no answers at all: none is gone on with, and none is touched.
expect 1 "scores:1 is not this model's answer to line 1 of $work/pairs: give another --out, or remove the file" \
    "$loam" eval "$run@20" --score "$work/pairs" --out "$work/scores"
"$loam" eval "$run" --score "$work/pairs" | cmp - "$work/scores" || fail "the answers were touched"
sed '3s/bace 3/bace 33/' "$work/pairs" >"$work/other-pairs"
expect 1 "scores:3 is not this model's answer" "$loam" eval "$run" --score "$work/other-pairs" --out "$work/scores"
head -n 4 "$work/pairs" >"$work/few-pairs"
expect 1 "has more answers than the 4 of" "$loam" eval "$run" --score "$work/few-pairs" --out "$work/scores"
printf 'my notes' >"$work/notes"
expect 1 "notes:1 is not this model's answer" "$loam" eval "$run" --score "$work/pairs" --out "$work/notes"
[ "$(cat "$work/notes")" = 'my notes' ] || fail "notes were cut"
"$loam" eval "$run" --score "$work/pairs" | cmp - "$work/scores" || fail "scores on standard output"
echo "ok: scores"

"$loam" eval "$run" --json >"$work/eval"
loss=$(sed 's/.*"loss":\([0-9.]*\).*/\1/' "$work/eval")
awk -v a="$loss" 'BEGIN { exit !(a > 0 && a < 6) }' || fail "eval says $loss"

"$loam" eval "$run" --json "data.valid=one:$work/data-valid,two:$work/data-valid" >"$work/both"
[ "$(wc -l <"$work/both")" = 2 ] || fail "two sets, two lines"
[ "$(sed -n '1s/"one"/x/p' "$work/both")" = "$(sed -n '2s/"two"/x/p' "$work/both")" ] || fail "$(cat "$work/both")"
grep -q '"bits_per_byte":[0-9.]*' "$work/both" || fail "no bits per byte: $(cat "$work/both")"

# The weights of this run, with a fresh optimizer.
"$loam" train "$work/config.yaml" run.dir="$work/second" 'train.length=1 steps' train.init="$run" 2>"$work/log"
start=$(grep -m 1 '"kind":"valid"' "$work/second/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/')
awk -v a="$start" -v b="$last" 'BEGIN { d = a - b; exit !(d < 1e-3 && d > -1e-3) }' ||
    fail "train.init starts at $start, the run ended at $last"
echo "ok: train.init"

# No part of it opens a connection: the same in a network without any interface.
if unshare -n true 2>/dev/null; then
    unshare -n "$loam" train "$work/config.yaml" run.dir="$work/offline" 'train.length=2 steps' 2>"$work/log"
    echo "ok: without a network"
else
    echo "skipped: no permission to make a network namespace"
fi

# The last step is logged too; a run that is made longer afterwards logs the means that it would have logged.
train() { "$loam" train "$work/config.yaml" train.log_every=3 optim.schedule=constant "$@" 2>"$work/log"; }
losses() { sed -n 's/.*"kind":"train".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }
train run.dir="$work/at-once" 'train.length=9 steps'
train run.dir="$work/longer" 'train.length=7 steps'
train run.dir="$work/longer" 'train.length=9 steps'
[ "$(losses "$work/longer" | cut -d' ' -f1 | tr '\n' ' ')" = '3 6 7 9 ' ] || fail "logged: $(losses "$work/longer")"
diff <(losses "$work/at-once") <(losses "$work/longer" | grep -v '^7 ') || fail "a line at the end changes the next one"
echo "ok: the last step is logged"
