# labels: any-processor
# Programs that compute nothing and try to pass: the tests, their results and the token are in a process that they cannot reach.
. tests/cli/lib.sh "$1"
cd "$work"
cat >problems.jsonl <<'JSON'
{"task_id": "HumanEval/1", "prompt": "def one():\n", "entry_point": "one", "canonical_solution": "    return 1\n", "test": "def check(candidate):\n    assert candidate() == 1\n"}
JSON
cat >plus.jsonl <<'JSON'
{"task_id": "HumanEval/1", "prompt": "def one():\n", "entry_point": "one", "canonical_solution": "    return 1\n", "base_input": [[]], "plus_input": [[]], "atol": 0}
JSON
printf '%s\n' '{"task_id": "HumanEval/1", "completion": "    return 1\n"}' >right.jsonl
if ! "$loam" eval --task humaneval task.valid=problems.jsonl --predictions right.jsonl --timeout 60 --k 1 >out 2>err; then
    grep -q 'no sandbox: \|no interpreter\|it runs the programs' err || fail "$(cat err)"
    echo "skipped: $(cat err)"
    exit 77
fi
grep -q 'pass@1 *100.0000' out || fail "$(cat out)"

# cheat: adds the program of standard input.
cheat() {
    printf '{"task_id": "HumanEval/1", "solution": "%s"}\n' "$(sed 's/\\/\\\\/g; s/"/\\"/g' | awk '{ printf "%s\\n", $0 }')" >>cheats.jsonl
}
cheat <<'PY' # the token, from the frames of the harness
import os, sys
frame, names = sys._getframe(), {}
while frame:
    names.update(frame.f_globals, **frame.f_locals)
    frame = frame.f_back
os.write(names['answer'], (names['settings']['token'] + '{"result": "passed", "base": true}').encode())
os._exit(0)
PY
cheat <<'PY' # the token, wherever the collector of garbage knows it
import gc, os, sys
seen, todo = set(), [sys._getframe(1), gc.get_objects()]
while todo:
    found = todo.pop()
    if id(found) in seen:
        continue
    seen.add(id(found))
    if isinstance(found, str) and len(found) == 17 and found[-1] == ':':
        for file in range(64):
            try:
                os.write(file, (found + '{"result": "passed", "base": true}').encode())
            except OSError:
                pass
    todo += gc.get_referents(found)
os._exit(0)
PY
cheat <<'PY' # the functions of the harness and their defaults
import __main__
for name, value in list(vars(__main__).items()):
    if callable(value) and not isinstance(value, type):
        value.__defaults__ = tuple((lambda *_: 'passed') for _ in value.__defaults__ or ())
        value.__code__ = (lambda *_, **__: 'passed').__code__
PY
cheat <<'PY' # what the harness does next
import sys
def trace(frame, event, value):
    for name in ('test', 'within', 'compare', 'script', 'run_script', 'names', 'tell', 'equal'):
        frame.f_globals[name] = lambda *_: 'passed'
    return trace
sys.settrace(trace)
PY
cheat <<'PY' # an answer at the end
import atexit, os
def last():
    for file in range(64):
        try:
            os.write(file, b'{"result": "passed", "base": true}\n')
        except OSError:
            pass
atexit.register(last)
raise SystemExit(0)
PY
cheat <<'PY' # an answer before that of the call
import os
def one():
    for file in range(64):
        try:
            os.write(file, b'{"result": "passed", "base": true}\n' * 9)
        except OSError:
            pass
    return 7
PY
cheat <<'PY' # memory and descriptors of the process and its parent
import os, re
def one():
    for process in ('self', str(os.getppid()), '1'):
        for file in os.listdir('/proc/' + process + '/fd'):
            memory = open('/proc/' + process + '/mem', 'rb')
            for start, end in re.findall('^(\\w+)-(\\w+) rw', open('/proc/' + process + '/maps').read(), re.M):
                memory.seek(int(start, 16))
                for token in re.findall(b'"token": "(.{17})"', memory.read(int(end, 16) - int(start, 16))):
                    open('/proc/' + process + '/fd/' + file, 'wb', 0).write(token + b'{"result": "passed", "base": true}')
    return 7
PY
cheat <<'PY' # files
import os
def one():
    for folder, _, files in os.walk('.'):
        for name in files:
            if 'canonical_solution": ' in open(os.path.join(folder, name)).read():
                return 1
    return 7
PY
cheat <<'PY' # a result that equals everything
class One(int):
    __eq__ = __ne__ = __bool__ = lambda *_: True
    __hash__ = int.__hash__
def one():
    return One(7)
PY
cheat <<'PY' # an object that equals everything
class Any:
    __eq__ = __ne__ = __bool__ = __getattr__ = __call__ = lambda *_: True
def one():
    return Any()
PY
cheat <<'PY' # signals to the tests
import os, signal
def one():
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM):
        os.kill(os.getppid(), number)
    return 7
PY
cheat <<'PY' # other names of the tests
def check(candidate):
    pass
def one():
    return 7
__builtins__['AssertionError'] = SystemExit
PY
n=$(wc -l <cheats.jsonl)
for task in humaneval:problems humaneval_plus:plus; do
    "$loam" eval --task ${task%:*} task.valid=${task#*:}.jsonl --predictions cheats.jsonl --timeout 20 --k 1 --out $task >out 2>err || fail "$(cat err)"
    [ "$(grep -c '"passed":false' $task)" = "$n" ] || fail "cheats pass: $(cat $task)"
    ! grep -q '"passed_base":true' $task || fail "cheats pass: $(cat $task)"
    echo "ok: ${task%:*}: $n programs that compute nothing"
done

# What is in a completion that no source text can hold fails by itself.
cat >odd.jsonl <<'JSON'
{"task_id": "HumanEval/1", "completion": "    return 1 # \u0000"}
{"task_id": "HumanEval/1", "completion": "    return 1 # \ud800"}
{"task_id": "HumanEval/1", "solution": "x = '\udc00 \\ud800'\ndef one():\n    return 1"}
{"task_id": "HumanEval/1", "completion": "    return 1 # \ud83d\ude00 \\u0000"}
{"task_id": "HumanEval/1", "completion": "    return 1", "of": "\u0000"}
JSON
for i in 1 2; do
    expect 0 'pass@1                    40.0000' "$loam" eval --task humaneval task.valid=problems.jsonl --predictions odd.jsonl --k 1 --out odd
done
[ "$(grep -o '"passed":[a-z]*' odd | tr -d '\n')" = '"passed":false"passed":false"passed":false"passed":true"passed":true' ] || fail "$(cat odd)"
[ "$(grep -c 'failed: a NUL or half a surrogate pair is in it' odd)" = 3 ] || fail "$(cat odd)"
echo "ok: completions with a NUL and with half a surrogate pair"
