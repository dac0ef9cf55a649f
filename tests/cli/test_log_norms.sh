# log.norms, log.megatron_series, log.samples: the same norms on any layout of ranks; series and texts for TensorBoard,
# cut back by steps and by samples.
. tests/cli/lib.sh "$1"
make_dataset
train=("$loam" train "$work/config.yaml" train.length='4 steps' train.log_every='2 steps' train.eval_every=0 train.save_every=2
    train.precision=f32 log.norms=layers log.megatron_series=true)
# norms RUN: step, gradient norm, norm of the weights, gradients that are 0.
norms() { sed -n 's/.*"kind":"train","step":\([0-9]*\).*"grad_norm":\([0-9.e+-]*\).*"param_norm":\([0-9.e+-]*\),"zero_gradients":\([0-9.]*\).*/\1 \2 \3 \4/p' "$work/$1/metrics.jsonl"; }
# Equal to five digits; of the gradients some thousands are 0, and sums in another order make a few of them 0, or not.
same() { paste -d ' ' <(norms one) <(norms "$1") | awk '
    function far(a, b, by) { return a - b > by * a || b - a > by * a }
    $1 != $5 || far($2, $6, 1e-5) || far($3, $7, 1e-5) || far($4, $8, 1e-2) || $4 == 0 { exit 1 } END { exit NR != 2 }'; }

"${train[@]}" run.dir="$work/one" 2>"$work/log" || fail "$(cat "$work/log")"
layouts='zero=0 zero=1 zero=3 tensor=2 pipeline=2'
[ -z "${LOAM_SANITIZED:-}" ] || layouts='zero=3 tensor=2'
for layout in $layouts; do
    "${train[@]}" run.dir="$work/$layout" parallel.ranks=2 parallel."$layout" 2>"$work/log" || fail "$layout: $(cat "$work/log")"
    same "$layout" || fail "$layout: $(norms one; norms "$layout")"
done

# Every series is there, under its name, and none of it changes the run.
text() { cat "$work/$1"/tb/events.* | tr -c '[:print:]' '\n'; }
text one >"$work/text"
for series in 'learning-rate' 'batch-size' 'lm loss' 'loss-scale' 'grad-norm' 'num-zeros' 'params-norm' 'iteration-time' \
    'lm loss validation' 'lm loss validation ppl'; do
    for name in "$series" "$series vs samples"; do
        grep -qxF "$name" <(sed 's/^[^a-z]*//' "$work/text") || fail "no series $name"
    done
done
for name in batch-generator-time forward-backward-time optimizer-time grad_norm/encoder.0 param_norm/decoder.0 grad_norm/other; do
    grep -qF "$name" "$work/text" || fail "no series $name"
done
"$loam" train "$work/config.yaml" train.length='4 steps' train.log_every='2 steps' train.eval_every=0 train.save_every=2 train.precision=f32 \
    run.dir="$work/plain" 2>"$work/log"
cmp "$work/one/checkpoints/latest/weights-00001-of-00001.safetensors" "$work/plain/checkpoints/latest/weights-00001-of-00001.safetensors"
text plain | grep -q 'vs samples\|grad_norm/' && fail "series that nobody asked for"

# After a rollback and the same steps again each series has as many values as before.
count() { text "$1" | grep -cE 'lm loss( vs samples)?$' || true; }
whole=$(count one)
"$loam" rollback "$work/one" --to 2 2>"$work/log"
[ "$(count one)" -lt "$whole" ] || fail "nothing was cut"
"${train[@]}" run.dir="$work/one" 2>"$work/log"
[ "$(count one)" = "$whole" ] || fail "$(count one) values, not $whole"

# The answers of an evaluation as text.
loam=$(realpath "$loam")
cd "$work"
make_marks
cat >"$work/marks.yaml" <<YAML
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16 }
tokenizer: { path: $work/tok.model }
task: { data: marks.tsv, valid: 10%, input: '{text}', target: '{mark}', scores: accuracy }
train: { length: 2 steps, batch: 8 samples, micro_batch: 8 samples, eval_every: 0, save_every: 0, eval_samples: 4, threads: 1 }
YAML
"$loam" train "$work/marks.yaml" run.dir="$work/marks" log.samples=2 2>"$work/log" || fail "$(cat "$work/log")"
text marks >"$work/text"
[ "$(grep -cxF '**input**' <(sed 's/^[^*]*//' "$work/text"))" = 2 ] || fail "not two examples: $(grep -c input "$work/text")"
