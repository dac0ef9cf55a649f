# labels: any-processor repeats
# Every kind of tokenizer from raw text to an answer and on to Hugging Face's form, with the families that use it.
. tests/cli/lib.sh "$1"
make_dataset

# Byte-level BPE of the corpus's syllables: every byte, 20 merges, GPT-2's end of text.
mkdir "$work/bpe" "$work/wordpiece"
awk -v vocab="$work/bpe/vocab.json" -v merges="$work/bpe/merges.txt" -v words="$work/wordpiece/vocab.txt" 'BEGIN {
    n = split("ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu", syllable)
    print "#version: 0.2" >merges
    printf "{" >vocab
    for (byte = 0; byte < 256; byte++) { # as GPT-2 writes it: itself where it is visible, else from U+0100
        visible = byte >= 33 && byte <= 126 || byte >= 161 && byte != 173
        code = visible ? byte : 256 + hidden++
        if (byte == 34 || byte == 92)
            printf "\"\\%c\": %d, ", code, byte >vocab
        else
            printf "\"\\u%04x\": %d, ", code, byte >vocab
    }
    for (i = 1; i <= n; i++) {
        printf "\"%s\": %d, ", syllable[i], 255 + i >vocab
        print substr(syllable[i], 1, 1), substr(syllable[i], 2, 1) >merges
    }
    print "\"<|endoftext|>\": 276}" >vocab
    printf "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n" >words
    for (i = 1; i <= n; i++)
        printf "%s\n##%s\n", syllable[i], syllable[i] >words
}'

# trains NAME TOKENIZER VOCAB OVERRIDES…: prepares, trains, exports and imports; the export holds the same tokenizer.
trains() {
    local name=$1 tokenizer=$2 vocab=$3 here=$work/$1
    shift 3
    "$loam" prepare --tokenizer "$tokenizer" --out "$here/data" --valid 10% --append-eod "$work/corpus.txt" >/dev/null \
        2>"$work/err" || fail "$name: prepare: $(cat "$work/err")"
    "$loam" train "$work/config.yaml" run.dir="$here/run" tokenizer.path="$tokenizer" data.train="$here/data" \
        data.valid="$here/data-valid" 'train.length=4 steps' 'train.eval_every=4 steps' model.vocab=auto model.vocab_multiple=1 "$@" 2>"$work/err" ||
        fail "$name: $(tail -n 2 "$work/err")"
    grep -q "vocab: $vocab\$" "$here/run/config.yaml" || fail "$name: not $vocab ids: $(grep vocab "$here/run/config.yaml")"
    "$loam" eval "$here/run" data.valid="$here/data-valid" data.input_length=64 --json >"$work/out" 2>"$work/err" ||
        fail "$name: eval: $(cat "$work/err")"
    "$loam" export "$here/run" --to hf --out "$here/hf" >/dev/null 2>"$work/err" || fail "$name: export: $(cat "$work/err")"
    ! grep -v 'touches a blank' "$work/err" || fail "$name: export: $(cat "$work/err")"
    [ -s "$here/hf/tokenizer_config.json" ] || fail "$name: no tokenizer_config.json"
    for line in 'bace dilo. fogu' 'ba <extra_id_0> ce<|endoftext|>[MASK] <extra_id_1>.'; do
        for how in '' --plain; do
            [ "$(echo "$line" | "$loam" tokenizer encode --model "$here/run" $how)" = \
                "$(echo "$line" | "$loam" tokenizer encode --model "$here/hf" $how)" ] || fail "$name: other ids of \"$line\""
        done
    done
    echo "ok: $name: $vocab ids"
}
answers() {
    printf '%s\n' "$2" | "$loam" "${@:3}" --model "$work/$1/hf" >"$work/answer" 2>"$work/err" || fail "$1: $(cat "$work/err")"
    [ "$(wc -l <"$work/answer")" -ge 1 ] || fail "$1 gives no answer"
}

t5='model.preset=custom'
gpt='model.preset=gpt2 model.n_enc=0 model.max_positions=64 data.objective=clm'
bert='model.preset=bert-base model.n_dec=0 model.max_positions=64 data.objective=mlm'
small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16'
trains bpe-gpt "$work/bpe" 277 $gpt $small
trains bpe-t5 "$work/bpe" 377
trains bpe-bert "$work/bpe" 377 $bert $small
trains bytes-t5 bytes 384
trains bytes-t5-ul2 bytes 384 data.objective=ul2
trains wordpiece-bert "$work/wordpiece" 46 $bert $small
trains wordpiece-t5 "$work/wordpiece" 146
trains sentencepiece-gpt "$work/tok.model" 300 $gpt $small
trains sentencepiece-bert "$work/tok.model" 300 $bert $small
answers bpe-gpt 'ba ce' generate --max-tokens 4
answers bpe-t5 'ba <extra_id_0> ce' generate --max-tokens 4
answers bytes-t5 'ba <extra_id_0> ce' generate --max-tokens 4
echo "ok: they answer"

# ids in text
same() { [ "$1" = "$2" ] || fail "\"$1\" is not \"$2\""; }
same "$(echo 'ba<extra_id_0><extra_id_1>' | "$loam" tokenizer encode --model bytes)" '101 100 259 260'
same "$(echo 'ba<extra_id_0>' | "$loam" tokenizer encode --model "$work/bpe-t5/run")" '256 376'
same "$(echo 'ba [MASK]ce' | "$loam" tokenizer encode --model "$work/wordpiece")" '6 4 9' # ##ce
same "$(echo 'ba [MASK]ce' | "$loam" tokenizer encode --blanks transformers --model "$work/wordpiece")" '6 4 8'
printf 'ba<|endoftext|>ce\n' >"$work/marked.txt"
"$loam" prepare --tokenizer "$work/bpe" --out "$work/plain" "$work/marked.txt" >/dev/null 2>&1
"$loam" prepare --tokenizer "$work/bpe" --out "$work/marked" --specials "$work/marked.txt" >/dev/null 2>&1
same "$(od -An -tu2 "$work/marked.bin" | tr -s ' ')" ' 256 276 257'
[ "$(wc -c <"$work/plain.bin")" -gt 20 ] || fail "text of a corpus became a special token"
echo "ok: corpora keep their text, unless asked"
