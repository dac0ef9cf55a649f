# The lengths of a task's inputs and targets that nobody set, for each family and kind of label, at short lengths.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks
cat >config.yaml <<YAML
run: { dir: runs/a, seed: 7 }
model: { preset: gpt2, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, vocab: auto, dropout: 0 }
tokenizer: { path: tok.model }
task: { data: marks.tsv, valid: 20%, input: "mark: {text} =", target: "{mark}", scores: accuracy }
data: { input_length: 64 }
train: { length: 2 steps, batch: 8 examples, log_every: 1 steps, eval_every: 0 steps, threads: 1 }
optim: { name: adamw, lr: 5e-3, schedule: constant, warmup: 0 steps }
YAML
target_of() { sed -n 's/^  *target_length: *\([0-9]*\).*/\1/p' "$1/config.yaml"; }

# A GPT's input and target share data.input_length: the target takes what the longest input leaves.
"$loam" train config.yaml 2>log || fail "train: $(tail -n 3 log)"
target=$(target_of runs/a)
[ "$target" -ge 8 ] && [ "$target" -le 48 ] || fail "data.target_length=$target of 64"
! grep -q 'are longer than' log || fail "cut: $(grep 'are longer' log)"
"$loam" eval runs/a --task --out answers.jsonl >out 2>err || fail "eval: $(cat err)"
! grep -q 'are longer than' err || fail "$(cat err)"
printf 'bari tuka koti mesa\n' | "$loam" predict runs/a >out 2>err || fail "$(cat err)"
! grep -q 'are longer than' err || fail "$(cat err)"
echo "ok: a GPT reads its whole inputs, in training's evaluations, eval and predict: target_length $target of 64"

# The run goes on with the length that it began with.
expect 0 'nothing left to do' "$loam" train config.yaml

# On text the run has no targets of a task, so their stored length does not count; one that is given is refused.
cut -f 1 marks.tsv >text.txt
"$loam" prepare --tokenizer tok.model --out text text.txt 2>log || fail "$(cat log)"
for option in '' data.target_length=0; do
    "$loam" eval runs/a data.valid=text data.objective=clm $option >out 2>err || fail "eval on text: $(cat err)"
    grep -q '^text: loss [0-9.]*, .* target tokens$' out || fail "eval on text: $(cat out)"
done
expect 1 'data.target_length=8: this objective has no targets' "$loam" eval runs/a data.valid=text data.objective=clm data.target_length=8
echo "ok: a run of a task is evaluated on text"

# Inputs that need more than half: the target keeps what its longest needs, and cuts are counted in training's output.
"$loam" train config.yaml run.dir=runs/b data.input_length=24 2>log || fail "train: $(tail -n 3 log)"
[ "$(target_of runs/b)" -le 12 ] || fail "data.target_length=$(target_of runs/b) of 24"
grep -q 'evaluations of runs/b/task/train-valid.jsonl: [0-9]* of [0-9]* inputs are longer than data.input_length=24 takes' log || fail "$(cat log)"
echo "ok: cuts of evaluations are counted in training's output"

# A target that leaves nothing of the input is refused, before anything is made.
expect 1 'data.target_length=64 leaves no token of data.input_length=64' "$loam" train config.yaml run.dir=runs/c data.target_length=64
[ ! -e runs/c ] || fail "refused, and runs/c is there"
"$loam" train config.yaml run.dir=runs/d data.target_length=40 2>log || fail "$(tail -n 3 log)"
[ "$(target_of runs/d)" = 40 ] || fail "a length that was set is $(target_of runs/d)"
echo "ok: a length that was set is taken, or refused"

# A run of an earlier version, whose targets leave no room: its evaluations share the length.
sed 's/target_length: [0-9]*/target_length: 128/' runs/a/config.yaml >changed && cp changed runs/a/config.yaml
"$loam" eval runs/a --task >out 2>err || fail "eval: $(cat err)"
! grep -q '80 of 80 inputs are longer' err || fail "$(cat err)"
echo "ok: an earlier version's run"

# A model that is no run: half is the target's, or what the table leaves.
"$loam" export runs/a --to hf --out hf >out 2>err || fail "$(cat err)"
"$loam" eval hf --task task.data=marks.tsv task.valid=marks.tsv 'task.input=mark: {text} =' 'task.target={mark}' data.input_length=64 --samples 8 >out 2>err ||
    fail "eval of a folder: $(cat err)"
