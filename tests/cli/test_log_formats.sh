# log.format: the lines of a run as fairseq and Megatron-LM print them, with the losses of metrics.jsonl.
. tests/cli/lib.sh "$1"
make_dataset
train="$loam train $work/config.yaml train.length=6steps train.log_every=2 train.eval_every=3 train.save_every=3"
# losses KIND: "step loss" of metrics.jsonl.
losses() { sed -n "s/.*\"kind\":\"$2\",\"step\":\([0-9]*\).*\"loss\":\([0-9.e+-]*\).*/\1 \2/p" "$1/metrics.jsonl"; }
# near FILE: the pairs of numbers in its lines are equal in all but the last of the printed digits.
near() { awk -v by="$2" '{ d = $2 / by - $4; if ($1 != $3 || d > 6e-4 || d < -6e-4) exit 1 } END { exit NR != n }' n="$3" "$1"; }

$train run.dir="$work/loam" 2>"$work/log"
grep -q '^step 2/6  loss ' "$work/log" || fail "loam's line: $(cat "$work/log")"
grep -q 'iteration\|INFO' "$work/log" && fail "lines of others: $(cat "$work/log")"

$train run.dir="$work/megatron" log.format=megatron 2>"$work/log"
sed -n 's/^ \[.*\] iteration  *\([0-9]*\)\/ *6 | consumed samples: .* | lm loss: \([0-9.E+-]*\) | .*/\1 \2/p' "$work/log" >"$work/lines"
paste -d ' ' <(losses "$work/megatron" train) "$work/lines" >"$work/both"
near "$work/both" 1 3 || fail "Megatron's losses: $(cat "$work/both")"
"$loam" train "$work/config.yaml" run.dir="$work/tokens" log.format=megatron 'train.length=2000 tokens' 2>"$work/tokens.log" ||
    fail "$(cat "$work/tokens.log")"
sed -n 's/^ \[.*\] iteration  *\([0-9]*\)\/ *\([0-9]*\) | .*/\1 \2/p' "$work/tokens.log" |
    awk '{ bad = bad || $2 < $1 || $2 > 8; last = $1 == $2 } END { exit bad || !last }' || fail "iterations of a run in tokens: $(cat "$work/tokens.log")"
sed -n 's/^ validation loss at iteration \([0-9]*\) | lm loss value: \([0-9.E+-]*\) | lm loss PPL: .*/\1 \2/p' "$work/log" >"$work/lines"
paste -d ' ' <(losses "$work/megatron" valid) "$work/lines" >"$work/both"
near "$work/both" 1 3 || fail "Megatron's validations: $(cat "$work/both")"
[ "$(grep -c '^-*$' "$work/log")" = 6 ] || fail "rules"
grep -q '^step [0-9/]*  \(held-out \)\?loss' "$work/log" && fail "loam's lines: $(cat "$work/log")"

$train run.dir="$work/fairseq" log.format=fairseq 2>"$work/log"
grep -E '^[-0-9]{10} [:0-9]{8} \| INFO \| train_inner \| \{"epoch": 1, "update": 0\.[0-9]+, "loss": ' "$work/log" |
    sed 's/.*"loss": "\([0-9.]*\)", "nll_loss".*"num_updates": "\([0-9]*\)".*/\2 \1/' >"$work/lines"
paste -d ' ' <(losses "$work/fairseq" train) "$work/lines" >"$work/both"
near "$work/both" 0.6931471805599453 3 || fail "fairseq's losses: $(cat "$work/both")"
sed -n 's/.* | INFO | valid | {"epoch": [0-9]*, "valid_loss": "\([0-9.]*\)", .*"valid_num_updates": "\([0-9]*\)".*/\2 \1/p' "$work/log" >"$work/lines"
paste -d ' ' <(losses "$work/fairseq" valid) "$work/lines" >"$work/both"
near "$work/both" 0.6931471805599453 3 || fail "fairseq's validations: $(cat "$work/both")"
[ ! -e "$work/fairseq/train_inner.jsonl" ] || fail "a file that nobody asked for"
grep -q '^step [0-9/]*  \(held-out \)\?loss' "$work/log" && fail "loam's lines: $(cat "$work/log")"

# A run that goes on within the window of a line writes what the whole run writes, except times and speeds.
fields() { sed 's/, "wps": "[^"]*", "ups": "[^"]*"//; s/, "train_wall".*//' "$1/train_inner.jsonl"; }
window="train.fairseq_log=true train.log_every=3 train.save_every=2 optim.clip_norm=1.2"
$train run.dir="$work/inner" $window 2>"$work/log"
{ LOAM_FAULT=step:6 $train run.dir="$work/resumed" $window >"$work/out" 2>&1 && fail "no kill"; } 2>/dev/null
[ "$(readlink "$work/resumed/checkpoints/latest")" = step-00000004 ] || fail "killed elsewhere"
$train run.dir="$work/resumed" $window 2>"$work/log" || fail "$(cat "$work/log")"
[ "$(fields "$work/inner" | grep -c '"gnorm": .*"clip": ')" = 2 ] || fail "$(cat "$work/inner/train_inner.jsonl")"
diff <(fields "$work/inner") <(fields "$work/resumed") || fail "another line after going on within a window"

diff <(losses "$work/loam" train) <(losses "$work/fairseq" train) || fail "other losses"
expect 1 'log.format' "$loam" train "$work/config.yaml" log.format=tqdm run.dir="$work/none"
