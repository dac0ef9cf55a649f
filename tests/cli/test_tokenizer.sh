# labels: any-processor
# The tokenizer verb: train, encode, decode, describe, and what it says to mistakes.
. tests/cli/lib.sh "$1"
make_dataset
tok() { "$loam" tokenizer "$@"; }
tok train --vocab-size 100 --out "$work/small.model" "$work/corpus.txt" 2>/dev/null
same() { [ "$1" = "$2" ] || fail "\"$1\" is not \"$2\""; }

text='the cat sees a river <extra_id_1> today.'
same "$(echo "$text" | tok encode --model "$work/small.model" | tok decode --model "$work/small.model")" \
    'the cat sees a river <extra_id_1> today.'
same "$(printf 'a\n\nb' | tok encode --model "$work/small.model" | wc -l)" 3
same "$(echo 'the cat' | tok encode --model "$work/small.model" --pieces | tr -d ' ')" '▁the▁cat'
[ "$(echo '<extra_id_1>' | tok encode --model "$work/small.model" --plain)" != 198 ] || fail 'text became a sentinel'
same "$(echo '<extra_id_1>' | tok encode --model "$work/small.model")" 198
same "$(echo '199 0 1' | tok decode --model "$work/small.model")" '<extra_id_0>'
tok describe --model "$work/small.model" | grep -q '^size *200 with sentinels' || fail describe
tok describe --model "$work/small.model" --json | grep -q '"sentinels":\[199,100\]' || fail 'describe --json'
echo ok: round trips

# The same text gives the same bytes, whether it is a file, a folder or compressed.
mkdir "$work/folder" && gzip -c "$work/corpus.txt" >"$work/folder/corpus.txt.gz"
tok train --vocab-size 100 --out "$work/again.model" "$work/folder" 2>/dev/null
cmp "$work/small.model" "$work/again.model" || fail 'the same text, another model'
echo ok: same bytes

