# Tensor parallelism: ranks that divide the heads and the feed-forward channels of every block train what one rank
# trains, beside data parallelism and ZeRO, and go on from each other's checkpoints.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

# tensor_row RANKS TENSOR ZERO ACCUMULATE RECOMPUTE PRECISION MODEL OPTIMIZER OPTION…
tensor_row() {
    local ranks=$1 tensor=$2 zero=$3 accumulate=$4 recompute=$5 precision=$6 model=$7 optimizer=$8 micro='8 samples'
    local name="$model-$optimizer-$precision-$ranks-tensor$tensor-zero$zero-$accumulate-$recompute"
    shift 8
    [ "$accumulate" = no ] || micro='2 samples'
    set -- train.length="${steps:-12} steps" train.batch='8 samples' train.micro_batch="$micro" train.recompute="$recompute" \
        train.precision="$precision" optim.name="$optimizer" optim.min_dim_factored=16 train.save_every=0 train.eval_every=6 "$@"
    rank_run "$name" "$model" "$ranks" "$zero" parallel.tensor="$tensor" parallel.check_every=5 "$@"
    rank_run one "$model" 1 0 "$@"
    near "$work/one" "$work/$name"
    rm -r "$work/$name" "$work/one"
}

while read -r row; do
    # shellcheck disable=SC2086
    tensor_row $row
done <<'ROWS'
2 2 0 no none f32 gpt adamw
2 2 0 yes block f32 t5 adafactor
4 2 1 no block f32 t5 adamw_rms
4 2 3 yes none f32 bert adamw
2 2 0 no none f32 classifier adafactor
4 4 0 no none f32 gpt adafactor model.heads=4 model.head_dim=8
4 2 2 no none f32 lora adamw
2 2 0 no none f32 answers adamw
2 2 0 yes none f32 bert adamw model.position=relative_key_query model.heads=4 model.head_dim=8
4 4 0 no block f32 gpt adamw model.position=alibi model.heads=8 model.head_dim=4 model.bias=true model.gated=true
2 2 0 no none f32 gpt adafactor model.position=rotary model.heads=8 model.kv_heads=2 model.head_dim=8
ROWS

# Layouts that cannot be: one line that says what would be right.
refused() { expect 1 "$1" "$loam" train "$config" run.dir="$work/refused" "${@:2}"; }
refused 'the run has 3 ranks; the nearest value that divides both is 1' parallel.ranks=3 parallel.tensor=2
refused 'model.heads is 2, which is not a multiple of 4; the nearest value that divides both is 2' parallel.ranks=4 parallel.tensor=4
refused 'the run has one rank: set parallel.ranks to a multiple of 2' parallel.tensor=2
refused 'model.kv_heads is 1, which is not a multiple of 2' parallel.ranks=2 parallel.tensor=2 model.kv_heads=1
refused 'lora.targets' parallel.ranks=2 parallel.tensor=2 lora.rank=2 lora.targets=self.qkv
[ ! -e "$work/refused" ] || fail 'a refused run left a folder'

# The plan: each of two ranks has half of the matrices of blocks, and sends what the run then sends.
memory() { "$loam" plan "$config" train.micro_batch='8 samples' "$@" 2>"$work/err" | sed -n 's/^memory  *//p'; }
[ "$(memory)" != "$(memory parallel.ranks=2 parallel.tensor=2)" ] || fail 'no less memory'
