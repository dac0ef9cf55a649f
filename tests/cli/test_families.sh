# labels: repeats starts-first
# Every family learns by its objectives: decoders alone by clm, encoders alone by mlm, both by the denoisers.
. tests/cli/lib.sh "$1"
make_dataset

# learns NAME OVERRIDES…: sixty steps lower the held-out loss by half a nat.
learns() {
    local name=$1 run=$work/$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$run" 'train.length=60 steps' model.vocab=auto "$@" 2>"$work/log" ||
        fail "$name: $(tail -n 2 "$work/log")"
    sed -n 's/.*"kind":"valid".*"loss":\([0-9.]*\).*/\1/p' "$run/metrics.jsonl" >"$work/losses"
    awk -v name="$name" 'NR == 1 { first = $1 } { last = $1 }
        END { printf "ok: %s: held-out loss %.2f -> %.2f\n", name, first, last; exit !(last < first - 0.5) }' "$work/losses" ||
        fail "$name learned nothing"
}

small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16'
learns gpt2 model.preset=gpt2 model.n_enc=0 $small model.max_positions=64 data.objective=clm
learns gpt2-prefix_lm model.preset=gpt2 model.n_enc=0 $small model.max_positions=64 data.objective=prefix_lm
learns llama model.preset=tinyllama-1.1b model.n_enc=0 $small model.kv_heads=1 data.objective=clm
learns qwen3 model.preset=qwen3-0.6b model.n_enc=0 $small model.kv_heads=1 data.objective=clm

# Orders of other systems; a run keeps the one it began with.
for format in megatron fairseq; do
    "$loam" prepare --tokenizer "$work/tok.model" --out "$work/$format" --valid 10% --append-eod --format $format \
        "$work/corpus.txt" >/dev/null 2>"$work/err" || fail "prepare: $(cat "$work/err")"
    [ $format = megatron ] && valid=$work/megatron-valid || valid="$work/fairseq/valid data.break_mode=complete"
    learns $format-order model.preset=gpt2 model.n_enc=0 $small model.max_positions=64 data.objective=clm \
        data.compat=$format data.train="$work/$format" data.valid=$valid
done
expect 1 'data.compat_samples' "$loam" train "$work/megatron-order/config.yaml" data.compat_samples=auto 'train.length=70 steps'

bert="model.preset=bert-base model.n_dec=0 $small model.max_positions=64 data.objective=mlm data.sentence_pairs=next data.short_sequence_probability=0.1"
learns bert $bert
expect 1 'choose another objective' "$loam" eval "$work/bert" data.objective=full_lm
expect 1 'standard input, line 2: "dihaki" has no <extra_id_0> to fill' \
    bash -c "printf 'bace <extra_id_0>\ndihaki\n' | '$loam' generate --model '$work/bert'"

# Samples so short that a step may hide nothing.
"$loam" prepare --tokenizer "$work/tok.model" --split-sentences --out "$work/sentences" "$work/corpus.txt" 2>"$work/err" >&2 ||
    fail "prepare: $(cat "$work/err")"
expect 0 'step 20/20' "$loam" train "$work/config.yaml" run.dir="$work/short" $bert data.train="$work/sentences" data.valid= \
    data.sentence_pairs=none data.compat=megatron data.short_sequence_probability=1 data.input_length=8 model.vocab=auto \
    'train.batch=1 samples' 'train.length=20 steps' 'train.log_every=1 steps'
grep -q '"loss":null' "$work/short/metrics.jsonl" || fail "every step hid something"

# A length in tokens is that of the tokens read, and the rate falls to its end with them.
"$loam" train "$work/config.yaml" run.dir="$work/tokens" $bert data.sentence_pairs=none data.short_sequence_probability=0.9 \
    data.train="$work/sentences" data.valid= data.compat=none model.vocab=auto 'train.length=4k tokens' \
    'optim.warmup=800 tokens' 'train.log_every=1 steps' 2>"$work/log" || fail "tokens: $(tail -n 2 "$work/log")"
sed -n 's/.*"kind":"train".*"tokens":\([0-9]*\).*"lr":\([0-9.e-]*\),.*"fill":\([0-9.]*\).*/\1 \2 \3/p' "$work/tokens/metrics.jsonl" |
    awk '{ before = last; last = $1; lr = $2; rate = 3e-3 * ($1 <= 800 ? $1 / 800 : before <= 800 ? 1 : (4000 - before) / 3200)
           if (lr - rate > 1e-12 || rate - lr > 1e-12) bad = 1 }
         END { exit !(before < 4000 && last >= 4000 && !bad) }' || fail "a length in tokens: $(tail -n 2 "$work/tokens/metrics.jsonl")"
expect 0 'about 8 steps, 4.1k input tokens (an estimate)' "$loam" plan "$work/config.yaml" model.vocab=auto 'train.length=4k tokens'
echo "ok: a length in tokens"

learns bert-relative-key $bert model.position=relative_key_query
learns bert-preln-rel $bert model.post_norm=false model.final_norm=true model.position=relative_bias
learns roberta model.preset=roberta-base model.n_dec=0 $small model.max_positions=64 data.objective=mlm
learns fairseq-lm model.preset=fairseq-transformer-lm model.n_enc=0 $small data.objective=clm
learns modernbert model.preset=modernbert-base model.n_dec=0 $small data.objective=mlm
learns sparse-bert $bert model.sparse_pattern=bigbird model.sparse_block=4
for objective in prefix_lm iid_denoising ul2; do
    learns "t5-$objective" data.objective="$objective"
done
# Packed rows with memory before each sample, and queries of pooled context.
learns t5-memory data.objective=prefix_lm model.memory_tokens=5 model.context_queries=true
for model in t5-memory t5-ul2; do
    echo "ba du" | "$loam" generate --model "$work/$model" --max-tokens 8 >"$work/answer" || fail "generate from $model"
