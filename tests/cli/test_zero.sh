# labels: repeats starts-first
# ZeRO: ranks that each keep a part of optimizer state, gradients and weights train what one rank trains, whatever the
# number of ranks, and go on from each other's checkpoints. Every pair of values is in a row (ranks,
# ZeRO, accumulation, recompute, precision, model, optimizer); long_zero.sh has all rows.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

while read -r row; do
    # shellcheck disable=SC2086
    zero_row $row
done <<'ROWS'
2 1 no block f32 t5 adamw
3 2 no none f32 t5 adamw_rms
4 3 yes none bf16 t5 adamw_rms
8 3 yes none bf16 t5 adafactor
2 2 yes none f32 gpt adafactor
3 3 no block f32 gpt adamw_rms
4 1 no none bf16 gpt adamw
8 3 no none f32 gpt adamw
2 1 yes none bf16 bert adamw
3 1 yes block f32 bert adafactor
4 2 no block f32 bert adafactor
8 3 yes block bf16 bert adamw_rms
2 3 yes none f32 classifier adamw_rms
3 2 no block f32 classifier adafactor
4 2 no block bf16 classifier adamw
8 1 yes none bf16 classifier adamw
2 1 no none bf16 lora adamw_rms
3 3 no block bf16 lora adamw
4 3 yes block f32 lora adafactor
8 2 no none f32 lora adamw
3 3 no none bf16 answers adamw
3 2 yes none fp16 gpt adamw
2 3 no block fp16 t5 adafactor
ROWS

# Where no rank shares its part with another, a warning says that the level does nothing.
expect 0 'parallel.zero: without effect, since there is one rank' "$loam" train "$config" run.dir="$work/alone" train.length='0 steps' parallel.zero=2
expect 0 'parallel.zero: without effect, since no two ranks have the same part of the model' "$loam" train "$config" run.dir="$work/apart" \
    train.length='0 steps' parallel.zero=2 parallel.ranks=2 parallel.tensor=2
"$loam" train "$config" run.dir="$work/shared" train.length='0 steps' parallel.zero=2 parallel.ranks=2 2>"$work/err" || fail "$(cat "$work/err")"
! grep -q 'without effect' "$work/err" || fail "a level that has an effect: $(cat "$work/err")"
echo "ok: a level without effect"
