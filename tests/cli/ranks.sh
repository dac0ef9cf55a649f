# ranks.sh: what the tests of runs on several ranks share; it comes after lib.sh and make_dataset.
config=$work/config.yaml
export OMP_NUM_THREADS=1

# near RUN OTHER: the same lines; losses, norms and counters differ by less than 1e-5 of their size. The accuracy may
# differ by 2 tokens of a step: where two logits are within rounding of each other, either may be the larger one.
near() {
    paste -d '\n' <(grep -v '"kind":"event"' "$1/metrics.jsonl") <(grep -v '"kind":"event"' "$2/metrics.jsonl") |
        awk 'function value(line, name) {
                 return match(line, "\"" name "\":[-0-9.e+]*") ? substr(line, RSTART + length(name) + 3) + 0 : 0
             }
             NR % 2 { before = $0; next }
             {
                 n = split("step samples tokens target_tokens loss accuracy grad_norm lr", names, " ")
                 for (i = 1; i <= n; i++) {
                     a = value(before, names[i]); b = value($0, names[i])
                     slack = names[i] == "accuracy" ? 2 / 256 : 1e-5 * a
                     if ((a - b) ^ 2 > slack ^ 2) { print names[i], a, b; bad = 1 }
                 }
                 lines++
             }
             END { exit bad || lines < 10 }' >"$work/diff" || fail "$2 is not $1: $(head -n 3 "$work/diff")"
    echo "ok: ${2##*/} is ${1##*/}"
}

# same RUN OTHER: the same bytes in the last checkpoint, and the same losses.
same() {
    diff -rq "$1/checkpoints/latest/" "$2/checkpoints/latest/" >"$work/diff" || fail "$2 is not $1: $(head -n 1 "$work/diff")"
    diff <(grep -v '"kind":"event"' "$1/metrics.jsonl" | grep -o '"step":[0-9]*\|"loss":[-0-9.e+]*\|"grad_norm":[-0-9.e+]*') \
        <(grep -v '"kind":"event"' "$2/metrics.jsonl" | grep -o '"step":[0-9]*\|"loss":[-0-9.e+]*\|"grad_norm":[-0-9.e+]*') >"$work/diff" ||
        fail "$2 has not the losses of $1: $(head -n 3 "$work/diff")"
    echo "ok: ${2##*/} has the bits of ${1##*/}"
}

# Options of each kind of model.
declare -A models=(
    [t5]='model.n_enc=2 model.n_dec=3'
    [gpt]='model.family=gpt model.n_enc=0 model.n_dec=3 data.objective=clm'
    [bert]='model.family=bert model.n_enc=3 model.n_dec=0 data.objective=mlm tokenizer.sentinels=100'
    [lora]='model.family=gpt model.n_enc=0 model.n_dec=3 data.objective=clm lora.rank=4'
)

# A classifier of texts, on a table of its own, and a model that writes its answers, also in evaluations.
make_tasks() {
    mkdir -p "$work/marks"
    (cd "$work/marks" && make_marks &&
        "$loam" tokenizer train --type wordpiece --for bert --vocab-size 60 --out tok corpus.txt 2>err) || fail "no tokenizer"
    models[classifier]="model.family=bert model.n_enc=2 model.n_dec=0 model.token_types=2 tokenizer.path=$work/marks/tok
        data.train= data.valid= task.data=$work/marks/marks.tsv task.valid=10%
        task.input={text} task.label={mark} data.target_length=0"
    models[answers]="model.n_dec=3 tokenizer.path=$work/marks/tok.model data.train= data.valid= data.input_length=32
        task.data=$work/marks/marks.tsv task.valid=10% task.input={text} task.target={mark}"
}

# rank_run NAME MODEL RANKS ZERO OPTION…: trains $work/NAME.
rank_run() {
    local name=$1 model=$2 ranks=$3 zero=$4
    shift 4
    # shellcheck disable=SC2086
    "$loam" train "$config" run.dir="$work/$name" ${models[$model]} parallel.ranks="$ranks" parallel.zero="$zero" "$@" \
        2>"$work/err" || fail "$name: $(tail -n 2 "$work/err")"
}

# zero_row RANKS ZERO ACCUMULATE RECOMPUTE PRECISION MODEL OPTIMIZER: ZeRO makes the bits of data parallel, and in f32 the
# losses of one rank. With several microbatches ZeRO 2 and 3 add up in another order than data parallel, alike.
zero_row() {
    local micro="9 samples" name="$6-$7-$5-$1-zero$2-$3-$4"
    [ "$3" = no ] || micro="$(($1 < 8 ? 2 : 1)) samples" # of 8 ranks one has two samples
    set -- "$@" train.length="${steps:-12} steps" train.batch='9 samples' train.micro_batch="$micro" train.recompute="$4" \
        train.precision="$5" optim.name="$7" optim.min_dim_factored=16 train.save_every=0 train.eval_every=6
    rank_run "$name" "$6" "$1" "$2" "${@:8}"
    if [ "$3" = no ] || [ "$2" = 1 ]; then
        rank_run plain "$6" "$1" 0 "${@:8}"
    else
        rank_run plain "$6" "$1" $((5 - $2)) "${@:8}"
    fi
    same "$work/plain" "$work/$name"
    if [ "$5" = f32 ]; then
        rank_run one "$6" 1 0 "${@:8}"
        near "$work/one" "$work/$name"
    fi
    rm -r "$work/$name" "$work/plain" "$work/one" 2>/dev/null || true
}

