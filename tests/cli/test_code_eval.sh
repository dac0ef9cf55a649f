# labels: any-processor
# Completions of HumanEval and MBPP: those of another program and those of a model, tested in a sandbox.
. tests/cli/lib.sh "$1"
cd "$work"
cat >problems.jsonl <<'JSON'
{"task_id": "HumanEval/0", "prompt": "def add(a, b):\n", "entry_point": "add", "canonical_solution": "    return a + b\n", "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n"}
{"task_id": "HumanEval/1", "prompt": "def one():\n", "entry_point": "one", "canonical_solution": "    return 1\n", "test": "def check(candidate):\n    assert candidate() == 1\n"}
JSON
cat >samples.jsonl <<'JSON'
{"task_id": "HumanEval/0", "completion": "    return a + b\n"}
{"task_id": "HumanEval/1", "completion": "    return 2\n"}
{"task_id": "HumanEval/0", "completion": "    return 3\n"}
{"task_id": "HumanEval/0", "solution": "def add(a, b):\n    return a - b\n"}
{"task_id": "HumanEval/1", "completion": "    import shutil\n    shutil.rmtree('.', ignore_errors=True)\n    return 1\n"}
{"task_id": "HumanEval/1", "completion": "    import time\n    time.sleep(999)\n"}
JSON
expect 1 'no interpreter of Python 3; name another with --python FILE' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions samples.jsonl --python /bin/true
expect 1 '--predictions needs a task with tests: give --task NAME too' "$loam" eval --predictions samples.jsonl
expect 1 'no task is called humanevil, did you mean humaneval?' "$loam" eval --task humanevil --predictions samples.jsonl
expect 1 'task.valid is not set: the file of the problems' "$loam" eval --task humaneval --predictions samples.jsonl
expect 1 'task rte has no programs to test' "$loam" eval --task rte --predictions samples.jsonl
expect 1 '--n 3 needs --temperature above 0' "$loam" eval runs/a --task humaneval --n 3
expect 1 '--k 1,x is not a list' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions samples.jsonl --k 1,x
expect 1 'runs/a and humaneval: one task is wanted, and no model with --predictions' "$loam" eval runs/a --task humaneval task.valid=problems.jsonl --predictions samples.jsonl
expect 1 '--predictions are not generated' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions samples.jsonl --beams 10
# A character that no text can hold is refused only in a prompt, and the problem is named.
{
    head -n 1 problems.jsonl
    echo '{"task_id": "HumanEval/1", "prompt": "def one():\n    # \u0000\n", "entry_point": "one", "canonical_solution": "", "test": ""}'
    sed -n 1p problems.jsonl | sed 's,HumanEval/0,HumanEval/2,; s,return a + b,return 0 # \\ud800,'
} >nul.jsonl
expect 1 'nul.jsonl:2: the prompt of HumanEval/1 has a NUL or half a surrogate pair, which no text can hold; task.on_error=skip' \
    "$loam" eval --task humaneval task.valid=nul.jsonl --predictions samples.jsonl
if ! "$loam" eval --task humaneval task.valid=problems.jsonl --predictions samples.jsonl --timeout 6 --k 4,3,1 --out results.jsonl >out 2>err; then
    grep -q 'no sandbox: \|no interpreter\|it runs the programs' err || fail "$(cat err)"
    grep -q 'no sandbox' err && grep -q -- '--unsafe-no-sandbox' err || fail "no word of how to go on: $(cat err)"
    echo "skipped: $(cat err)"
    exit 77
