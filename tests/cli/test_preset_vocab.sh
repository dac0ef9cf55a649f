# model.vocab of a preset: from random weights it follows the tokenizer; a larger one is asked for; weights that there are keep theirs.
. tests/cli/lib.sh "$1"
cd "$work"
make_dataset
sed -i 's/^model: .*/model: { preset: gpt2, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, max_positions: 64 }/
    s/^data: { /&objective: clm, /; s/length: 40 steps/length: 2 steps/; s/^run: { /&dir: run, /' config.yaml
vocab_of() { sed -n 's/^  vocab: //p' "$1/config.yaml"; }
trains() { "$loam" train config.yaml "$@" 2>log || fail "train $*: $(tail -n 3 log)"; }
says='model.vocab is 384: the 300 ids of the tokenizer, rounded up; the preset gpt2 has 50257 (model.vocab=50257 asks for as many)'

expect 0 "$says" "$loam" plan config.yaml
grep -q '^parameters  *22,944$' out || fail "plan counts $(grep '^parameters' out)"
trains
[ "$(grep -cF "$says" log)" = 1 ] || fail "train does not say once what its vocabulary is: $(cat log)"
[ "$(vocab_of run)" = 384 ] || fail "a run from random weights has $(vocab_of run) rows"
trains train.length='3 steps'
! grep -q 'model.vocab' log || fail "a run that goes on speaks of its vocabulary: $(cat log)"
echo "ok: a preset's vocabulary follows the tokenizer"

# A number that is given stays, and so does that of a run that goes on by a file that does not name it, also without its
# config.yaml; a plan of it counts the same rows.
trains run.dir=large model.vocab=50257
! grep -q 'rounded up' log || fail "$(cat log)"
trains run.dir=large train.length='3 steps'
[ "$(vocab_of large)" = 50257 ] || fail "resumed, the run has $(vocab_of large) rows"
expect 0 '1,618,880' "$loam" plan config.yaml run.dir=large
rm large/config.yaml
trains run.dir=large train.length='4 steps'
[ "$(vocab_of large)" = 50257 ] || fail "without its config.yaml the run has $(vocab_of large) rows"
grep -q '"attempts": *4' large/checkpoints/latest/state.json || fail "the run did not go on"
echo "ok: a run that goes on keeps its vocabulary"

# A start from weights takes theirs, with the preset named or not.
trains run.dir=tuned train.init=large
[ "$(vocab_of tuned)" = 50257 ] || fail "started from other weights, the run has $(vocab_of tuned) rows"
echo "ok: fine-tuning keeps the vocabulary of its weights"

# The preset's number stays if the tokenizer's, rounded up, reaches it; a tokenizer that is larger has its own.
"$loam" tokenizer train --kind byte-bpe --for gpt --vocab-size 280 --out bytes corpus.txt 2>err || fail "$(cat err)"
plan_of() {
    "$loam" plan config.yaml model.preset=byt5-small model.n_enc=1 data.objective=span_corruption tokenizer.path=bytes run.dir=new data.train= data.valid= \
        --options "$@" >out 2>err || fail "$(cat err)"
}
plan_of model.vocab_multiple=1000
grep -q '^  vocab: 384$' out || fail "between 380 and 1000: $(grep '^  vocab:' out)"
! grep -q 'model.vocab' err || fail "$(cat err)"
plan_of tokenizer.sentinels=200
grep -q '^  vocab: 512$' out || fail "for 480 ids: $(grep '^  vocab:' out)"
grep -q 'model.vocab is 512: the 480 ids of the tokenizer, rounded up; the preset byt5-small has 384$' err || fail "$(cat err)"

# Before there is a tokenizer, a plan counts with the preset's.
for path in none.model ''; do
    expect 0 'model.vocab is 50257, as in the preset gpt2: there is no tokenizer to take it from' "$loam" plan config.yaml \
        tokenizer.path=$path run.dir=new data.train= data.valid=
done

# A BERT whose tokenizer's settings name a token that the vocabulary lacks, but only after the run has begun, goes on to
# the bit, with a row for the token and without; evaluation and fine-tuning take the model, and a new one has the row.
"$loam" tokenizer train --kind wordpiece --for bert --vocab-size 120 --out bert corpus.txt 2>err || fail "$(cat err)"
rm -f bert/special_tokens_map.json
echo '{}' >bert/tokenizer_config.json
"$loam" prepare --tokenizer bert --out words --valid 10% corpus.txt >/dev/null 2>err || fail "$(cat err)"
cat >bert.yaml <<YAML
model: { preset: bert-base, n_enc: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, max_positions: 64, dropout: 0 }
tokenizer: { path: bert }
data: { objective: mlm, train: words, input_length: 64 }
train: { length: 2 steps, batch: 4 samples, micro_batch: 4 samples, save_every: 2 steps }
YAML
berts() { "$loam" train bert.yaml "$@" 2>log || fail "train bert.yaml $*: $(tail -n 3 log)"; }
grew="bert/vocab.txt: its settings name special tokens that its vocabulary lacks (1, the first <pad>)"
for multiple in 1 128; do
    echo '{}' >bert/tokenizer_config.json
    berts run.dir=plain$multiple model.vocab_multiple=$multiple
    cp -r plain$multiple named$multiple
    berts run.dir=plain$multiple model.vocab_multiple=$multiple train.length='6 steps'
    echo '{ "pad_token": "<pad>" }' >bert/tokenizer_config.json
    berts run.dir=named$multiple model.vocab_multiple=$multiple train.length='6 steps'
    [ "$(grep -cF "$grew" log)" = $((multiple == 1)) ] || fail "vocab_multiple $multiple: $(cat log)"
    cmp {plain,named}$multiple/checkpoints/latest/weights-00001-of-00001.safetensors || fail "vocab_multiple $multiple: other weights"
    cp bert/tokenizer_config.json named$multiple/
    "$loam" eval named$multiple data.valid=words-valid >out 2>err || fail "eval: $(cat err)"
    # The loss counts rows without a token among the possible tokens, as in training, which is said where it stands.
    [ "$(grep -c "of the vocabulary's 128 rows are padding: possible tokens for this loss" err)" = $((multiple == 128)) ] || fail "$(cat err)"
    "$loam" export named$multiple --to hf --out hf$multiple >out 2>err || fail "export: $(cat err)"
    berts run.dir=tuned$multiple train.init=named$multiple train.length='1 steps'
done
berts run.dir=fresh model.vocab_multiple=1
[ "$(vocab_of fresh)" = "$(($(vocab_of plain1) + 1))" ] || fail "a new model has $(vocab_of fresh) rows"
cp -r fresh again
berts run.dir=fresh model.vocab_multiple=1 train.length='4 steps'
berts run.dir=again model.vocab_multiple=1 tokenizer.path=fresh train.length='4 steps'
cmp {fresh,again}/checkpoints/latest/weights-00001-of-00001.safetensors || fail "the copied tokenizer trains otherwise"
echo "ok: tokens that settings append change no model that was trained without them"

# A piece that only has the name of a sentinel: a GPT takes such a tokenizer, a T5 does not.
"$loam" tokenizer train --kind byte-bpe --special-tokens 'bos=<s>,eos=</s>,pad=<pad>,unk=<unk>,<extra_id_0>' --vocab-size 280 \
    --out llama corpus.txt 2>err || fail "$(cat err)"
expect 0 'warning: llama/tokenizer.json: it has a piece <extra_id_0>, but no <extra_id_1>' "$loam" prepare --tokenizer llama --out named corpus.txt
small="model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 tokenizer.path=llama data.train=named train.length=1steps train.batch=1samples"
echo '{}' >empty.yaml
"$loam" train empty.yaml run.dir=named-gpt model.family=gpt model.n_enc=0 model.n_dec=1 $small 2>log || fail "$(tail -n 1 log)"
expect 1 'has a piece <extra_id_0>, but not the other sentinels' "$loam" train empty.yaml run.dir=named-t5 model.family=t5 model.n_enc=1 model.n_dec=1 $small
