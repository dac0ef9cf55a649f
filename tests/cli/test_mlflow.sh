# log.mlflow: the metrics of a run in a store of MLflow are those of metrics.jsonl, also after a rollback and going on.
. tests/cli/lib.sh "$1"
make_dataset
train=("$loam" train "$work/config.yaml" run.dir="$work/run" train.length='8 steps' train.log_every='2 steps' train.eval_every=4
    train.save_every=2 log.mlflow="$work/mlruns" log.mlflow_experiment='mine: all')
# steps KIND: the steps of metrics.jsonl; stored METRIC: those of the store.
steps() { sed -n "s/.*\"kind\":\"$1\",\"step\":\([0-9]*\).*/\1/p" "$work/run/metrics.jsonl"; }
stored() { cut -d ' ' -f 3 "$work"/mlruns/*/*/metrics/"$1"; }
same() {
    diff <(steps train) <(stored train/loss) || fail "$1: steps"
    diff <(steps valid) <(stored valid/loss) || fail "$1: evaluations"
    diff <(sed -n 's/.*"kind":"train".*"loss":\([0-9.e+-]*\),"nll.*/\1/p' "$work/run/metrics.jsonl" | awk '{ printf "%.9g\n", $1 }') \
        <(cut -d ' ' -f 2 "$work"/mlruns/*/*/metrics/train/loss | awk '{ printf "%.9g\n", $1 }') || fail "$1: losses"
}

"${train[@]}" train.stop_at='4 steps' 2>"$work/log" || fail "$(cat "$work/log")"
same first
grep -qx 'status: 3' "$work"/mlruns/*/*/meta.yaml || fail "$(cat "$work"/mlruns/*/*/meta.yaml)"
[ "$(cat "$work"/mlruns/*/*/params/train.batch)" = '8 samples' ] || fail "$(cat "$work"/mlruns/*/*/params/train.batch)"
grep -qx 'name: "mine: all"' "$work"/mlruns/*/meta.yaml || fail "$(cat "$work"/mlruns/*/meta.yaml)"

"${train[@]}" 2>"$work/log" || fail "$(cat "$work/log")"
same "going on"
"$loam" rollback "$work/run" --to 6 2>"$work/log"
"$loam" train "$work/run" train.length='10 steps' 2>"$work/log" || fail "$(cat "$work/log")"
same "after a rollback"
[ "$(ls -d "$work"/mlruns/*/*/metrics | wc -l)" = 1 ] || fail "another run"

: >"$work/file"
expect 1 "log.mlflow: $work/file is a file; a folder is wanted there" "$loam" train "$work/config.yaml" run.dir="$work/none" log.mlflow="$work/file/mlruns"
