# labels: repeats starts-first
# A run that ends by train.patience ends at the same step with the same best checkpoint on two and four ranks as on one, by
# its held-out loss or by the score of a task, as threads and as processes.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks
# Held-out text of other words: its loss falls at first, and rises as the model learns its own.
sed 300q "$work/corpus.txt" | rev >"$work/other.txt"
"$loam" prepare --tokenizer "$work/tok.model" --out "$work/other" "$work/other.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"

# outcome RUN: its last checkpoint, its best one, and why it ended.
outcome() {
    readlink "$1/checkpoints/latest"
    readlink "$1/checkpoints/best"
    grep -o '"what":"no better [^"]*"' "$1/metrics.jsonl"
}

# equal NAME: $work/NAME has ended as $work/one has.
equal() {
    outcome "$work/$1" >"$work/ended" || true
    diff "$work/wanted" "$work/ended" || fail "$model, $1: it ended otherwise than one rank"
    rm -r "${work:?}/$1"
}

declare -A how=([t5]="data.valid=$work/other optim.lr=1e-2" [classifier]='train.best=accuracy task.valid=25% optim.lr=1e-3')
for model in t5 classifier; do
    # shellcheck disable=SC2206
    common=(${how[$model]} train.precision=f32 train.length='100 steps' train.patience=3 train.eval_every='2 steps' train.save_every=0
        train.eval_samples=0 optim.schedule=constant)
    rank_run one $model 1 0 "${common[@]}"
    outcome "$work/one" >"$work/wanted" || fail "$model: train.patience did not end it: $(tail -n 2 "$work/err")"
    [ "$(sed -n 1p "$work/wanted")" != "$(sed -n 2p "$work/wanted")" ] || fail "$model: the last one is the best: $(cat "$work/wanted")"
    rank_run two $model 2 0 "${common[@]}"
    equal two
    rank_run four $model 4 3 "${common[@]}"
    equal four
    if command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ]; then
        # shellcheck disable=SC2086
        "${mpi[@]}" 2 "$loam" train "$config" run.dir="$work/processes" ${models[$model]} "${common[@]}" 2>"$work/err" ||
            fail "mpirun: $(tail -n 3 "$work/err")"
        equal processes
    fi
    echo "ok: $model: $(tr '\n' ' ' <"$work/wanted")"
    rm -r "$work/one"
done