done
"$loam" eval "$work/t5-memory" >/dev/null 2>"$work/err" || fail "eval: $(cat "$work/err")"
learns ast-t5 model.preset=ast-t5-base model.n_enc=2 model.n_dec=2 $small model.max_positions=64

# From a bare encoder the heads start fresh, and back to one they are left behind; both are said.
bare='model.head_transform=false model.head_bias=false model.pooler=false model.sentence_head=false data.sentence_pairs=none'
"$loam" train "$work/config.yaml" run.dir="$work/bare" $bert model.vocab=auto $bare train.init="$work/bert" \
    'train.length=1 steps' 2>"$work/log" || fail "to a bare encoder: $(tail -n 2 "$work/log")"
grep -q 'ignored: lm_head.bias, transform.dense, .*, pooler, pooler.bias, sentence, sentence.bias$' "$work/log" ||
    fail "ignored: $(cat "$work/log")"
"$loam" train "$work/config.yaml" run.dir="$work/headed" $bert model.vocab=auto train.init="$work/bare" \
    'train.length=1 steps' 2>"$work/log" || fail "from a bare encoder: $(tail -n 2 "$work/log")"
grep -q 'initialised randomly: lm_head.bias, transform.dense, .*, pooler, pooler.bias, sentence, sentence.bias$' "$work/log" ||
    fail "initialised randomly: $(cat "$work/log")"
echo "ok: heads that are missing start fresh"

# A run cut between two log lines goes on with what its labels added to the next one.
constant="$bert model.vocab=auto optim.schedule=constant train.log_every=4"
"$loam" train "$work/config.yaml" run.dir="$work/whole" $constant 'train.length=12 steps' 2>"$work/log"
"$loam" train "$work/config.yaml" run.dir="$work/cut" $constant 'train.length=6 steps' 2>"$work/log"
"$loam" train "$work/config.yaml" run.dir="$work/cut" $constant 'train.length=12 steps' 2>"$work/log"
labels() { grep '"kind":"train".*"step":\(4\|8\|12\),' "$1/metrics.jsonl" | grep -o '"step":[0-9]*\|"[a-z_]*\(loss\|accuracy\)[a-z_]*":[0-9.e-]*'; }
diff <(labels "$work/whole") <(labels "$work/cut") || fail "a run that was cut logs other losses"
[ "$(labels "$work/cut" | grep -c '"loss_label"')" = 3 ] || fail "no loss of the labels"
grep -q 'label loss [0-9.]*  label accuracy' "$work/cut/log.txt" || fail "no label loss on the console"
"$loam" eval "$work/cut" --json >"$work/out" 2>"$work/err" || fail "eval: $(cat "$work/err")"
grep -q '"loss_mlm":[0-9.]*,"loss_label":[0-9.]*,"accuracy_label":[0-9.]*' "$work/out" || fail "$(cat "$work/out")"
grep -aq 'valid/loss_label' "$work"/cut/tb/* || fail "TensorBoard has no valid/loss_label"
echo "ok: losses of tokens and labels"

expect 1 'decoder' "$loam" train "$work/config.yaml" run.dir="$work/wrong" data.objective=clm
echo "ba" | "$loam" generate --model "$work/gpt2" --max-tokens 8 >"$work/answer" || fail "generate"
[ "$(wc -l <"$work/answer")" = 1 ] || fail "one line in, one line out"
grep -q 'prefix_lm: true' "$work/gpt2-prefix_lm/config.yaml" || fail "a prefix LM does not know itself"
echo "ba" | "$loam" generate --model "$work/gpt2-prefix_lm" --max-tokens 8 >"$work/answer" || fail "generate"
[ "$(wc -l <"$work/answer")" = 1 ] || fail "one line in, one line out"
expect 0 'warning: transformers lets a token of a prompt' "$loam" export "$work/gpt2-prefix_lm" --to hf --out "$work/prefix-hf"
echo "ok: a GPT goes on from its prompt"

expect 0 'vocabulary 50,432, parameters 12,854,282,240' "$loam" plan "$work/config.yaml" --megatron-tp 2 model.preset=tr1-13b \
    model.n_enc=0 model.n_dec=40 model.width=5120 model.ffn=20480 model.heads=32 model.head_dim=160 model.vocab=50257 data.objective=clm
expect 1 'want 1 to 1024' "$loam" plan --megatron-tp -1 "$work/config.yaml"

# bench_step FAMILY OVERRIDES…: a step of any family can be timed.
bench_step() {
    local family=$1
    shift
    "$loam" bench step configs/t5-1.1-small.yaml $small model.vocab=100 data.input_length=32 --seconds 0.1 --json "$@" \
        >"$work/out" 2>"$work/err" || fail "bench step of $family: $(cat "$work/err")"
    grep -q '"tokens_per_s": *[0-9.]*[1-9]' "$work/out" || fail "$(cat "$work/out")"
    echo "ok: bench step of $*"
}
for objective in span_corruption prefix_lm iid_denoising ul2; do
    for family in t5-1.1-small t5-small ast-t5-base; do
        bench_step $family model.preset=$family model.n_enc=1 model.n_dec=1 data.objective=$objective
    done
done
for family in bert-base roberta-base modernbert-base; do
    bench_step $family model.preset=$family model.n_enc=1 model.n_dec=0 data.objective=mlm
done
for objective in clm full_lm prefix_lm; do
    for family in gpt2 tinyllama-1.1b fairseq-gpt3-small tr1-13b; do
        bench_step $family model.preset=$family model.kv_heads=0 model.n_enc=0 model.n_dec=1 data.objective=$objective
    done
done
