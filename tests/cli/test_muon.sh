# Muon: ranks of every kind train what one rank trains; a run goes on from checkpoints of other layouts, and after a kill.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh

while read -r row; do
    # shellcheck disable=SC2086
    zero_row $row
done <<'ROWS'
3 3 no none f32 t5 muon
2 1 no none f32 lora muon
4 2 yes block bf16 gpt muon
ROWS

# Matrices divided by rows and by columns, also among ranks that have the same key/value head.
while read -r row; do
    # shellcheck disable=SC2086
    layout_row $row
done <<'ROWS'
3 1 3 0 8 none t5 muon model.heads=3 model.ffn=60 model.vocab=307
8 2 2 1 2 none gpt muon model.heads=2 model.kv_heads=1 model.gated=true
8 1 4 3 4 none gpt muon model.heads=4 model.head_dim=8 model.kv_heads=2
ROWS

# Ranks that each own some matrices, tensor-parallel ranks, stages and one rank continue each other's run.
run=("$config" optim.name=muon train.length='12 steps' optim.schedule=constant train.precision=f32 model.n_dec=2 train.eval_samples=8)
"$loam" train "${run[@]}" run.dir="$work/one" 2>"$work/err" || fail "$(cat "$work/err")"
for part in '3 4 1 1 3' '6 2 2 1 0' '9 4 1 2 1' '12 1 1 1 0'; do
    read -r steps ranks tensor pipeline zero <<<"$part"
    "$loam" train "${run[@]}" train.length="$steps steps" run.dir="$work/chain" parallel.ranks="$ranks" parallel.tensor="$tensor" \
        parallel.pipeline="$pipeline" parallel.zero="$zero" 2>"$work/err" || fail "$part: $(cat "$work/err")"
done
for name in one chain; do
    mkdir "$work/$name-train"
    grep '"kind":"train"' "$work/$name/metrics.jsonl" >"$work/$name-train/metrics.jsonl"
done
near "$work/one-train" "$work/chain-train"

# kill -9 loses nothing.
status=0
(LOAM_FAULT=step:8 "$loam" train "${run[@]}" run.dir="$work/killed" || exit $?) 2>"$work/err" || status=$?
[ "$status" = 137 ] || fail "step:8 ended with $status"
"$loam" train "${run[@]}" run.dir="$work/killed" 2>"$work/err" || fail "$(cat "$work/err")"
same "$work/one" "$work/killed"

# A checkpoint has the momentum of matrices, and AdamW's moments of everything else.
optimizer=$work/one/checkpoints/latest/optimizer-00001-of-00001.safetensors
for state in encoder.0.self.q/m shared/m shared/v encoder.0.mlp.norm/v encoder.relpos/v; do
    grep -qaF "\"$state\"" "$optimizer" || fail "no state $state"
done
! grep -qaF '"encoder.0.self.q/v"' "$optimizer" || fail "a second moment of a matrix"
expect 1 'optim.name' "$loam" train "${run[@]}" run.dir="$work/one" train.length='13 steps' optim.name=adamw
expect 0 'optim.momentum' "$loam" train "$config" run.dir="$work/idle" train.length='0 steps' optim.name=adamw optim.momentum=0.9
