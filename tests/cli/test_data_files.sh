# Files that are not UTF-8 text: every verb that reads text says the same about one, and what to type. Which file is which:
# tests/base/test_foreign.c. JSON lines on a pipe, and what is left out, are told.
. tests/cli/lib.sh "$1"
cd "$work"
printf '\377\376h\0i\0\n\0' >wide.txt
printf 'ARROW1\0\0' >part.feather
mkdir -p saved more/saved && echo '{}' | tee saved/dataset_info.json saved/state.json more/saved/dataset_info.json >more/saved/state.json
printf '{"text": "caf\351"}\n' >old.jsonl
printf '{"text": "one two"}\n{"text": 7}\n{"text": "three four"}\n' >some.jsonl
cat >task.yaml <<YAML
run: { dir: run }
model: { n_enc: 1, n_dec: 1, width: 16, ffn: 16, heads: 1, head_dim: 8 }
tokenizer: { path: bytes }
task: { data: some.jsonl, on_error: skip, input: "{text}", target: "{text}" }
train: { length: 1 steps, batch: 1 samples, threads: 1 }
YAML
"$loam" train task.yaml 2>err || fail "$(cat err)"

for file in wide.txt part.feather saved old.jsonl; do
    case $file in
    wide.txt) says="UTF-16, as its byte order mark says; first: iconv -f UTF-16 -t UTF-8" ;;
    part.feather) says="a table in Feather; first: python3 -c \"import pandas; pandas.read_feather(" ;;
    saved) says="a folder of \`datasets\`, whose texts are in .arrow files; first: python3 -c \"import datasets; datasets.load_from_disk('saved').to_json('saved.jsonl')" ;;
    old.jsonl) says="not UTF-8 (byte 0xe9); convert the file: iconv -t UTF-8 -f LATIN1, or WINDOWS-1252, SHIFT-JIS" ;;
    esac
    expect 1 "$says" "$loam" prepare --tokenizer bytes --out data $file
    expect 1 "$says" "$loam" tokenizer train --vocab-size 300 --out tok.model $file
    expect 1 "$says" "$loam" task show task.yaml task.data=$file
    expect 1 "$says" "$loam" train task.yaml run.dir=other task.data=$file
    [ -d $file ] && continue
    expect 1 "$says" bash -c "'$loam' predict run --jsonl <$file"
    expect 1 "$says" bash -c "'$loam' generate --model run <$file"
    expect 1 "$says" bash -c "'$loam' tokenizer encode --model bytes <$file"
    expect 1 "$says" "$loam" scores exact_match $file some.jsonl
done

# A pipe has no name: its first line tells JSON lines, or --input-format. "-" is standard input.
documents() { # documents N 'TEXT' INPUT ARGUMENT…: prepare makes N documents of the input, the first of them TEXT
    "$loam" prepare --tokenizer bytes --replace --out piped "${@:4}" <"$3" >out 2>err || fail "$*: $(cat err)"
    "$loam" inspect dataset piped --tokenizer bytes --documents 1 >first
    grep -q "^piped: $1 documents" out && grep -qF -- "$2" first || fail "$*: $(cat out first)"
}
printf '{"text": "one two"}\n{"text": "three four"}\n' >two
documents 2 'one two' two -
grep -qF '/dev/stdin: its first line is a JSON object: read as JSON lines (--input-format text: as it is)' err || fail "$(cat err)"
documents 1 '{"text": "one two"}' two --input-format text -
cp two two.rows
documents 2 'one two' two --input-format jsonl two.rows
documents 1 '{"text": "one two"}' two --input-format file two.rows
cp two two.JSONL
documents 2 'one two' two two.JSONL
printf 'id;text\n1;one\n' >rows.csv
documents 1 'id;text' two --input-format text rows.csv
seq 1 3 >numbers
documents 1 '1' numbers /dev/stdin
echo "ok: pipes, and files whose names say nothing"
expect 1 '--input-format none-such: tsv, ' "$loam" prepare --tokenizer bytes --out x --input-format none-such rows.csv
expect 1 'no field "text" in the record; choose one with --field: "body"' bash -c "echo '{\"body\": \"b\"}' | '$loam' prepare --tokenizer bytes --out x -"
"$loam" tokenizer train --vocab-size 300 --kind byte-bpe --out piped-tok - <two 2>err || fail "$(cat err)"
"$loam" tokenizer train --vocab-size 300 --kind byte-bpe --out named-tok some.jsonl --on-error skip 2>err || fail "$(cat err)"
cmp piped-tok/tokenizer.json named-tok/tokenizer.json || fail "the pipe gave other text"
grep -qF 'left out: some.jsonl:2: field "text" is a number, not a string' err && grep -qF 'documents left out, since they could not be read: 1' err || fail "$(cat err)"
echo "ok: tokenizer train reads JSON lines on a pipe, and leaves out and names what cannot be read"

