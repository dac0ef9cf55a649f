# labels: repeats
# A run with nothing but a model, a tokenizer and data learns; what is not given follows from what is.
. tests/cli/lib.sh "$1"
make_dataset
said="tokenizer.path=$work/tok.model data.train=$work/data data.valid=$work/data-valid train.eval_samples=16 train.threads=1"
toy="model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.vocab=auto model.max_positions=64"
: >"$work/empty.yaml"

for preset in t5-1.1-tiny bert-tiny gpt2-tiny; do
    run=$work/$preset
    # shellcheck disable=SC2086
    "$loam" train "$work/empty.yaml" run.dir="$run" model.preset=$preset $toy $said data.input_length=64 \
        'train.batch=8 samples' 'train.length=150 steps' 2>"$work/log" || fail "$preset: $(tail -n 2 "$work/log")"
    sed -n 's/.*"kind":"valid".*"loss":\([0-9.]*\).*/\1/p' "$run/metrics.jsonl" >"$work/losses"
    awk -v name=$preset 'NR == 1 { first = $1 } { last = $1 }
        END { printf "ok: %s by its defaults: held-out loss %.2f -> %.2f\n", name, first, last; exit !(last < first - 0.4) }' \
        "$work/losses" || fail "$preset learned nothing by its defaults: $(cat "$work/losses")"
done

# A warm-up that is as long as the run.
small="$toy $said data.input_length=64 train.batch=4samples"
# shellcheck disable=SC2086
expect 0 'optim.warmup is 10000 steps and the run 2' "$loam" train "$work/empty.yaml" run.dir="$work/cold" \
    model.preset=gpt2-tiny $small train.length=2 optim.warmup=10k
# shellcheck disable=SC2086
expect 0 'write a share of the length' "$loam" plan "$work/empty.yaml" model.preset=gpt2-tiny $small train.length=2 optim.warmup=2
# shellcheck disable=SC2086
"$loam" train "$work/empty.yaml" run.dir="$work/warm" model.preset=gpt2-tiny $small train.length=4 2>"$work/err"
! grep -q warmup "$work/err" || fail "a warning about the default warm-up: $(cat "$work/err")"

# A run of an earlier version, whose configuration lists everything, goes on as it was: by its own file and by the
# command that began it.
old="optim.name=adafactor optim.lr=1e-2 optim.schedule=inverse_sqrt optim.warmup=10k optim.beta2=-1 optim.eps=-1 optim.weight_decay=0"
# shellcheck disable=SC2086
began="model.preset=gpt2-tiny $toy $said data.objective=clm train.length=4"
# shellcheck disable=SC2086
"$loam" train "$work/empty.yaml" run.dir="$work/old" $began $old data.input_length=64 'train.batch=4 samples' 2>"$work/err"
cp "$work/old/config.yaml" "$work/before.yaml"
# shellcheck disable=SC2086
expect 0 'nothing left to do' "$loam" train "$work/empty.yaml" run.dir="$work/old" $began
! grep -q ' changed from ' "$work/err" || fail "an option changed: $(cat "$work/err")"
cmp "$work/before.yaml" "$work/old/config.yaml" || fail "the configuration of a run that went on"
expect 0 'nothing left to do' "$loam" train "$work/old/config.yaml"
diff <(grep -v '^  path: ' "$work/before.yaml") <(grep -v '^  path: ' "$work/old/config.yaml") ||
    fail "the configuration of a run that went on by its own file, its tokenizer's place aside"

# From a model its shape, its tokenizer, its objective and its lengths.
expect 0 'step 2/2' "$loam" train "$work/empty.yaml" run.dir="$work/next" train.init="$work/gpt2-tiny" data.train="$work/data" \
    train.length=2 train.log_every=1 'train.batch=4 samples'
for setting in 'n_dec: 4' 'width: 32' 'objective: clm' 'input_length: 64' "path: $work/gpt2-tiny/"; do
    grep -q "^  $setting" "$work/next/config.yaml" || fail "no $setting in $(cat "$work/next/config.yaml")"
done
expect 1 'its model.n_dec is 4, this model'"'"'s is 3; its model.width is 32, this model'"'"'s is 48' "$loam" train "$work/empty.yaml" \
    run.dir="$work/other" train.init="$work/gpt2-tiny" data.train="$work/data" model.width=48 model.n_dec=3
[ ! -e "$work/other" ] || fail "a run directory of a configuration that was refused"
# Going on takes a share of the family's rate, and another by option; resumed, the run keeps it. What is given counts.
rate() { "$loam" plan "$work/empty.yaml" data.train="$work/data" train.length='100 steps' --options "$@" 2>"$work/err" |
    sed -n 's/^  \(lr\|schedule\|warmup\|rewarm\): //p' | xargs; }
[ "$(rate run.dir="$work/new" train.init="$work/gpt2-tiny")" = '0.0005 0.5 cosine 6%' ] || fail "going on: $(rate run.dir="$work/new" train.init="$work/gpt2-tiny")"
[ "$(rate run.dir="$work/new" train.init="$work/gpt2-tiny" optim.rewarm=1)" = '0.001 1 cosine 6%' ] || fail "optim.rewarm=1"
[ "$(rate run.dir="$work/new" train.init="$work/gpt2-tiny" optim.lr=3e-3)" = '0.003 0.5 cosine 6%' ] || fail "a rate that was given"
[ "$(rate run.dir="$work/new" train.init="$work/gpt2-tiny" train.length=2h)" = '0.0005 0.5 cosine 6%' ] || fail "a length in time"
[ "$(rate run.dir="$work/next" train.init="$work/gpt2-tiny")" = '0.0005 0.5 cosine 6%' ] || fail "the rate of a run that goes on"
[ "$(rate run.dir="$work/new" model.preset=gpt2-tiny model.vocab=auto tokenizer.path="$work/tok.model")" = '0.001 1 cosine 6%' ] || fail "a new model: $(cat "$work/err")"

