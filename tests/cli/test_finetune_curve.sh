# Fine-tuning from stored weights on a stored table has, step by step, the losses that PyTorch had from the same weights and
# batches (tools/make-finetune-curves): reader, template, packing, order, loss and AdamW are all in it.
. tests/cli/lib.sh "$1"
for kind in t5 bert; do
    golden=tests/golden/finetune/$kind
    "$loam" train $golden.yaml run.dir="$work/$kind" train.init=$golden train.scores=false train.threads=1 2>"$work/log" ||
        fail "$kind: $(tail -n 1 "$work/log")"
    sed -n 's/.*"kind":"train".*"loss":\([0-9.e-]*\),"nll".*/\1/p' "$work/$kind/metrics.jsonl" >"$work/losses"
    [ "$(wc -l <"$work/losses")" = 30 ] || fail "$kind: $(wc -l <"$work/losses") steps"
    paste "$work/losses" $golden.losses | awk -v kind=$kind '{ away = $1 / $2 - 1; if (away < 0) away = -away; if (away > most) most = away }
        END { printf "ok: %s: 30 steps beside PyTorch, largest deviation %.1e\n", kind, most; exit !(most < 1e-5) }' || fail "$kind"
done
