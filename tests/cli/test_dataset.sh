# labels: any-processor
# Datasets from datasets: a shuffle cut into shares and merged again has the same counts; fairseq's form is kept.
. tests/cli/lib.sh "$1"
make_dataset

expect 0 "400 documents" "$loam" dataset merge "$work/data" "$work/data-valid" --out "$work/all"
expect 0 "400 documents" "$loam" dataset shuffle "$work/all" --out "$work/mixed" --seed 7
cmp -s "$work/all.bin" "$work/mixed.bin" && fail "the order did not change"
expect 0 "cut-valid: 20 documents" "$loam" dataset split "$work/mixed" --out "$work/cut" --shares 949,50,1
expect 0 "400 documents" "$loam" dataset merge "$work/cut-train" "$work/cut-valid" "$work/cut-test" --out "$work/back"
cmp "$work/mixed.bin" "$work/back.bin" && cmp "$work/mixed.idx" "$work/back.idx" && cmp "$work/mixed.json" "$work/back.json"
echo "ok: shares merged again are the whole, to the byte"

expect 0 "bin/train: " "$loam" prepare --format fairseq --tokenizer "$work/tok.model" --out "$work/bin" --valid 10% "$work/corpus.txt"
for file in dict.txt train.bin train.idx valid.bin valid.idx; do
    [ -s "$work/bin/$file" ] || fail "$file is missing"
done
expect 0 "documents" "$loam" dataset shuffle "$work/bin" --out "$work/bin2/train"
[ "$(stat -c %s "$work/bin/train.idx")" = "$(stat -c %s "$work/bin2/train.idx")" ] || fail "the form changed"
"$loam" train "$work/config.yaml" run.dir="$work/run" 'train.length=1 steps' data.train="$work/bin" \
    data.valid="$work/bin/valid" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '"kind":"train"' "$work/run/metrics.jsonl" || fail "training does not read fairseq's folder"
echo "ok: training reads fairseq's folder"

# So it does a folder of words, as fairseq-preprocess makes it: its dictionary is the tokenizer.
"$loam" prepare --format fairseq --out "$work/worded" --valid-files "$work/corpus.txt" "$work/corpus.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
expect 0 'step 3  held-out loss' "$loam" train "$work/config.yaml" run.dir="$work/of-words" tokenizer.path="$work/worded" data.train="$work/worded" \
    data.valid="$work/worded/valid" model.family=gpt model.n_enc=0 data.objective=clm train.length='3 steps' data.compat=fairseq
cmp "$work/worded/dict.txt" "$work/of-words/dict.txt" || fail "the run keeps no dictionary"
line=$(sed -n 1p "$work/corpus.txt")
[ "$(printf '  %s\tzzz\n' "$line" | "$loam" tokenizer encode --model "$work/of-words" | "$loam" tokenizer decode --model "$work/worded")" = "$line <unk>" ] ||
    fail "words that are encoded and decoded"
expect 0 "loss" "$loam" eval "$work/of-words"
[ -n "$(printf '%s\n' "$line" | "$loam" generate --model "$work/of-words" --max-tokens 3)" ] || fail "nothing generated from words"
expect 1 "made with another tokenizer" "$loam" train "$work/config.yaml" run.dir="$work/other-words" data.train="$work/worded" tokenizer.path="$work/tok.model"
echo "ok: training reads fairseq's words"

expect 0 "2-gram  loss" "$loam" inspect ngrams "$work/data" "$work/data-valid" --tokenizer "$work/tok.model" --order 2
[ "$(grep -c 'bits per byte$' "$work/out")" = 2 ] || fail "two models: $(cat "$work/out")"
loss=$(sed -n 's/^2-gram  loss \([0-9.]*\).*/\1/p' "$work/out")
"$loam" inspect ngrams "$work/data" "$work/data-valid" --json --order 2 >"$work/out"
exact=$(sed -n 's/.*"order":2,"loss":\([0-9.]*\)}.*/\1/p' "$work/out")
[ "$(printf %.4f "$exact")" = "$loss" ] || fail "the loss $loss in --json: $(cat "$work/out")"
expect 1 "--order 9 is out of range: 1 to 8" "$loam" inspect ngrams "$work/data" "$work/data-valid" --order 9
expect 1 "two datasets are wanted" "$loam" inspect ngrams "$work/data"
echo "ok: what counting predicts"

