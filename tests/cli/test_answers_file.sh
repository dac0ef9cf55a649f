# Files of answers (--out of predict, and of eval with --task and --score): nothing of another kind is destroyed, one process
# writes at a time, and what a crash left of an answer is answered again.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks # lib.sh
cat >config.yaml <<YAML
run: { dir: runs/a, seed: 7 }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
task: { data: marks.tsv, valid: 20%, input: "mark: {text}", target: "{mark}", scores: accuracy }
data: { input_length: 32, target_length: 8 }
train: { length: 2 steps, batch: 8 samples, threads: 1, precision: f32, scores: false }
YAML
"$loam" train config.yaml 2>log || fail "train: $(tail -n 1 log)"
cut -f 1 marks.tsv | sed -n 2,9p >lines
"$loam" predict runs/a --out answers.jsonl <lines 2>err || fail "$(cat err)"

# refused 'TEXT' COMMAND…: it reads the lines and ends with this error.
refused() {
    local got=0
    "${@:2}" <lines >out 2>err || got=$?
    [ "$got" = 1 ] && [ "$(grep -c '^loam' err)" = 1 ] && grep -qF -- "$1" err || fail "$got, not \"$1\": ${*:2}: $(cat err)"
}
# kept BYTES COMMAND…: a file of a stranger stays as it is.
kept() {
    printf "$1" >strange
    cp strange before
    refused "strange:1 is not this model's answer to line 1 of" "${@:2}" --out strange
    cmp strange before || fail "a file was destroyed: $1"
}
for bytes in '{"id":1,"text":"one line, no line end"}' '{"input":"x"}' '{"input": "x"' '\0\0\0 nothing' 'text' '\n' '{"input":"x","prediction":"y"}\n'; do
    kept "$bytes" "$loam" predict runs/a
    kept "$bytes" "$loam" eval runs/a --task
done
echo '{"input":"tuka","target":"good"}' >pairs
kept '{"line":1,"note":"mine"}' "$loam" eval runs/a --score pairs

# same FILE: it has the answers of answers.jsonl. The last digits of a logprob depend on what is answered side by side.
plain() { sed 's/"logprob":[^,]*,//' "$1"; }
same() { cmp <(plain "$1") <(plain answers.jsonl); }

# A crash leaves a part of an answer, the whole without its line end, or zero bytes behind the others.
for left in 1 2 30 $(($(sed -n 3p answers.jsonl | wc -c) - 1)); do
    { head -n 2 answers.jsonl; sed -n 3p answers.jsonl | head -c "$left"; } >torn
    "$loam" predict runs/a --out torn <lines 2>err && same torn || fail "after $left bytes: $(cat err)"
done
{ head -n 2 answers.jsonl; printf '\0\0\0'; } >torn
"$loam" predict runs/a --out torn <lines 2>err && same torn || fail "after zeros: $(cat err)"
head -c 5 answers.jsonl >torn
"$loam" predict runs/a --out torn <lines 2>err && same torn || fail "after five bytes: $(cat err)"
printf '{"input":"not the next","of":"0"}' >tail
cat answers.jsonl tail >torn
cp torn before
cp lines eight
echo tuka >>lines
refused "torn:9 is not this model's answer to line 9 of" "$loam" predict runs/a --out torn
cmp torn before || fail "another's last line was cut off"
head -n 3 eight >lines
refused 'answers.jsonl has more answers than the 3 of standard input' "$loam" predict runs/a --out answers.jsonl
mv eight lines
echo "ok: torn answers are answered again, other files stay"

# Two processes: the second ends at once, and the first one's answers are whole.
mkfifo input
"$loam" predict runs/a --out both.jsonl <input 2>log &
pid=$!
exec 3<>input # which waits for nobody
head -n 1 lines >&3
until_true [ -s both.jsonl ]
refused 'another process writes answers to both.jsonl' "$loam" predict runs/a --out both.jsonl
tail -n +2 lines >&3
exec 3>&-
wait "$pid" || fail "$(cat log)"
same both.jsonl || fail "the answers of two processes are mixed"
echo "ok: one process at a time"

# A link is followed, a pipe is written to.
ln -s target.jsonl link.jsonl
"$loam" predict runs/a --out link.jsonl <lines 2>err && [ -L link.jsonl ] && same target.jsonl || fail "a link: $(cat err)"
mkfifo pipe
cat pipe >read &
"$loam" predict runs/a --out pipe <lines 2>err || fail "a pipe: $(cat err)"
wait $!
same read || fail "through a pipe: $(cat read)"
"$loam" predict runs/a --out /dev/stdout <lines 2>err | cat >standard && same standard || fail "standard output: $(cat err)"

# The name of a task where a model's is wanted.
expect 1 'humanevl: no such run, checkpoint or Hugging Face folder; if you mean the task humaneval, give the model before it' "$loam" eval --task humanevl
expect 1 'if you mean the task rte' "$loam" eval --task rte
expect 1 'no task is called humanevl, did you mean humaneval?' "$loam" eval runs/a --task humanevl
expect 1 'runs/b: no such run' "$loam" eval runs/b --task
