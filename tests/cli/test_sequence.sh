# labels: starts-first
# Sequence parallelism: tensor-parallel ranks of which each has only its rows of the residual stream train what one rank
# trains, with dropout, and need less memory.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

while read -r row; do
    # shellcheck disable=SC2086
    layout_row $row parallel.sequence=true
done <<'ROWS'
2 1 2 0 2 block t5 adamw model.dropout=0.1 train.z_loss=1e-3
4 1 4 0 8 none gpt adafactor model.heads=8 model.kv_heads=2 model.head_dim=8 model.position=rotary model.qk_norm=rms model.dropout=0.1
4 1 2 3 2 none bert adamw model.dropout=0.1 model.vocab=311
4 2 2 1 2 none t5 adamw_rms model.tie_embeddings=true
3 1 3 0 8 none gpt adamw model.heads=3 model.head_dim=8 model.ffn=96 model.bias=true model.dropout=0.1
2 1 2 0 8 none lora adamw
2 1 2 0 8 none answers adamw
2 1 2 0 8 none classifier adafactor
ROWS

# Memory and traffic are those of the plan, and activations take less: between the sublayers each rank has half of them.
sizes=(train.batch='8 samples' train.micro_batch='8 samples' train.precision=f32 model.vocab=309 model.tie_embeddings=true train.log_every=1
    parallel.tensor=2)
for model in t5 gpt; do
    for layout in "2 1 false" "2 1 true" "4 2 true"; do
        read -r ranks pipeline sequence <<<"$layout"
        # shellcheck disable=SC2206
        options=(${models[$model]} "${sizes[@]}" parallel.ranks="$ranks" parallel.pipeline="$pipeline" parallel.sequence="$sequence")
        "$loam" plan "$config" "${options[@]}" >"$work/plan" 2>"$work/err" || fail "plan: $(cat "$work/err")"
        planned=$(sed -n 's/.*(\([0-9]*\) bytes)$/\1/p' "$work/plan")
        "$loam" train "$config" run.dir="$work/sent" train.length='2 steps' "${options[@]}" 2>"$work/err" || fail "$(tail -n 2 "$work/err")"
        sent=$(grep -o '"sent_bytes":[0-9]*' "$work/sent/metrics.jsonl" | tail -n 1)
        [ "$sent" = "\"sent_bytes\":$planned" ] || fail "$model, $layout: planned $planned, sent $sent"
        rm -r "$work/sent"
    done
done
echo "ok: as much is sent as planned"
activations() {
    "$loam" plan configs/t5-1.1-small.yaml parallel.ranks=2 parallel.tensor=2 train.micro_batch='8 samples' train.precision=bf16 "$@" \
        2>"$work/err" | sed -n 's/^memory .*activations \([0-9]*\) MiB$/\1/p'
}
whole=$(activations) own=$(activations parallel.sequence=true)
[ "$own" -gt 0 ] && [ $((own * 10)) -lt $((whole * 9)) ] || fail "activations take $whole MiB, and $own with parallel.sequence"
echo "ok: activations take $own MiB in place of $whole"

# The line of the run says how its ranks divide the model.
tensor=("$config" train.length='0 steps' parallel.ranks=2 parallel.tensor=2)
expect 0 '2 ranks (thread, 2 per tensor-parallel group with divided tokens), 8 samples each' "$loam" train "${tensor[@]}" \
    run.dir="$work/divided" parallel.sequence=true
expect 0 '2 ranks (thread, 2 per tensor-parallel group), 8 samples each' "$loam" train "${tensor[@]}" run.dir="$work/whole"