! grep -q 'are longer than' err || fail "$(cat err)"
echo "ok: a folder"

# A cut says which length would do, special tokens included.
needs() { sed -n "s/.* are longer than $1=.* takes.* (the longest needs \([0-9]*\), .*/\1/p"; }
cuts() { "$loam" task prepare --replace --out cut tokenizer.path=tok.model task.data=marks.tsv 'task.input={text}' "$@" 2>&1; }
t5=('task.target={mark}' model.family=t5 model.n_enc=1 model.n_dec=1)
bert=('task.label={mark}' model.family=bert model.n_enc=1 model.n_dec=0)
n=$(cuts "${t5[@]}" data.target_length=2 | needs data.target_length)
[ "${n:-0}" -gt 2 ] && [ "$(cuts "${t5[@]}" data.target_length=$((n - 1)) | needs data.target_length)" = "$n" ] || fail "$((n - 1)) does"
[ -z "$(cuts "${t5[@]}" data.target_length="$n" | needs data.target_length)" ] || fail "$n does not do"
for family in t5 bert; do
    declare -n options=$family
    n=$(cuts "${options[@]}" data.input_length=8 | needs data.input_length)
    [ "${n:-0}" -gt 8 ] && [ "$(cuts "${options[@]}" data.input_length=$((n - 1)) | needs data.input_length)" = "$n" ] || fail "$family: $((n - 1)) does"
    [ -z "$(cuts "${options[@]}" data.input_length="$n" | needs data.input_length)" ] || fail "$family: $n does not do"
done
echo "ok: the length that would do"

# A plan counts the table's own lengths, in a folder that is gone when it ends, and says what the whole run takes.
mkdir tmp
TMPDIR=$work/tmp "$loam" plan config.yaml run.dir=runs/e train.length='3 epochs' >out 2>err || fail "plan: $(cat err)"
[ -z "$(ls tmp)" ] && [ ! -e runs/e ] || fail "a plan leaves $(ls tmp) $(ls -d runs/e)"
grep -Eq '^an epoch +3[0-9][0-9] samples, [0-9.]+ steps' out || fail "no epoch: $(cat out)"
grep -Eq '^the run +1[0-9][0-9] steps, [0-9.]+k input tokens' out || fail "no total: $(cat out)"
tokens=$(sed -n 's/^the run .* steps, \([0-9.]*\)k input.*/\1/p' out)
awk -v t="$tokens" 'BEGIN { exit !(t < 0.8 * 3 * 320 * 64 / 1000) }' || fail "rows counted as full: $tokens thousand tokens"
grep -Eq '^time +.* on this machine, .* a step' out || fail "no time: $(cat out)"
! grep -q 'prepared as' err || fail "$(cat err)"
# The input tokens of a T5 are those that training counts, whatever room its targets leave.
room=("${t5[@]}" data.target_length=64 run.dir=runs/t5 train.length='1 epochs')
planned=$("$loam" plan config.yaml "${room[@]}" 2>err | sed -n 's/^the run .* steps, \([0-9.]*\)k input.*/\1/p')
"$loam" train config.yaml "${room[@]}" 2>log || fail "train: $(tail -n 3 log)"
read=$(sed -n 's/.*"kind":"train".*"tokens":\([0-9]*\),.*/\1/p' runs/t5/metrics.jsonl | tail -n 1)
awk -v planned="$planned" -v read="$read" 'BEGIN { exit !(read > 0 && planned * 1000 / read > 0.98 && planned * 1000 / read < 1.02) }' ||
    fail "planned $planned thousand input tokens, read $read"
# So is the work of a step, of which the log tells what its packed sequences really hold.
planned=$("$loam" plan config.yaml "${room[@]}" 2>err | sed -n 's/^a step .*, \([0-9.]*\)M FLOP$/\1/p')
sed -n 's/.*"kind":"train".*"step_s":\([^,]*\),"flops_per_s":\([^,]*\),.*/\1 \2/p' runs/t5/metrics.jsonl |
    awk -v planned="$planned" '{ work += $1 * $2 / 1e6 } END { work /= NR; print planned, work; exit !(work > 0.95 * planned && work < 1.05 * planned) }' >out ||
    fail "a step is planned, and told, as so many MFLOP: $(cat out)"
echo "ok: a plan of a task counts its table"
