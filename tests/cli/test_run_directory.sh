# labels: any-processor
# A run directory is complete in itself: it is named from anywhere, moved, keeps the tokenizer of its model, and tells why
# a run ended.
. tests/cli/lib.sh "$1"
loam=$(realpath "$loam")
make_dataset
run=$work/run
goes_on() { # goes_on STEP: the last training went on with the run, up to this step
    grep -q 'going on from' "$work/log" || fail "a new run was started: $(cat "$work/log")"
    grep -q "\"kind\":\"train\",\"step\":$1," "$run/metrics.jsonl" || fail "step $1 is missing: $(tail -n 1 "$run/metrics.jsonl")"
}

# Started with relative paths, gone on with from other folders, by its name and by its configuration.
sed "s#$work/##" "$work/config.yaml" | sed 's#data-valid#./data-valid#' >"$work/relative.yaml"
(cd "$work" && "$loam" train relative.yaml run.dir=run train.length=4 data.valid=held:data-valid) 2>"$work/log"
cd /
"$loam" train "$run" train.length=5 2>"$work/log"
goes_on 5
"$loam" train "$run/config.yaml" train.length=6 2>"$work/log"
goes_on 6
cd "$work"
"$loam" train run train.length=7 2>"$work/log"
goes_on 7
(cd "$run" && "$loam" train . train.length=8 2>"$work/log")
goes_on 8
! grep -q 'data\.[a-z]* changed' "$run/log.txt" || fail "the same data under another name: $(cat "$run/log.txt")"
cd /
"$loam" eval "$run" --json >"$work/out" 2>"$work/log" || fail "eval: $(cat "$work/log")"
"$loam" plan "$run" >"$work/out" 2>"$work/log" || fail "plan: $(cat "$work/log")"
grep -q '"what":"train.length changed from 4 steps to 5 steps"' "$run/metrics.jsonl" || fail "no event: $(cat "$run/metrics.jsonl")"
grep -q 'Z train.length changed from 4 steps to 5 steps' "$run/log.txt" || fail "$(cat "$run/log.txt")"
echo "ok: from anywhere"

# Moved, without the tokenizer it was started with, and with its data elsewhere.
mv "$run" "$work/moved"
run=$work/moved
mkdir "$work/elsewhere"
mv "$work/tok.model" "$work"/data.* "$work"/data-valid.* "$work/elsewhere"
"$loam" train "$run" train.length=9 data.train="$work/elsewhere/data" data.valid="$work/elsewhere/data-valid" 2>"$work/log" ||
    fail "$(cat "$work/log")"
