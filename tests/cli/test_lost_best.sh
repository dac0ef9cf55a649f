# labels: any-processor
# The best checkpoint is missing, pruned before a rollback or deleted by hand: the best one of those that exist is the best
# and is kept, or else the next evaluation finds one; on an ended run every verb says so and means the newest one.
. tests/cli/lib.sh "$1"
make_dataset
cd "$work"
first="$loam train config.yaml optim.schedule=constant train.patience=9"
best() { readlink "$1/checkpoints/best" || echo none; }

# At a rate of 0 later evaluations are no better than that of step 20.
$first run.dir=a train.eval_every=5 train.stop_at=20 2>err || fail "$(cat err)"
"$loam" train a optim.lr=0 train.stop_at=30 2>err || fail "$(cat err)"
[ "$(best a)" = step-00000020 ] && [ -d a/checkpoints/step-00000025 ] || fail "best: $(best a)"
rm -r a/checkpoints/step-00000020
expect 0 'the best checkpoint so far, step 20, is missing: of those that exist step 25 is the best' "$loam" rollback a --to 25
[ "$(best a)" = step-00000025 ] || fail "after the rollback: $(best a)"
expect 0 'best by loss: step 25: held-out loss ' "$loam" train a train.stop_at=25
"$loam" train a optim.lr=1 train.patience=2 train.stop_at=0 2>log || fail "$(cat log)"
grep -q 'warning: the best checkpoint so far, step 20, is missing: of those that exist step 25 is the best' log || fail "$(cat log)"
grep -q '^step 35  no better held-out loss in 2 evaluations' log && grep -q '^best by loss: step 25: held-out loss' log || fail "$(tail -n 3 log)"
[ "$(best a)" = step-00000025 ] && [ -d a/checkpoints/step-00000025 ] || fail "the best one that exists was pruned: $(ls a/checkpoints)"
expect 0 'a: its best checkpoint, step 25; a@latest is step 35' "$loam" eval a

# Deleted by hand: an ended run means its newest checkpoint, and nothing names the missing one as if it were there.
rm -r a/checkpoints/step-00000025
expect 0 'the best checkpoint, step 25, is missing: a means the newest one, step 35' "$loam" train a
! grep -q '^best by\|means the best' "$work/err" || fail "$(cat "$work/err")"
expect 0 'best step 25, but that checkpoint is missing: a means the newest' "$loam" status a
expect 0 '"missing_best":25' "$loam" status a --json
expect 0 'a: its best checkpoint, step 25, is missing: a means the newest one, step 35' "$loam" eval a
expect 0 'a: its best checkpoint, step 25, is missing: a means the newest one, step 35' "$loam" export a --to hf --out hf
expect 0 'a: its best checkpoint, step 25, is missing: its values are those of the last evaluation, of step 35' "$loam" collect a
expect 1 'a has no checkpoint "best"; there are latest, 35, 30' "$loam" eval a@best
"$loam" train a optim.lr=0 train.patience=3 2>log || fail "$(cat log)"
grep -q 'step 25, is missing: of those that exist step 3[05] is the best' log || fail "$(cat log)"

# None that exists was evaluated: the next evaluation has the best one, on every rank.
$first run.dir=b parallel.ranks=2 train.stop_at=20 2>err || fail "$(cat err)"
"$loam" train b optim.lr=0 train.stop_at=30 2>err || fail "$(cat err)"
rm -r b/checkpoints/step-00000020
expect 0 'step 20, is missing, and no other has a value of its evaluation' "$loam" rollback b --to 25
[ "$(best b)" = none ] || fail "best: $(best b)"
expect 0 'b means the newest one, step 25' "$loam" eval b
"$loam" train b train.stop_at=40 2>log || fail "$(cat log)"
grep -q 'there is no best one until the next evaluation' log && [ "$(best b)" = step-00000030 ] || fail "$(best b): $(cat log)"
grep -q '"stale": 1,' b/checkpoints/latest/state.json || fail "patience: $(grep stale b/checkpoints/latest/state.json)"

# The best one that exists is older than the missing one: train.patience still counts from the missing one.
$first run.dir=c train.eval_every=5 train.keep_last=9 train.patience=2 train.stop_at=20 2>err || fail "$(cat err)"
"$loam" train c optim.lr=1 train.stop_at=25 2>err || fail "$(cat err)"
[ "$(best c)" = step-00000020 ] || fail "best: $(best c)"
rm -r c/checkpoints/step-00000020
"$loam" train c optim.lr=0 train.stop_at=0 2>log || fail "$(cat log)"
grep -q 'of those that exist step 15 is the best' log && grep -q '^step 30  no better held-out loss in 2 evaluations' log || fail "$(cat log)"
echo "ok: a best checkpoint that is missing"
