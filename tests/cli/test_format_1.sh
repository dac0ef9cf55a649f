# labels: any-processor
# Runs that an earlier loam left in checkpoint format 1 (tests/golden/run-format-1) are resumed, to the losses that the
# earlier program went on with where nothing is dropped (masks of dropout are not promised). Another instruction set may round them otherwise in the sixth digit.
. tests/cli/lib.sh "$1"
stored=tests/golden/run-format-1
for name in t5 bert; do
    cp -r "$stored/$name" "$work/$name"
    "$loam" train "$work/$name" data.train="$stored/data" 'train.length=8 steps' model.dropout=0 2>"$work/log" || fail "$name: $(cat "$work/log")"
    grep -q "going on from .*step-00000003" "$work/log" || fail "$name was not resumed: $(cat "$work/log")"
    sed -n 's/.*"kind":"train".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2/p' "$work/$name/metrics.jsonl" |
        paste - "$stored/$name/losses" | tee "$work/losses" |
        awk '{ d = $2 - $4; if ($1 != $3 || d * d > 1e-10 * $4 * $4) exit 1 } END { if (NR != 3) exit 1 }' ||
        fail "$name goes on otherwise: $(cat "$work/losses")"
    grep -q '^  plan: whole$' "$work/$name/config.yaml" || fail "$name, of a version that planned packed sequences at the start, has another order: $(grep plan: "$work/$name/config.yaml")"
    grep -q "\"model.architecture\": \"$name\"" "$work/$name/checkpoints/latest/state.json" || fail "$name: no architecture in the new checkpoint"
    "$loam" inspect checkpoint "$work/$name" >/dev/null
    echo "ok: $name of format 1 goes on with the losses it had"
done
