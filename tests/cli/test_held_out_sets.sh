# labels: any-processor
# The held-out loss of a run is that of the first set of its data.valid as it is now, in every verb: after two sets changed
# places, after an unnamed set got a name, and not of the data that a set had before.
. tests/cli/lib.sh "$1"
make_dataset
cd "$work"
rev corpus.txt | sed -n 1,600p >odd.txt
"$loam" prepare --tokenizer tok.model --out odd odd.txt >/dev/null 2>err || fail "prepare: $(cat err)"
first="$loam train config.yaml train.save_every=10"
loss() { printf '%.4f' "$(sed -n "s/.*\"kind\":\"valid\",\"step\":$3,\"name\":\"$2\",.*\"loss\":\([0-9.]*\),.*/\1/p" "$1/metrics.jsonl")"; }

# Two sets change places.
both=own:data-valid,odd:odd turned=odd:odd,own:data-valid
$first run.dir=swap data.valid=$both train.stop_at=20 2>err || fail "$(cat err)"
"$loam" train swap data.valid=$turned train.stop_at=0 2>err || fail "$(cat err)"
[ "$(loss swap odd 40)" != "$(loss swap own 40)" ] || fail "the sets have one loss"
best=$(readlink swap/checkpoints/best) && best=$((10#${best#step-}))
grep -q "^best by loss: step $best: held-out loss $(loss swap odd "$best")  swap" err || fail "the end: $(tail -n 2 err)"
expect 0 "held-out loss $(loss swap odd 40)," "$loam" status swap
expect 0 "$(loss swap odd "$best") " "$loam" collect swap
expect 0 "$(loss swap odd 40) " "$loam" collect swap --last
$first run.dir=whole data.valid=$turned 2>err || fail "$(cat err)"
"$loam" compare whole swap >table 2>err || fail "$(cat err)"
for step in 10 20 40; do
    grep -Eq "^$step +$(loss swap odd $step) +$(loss swap odd $step)\$" table || fail "step $step: $(cat table)"
done

# A set without a name gets one, beside another set.
$first run.dir=named train.stop_at=20 2>err || fail "$(cat err)"
"$loam" train named data.valid=a:data-valid,b:odd train.stop_at=0 2>err || fail "$(cat err)"
grep -q "^best by loss: step 40: held-out loss $(loss named a 40)  named" err || fail "the end: $(tail -n 2 err)"
expect 0 "$(loss named a 40) " "$loam" collect named
expect 0 "$(loss named a 40) " "$loam" collect named --last
"$loam" compare named >table 2>err && ! grep -q 'held-out set' err || fail "$(cat err)"
grep -q "^10 *$(loss named valid 10)\$" table && grep -q "^40 *$(loss named a 40)\$" table || fail "$(cat table)"
"$loam" report named --out named.html 2>err && grep -q "$(loss named a 40)" named.html || fail "the report: $(cat err)"

# The name stays, and the data are others: the losses of before are left out, and it is said.
$first run.dir=other train.stop_at=20 2>err || fail "$(cat err)"
cp -r other early
"$loam" train other data.valid=odd train.stop_at=0 2>err || fail "$(cat err)"
"$loam" compare other >table 2>err || fail "$(cat err)"
grep -q 'warning: other: the data of its held-out set changed, .* up to step 20 are of other samples' err || fail "$(cat err)"
sed '/^$/,$!d; /^held-out loss after/,$d' table | grep -q "^40 *$(loss other valid 40)\$" && ! grep -q "$(loss other valid 20)" table ||
    fail "$(cat table)"
expect 0 'other: the data of its held-out set changed' "$loam" collect other
# Stopped before it is evaluated on them: the best checkpoint has no loss of this set.
"$loam" train early data.valid=odd train.stop_at=0 train.exit_every=1 2>err && fail "it did not stop"
"$loam" collect whole early >table 2>err || fail "$(cat err)"
grep -q 'early is left out: the evaluation of step 20 is of other samples of the held-out set valid than now' err || fail "$(cat err)"
echo "ok: the first set of data.valid as it is now"
