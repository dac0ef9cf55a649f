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
expect 1 "tokenizer.path: $work/nothing.model: no such file or folder" train "tokenizer.path=$work/nothing.model"
expect 1 'smaller than the tokenizer' train model.vocab=128
# What a plan could not read is said, in the plan.
"$loam" plan "$work/config.yaml" >"$work/out" && ! grep 'not read' "$work/out" || fail "all of it can be read"
expect 0 "not read         there is no dataset $work/dtaa" "$loam" plan "$work/config.yaml" data.train="$work/dtaa"
expect 0 "not read         there is no dataset $work/other-valid" "$loam" plan "$work/config.yaml" data.valid="$work/other-valid"
expect 0 "$work/dtaa.idx is missing; did you mean $work/data?" "$loam" plan "$work/config.yaml" data.train="$work/dtaa"
expect 1 "$work/dtaa.idx is missing; did you mean $work/data?" train data.train="$work/dtaa"
mkdir "$work/empty"
expect 1 "$work/ is a folder; a dataset is named by its path prefix: $work/data, $work/data-valid" train data.train="$work/"
expect 1 "$work/empty is a folder without datasets; loam prepare --out $work/empty/train makes one of this name in it" train data.train="$work/empty"
# Commands in messages are quoted as a shell needs it.
mkdir "$work/my data" "$work/my run" "$work/my run/checkpoints"
expect 1 "is missing; loam prepare --out '$work/my data/x' makes it" train data.train="$work/my data/x"
expect 1 "loam prepare --out '$work/my data/train' makes one of this name in it" train data.train="$work/my data/"
printf 'a' >"$work/my data/it's.txt"
expect 1 "make one of it: loam prepare --tokenizer TOK --out '$work/my data/it'\\''s' '$work/my data/it'\\''s.txt'" train \
    data.train="$work/my data/it's.txt"
expect 1 "\`loam train CONFIG.yaml 'run.dir=$work/my run'\` writes it again" "$loam" report "$work/my run"
expect 1 "such as '$work/my data/train'" "$loam" prepare --tokenizer "$work/tok.model" --out "$work/my data/" "$work/corpus.txt"
expect 1 "such as '$work/my data/tok.model'" "$loam" tokenizer train --out "$work/my data" "$work/corpus.txt"
expect 1 "lines come from standard input: loam predict '$work/my data' < '$work/my data/it'\\''s.txt'" "$loam" predict "$work/my data" "$work/my data/it's.txt"
expect 1 "loam inspect checkpoint '$work/my run' shows" "$loam" inspect model "$work/my run"
printf 'task:\n  input: {text}\n' >"$work/map.yaml"
expect 1 'map.yaml:2: task.input: a map is not accepted here, write one value; a text that begins with { stands in quotes: "{text}"' \
    "$loam" train "$work/map.yaml"
# So is what nobody means: a run that does not fit, that reads its data over and over, that takes years.
warnings() { "$loam" plan "$work/config.yaml" "$@" 2>&1 | grep warning | grep -v 'other programs keep'; } # which this machine may have
warnings && fail "a run that is fine"
expect 0 'warning: the run needs' "$loam" plan "$work/config.yaml" model.n_enc=48 model.width=16384 model.ffn=65536
expect 0 "warning: the run reads $work/data 42 times; after some 40 passes" "$loam" plan "$work/config.yaml" train.length='42 epochs'
warnings train.length='40 epochs' && fail "40 passes are fine"
expect 0 ' years on this machine: a smaller model' "$loam" plan "$work/config.yaml" model.width=4096 model.ffn=16384 train.length='10M steps' \
    train.batch='512 samples'
expect 0 'not read         ' "$loam" plan "$work/config.yaml" tokenizer.path="$work/nothing.model" model.vocab=400
expect 1 '1809' train data.input_length=2048
expect 0 'the model has no head for them' train model.family=bert model.n_dec=0 model.position=learned data.objective=mlm \
    data.sentence_pairs=next 'train.length=1 steps' run.dir="$work/labelled"
expect 2 'this machine has' train model.n_enc=48 model.width=16384 model.ffn=65536

# A dataset made with another tokenizer.
"$loam" tokenizer train --type bpe --vocab-size 150 --out "$work/other.model" "$work/corpus.txt" 2>/dev/null
expect 1 'tokenizer' train "tokenizer.path=$work/other.model"