expect 0 "of a vocabulary of 300" "$loam" inspect dataset "$work/data" --check
printf 'four\n\nand eleven \n' >"$work/two.txt"
"$loam" prepare --tokenizer bytes --out "$work/two" "$work/two.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
expect 1 "made with different tokenizers" "$loam" inspect ngrams "$work/two" "$work/data-valid"
expect 0 'least 4, median 7.5, mean 7.5, most 11' "$loam" inspect dataset "$work/two"

# An objective that ends its samples itself leaves out the end that a document has in the dataset, so that none has two.
"$loam" prepare --tokenizer bytes --append-eod --out "$work/ended" "$work/two.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
for family in 'model.n_dec=1' 'model.family=gpt model.n_enc=0'; do
    # shellcheck disable=SC2086
    expect 0 ',1]' "$loam" inspect batch "$work/config.yaml" $family --json tokenizer.path=bytes data.objective=prefix_lm \
        data.train="$work/ended" data.valid= data.target_length=0 'train.batch=2 samples'
    ! grep -q ',1,1]' "$work/out" || fail "two ends: $(cat "$work/out")"
done
cp "$work/data.bin" "$work/bad.bin" && cp "$work/data.idx" "$work/bad.idx" && cp "$work/data.json" "$work/bad.json"
printf '\377\377' | dd of="$work/bad.bin" bs=2 seek=1000 conv=notrunc status=none
expect 1 "1 of " "$loam" inspect dataset "$work/bad" --check
grep -q "the first, 65535, is in document" "$work/err" || fail "the place is not told: $(cat "$work/err")"
expect 1 '"largest":65535' "$loam" inspect dataset "$work/bad" --check --json
expect 0 "documents" "$loam" inspect dataset "$work/bad"
# The same ids as int16 of another program, whose vocabulary is not known.
cp "$work/bad.bin" "$work/signed.bin" && cp "$work/bad.idx" "$work/signed.idx"
printf '\003' | dd of="$work/signed.idx" bs=1 seek=17 conv=notrunc status=none
expect 1 "token ids are negative: the first, -1, is in document" "$loam" inspect dataset "$work/signed" --check
! grep -q 'loam prepare' "$work/err" || fail "loam did not make it: $(cat "$work/err")"

# Where memory is refused prepare ends with one line and status 2, and leaves nothing; where is the allocator's affair.
if (ulimit -v 2000000 && "$loam" --version) >/dev/null 2>&1; then # not under a sanitizer
    refused=0
    for limit in 40000 60000 70000 80000 90000 100000 120000; do
        (ulimit -v $limit && "$loam" --version) >/dev/null 2>&1 || continue # its libraries do not start with so little
        mkdir "$work/limit" && status=0
        (ulimit -v $limit && exec "$loam" prepare --tokenizer bytes --workers 8 --out "$work/limit/d" \
            "$work/corpus.txt") >/dev/null 2>"$work/err" || status=$?
        [ $status = 0 ] || [ -z "$(ls -A "$work/limit")" ] || fail "left behind: $(ls -A "$work/limit")"
        [ $status != 2 ] || [ "$(grep -c '^loam[: ]' "$work/err")" = 1 ] || fail "not one line: $(cat "$work/err")"
        [ $status != 2 ] || refused=$((refused + 1))
        [ $status -le 2 ] || fail "status $status at ulimit -v $limit: $(cat "$work/err")"
        rm -r "$work/limit"
    done
    [ $refused -gt 0 ] || fail "memory was never refused"
    echo "ok: refused memory is one line"
fi

printf 'b a c\n\na b b\n' >"$work/words.txt"
printf 'c d\n' >"$work/others.txt"
words() { "$loam" prepare --replace --format fairseq --out "$work/words" "$@"; }
expect 0 "words/train: 3 sentences, 9 tokens, 0 % replaced by <unk>" words --valid-files "$work/others.txt" "$work/words.txt"
printf 'b 3\na 2\nc 1\nmadeupword0000 0\n' | cmp - "$work/words/dict.txt" || fail "another dictionary"
expect 1 "words/dict.txt is there already" words "$work/words.txt"
expect 0 '"sentences":1,"tokens":3,"unknown":1' words --dict "$work/words/dict.txt" --json "$work/others.txt"
expect 1 "a pipe cannot be read twice" "$loam" prepare --format fairseq --out "$work/piped" <(cat "$work/words.txt")
expect 1 "--valid is not for lines of words" words --valid 1% "$work/words.txt"
expect 1 "--dict is not for documents" "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/x" --dict d "$work/words.txt"

