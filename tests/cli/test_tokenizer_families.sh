# labels: any-processor
# A tokenizer of every kind for every family: what a model of the family has around its texts, and which tokens have which
# roles, is told to transformers in the exported folder. What is missing is said before training.
. tests/cli/lib.sh "$1"
make_dataset
small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.max_positions=80'
declare -A model=(
    [bert]="model.preset=bert-base model.n_enc=1 model.n_dec=0 data.objective=mlm data.sentence_pairs=next $small"
    [roberta]="model.preset=roberta-base model.n_enc=1 model.n_dec=0 data.objective=mlm $small"
    [t5]=""
    [gpt]="model.preset=gpt2 model.n_enc=0 model.n_dec=1 data.objective=clm $small"
)

# exports NAME FAMILY TOKENIZER: a model of the family, trained for a step, exported as $work/hf; talk is in $work/log.
exports() {
    "$loam" prepare --paragraphs --tokenizer "$3" --out "$work/$1-data" "$work/corpus.txt" >/dev/null 2>"$work/err" ||
        fail "$1: $(cat "$work/err")"
    "$loam" train "$work/config.yaml" run.dir="$work/$1-run" tokenizer.path="$3" data.train="$work/$1-data" data.valid= \
        'train.length=1 steps' model.vocab=auto ${model[$2]} 2>"$work/log" || fail "$1: $(tail -n 2 "$work/log")"
    rm -rf "$work/hf"
    "$loam" export "$work/$1-run" --to hf --out "$work/hf" >/dev/null 2>"$work/err" || fail "$1: $(cat "$work/err")"
}

# says NAME FILE WORDS: the file of the export has these words on one line, spaces aside.
says() { grep -qF -- "$3" < <(tr -d ' \n' <"$work/hf/$2") || fail "$1: no $3 in $2: $(head -c 600 "$work/hf/$2")"; }

# frames FAMILY SPELLING: what stands around a text.
declare -A frame=(
    [bert]='"single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}]'
    [roberta]='"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0]'
    [t5]='"single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}]'
    [gpt]='"post_processor":null'
)
printf 'ba ce\n\ndi fo\n\ngu ha\n' >"$work/novel.txt"
for kind in byte-bpe wordpiece sentencepiece-unigram sentencepiece-bpe; do
    for family in bert roberta t5 gpt; do
        name=$kind-$family
        "$loam" tokenizer train --kind $kind --for $family --vocab-size 300 --min-frequency 1 --out "$work/$name" \
            "$work/corpus.txt" 2>"$work/err" ||
            "$loam" tokenizer train --kind $kind --for $family --vocab-size 200 --out "$work/$name" "$work/corpus.txt" \
                2>"$work/err" || fail "$name: $(cat "$work/err")"
        [ $family = t5 ] && n=100 || n=0 # sentinels; and a .txt is read whole for a GPT alone
        "$loam" tokenizer export --model "$work/$name" --out "$work/sentinels/$name"
        [ "$(grep -c 'extra_id_' "$work/sentinels/$name/special_tokens_map.json")" = $n ] || fail "$name: sentinels"
        [ $family = gpt ] && n=1 || n=3
        "$loam" prepare --replace --tokenizer "$work/$name" --out "$work/novel" "$work/novel.txt" >"$work/out" 2>/dev/null
        grep -q "novel: $n document" "$work/out" || fail "$name: $(cat "$work/out")"
        exports $name $family "$work/$name"
        ! grep -q '^warning: the tokenizer' "$work/log" || fail "$name: $(grep warning "$work/log")"
        want=${frame[$family]}
        [ $kind$family != byte-bpegpt ] || want='"post_processor":{"type":"ByteLevel"'
        [ $kind$family != wordpieceroberta ] || want=${frame[bert]}
        [ $kind$family != wordpiecet5 ] || want=${want/<\/s>/[SEP]}
        says $name tokenizer.json "$want"
        says $name special_tokens_map.json '"pad_token":"'
        case $kind/$family in
        wordpiece/roberta | */bert) says $name tokenizer_config.json '"mask_token":"[MASK]"' ;;
        */roberta) says $name tokenizer_config.json '"mask_token":"<mask>"' ;;
        *) ! grep -q mask_token "$work/hf/tokenizer_config.json" || fail "$name has a mask" ;;
        esac
        size=$("$loam" tokenizer describe --model "$work/$name" --json | sed -n 's/.*"size": *\([0-9]*\).*/\1/p')
        vocab=$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' "$work/hf/config.json")
        case $family in # ids that only pad the vocabulary are never generated
        t5 | gpt) says $name generation_config.json "\"suppress_tokens\":[$(seq -s , "$size" $((vocab - 1)))]" ;;
        esac
        case $family in # a pipeline with truncation cuts texts to what the model reads
        t5) ! grep -q model_max_length "$work/hf/tokenizer_config.json" || fail "$name: a longest text" ;;
        *) says $name tokenizer_config.json '"model_max_length":80' ;;
        esac
        [ $family = bert ] && types=yes || types=no
        [ "$(grep -c token_type_ids "$work/hf/tokenizer_config.json")" = $([ $types = yes ] && echo 1 || echo 0) ] ||
            fail "$name: token types"
    done
    echo "ok: $kind serves every family"
done

# A tokenizer of another family: said at plan and before the first step, and the export has what the model was trained with.
for verb in plan train; do
    "$loam" $verb "$work/config.yaml" run.dir="$work/none" tokenizer.path="$work/byte-bpe-gpt" data.train="$work/byte-bpe-gpt-data" \
        data.valid= 'train.length=1 steps' model.vocab=auto ${model[bert]} >/dev/null 2>"$work/log" || fail "$(cat "$work/log")"
    grep -q 'has no mask: "<extra_id_0>" hides words instead; loam tokenizer train --for bert makes one' "$work/log" ||
        fail "$verb: $(cat "$work/log")"
done
exports other bert "$work/byte-bpe-gpt"
says other tokenizer_config.json '"mask_token":"<extra_id_0>"'
says other tokenizer.json '{"SpecialToken":{"id":"<|endoftext|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken"'
expect 1 'no piece to hide words behind' "$loam" plan "$work/config.yaml" tokenizer.path="$work/byte-bpe-gpt" model.vocab=300 ${model[bert]}
expect 1 'no sentinels' "$loam" plan "$work/config.yaml" tokenizer.path="$work/byte-bpe-gpt" model.vocab=300
"$loam" plan "$work/config.yaml" tokenizer.path="$work/byte-bpe-bert" model.vocab=auto ${model[roberta]} 2>"$work/err" >/dev/null
grep -q "id 1 for padding, but the tokenizer's is 0" "$work/err" || fail "$(cat "$work/err")"
echo "ok: what is missing is said before training"

# Nothing is left where nothing comes of it.
for kind in byte-bpe wordpiece sentencepiece-bpe; do
    expect 1 'too small' "$loam" tokenizer train --kind $kind --vocab-size 9 --out "$work/new/deep/tok" "$work/corpus.txt"
    [ ! -e "$work/new" ] || fail "$kind leaves a folder"
done
expect 1 'is a folder; a SentencePiece model is one file' "$loam" tokenizer train --out "$work" "$work/corpus.txt"