# Truncated files.
printf '{ "model": { "type": "BPE", ' >"$work/mine.json"
expect 1 'line 1' "$loam" tokenizer describe --model "$work/mine.json"
for suffix in bin idx; do
    cp "$work/data.bin" "$work/cut.bin" && cp "$work/data.idx" "$work/cut.idx"
    truncate -s -7 "$work/cut.$suffix"
    expect 1 "cut.$suffix" train "data.train=$work/cut"
done

# Corpora that are not what they say.
printf '{"text": "fine"}\n{"text": "broken\n' >"$work/bad.jsonl"
expect 1 'bad.jsonl:2' "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/bad" "$work/bad.jsonl"
expect 0 'skipped' "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/bad" --on-error skip "$work/bad.jsonl"
printf 'good line\nbad \xff line\n' >"$work/bad.txt"
expect 1 'bad.txt' "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/bad" "$work/bad.txt"
expect 1 'nowhere.txt' "$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/bad" "$work/nowhere.txt"

# What is read is not written over, and --out names files.
cp "$work/corpus.txt" "$work/mine.txt" && ln "$work/mine.txt" "$work/linked.txt"
expect 1 'mine.txt is both read and written' "$loam" tokenizer train --vocab-size 200 --out "$work/linked.txt" "$work/mine.txt"
printf '{"text": "mine"}\n' >"$work/own.json"
expect 1 'own.json is both read and written' "$loam" prepare --tokenizer "$work/tok.model" --out "$work/own" "$work/own.json"
cmp -s "$work/corpus.txt" "$work/mine.txt" && grep -q mine "$work/own.json" || fail "what is read was written over"
expect 1 'such as '"$work/train" "$loam" prepare --tokenizer "$work/tok.model" --out "$work/" "$work/corpus.txt"
expect 1 'such as '"$work/train" "$loam" task prepare --out "$work/" "$work/config.yaml"
expect 1 'such as '"$work/train" "$loam" dataset split "$work/data" --out "$work/" --shares 1,1
expect 1 '--out is empty; want what the names of the files begin with' "$loam" dataset merge "$work/data" --out ''
[ -z "$(ls -A "$work" | grep '^[.-]')" ] || fail "files without a name: $(ls -A "$work")"
expect 1 'CONFIG.yaml or RUN comes first, options such as data.train=x after it' "$loam" train data.train=x

mkdir "$work/hf" && echo '{}' >"$work/hf/config.json"
expect 1 'is a Hugging Face folder, no run and no checkpoint' "$loam" inspect checkpoint "$work/hf"

# A run directory of another configuration, and checkpoints that are damaged.
expect 0 'held-out loss' train 'train.length=10 steps'
printf '{"input": "a", "target": "b"}\n{"input": "a"' >"$work/pairs.jsonl"
expect 1 'is both read and written' "$loam" eval "$work/run" --score "$work/pairs.jsonl" --out "$work/pairs.jsonl"
expect 1 'model.width: 32' train model.width=64
expect 1 'run.seed' train run.seed=8
expect 0 'optim.lr changed from' train 'train.length=12 steps' optim.lr=1e-3
truncate -s -100 "$work"/run/checkpoints/step-00000012/weights-*.safetensors
expect 0 'the previous checkpoint is used' train 'train.length=12 steps' train.keep_last=1
expect 0 'damaged-step-00000012' ls "$work/run/checkpoints"
expect 0 ', valid' "$loam" inspect checkpoint "$work/run" # the damaged one took no other's place
cp -r "$work/run" "$work/broken"
sed -i 's/"samples": /"samples": 1/' "$work/broken/checkpoints/step-00000012/state.json"
expect 1 'no checkpoint of' "$loam" train "$work/config.yaml" "run.dir=$work/broken" 'train.length=12 steps' optim.lr=1e-3
[ "$(wc -l <"$work/broken/metrics.jsonl")" = "$(wc -l <"$work/run/metrics.jsonl")" ] || fail "metrics were touched"

# Lengths in samples count what was taken in batches of another size.
samples() { "$loam" train "$work/config.yaml" "run.dir=$work/samples" optim.schedule=constant "$@"; }
expect 0 'step 4/4' samples 'train.length=32 samples'
expect 0 'step 12/12' samples 'train.length=64 samples' 'train.batch=4 samples'

