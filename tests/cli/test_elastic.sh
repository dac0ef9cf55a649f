# labels: starts-first
# Checkpoints that several ranks wrote: any other number of ranks goes on from them, one process evaluates, exports and
# generates from them, and a part that is missing or damaged is named with its rank.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
t5=("$config" train.length='12 steps' optim.schedule=constant train.precision=f32 model.n_dec=2 train.eval_samples=8)

# 4 -> 1 -> 3 -> 2 ranks, at all levels of ZeRO, continue the curve of one rank.
"$loam" train "${t5[@]}" run.dir="$work/one" 2>"$work/err"
for part in '3 4 3' '6 1 0' '9 3 2' '12 2 1'; do
    read -r steps ranks zero <<<"$part"
    "$loam" train "${t5[@]}" train.length="$steps steps" run.dir="$work/elastic" parallel.ranks="$ranks" parallel.zero="$zero" \
        2>"$work/err" || fail "$part: $(cat "$work/err")"
    [ "$(find "$work/elastic/checkpoints/latest/" -name '*.safetensors' | wc -l)" = $((2 * ranks)) ] || fail "files of $part"
done
for run in one elastic; do
    mkdir "$work/$run-train"
    grep '"kind":"train"' "$work/$run/metrics.jsonl" >"$work/$run-train/metrics.jsonl"
done
near "$work/one-train" "$work/elastic-train"

# So do tensor-parallel ranks, whose files hold rows and columns of matrices (unequally many rows of the vocabulary), and pipelines, whose files hold blocks.
for part in '3 8 2 2 1' '6 1 1 1 0' '9 4 2 1 3' '11 3 1 3 0' '12 2 2 1 1'; do
    read -r steps ranks tensor pipeline zero <<<"$part"
    "$loam" train "${t5[@]}" train.length="$steps steps" run.dir="$work/tensor" parallel.ranks="$ranks" parallel.tensor="$tensor" \
        parallel.pipeline="$pipeline" parallel.zero="$zero" model.vocab=307 optim.name=adafactor optim.min_dim_factored=16 2>"$work/err" || fail "$part: $(cat "$work/err")"
done
"$loam" train "${t5[@]}" run.dir="$work/adafactor" model.vocab=307 optim.name=adafactor optim.min_dim_factored=16 2>"$work/err"
for run in adafactor tensor; do
    mkdir "$work/$run-train"
    grep '"kind":"train"' "$work/$run/metrics.jsonl" >"$work/$run-train/metrics.jsonl"
done
near "$work/adafactor-train" "$work/tensor-train"

# From all three kinds of ranks to one, to four tensor-parallel ranks, to four stages: one curve (run/test_checkpoint_chain
# has the bits). What several ranks have alike (a tied embedding, norms, shared key/value heads) is compared at each step.
divided=("${t5[@]}" model.n_enc=2 model.heads=4 model.head_dim=8 model.kv_heads=1 model.tie_embeddings=true parallel.check_every=1)
"$loam" train "${divided[@]}" run.dir="$work/whole" 2>"$work/err" || fail "$(cat "$work/err")"
for part in '3 8 2 2' '6 1 1 1' '9 4 4 1' '12 4 1 4'; do
    read -r steps ranks tensor pipeline <<<"$part"
    "$loam" train "${divided[@]}" train.length="$steps steps" run.dir="$work/chain" parallel.ranks="$ranks" parallel.tensor="$tensor" \
        parallel.pipeline="$pipeline" 2>"$work/err" || fail "$part: $(cat "$work/err")"
done
for run in whole chain; do
    mkdir "$work/$run-train"
    grep '"kind":"train"' "$work/$run/metrics.jsonl" >"$work/$run-train/metrics.jsonl"
done
near "$work/whole-train" "$work/chain-train"
[ -n "${LOAM_SANITIZED:-}" ] ||
    "$loam" train "${divided[@]}" train.length='100 steps' run.dir="$work/alike" parallel.ranks=8 parallel.tensor=2 parallel.pipeline=2 \
        train.save_every=0 train.eval_every=0 train.log_every='50 steps' 2>"$work/err" || fail "copies are not alike: $(cat "$work/err")"

# Loading changes no bit: parts of 4 ranks, saved again by 3, and by 1 at once, hold the same tensors.
"$loam" train "${t5[@]}" run.dir="$work/a" parallel.ranks=4 parallel.zero=2 2>"$work/err"
sum_of() { "$loam" export "$1" --to hf --out "$work/hf" >/dev/null 2>"$work/err" || fail "export: $(cat "$work/err")"; sha256sum <"$work/hf/model.safetensors"; rm -r "$work/hf"; }
for ranks in 1 3 2; do
    tensor=$((1 + (ranks == 2))) pipeline=$((1 + 2 * (ranks == 3)))
    cp -r "$work/a" "$work/a$ranks"
    # A step that takes nothing (learning rate 0, no decay) updates only moments; weights must stay.
    "$loam" train "${t5[@]}" run.dir="$work/a$ranks" train.length='13 steps' optim.lr=0 parallel.ranks=$ranks parallel.tensor=$tensor parallel.pipeline=$pipeline parallel.zero=$((ranks - 1)) \
        2>"$work/err" || fail "$ranks ranks: $(cat "$work/err")"
    [ "$(sum_of "$work/a")" = "$(sum_of "$work/a$ranks")" ] || fail "$ranks ranks changed weights by loading them"
