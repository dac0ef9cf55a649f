# The tokenizer of an exported folder is that of the run: its datasets serve the export, too.
. tests/cli/lib.sh "$1"
seq 1 400 | awk '{ print "line " $1 " says " $1 * 7 ".\n" }' >"$work/corpus.txt"
# dataset_serves NAME TOKENIZER: a GPT is trained and exported, and reads its dataset with the exported tokenizer.
dataset_serves() {
    "$loam" prepare --tokenizer "$2" --out "$work/$1.data" "$work/corpus.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
    printf '%s\n' "tokenizer: { path: $2 }" 'model: { preset: gpt2, width: 16, ffn: 32, heads: 2, head_dim: 8, n_dec: 1, max_positions: 64 }' \
        "data: { train: $work/$1.data, input_length: 32, objective: clm }" 'train: { length: 1 steps, batch: 1 samples, threads: 1 }' >"$work/config.yaml"
    "$loam" train "$work/config.yaml" run.dir="$work/$1.run" >/dev/null 2>"$work/err" || fail "$1: $(tail -n 2 "$work/err")"
    "$loam" export "$work/$1.run" --to hf --out "$work/$1.hf" >/dev/null 2>"$work/err" ||
        fail "$1: $(cat "$work/err")"
    "$loam" eval "$work/$1.hf" data.valid="$work/$1.data" data.input_length=32 data.objective=clm --samples 2 >"$work/out" 2>"$work/err" ||
        fail "$1: $(cat "$work/err")"
    "$loam" train "$work/config.yaml" run.dir="$work/$1.again" tokenizer.path="$work/$1.hf" >/dev/null 2>"$work/err" ||
        fail "$1: $(tail -n 2 "$work/err")"
    echo "ok: $1: the export reads the dataset of its run"
}
for family in t5 gpt roberta; do
    "$loam" tokenizer train --kind byte-bpe --for $family --vocab-size 300 --out "$work/$family" "$work/corpus.txt" 2>"$work/err" ||
        fail "$(cat "$work/err")"
    dataset_serves $family "$work/$family"
done
mkdir "$work/old"
cp "$work/gpt/vocab.json" "$work/gpt/merges.txt" "$work/old"
dataset_serves old "$work/old" # opened by vocab.json, exported with a tokenizer.json
"$loam" tokenizer train --kind wordpiece --for gpt --vocab-size 300 --out "$work/words" "$work/corpus.txt" 2>"$work/err" || fail "$(cat "$work/err")"
dataset_serves words "$work/words"
