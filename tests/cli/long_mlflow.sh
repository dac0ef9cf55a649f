# labels: long
# The real client of MLflow, from PyPI in an environment of its own, reads what a run wrote, also after a kill and a resume.
. tests/cli/lib.sh "$1"
make_dataset
if ! python3 -m venv "$work/venv" 2>/dev/null || ! "$work/venv/bin/pip" install -q mlflow-skinny 2>/dev/null; then
    echo "skipped: no MLflow to be had here"
    exit 77
fi
run=$work/run
train=("$loam" train "$work/config.yaml" run.dir="$run" optim.schedule=constant log.mlflow="$work/mlruns" train.eval_every=10)
"${train[@]}" 'train.length=100k steps' 2>"$work/log" &
pid=$!
until_true grep -q '"step":23,' "$run/metrics.jsonl" 2>/dev/null
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
"${train[@]}" 2>"$work/log" # goes on to step 40, or beyond it already
steps=$(grep -c '"kind":"train"' "$run/metrics.jsonl")
"$work/venv/bin/python" tools/check-mlflow "$work/mlruns" >"$work/seen" 2>/dev/null || fail "no run: $(cat "$work/seen")"
grep -q '^run run of loam: FINISHED, ' "$work/seen" || fail "$(cat "$work/seen")"
grep -q "^train/loss: $steps values, step 1 … step " "$work/seen" || fail "not $steps steps: $(cat "$work/seen")"
grep -q '^valid/perplexity: ' "$work/seen" || fail "$(cat "$work/seen")"
grep -qx 'train.batch: 8 samples' "$work/seen" || fail "$(cat "$work/seen")"
echo "ok: $(grep train/loss "$work/seen")"
