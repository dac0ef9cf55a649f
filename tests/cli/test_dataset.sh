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

printf 'b a c\n\na b b\n' >"$work/words.txt"
printf 'c d\n' >"$work/others.txt"
words() { "$loam" prepare --format fairseq --out "$work/words" "$@"; }
expect 0 "words/train: 3 sentences, 9 tokens, 0 % replaced by <unk>" words --valid-files "$work/others.txt" "$work/words.txt"
printf 'b 3\na 2\nc 1\nmadeupword0000 0\n' | cmp - "$work/words/dict.txt" || fail "another dictionary"
expect 1 "words/dict.txt is there already" words "$work/words.txt"
expect 0 '"sentences":1,"tokens":3,"unknown":1' words --dict "$work/words/dict.txt" --json "$work/others.txt"
expect 1 "a pipe cannot be read twice" "$loam" prepare --format fairseq --out "$work/piped" <(cat "$work/words.txt")
expect 1 "--valid is not for lines of words" words --valid 1% "$work/words.txt"
expect 1 "--dict is not for documents" "$loam" prepare --tokenizer "$work/tok.model" --out "$work/x" --dict d "$work/words.txt"

lines() { "$loam" prepare --format fairseq --lines --tokenizer "$work/tok.model" --out "$work/lines" "$@" "$work/words.txt"; }
expect 0 "lines/test: 1 sentences" lines --test-files "$work/others.txt"
expect 0 "lines/train: 3 documents" "$loam" inspect dataset "$work/lines"
expect 1 "--min-count is not for lines (" lines --min-count 3
expect 1 "--lines is not for documents" "$loam" prepare --lines --tokenizer "$work/tok.model" --out "$work/x" "$work/words.txt"

printf '{"text": "ba ce", "summary": "ba"}\n{"text": "di fo gu", "summary": ""}\n' >"$work/fields.jsonl"
fields() { "$loam" prepare --tokenizer "$work/tok.model" --out "$work/f" "$@" "$work/fields.jsonl"; }
expect 0 "f_text_document: 2 documents" fields --fields text,summary
expect 0 "f_summary_document: 1 documents" fields --fields text,summary
expect 0 '"fields":{"text":{"documents":2,' fields --fields text,summary --json
[ -s "$work/f_summary_document.idx" ] || fail "f_summary_document.idx is missing"
expect 0 "f: 2 documents" fields --fields text
expect 1 '"text" comes twice' fields --fields text,text
expect 1 "use one of them" fields --fields text,summary --field text
expect 1 'no field "body" in the object' fields --fields text,body
expect 1 "has room for one dataset" fields --fields text,summary --format fairseq

expect 1 "frob is unknown, want merge, shuffle or split" "$loam" dataset frob x --out "$work/x"
expect 1 "--shares: 1,-2: up to three numbers" "$loam" dataset split "$work/all" --out "$work/x" --shares 1,-2
expect 1 "split wants one dataset and --shares" "$loam" dataset split "$work/all" --out "$work/x"
expect 1 "there is no dataset" "$loam" dataset shuffle "$work/nowhere" --out "$work/x"
expect 1 "--format arrow: megatron or fairseq is wanted" "$loam" prepare --format arrow --tokenizer "$work/tok.model" --out "$work/x" x

# A document that is no text any more is shown with what can be shown.
printf 'abcdef\n\nghijkl\n' >"$work/two.txt"
"$loam" prepare --tokenizer bytes --out "$work/bytes" "$work/two.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
printf '\310\000' | dd of="$work/bytes.bin" bs=1 seek=4 conv=notrunc status=none # the third token: byte 0xC5
expect 0 '"invalid_utf8":true' "$loam" inspect dataset "$work/bytes" --tokenizer bytes --documents 2 --json
grep -q 'ab�def' "$work/out" || fail "$(cat "$work/out")"
