# labels: long
# Every arrangement of up to 8 ranks as data, tensor-parallel and pipeline ranks, with parallel.sequence, each level of
# ZeRO, every family and precision; recompute, optimizer and microbatch alternate. Some 780 runs, the losses of one rank.
# LAYOUT_RANKS="2 4" tries only these numbers of ranks.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
steps=20
optimizers=(adamw adafactor adamw_rms)
recomputes=(none block)
micros=(1 4)
row=0
for ranks in ${LAYOUT_RANKS:-2 3 4 6 8}; do
    for tensor in 1 2 4 8; do
        for pipeline in 1 2 3 4; do
            data=$((ranks / (tensor * pipeline)))
            [ $((data * tensor * pipeline)) = "$ranks" ] || continue
            for sequence in false true; do
                [ $tensor -gt 1 ] || [ $sequence = false ] || continue
                for zero in 0 1 2 3; do
                    [ $data -gt 1 ] || [ $zero = 0 ] || continue
                    for model in t5 gpt bert lora; do
                        for precision in f32 bf16; do
                            product_row $data $tensor $pipeline $sequence $zero "${recomputes[row / 3 % 2]}" $model \
                                "${optimizers[row % 3]}" $precision "${micros[row / 6 % 2]}"
                            row=$((row + 1))
                        done
                    done
                done
            done
        done
    done
done