# A row of a table is a document: its column "text", or those that are named.
printf 'id,text,body\n1,"one, ""two""\n\nthree",b\n2,four,c\n' >table.csv
printf 'id\ttext\n1\t"one\n2\ttwo\n3\tfour\n' | zstd -q >table.tsv.zst
documents 2 'one, "two"' two table.csv
documents 2 'one, "two"' table.csv --input-format csv -
documents 2 'b' two --field body --field id table.csv
documents 3 '"one' two table.tsv.zst
documents 2 'id' two --input-format text table.csv
printf 'id\ttext\n' | tee small.tab >large.TAB
documents 1 'id' two small.tab
documents 1 'id' two large.TAB
tr ',' ';' <table.csv >semicolons.csv
documents 2 'one; "two"' two --delimiter ';' semicolons.csv
documents 2 'one; "two"' semicolons.csv --delimiter ';' --input-format csv - && ! grep -q without err || fail "$(cat err)"
documents 2 'id;text' semicolons.csv --delimiter ';' -
grep -qF 'delimiter: without effect on /dev/stdin, which is not read as a table (--input-format csv: as one)' err || fail "$(cat err)"
tr '\n' '\r' <table.csv >mac.csv
documents 2 'one, "two"' two mac.csv
! grep -q 'lines end' err || fail "$(cat err)"
printf 'one\rtwo\r' >mac.txt
documents 1 'one' two mac.txt
grep -qF 'mac.txt: lines end in CR, as on old Macs: each CR is read as a line end' err || fail "$(cat err)"
expect 1 "semicolons.csv: a table separated by semicolons, not commas: give --delimiter=';' (',' if it has one column)" "$loam" prepare --tokenizer bytes --out x semicolons.csv
expect 1 '--delimiter :: one of , ; | and \t is wanted' "$loam" prepare --tokenizer bytes --out x --delimiter : table.csv
printf 'id,body\n1,one\n2,two\n' >named.csv
for verb in 'prepare --tokenizer bytes' 'tokenizer train --vocab-size 300'; do
    expect 1 'named.csv: no column "text" in the table; choose one with --field: "id", "body"' "$loam" $verb --out x named.csv
done
printf 'text,n\none,1\n"two,2\nthree,3\n' >open.csv
expect 1 'open.csv:3: column 1: a quote is opened and never closed' "$loam" prepare --tokenizer bytes --out x open.csv
expect 0 'skipped, since they could not be read: 1' "$loam" prepare --tokenizer bytes --out x --on-error skip open.csv
grep -q '^x: 2 documents' out || fail "$(cat out)"
mkdir -p tables && cp table.csv tables/ && cp two tables/two.txt
"$loam" prepare --tokenizer bytes --replace --out piped tables 2>err >out || fail "$(cat err)"
grep -qF 'tables/table.csv is left out: tables are read if they are named, not from folders' err || fail "$(cat err)"
"$loam" prepare --tokenizer bytes --replace --fields text,body --out apart table.csv >out 2>err || fail "$(cat err)"
grep -q '^apart_body_document: 2 documents' out || fail "$(cat out)"
expect 1 'no column "nope" in the table; choose one with --fields: ' "$loam" prepare --tokenizer bytes --fields text,nope --out x table.csv
expect 1 'table.csv: records with fields, not lines of text; --format fairseq reads a field' "$loam" prepare --format fairseq --out worded table.csv
"$loam" tokenizer train --vocab-size 300 --kind byte-bpe --out csv-tok named.csv --field body 2>err || fail "$(cat err)"
echo "ok: prepare and tokenizer train read tables"

# What is left out is named, the first ten; in a folder, also files that are not text.
for i in $(seq 12); do printf '\377' >more/$i.dat; done
seq 1 12 | sed 's/.*/{"text": &}/' >more/a.jsonl
cp two more/b.jsonl
expect 0 'skipped, since they could not be read: 12' "$loam" prepare --tokenizer bytes --out more-data --on-error skip more
[ "$(grep -c 'left out: more/a.jsonl:[0-9]*: field "text" is a number' err)" = 10 ] || fail "$(cat err)"
[ "$(grep -c 'left out: more/[0-9]*.dat: not UTF-8 text' err)" = 10 ] && grep -q 'files ignored, since they are not text: 12' out || fail "$(cat out err)"
grep -qF 'left out: more/saved: a folder of `datasets`' err && grep -q '^more-data: 2 documents' out || fail "$(cat out err)"

# A token dataset in a folder is no text: its JSON was a document of the next dataset.
mkdir beside && cp two beside/a.txt
"$loam" prepare --tokenizer bytes --out beside/one beside >out 2>err || fail "$(cat err)"
expect 0 'beside/one.bin and 2 more are left out: a token dataset is no text' "$loam" prepare --tokenizer bytes --out beside/other beside
cmp beside/one.bin beside/other.bin || fail "$(cat err)"

