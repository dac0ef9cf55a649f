# labels: long
# ZeRO, all values: see test_zero.sh. After 100 steps, too, ranks have the same bits as data parallel.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

steps=20
for model in t5 gpt bert classifier lora answers; do
    for ranks in 2 3 4 8; do
        for zero in 1 2 3; do
            for accumulate in no yes; do
                for recompute in none block; do
                    for precision in f32 bf16 fp16; do
                        optimizers=(adamw adafactor adamw_rms)
                        zero_row $ranks $zero $accumulate $recompute $precision $model "${optimizers[(ranks + zero) % 3]}"
                    done
                done
            done
        done
    done
done
steps=100
for zero in 1 2 3; do
    zero_row 3 $zero no none bf16 t5 adafactor
done
