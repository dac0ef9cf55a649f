# The files beside a model's weights: obeyed, or refused by name.
. tests/cli/lib.sh "$1"
fixture=tests/parity/bert
folder="$work/model"
mkdir "$folder"
cp "$fixture"/config.json "$fixture"/model.safetensors "$folder"
echo '2 7 9 4 3' >"$work/ids"
embed() { "$loam" embed --model "$folder" --ids "$@" <"$work/ids" 2>"$work/err" || fail "$*: $(cat "$work/err")"; }

# A FIFO would be waited for until someone writes to it.
for file in config.json model.safetensors model.safetensors.index.json tokenizer.json; do
    rm -rf "$work/fifo"
    cp -r "$folder" "$work/fifo"
    rm -f "$work/fifo/${file%.index.json}"
    mkfifo "$work/fifo/$file"
    if [ "$file" = tokenizer.json ]; then
        expect 1 "$work/fifo/$file: it is not a regular file" timeout 60 "$loam" tokenizer encode --model "$work/fifo"
    else
        expect 1 "$work/fifo/$file: it is not a regular file" timeout 60 "$loam" import "$work/fifo" --out "$work/x"
    fi
done

# White space around the header of a safetensors file.
python=$(command -v python3) || { echo "skip: no python3"; exit 0; }
"$python" - "$fixture/model.safetensors" "$folder/model.safetensors" <<'P'
import struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = b" \n" + data[8:8 + n].strip() + b"  "
open(sys.argv[2], "wb").write(struct.pack("<Q", len(header)) + header + data[8 + n:])
P
embed >"$work/mean"
echo "ok: white space before the header of a safetensors file"

# transformers counts the positions of a RoBERTa without its padding tokens.
for ids in '0 7 9 2 1' '0 7 9 2'; do
    "$loam" embed --model tests/parity/roberta --ids <<<"$ids" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    told=$(grep -c "a text has id 1, RoBERTa's padding" "$work/err" || true)
    [ "$told" = "$(grep -o '\b1$' <<<"$ids" | wc -l)" ] || fail "$ids: $(cat "$work/err")"
done

# What sentence-transformers declares; the expected vectors are its formulas on the vectors of the tokens.
embed --pooling none >"$work/tokens"
mkdir "$folder/1_Pooling"
modules() { printf '[{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}%s]' "$1" >"$folder/modules.json"; }
modules ''
for mode in cls_token mean_tokens max_tokens mean_sqrt_len_tokens weightedmean_tokens lasttoken; do
    printf '{"word_embedding_dimension":32,"pooling_mode_%s":true}' "$mode" >"$folder/1_Pooling/config.json"
    embed >"$work/$mode"
    "$python" - "$mode" "$work/tokens" "$work/$mode" <<'P' || fail "$mode"
import json, sys
mode, (rows, got) = sys.argv[1], (json.load(open(path))["embedding"] for path in sys.argv[2:])
n, columns = len(rows), list(zip(*rows))
want = {"cls_token": rows[0], "lasttoken": rows[-1], "mean_tokens": [sum(c) / n for c in columns], "max_tokens": [max(c) for c in columns],
        "mean_sqrt_len_tokens": [sum(c) / n ** 0.5 for c in columns],
        "weightedmean_tokens": [sum((i + 1) * x for i, x in enumerate(c)) / (n * (n + 1) / 2) for c in columns]}[mode]
sys.exit(len(want) != len(got) or max(abs(a - b) for a, b in zip(want, got)) > 1e-5)
P
    grep -q 'modules.json: pooling' "$work/err" || fail "does not say what it took"
