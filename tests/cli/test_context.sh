# labels: starts-first
# Context parallelism: ranks that divide the tokens of each sample, and the heads in attention, train what one rank trains,
# with dropout, and need less memory.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

# The rows of layout_row, with the number of context-parallel ranks first. Sanitizers see two of them.
rows='2 4 1 2 0 2 none bert adamw model.heads=4 model.head_dim=8 model.dropout=0.1 parallel.sequence=true model.vocab=309
2 4 1 1 1 2 block t5 adafactor model.dropout=0.1 model.rel_per_block=true'
[ -n "${LOAM_SANITIZED:-}" ] || rows+='
4 4 1 1 3 8 block gpt adamw model.heads=4 model.kv_heads=4 model.head_dim=8 model.position=rotary model.qk_norm=rms model.dropout=0.1 model.window=8
2 4 2 1 0 2 none t5 adamw model.tie_embeddings=true model.dropout=0.1 train.z_loss=1e-3
2 2 1 1 2 2 none bert adamw model.position=relative_key_query model.dropout=0.1 data.sentence_pairs=order model.sentence_head=true model.pooler=true model.token_types=2
3 3 1 1 0 8 none lora adamw model.heads=3 model.head_dim=8 lora.dropout=0.1 model.sparse_pattern=fixed model.sparse_block=16
2 2 1 1 0 8 none answers adamw
2 4 2 1 0 2 none gpt adamw parallel.interleave=2 model.n_dec=4 model.dropout=0.1
2 4 2 1 0 8 none answers adamw parallel.interleave=2'
while read -r context row; do
    # shellcheck disable=SC2086
    layout_row $row
done <<<"$rows"

# Layouts that cannot be: one line that says what would be right.
refused() { expect 1 "$1" "$loam" train "$config" run.dir="$work/refused" "${@:2}"; }
gpt=(model.family=gpt model.n_enc=0 model.n_dec=3 data.objective=clm)
refused 'the run has one rank: set parallel.ranks to a multiple of 2' parallel.context=2
refused 'parallel.context is 2, and parallel.tensor and parallel.pipeline leave 1 rank, not a multiple of 2: want parallel.context=1, or a number of ranks that is a multiple of 4' \
    parallel.ranks=2 parallel.context=2 parallel.tensor=2 model.heads=4 model.head_dim=8
refused '2 heads of queries and 2 of keys cannot be divided by it: want parallel.context=2' \
    parallel.ranks=4 parallel.context=4
refused '8 heads of queries and 2 of keys cannot be divided by it: want parallel.context=2' \
    parallel.ranks=4 parallel.context=4 "${gpt[@]}" model.position=rotary model.heads=8 model.kv_heads=2
refused 'parallel.context does not go with model.memory_tokens' parallel.ranks=2 parallel.context=2 model.memory_tokens=2
[ ! -e "$work/refused" ] || fail 'a refused run left a folder'

# A run goes on with other ranks, from the same states.
move=("${gpt[@]}" train.precision=f32 model.dropout=0.1 train.batch='8 samples' train.save_every='6 steps'
    optim.name=adamw optim.schedule=constant)
rank_run moved gpt 2 1 "${move[@]}" parallel.context=2 train.length='6 steps'
rank_run moved gpt 1 0 "${move[@]}" train.length='12 steps'
for length in 6 12; do
    rank_run stayed gpt 1 0 "${move[@]}" train.length="$length steps"
done
near "$work/stayed" "$work/moved"

# Traffic is that of the plan, and beside the sums of gradients that of a formula: 9 vectors of the width for each of a
# rank's 256 tokens in each of 3 blocks, in f32; half of them stay on the rank.
sizes=(train.batch='8 samples' train.micro_batch='8 samples' train.precision=f32 train.log_every=1)
planned() {
    # shellcheck disable=SC2086
    "$loam" plan "$config" ${models[$model]} "${sizes[@]}" parallel.ranks=2 "$@" 2>"$work/err" |
        sed -n 's/^ranks.*(\([0-9]*\) bytes)$/\1/p'
}
for model in t5 gpt; do
    sent=$(planned parallel.context=2)
    rank_run sent "$model" 2 0 "${sizes[@]}" parallel.context=2 train.length='2 steps'
    found=$(grep -o '"sent_bytes":[0-9]*' "$work/sent/metrics.jsonl" | tail -n 1)
    [ "$found" = "\"sent_bytes\":$sent" ] || fail "$model: planned $sent, $found"
    rm -r "$work/sent"
done
exchanged=$((sent - $(planned)))
[ "$exchanged" = $((256 * 9 * 32 * 3 * 4 / 2)) ] || fail "exchanges take $exchanged bytes"
echo "ok: as much is sent as planned"

# Activations are divided, in every block and in the head.
activations() {
    "$loam" plan configs/gpt2.yaml model.vocab=50257 model.max_positions=16384 data.input_length=16384 parallel.ranks=4 \
        train.micro_batch='1 samples' train.precision=bf16 "$@" 2>"$work/err" | sed -n 's/^memory .*activations \([0-9.]*\) GiB$/\1/p'
}
whole=$(activations) half=$(activations parallel.context=2)
awk "BEGIN { exit !($half > 0.4 * $whole && $half < 0.52 * $whole) }" || fail "activations take $whole GiB, and $half with parallel.context=2"
echo "ok: activations take $half GiB in place of $whole"

# A batch is shown with the end tokens between its documents, which the model sees.
"$loam" inspect batch "$work/config.yaml" "${gpt[@]}" data.input_length=128 --samples 8 >"$work/out" 2>"$work/err" ||
    fail "$(cat "$work/err")"
grep -q '[^ ]</s>[^ ]' "$work/out" || fail "no end is shown: $(cat "$work/out")"
