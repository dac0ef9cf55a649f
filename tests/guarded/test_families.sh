# labels: starts-first
# Every family on a device whose memory only operations and transfers may touch, and that works late: training, evaluation,
# saving, resuming, decoding, embedding, export and import give the bytes that they give on the cpu. Arguments: the
# program, and the same on that device.
. tests/cli/lib.sh "$1"
guarded=$2
make_dataset
lines=/dev/null # what the programs read

# both NAME COMMAND…: standard output of the two programs is the same; RUN in the command is each one's own folder.
both() {
    local name=$1 program
    shift
    for program in "$loam" "$guarded"; do
        local dir=$work/cpu
        [ "$program" = "$loam" ] || dir=$work/guarded
        mkdir -p "$dir"
        "$program" "${@//RUN/$dir}" >"$dir/$name.out" 2>"$dir/$name.err" <"$lines" ||
            fail "$name: $(tail -n 2 "$dir/$name.err")"
        sed -i "s|$dir|RUN|g" "$dir/$name.out"
    done
    cmp "$work/cpu/$name.out" "$work/guarded/$name.out" || fail "$name: other answers"
}

numbers() { grep -o '"step":[0-9]*\|"[a-z_]*\(loss\|norm\|accuracy\)[a-z_]*":[0-9.e+-]*' "$1/metrics.jsonl"; }

# family NAME OVERRIDES…: six steps, cut after three, evaluation and export.
family() {
    local name=$1
    shift
    for steps in 3 6; do
        both "$name" train "$work/config.yaml" run.dir="RUN/$name" "train.length=$steps steps" optim.schedule=constant \
            model.vocab=auto train.eval_every=3 train.save_every=3 "$@"
    done
    diff <(numbers "$work/cpu/$name") <(numbers "$work/guarded/$name") || fail "$name: other losses"
    for file in "$work/cpu/$name/checkpoints/latest"/*.safetensors; do
        cmp "$file" "$work/guarded/$name/checkpoints/latest/${file##*/}" || fail "$name: other checkpoints"
    done
    both "$name-eval" eval RUN/"$name" --json
    echo "ok: $name"
}

# moved NAME: there and back through Hugging Face's form.
moved() {
    both "$1-export" export "RUN/$1" --to hf --out "RUN/$1-hf"
    both "$1-import" import "RUN/$1-hf" --out "RUN/$1-back"
    diff -r "$work/cpu/$1-hf" "$work/guarded/$1-hf" || fail "$1: other exports"
    cmp "$work/cpu/$1-back"/weights-*.safetensors "$work/guarded/$1-back"/weights-*.safetensors || fail "$1: other imports"
    cmp "$work/cpu/$1-back"/weights-*.safetensors "$work/cpu/$1/checkpoints/latest"/weights-*.safetensors ||
        fail "$1: weights changed on their way"
}

small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16'
bert="model.preset=bert-base model.n_dec=0 $small model.max_positions=64 data.objective=mlm data.sentence_pairs=next data.short_sequence_probability=0.1"
gpt="model.preset=gpt2 model.n_enc=0 $small model.max_positions=64"
family t5
family t5-adafactor optim.name=adafactor optim.lr=1e-2 optim.min_dim_factored=16 optim.beta1=0.9 train.recompute=block
family t5-bf16 train.precision=bf16
family gpt2-fp16 $gpt data.objective=clm train.precision=fp16 fp16.initial_scale=65536
family t5-fp8 train.precision=fp8 fp8.history=4
family t5-fp8-current train.precision=fp8 fp8.scaling=current train.recompute=block
family t5-memory data.objective=prefix_lm model.memory_tokens=5 model.context_queries=true
family ast-t5 model.preset=ast-t5-base model.n_enc=1 model.n_dec=1 $small model.max_positions=64
family gpt2 $gpt data.objective=clm
family prefix-lm $gpt data.objective=prefix_lm
family fairseq model.preset=fairseq-transformer-lm model.n_enc=0 $small data.objective=clm
family llama model.preset=tinyllama-1.1b model.n_enc=0 $small model.kv_heads=1 data.objective=clm optim.name=adamw_rms
family bert $bert
family bert-distances $bert model.position=relative_key_query
family bert-sparse $bert model.sparse_pattern=bigbird model.sparse_block=4
family modernbert model.preset=modernbert-base model.n_dec=0 $small data.objective=mlm
for name in t5 gpt2 llama bert modernbert; do
    moved "$name"
done
echo "ok: export and import"

lines=$work/prompts
head -n 6 "$work/corpus.txt" | cut -d' ' -f1-4 >"$lines"
for name in t5 t5-memory ast-t5 gpt2 prefix-lm llama; do
    both "$name-sample" generate --model "RUN/$name" --max-tokens 8 --n 2 --temperature 1 --json
    both "$name-beams" generate --model "RUN/$name" --max-tokens 8 --beams 3 --json
done
echo "ok: decoding"
for name in bert t5-memory modernbert; do
    both "$name-embed" embed --model "RUN/$name"
done
both bert-pooler embed --model RUN/bert --pooling pooler
echo "ok: embedding"