done
cmp "$work/mean" "$work/mean_tokens" || fail "mean by modules.json differs from mean"
embed --pooling mean >"$work/aside"
cmp "$work/mean" "$work/aside" || fail "--pooling does not go before modules.json"
modules ',{"idx":2,"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}'
embed >"$work/unit"
embed --pooling last --normalize >"$work/given"
cmp "$work/unit" "$work/given" || fail "2_Normalize is not obeyed"
printf '{"max_seq_length":3}' >"$folder/sentence_bert_config.json"
embed >"$work/out"
grep -q 'longer than 3 tokens are cut' "$work/err" || fail "max_seq_length is not obeyed"
echo "ok: modules.json is obeyed"
printf '{"max_seq_length":3,"do_lower_case":true}' >"$folder/sentence_bert_config.json"
expect 1 'has do_lower_case, which loam does not do' "$loam" embed --model "$folder" --ids
printf '{"processing_kwargs":{"text":{"max_length":3}}}' >"$folder/sentence_bert_config.json"
expect 1 'has processing_kwargs, which loam does not read; --pooling' "$loam" embed --model "$folder" --ids
printf '{"transformer_task":"fill-mask"}' >"$folder/sentence_bert_config.json"
expect 1 'has transformer_task "fill-mask": loam reads "feature-extraction" only' "$loam" embed --model "$folder" --ids
rm "$folder/sentence_bert_config.json"
printf '{"truncate_dim":8}' >"$folder/config_sentence_transformers.json"
expect 1 "has truncate_dim, and loam's vectors are whole; --pooling" "$loam" embed --model "$folder" --ids
printf '{"truncate_dim":null}' >"$folder/config_sentence_transformers.json"
embed >"$work/out"
rm "$folder/config_sentence_transformers.json"
modules ',{"idx":2,"path":"2_Dense","type":"sentence_transformers.models.Dense"}'
expect 1 'has the module sentence_transformers.models.Dense, which loam does not have' "$loam" embed --model "$folder" --ids
modules ''
printf '{"pooling_mode_cls_token":true,"pooling_mode_max_tokens":true}' >"$folder/1_Pooling/config.json"
expect 1 'has 2 modes of pooling that loam knows, want one' "$loam" embed --model "$folder" --ids

# The declaration stays with the model: imported, trained on, exported.
printf '{"pooling_mode_cls_token":true}' >"$folder/1_Pooling/config.json"
modules ',{"idx":2,"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}'
printf '{"default_prompt_name":null,"prompts":{},"similarity_fn_name":"dot"}' >"$folder/config_sentence_transformers.json"
for kin in bert roberta distilbert camembert albert xlm-roberta xlnet; do
    printf '{"max_seq_length":4,"do_lower_case":false}' >"$folder/sentence_${kin}_config.json"
    embed >"$work/declared"
    grep -q 'longer than 4 tokens are cut' "$work/err" || fail "sentence_${kin}_config.json is not read"
    [ "$kin" = xlnet ] || rm "$folder/sentence_${kin}_config.json"
done
printf '{"transformer_task":"feature-extraction"}' >"$folder/sentence_xlnet_config.json"
printf '{"model_max_length":4}' >"$folder/tokenizer_config.json"
embed >"$work/out"
cmp "$work/declared" "$work/out" || fail "model_max_length of tokenizer_config.json is not obeyed"
printf '{"max_seq_length":41}' >"$folder/sentence_xlnet_config.json"
embed >"$work/out" # more than the model's positions
printf '{"max_seq_length":4}' >"$folder/sentence_xlnet_config.json"
same() { # same MODEL WHAT
    "$loam" embed --model "$1" --ids <"$work/ids" >"$work/out" 2>"$work/err" || fail "$2: $(cat "$work/err")"
    cmp "$work/declared" "$work/out" || fail "$2 embeds otherwise"
}
"$loam" import "$folder" --out "$work/imported" 2>"$work/err" >"$work/out" || fail "$(cat "$work/err")"
same "$work/imported" "the imported model"
"$loam" export "$work/imported" --to hf --out "$work/exported" 2>"$work/err" >"$work/out" || fail "$(cat "$work/err")"
same "$work/exported" "the export"
"$python" - "$folder" "$work/exported" <<'P' || fail "the export declares something else"
import json, sys
for name in ("modules.json", "1_Pooling/config.json", "config_sentence_transformers.json"):
    a, b = (json.load(open(f"{folder}/{name}")) for folder in sys.argv[1:])
    assert a == b, name
P
grep -q '"max_seq_length": 4' "$work/exported/sentence_bert_config.json" || fail "the export has no max_seq_length"
"$loam" export "$folder" --to hf --out "$work/direct" 2>"$work/err" >"$work/out" || fail "$(cat "$work/err")"
same "$work/direct" "the export of the folder itself"
echo "ok: what modules.json declares is imported and exported"
modules ',{"idx":2,"path":"2_Dense","type":"sentence_transformers.models.Dense"}'
expect 0 'modules.json is left out: it has the module sentence_transformers.models.Dense' "$loam" export "$folder" --to hf --out "$work/dense"
[ ! -e "$work/dense/modules.json" ] || fail "modules.json names weights that the export does not have"
modules ',{"idx":2,"path":"../2_Normalize","type":"sentence_transformers.models.Normalize"}'
expect 1 'the module in "../2_Normalize", which is no folder below it' "$loam" import "$folder" --out "$work/outside"
[ ! -e "$work/direct/../2_Normalize" ] || fail "wrote outside"
"$loam" export "$fixture" --to hf --out "$work/plain" 2>"$work/err" >"$work/out" || fail "$(cat "$work/err")"
[ ! -e "$work/plain/modules.json" ] || fail "a model without modules.json got one"