# A word of more than 4096 bytes teaches no kind anything: the file is that of the text without it.
head -c 5000 /dev/zero | tr '\0' q >"$work/word.txt"
(cat "$work/corpus.txt" && echo && cat "$work/word.txt") >"$work/with.txt"
for kind in unigram bpe byte-bpe/vocab.json wordpiece/vocab.txt; do
    name=${kind%/*}
    for text in corpus with; do
        tok train --kind "$name" --vocab-size 300 --out "$work/$name-$text" "$work/$text.txt" 2>"$work/err" || fail "$(cat "$work/err")"
    done
    grep -q 'words longer than [0-9,a-z ]* are left out of training: 1$' "$work/err" || fail "$(cat "$work/err")"
    cmp "$work/$name-corpus${kind#"$name"}" "$work/$name-with${kind#"$name"}" || fail "$name learned from it"
    expect 1 'no text to train on: every word is longer than' "$loam" tokenizer train --kind "$name" --out "$work/x.model" "$work/word.txt"
done
# A blank line is no word, however a file is read.
printf 'the cat sat on it\n\nthe dog ran by\n\n' >"$work/blank.md"
printf '{"text":"the cat sat on it\\n\\nthe dog ran by\\n"}\n' >"$work/blank.jsonl"
for name in blank.md blank.jsonl; do
    tok train --vocab-size 18 --out "$work/$name.model" "$work/$name" 2>"$work/err" || fail "$(cat "$work/err")"
    ! grep -q 'left out' "$work/err" || fail "$name: $(cat "$work/err")"
done
for _ in {1..600}; do printf '猫が見た。'; done >"$work/cats.txt"
tok train --vocab-size 9 --out "$work/cats.model" "$work/cats.txt" 2>"$work/err" || fail "$(cat "$work/err")"
! grep 'left out' "$work/err" || fail 'sentences without spaces were left out'

yes 'the cat' | tok encode --model "$work/small.model" 2>"$work/err" | head -n 1 >/dev/null || true
same "$(cat "$work/err")" ''
echo ok: a pipe closed early ends it quietly

# Lines are those of prepare: a byte order mark is none of them, and CRLF ends them; other CRs stay.
same "$(printf '\xef\xbb\xbfthe cat\r\nthe\rdog\r\n\r\nit\r' | tok encode --model bytes)" "$(printf '%s\n' "$(printf 'the cat' | tok encode --model bytes)" \
    "$(printf 'the\rdog' | tok encode --model bytes)" '' "$(printf 'it\r' | tok encode --model bytes)")"
same "$(printf '\xef\xbb\xbf%s\r\n' "$(echo it | tok encode --model bytes)" | tok decode --model bytes)" it
printf '\xef\xbb\xbfthe cat\r\n' >"$work/windows.txt"
"$loam" prepare --tokenizer bytes --out "$work/windows" "$work/windows.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
ids=$(tok encode --model bytes <"$work/windows.txt")
grep -q "^ $ids\( \|\$\)" < <(od -An -v -w512 -tu2 "$work/windows.bin" | tr -s ' ') || fail "prepare has other ids than $ids: $(od -An -tu2 "$work/windows.bin")"
mkdir "$work/marked"
printf '\xef\xbb\xbf[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nit\n' >"$work/marked/vocab.txt"
tok describe --model "$work/marked/vocab.txt" | grep -Eq '^padding +0  \[PAD\]$' || fail "a vocabulary with a byte order mark: $(tok describe --model "$work/marked/vocab.txt")"
echo ok: a file with a byte order mark and CRLF

# One line of text for each line of ids, and of pieces: line ends are printed as \n and \r, and a NUL, as U+FFFD, ends no text.
same "$(printf '100 13 101\n100 16 3 101\n3\n' | tok decode --model bytes)" 'a\nb
a\r�b
�'
mkdir "$work/lines"
echo '{"pre_tokenizer": null, "added_tokens": [], "model": {"type": "BPE", "unk_token": "<unk>", "merges": [],
       "vocab": {"\n": 0, "a": 1, "\r": 2, "<unk>": 3}}}' >"$work/lines/tokenizer.json"
same "$(printf '1 0 1\n0 2\n' | tok decode --model "$work/lines")" 'a\na
\n\r'
same "$(printf 'a\ra\n' | tok encode --pieces --model "$work/lines")" 'a \r a'
! tok describe --model "$work/lines" | sed '1,/^sample/d' | grep -v '^ *[0-3]  [\\a<]' || fail 'a piece of two lines'
echo ok: one line for each line

# A tokenizer.json with other tokens that loam cannot read leaves the vocabulary beside it in use, with a warning.
mkdir "$work/beside" && cp "$work/marked/vocab.txt" "$work/beside"
echo '{"normalizer": {"type": "NFKC"}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "added_tokens": [],
       "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "it": 1}}}' >"$work/beside/tokenizer.json"
same "$(echo it | tok encode --model "$work/beside" 2>"$work/err")" 5
grep -q 'beside/tokenizer.json: .*; .*beside/vocab.txt, which has other tokens, is read instead$' "$work/err" || fail "$(cat "$work/err")"
echo ok: a tokenizer.json that cannot be read

expect 1 'standard input, line 1: a line longer than 64 MiB' bash -c '"$0" tokenizer encode --model bytes </dev/zero' "$loam"
expect 1 'say what: one of train, encode' "$loam" tokenizer
expect 1 'unknown: trian, did you mean train?' "$loam" tokenizer trian
expect 1 '--model is missing' "$loam" tokenizer encode
expect 1 '--out is missing' "$loam" tokenizer train "$work/corpus.txt"
expect 1 'nothing to train on' "$loam" tokenizer train --out "$work/x.model"
expect 1 'did you mean --vocab-size' "$loam" tokenizer train --vocabsize 10 --out "$work/x.model" "$work/corpus.txt"
expect 1 'too large for this text: at most' \
    "$loam" tokenizer train --vocab-size 9000 --out "$work/x.model" "$work/corpus.txt"
expect 1 'corpus.txt: not a SentencePiece model' "$loam" tokenizer encode --model "$work/corpus.txt"
expect 0 '' "$loam" tokenizer encode --help
[ ! -e "$work/x.model" ] || fail 'a failed training left a file'
