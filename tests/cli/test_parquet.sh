# labels: any-processor
# Files of Parquet as a corpus and as labelled data, and what is refused. Which values they hold: tests/format/test_parquet.c.
. tests/cli/lib.sh "$1"
golden=$source_dir/tests/golden/parquet
cd "$work"
cp "$golden"/bad.parquet "$golden"/types.parquet .
cp "$golden"/matrix-zstd-2.parquet matrix.parquet
prepare=("$loam" prepare --tokenizer bytes --replace --out data)

# A corpus: named files, folders, and standard input that is a file.
expect 0 'data: 12 documents' "${prepare[@]}" --keep-duplicates --field text_delta_byte_array_required matrix.parquet
expect 0 'data: 12 documents' "${prepare[@]}" --keep-duplicates --field 10 matrix.parquet
mkdir folder
cp bad.parquet folder/a.PARQUET
printf '{"text": "of a line"}\n' >folder/b.jsonl
expect 0 'data: 5 documents' "${prepare[@]}" --on-error skip folder
grep -qF 'left out: folder/a.PARQUET: row 2: column "text": bytes that are not UTF-8 (0xe9)' err || fail "$(cat err)"
"${prepare[@]}" --on-error skip --input-format parquet - <bad.parquet >out 2>err && grep -q 'data: 4 documents' out || fail "$(cat out err)"
expect 0 'since their licence is not wanted: 1' "${prepare[@]}" --on-error skip --licence-field label --licences A bad.parquet
expect 1 'bad.parquet: row 2: column "text": bytes that are not UTF-8 (0xe9)' "${prepare[@]}" bad.parquet
expect 1 'bad.parquet: no column "body" in the table; choose one with --field: "text", "label"' "${prepare[@]}" --field body bad.parquet
expect 1 'types.parquet: row 1: field "uint8" is a number, not a string' "${prepare[@]}" --field uint8 types.parquet
expect 0 'tok: 257 pieces' "$loam" tokenizer train --kind byte-bpe --vocab-size 257 --out tok folder/b.jsonl bad.parquet --on-error skip

# Columns that no one asks for may be damaged.
LC_ALL=C sed 's/the whale0/the Whale0/' "$golden"/matrix-none-2.parquet >damaged.parquet
expect 0 'data: 14 documents' "${prepare[@]}" --keep-duplicates --field fixed_plain_required damaged.parquet
damage='damaged.parquet: column "text_plain_required", row group 1: a page is damaged: its checksum (CRC) differs'
expect 1 "$damage" "${prepare[@]}" --field text_plain_required damaged.parquet
printf '{"text_plain_required": "of a line"}\n' >rest.jsonl
expect 0 "left out: $damage" "${prepare[@]}" --on-error skip --field text_plain_required damaged.parquet rest.jsonl

# What cannot be read.
gzip -k bad.parquet
expect 1 "bad.parquet.gz: Parquet, which has its own compression, is not read compressed; first: gunzip 'bad.parquet.gz'" \
    "${prepare[@]}" bad.parquet.gz
expect 1 '/dev/stdin: Parquet is read from a file, whose end comes first, not from a pipe' \
    bash -c "cat bad.parquet | '$loam' prepare --tokenizer bytes --out x --input-format parquet -"
cp bad.parquet bad.bin
expect 1 "bad.bin: a table in Parquet; first: mv 'bad.bin' 'bad.parquet', or for JSON lines python3 -c" "${prepare[@]}" bad.bin
head -c 300 bad.parquet >cut.parquet
expect 1 'cut.parquet: the end of the Parquet file is missing: it does not end with PAR1' "${prepare[@]}" cut.parquet

# Labelled data: templates lead into structs, lists and maps.
cat >task.yaml <<YAML
run: { dir: run }
model: { n_enc: 1, n_dec: 1, width: 16, ffn: 16, heads: 1, head_dim: 8 }
tokenizer: { path: bytes }
task: { data: types.parquet, input: "{turns.0.role} {map.a} {date} {decimal}", target: "{answers.text}", on_error: skip }
train: { length: 1 steps, batch: 1 samples, threads: 1 }
YAML
expect 0 'input   user 1 2026-02-28 -0.0001' "$loam" task show task.yaml
grep -q '^  target  a$' out || fail "$(cat out)"
expect 0 '' "$loam" train task.yaml
expect 0 'input   good' "$loam" task show task.yaml task.data=bad.bin task.format=parquet 'task.input={text}' 'task.target={label}'
expect 1 'types.parquet: row 1: no column "body"; there are date, milliseconds, ' "$loam" task show task.yaml 'task.input={body}'
expect 1 "bad.parquet: row 2: column \"text\": bytes that are not UTF-8 (0xe9); task.on_error=skip leaves such rows out" \
    "$loam" task show task.yaml task.data=bad.parquet 'task.input={text}' 'task.target={label}' task.on_error=stop