lines() { "$loam" prepare --format fairseq --lines --replace --tokenizer "$work/tok.model" --out "$work/lines" "$@" "$work/words.txt"; }
expect 0 "lines/test: 1 sentences" lines --test-files "$work/others.txt"
expect 0 "lines/train: 3 documents" "$loam" inspect dataset "$work/lines"
expect 1 "--min-count is not for lines (" lines --min-count 3
expect 1 "--lines is not for documents" "$loam" prepare --lines --tokenizer "$work/tok.model" --replace --out "$work/x" "$work/words.txt"

printf '{"text": "ba ce", "summary": "ba"}\n{"text": "di fo gu", "summary": ""}\n' >"$work/fields.jsonl"
fields() { "$loam" prepare --replace --tokenizer "$work/tok.model" --out "$work/f" "$@" "$work/fields.jsonl"; }
expect 0 "f_text_document: 2 documents" fields --fields text,summary
expect 0 "f_summary_document: 1 documents" fields --fields text,summary
expect 0 '"fields":{"text":{"documents":2,' fields --fields text,summary --json
[ -s "$work/f_summary_document.idx" ] || fail "f_summary_document.idx is missing"
expect 0 "f: 2 documents" fields --fields text
expect 1 '"text" comes twice' fields --fields text,text
expect 1 "use one of them" fields --fields text,summary --field text
expect 1 'no field "body" in the record' fields --fields text,body
expect 1 "holds one dataset" fields --fields text,summary --format fairseq

expect 0 "400 documents" "$loam" dataset merge "$work/all" --out "$work/one"
cmp "$work/all.bin" "$work/one.bin" && cmp "$work/all.idx" "$work/one.idx"
expect 1 "frob is unknown, want merge, shuffle or split" "$loam" dataset frob x --out "$work/x"
expect 1 "--shares: 1,-2: up to three numbers" "$loam" dataset split "$work/all" --out "$work/x" --shares 1,-2
expect 1 "split needs one dataset and --shares" "$loam" dataset split "$work/all" --out "$work/x"
echo '{"text": "x"}' >"$work/qa.jsonl"
expect 1 "is a file, not a token dataset; make one of it: loam prepare --tokenizer TOK --out $work/qa $work/qa.jsonl; if it is a table of examples, it is task.data" \
    "$loam" train "$work/config.yaml" run.dir="$work/no" data.train="$work/qa.jsonl"
cp "$work/qa.jsonl" "$work/QA.JSONL"
expect 1 "if it is a table of examples, it is task.data" \
    "$loam" train "$work/config.yaml" run.dir="$work/no" data.train="$work/QA.JSONL"
