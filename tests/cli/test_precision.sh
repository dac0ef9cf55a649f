# labels: rounds starts-first
# T5, GPT and BERT in bf16 and fp16: they learn what they learn in f32, and resume, evaluation, decoding, export and import do
# what they do there.
. tests/cli/lib.sh "$1"
make_dataset
small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.vocab=auto model.dropout=0'
gpt="model.preset=gpt2 model.n_enc=0 $small model.max_positions=64 data.objective=clm"
bert="model.preset=bert-base model.n_dec=0 $small model.max_positions=64 data.objective=mlm data.sentence_pairs=order"
adafactor='optim.name=adafactor optim.lr=1e-2 optim.min_dim_factored=16 optim.beta1=0.9 train.recompute=block'

# train NAME OVERRIDES…
train() {
    local name=$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$work/$name" optim.schedule=constant fp16.initial_scale=65536 fp16.window=8 "$@" 2>"$work/log" ||
        fail "$name: $(tail -n 2 "$work/log")"
}
held_out() { sed -n 's/.*"kind":"valid".*"loss":\([0-9.]*\).*/\1/p' "$work/$1/metrics.jsonl" | tail -n 1; }
# On all held-out documents, of which held_out has seen some.
evaluated() { "$loam" eval "$work/$1" --json | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
weights() { echo "$work/$1"/checkpoints/latest/weights-*.safetensors; }
# near A B SHARE: numbers that differ by no more than this share.
near() { awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN { d = (a - b) / b; exit !(d < share && d > -share) }'; }

# family NAME OVERRIDES…: 20 steps of each precision, and the same cut after 10.
family() {
    local name=$1 precision
    shift
    train "$name-f32" 'train.length=20 steps' train.precision=f32 "$@"
    for precision in bf16 fp16; do
        local run=$name-$precision
        train "$run" 'train.length=20 steps' train.precision="$precision" "$@"
        grep -q "threads* ([a-z0-9_]*, $precision)" "$work/log" || fail "$run: $(grep threads "$work/log")"
        near "$(held_out "$run")" "$(held_out "$name-f32")" 0.01 ||
            fail "$run ends at $(held_out "$run"), f32 at $(held_out "$name-f32")"
        train "$run-cut" 'train.length=10 steps' train.precision="$precision" "$@"
        train "$run-cut" 'train.length=20 steps' "$@" train.precision=auto
        diff -r "$work/$run/checkpoints/latest/" "$work/$run-cut/checkpoints/latest/" || fail "$run: another end after a resume"
        near "$(evaluated "$run")" "$(evaluated "$name-f32")" 0.01 || fail "$run: eval"
        "$loam" export "$work/$run" --to hf --out "$work/$run-hf" >/dev/null
        "$loam" import "$work/$run-hf" --out "$work/$run-back" >/dev/null
        cmp "$(weights "$run")" "$work/$run-back"/weights-*.safetensors || fail "$run: export rounds weights"
    done
    echo "ok: $name"
}

family t5
family t5-adafactor $adafactor
family gpt $gpt
family bert $bert

# The residual stream and gradients in the same dtype.
train narrow 'train.length=20 steps' train.precision=bf16 train.f32_residual=false train.f32_gradients=false
grep -q ', bf16, residual bf16, gradients bf16)' "$work/log" || fail "$(grep threads "$work/log")"
near "$(held_out narrow)" "$(held_out t5-f32)" 0.02 || fail "all in bf16 ends at $(held_out narrow)"
echo "ok: residual stream and gradients in bf16"

# A run goes on in its precision unless another is asked for, which it says; checkpoints hold f32 either way.
cp -r "$work/t5-f32" "$work/changing"
for change in "auto" "bf16 changed from f32 to bf16" "fp16 changed from bf16 to fp16" "f32 changed from fp16 to f32"; do
    steps=$((${steps:-20} + 4))
    train changing "train.length=$steps steps" train.precision="${change%% *}"
    [ "$change" = auto ] && change="auto f32)"
    grep -qF "${change#* }" "$work/log" || fail "$change: $(cat "$work/log")"
    grep -q '^  "loss_scale"' "$work/changing/checkpoints/latest/state.json" || fail "no loss scale in state.json"
done
train straight 'train.length=36 steps' train.precision=f32
near "$(held_out changing)" "$(held_out straight)" 0.02 || fail "$(held_out changing) is not $(held_out straight)"
echo "ok: another precision on resume"

# train.init copies the f32 weights of a run, whatever it computes in.
train second 'train.length=1 steps' train.precision=bf16 train.init="$work/t5-f32" optim.lr=0 model.dropout=0
cmp "$(weights second)" "$(weights t5-f32)" || fail "train.init rounds weights"
echo "ok: train.init"

# An overflow skips the update and lowers the scale; the smallest scale ends a run of fairseq, after a save.
train overflow 'train.length=6 steps' train.precision=fp16 fp16.initial_scale=1e12 fp16.hysteresis=1
grep -q 'step 1 skipped: loss or gradient is not finite at loss scale 1e+12; it goes on with 5e+11' "$work/log" || fail "$(cat "$work/log")"
grep '"kind":"train","step":1,' "$work/overflow/metrics.jsonl" | grep -q '"loss":[0-9]' || fail "no loss of a skipped step: $(head -n 3 "$work/overflow/metrics.jsonl")"
tail -n 2 "$work/log" | grep -q 'the last 6 steps of the run updated nothing, and the loss scale was still falling, to 1.5625e+10: nothing was learned' ||
    fail "a run that learned nothing: $(tail -n 2 "$work/log")"
train overflow 'train.length=40 steps' train.precision=fp16 fp16.initial_scale=1e12 fp16.hysteresis=1
grep -q '"kind":"train".*"loss_scale":' "$work/overflow/metrics.jsonl" || fail "no loss_scale in metrics.jsonl"
expect 1 'gradients overflow at the smallest loss scale, 1e+12' "$loam" train "$work/config.yaml" run.dir="$work/stuck" \
    train.precision=fp16 fp16.scaler=fairseq fp16.initial_scale=1e12 fp16.min_scale=1e12
expect 1 'the last 4 steps overflowed at loss scale 1e+12, the smallest allowed; lower fp16.min_scale, fp16.threshold' "$loam" train \
    "$work/config.yaml" run.dir="$work/bounded" 'train.length=4 steps' train.precision=fp16 fp16.scaler=fairseq fp16.initial_scale=1e12 \
    fp16.threshold=1e12
grep -q 'step 4 skipped: .* at loss scale 1e+12; it goes on with 1e+12' "$work/err" || fail "$(cat "$work/err")"
[ -e "$work/stuck/checkpoints/step-00000001/state.json" ] || fail "no save after an overflow at the smallest scale"

# At a scale that no overflow lowers a run ends, saved, and goes on with another one; skipped steps have their log lines.
expect 1 'after step 50, which is saved: the last 50 steps overflowed at loss scale 1e+12, which is fixed; lower fp16.loss_scale' \
    "$loam" train "$work/config.yaml" run.dir="$work/fixed" 'train.length=60 steps' train.precision=fp16 fp16.loss_scale=1e12
grep -q '"kind":"train","step":49,.*"loss":[0-9]' "$work/fixed/metrics.jsonl" && grep -q 'step 49/60  no update  lr' "$work/err" ||
    fail "no log line: $(tail -n 5 "$work/err")"
expect 1 'the last 50 steps had no finite loss, which no loss scale changes' env LOAM_FAULT=overflow:2 "$spoiled" train "$work/config.yaml" \
    run.dir="$work/broken" 'train.length=60 steps' train.precision=fp16 fp16.loss_scale=1024
! grep -- '-nan' "$work/err" "$work/broken/log.txt" || fail "a NaN with a sign"
expect 0 'step 60/60  loss' "$loam" train "$work/config.yaml" run.dir="$work/fixed" 'train.length=60 steps' fp16.loss_scale=1024
expect 1 'the last 3 steps overflowed at loss scale 1e+12' "$loam" train "$work/config.yaml" run.dir="$work/brief" \
    'train.length=3 steps' train.precision=fp16 fp16.initial_scale=1e12 fp16.min_scale=1e12
echo "ok: a scale that is stuck"

# Options that the precision leaves without effect.
train idle 'train.length=1 steps' train.precision=bf16
grep -q 'fp16.initial_scale, fp16.window: without effect, since train.precision is bf16' "$work/log" || fail "$(cat "$work/log")"
expect 0 'train.f32_residual, train.f32_gradients: without effect, since train.precision is f32' "$loam" train "$work/config.yaml" \
    run.dir="$work/idle-f32" 'train.length=1 steps' train.precision=f32 train.f32_residual=false train.f32_gradients=false
"$loam" train "$work/config.yaml" run.dir="$work/busy" 'train.length=1 steps' train.precision=fp16 fp16.window=8 train.f32_residual=false \
    2>"$work/log"
! grep 'without effect' "$work/log" || fail "a warning without a reason"
echo "ok: options without effect"

# What models answer: in the run's precision, or another.
echo 'bace <extra_id_0> dihaki.' >"$work/line"
for precision in f32 bf16 fp16 auto; do
    "$loam" generate --model "$work/t5-bf16" --max-tokens 6 --json --precision $precision <"$work/line" >"$work/$precision"
    "$loam" embed --model "$work/bert-bf16" --precision $precision <"$work/line" >"$work/$precision.vector"
done
"$loam" generate --model "$work/t5-bf16@best" --max-tokens 6 --json <"$work/line" | cmp - "$work/bf16" || fail "not the run's precision"
for precision in bf16 fp16; do
    near "$(sed 's/.*"logprob":\(-[0-9.]*\).*/\1/' "$work/$precision")" \
        "$(sed 's/.*"logprob":\(-[0-9.]*\).*/\1/' "$work/f32")" 0.1 || fail "$precision: $(cat "$work/$precision" "$work/f32")"
    ! cmp -s "$work/$precision.vector" "$work/f32.vector" || fail "$precision is f32"
done
"$loam" generate --model "$work/gpt-fp16" --max-tokens 6 --beams 3 <"$work/line" >/dev/null
for precision in f32 bf16; do
    "$loam" predict "$work/t5-f32" --raw --json train.precision=$precision <"$work/line" >"$work/predicted-$precision"
done
near "$(sed 's/.*"logprob":\(-[0-9.]*\).*/\1/' "$work/predicted-bf16")" \
    "$(sed 's/.*"logprob":\(-[0-9.]*\).*/\1/' "$work/predicted-f32")" 0.1 || fail "$(cat "$work"/predicted-*)"
! cmp -s "$work/predicted-bf16" "$work/predicted-f32" || fail "predict computes in f32"
"$loam" predict "$work/t5-f32" --raw --json <"$work/line" | cmp - "$work/predicted-f32" || fail "predict: not the run's precision"
expect 1 '--precision fp8 is only for training, want auto, f32, bf16 or fp16' "$loam" generate --model "$work/t5-bf16" --precision fp8
expect 1 '--precision fp32 is unknown, did you mean f32?' "$loam" generate --model "$work/t5-bf16" --precision fp32
expect 1 '--precision is empty, want auto, f32, bf16 or fp16' "$loam" embed --model "$work/bert-bf16" --precision ""
expect 1 'unknown option --precision, did you mean train.precision=VALUE?' "$loam" eval "$work/t5-bf16" --precision f32
echo "ok: answers"

# Weights whose activations pass 65,504, the largest number of f16: no NaN is given as an answer.
for name in t5 bert; do
    options=$bert && [ $name = bert ] || options=
    train hot-$name 'train.length=1 steps' train.precision=f32 $options model.init=normal model.init_std=100 optim.lr=0
done
beyond='the largest number of fp16 is 65,504; compute in bf16 or f32'
for ask in "embed --model $work/hot-bert" "embed --model $work/hot-bert --npy $work/hot.npy" "embed --model $work/hot-t5" \
    "generate --model $work/hot-bert" "generate --model $work/hot-t5"; do
    for precision in f32 bf16; do
        "$loam" $ask --precision $precision <"$work/line" >"$work/out" 2>"$work/err" || fail "$ask in $precision: $(cat "$work/err")"
    done
    expect 1 "$beyond" sh -c "\"$loam\" $ask --precision fp16 <\"$work/line\""
    [ ! -s "$work/out" ] || fail "$ask answers: $(cat "$work/out")"
done
for ask in "predict $work/hot-t5 --raw" "eval $work/hot-t5"; do
    expect 1 "$beyond" sh -c "\"$loam\" $ask train.precision=fp16 <\"$work/line\""
done
echo "ok: numbers beyond f16"
