# labels: any-processor repeats measures-peak starts-first
# Every recipe has the parameters of the model it stands for, and trains for three steps at toy width.
. tests/cli/lib.sh "$1"
make_dataset
sed 's/^./\U&/' "$work/corpus.txt" >"$work/sentences.txt" # a sentence begins with a capital
for form in append-eod split-sentences; do
    "$loam" prepare --tokenizer "$work/tok.model" --$form --out "$work/$form" "$work/sentences.txt" >/dev/null 2>&1
done

grammars=$(dirname "$loam")/test-grammars
for i in {1..99}; do echo "(a (b c) (d (e f) g))"; done >"$work/programs.list"
"$loam" prepare --ast --keep-duplicates --grammars "$grammars" --segment 60 --tokenizer "$work/tok.model" --out "$work/trees" \
    "$work/programs.list" "$work/corpus.txt" >/dev/null 2>&1

declare -A parameters=(
    [gpt2]=124,439,808
    [bert-base]=109,514,298
    [llama-125m]=124,668,672
    [t5-1.1-small]=76,961,152
    [ast-t5-vanilla]=277,863,168
    [ast-t5]=277,863,168
    [ast-t5-one-machine]=15,520,768
    [bert-base-t5-experiments]=110,106,428
    [t5-1.1-small-pile]=76,961,152
    [t5-1.1-large-pile]=783,150,080
    [t5-1.1-xl-pile]=2,849,757,184
    [t5-1.1-xxl-pile]=11,135,332,352
    [t5-base-cdq]=237,759,744
    [t5-small-wiki]=60,506,624
    [fairseq-lm-mt5]=275,030,016 # 18,915,328 + 2 * 512 * 250112
    [tr1-13b]=12,853,386,240 # 40 (12 h^2 + 13 h) + (50257 + 2048 + 2) h, h = 5120
)

# setting NAME: what the plan says an option is, whatever its group.
setting() { sed -n "s/^  $1: *//p" "$work/plan" | sed -n 1p; }

# Widths and lengths become a toy's, data the fixture's; objective, optimizer and everything else stay the recipe's.
toy() {
    local stacks data=$work/data valid=
    [ "$(setting compat)" = none ] || data=$work/append-eod
    [ "$(setting sentence_pairs)" = none ] || data=$work/split-sentences
    [ "$(setting objective)" != subtree_corruption ] || data=$work/trees
    [ "$(setting split)" != '""' ] || valid=$data
    case $(setting family) in
    t5) stacks='model.n_enc=2 model.n_dec=2' ;;
    bert) stacks='model.n_enc=2 model.n_dec=0' ;;
    gpt) stacks='model.n_enc=0 model.n_dec=2' ;;
    esac
    echo "$stacks model.width=32 model.ffn=64 model.heads=2 model.kv_heads=0 model.head_dim=16 model.vocab=auto model.max_positions=128" \
        "tokenizer.path=$work/tok.model data.train=$data data.valid=$valid data.input_length=64" \
        "data.target_length=0 data.compat_samples=auto train.threads=1 parallel.tensor=1 parallel.pipeline=1 parallel.zero=0 train.eval_samples=4 run.dir=$work/$1"
}

# AST-T5's two configurations, option by option (docs/coming-from/ast-t5.md): what the plan says of them.
says() { # RECIPE OPTION VALUE…
    "$loam" plan --options "configs/recipes/$1.yaml" >"$work/plan" 2>"$work/err" || fail "plan $1: $(cat "$work/err")"
    local recipe=$1
    shift
    while [ $# -gt 0 ]; do
        [ "$(setting "$1")" = "$2" ] || fail "$recipe: $1 is $(setting "$1"), not $2"
        shift 2
    done
    echo "ok: $recipe has the options of its model"
}
both=(objective subtree_corruption input_length 1024 subtree_span_length 10 mixture_weights concat_weighted sentinels 1024
    length '1M steps' batch '1024 samples' micro_batch '8 samples' precision fp16 scaler fairseq log_every '200 steps' fairseq_log true
    save_every '5k steps' keep_last 3 keep_every 125000 label_smoothing 0 lr 0.0002 beta1 0.9 beta2 0.98 eps 1e-06
    weight_decay 0.01 decay all clip_norm 2 schedule linear warmup '10k steps' seed 1
    init fan_out dropout 0.1 post_norm true embed_norm true rel_buckets 128 rel_rule ast rel_encoder_only true rel_per_block true vocab 101289)
says ast-t5 "${both[@]}" subtrees true noise_density 0.25 empty_spans 0.1 subtree_least_split 5 subtree_most_split 100 \
    identifier_probability 0.5 identifier_share 0.5 valid '""'
says ast-t5-vanilla "${both[@]}" subtrees false noise_density 0.15 empty_spans 0 eval_every '5k steps'

for recipe in configs/recipes/*.yaml configs/*.yaml; do
    [ "$recipe" = configs/demo.yaml ] && continue # `make run` is its test
    name=$(basename "$recipe" .yaml)
    [ -n "${parameters[$name]:-}" ] || fail "$recipe: this test knows no count of its parameters"
    "$loam" plan --options "$recipe" >"$work/plan" 2>"$work/err" || fail "plan $recipe: $(cat "$work/err")"
    grep -q "^# parameters  *${parameters[$name]}\$" "$work/plan" ||
        fail "$recipe: $(grep '^# parameters' "$work/plan"), not ${parameters[$name]}"
    # shellcheck disable=SC2046
    "$loam" train "$recipe" $(toy "$name") 'train.length=3 steps' 'train.log_every=1 steps' 'optim.warmup=1 steps' \
        'train.batch=4 samples' train.batch_rampup= 'train.micro_batch=2 samples' 2>"$work/log" || fail "$recipe: $(tail -n 2 "$work/log")"
    [ "$(grep -c '"kind":"train".*"loss":[0-9]' "$work/$name/metrics.jsonl")" = 3 ] || fail "$recipe: not three steps"
    echo "ok: $name, ${parameters[$name]} parameters"
done
