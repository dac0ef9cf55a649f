# ZeRO: ranks that each keep a part of optimizer state, gradients and weights train what one rank trains, whatever the
# number of ranks, and go on from each other's checkpoints. Rows of all values in pairs; long_zero.sh has all of them.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

while read -r row; do
    # shellcheck disable=SC2086
    zero_row $row
done <<'ROWS'
2 1 no none f32 t5 adamw
3 2 yes block f32 t5 adafactor
4 3 no block bf16 t5 adamw_rms
3 1 yes block bf16 gpt adamw
4 2 no none f32 gpt adamw_rms
2 3 yes none f32 gpt adafactor
4 1 yes none f32 bert adafactor
2 2 no block bf16 bert adamw
3 3 no none f32 bert adamw
2 1 no block f32 classifier adamw_rms
3 2 no none bf16 classifier adafactor
4 3 yes none f32 classifier adamw
3 1 no none bf16 lora adafactor
2 2 yes none f32 lora adamw
3 3 no block f32 lora adamw_rms
3 3 no none bf16 answers adamw
ROWS
