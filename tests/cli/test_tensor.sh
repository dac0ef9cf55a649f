# labels: starts-first
# Tensor parallelism: ranks that divide the heads and the feed-forward channels of every block, and the vocabulary,
# evenly or not, train what one rank trains, beside data parallelism and ZeRO, and go on from each other's checkpoints.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

while read -r row; do
    # shellcheck disable=SC2086
    layout_row $row
done <<'ROWS'
2 1 2 0 8 none gpt adamw
2 1 2 0 2 block t5 adafactor model.vocab=307 train.z_loss=1e-3 train.label_smoothing=0.1
4 1 2 1 8 block t5 adamw_rms
4 1 2 3 2 none bert adamw model.vocab=311 model.head_transform=true model.head_bias=true
2 1 2 0 8 none classifier adafactor
4 1 4 0 8 none gpt adafactor model.heads=4 model.head_dim=8 model.tie_embeddings=true model.vocab=310 train.z_loss=1e-4
4 1 2 2 8 none lora adamw
2 1 2 0 8 none answers adamw model.vocab_multiple=1
2 1 2 1 2 none t5 adamw model.tie_embeddings=true model.scale_logits=true model.scale_embedding=true model.vocab=309
4 2 2 0 2 none t5 adafactor model.tie_embeddings=true model.vocab=309
2 1 2 0 2 none bert adamw model.position=relative_key_query model.heads=4 model.head_dim=8
4 1 4 0 8 block gpt adamw model.position=alibi model.heads=8 model.head_dim=4 model.bias=true model.gated=true
2 1 2 0 8 none gpt adafactor model.position=rotary model.heads=8 model.kv_heads=2 model.head_dim=8
4 1 4 0 2 none gpt adafactor model.position=rotary model.heads=8 model.kv_heads=2 model.head_dim=8 model.qk_norm=rms
4 1 2 3 2 block t5 adamw_rms model.heads=2 model.kv_heads=1 model.bias=true
4 1 4 1 8 none lora adamw model.heads=4 model.kv_heads=1 model.head_dim=8 lora.targets=self.q,self.k,self.v
ROWS

# Layouts that cannot be: one line that says what would be right.
refused() { expect 1 "$1" "$loam" train "$config" run.dir="$work/refused" "${@:2}"; }
refused 'the run has 3 ranks, not a multiple of 2: want parallel.tensor=1, or a number of ranks that is a multiple of 2' parallel.ranks=3 parallel.tensor=2
refused 'model.heads is 2, which is not a multiple of 4: want parallel.tensor=2' parallel.ranks=4 parallel.tensor=4
refused 'the run has one rank: set parallel.ranks to a multiple of 2' parallel.tensor=2
refused 'model.kv_heads is 3, which is neither a multiple nor a divisor of 2' parallel.ranks=2 parallel.tensor=2 model.heads=6 model.kv_heads=3
refused 'lora.targets' parallel.ranks=2 parallel.tensor=2 lora.rank=2 lora.targets=self.qkv
[ ! -e "$work/refused" ] || fail 'a refused run left a folder'

# The plan: each of two ranks has half of the matrices of blocks, and sends what the run then sends.
memory() { "$loam" plan "$config" train.micro_batch='8 samples' "$@" 2>"$work/err" | sed -n 's/^memory  *//p'; }
[ "$(memory)" != "$(memory parallel.ranks=2 parallel.tensor=2)" ] || fail 'no less memory'
