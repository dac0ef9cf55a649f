# labels: rounds
# To Hugging Face's form and back: the same bytes, the same loss, the tokenizer with it.
. tests/cli/lib.sh "$1"
make_dataset
run=$work/run
"$loam" train "$work/config.yaml" run.dir="$run" 'train.length=10 steps' 2>"$work/log" || fail "$(cat "$work/log")"

expect 0 "$work/hf" "$loam" export "$run" --to hf --out "$work/hf"
for file in config.json generation_config.json model.safetensors spiece.model tokenizer_config.json \
    special_tokens_map.json; do
    [ -s "$work/hf/$file" ] || fail "$file is missing from the export"
done
cmp "$work/hf/spiece.model" "$work/tok.model" || fail "the tokenizer changed on its way"
expect 0 "$work/back" "$loam" import "$work/hf" --out "$work/back"
cmp "$work/back"/weights-*.safetensors "$run"/checkpoints/latest/weights-*.safetensors || fail "weights changed"
expect 0 "$work/again" "$loam" export "$work/back" --to hf --out "$work/again"
diff -r "$work/hf" "$work/again" || fail "a second export differs"
echo "ok: export, import, export: equal bytes"

loss() { "$loam" eval "$1" data.valid="$work/data-valid" data.input_length=64 --json | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
folder=$(loss "$work/hf") back=$(loss "$work/back")
[ -n "$folder" ] && [ "$folder" = "$back" ] || fail "loss of the folder $folder, of its import $back"
echo "ok: both forms have the same loss"

"$loam" train "$work/config.yaml" run.dir="$work/tuned" 'train.length=1 steps' train.init="$work/hf" optim.lr=0 2>/dev/null ||
    fail "training from a Hugging Face folder"
cmp "$work/tuned"/checkpoints/latest/weights-*.safetensors "$work/back"/weights-*.safetensors || fail "train.init"
echo "ok: training starts from the folder's weights"

# A run's config.yaml with another shape names the architecture of the former one. The message says what to set, for the
# export too, since a run that has ended stores nothing new.
"$loam" train "$run/config.yaml" run.dir="$work/other" 'train.length=1 steps' model.rel_per_block=true 2>"$work/log" || fail "$(cat "$work/log")"
remedy='(model.architecture=t5) has no such model.rel_per_block; model.architecture=auto chooses umt5'
grep -qF "$remedy" "$work/log" || fail "$(cat "$work/log")"
expect 1 "$remedy" "$loam" export "$work/other" --to hf --out "$work/umt5"
expect 1 "of the options only model.architecture is for an export" "$loam" export "$work/other" --to hf --out "$work/umt5" model.width=64
expect 0 "$work/umt5" "$loam" export "$work/other" --to hf --out "$work/umt5" model.architecture=auto
grep -q UMT5ForConditionalGeneration "$work/umt5/config.json" || fail "$(cat "$work/umt5/config.json")"
expect 1 "lora.targets: BertForPreTraining of Hugging Face has no linear layer of this model; model.architecture=auto chooses llama" \
    "$loam" train "$work/config.yaml" run.dir="$work/adapted" model.family=gpt model.n_enc=0 model.position=rotary model.scale_scores=true \
    model.architecture=bert lora.rank=2
echo "ok: a model is exported as the architecture that the command line names"

expect 0 "$work/half" "$loam" export "$run" --to hf --out "$work/half" --dtype bf16 --shard-size 20KB
compgen -G "$work/half/model-00002-of-0000?.safetensors" >/dev/null && [ ! -e "$work/half/model.safetensors" ] || fail "no shards"
grep -q '"dtype": "bfloat16"' "$work/half/config.json" || fail "config.json names another type"
grep -q '"total_size": [0-9]' "$work/half/model.safetensors.index.json" || fail "no total_size"
expect 0 "$work/half-back" "$loam" import "$work/half" --out "$work/half-back"
expect 0 "$work/half-again" "$loam" export "$work/half-back" --to hf --out "$work/half-again" --dtype bf16 --shard-size 20KB
diff -r "$work/half" "$work/half-again" || fail "bf16 changed on its way"
echo "ok: shards of bf16 there and back"
expect 1 "--dtype int8 is unknown" "$loam" export "$run" --to hf --out "$work/x" --dtype int8
expect 1 "--shard-size 2: a size with its unit is wanted" "$loam" export "$run" --to hf --out "$work/x" --shard-size 2

cp -r "$work/hf" "$work/cut"
truncate -s 500 "$work/cut/spiece.model"
mkdir "$work/imports"
expect 1 "not a SentencePiece model" "$loam" import "$work/cut" --out "$work/imports/cut"
[ -z "$(ls -A "$work/imports")" ] || fail "a failed import left $(ls -A "$work/imports")"

expect 1 "exists and is not an empty folder" "$loam" export "$run" --to hf --out "$work/hf"
expect 1 "exists and is not an empty folder" "$loam" import "$work/hf" --out "$work/back"
expect 1 "--to gguf is unknown, want hf" "$loam" export "$run" --to gguf --out "$work/x"
expect 1 "want one MODEL, --to and --out" "$loam" export "$run"
expect 1 "want one FOLDER and --out" "$loam" import "$work/hf"
expect 1 "not a Hugging Face model folder" "$loam" import "$run" --out "$work/x"
sed -i 's/"t5"/"mamba"/' "$work/again/config.json"
expect 1 'model_type is "mamba": loam reads "t5", ' "$loam" import "$work/again" --out "$work/x"
ids() { echo 'ba ce. <extra_id_3> dilo' | "$loam" tokenizer encode --model "$1"; }
whole=$(ids "$work/hf")
rm "$work/hf/spiece.model"
expect 0 "$work/json" "$loam" import "$work/hf" --out "$work/json"
[ "$whole" = "$(ids "$work/json")" ] || fail "tokenizer.json alone gives other ids"
echo "ok: tokenizer.json alone is a tokenizer"
rm "$work/hf/tokenizer.json"
expect 0 "weights only, texts need a tokenizer of their own: $work/hf/tokenizer_config.json: " "$loam" import "$work/hf" --out "$work/bare"
expect 1 "--from gguf is unknown, want hf, t5x or fairseq" "$loam" import --from gguf "$work/hf" --out "$work/x"
expect 1 'loam import --from fairseq, or --from t5x, makes a checkpoint of such a file' "$loam" export \
    "$source_dir/tests/golden/ast-t5/checkpoint.pt" --to hf --out "$work/x"
expect 0 "$work/ast" "$loam" import --from fairseq "$source_dir/tests/golden/ast-t5/checkpoint.pt" --out "$work/ast"
echo '5 9 12' | "$loam" generate --model "$work/ast" --ids --max-tokens 5 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(wc -w <"$work/out")" = 5 ] || fail "ids from AST-T5's model: $(cat "$work/out")"
expect 1 "not a checkpoint of Flax" "$loam" import --from t5x "$work/tok.model" --out "$work/x"
