# labels: any-processor
# Folders that are not what they look like: pointers of Git LFS, names of models elsewhere, tokenizers of other kinds.
. tests/cli/lib.sh "$1"
fixture=tests/parity/bert

# pointer FILE: what a clone without Git LFS has in place of a large file.
pointer() {
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 440473133\n' 7 >"$1"
}
lfs="is a Git LFS pointer, not the file itself: run git lfs pull"

mkdir "$work/model"
cp "$fixture"/config.json "$work/model/"
pointer "$work/model/model.safetensors"
expect 1 "$work/model/model.safetensors $lfs" "$loam" import "$work/model" --out "$work/x"
expect 1 "$lfs" "$loam" export "$work/model" --to hf --out "$work/x"
cp "$fixture"/model.safetensors "$work/model/"
pointer "$work/model/config.json"
expect 1 "$work/model/config.json $lfs" "$loam" import "$work/model" --out "$work/x"
cp "$fixture"/config.json "$work/model/"
for file in tokenizer.json vocab.txt tokenizer.model; do
    pointer "$work/model/$file"
    expect 0 "weights only, texts need a tokenizer of their own: $work/model/$file $lfs" \
        "$loam" import "$work/model" --out "$work/x-$file"
    expect 1 "$work/model/$file $lfs" "$loam" tokenizer encode --model "$work/model/$file"
    rm "$work/model/$file"
done
pointer "$work/tok.model"
expect 1 "$work/tok.model $lfs" "$loam" tokenizer encode --model "$work/tok.model"

echo '{"version": "1.0", "model": {"type": "WordLevel", "vocab": {"a": 0}}}' >"$work/model/tokenizer.json"
expect 0 "tokenizer.json: its model is WordLevel, which cannot be read" "$loam" import "$work/model" --out "$work/words"

echo 'some text' >"$work/text.txt"
cp "$work/model/tokenizer.json" "$work/kept.json"
expect 1 "$work/model holds a tokenizer already" "$loam" tokenizer train --type wordpiece --vocab-size 60 --out "$work/model" "$work/text.txt"
cmp "$work/model/tokenizer.json" "$work/kept.json" || fail "another program's tokenizer.json is gone"
"$loam" prepare --tokenizer bytes --out "$work/data" "$work/text.txt" >/dev/null 2>&1
for file in data.idx data.bin; do
    mv "$work/$file" "$work/kept"
    pointer "$work/$file"
    expect 1 "$work/$file $lfs" "$loam" inspect dataset "$work/data"
    mv "$work/kept" "$work/$file"
done
for file in corpus.txt corpus.jsonl corpus.jsonl.gz corpus.txt.zst corpus.txt.xz; do
    pointer "$work/$file"
    expect 1 "$work/$file $lfs" "$loam" prepare --tokenizer bytes --out "$work/none" "$work/$file"
done
mkdir "$work/tree"
cp "$work/text.txt" "$work/tree/a.c"
pointer "$work/tree/picture.png"
expect 0 "1 documents" "$loam" prepare --tokenizer bytes --out "$work/tree-data" "$work/tree"

# Headers of safetensors: a length of 8 bytes, and the JSON.
shape() {
    local json="{\"a\":{\"dtype\":\"F32\",\"shape\":[$1],\"data_offsets\":[0,0]}}"
    printf "\\$(printf %o ${#json})\0\0\0\0\0\0\0%s" "$json" >"$work/shape.safetensors"
}
shape 4294967296,4294967296
expect 1 'tensor a: shape is too large: its elements cannot be counted in 64 bits' "$loam" inspect model "$work/shape.safetensors"
shape 4611686018427387904
expect 1 'tensor a: shape is too large: its bits cannot be counted in 64 bits' "$loam" inspect model "$work/shape.safetensors"
shape 0,4294967296,4294967296
expect 0 '1 tensors, 0 numbers' "$loam" inspect model "$work/shape.safetensors"
head -c 1500 tests/golden/torch/zip.bin >"$work/cut.bin"
expect 1 'its end is missing; it was cut, or is no file of torch.save' "$loam" inspect model "$work/cut.bin"

hint="if it is a model of huggingface.co, fetch it first, since loam opens no connection: git clone https://huggingface.co/google/t5-v1_1-small"
cd "$work"
loam=$(realpath "$loam" 2>/dev/null || echo "$source_dir/$loam")
expect 1 "google/t5-v1_1-small: no such folder; $hint" "$loam" import google/t5-v1_1-small --out "$work/x"
expect 1 "google/t5-v1_1-small: no such run, checkpoint or Hugging Face folder; $hint" "$loam" export google/t5-v1_1-small --to hf --out "$work/x"
expect 1 "google/t5-v1_1-small: no such file or folder; $hint" "$loam" tokenizer encode --model google/t5-v1_1-small
expect 1 "absent/here/model: no such folder" "$loam" import absent/here/model --out "$work/x"
