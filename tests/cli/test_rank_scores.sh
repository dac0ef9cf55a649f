# labels: starts-first
# Ranks share the examples of a task at an evaluation, and score what one rank scores: of the same weights the same
# answers, generated or of a classifier, at every level of ZeRO, through the stages of a pipeline, as threads and as
# processes.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks
# scores RUN: the lines of its evaluations, without times.
scores() {
    sed -n '/"kind":"score"/s/,"seconds":.*//p' "$1/metrics.jsonl"
}

# equal NAME: the scores of $work/NAME are those of $work/one.
equal() {
    scores "$work/$1" >"$work/scores"
    diff "$work/wanted" "$work/scores" || fail "$model, $1: other scores than one rank"
    echo "ok: $model, $1: $(cut -d, -f 3- "$work/scores")"
    rm -r "${work:?}/$1"
}

models[continues]="model.family=gpt model.n_enc=0 ${models[answers]} model.n_dec=4 data.target_length=8"
for model in answers continues classifier; do
    common=(task.valid=25% train.precision=f32 train.batch='16 samples' train.micro_batch='4 samples' train.eval_every=0 train.eval_samples=0)
    rank_run first $model 1 0 "${common[@]}" train.length='30 steps' optim.lr=1e-2
    # A rate that changes no weight: every run scores the same ones.
    common+=(train.init="$work/first" train.length='2 steps' optim.name=adamw optim.lr=1e-30 optim.weight_decay=0)
    rank_run one $model 1 0 "${common[@]}"
    scores "$work/one" >"$work/wanted"
    grep -q '"examples":[89][0-9]' "$work/wanted" || fail "not three batches: $(cat "$work/wanted")"
    rank_run threads $model 3 0 "${common[@]}"
    equal threads
    rank_run sharded $model 3 3 "${common[@]}"
    equal sharded
    rank_run stages $model 2 0 "${common[@]}" parallel.pipeline=2
    equal stages
    if [ $model != classifier ]; then # which has too few blocks
        rank_run interleaved $model 2 0 "${common[@]}" parallel.pipeline=2 parallel.interleave=2
        equal interleaved
    fi
    rank_run stages-tensor-sharded $model 8 3 "${common[@]}" parallel.pipeline=2 parallel.tensor=2
    equal stages-tensor-sharded
    if command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ]; then
        # shellcheck disable=SC2086
        "${mpi[@]}" 4 "$loam" train "$config" run.dir="$work/processes" ${models[$model]} "${common[@]}" parallel.pipeline=2 \
            2>"$work/err" || fail "mpirun: $(tail -n 3 "$work/err")"
        equal processes
    fi
    rm -r "$work/one" "$work/first"
done