# A bad line of a prompt is named; with --on-error skip the others are answered, in `predict --out` also by a second command.
printf '{"text": "one"}\n{"text": \n{"body": "two"}\n{"text": "three"}\n' >torn.jsonl
for ask in 'generate --model run --jsonl text --json --max-tokens 2 --batch 1' 'predict run --jsonl --json'; do
    expect 1 'standard input, line 2: ' bash -c "'$loam' $ask <torn.jsonl"
    [ "$(wc -l <out)" = 1 ] || fail "$ask: the line before is not answered: $(cat out)"
    "$loam" $ask --on-error skip <torn.jsonl >out 2>err || fail "$ask: $(cat err)"
    [ "$(wc -l <out)" = 2 ] && grep -q 'left out: standard input, line 2: .*not JSON' err && grep -q 'left out: standard input, line 3: ' err &&
        grep -qF 'lines left out, since they could not be read: 2' err || fail "$ask: $(cat out err)"
done
"$loam" predict run --jsonl --on-error skip --out answers.jsonl <torn.jsonl 2>err || fail "$(cat err)"
cp answers.jsonl whole.jsonl && head -n 1 whole.jsonl >answers.jsonl
"$loam" predict run --jsonl --on-error skip --out answers.jsonl <torn.jsonl 2>err || fail "$(cat err)"
cmp answers.jsonl whole.jsonl && [ "$(wc -l <whole.jsonl)" = 2 ] || fail "$(cat answers.jsonl err)"
# So are those of embed, whose lines are numbered then, and of eval --score, also by a second command.
expect 1 'standard input, line 2: ' bash -c "'$loam' embed --model run --jsonl text <torn.jsonl"
"$loam" embed --model run --jsonl text --on-error skip <torn.jsonl >out 2>err || fail "embed: $(cat err)"
[ "$(grep -o '"line":[0-9]*' out | tr '\n' ' ')" = '"line":1 "line":4 ' ] && grep -q 'left out: standard input, line 3: ' err || fail "$(cat out err)"
expect 1 '--npy writes one row per line: leave out --on-error skip' "$loam" embed --model run --npy matrix.npy --on-error skip
printf '{"input": "one", "target": "two"}\n{"input": \n{"input": "one"}\n{"input": "two", "target": "one"}\n' >pairs.jsonl
expect 1 'pairs.jsonl:2: not JSON' "$loam" eval run --score pairs.jsonl
"$loam" eval run --score pairs.jsonl --on-error skip --out scored.jsonl >out 2>err || fail "$(cat err)"
[ "$(grep -o '"line":[0-9]*' scored.jsonl | tr '\n' ' ')" = '"line":1 "line":4 ' ] && grep -qF 'left out: pairs.jsonl:3: no text' err &&
    grep -qF 'lines left out, since they could not be read: 2' err || fail "$(cat scored.jsonl err)"
cp scored.jsonl whole.jsonl && head -n 1 whole.jsonl >scored.jsonl
"$loam" eval run --score pairs.jsonl --on-error skip --out scored.jsonl >out 2>err || fail "$(cat err)"
cmp scored.jsonl whole.jsonl || fail "$(cat scored.jsonl err)"
"$loam" eval run --score <(sed -n '1s/^/\xef\xbb\xbf/p' pairs.jsonl) >out 2>err || fail "a byte order mark: $(cat err)"
cmp out <(sed -n 1p whole.jsonl) || fail "a line with a byte order mark has another score: $(cat out)"
expect 1 '--on-error is for the lines of --score' "$loam" eval run --on-error skip
echo "ok: bad lines of generate, predict, embed and eval --score"

# No output of an earlier command is replaced unless --replace says so, whichever of the outputs it is.
"$loam" tokenizer export --model piped-tok --out hf 2>err || fail "$(cat err)"
expect 1 'hf exists, and runs may use it: give another --out, or --replace' "$loam" tokenizer export --model piped-tok --out hf
"$loam" tokenizer export --model piped-tok --out hf --replace 2>err || fail "$(cat err)"
"$loam" prepare --format fairseq --tokenizer bytes --lines --out bin --valid-files numbers,numbers numbers >out 2>err || fail "$(cat err)"
rm bin/train.* bin/valid.*
expect 1 'bin/valid1 exists' "$loam" prepare --format fairseq --tokenizer bytes --lines --out bin --valid-files numbers,numbers numbers
expect 0 'bin/train: 3 sentences' "$loam" prepare --format fairseq --tokenizer bytes --lines --out bin --valid-files numbers numbers
expect 0 'two: 2 examples' "$loam" task prepare --out set task.yaml task.valid=two task.format=jsonl
rm set.*
expect 1 'set-valid exists' "$loam" task prepare --out set task.yaml task.valid=two task.format=jsonl
expect 0 'some.jsonl: 3 examples' "$loam" task prepare --out set task.yaml
