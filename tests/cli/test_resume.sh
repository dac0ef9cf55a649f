# A run killed at random moments and started again ends with the same bytes as one that was left alone.
. tests/cli/lib.sh "$1"
make_dataset
length='train.length=150 steps'
losses() { sed -n 's/.*"kind":"\(train\|valid\)".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }

"$loam" train "$work/config.yaml" run.dir="$work/whole" "$length" 2>"$work/log"
# The first kill falls between the evaluation of step 0 and the first save.
"$loam" train "$work/config.yaml" run.dir="$work/cut" "$length" train.save_every=0 2>"$work/log" &
pid=$!
until grep -q '"kind":"valid"' "$work/cut/metrics.jsonl" 2>/dev/null; do sleep 0.01; done
kill -9 "$pid" && wait "$pid" 2>/dev/null || true
RANDOM=11
kills=0
for attempt in $(seq 40); do
    "$loam" train "$work/config.yaml" run.dir="$work/cut" "$length" 2>"$work/log" &
    pid=$!
    sleep "0.$(printf '%03d' $((RANDOM % 400 + 20)))"
    if kill -9 "$pid" 2>/dev/null; then kills=$((kills + 1)); fi
    wait "$pid" 2>/dev/null && break
    [ "$kills" -lt 8 ] || break
done
"$loam" train "$work/config.yaml" run.dir="$work/cut" "$length" 2>"$work/log"
[ "$kills" -ge 3 ] || fail "only $kills kills landed"

diff <(losses "$work/whole") <(losses "$work/cut") >"$work/diff" || fail "the logged losses differ: $(head -n 5 "$work/diff")"
for file in "$work"/whole/checkpoints/step-00000150/*; do
    cmp "$file" "$work/cut/checkpoints/step-00000150/${file##*/}" || fail "$file differs"
done
[ "$(losses "$work/whole" | wc -l)" -ge 160 ] || fail "too few losses compared"
echo "ok: $kills kills, same bytes"

# Two processes may not train in one run directory.
"$loam" train "$work/config.yaml" run.dir="$work/busy" 'train.length=100k steps' optim.schedule=constant 2>"$work/log" &
pid=$!
until grep -q '"step":3,' "$work/busy/metrics.jsonl" 2>/dev/null; do sleep 0.05; done
expect 1 'another process is training in' "$loam" train "$work/config.yaml" run.dir="$work/busy" optim.schedule=constant
kill -9 "$pid"
wait "$pid" 2>/dev/null || true # a process that still writes would keep its folder from being removed