# The model that a run starts from is its best so far: a run that only gets worse ends with it.
"$loam" train "$work/empty.yaml" run.dir="$work/worse" train.init="$work/gpt2-tiny" data.train="$work/data" data.valid="$work/data-valid" \
    train.length='8 steps' train.eval_every=2 'train.batch=4 samples' train.eval_samples=8 optim.lr=10 train.patience=2 2>"$work/log" ||
    fail "$(tail -n 1 "$work/log")"
grep -q '^best by loss: step 0, the model that the run started from: held-out loss' "$work/log" && grep -q 'no better held-out loss in 2 evaluations' "$work/log" || fail "$(cat "$work/log")"
[ "$(readlink "$work/worse/checkpoints/best")" = step-00000000 ] || fail "best is $(readlink "$work/worse/checkpoints/best")"
loss_of() { sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
first=$(grep -m 1 '"kind":"valid"' "$work/worse/metrics.jsonl" | loss_of)
best=$("$loam" eval "$work/worse@best" --json --samples 8 | loss_of)
[ "${first:0:7}" = "${best:0:7}" ] || fail "the best has $best, the start had $first"
# The folder may be gone when the run goes on.
mv "$work/gpt2-tiny" "$work/moved"
expect 0 'nothing left to do' "$loam" train "$work/empty.yaml" run.dir="$work/next" train.init="$work/gpt2-tiny" \
    data.train="$work/data" train.length=2 'train.batch=4 samples' tokenizer.path="$work/tok.model"
expect 0 'loss' "$loam" eval "$work/next" data.valid="$work/data-valid" --samples 4

# A configuration that takes its tokenizer from that folder says how to go on; another folder does not take the run's weights.
init="$work/empty.yaml run.dir=$work/next train.init=$work/gpt2-tiny data.train=$work/data train.length=3"
# shellcheck disable=SC2086
expect 1 "train.init $work/gpt2-tiny is gone, which the run took its tokenizer from; \`loam train $work/next\` goes on" "$loam" train $init 'train.batch=4 samples'
expect 0 "$work/fork is a new run with the options of $work/moved and starts from random weights; to start from that run's weights, add train.init=$work/moved" \
    "$loam" train "$work/moved" run.dir="$work/fork" train.length=1
expect 0 'step 2/2' "$loam" train "$work/moved" run.dir="$work/fork" train.length=2 train.log_every=1
expect 0 'step 1/1' "$loam" train "$work/moved" run.dir="$work/forked" train.init="$work/moved" train.length=1 train.log_every=1
! grep -q 'is a new run' "$work/err" || fail "$(cat "$work/err")"

# Adapters have AdamW and their own rate, with a task or without; steps relative to the size of a matrix are warned of.
adapters() { "$loam" plan "$work/empty.yaml" run.dir="$work/new" data.train="$work/data" train.length='100 steps' lora.rank=4 --options "$@" 2>"$work/err" |
    sed -n '/^optim:/,/^[a-z]*:$/s/^  \(name\|lr\|weight_decay\): //p' | xargs; }
for base in moved t5-1.1-tiny; do
    [ "$(adapters train.init="$work/$base")" = 'adamw 0.0005 0' ] || fail "adapters of $base: $(adapters train.init="$work/$base") $(cat "$work/err")"
    ! grep -q 'warning: lora.rank' "$work/err" || fail "$(cat "$work/err")"
    adapters train.init="$work/$base" optim.name=adamw_rms >"$work/out"
    grep -q 'warning: lora.rank with optim.name=adamw_rms: .* write optim.name=adamw$' "$work/err" || fail "$(cat "$work/err")"
done
adapters train.init="$work/t5-1.1-tiny" optim.name=adafactor >"$work/out"
grep -q 'warning: lora.rank with optim.name=adafactor: .* optim.scale_parameter=false' "$work/err" || fail "$(cat "$work/err")"
adapters train.init="$work/t5-1.1-tiny" optim.name=adafactor optim.scale_parameter=false >"$work/out"
! grep -q 'warning: lora.rank' "$work/err" || fail "$(cat "$work/err")"

# From a Hugging Face folder.
"$loam" export "$work/moved" --to hf --out "$work/hf" >/dev/null 2>&1
expect 0 'step 2/2' "$loam" train "$work/empty.yaml" run.dir="$work/from-hf" train.init="$work/hf" data.train="$work/data" \
    train.length=2 train.log_every=1 'train.batch=4 samples'
grep -q '^  input_length: 64' "$work/from-hf/config.yaml" || fail "positions end at 64: $(grep input_length "$work/from-hf/config.yaml")"
expect 0 'loss' "$loam" eval "$work/hf" data.valid="$work/data-valid" --samples 4 # a GPT is judged by clm
expect 0 'loss' "$loam" eval "$work/moved/checkpoints/latest" data.valid="$work/data-valid" --samples 4

"$loam" tokenizer train --type bpe --vocab-size 150 --out "$work/other.model" "$work/corpus.txt" 2>/dev/null
"$loam" prepare --tokenizer "$work/other.model" --out "$work/other-data" "$work/corpus.txt" >/dev/null 2>&1
expect 0 'is another tokenizer than' "$loam" train "$work/empty.yaml" run.dir="$work/translated" train.init="$work/hf" \
    data.train="$work/other-data" tokenizer.path="$work/other.model" train.length=1 'train.batch=4 samples'
