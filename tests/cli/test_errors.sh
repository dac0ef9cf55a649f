# Bad input gets one clear line, naming what, where and what would be right, and the right exit status.
. tests/cli/lib.sh "$1"
make_dataset
train() { "$loam" train "$work/config.yaml" "run.dir=$work/run" "$@"; }

expect 1 'did you mean train' "$loam" trian
expect 1 'did you mean --tokenizer' "$loam" prepare --tokeniser x
expect 1 'no-such.yaml' "$loam" train "$work/no-such.yaml"
expect 1 'did you mean optim.lr' train optim.lrr=1
expect 1 'between 0 and 10' train optim.lr=20
expect 1 'optim.lr' train optim.lr=fast
expect 1 'train.batch' train 'train.batch=2 parsecs'
expect 1 'did you mean linear' train optim.schedule=liner
expect 1 'run.dir is not set' "$loam" train "$work/config.yaml"
expect 1 'nothing.idx' train "data.train=$work/nothing"
expect 1 'nothing.model' train "tokenizer.path=$work/nothing.model"
expect 1 'smaller than the tokenizer' train model.vocab=128
expect 1 '1809' train data.input_length=2048
expect 1 'needs to know its last step' train 'train.length=3m'
expect 2 'this machine has' train model.n_enc=48 model.width=16384 model.ffn=65536

# A dataset made with another tokenizer.
"$loam" tokenizer train --type bpe --vocab-size 150 --out "$work/other.model" "$work/corpus.txt" 2>/dev/null
expect 1 'tokenizer' train "tokenizer.path=$work/other.model"

# Truncated files.
for suffix in bin idx; do
    cp "$work/data.bin" "$work/cut.bin" && cp "$work/data.idx" "$work/cut.idx"
    truncate -s -7 "$work/cut.$suffix"
    expect 1 "cut.$suffix" train "data.train=$work/cut"
done

# Corpora that are not what they say.
printf '{"text": "fine"}\n{"text": "broken\n' >"$work/bad.jsonl"
expect 1 'bad.jsonl:2' "$loam" prepare --tokenizer "$work/tok.model" --out "$work/bad" "$work/bad.jsonl"
expect 0 'skipped' "$loam" prepare --tokenizer "$work/tok.model" --out "$work/bad" --on-error skip "$work/bad.jsonl"
printf 'good line\nbad \xff line\n' >"$work/bad.txt"
expect 1 'bad.txt' "$loam" prepare --tokenizer "$work/tok.model" --out "$work/bad" "$work/bad.txt"
expect 1 'nowhere.txt' "$loam" prepare --tokenizer "$work/tok.model" --out "$work/bad" "$work/nowhere.txt"

# A run directory of another configuration, and checkpoints that are damaged.
expect 0 'held-out loss' train 'train.length=10 steps'
expect 1 'model.width: 32' train model.width=64
expect 1 'run.seed' train run.seed=8
expect 0 'optim.lr changed from' train 'train.length=12 steps' optim.lr=1e-3
truncate -s -100 "$work"/run/checkpoints/step-00000012/weights-*.safetensors
expect 0 'the checkpoint before it is used' train 'train.length=12 steps'
printf 'x' | dd of="$work/run/checkpoints/step-00000012/state.json" bs=1 seek=3 conv=notrunc 2>/dev/null
expect 0 'the checkpoint before it is used' train 'train.length=12 steps'

# Models by path.
expect 1 'neither a run directory' "$loam" generate --model "$work"
expect 1 'no checkpoint "7"' "$loam" generate --model "$work/run@7"
expect 1 'no such run' "$loam" eval "$work/absent" "data.valid=$work/data-valid"
expect 1 '"nine" is not a token id' bash -c "echo 5 nine | '$loam' generate --model '$work/run' --ids"
answer() { bash -c "echo '$1' | '$loam' generate --model '$work/run' ${*:2}"; }
expect 1 '"7000" is not a token id' answer '5 7000' --ids
expect 1 'line 2: not JSON' answer $'{"a":"bace"}\n{"a"' --jsonl a
expect 1 'no text and no array of ids in a field "b"' answer '{"a":"bace"}' --jsonl b
expect 1 'give one of them' answer bace --beams 4 --temperature 1
expect 1 'give --temperature above 0 with them' answer bace --top-k 5
expect 1 '--n 3 needs --temperature' answer bace --n 3
expect 1 '--top-p 2 is out of range' answer bace --temperature 1 --top-p 2
echo '{"input": "bace"}' >"$work/pairs"
expect 1 'pairs:1: no text and no array of ids in a field "target"' "$loam" eval "$work/run" --score "$work/pairs"
expect 1 'cannot read' "$loam" eval "$work/run" --score "$work/absent"
