# labels: any-processor
# Tokenizers of every kind that can be trained, each down the whole path: train it, prepare text with it, train a model, use that.
. tests/cli/lib.sh "$1"
make_dataset

# trains NAME OPTIONS…: a tokenizer in $work/NAME; its last word is in $work/err.
trains() {
    local name=$1
    shift
    "$loam" tokenizer train --out "$work/$name" "$@" "$work/corpus.txt" 2>"$work/err" || fail "$name: $(cat "$work/err")"
}

# learns NAME OVERRIDES…: twenty steps with the tokenizer NAME lower the held-out loss by a third of a nat.
learns() {
    local name=$1
    shift
    "$loam" prepare --tokenizer "$work/$name" --out "$work/$name-data" --valid 10% "$work/corpus.txt" >/dev/null 2>"$work/err" ||
        fail "$name: $(cat "$work/err")"
    "$loam" train "$work/config.yaml" run.dir="$work/$name-run" tokenizer.path="$work/$name" data.train="$work/$name-data" \
        data.valid="$work/$name-data-valid" 'train.length=20 steps' model.vocab=auto "$@" 2>"$work/log" ||
        fail "$name: $(tail -n 2 "$work/log")"
    sed -n 's/.*"kind":"valid".*"loss":\([0-9.]*\).*/\1/p' "$work/$name-run/metrics.jsonl" >"$work/losses"
    awk -v name="$name" 'NR == 1 { first = $1 } { last = $1 }
        END { printf "ok: %s: held-out loss %.2f -> %.2f\n", name, first, last; exit !(last < first - 0.33) }' "$work/losses" ||
        fail "$name learned nothing"
}

# comes_back NAME TEXT: the text is its ids and back.
comes_back() {
    [ "$(echo "$2" | "$loam" tokenizer encode --model "$work/$1" | "$loam" tokenizer decode --model "$work/$1")" = "$2" ] ||
        fail "$1: \"$2\" does not come back"
}

trains bpe --kind byte-bpe --vocab-size 400
grep -q "^$work/bpe: 400 pieces$" "$work/err" || fail "$(cat "$work/err")"
comes_back bpe 'bace  never seen: Ελλάδα, 猫'
learns bpe model.preset=gpt2 model.n_enc=0 model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 \
    model.max_positions=64 data.objective=clm
echo "ba" | "$loam" generate --model "$work/bpe-run" --max-tokens 8 --json >"$work/answer" || fail "generate"
grep -q '"prompt": *"ba"' "$work/answer" || fail "$(cat "$work/answer")"
echo "ok: a GPT goes on from its prompt"

trains again --kind byte-bpe --vocab-size 400 --workers 1
diff -r "$work/bpe" "$work/again" || fail "one thread makes other files"
echo ok: the same on one thread

trains denoising --kind byte-bpe --vocab-size 400 --sentinels
"$loam" tokenizer describe --model "$work/denoising" | grep -q '^sentinels *499 ' || fail "no sentinels on top"
learns denoising

trains wordpiece --kind wordpiece --vocab-size 200 --lowercase
learns wordpiece model.preset=bert-base model.n_dec=0 model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 \
    model.max_positions=64 data.objective=mlm
same() { [ "$1" = "$2" ] || fail "\"$1\" is not \"$2\""; }
ids=$(echo 'bace' | "$loam" tokenizer encode --model "$work/wordpiece")
same "$(echo 'BACÉ' | "$loam" tokenizer encode --model "$work/wordpiece")" "$ids"
"$loam" tokenizer export --model "$work/wordpiece" --out "$work/exported" 2>"$work/err" || fail "$(cat "$work/err")"
diff -r "$work/wordpiece" "$work/exported" || fail "the export is another folder"
echo "ok: what is exported is what was trained"

# Killed in the middle, it leaves no file.
mkfifo "$work/pipe"
"$loam" tokenizer train --kind byte-bpe --out "$work/killed" "$work/pipe" 2>/dev/null &
{ echo "some text" && kill -9 $!; } >"$work/pipe"
wait $! 2>/dev/null || true
[ -z "$(ls "$work/killed")" ] || fail "a killed training left $(ls "$work/killed")"
echo "ok: killed, it leaves nothing"

expect 1 'cannot be trained: one of sentencepiece-unigram, ' "$loam" tokenizer train --kind klingon --out "$work/x" "$work/corpus.txt"
expect 1 '--max-sentences is not for tokenizers of kind byte-bpe' \
    "$loam" tokenizer train --kind byte-bpe --max-sentences 3 --out "$work/x" "$work/corpus.txt"
expect 1 '--sentinel-count is not for tokenizers of kind sentencepiece-unigram' \
    "$loam" tokenizer train --sentinel-count 1024 --out "$work/x" "$work/corpus.txt"
expect 1 'a vocabulary of 100 is too small' "$loam" tokenizer train --kind byte-bpe --vocab-size 100 --out "$work/x" "$work/corpus.txt"
printf '\n \n' >"$work/empty.txt"
for kind in byte-bpe wordpiece; do
    expect 1 'no text to train on' "$loam" tokenizer train --kind $kind --out "$work/x" "$work/empty.txt"
done
echo x >"$work/file"
expect 1 "$work/file" "$loam" tokenizer train --kind byte-bpe --out "$work/file" "$work/corpus.txt"
# Whether OUT can be written is known before any text is read: the pipe has no writer.
mkfifo "$work/never"
mkdir -p "$work/vocabulary/vocab.json" "$work/folder"
expect 1 'is a folder' timeout 900 "$loam" tokenizer train --out "$work/folder" "$work/never"
expect 1 'is a folder' \
    timeout 900 "$loam" tokenizer train --kind byte-bpe --out "$work/vocabulary" "$work/never"
mkdir "$work/sp" && cp "$work/tok.model" "$work/sp/spiece.model"
expect 1 'holds a tokenizer of kind sentencepiece-unigram' \
    "$loam" tokenizer train --kind byte-bpe --out "$work/sp" "$work/corpus.txt"
cp -r "$work/wordpiece" "$work/mine"
expect 1 'mine holds a tokenizer of kind wordpiece; choose another folder' \
    "$loam" tokenizer export --model "$work/tok.model" --out "$work/mine"
diff -r "$work/wordpiece" "$work/mine" || fail 'a refused export changed the folder'
[ ! -e "$work/x/vocab.json" ] || fail 'a failed training left a file'