# A dataset made again under the same name, and weights of another shape.
cp "$work/data.bin" "$work/again.bin" && cp "$work/data.idx" "$work/again.idx" && cp "$work/data.json" "$work/again.json"
again() { "$loam" train "$work/config.yaml" "run.dir=$work/again-run" "data.train=$work/again" optim.schedule=constant "$@"; }
expect 0 'saved' again 'train.length=2 steps'
"$loam" prepare --tokenizer "$work/tok.model" --replace --out "$work/again" <(head -n 900 "$work/corpus.txt") >/dev/null 2>&1
expect 1 'trained on other data' again 'train.length=3 steps'
expect 1 'it is another dataset, or was made again' again 'train.length=3 steps' "data.train=$work/data-valid"
expect 1 'its model.n_enc is 1' train "run.dir=$work/deep" model.n_enc=2 "train.init=$work/run"
expect 1 'its model.tie_embeddings is' train "run.dir=$work/deep" model.tie_embeddings=true "train.init=$work/run"

# Sizes are checked before they are allocated.
expect 1 'more than a microbatch may have' train 'train.batch=1e9 samples' 'train.micro_batch=1e9 samples'
expect 2 'this machine has' train 'train.batch=1e12 samples'

# A ~ that the shell left as it is makes no folder of this name, which somebody would remove by `rm -r ~`.
at_work() { (cd "$work" && "$@"); }
expect 1 "no folder is called ~, which the shell replaces only where a word begins: write $HOME" at_work train run.dir=~/run
expect 1 "no folder is called ~" at_work "$loam" prepare --tokenizer "$work/tok.model" --out=~/d "$work/corpus.txt"
[ ! -e "$work/~" ] || fail "a folder ~"

# Words that no verb takes.
expect 1 'x is not an option; usage: loam env' "$loam" env x
expect 1 'x is not an option; usage: loam task list' "$loam" task list x
expect 1 '--n 0: it must be at least 1' "$loam" task show --n 0
expect 1 '--documents -1 is out of range' "$loam" inspect dataset "$work/data" --documents -1
expect 1 '--samples -1 is out of range' "$loam" inspect batch "$work/config.yaml" --samples -1
expect 1 '--first -1: samples count from 0' "$loam" inspect batch "$work/config.yaml" --first -1
expect 1 "lines come from standard input: loam predict $work/run < $work/corpus.txt" "$loam" predict "$work/run" "$work/corpus.txt"

# Models by path.
expect 1 'neither a run directory' "$loam" generate --model "$work"
expect 1 'no checkpoint "7"' "$loam" generate --model "$work/run@7"
expect 1 'no such run' "$loam" eval "$work/absent" "data.valid=$work/data-valid"
expect 1 '"nine" is not a token id' bash -c "echo 5 nine | '$loam' generate --model '$work/run' --ids"
answer() { bash -c "echo '$1' | '$loam' generate --model '$work/run' ${*:2}"; }
expect 1 '"7000" is not a token id' answer '5 7000' --ids
printf '%s\n' '{"a":"ba\u0000ce"}' >"$work/nul.jsonl"
expect 1 'line 1: \u0000, a NUL, is no character of a text; write \ufffd in its place' bash -c "'$loam' generate --model '$work/run' --jsonl a <'$work/nul.jsonl'"
expect 1 'line 2: not JSON' answer $'{"a":"bace"}\n{"a"' --jsonl a
expect 1 'no text and no array of ids in a field "b"' answer '{"a":"bace"}' --jsonl b
expect 1 'give one of them' answer bace --beams 4 --temperature 1
expect 1 'lines come from standard input' answer bace lines.txt
expect 1 'give --temperature above 0 too' answer bace --top-k 5
expect 1 '--n 3 needs --temperature' answer bace --n 3
expect 1 '--top-p 2 is out of range' answer bace --temperature 1 --top-p 2
echo '{"input": "bace"}' >"$work/pairs"
expect 1 'pairs:1: no text and no array of ids in a field "target"' "$loam" eval "$work/run" --score "$work/pairs"
expect 1 'cannot read' "$loam" eval "$work/run" --score "$work/absent"

# The exported model with NaN for its weights: f32 bytes ff ff ff ff after the header.
spoil_model() {
    "$loam" export "$work/run" --to hf --out "$work/nan" >/dev/null 2>&1
    local file=$work/nan/model.safetensors header bytes
    header=$(od -An -tu8 -N8 "$file" | tr -d ' ')
    bytes=$(($(stat -c %s "$file") - 8 - header))
    head -c "$bytes" /dev/zero | tr '\0' '\377' | dd of="$file" bs=1M seek=$((8 + header)) oflag=seek_bytes conv=notrunc 2>/dev/null
}