fi
[ "$(tr -s ' ' <out)" = "humaneval pass@3 100.0000
 pass@1 50.0000" ] || fail "$(cat out)"
grep -q 'problems.jsonl: 2 problems, 6 programs: 3 passed, 2 failed, 1 timed out' err || fail "counts: $(cat err)"
[ "$(wc -l <results.jsonl)" = 6 ] || fail "$(cat results.jsonl)"
sed -n 1p results.jsonl | grep -qF '{"task_id":"HumanEval/0","completion":"    return a + b\n","passed":true,"result":"passed","of":"' || fail "$(cat results.jsonl)"
sed -n 4p results.jsonl | grep -qF '"solution":"def add(a, b):\n    return a - b\n","passed":false,"result":"failed: AssertionError"' || fail "$(cat results.jsonl)"
sed -n 6p results.jsonl | grep -qF '"result":"timed out"' || fail "$(cat results.jsonl)"
echo "ok: completions of another program are tested, in their order"
{ head -n 1 samples.jsonl; sed -n 1p samples.jsonl | sed s,/0,/2,; sed -n 2p samples.jsonl; } >nul-samples.jsonl
"$loam" eval --task humaneval task.valid=nul.jsonl --predictions nul-samples.jsonl --timeout 6 task.on_error=skip >out 2>err || fail "$(cat err)"
grep -q 'left out: nul.jsonl:2: the prompt of HumanEval/1' err && grep -q 'nul.jsonl: 2 problems, 2 programs: 2 passed' err || fail "$(cat err)"
"$loam" eval --task humaneval task.valid=problems.jsonl --predictions results.jsonl --timeout 6 --k 1,3 --json >again 2>err || fail "$(cat err)"
grep -q '^{"name":"humaneval","problems":2,"programs":6,"passed":3,"pass@1":[45][90].*,"pass@3":100.0}$' again || fail "$(cat again)"
echo "ok: results are read as predictions"
expect 1 '--k 4,5: samples.jsonl has 3 completions of HumanEval/0' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions samples.jsonl --k 4,5
mkdir sub
python3 -m venv --without-pip --symlinks venv
(cd sub && "$loam" eval --task humaneval task.valid=../problems.jsonl --predictions ../results.jsonl --timeout 6 --python ../venv/bin/python) >out 2>err || fail "$(cat err)"
echo "ok: an interpreter is given by a relative path"
cp results.jsonl whole.jsonl
head -c $(($(head -n 3 whole.jsonl | wc -c) + 20)) whole.jsonl >results.jsonl
expect 0 'results.jsonl has 3 answers: going on after them' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions samples.jsonl --timeout 6 --k 1 --out results.jsonl
grep -q '6 programs: 3 passed, 2 failed, 1 timed out' err && cmp whole.jsonl results.jsonl || fail "$(cat err results.jsonl)"
sed -n '1p;3,6p' samples.jsonl >other.jsonl
expect 1 "results.jsonl:2 is not this model's answer" "$loam" eval --task humaneval task.valid=problems.jsonl --predictions other.jsonl --timeout 6 --out results.jsonl
cmp whole.jsonl results.jsonl || fail "results were changed"
echo "ok: an interrupted evaluation goes on"
head -n 1 samples.jsonl >few.jsonl
expect 1 'few.jsonl: no completion of HumanEval/1' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions few.jsonl
expect 0 'pass@1                   100.0000' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions few.jsonl --samples 1 --timeout 60
echo '{"task_id": "HumanEval/7", "completion": ""}' >few.jsonl
expect 1 'few.jsonl:1: no problem is called HumanEval/7' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions few.jsonl
echo '{"task_id": "HumanEval/1"}' >few.jsonl
expect 1 'few.jsonl:1: no text "completion" or "solution"' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions few.jsonl
echo '{"task_id": "x", "prompt": "x"}' >bad.jsonl
expect 1 'bad.jsonl:1: no field "test"; there are task_id, prompt' "$loam" eval --task humaneval task.valid=bad.jsonl --predictions few.jsonl
"$loam" eval --task humaneval task.valid=problems.jsonl --predictions samples.jsonl --timeout 6 --unsafe-no-sandbox --k 1 >out 2>err || fail "$(cat err)"
grep -q 'pass@1 *50.0000' out || fail "$(cat out)"
echo "ok: without a sandbox, if told"

# EvalPlus: both pass@k from its own files, one from those of Hugging Face, which hold all tests in one program.
cat >plus.jsonl <<'JSON'
{"task_id": "HumanEval/0", "prompt": "def add(a, b):\n", "entry_point": "add", "canonical_solution": "    return a + b\n", "base_input": [[1, 2]], "plus_input": [[5, 6]], "atol": 0}
JSON
echo '{"task_id": "HumanEval/0", "completion": "    return 3\n"}' >few.jsonl
"$loam" eval --task humaneval_plus task.valid=plus.jsonl --predictions few.jsonl --timeout 60 >out 2>err || fail "$(cat err)"
[ "$(tr -s ' ' <out)" = "humaneval_plus base_pass@1 100.0000
 pass@1 0.0000" ] || fail "$(cat out)"
head -n 1 problems.jsonl >plus.jsonl
"$loam" eval --task humaneval_plus task.valid=plus.jsonl --predictions few.jsonl --timeout 60 >out 2>err || fail "$(cat err)"
[ "$(tr -s ' ' <out)" = "humaneval_plus pass@1 100.0000" ] || fail "$(cat out)"
echo "ok: EvalPlus in both of its layouts"

# Models: a GPT goes on from the prompt, a T5 fills the span behind it. Both learn the one solution by heart.
awk 'BEGIN { for (i = 0; i < 60; i++) printf "{\"text\": \"def add(a, b):\\n    return a + b\\n\\ndef one():\\n    return 1\\n\"}\n" }' >corpus.jsonl
"$loam" tokenizer train --type byte-bpe --for t5 --vocab-size 300 --out tok corpus.jsonl 2>err || fail "$(cat err)"
head -n 1 problems.jsonl >first.jsonl
for family in gpt t5; do
    input='{prompt}'
    [ $family = gpt ] && shape='family: gpt, n_dec: 1' || { shape='n_enc: 1, n_dec: 1'; input='{prompt}<extra_id_0>'; }
    target='{canonical_solution}'
    [ $family = gpt ] || target='<extra_id_0>{canonical_solution}<extra_id_1>'
    cat >$family.yaml <<YAML
run: { dir: runs/$family, seed: 7 }
model: { $shape, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok }
task: { name: humaneval, data: problems.jsonl, valid: first.jsonl, input: "$input", target: "$target" }
data: { input_length: 64, target_length: 24 }
train: { length: 80 steps, batch: 2 samples, micro_batch: 2 samples, log_every: 20 steps, eval_every: 0 steps, threads: 1 }
optim: { name: adamw, lr: 1e-2, schedule: constant, warmup: 0 steps }
YAML
    "$loam" train $family.yaml 2>log || fail "train: $(tail -n 3 log)"
    for how in '--timeout 60 --beams 10 --length-penalty 0.5' '--timeout 60 --n 4 --temperature 0.3 --top-p 0.9'; do
        rm -f results.jsonl
        "$loam" eval runs/$family --task $how --out results.jsonl >out 2>err || fail "eval: $(cat err)"
        grep -q '^humaneval *pass@1 *100.0000' out || fail "$family $how: $(cat out results.jsonl)"
    done
    [ "$(wc -l <results.jsonl)" = 4 ] || fail "$(cat results.jsonl)"
    head -n 1 results.jsonl | grep -q '"completion":"    return a + b\\n"' || fail "$(cat results.jsonl)"
    cp results.jsonl whole.jsonl
    head -n 3 whole.jsonl >results.jsonl
    "$loam" eval runs/$family --task $how --out results.jsonl >again 2>err || fail "eval: $(cat err)"
    cmp out again && cmp whole.jsonl results.jsonl || fail "resumed: $(cat again results.jsonl)"
    expect 1 '--k 10: there are only 1 completions of a problem, as --n says' "$loam" eval runs/$family --task --k 10
    expect 1 "results.jsonl:1 is not this model's answer" "$loam" eval runs/$family --task $how --seed 2 --out results.jsonl
    expect 1 "--temperature is for programs" "$loam" eval runs/$family data.valid=problems --temperature 0.8
    "$loam" eval runs/$family --task --stop 'a +' --out cut.jsonl >out 2>err || fail "eval: $(cat err)"
    grep -q '"completion":"    return ","passed":false' cut.jsonl || fail "--stop: $(cat cut.jsonl)"
    rm cut.jsonl
    echo "ok: a $family writes programs that pass"
done

# CodeXGLUE's scores, and a pair of files as a task.
printf 'int f ( ) { return 1 ; }\nint g ( ) { return 2 ; }\n' >a.java
printf 'int f ( ) { return 1 ; }\nint g ( ) {  return 3 ; }\n' >b.cs
expect 0 'exact_words   exact_match                50.0000' "$loam" scores exact_words,codexglue_bleu a.java b.cs
expect 1 'CodeBLEU needs to know the language: --language NAME, one of java, c_sharp' "$loam" scores codebleu_no_dataflow a.java b.cs
expect 1 'no grammar of java is installed' env LOAM_GRAMMARS="$work/none" "$loam" scores codebleu_no_dataflow --language java a.java b.cs
expect 0 'target  int g ( ) {  return 3 ; }' "$loam" task show --valid task.name=java_cs task.valid=a.java,b.cs

# Programs that compute nothing: what they replace is not what the harness calls, and the answers are not there to be read.
sed -n 2p problems.jsonl >one.jsonl
cat >cheats.jsonl <<'JSON'
{"task_id": "HumanEval/1", "solution": "import json\njson.dumps = lambda *a, **k: '{\"result\": \"passed\", \"base\": true}'\njson.JSONEncoder.encode = json.dumps"}
{"task_id": "HumanEval/1", "solution": "import __main__\n__main__.tell = lambda problem: 'passed'"}
{"task_id": "HumanEval/1", "solution": "import json\nproblem = json.load(open('problem.json'))\nexec(problem['prompt'] + problem['canonical_solution'])"}
{"task_id": "HumanEval/1", "solution": "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0)\ntime.sleep(2.5)\ndef one():\n    return 1"}
JSON
"$loam" eval --task humaneval task.valid=one.jsonl --predictions cheats.jsonl --timeout 1 --k 1 --out cheated.jsonl >out 2>err || fail "$(cat err)"
[ "$(grep -c '"passed":false' cheated.jsonl)" = 4 ] || fail "cheats pass: $(cat cheated.jsonl)"
sed -n 4p cheated.jsonl | grep -q 'timed out' || fail "a limit is stretched: $(cat cheated.jsonl)"
echo "ok: what a solution replaces, reads and stops"

# EvalPlus: whatever the text of an exception, the base inputs that passed have passed.
echo '{"task_id": "HumanEval/7", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n", "base_input": [[1]], "plus_input": [[2]], "atol": 0}' >plus.jsonl
cat >texts.jsonl <<'JSON'
{"task_id": "HumanEval/7", "solution": "def f(x):\n    if x == 2:\n        raise ValueError('a' + chr(0) + 'b')\n    return x"}
{"task_id": "HumanEval/7", "solution": "def f(x):\n    if x == 2:\n        raise ValueError(chr(0xd800))\n    return x"}
{"task_id": "HumanEval/7", "solution": "class E(Exception):\n    def __str__(self):\n        raise KeyError(1)\ndef f(x):\n    if x == 2:\n        raise E()\n    return x"}
JSON
"$loam" eval --task humaneval_plus task.valid=plus.jsonl --predictions texts.jsonl --k 1 --out said.jsonl >out 2>err || fail "$(cat err)"
[ "$(grep -c '"passed_base":true' said.jsonl)" = 3 ] || fail "base inputs: $(cat said.jsonl)"
echo "ok: the texts of exceptions"