# A run that begins with such a model keeps what it declares, and its export has it.
make_dataset
toy="model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.vocab=auto model.max_positions=64 tokenizer.path=$work/tok.model
    data.input_length=32 data.train=$work/data train.length=2 train.threads=1 train.batch=4samples"
: >"$work/empty.yaml"
quiet() { "$loam" "$@" 2>"$work/err" >"$work/out" || fail "$*: $(cat "$work/err")"; }
# shellcheck disable=SC2086
quiet train "$work/empty.yaml" run.dir="$work/run" model.preset=bert-tiny model.n_enc=1 $toy
quiet export "$work/run" --to hf --out "$work/sentence"
[ ! -e "$work/sentence/modules.json" ] || fail "a model without modules.json got one"
folder=$work/sentence
mkdir "$folder/1_Pooling"
printf '{"word_embedding_dimension":32,"pooling_mode_cls_token":true}' >"$folder/1_Pooling/config.json"
printf '{"max_seq_length":9}' >"$folder/sentence_bert_config.json"
modules ',{"idx":2,"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}'
# shellcheck disable=SC2086
quiet train "$work/empty.yaml" run.dir="$work/tuned" train.init="$folder" train.length=1 data.input_length=32 data.train="$work/data" train.threads=1 train.batch=4samples
quiet export "$work/tuned" --to hf --out "$work/tuned-hf"
"$loam" embed --model "$work/tuned" --precision f32 "$work/corpus.txt" 2>"$work/err" >"$work/of-run"
grep -q 'modules.json: pooling first, scaled to length 1' "$work/err" || fail "the run forgot: $(cat "$work/err")"
quiet embed --model "$work/tuned-hf" "$work/corpus.txt"
cmp "$work/of-run" "$work/out" || fail "the export of a run embeds otherwise"
quiet embed --model "$work/tuned-hf" --pooling first --normalize --max-tokens 9 "$work/corpus.txt"
cmp "$work/of-run" "$work/out" || fail "the run embeds otherwise than its options say"
echo "ok: a run keeps what modules.json declares"

# adapter_config.json of PEFT.
cp -r tests/parity/lora/bert-sequence "$work/adapter"
change() { # change KEY VALUE
    "$python" - "$1" "$2" "$work/adapter/adapter_config.json" tests/parity/lora/bert-sequence/adapter_config.json <<'P'
import json, sys
root = json.load(open(sys.argv[4]))
root["base_model_name_or_path"] = "base"
root[sys.argv[1]] = json.loads(sys.argv[2])
json.dump(root, open(sys.argv[3], "w"))
P
}
change r_of_the_future 7
expect 0 'adapter_config.json has r_of_the_future, which loam does not know and ignores' "$loam" import "$work/adapter" --out "$work/imported-$RANDOM"
change modules_to_save '["classifier", "pre_head"]'
expect 1 'modules_to_save names "pre_head", of which the adapter has no tensor' "$loam" import "$work/adapter" --out "$work/imported-$RANDOM"
wte=tests/parity/lora/gpt2-wte
"$loam" eval "$wte" --score "$wte/scored.json" train.precision=f32 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
"$python" -c 'import json, sys; a, b = (json.load(open(path))["logprob"] for path in sys.argv[1:]); sys.exit(abs(a - b) > 1e-3)' \
    "$work/out" "$wte/scored.json" || fail "logits of an adapter with an embedding of its own: $(cat "$work/out" "$wte/scored.json")"
expect 1 'modules_to_save names "shared"' "$loam" import tests/parity/lora/t5-shared --out "$work/imported-$RANDOM"
change target_modules '[]'
expect 1 'target_modules is empty: the adapter adapts nothing' "$loam" import "$work/adapter" --out "$work/imported-$RANDOM"
for value in true false; do
    change fan_in_fan_out "$value"
    "$loam" export "$work/adapter" --to hf --out "$work/merged-$value" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
done
cmp "$work/merged-true/model.safetensors" "$work/merged-false/model.safetensors" || fail "fan_in_fan_out changes weights"
echo "ok: fan_in_fan_out, which PEFT corrects by the base model, changes nothing"