# What eval would not do.
expect 1 "$work/absent: no such run" "$loam" eval "$work/absent"
expect 1 '--samples -5 is out of range' "$loam" eval "$work/run" --samples -5
expect 1 '--beams, --rank and --shots need --task' "$loam" eval "$work/run" --beams 2
expect 1 '--unigram is for the loss on data.valid' "$loam" eval "$work/run" --score "$work/pairs" --unigram
expect 1 'model.width=3: the model is what' "$loam" eval "$work/run" model.width=3
spoil_model
for json in '' --json; do
    # shellcheck disable=SC2086
    expect 1 'the model gives a loss of nan: are its weights finite?' "$loam" eval "$work/nan" "data.valid=$work/data-valid" data.input_length=64 $json
done

# Checkpoints that are not there.
expect 1 'no checkpoint "worst"; there are latest, best, 12' "$loam" generate --model "$work/run@worst"
rm -r "$work/run/checkpoints/best" # found without the link, from what the newest checkpoint says
expect 0 'loss' "$loam" eval "$work/run@best" data.valid="$work/data-valid" data.input_length=64
mkdir -p "$work/bare/checkpoints"
expect 1 'there is none' "$loam" generate --model "$work/bare@7"
expect 1 "$work/absent: no such run" "$loam" generate --model "$work/absent@best"

# What is printed must arrive, and what is asked must be readable and bounded.
full() { "$@" >/dev/full; }
for command in '--help' '--version' 'help --options' 'train --help' 'env --json'; do
    # shellcheck disable=SC2086
    expect 2 'writing standard output' full "$loam" $command
done
expect 2 'writing standard output' bash -c "echo bace | '$loam' generate --model '$work/run' >/dev/full"
expect 1 'cannot read standard input' bash -c "'$loam' generate --model '$work/run' <'$work'"
expect 1 'line 2: the line: a NUL byte: not a text file' bash -c "printf 'bace\nba\0ce\n' | '$loam' generate --model '$work/run'"
expect 1 'line 2: an empty prompt' bash -c "printf '5\n\n' | '$loam' generate --model '$work/run' --ids"
expect 0 'saved' train "run.dir=$work/short" model.position=learned model.max_positions=64 'train.length=2 steps' data.input_length=32
expect 1 'standard input, line 2: ' bash -c "(echo ba; yes ba | head -n 200 | tr '\n' ' ') | '$loam' generate --model '$work/short'"
grep -q 'a prompt has at most 64, the positions of this model' "$work/err" || fail "$(cat "$work/err")"
grep -q . "$work/out" || fail "the line before it has no answer"
expect 1 '32769 tokens; a prompt has at most 32768' bash -c \
    "yes 5 | head -n 32769 | tr '\n' ' ' | '$loam' generate --model '$work/run' --ids"
expect 1 'longer than 16 MiB' bash -c "yes | tr -d '\n' | head -c 20000000 | '$loam' generate --model '$work/run'"
expect 1 '--max-tokens 32769 is out of range' answer bace --max-tokens 32769
printf 'ba\rce\r\nbace\r\n' | "$loam" generate --model "$work/run" --json >"$work/out"
grep -qF '{"prompt":"ba\rce",' "$work/out" && grep -qF '{"prompt":"bace",' "$work/out" || fail "lines were cut: $(cat "$work/out")"