done
"$loam" eval "$work/a" 2>"$work/err" >"$work/eval" || fail "eval: $(cat "$work/err")"
echo "ba ce" | "$loam" generate --model "$work/a" --max-tokens 4 >"$work/out" 2>"$work/err" || fail "generate: $(cat "$work/err")"

# A run that starts from such a checkpoint loads its own part of each tensor; from a Hugging Face folder it copies the model.
"$loam" export "$work/a" --to hf --out "$work/hf" >/dev/null 2>"$work/err" || fail "export: $(cat "$work/err")"
for init in a hf; do
    "$loam" train "${t5[@]}" run.dir="$work/from-$init" train.init="$work/$init" train.length='2 steps' parallel.ranks=8 parallel.tensor=2 \
        parallel.pipeline=2 parallel.zero=3 2>"$work/err" || fail "train.init=$init: $(cat "$work/err")"
done
for file in "$work/from-a/checkpoints/latest/"*.safetensors; do
    cmp "$file" "$work/from-hf/checkpoints/latest/${file##*/}" || fail "train.init: other weights than those of the Hugging Face folder"
done

# Where the newest checkpoint of train.init is damaged, the one before is used, and nothing of the damaged one: neither
# its tensors, which were read before the damage was found, nor its roles of tokens.
cp -r "$work/a" "$work/half"
newest=$(readlink "$work/half/checkpoints/latest") before=$(find "$work/half/checkpoints" -name 'step-*' | sort | tail -n 2 | head -n 1)
[ "${before##*/}" != "$newest" ] || fail "one checkpoint only"
file=$work/half/checkpoints/$newest/weights-00004-of-00004.safetensors
printf "xyzzy xyzzy" | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 11)) conv=notrunc 2>/dev/null
for init in half "half/checkpoints/${before##*/}"; do
    "$loam" train "${t5[@]}" run.dir="$work/mixed-${init##*/}" train.init="$work/$init" train.length='1 steps' optim.lr=0 parallel.ranks=2 \
        2>"$work/err" || fail "train.init=$init: $(cat "$work/err")"
    [ "$init" != half ] || grep -q 'part of rank 3: .*damaged.*the previous checkpoint is used' "$work/err" || fail "not said: $(cat "$work/err")"
done
diff -rq "$work/mixed-half/checkpoints/latest/" "$work/mixed-${before##*/}/checkpoints/latest/" || fail "a mixture of two checkpoints"

# A part that is missing, or damaged: the checkpoint before is used, and the message says which rank's it is.
latest=$work/a/checkpoints/latest
mv "$latest/optimizer-00003-of-00004.safetensors" "$work/part"
expect 1 'part of rank 2: ' "$loam" eval "$latest"
cp "$work/part" "$latest/optimizer-00003-of-00004.safetensors"
printf "xyzzy xyzzy" | dd of="$latest/weights-00002-of-00004.safetensors" bs=1 seek=3000 conv=notrunc 2>/dev/null
expect 1 'part of rank 1: ' "$loam" eval "$latest"
"$loam" train "${t5[@]}" run.dir="$work/a" train.length='14 steps' parallel.ranks=3 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'part of rank 1: .*weights-00002-of-00004.safetensors: damaged.*the previous checkpoint is used' "$work/err" ||
    fail "not said: $(cat "$work/err")"

# FP8 goes on bit by bit on as many ranks: the scales of all ranks are those of the checkpoint.
fp8=("${t5[@]}" train.precision=fp8 train.batch='7 samples' train.micro_batch='2 samples' parallel.ranks=3 parallel.zero=1)
"$loam" train "${fp8[@]}" run.dir="$work/fp8" 2>"$work/err" || fail "fp8: $(cat "$work/err")"
for steps in 5 12; do
    "$loam" train "${fp8[@]}" train.length="$steps steps" run.dir="$work/fp8-again" parallel.check_every=1 2>"$work/err" ||
        fail "fp8: $(cat "$work/err")"
done
diff -rq "$work/fp8/checkpoints/latest/" "$work/fp8-again/checkpoints/latest/" || fail "fp8 goes on otherwise"

# What a plan says that a rank sends is what it sends.
for zero in 0 1 2 3; do
    options=("${t5[@]}" parallel.ranks=3 parallel.zero=$zero train.micro_batch='2 samples')
    planned=$("$loam" plan "${options[@]}" 2>/dev/null | sed -n 's/.*(\([0-9]*\) bytes)$/\1/p')
    "$loam" train "${options[@]}" run.dir="$work/sent$zero" train.length='2 steps' 2>"$work/err" || fail "$(cat "$work/err")"
    sent=$(grep -o '"sent_bytes":[0-9]*' "$work/sent$zero/metrics.jsonl" | tail -n 1)
    [ "$sent" = "\"sent_bytes\":$planned" ] || fail "ZeRO $zero: planned $planned, sent $sent"
done
echo "ok: as much is sent as planned"
