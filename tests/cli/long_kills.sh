# labels: long
# A run killed before each of its system calls on files, and started again, ends with the same bytes.
. tests/cli/lib.sh "$1"
make_dataset
train() { "$loam" train "$work/config.yaml" run.dir="$1" 'train.length=4 steps' train.save_every=2 train.eval_every=3 train.keep_last=1; }
losses() { sed -n 's/.*"kind":"\(train\|valid\)".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }
train "$work/whole" 2>"$work/log"
n=0
while :; do
    n=$((n + 1))
    status=0
    rm -rf "$work/cut"
    (LOAM_FAULT=io:$n train "$work/cut" || exit $?) 2>"$work/log" || status=$?
    [ "$status" != 0 ] || break
    [ "$status" = 137 ] || fail "call $n ended with $status: $(tail -n 2 "$work/log")"
    train "$work/cut" 2>"$work/log" || fail "after call $n: $(tail -n 2 "$work/log")"
    diff <(losses "$work/whole") <(losses "$work/cut") || fail "call $n: the logged losses differ"
    for file in "$work"/whole/checkpoints/step-00000004/*; do
        cmp "$file" "$work/cut/checkpoints/step-00000004/${file##*/}" || fail "call $n: $file differs"
    done
    for link in latest best; do
        [ "$(readlink "$work/cut/checkpoints/$link")" = step-00000004 ] || fail "call $n: $link is another checkpoint"
    done
done
[ "$n" -gt 100 ] || fail "only $n calls"
echo "ok: killed before each of $((n - 1)) calls"