# layout_row RANKS PIPELINE TENSOR ZERO MICROBATCH RECOMPUTE MODEL OPTIMIZER OPTION…: ranks in this layout have the losses
# of one rank, in f32. Options parallel.* are only of the ranks. The number in $context is parallel.context; unset means 1.
layout_row() {
    local ranks=$1 pipeline=$2 tensor=$3 zero=$4 micro=$5 recompute=$6 model=$7 optimizer=$8
    local name="$model-$optimizer-$ranks-pipeline$pipeline-tensor$tensor-context${context:=1}-zero$zero-$micro-$recompute"
    shift 8
    local parallel=() other=()
    for option; do
        if [[ $option = parallel.* ]]; then parallel+=("$option"); else other+=("$option"); fi
    done
    set -- train.length="${steps:-12} steps" train.batch='8 samples' train.micro_batch="$micro samples" train.recompute="$recompute" \
        train.precision=f32 optim.name="$optimizer" optim.min_dim_factored=16 train.save_every=0 train.eval_every=6 "${other[@]}"
    rank_run "$name" "$model" "$ranks" "$zero" parallel.pipeline="$pipeline" parallel.tensor="$tensor" \
        parallel.context="$context" parallel.check_every=5 parallel.timeout=60s "${parallel[@]}" "$@"
    rank_run one "$model" 1 0 "$@"
    near "$work/one" "$work/$name"
    rm -r "$work/$name" "$work/one"
}

# spread_of RUN F32: the largest relative differences of a step's loss and of its gradient norm between two runs.
spread_of() {
    paste -d '\n' <(grep '"kind":"train"' "$2/metrics.jsonl") <(grep '"kind":"train"' "$1/metrics.jsonl") |
        awk 'function value(line, name) { match(line, "\"" name "\":[-0-9.e+]*"); return substr(line, RSTART + length(name) + 3) + 0 }
             NR % 2 { before = $0; next }
             {
                 split("loss grad_norm", names, " ")
                 for (i = 1; i <= 2; i++) {
                     off = (value($0, names[i]) - value(before, names[i])) / value(before, names[i])
                     off = off < 0 ? -off : off
                     if (off > most[i] || off != off) most[i] = off
                 }
             }
             END { printf "%g %g\n", most[1], most[2] }'
}

# product_row DATA TENSOR PIPELINE SEQUENCE ZERO RECOMPUTE MODEL OPTIMIZER PRECISION MICROBATCH: ranks in this layout have
# in f32 the losses and gradient norms of one rank; in bf16 they are as near to those of f32 as one rank's, three times
# its own distance at most. The runs of one rank are kept for the next row.
declare -A blocks=([t5]='model.n_enc=2 model.n_dec=2' [gpt]='model.n_dec=4' [lora]='model.n_dec=4' [bert]='model.n_enc=4')
product_row() {
    local data=$1 tensor=$2 pipeline=$3 sequence=$4 zero=$5 recompute=$6 model=$7 optimizer=$8 precision=$9 micro=${10} own most each
    local ranks=$((data * tensor * pipeline)) one=one-$model-$optimizer
    local name="$model-$optimizer-$precision-data$data-tensor$tensor-pipeline$pipeline-zero$zero-sequence=$sequence-$recompute-$micro"
    # shellcheck disable=SC2206
    local common=(${blocks[$model]} model.heads=8 model.head_dim=4 train.length="${steps:-12} steps" train.batch='8 samples'
        optim.name="$optimizer" optim.lr=1e-3 optim.min_dim_factored=16 train.save_every=0 train.eval_every=6)
    rank_run "$name" "$model" "$ranks" "$zero" "${common[@]}" train.precision="$precision" parallel.tensor="$tensor" \
        parallel.pipeline="$pipeline" parallel.sequence="$sequence" train.recompute="$recompute" train.micro_batch="$micro samples" \
        parallel.check_every=5 parallel.timeout=120s
    for each in f32 "$precision"; do
        [ -d "$work/$one-$each" ] || rank_run "$one-$each" "$model" 1 0 "${common[@]}" train.precision="$each" train.micro_batch='8 samples'
    done
    if [ "$precision" = f32 ]; then
        near "$work/$one-f32" "$work/$name"
    else
        own=$(spread_of "$work/$one-$precision" "$work/$one-f32") most=$(spread_of "$work/$name" "$work/$one-f32")
        echo "$own $most" | awk '{ exit !($3 <= 3 * $1 + 1e-5 && $4 <= 3 * $2 + 1e-5) }' ||
            fail "$name: loss and gradient norm are $most from those of f32, those of one rank $own"
        echo "ok: $name is $most from f32, one rank $own"
    fi
    rm -r "${work:?}/$name"
}
