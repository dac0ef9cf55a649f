# A training step takes nothing from the system once the first steps have: it allocates no memory, starts no thread and touches no page for
# the first time (but a few of the libraries), in all families, precisions and optimizers. Arguments: the program, and the
# same that counts (steady.c).
. tests/cli/lib.sh "$1"
steady=$2
make_dataset

most_faults=30 # 120 KiB; a step of these models uses a megabyte

# steps NAME OVERRIDES…: twelve steps; from the fourth on none takes anything.
steps() {
    local name=$1
    shift
    "$steady" train "$work/config.yaml" run.dir="$work/$name" 'train.length=12 steps' 'train.log_every=100 steps' \
        'train.eval_every=100 steps' 'train.save_every=100 steps' train.threads=2 "$@" 2>"$work/log" ||
        fail "$name: $(tail -n 2 "$work/log")"
    grep -q '^step 12: ' "$work/log" || fail "$name: nothing counted: $(tail -n 2 "$work/log")"
    awk -v most="$most_faults" '/^step [0-9]+: / && $2 + 0 > 3 && ($3 > 0 || $5 > most || $8 > 0)' "$work/log" >"$work/not"
    [ ! -s "$work/not" ] || fail "$name: $(cat "$work/not")"
    echo "ok: $name"
}

small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.max_positions=64'
gpt="model.preset=gpt2 model.n_enc=0 $small"
bert="model.preset=bert-base model.n_dec=0 $small data.objective=mlm"
for precision in f32 bf16; do
    steps "t5-$precision" train.precision=$precision
done
steps t5-fp16 train.precision=fp16 fp16.loss_scale=64 # no step overflows, of which a line would tell
steps t5-adafactor optim.name=adafactor
steps t5-recompute train.recompute=block
steps gpt $gpt data.objective=clm
steps bert $bert
