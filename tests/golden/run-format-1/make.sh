#!/bin/bash
# Made these files, with loam at 8c35379: a run of each kind that stands at step 3 in checkpoint format 1, its dataset, and
# the losses that the same program goes on with up to step 8, without dropout. To be run from the repository's root, with the program:
# bash tests/golden/run-format-1/make.sh build/loam. They are kept as they are: a later loam must still resume them.
set -euo pipefail
loam=$(realpath "$1")
cd tests/golden/run-format-1
rm -rf data.* t5 bert
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'BEGIN {
    n = split("The mill stands by the river. A heron waits in the reeds. Rain fills the barrel. Smoke climbs from the roof. \
Two carts cross the bridge. The miller counts his sacks. Wheat turns to flour. Bread cools on the sill", sentence, /\. */)
    for (doc = 0; doc < 24; doc++) {
        for (line = 0; line < 3; line++)
            printf "%s. ", sentence[1 + (doc * 5 + line * 3) % n]
        print "\n"
    }
}' >"$work/text.txt"
"$loam" prepare --tokenizer bytes --out "$work/data" --keep-duplicates "$work/text.txt"
cp "$work"/data.* .
losses() { sed -n 's/.*"kind":"train".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2/p' "$1"; }
make_run() {
    local name=$1
    shift
    for steps in 3 8; do
        [ "$steps" = 3 ] || set -- "$@" model.dropout=0
        "$loam" train "$work/config.yaml" run.dir="$work/$name" data.train="$work/data" "train.length=$steps steps" "$@"
        [ "$steps" != 3 ] || cp -r "$work/$name" "$work/$name-3"
    done
    losses "$work/$name/metrics.jsonl" | awk '$1 > 3' >"$work/losses"
    mkdir -p "$name/checkpoints"
    sed "s|$work/||" "$work/$name-3/config.yaml" >"$name/config.yaml"
    cp -r "$work/$name-3/checkpoints/step-00000003" "$name/checkpoints/"
    cp "$work/losses" "$name/losses"
}
cat >"$work/config.yaml" <<YAML
run: { seed: 7 }
model: { width: 4, ffn: 8, heads: 1, head_dim: 4, dropout: 0.1, vocab_multiple: 1 }
tokenizer: { path: bytes }
data: { input_length: 64 }
train: { batch: 8 samples, micro_batch: 4 samples, log_every: 2 steps, threads: 1 }
optim: { schedule: constant, lr: 1e-2 }
YAML
make_run t5 model.n_enc=1 model.n_dec=1 model.tie_embeddings=true optim.name=adafactor optim.min_dim_factored=4
make_run bert model.preset=bert-base model.n_enc=1 model.n_dec=0 model.width=4 model.ffn=8 model.heads=1 model.head_dim=4 \
    model.vocab=auto model.max_positions=64 data.objective=mlm data.sentence_pairs=next optim.name=adamw
