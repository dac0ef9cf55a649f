# labels: rounds repeats starts-first
# T5, GPT and BERT with the linear layers of their blocks in FP8, as a GPU rounds: they learn what they learn in f32, and a
# run that was cut goes on with the same scales.
. tests/cli/lib.sh "$1"
make_dataset
small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.vocab=auto model.dropout=0'
gpt="model.preset=gpt2 model.n_enc=0 $small model.max_positions=64 data.objective=clm"
bert="model.preset=bert-base model.n_dec=0 $small model.max_positions=64 data.objective=mlm data.sentence_pairs=order"

# train NAME OVERRIDES…
train() {
    local name=$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$work/$name" optim.schedule=constant "$@" 2>"$work/log" ||
        fail "$name: $(tail -n 2 "$work/log")"
}
held_out() { sed -n 's/.*"kind":"valid".*"loss":\([0-9.]*\).*/\1/p' "$work/$1/metrics.jsonl" | tail -n 1; }
losses() { grep '"kind":"train"' "$work/$1/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
# near A B SHARE: numbers that differ by no more than this share.
near() { awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN { d = (a - b) / b; exit !(d < share && d > -share) }'; }

# family NAME OVERRIDES…
family() {
    local name=$1
    shift
    train "$name-f32" 'train.length=20 steps' train.precision=f32 "$@"
    train "$name" 'train.length=20 steps' train.precision=fp8 fp8.history=6 "$@"
    grep -q 'fp8 and bf16' "$work/log" || fail "$name: $(grep memory "$work/log")"
    grep -q 'train.precision=fp8 on the CPU emulates the rounding of a GPU' "$work/log" || fail "$name does not say that it is slow"
    near "$(held_out "$name")" "$(held_out "$name-f32")" 0.02 || fail "$name ends at $(held_out "$name"), f32 at $(held_out "$name-f32")"
    train "$name-cut" 'train.length=10 steps' train.precision=fp8 fp8.history=6 "$@"
    train "$name-cut" 'train.length=20 steps' fp8.history=6 "$@"
    diff -r "$work/$name/checkpoints/latest/" "$work/$name-cut/checkpoints/latest/" || fail "$name: another end after a resume"
    [ "$(losses "$name")" = "$(losses "$name-cut")" ] || fail "$name: other losses after a resume"
    echo "ok: $name"
}
family t5 model.dropout=0.1
family gpt $gpt
family bert $bert

# FP8 is in the losses from the first step on, and its scales from the second; recompute changes nothing.
train bf16 'train.length=20 steps' train.precision=bf16 model.dropout=0.1
[ "$(losses bf16 | head -n 1)" != "$(losses t5 | head -n 1)" ] || fail "the first loss is that of bf16: $(losses t5 | head -n 1)"
"$loam" inspect checkpoint "$work/t5/checkpoints/latest" >/dev/null || fail "inspect"
grep -q '"fp8/history"' "$work/t5/checkpoints/latest/state.json" || fail "no history in a checkpoint"
train recompute 'train.length=20 steps' train.precision=fp8 fp8.history=6 model.dropout=0.1 train.recompute=block
[ "$(losses recompute)" = "$(losses t5)" ] || fail "recompute: $(losses recompute | xargs), not $(losses t5 | xargs)"
echo "ok: numbers"

# Stages of a pipeline have the scales of their own blocks. Their runs end where one rank's does, as near as other
# microbatches do, and each goes on from the checkpoint of the other, whose states are the same tensors.
train stages 'train.length=20 steps' train.precision=fp8 fp8.history=6 model.dropout=0.1 train.micro_batch='2 samples' parallel.ranks=4 \
    parallel.pipeline=2 parallel.tensor=2
near "$(held_out stages)" "$(held_out t5)" 0.01 || fail "a pipeline ends at $(held_out stages), one rank at $(held_out t5)"
for way in '1 2' '2 1'; do
    read -r before after <<<"$way"
    for stages in "$before" "$after"; do
        train "moved-$before" "train.length=$((stages == before ? 10 : 20)) steps" train.precision=fp8 fp8.history=6 model.dropout=0.1 \
            parallel.ranks="$stages" parallel.pipeline="$stages" parallel.check_every=1
    done
    near "$(held_out "moved-$before")" "$(held_out t5)" 0.01 || fail "from $before to $after stages: $(held_out "moved-$before")"
done
deep=('train.length=20 steps' train.precision=fp8 fp8.history=6 model.n_enc=2 model.n_dec=2)
train deep "${deep[@]}"
train interleaved "${deep[@]}" train.micro_batch='2 samples' parallel.ranks=2 parallel.pipeline=2 parallel.interleave=2
near "$(held_out interleaved)" "$(held_out deep)" 0.01 || fail "two stages per rank end at $(held_out interleaved), one rank at $(held_out deep)"
# Ranks that save beside training leave the scales to rank 0; a history of more than 16 MiB is saved part by part.
for async in false true; do
    train "async-$async" 'train.length=3 steps' train.precision=fp8 fp8.history=6 train.save_every=1 train.save_async=$async parallel.ranks=2
done
diff -r "$work/async-false/checkpoints/latest/" "$work/async-true/checkpoints/latest/" || fail "train.save_async saves something else"
for length in 1 2; do
    train long "train.length=$length steps" train.precision=fp8 fp8.history=65536 model.n_enc=2 model.n_dec=2
done
echo "ok: a pipeline ends at $(held_out stages), one rank at $(held_out t5)"

# Current scaling has no state. Evaluation is in bf16, whatever the training was in.
train current 'train.length=20 steps' train.precision=fp8 fp8.scaling=current model.dropout=0.1
! grep -q '"fp8/' "$work/current/checkpoints/latest/state.json" || fail "a state of current scaling"
near "$(held_out current)" "$(held_out t5-f32)" 0.02 || fail "current scaling ends at $(held_out current)"
[ "$(losses current)" != "$(losses t5)" ] || fail "current and delayed scaling are alike"
near "$("$loam" eval "$work/t5" --json | sed 's/.*"loss":\([0-9.]*\).*/\1/')" "$(held_out t5)" 0.02 || fail "eval"
echo 'bace <extra_id_0> dihaki.' | "$loam" generate --model "$work/t5" --max-tokens 4 >/dev/null || fail "generate"
expect 1 'want auto, f32, bf16 or fp16' "$loam" generate --model "$work/t5" --precision fp8
expect 1 'fp8.history' "$loam" train "$work/config.yaml" run.dir="$work/t5" optim.schedule=constant model.dropout=0.1 \
    train.precision=fp8 fp8.history=7
echo "ok: current scaling, evaluation"

# A run of another precision goes on in FP8, and back.
cp -r "$work/bf16" "$work/changing"
train changing 'train.length=24 steps' train.precision=fp8 model.dropout=0.1
grep -q 'changed from bf16 to fp8' "$work/log" || fail "$(cat "$work/log")"
grep -q 'changing/checkpoints/step-00000020 has no FP8 scales: they begin at 1' "$work/log" || fail "$(cat "$work/log")"
train changing 'train.length=28 steps' train.precision=bf16 model.dropout=0.1
! grep -q '"fp8/' "$work/changing/checkpoints/latest/state.json" || fail "scales in a checkpoint of bf16"
train changing 'train.length=30 steps' train.precision=f32 fp8.margin=1 train.tf32=true model.dropout=0.1
grep -q 'fp8.margin: without effect, since train.precision is f32' "$work/log" || fail "$(cat "$work/log")"
echo "ok: changes"

# A step that is skipped leaves no trace in the histories, which else would keep the scales as they are for fp8.history
# microbatches. The embedding of a byte that one document has is no number, so the steps that read it are skipped.
seq 1 30 | awk '{ print "line " $1 " says " $1 * 7 (NR == 9 ? " Zz" : "") ".\n" }' >"$work/lines.txt"
"$loam" prepare --tokenizer bytes --out "$work/lines" "$work/lines.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
lines="tokenizer.path=bytes data.train=$work/lines data.valid= data.input_length=32 train.eval_every=0 train.batch=4samples"
train plain 'train.length=1 steps' optim.lr=0 $small $lines
"$loam" export "$work/plain" --to hf --out "$work/poisoned" 2>"$work/err" >/dev/null || fail "$(cat "$work/err")"
weights=$work/poisoned/model.safetensors
header=$(od -An -N8 -tu8 "$weights" | tr -d ' ')
first=$(head -c $((8 + header)) "$weights" | tr -d '\0' | sed 's/.*"shared.weight":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
printf '\0\0\300\177' | dd of="$weights" bs=1 seek=$((8 + header + first + ($(printf '%d' "'Z") + 3) * 32 * 4)) conv=notrunc 2>/dev/null
train skips 'train.length=12 steps' train.init="$work/poisoned" train.precision=fp8 $lines
grep -q 'skipped: loss or gradient is not finite' "$work/log" || fail "no step is skipped: $(cat "$work/log")"
grep -q '^step 12/12  loss [0-9]' "$work/log" || fail "no step is made: $(cat "$work/log")"
cat "$work/skips/checkpoints/latest"/optimizer*.safetensors | od -An -v -tx4 -w4 >"$work/numbers"
! grep -q '7f800000\|[7f]fc00000' "$work/numbers" || fail "$(grep -c '7f800000\|[7f]fc00000' "$work/numbers") largest numbers of a skipped step are kept"
echo "ok: a skipped step leaves no trace"