# Folders that are files, and text where there is none.
expect 1 'config.yaml is a file; a folder is wanted' train "run.dir=$work/config.yaml"
expect 1 'write train.batch="2 samples"' train train.batch=2
expect 0 'a save           at the end of the run' "$loam" plan "$work/config.yaml" train.length=5 train.save_every=1k
grep -q '^  *and after an evaluation that is the best so far' "$work/out" || fail "$(cat "$work/out")"
expect 1 'nothing.model: no such file or folder' "$loam" plan "$work/config.yaml" tokenizer.path="$work/nothing.model" model.vocab=auto
! "$loam" plan "$work/config.yaml" data.valid= | grep 'an evaluation' || fail "an evaluation of nothing"
expect 1 '1809' "$loam" plan "$work/config.yaml" data.input_length=1000000
[ ! -s "$work/out" ] || fail 'a plan that fails prints no configuration'
mkdir "$work/tokenizer" && cp "$work/tok.model" "$work/tokenizer/spiece.model"
expect 0 'held-out loss' train "tokenizer.path=$work/tokenizer" "run.dir=$work/folder" 'train.length=1 steps'
cmp "$work/tok.model" "$work/folder/spiece.model"
prepare() { "$loam" prepare --tokenizer "$work/tok.model" "$@"; }
printf 'one document\n' >"$work/one.txt"
expect 1 '1 of them, was held out' prepare --replace --out "$work/one" --valid 99.999999% "$work/one.txt"
expect 0 "the only document is to be trained on: $work/one-valid is empty" prepare --replace --out "$work/one" --valid 1% "$work/one.txt"
printf 'one document\n' >"$work/few.txt" && printf 'and a second one\n' >"$work/few2.txt" && printf 'and a third\n' >"$work/few3.txt"
expect 0 "none of 3 documents fell into the 1 % held out" prepare --replace --out "$work/few" --valid 1% "$work"/few*.txt
enough=$(sed -n 's/.*; --valid \([0-9]*%\) holds one out$/\1/p' "$work/err")
expect 0 "$work/few-valid: 1 documents" prepare --replace --out "$work/few" --valid "$enough" "$work"/few*.txt
expect 1 '/proc/p cannot be written' prepare --out /proc/p "$work/one.txt"
grep -q loam-seen "$work/err" && fail "names a file that nobody asked for: $(cat "$work/err")"
mkdir "$work/stopped"
endless() { # told to end once it writes
    "$loam" prepare --keep-duplicates --tokenizer "$work/tok.model" --out "$work/stopped/p" <(yes $'bace\n') &
    while [ -z "$(ls -A "$work/stopped")" ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
    kill -TERM $!
    wait $!
}
expect 1 'interrupted; nothing was written' endless
[ -z "$(ls -A "$work/stopped")" ] || fail "SIGTERM left files: $(ls -A "$work/stopped")"

# A target whose text is lost: no bits per byte, and the reason.
for i in 1 2 3 4 5 6 7 8; do echo "日 本 語 ba $i 日 本 語 日 本 語 日 本 語"; done >"$work/unknown.txt"
prepare --out "$work/unknown" "$work/unknown.txt" >/dev/null 2>&1
expect 0 'no bits per byte: a target is the unknown token' "$loam" eval "$work/run" "data.valid=$work/unknown"

# More threads than cores.
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/') # a core that this test may use
expect 0 'compute threads on 1 core slow each other down' taskset -c "$cpu" "$loam" eval "$work/run" train.threads=3
OMP_NUM_THREADS=1 "$loam" eval "$work/run" 2>"$work/err" >/dev/null
! grep -q 'slow each other' "$work/err" || fail "a warning without a reason"

# Held-out samples without a target have no loss; the other set is reported.
printf 'ba\n' >"$work/one.txt"
prepare --out "$work/none" --whole-file "$work/one.txt" >/dev/null 2>&1
printf '\1\0\1\0\1\0' >"$work/none.bin" # ends of documents, which data.mask_eod leaves out
gpt='model.family=gpt model.n_enc=0 data.objective=clm data.mask_eod=true'
expect 0 "the held-out samples of $work/none have no target token" train run.dir="$work/empty" 'train.length=2 steps' $gpt \
    data.valid="none:$work/none,all:$work/data-valid"
grep -q '"name":"all"' "$work/empty/metrics.jsonl" || fail "no line for the other set"
# The event of the start lists the sets; no other line may have one without tokens, nor a number that is none.
! grep -hv '"start":{' "$work/err" "$work/empty/metrics.jsonl" | grep -i 'nan\|"none"' || fail "a loss of nothing"
! grep -iw nan "$work/empty/metrics.jsonl" || fail "a number that is none at the start"

# An instruction set that the processor does not have.
expect 1 'loam: LOAM_CPU_ISA=AVX3: this processor has ' env LOAM_CPU_ISA=AVX3 "$loam" env
expect 0 'isa ' env LOAM_CPU_ISA= "$loam" env
expect 0 'nccl        none is found: ' env LOAM_NCCL="$work/none.so" "$loam" env
# More threads than OpenMP can start.
expect 1 'loam: OMP_NUM_THREADS=100000: at most 4096 compute threads' env OMP_NUM_THREADS=100000 "$loam" env
expect 0 'launcher    Open MPI: rank 1 of 4' env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 "$loam" env
# "--" ends the options, also after an argument: what follows is a name.
expect 1 '2 of 2 paths are no run' "$loam" status "$work/none" -- -none
expect 1 '-none is no run of loam' "$loam" status -- -none

# Control characters of a name are written out, not obeyed by the terminal.
"$loam" inspect dataset "$work/$(printf 'a\033[31m')" 2>"$work/err" && fail "a dataset that is none"
grep -qF 'a\x1b[31m' "$work/err" || fail "$(cat -v "$work/err")"
! grep -q "$(printf '\033')" "$work/err" || fail "a control character goes to the terminal"
echo "ok: control characters of names"
