# Every arrangement of up to 8 ranks as data, tensor-parallel and pipeline ranks, with each level of ZeRO, for every
# family: the losses of one rank. About 700 runs.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks
steps=20
deep='model.heads=8 model.head_dim=4'
for ranks in ${LAYOUT_RANKS:-2 3 4 6 8}; do
    for tensor in 1 2 4 8; do
        for pipeline in 1 2 3 4; do
            [ $((ranks % (tensor * pipeline))) = 0 ] && [ $((tensor * pipeline)) -gt 1 ] || continue
            for zero in 0 1 2 3; do
                [ $((ranks / tensor / pipeline)) -gt 1 ] || [ $zero = 0 ] || continue
                for micro in 1 4; do
                    recompute=none
                    [ $micro = 4 ] || recompute=block
                    for model in t5 gpt bert lora; do
                        optimizer=adamw
                        [ $(((ranks + zero + micro) % 2)) = 0 ] || optimizer=adafactor
                        # shellcheck disable=SC2086
                        layout_row $ranks $pipeline $tensor $zero $micro $recompute $model $optimizer $deep \
                            model.n_dec=$([ $model = bert ] && echo 0 || echo 4) model.n_enc=$([ $model = bert ] && echo 4 || { [ $model = t5 ] && echo 2 || echo 0; })
                    done
                done
            done
        done
    done
done
