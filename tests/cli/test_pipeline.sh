# labels: starts-first
# Pipelines: ranks that each have some of the blocks train what one rank trains, beside data and tensor parallelism and
# ZeRO, and go on from each other's checkpoints.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

while read -r row; do
    # shellcheck disable=SC2086
    layout_row $row
done <<'ROWS'
2 2 1 0 2 none gpt adamw
2 2 1 0 8 none t5 adamw
3 3 1 0 1 block t5 adafactor
4 2 2 0 2 none t5 adamw_rms
4 2 1 1 2 none bert adamw
4 2 1 3 1 none gpt adafactor
8 2 2 2 1 block t5 adamw
6 2 1 3 1 none t5 adamw
2 2 1 0 4 none classifier adamw
2 2 1 0 2 none lora adamw
5 5 1 0 1 none t5 adafactor model.rel_per_block=true
ROWS

# In bf16 a cut between blocks changes no bit: messages have the precision of the residual stream. The norm of the
# gradients, whose sum has another order, must not matter for this.
bf16=(train.length='8 steps' train.batch='8 samples' train.micro_batch='2 samples' train.precision=bf16 optim.clip_norm=0 train.eval_every=0
    model.tie_embeddings=false)
for ranks in 1 3; do
    rank_run "bf16-$ranks" gpt $ranks 0 parallel.pipeline=$ranks "${bf16[@]}"
    grep -o '"step":[0-9]*\|"loss":[-0-9.e+]*' "$work/bf16-$ranks/metrics.jsonl" >"$work/losses-$ranks"
done
diff "$work/losses-1" "$work/losses-3" >"$work/diff" || fail "bf16: $(head -n 4 "$work/diff")"

# Processes: the same bytes as threads.
layout=(train.length='6 steps' train.micro_batch='2 samples' train.precision=f32 parallel.pipeline=2 parallel.tensor=2)
if command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ]; then
    "$loam" train "$config" run.dir="$work/threads" "${layout[@]}" parallel.ranks=4 2>"$work/err" || fail "$(cat "$work/err")"
    "${mpi[@]}" 4 "$loam" train "$config" run.dir="$work/mpi" "${layout[@]}" \
        2>"$work/err" || fail "mpirun: $(tail -n 3 "$work/err")"
    same "$work/threads" "$work/mpi"
else
    echo "no mpirun, or no loam-mpi.so: ranks that are processes are not tried"
fi

# Layouts that cannot be: one line that says what would be right.
refused() { expect 1 "$1" "$loam" train "$config" run.dir="$work/refused" "${@:2}"; }
refused 'the run has 3 ranks for 2 blocks: each stage needs as many ranks as every other, and a block; want parallel.pipeline=1' parallel.ranks=3 parallel.pipeline=3
refused 'the run has 4 ranks for 2 blocks: each stage needs as many ranks as every other, and a block; want parallel.pipeline=2' parallel.ranks=4 parallel.pipeline=4
refused 'a stage of the pipeline has 3 ranks, not a multiple of 2: want parallel.tensor=1, or a number of ranks that is a multiple of 4' parallel.ranks=6 parallel.pipeline=2 parallel.tensor=2
refused 'the run has one rank: set parallel.ranks to a multiple of 4' parallel.pipeline=2 parallel.tensor=2
[ ! -e "$work/refused" ] || fail 'a refused run left a folder'