expect 1 "is a file of a dataset, which is named without suffix: $work/data" "$loam" dataset shuffle "$work/data.bin" --out "$work/x"
printf 'id,body\n1,ba\n' >"$work/rows.csv"
expect 1 'rows.csv: no column "text" in the table; choose one with --field: "id", "body"' "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/x" "$work/rows.csv"
mkdir "$work/rows" && cp "$work/rows.csv" "$work/rows/" && printf 'ba\r\nce\r\n' >"$work/rows/dos.txt"
printf '\x89PNG\r\n\xff' >"$work/rows/a.png" # no text, so nothing is said of its lines
expect 0 "rows.csv is left out: tables are read if they are named, not from folders" "$loam" prepare --tokenizer bytes --paragraphs --replace --out "$work/x" "$work/rows"
[ "$(grep -c 'dos.txt: lines end in CRLF: the text is read without the CRs$' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
! grep -q 'a.png: lines' "$work/err" && grep -q 'left out: .*/a.png: not UTF-8 text' "$work/err" || fail "a file that is no text: $(cat "$work/err")"
cp "$work/rows.csv" "$work/rows/b.csv" && cp "$work/rows/dos.txt" "$work/rows/e.txt"
expect 0 "b.csv and 1 more are left out" "$loam" prepare --tokenizer bytes --whole-file --replace --out "$work/x" "$work/rows"
[ "$(grep -c 'lines end in CRLF: the text is read without the CRs' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
mkdir "$work/lf" "$work/crlf" # the same text, in every kind of file
printf 'ba ce\n\ndi fo\n' | tee "$work/lf/a.txt" "$work/lf/b.md" >/dev/null
printf 'ba ce\r\n\r\ndi fo\r\n' | tee "$work/crlf/a.txt" "$work/crlf/b.md" >/dev/null
printf '{"text": "gu\\nha"}\n' >"$work/lf/c.jsonl" && printf '{"text": "gu\\r\\nha"}\r\n' >"$work/crlf/c.jsonl"
for ends in lf crlf; do
    for way in --whole-file --paragraphs; do
        "$loam" prepare --tokenizer bytes --keep-duplicates $way --out "$work/$ends$way" "$work/$ends" >/dev/null 2>"$work/err"
        [ "$(grep -c CRLF "$work/err")" = $([ $ends = crlf ] && echo 1 || echo 0) ] || fail "$ends: $(cat "$work/err")"
    done
    "$loam" tokenizer train --kind byte-bpe --vocab-size 262 --min-frequency 1 --out "$work/$ends-tok" "$work/$ends" 2>/dev/null
done
cmp "$work/lf--whole-file.bin" "$work/crlf--whole-file.bin" && cmp "$work/lf--paragraphs.bin" "$work/crlf--paragraphs.bin" &&
    cmp "$work/lf-tok/tokenizer.json" "$work/crlf-tok/tokenizer.json" || fail "CRLF is not read as LF"
printf '{"text": "a\\u0000b"}\n' >"$work/nul.jsonl"
expect 0 "NUL characters replaced by U+FFFD: 1" "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/x" "$work/nul.jsonl"
awk 'BEGIN { for (i = 0; i < 1200000; i++) printf "%d", i % 10 }' >"$work/long.txt"
expect 1 "a line longer than 1.0 MiB (--max-document takes longer ones)" "$loam" prepare --tokenizer "$work/tok.model" \
    --max-document 1 --replace --out "$work/x" "$work/long.txt"
printf 'ba ce\n\nba ce\n\ndi fo\n' >"$work/novel.txt"
expect 0 "cut at blank lines into 3 documents" "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/x" "$work/novel.txt"
"$loam" tokenizer train --kind byte-bpe --vocab-size 300 --out "$work/bpe" "$work/corpus.txt" 2>/dev/null
expect 0 "x: 1 documents" "$loam" prepare --tokenizer "$work/bpe" --replace --out "$work/x" "$work/novel.txt"
expect 0 "x: 2 documents" "$loam" prepare --tokenizer "$work/bpe" --paragraphs --replace --out "$work/x" "$work/novel.txt"
cp "$work/novel.txt" "$work/novel.md"
cp "$work/novel.txt" "$work/NOVEL.TXT"
expect 0 "warning: --paragraphs: without effect, since no file is .txt" "$loam" prepare --tokenizer "$work/bpe" --paragraphs --replace --out "$work/x" "$work/novel.md"
for name in "--input-format=text novel.md" "--workers=1 NOVEL.TXT"; do
    expect 0 "x: 2 documents" "$loam" prepare --tokenizer "$work/bpe" --paragraphs --replace --out "$work/x" ${name% *} "$work/${name##* }"
done
expect 1 "exclude each other" "$loam" prepare --tokenizer "$work/bpe" --paragraphs --whole-file --replace --out "$work/x" "$work/novel.txt"
expect 1 "there is no dataset" "$loam" dataset shuffle "$work/nowhere" --out "$work/nothing"
expect 1 "--format arrow: megatron or fairseq is wanted" "$loam" prepare --format arrow --tokenizer "$work/tok.model" --replace --out "$work/x" x

# A document that is no text any more is shown with what can be shown.
printf 'abcdef\n\nghijkl\n' >"$work/two.txt"
"$loam" prepare --tokenizer bytes --out "$work/bytes" "$work/two.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
printf '\310\000' | dd of="$work/bytes.bin" bs=1 seek=4 conv=notrunc status=none # the third token: byte 0xC5
expect 0 'abdef' "$loam" inspect dataset "$work/bytes" --tokenizer bytes --documents 2 --json # as ByT5's tokenizer, which leaves it out
echo é >"$work/accent.txt"
"$loam" prepare --tokenizer "$work/bpe" --paragraphs --out "$work/accent" "$work/accent.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
head -c 2 "$work/accent.bin" >"$work/half" && dd if="$work/half" of="$work/accent.bin" bs=2 seek=1 conv=notrunc status=none # its first byte twice
expect 0 '"invalid_utf8":true' "$loam" inspect dataset "$work/accent" --tokenizer "$work/bpe" --documents 1 --json
grep -q '��' "$work/out" || fail "$(cat "$work/out")"

# Nothing that a run may use is replaced unless --replace says so: datasets, their held-out parts, tokenizers.
kept() { "$loam" prepare --tokenizer "$work/tok.model" --out "$work/kept" "$@"; }
expect 0 "kept-valid: " kept --valid "10 %" "$work/corpus.txt"
cp "$work/kept-valid.idx" "$work/before.idx"
expect 1 "kept exists, and runs may use it: give another --out, or --replace to replace it" kept "$work/corpus.txt"
expect 1 "kept exists" kept --valid 10% "$work/corpus.txt"
rm "$work/kept.idx"
expect 1 "kept-valid exists" kept --valid 20% "$work/corpus.txt"
cmp "$work/kept-valid.idx" "$work/before.idx" || fail "the held-out part was touched"
expect 0 "kept: " kept --replace --valid 20% "$work/corpus.txt"
expect 1 "words/train exists" "$loam" prepare --format fairseq --dict "$work/words/dict.txt" --out "$work/words" "$work/others.txt"
expect 1 "all exists" "$loam" dataset shuffle "$work/data" --out "$work/all"
expect 1 "all exists" "$loam" dataset merge "$work/data" --out "$work/all"
expect 1 "cut-valid exists" "$loam" dataset split "$work/data" --out "$work/cut" --shares 0,50,1
expect 0 "cut-valid: " "$loam" dataset split "$work/data" --replace --out "$work/cut" --shares 949,50,1
cp "$work/tok.model" "$work/own.model"
expect 1 "own.model exists" "$loam" tokenizer train --vocab-size 150 --out "$work/own.model" "$work/corpus.txt"
cmp "$work/tok.model" "$work/own.model"
expect 0 "own.model: 150 pieces" "$loam" tokenizer train --replace --vocab-size 150 --out "$work/own.model" "$work/corpus.txt"
expect 1 "bpe exists" "$loam" tokenizer train --kind byte-bpe --vocab-size 300 --out "$work/bpe" "$work/corpus.txt"

# Killed at any rename while documents are held out anew: the old held-out set never lies beside the new training set.
"$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/anew" --valid 30% "$work/corpus.txt" >"$work/out" 2>"$work/err"
cp "$work/anew.bin" "$work/before.bin"
for n in 1 2 3 4 5 6; do
    "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/anew" --valid 30% "$work/corpus.txt" >"$work/out" 2>"$work/err"
    cp "$work/anew-valid.bin" "$work/before-valid.bin"
    { LOAM_FAULT=rename:$n "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/anew" --valid 5% "$work/corpus.txt" || true; } \
        >"$work/out" 2>&1
    if [ -e "$work/anew.idx" ] && ! cmp -s "$work/anew.bin" "$work/before.bin" && [ -e "$work/anew-valid.idx" ]; then
        ! cmp -s "$work/anew-valid.bin" "$work/before-valid.bin" || fail "rename $n: the old held-out set beside the new training set"
    fi
done
echo "ok: held out anew"

# The folder is removed while a command writes there, and another one writes a dataset of the same name: that one stays.
mkfifo "$work/pipe"
"$loam" prepare --tokenizer "$work/tok.model" --out "$work/gone/set" --valid 30% "$work/pipe" >"$work/log" 2>&1 &
pid=$!
exec 3<>"$work/pipe" # which waits for nobody
cat "$work/corpus.txt" >&3
until_true test -e "$work/gone/set-valid.bin.tmp"
rm -r "$work/gone"
expect 0 "gone/set" "$loam" prepare --tokenizer "$work/tok.model" --out "$work/gone/set" --valid 20% "$work/corpus.txt"
cp -r "$work/gone" "$work/kept-set"
exec 3>&-
wait "$pid" && fail "it wrote into another's folder"
grep -q 'gone/set was removed or replaced while it was written' "$work/log" || fail "$(cat "$work/log")"
diff -r "$work/gone" "$work/kept-set"
echo "ok: a dataset of another command stays"
