# labels: long
# The real TensorBoard, from PyPI in an environment of its own, reads what a run wrote, also after a kill and a resume.
. tests/cli/lib.sh "$1"
make_dataset
if ! python3 -m venv "$work/venv" 2>/dev/null || ! "$work/venv/bin/pip" install -q tensorboard setuptools 2>/dev/null; then
    echo "skipped: no TensorBoard to be had here"
    exit 77
fi
run=$work/run
"$loam" train "$work/config.yaml" run.dir="$run" 'train.length=100k steps' optim.schedule=constant 2>"$work/log" &
pid=$!
until grep -q '"step":23,' "$run/metrics.jsonl" 2>/dev/null; do sleep 0.05; done
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
"$loam" train "$work/config.yaml" run.dir="$run" optim.schedule=constant log.megatron_series=true log.norms=model 2>"$work/log" # goes on to step 40, or beyond it already
steps=$(grep -c '"kind":"train"' "$run/metrics.jsonl")
"$work/venv/bin/python" tools/check-tensorboard "$run/tb" 2>/dev/null >"$work/series"
grep -q "^train/loss: $steps values, step 1 = " "$work/series" || fail "not $steps steps: $(cat "$work/series")"
grep -q '^valid/loss: ' "$work/series" || fail "$(cat "$work/series")"
grep -q '^perf/tokens_per_s: ' "$work/series" || fail "$(cat "$work/series")"
grep -q '^options: a text of ' "$work/series" || fail "$(cat "$work/series")"
grep -q '^lm loss: .* step 40 = ' "$work/series" || fail "$(cat "$work/series")"
grep -q '^lm loss vs samples: .* step 320 = ' "$work/series" || fail "$(cat "$work/series")"
grep -q '^params-norm: ' "$work/series" || fail "$(cat "$work/series")"
echo "ok: $(grep train/loss "$work/series")"