goes_on 9
grep -q "data.train changed from $work/data to $work/elsewhere/data" "$run/log.txt" || fail "$(cat "$run/log.txt")"
mv "$work"/elsewhere/* "$work"
mkdir "$work/empty"
expect 1 'is no run of loam: it has no checkpoints' "$loam" train "$work/empty"
cd "$source_dir"

# Copied by a program that follows links, such as one that knows none.
cp -rL "$run" "$work/copied"
"$loam" train "$work/copied" train.length=10 data.train="$work/data" data.valid="$work/data-valid" 2>"$work/log" || fail "$(cat "$work/log")"
grep -q 'checkpoints/latest is a folder, not a link' "$work/log" || fail "$(cat "$work/log")"
[ -L "$work/copied/checkpoints/latest" ] && [ -L "$work/copied/checkpoints/best" ] && [ -d "$work/copied/checkpoints/copied-latest" ] ||
    fail "$(ls -l "$work/copied/checkpoints")"
"$loam" eval "$work/copied@best" >"$work/out" 2>"$work/log" || fail "eval: $(cat "$work/log")"

# Without its configuration, and started with it again.
rm "$work/copied/config.yaml"
expect 1 "it has no config.yaml; \`loam train CONFIG.yaml run.dir=$work/copied\` writes it again" "$loam" train "$work/copied"
"$loam" train "$work/config.yaml" run.dir="$work/copied" train.length=11 2>"$work/log" || fail "$(cat "$work/log")"
grep -q 'going on from .*step-00000010' "$work/log" && [ -e "$work/copied/config.yaml" ] || fail "$(cat "$work/log")"

# An empty file is no configuration: it is not taken for one of defaults.
: >"$work/copied/config.yaml"
expect 1 "its config.yaml is empty; \`loam train CONFIG.yaml run.dir=$work/copied\` writes it again" "$loam" train "$work/copied"
"$loam" train "$work/config.yaml" run.dir="$work/copied" train.length=12 2>"$work/log" || fail "$(cat "$work/log")"
[ -s "$work/copied/config.yaml" ] || fail "the configuration was not written again"

# A run that starts over with another tokenizer has that one, of another kind too.
"$loam" tokenizer train --type wordpiece --vocab-size 250 --out "$work/words" "$work/corpus.txt" 2>"$work/err"
"$loam" prepare --tokenizer "$work/words" --out "$work/other" "$work/corpus.txt" >"$work/out" 2>"$work/err"
rm -r "$run/checkpoints"
"$loam" train "$work/config.yaml" run.dir="$run" train.length=3 tokenizer.path="$work/words" data.train="$work/other" data.valid= \
    2>"$work/log" || fail "$(cat "$work/log")"
cmp "$work/words/vocab.txt" "$run/vocab.txt" || fail "the tokenizer of the run"
[ ! -e "$run/spiece.model" ] || fail "the tokenizer of before is still there"

# Wherever a model is opened, its tokenizer must be the one it was trained with.
rm "$run/vocab.txt" "$run/tokenizer.json"
cp "$work/tok.model" "$run/spiece.model"
wrong='is not the tokenizer that the model was trained with'
expect 1 "$wrong" "$loam" generate --model "$run"
expect 1 "$wrong" "$loam" embed --model "$run"
expect 1 "$wrong" "$loam" export "$run" --to hf --out "$work/hf"
expect 1 "$wrong" "$loam" eval "$run" data.valid="$work/data-valid"
expect 0 "$wrong" "$loam" generate --model "$run" --tokenizer "$work/tok.model"
"$loam" generate --model "$run" --tokenizer "$work/words" </dev/null 2>"$work/err"
! grep -q "$wrong" "$work/err" || fail "$(cat "$work/err")"

# A project's own config.yaml, beside a folder checkpoints/ of other programs, is no run.
mkdir -p "$work/project/checkpoints/other"
cp "$work/config.yaml" "$work/project/config.yaml"
expect 0 'saved runs/one/' env -C "$work/project" "$loam" train config.yaml run.dir=runs/one train.length=2
echo 'run: { dir: runs/two, seed: 7 }' >>"$work/project/config.yaml"
sed -i 1d "$work/project/config.yaml"
cp "$work/project/config.yaml" "$work/own.yaml"
expect 0 'saved runs/two/' env -C "$work/project" "$loam" train config.yaml train.length=2
cmp "$work/own.yaml" "$work/project/config.yaml" || fail "the project's configuration was written over"

# Folders whose names a configuration cannot hold: the run goes on where it was started.
for name in 'comma, and space' $'latin \351'; do
    mkdir "$work/$name"
    cp "$work"/data.* "$work"/data-valid.* "$work/tok.model" "$work/$name"
    sed "s#$work/##" "$work/config.yaml" | sed 's#data-valid#./data-valid#' >"$work/$name/relative.yaml"
    expect 0 'saved run/' env -C "$work/$name" "$loam" train relative.yaml run.dir=run train.length=2 data.valid=data-valid
    expect 0 'going on from' env -C "$work/$name" "$loam" train relative.yaml run.dir=run train.length=3 data.valid=data-valid
    expect 0 'going on from' env -C "$work/$name" "$loam" train run train.length=4
done
expect 1 'is not UTF-8' "$loam" train "$work/config.yaml" run.dir="$work/$name/other" train.length=2

# Where a run opens a file there may be no FIFO, at which it would wait.
cp -r "$work/comma, and space/run" "$work/fifo"
for name in lock log.txt metrics.jsonl hooks.log train_inner.jsonl mlflow.txt config.yaml ranks/0000.json tb/events.out.tfevents.1; do
    [ ! -e "$work/fifo/$name" ] || mv "$work/fifo/$name" "$work/kept"
    mkfifo "$work/fifo/$name"
    expect 1 "$work/fifo/$name is no regular file" "$loam" train "$work/config.yaml" run.dir="$work/fifo" train.length=4
    "$loam" status "$work/fifo" >"$work/out" 2>"$work/err" || [ $? = 1 ] || fail "status of $name: $(cat "$work/err")"
    rm "$work/fifo/$name"
    [ ! -e "$work/kept" ] || mv "$work/kept" "$work/fifo/$name"
done

# A log that leads to /dev/null is one that nobody wants to keep.
ln -sf /dev/null "$work/fifo/log.txt"
expect 0 'going on from' "$loam" train "$work/config.yaml" run.dir="$work/fifo" train.length=5

# A folder of something else is refused before anything in it is touched.
"$loam" train "$work/config.yaml" run.dir="$work/made" train.length=2 2>"$work/log"
"$loam" export "$work/made" --to hf --out "$work/hf-folder" >"$work/out" 2>"$work/err"
mkdir "$work/own" "$work/logs" "$work/metrics" "$work/dataset" "$work/pieces"
cp "$work/config.yaml" "$work/own"
echo mine >"$work/logs/log.txt"
echo '{"step":1}' >"$work/metrics/metrics.jsonl"
cp "$work"/data.* "$work/dataset"
cp "$work/tok.model" "$work/pieces/spiece.model"
ln -s own "$work/linked"
for name in own logs metrics dataset pieces hf-folder linked/; do
    cp -r "$work/$name" "$work/kept"
    expect 1 'and is not a run of loam; choose an empty or new folder' "$loam" train "$work/config.yaml" run.dir="$work/$name" train.length=2
    diff -r "$work/kept" "$work/$name" || fail "$name was touched"
    rm -r "$work/kept"
done
expect 1 'is not a run of loam' env -C "$work/own" "$loam" train config.yaml run.dir=. train.length=2

# One that holds a configuration of another name, a job's output or a place for checkpoints is taken; so is what a start
# that failed, or that was killed before its first checkpoint, left behind.
mkdir "$work/taken" "$work/disk"
cp "$work/config.yaml" "$work/taken/first.yaml"
ln -s "$work/disk" "$work/taken/checkpoints"
echo started >"$work/taken/job-7.out"
: >"$work/taken/.hidden"
expect 0 'saved ./' env -C "$work/taken" "$loam" train first.yaml run.dir=. train.length=2
cmp "$work/config.yaml" "$work/taken/first.yaml" || fail "first.yaml was touched"
[ -e "$work/disk/step-00000002/state.json" ] || fail "the link checkpoints was not followed"
(LOAM_FAULT=rename:1 "$loam" train "$work/config.yaml" run.dir="$work/failed" train.length=2 || true) >"$work/log" 2>&1
[ -e "$work/failed/log.txt" ] && [ ! -e "$work/failed/config.yaml" ] || fail "not a start that failed: $(ls "$work/failed")"
expect 0 'step 2/2' "$loam" train "$work/config.yaml" run.dir="$work/failed" train.length=2
(LOAM_FAULT=save:1 "$loam" train "$work/config.yaml" run.dir="$work/killed" train.length=2 || true) >"$work/log" 2>&1
[ -e "$work/killed/config.yaml" ] || fail "no config.yaml before the first save"
expect 0 'step 2/2' "$loam" train "$work/config.yaml" run.dir="$work/killed" train.length=2
cp -r "$work/made" "$work/copied"
rm "$work/copied/lock"
expect 0 'going on from' "$loam" train "$work/config.yaml" run.dir="$work/copied" train.length=3

# Another tokenizer that was put into a run is replaced by the model's; where tokenizer.path lies there too it is named.
"$loam" tokenizer train --type unigram --vocab-size 150 --out "$work/small.model" "$work/corpus.txt" 2>"$work/err"
cp "$work/small.model" "$work/made/spiece.model"
expect 1 'was made with another tokenizer' "$loam" train "$work/made" train.length=3
expect 0 'going on from' "$loam" train "$work/config.yaml" run.dir="$work/made" train.length=3
cmp "$work/tok.model" "$work/made/spiece.model" || fail "the tokenizer of the run was not put back"
cp "$work/tok.model" "$work/made/tok.model"
cp "$work/small.model" "$work/made/spiece.model"
expect 1 'run.dir has two different tokenizers' \
    "$loam" train "$work/config.yaml" run.dir="$work/made" tokenizer.path="$work/made/tok.model" train.length=4
rm "$work/made/spiece.model"
expect 0 'going on from' "$loam" train "$work/config.yaml" run.dir="$work/made" tokenizer.path="$work/made/tok.model" train.length=4
cmp "$work/tok.model" "$work/made/spiece.model" || fail "the run has no tokenizer of its own"

# A command that trains nothing leaves the configuration as it is; one that trains saves it and says what changed.
cp "$work/made/config.yaml" "$work/own.yaml"
expect 0 'the changes above are ignored' "$loam" train "$work/made" optim.lr=5
expect 0 'the changes above are ignored' "$loam" train "$work/made" train.length=2
expect 0 'nothing left to do at step 4; a longer train.length' "$loam" train "$work/made"
expect 1 'loam inspect checkpoint' "$loam" inspect model "$work/made"
expect 1 'loam inspect checkpoint' "$loam" inspect model "$work/made/checkpoints/latest"
cmp "$work/made/config.yaml" "$work/own.yaml" || fail "the configuration of a finished run was written over"
! grep 'optim.lr changed' "$work/made/metrics.jsonl" || fail "a change that no step was trained with"
expect 0 'step 5/5' "$loam" train "$work/made" optim.lr=1e-4 train.length=5
grep -q 'optim.lr changed from' "$work/made/metrics.jsonl" || fail "the change was not kept"

# A dataset that is cut short while a run reads it: one line that names the file.
LOAM_FAULT=step:3:STOP "$loam" train "$work/config.yaml" run.dir="$work/short" train.length=4k train.eval_every=0 2>"$work/log" &
pid=$!
until_true grep -q '^State:.*stopped' "/proc/$pid/status"
cp "$work/data.bin" "$work/data.copy"
: >"$work/data.bin"
kill -CONT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" = 2 ] || fail "a dataset cut short: status $status: $(tail -n 2 "$work/log")"
grep -q "which is saved: .*data.bin was cut while it was in use" "$work/log" || fail "$(tail -n 2 "$work/log")"
mv "$work/data.copy" "$work/data.bin"

# An id that the model has not, in the middle of the data: what was trained before is saved, and the reason is kept.
ids=$(($(stat -c %s "$work/data.bin") / 2))
for at in $(seq $((ids / 2)) 97 $((ids / 2 + 1000))); do
    printf '\377\377' | dd of="$work/data.bin" bs=2 seek="$at" conv=notrunc 2>/dev/null
done
expect 1 ', which is saved: ' "$loam" train "$work/config.yaml" run.dir="$work/bad" train.save_every=0 train.length=400
reason=$(sed -n 's/^loam train: //p' "$work/err")
grep -qF "$reason" "$work/bad/log.txt" || fail "log.txt has no reason: $(tail -n 2 "$work/bad/log.txt")"
grep '"kind":"event"' "$work/bad/metrics.jsonl" | grep -qF 'which is saved' || fail "metrics.jsonl has no reason"
step=$(sed -n 's/.*after step \([0-9]*\), which.*/\1/p' "$work/err")
[ "$(readlink "$work/bad/checkpoints/latest")" = "$(printf 'step-%08d' "$step")" ] || fail "step $step is not saved"
echo "ok: $reason"
