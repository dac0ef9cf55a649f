# labels: starts-first
# tools/gpu-trial, dry: its sections run on kernels that run on the host; what fails is named and the others go on. Argument:
# the build folder.
set -euo pipefail
build=$(realpath "$1")
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "skipped: Python 3.10 is not here"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAIL: $*" >&2
    exit 1
}
trial() { tools/gpu-trial --shim "$build" "$@" >"$work/page" 2>"$work/err"; }
page() { grep -qE "$1" "$work/page" || fail "no \"$1\" in $(cat "$work/page" "$work/err")"; }
one_line() {
    [ "$(wc -l <"$work/err")" = 1 ] && grep -qF "$1" "$work/err" || fail "not one line with \"$1\": $(cat "$work/err")"
}
json() { python3 -c "import json, sys; trial = json.load(open(sys.argv[1])); assert $2, trial" "$work/$1/trial.json"; }

trial --out "$work/out" --only machine,operations,families,curves,speed,launches,kernels || fail "$(cat "$work/err")"
for text in 'Nothing failed' '^- loam env: loam .*; gpu Shim' '^[1-9][0-9]* of [1-9][0-9]* tests pass' '^1 of 1 train, save, resume' \
    '^\| cuda \| bf16 \| ' '^\| T5-1.1-XL \| bf16 \| [12] \| 32 / 8 \| ' '^\| T5-1.1-XL, FP8 \| fp8 and bf16 \| ' '^\| GPT-2-1.5B \| ' \
    '^\| attn_fwd \| ' '^\| gemm \| y 96x32 [^|]*\| [0-9]+ \| [0-9]+ \| [+-][0-9.]+ % \|' '^\| attn_bwd \| dq 32x32 [^|]*\| ' '^\| T5-1.1-large, 4,096 tokens \| ' \
    '^\| GPT-2, a training step \| [0-9.]+ \| [0-9.]+ \| none \| [+-][0-9.]+ % \|' \
    '^\| T5-1.1-small, a token of 1 answers(( \| [0-9.]+)| \| not measured){3} \| ([+-][0-9.]+ %|not measured) \|' \
    '^\| T5-1.1-XL: sequences .* \| dry run \|' '^\| GPT-2: rate beside torch.compile.* \| — \| not measured \|' '^\| peers \| not chosen \|'; do
    page "$text"
done
json out 'trial["failed"] == [] and trial["sections"]["speed"]["verdict"] == "done, nothing failed"'
tar -tzf "$work/out/logs.tar.gz" >"$work/list"
grep -q 'logs/train-t5-gpu-2.log' "$work/list" || fail "no logs"
[ "$(ls "$work/out" | wc -l)" = 3 ] || fail "more than three files: $(ls "$work/out")"
echo "ok: sections"

# The bars, by made-up figures.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 - <<'END' || fail "bars"
from gpu_trial.page import bars
from gpu_trial.rates import CAUSAL
def step(tokens, share=0.7):
    return {"tokens_per_s": tokens, "input_tokens": 512, "share_of_peak": share, "micro_batch": 8}
results = {"speed": {"T5-1.1-small": {"memory_bytes": 96 << 20, "planned_bytes": 100 << 20},
                     "GPT-2-1.5B": {"memory_bytes": 500 << 20, "planned_bytes": 100 << 20},
                     "T5-1.1-large": step(512 * 331, 0.59), "T5-1.1-XL": step(512 * 80), "T5-1.1-XL, FP8": step(512 * 105),
                     "T5-1.1-large, 4,096 tokens": step(1)},
           "peers": {"T5-1.1-large": {"compiled": {"tokens_per_s": 512 * 220, "samples": 32}},
                     "T5-1.1-large, 4,096 tokens": {"eager": {"tokens_per_s": None, "samples": None}}},
           "peer-ops": [{"op": "copy within the GPU", "bytes_per_s": 4e12}],
           "kernels": {"T5-1.1-large": [{"op": "attn_fwd", "flops_per_s": 9e14, "seconds": 1}, {"op": "attn_fwd", "flops_per_s": 2e14, "seconds": 9},
                                        {"op": "attn_bwd", "flops_per_s": 1e14, "seconds": 1},
                                        {"op": "norm_fwd", "bytes_per_s": 3.1e12, "seconds": 1}, {"op": "norm_bwd", "bytes_per_s": 2.9e12, "seconds": 1}],
                       CAUSAL: [{"op": op, "flops_per_s": 3e14, "seconds": 1} for op in ("attn_fwd", "attn_bwd")]}}
found = {name: verdict for name, _, _, verdict in bars(results, False)}
met = {name for name, verdict in found.items() if verdict == "met"}
missed = {name for name, verdict in found.items() if verdict == "NOT MET"}
assert len(found) == 25 and len(met) == 9 and len(missed) == 6, found
assert [sum("256 MiB" in name for name in names) for names in (met, missed)] == [1, 1], found
assert [sum(name.startswith("norm") for name in names) for names in (met, missed)] == [1, 1], found
assert sum(name.startswith("T5-1.1-large") for name in missed) == 1 and sum("bias" in name for name in met) == 1, found
assert [sum("memory" in name for name in names) for names in (met, missed)] == [1, 1], found
assert set(verdict for *_, verdict in bars({}, False)) == {"not measured"}
END
echo "ok: bars"

# Kinds of launching, by made-up times: one that other work made shorter than nothing is no time.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 - <<'END' || fail "launches"
from gpu_trial import launches
def row(*seconds):
    times, kinds = iter(seconds), list(launches.KINDS)[:len(seconds) // launches.TURNS]
    return launches.row("a", launches.in_turns(lambda env, turn: next(times), kinds))
assert row(0.004, 0.002, 0.003, 0.001) == ["a", "3.000", "1.000", "none", "+200.0 %"], row(0.004, 0.002, 0.003, 0.001)
assert row(0.002, 0.003, 0.001, 0.004, -0.000131, 0.002) == ["a", "2.000", "3.000", "1.000", "+100.0 %"]
assert row(-0.1, 0.003, 0.001, 0, 0.002, 0.002) == ["a", "not measured", "2.000", "1.000", "not measured"]
END
echo "ok: launches"

# What is to be done next, by what the sections came to.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 - <<'END' || fail "next steps"
import argparse
from gpu_trial import page, trial
def steps_of(wanted, failed=(), late=(), absent=(), refused="", results=None):
    on = trial.Trial(argparse.Namespace(out="results/a", minutes=8, shim=None, unpack="trial.tar.gz"))
    on.sections, on.wanted, on.refused, on.results = ["machine", "operations", "speed", "peers", "sanitizer"], wanted, refused, results or {}
    on.rest, on.seconds = ["machine", "speed", "peers", "sanitizer"], dict.fromkeys(wanted, 1)
    on.failed, on.late, on.absent = [(of, "why", "") for of in failed], [(of, "part") for of in late], list(absent)
    return page.next_steps(on)
def again(which):
    return f"`tools/gpu-trial --unpack trial.tar.gz --out results/a-{which} --only "
everything = ["machine", "operations", "speed", "peers", "sanitizer"]
steps = steps_of(everything, ["speed", "operations", "speed"], ["peers"], [("sanitizer", "compute-sanitizer is not on this machine")],
                 results={"speed": {"T5-1.1-XL": {"share_of_peak": 0.5}}})
assert len(steps) == 4 and again("failed") + "operations,speed`" in steps[0] and again("more") + "peers --minutes 20`" in steps[1], steps
assert "`pip install nvidia-cuda-sanitizer-api`, then " + again("tools") + "sanitizer`" in steps[2] and "bar that is not met" in steps[3], steps
assert len(steps_of(everything)) == 1 and steps_of(everything)[0].startswith("Nothing is left"), steps_of(everything)
# The minutes of the sections that --rest runs, whichever this trial has run.
for run in ["machine", "operations"], ["machine"], ["operations"]:
    assert "--rest --minutes 30 --out results/a-rest`" in steps_of(run)[0], (run, steps_of(run))
for major, package in (13, "nvidia-cublas"), (12, "nvidia-cublas-cu12"):
    steps = steps_of(everything, ["machine"], refused=f"loam-cuda.so needs its cuBLASLt: libcublasLt.so.{major} is not in /usr/local")
    assert len(steps) == 1 and f"/usr/local. `pip install {package}` brings cuBLASLt. Then {again('again')}machine," in steps[0], steps
assert steps_of(everything, absent=[("sanitizer", "compute-sanitizer refuses this machine: no")])[0].startswith("Nothing is left")
END
echo "ok: next steps"

# The division of the time: no section is left out of a short trial, what one does not need goes to those after it.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 - <<'END' || fail "division of the time"
from gpu_trial.share import NEEDS, NOTHING, Need, divide, need_of
needs = [Need(10, 20, 1), Need(30, 200, 1), Need(60, 100, 2)]
assert divide(needs, 50) == [5, 15, 30], divide(needs, 50)
assert divide(needs, 100) == [10, 30, 60], divide(needs, 100)
assert divide(needs, 120) == [15, 35, 70], divide(needs, 120)
assert divide(needs, 240) == [20, 120, 100], divide(needs, 240)  # two are whole: the rest is the other's
assert [round(part, 6) for part in divide(needs, 640)] == [40, 400, 200], divide(needs, 640)
assert divide([NOTHING], 60) == [60]
stages = [["machine"], ["code", "operations", "families", "curves"], ["speed"], ["launches"], ["ranks"], ["kernels"], ["peer-ops"], ["peers"], ["sanitizer"]]
assert {name for names in stages for name in names} == set(NEEDS)
for gpus, minutes in (1, 5.6), (1, 8), (8, 8), (1, 60):
    parts = [need_of(names, gpus) for names in stages]
    given = divide(parts, 60 * minutes)
    assert abs(sum(given) - 60 * minutes) < 1e-6, given
    for names, need, seconds in zip(stages, parts, given):
        assert seconds >= 0.9 * need.least, (gpus, minutes, names, seconds)
assert need_of(["ranks"], 1) == NOTHING and need_of(["ranks"], 2) == NEEDS["ranks"]
END
echo "ok: division"

# Peers: eager ones before the first that is compiled; one that has too little time is named with the time that it needs.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 - "$work" <<'END' || fail "peers"
import argparse, json, pathlib, sys, time
from gpu_trial import rates, trial, watch
on = trial.Trial(argparse.Namespace(out=sys.argv[1] + "/peers", minutes=1, shim=None))
on.logs, on.deadline, asked = pathlib.Path(sys.argv[1]), time.monotonic() + 130, []
step = {"tokens_per_s": 300.0, "input_tokens": 512, "target_tokens": 114, "parameters": 7, "micro_batch": 8}
on.results["speed"] = {name: step for name in rates.PEERS}
on.run = lambda name, *_: trial.Ran(0, "True", "")
def must(name, words, *_):
    asked.append((words[2], words[3], words[4]))
    samples = None if "--attention" in words else int(words[4].split(",")[0])
    return json.dumps({"kind": words[3], "tokens_per_s": 100.0, "samples": samples, "first_s": 1.0, "attention": "sdpa", "input_tokens": 512,
                       "parameters": 7, "torch": "2"})
on.must = must
rates.peers(on)
kinds = [kind for _, kind, _ in asked]
assert kinds == ["eager"] * 6 + ["compiled"] * 3, asked
assert asked[0] == ("t5-large", "eager", "32,64,128") and asked[5] == ("t5-large", "eager", "8") and asked[6] == ("gpt2", "compiled", "16"), asked
late = [part for _, part in on.late]
assert len(late) == 2 and late[0].startswith("T5-1.1-large, compiled (needs about 300 s, 1"), on.late
assert on.failed == [] and "| GPT-2 | compiled |" in on.lines["peers"][-1], (on.failed, on.lines)
# Something else on the GPU is waited for, and said.
on.lines, waits = {}, []
watch.time = argparse.Namespace(sleep=waits.append)
on.run = lambda name, *_: trial.Ran(0, "5000", "") if len(waits) < 3 else trial.Ran(0, "600", "")
watch.alone(on, "speed")
assert len(waits) == 3 and on.lines == {}, waits
on.run = lambda name, *_: trial.Ran(0, "5000\n600", "")
watch.alone(on, "speed")
assert on.lines["speed"][0].startswith("Something else holds 5,000 MiB"), on.lines
END
echo "ok: peers"

# Several GPUs: layouts, by threads and where mpirun is by processes, steps and collectives; a fault of one layout fails this one.
LOAM_FAKE_GPUS=2 trial --out "$work/ranks" --only ranks || fail "$(cat "$work/page" "$work/err")"
for text in 'Nothing failed' '^\| data parallel \| [0-9.]*e-' '^\| ZeRO 3 \| ' '^\| tensor parallel \| ' '^\| pipeline \| ' \
    '^\| GPT-2 \| 2 \| ' '^\| T5-1.1-large \| 1 \| .* \| 1.00 \| 100 % \| 0 \|' '^Collectives of 2 ranks \(nccl\)' '^\| all-reduce \| '; do
    page "$text"
done
if command -v mpirun >/dev/null && [ -e "$build/loam-mpi.so" ]; then
    [ "$(grep -c '| the same bits |' "$work/page")" = 6 ] || fail "processes: $(cat "$work/page")"
else
    page '^Ranks as processes: not here'
fi
trial --out "$work/one-gpu" --only ranks || fail "$(cat "$work/page" "$work/err")"
page '^\| ranks \| not run: not here: one GPU \|'
LOAM_NCCL=$work/gone.so LOAM_FAKE_GPUS=2 trial --out "$work/no-nccl" --only ranks || fail "$(cat "$work/page" "$work/err")"
page '^\| ranks \| not run: not here: NCCL: '
echo "ok: ranks"

# Every test that a trial runs on a GPU, on one combination: a dry trial takes the first of each program.
for program in ops ops_attention ops_wide ops_fp8 ops_random ops_edges; do
    RIG_STRIDE=997 OMP_NUM_THREADS=1 LD_LIBRARY_PATH=$build/test-driver LOAM_CUDA_BACKEND=$build/libbackend_shim.so \
        "$build/gpu_test_$program" >"$work/case" 2>&1 || fail "gpu_test_$program: $(tail -3 "$work/case")"
done
# The cases with arrays beside their tensors, in more forms than a dry run takes: they must lie in memory that the case allocated.
for path in $("$build/gpu_test_ops_attention" -l | grep -E 'attn_(forms|layout)_match'); do
    stride=29 # 15 of 432 combinations, in which each choice comes up
    [[ $path != */attn_forms* ]] || stride=5 # 7 of 32
    RIG_STRIDE=$stride OMP_NUM_THREADS=1 LD_LIBRARY_PATH=$build/test-driver LOAM_CUDA_BACKEND=$build/libbackend_shim.so \
        "$build/gpu_test_ops_attention" -p "$path" >"$work/case" 2>&1 || fail "$path: $(tail -3 "$work/case")"
done
echo "ok: cases"

# The models of a real trial, which a dry run makes tiny, are such as loam trains.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 - >"$work/models" <<'END'
from gpu_trial import rates
for model in [*rates.MODELS.values(), rates.KERNELS[rates.CAUSAL]]:
    print(model.config, model.options)
END
while read -r config options; do
    # shellcheck disable=SC2086
    "$build/loam" plan "$config" $options train.precision=bf16 train.micro_batch="8 samples" train.batch="8 samples" >"$work/plan" 2>&1 ||
        fail "$options: $(cat "$work/plan")"
done <"$work/models"
[ "$(wc -l <"$work/models")" = 10 ] || fail "$(cat "$work/models")"
# What an H200 has measured so far stands in bench/results.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools python3 - <<'END' || fail "rates of an H200"
import re
from gpu_trial.rates import MODELS
docs, named = open("bench/results/2026-11-26-h200.md").read().split("| first, samples/s | now, samples/s")[1], {"GPT-2": "GPT-2 124M, 1,024 tokens", "GPT-2-1.5B": "GPT-2 1.5B, 1,024 tokens"}
for name, model in MODELS.items():
    row = re.search(rf"^\| {re.escape(named.get(name, name))} \| (\d+) \| [^|]+ \| ([0-9,.]+) \|", docs, re.M)
    assert row and float(row.group(2).replace(",", "")) == model.known and int(row.group(1)) in model.batches, (name, row)
END
echo "ok: models"

# The choice of GPUs is kept, unless it hides all of them.
visible() { # VALUE: what the programs of a trial are told
    CUDA_VISIBLE_DEVICES=$1 PYTHONPATH=tools python3 -B -c 'import argparse
from gpu_trial.trial import Trial
print(Trial(argparse.Namespace(out=".", minutes=1, shim=None)).env.get("CUDA_VISIBLE_DEVICES", "all"))'
}
[ "$(visible 3) $(visible '') $(visible -1)" = "3 all all" ] || fail "GPUs: $(visible 3) $(visible '') $(visible -1)"

# A GPU that does not open: each section says so, and what the command said at last.
! LOAM_FAKE_GPU_REFUSES='it is busy' trial --out "$work/busy" --only operations,families,speed || fail "a GPU that does not open is a success"
for section in operations families speed; do
    page "^- $section: .*it is busy"
done
page '^      .*it is busy'

# What is packed starts where it is unpacked, by either C library. Without the backend or a test nothing is packed.
mkdir "$work/packed"
ln -s "$build"/* "$work/packed"
rm -f "$work/packed/loam-cuda.so"
! tools/gpu-trial --pack "$work/trial.tar.gz" --build "$work/packed" 2>"$work/err" || fail "an archive without the backend"
one_line 'so nothing is packed: loam-cuda.so; `make gpu-trial` builds'
[ ! -e "$work/trial.tar.gz" ] || fail "an archive without the backend was written"
ln -s "$build/libbackend_shim.so" "$work/packed/loam-cuda.so"
tools/gpu-trial --pack "$work/trial.tar.gz" --build "$work/packed" >/dev/null 2>&1
tar -tzf "$work/trial.tar.gz" >"$work/list"
grep -q '/lib/loam/gpu_test_ops_attention$' "$work/list" || fail "no tests are packed"
for glibc in system own; do
    LOAM_GLIBC=$glibc RIG_STRIDE=997 LD_LIBRARY_PATH=$build/test-driver LOAM_CUDA_BACKEND=$build/libbackend_shim.so \
        tools/gpu-trial --unpack "$work/trial.tar.gz" --out "$work/unpacked-$glibc" --only machine >"$work/page" 2>"$work/err" ||
        fail "$(cat "$work/err")"
    page '^- loam env: loam .*; gpu Shim'
done
# Python before 3.11.4, such as Debian 12's, has no filters of archives.
PYTHONPATH=tools python3 -B - "$work/trial.tar.gz" "$work/old-python" <<'END' || fail "an old Python does not unpack"
import pathlib, sys, tarfile
from gpu_trial import trial
new = tarfile.TarFile.extractall
def old(self, path=".", members=None, *, numeric_owner=False):
    new(self, path, members, numeric_owner=numeric_owner)
tarfile.TarFile.extractall = old
if hasattr(tarfile, "data_filter"):
    del tarfile.data_filter
assert (trial.unpack(sys.argv[1], pathlib.Path(sys.argv[2])) / "bin" / "loam").exists()
END
rm -r "$work/old-python"
# A machine that has no program but a shell and what starts the bundle.
mkdir "$work/bare"
for name in bash sh env readlink; do ln -s "$(readlink -f "$(command -v $name)")" "$work/bare/$name"; done
PATH=$work/bare LD_LIBRARY_PATH=$build/test-driver LOAM_CUDA_BACKEND=$build/libbackend_shim.so "$(python3 -c 'import sys; print(sys.executable)')" \
    tools/gpu-trial --unpack "$work/trial.tar.gz" --out "$work/unpacked-bare" --only machine,code >"$work/page" 2>"$work/err" || fail "$(cat "$work/err")"
page '^- nvidia-smi: not here: No such file or directory: nvidia-smi'
mkdir "$work/none"
: >"$work/none/libcuda.so.1"
! LD_LIBRARY_PATH=$work/none tools/gpu-trial --unpack "$work/trial.tar.gz" --out "$work/no-gpu" >"$work/page" 2>"$work/err" ||
    fail "a machine without a GPU is a success"
page '1 failed. Not run, or not whole: code, operations, families, curves, speed, launches, ranks, kernels, peer-ops, peers, sanitizer'
page '^- machine: no GPU, so nothing else runs: none is used: there is no NVIDIA driver'
page '^- loam uses no GPU: there is no NVIDIA driver'
mkdir "$work/there"
tar -C "$work/there" -xzf "$work/trial.tar.gz"
for glibc in system own; do
    LOAM_GLIBC=$glibc "$work"/there/loam-*/bin/gpu_test_ops_edges -l >"$work/list" || fail "tests do not start by the C library \"$glibc\""
    grep -q '^/' "$work/list" || fail "no tests: $(cat "$work/list")"
done
echo "ok: packed and unpacked"

# Programs in place of some of those that the sections start.
mkdir "$work/build" "$work/bin"
ln -s "$build"/* "$work/build"
fake() { # file, commands of the shell
    rm -f "$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
faked() { tools/gpu-trial --shim "$work/build" "$@" >"$work/page" 2>"$work/err"; }
gone() {
    for _ in $(seq 6000); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done
    fail "what the trial started goes on"
}

# A test that fails is run once more, with the log of cuBLASLt.
fake "$work/build/gpu_test_ops" '[ "$1" = -l ] && echo /ops/gemm && exit; echo "error 7: log ${CUBLASLT_LOG_LEVEL:-0}" >&2; exit 1'
! faked --out "$work/logged" --only operations || fail "a failed test is a success"
page '^- operations: gemm: error 7: log 0'
tar -xzOf "$work/logged/logs.tar.gz" logs/op-gemm-cublaslt.log | grep -q 'error 7: log 5' || fail "no log of cuBLASLt"

# One that a signal ends says so.
fake "$work/build/gpu_test_ops" '[ "$1" = -l ] && echo /ops/gemm && exit; echo "# Start of ops tests"; kill -SEGV $$'
! faked --out "$work/crashed" --only operations || fail "a test that crashes is a success"
page '^- operations: gemm: ended by a signal \(Segmentation fault\)$'

fake "$work/build/gpu_test_ops" 'echo "looking for libglib"; echo "libglib is not here" >&2; exit 127'
! faked --out "$work/broken" --only operations || fail "a program that does not start"
page '^- operations: gpu_test_ops: does not start: libglib is not here'
page '^      looking for libglib'

# Told to end: pages, what was started ends though it left the group, status of the signal.
for signal in INT:130 TERM:143; do
    rm -f "$work/child"
    fake "$work/build/gpu_test_ops" "setsid sleep 1234 & echo \$! >$work/child; wait"
    (exec python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.execv(sys.argv[1], sys.argv[1:])' \
        tools/gpu-trial --shim "$work/build" --out "$work/ended-$signal" --only operations,families >"$work/page" 2>"$work/err") &
    until [ -s "$work/child" ]; do
        kill -0 $! 2>/dev/null || fail "the trial ended before: $(cat "$work/err")"
        sleep 0.1
    done
    kill -"${signal%:*}" $!
    status=0
    wait $! || status=$?
    [ $status = "${signal#*:}" ] || fail "status $status for ${signal%:*}: $(cat "$work/err")"
    grep -q "Stopped by SIG${signal%:*}" "$work/ended-$signal/trial.md" || fail "no page when it is told to end"
    json "ended-$signal" 'trial["sections"]["families"]["verdict"].startswith("not run")'
    gone "$(cat "$work/child")"
done

# No time: what was cut short or did not begin is not run, never passed.
rm -f "$work/child"
! faked --out "$work/late" --only operations,families,curves --minutes 0.2 || fail "a trial without time is a success"
gone "$(cat "$work/child")"
page '^\| operations \| not run: '
page '^- operations: .*gpu_test_ops'
page 'Not run, or not whole: operations, families'
page '^- operations: gpu_test_ops; gpu_test_ops_attention; '
json late 'trial["failed"] == [] and all(trial["sections"][name]["verdict"].startswith("not run") for name in ("operations", "families"))'
echo "ok: what breaks is named, what was started ends"

# What a machine may lack, and what there is instead of it here.
rm -f "$work/build/gpu_test_ops"
ln -s "$build/gpu_test_ops" "$work/build"
if ! python3 -c 'import torch' 2>/dev/null; then
    faked --out "$work/lacks" --only machine,code,peers,sanitizer || fail "$(cat "$work/err")"
    page '^- torch: not here: '
    page "^\\| peers \\| not run: not here: PyTorch or transformers: .*No module named 'torch'"
    command -v cuobjdump >/dev/null || page '^\| code \| not run: not here: cuobjdump'
    command -v compute-sanitizer >/dev/null || page '^\| sanitizer \| not run: not here: compute-sanitizer'
    command -v nvidia-smi >/dev/null || page '^- nvidia-smi: not here: '
fi
touch "$work/empty"
[ -e "$work/build/loam-cuda.so" ] || ln -s "$work/empty" "$work/build/loam-cuda.so"
fake "$work/bin/cuobjdump" 'echo "	Function : attention_mma_fwd"; echo "   HMMA.16816 R1;"; echo "   HGMMA.64x64x16 R4;"; echo "   LDSM R2;"; echo "  LDGSTS [R1];"; echo "	Function : norm_fwd"; echo "  STL [R1];"'
fake "$work/bin/compute-sanitizer" 'while [ "${1#--}" != "$1" ]; do shift 2; done; "$@" && echo "========= ERROR SUMMARY: 0 errors"'
PATH=$work/bin:$PATH faked --out "$work/tools" --only code,sanitizer || fail "$(cat "$work/page" "$work/err")"
page '^2 kernels for sm_.*, 1 of attention on tensor cores.*1 in `norm_fwd`'
page '^([1-9][0-9]*) of \1 runs of memcheck and racecheck find nothing'
# nvidia-smi: the preflight, before the clock starts, and what the GPU did while a section ran.
fake "$work/bin/nvidia-smi" 'case "$*" in *mig.mode*) cat "$(dirname "$0")/gpus" ;; "-i "*-lms*) echo "1980, 2619, 500.5, 60, 0x4"
echo "1500, 2619, [N/A], 70, 0x1"; exec sleep 1234 ;; *) echo "NVIDIA H200, 570.1" ;; esac'
echo 'NVIDIA H200, 570.1, Default, Disabled' | sed 's/^/0, GPU-1a2b, /' >"$work/bin/gpus"
fake "$work/bin/loam-env" 'echo "isa         avx2"; echo "cuda        driver for CUDA 13.0"; echo "gpu         NVIDIA H200, compute mode default"'
PYTHONDONTWRITEBYTECODE=1 PATH=$work/bin:$PATH PYTHONPATH=tools python3 - "$work" <<'END' || fail "nvidia-smi"
import argparse, os, pathlib, sys, time
from gpu_trial import trial, watch
on = trial.Trial(argparse.Namespace(out=sys.argv[1] + "/watched", minutes=1, shim=None))
on.logs = pathlib.Path(sys.argv[1])
on.loam = sys.argv[1] + "/bin/loam-env"
said = "NVIDIA H200, driver 570.1, compute mode Default, MIG Disabled"
assert watch.preflight(on) == said + "; loam: driver for CUDA 13.0; NVIDIA H200, compute mode default", watch.preflight(on)
on.loam = "no-loam"
assert watch.preflight(on) == said and on.gpu == "0", watch.preflight(on)
# Several GPUs: each is named, and the one that CUDA lists first.
def row(index, name, mode="Default", mig="Disabled"):
    return [str(index), f"GPU-{index}a", name, "570.1", mode, mig]
two = [row(0, "NVIDIA H200"), row(1, "NVIDIA H200", "Prohibited")]
pathlib.Path(sys.argv[1] + "/bin/gpus").write_text("\n".join(map(", ".join, two)))
both = said.replace("NVIDIA", "GPU 0: NVIDIA") + "; " + said.replace("NVIDIA", "GPU 1: NVIDIA").replace("Default", "Prohibited")
assert watch.preflight(on) == both + "; GPU 0 is used; the section ranks uses others, too", watch.preflight(on)
on.env["CUDA_VISIBLE_DEVICES"] = "1,0"
assert watch.preflight(on).endswith("; GPU 1 is used; the section ranks uses others, too; compute mode Prohibited: nvidia-smi -c DEFAULT")
assert on.gpu == "1" and watch.that_of(on, "speed") == ["-i", "1"] and watch.that_of(on, "ranks") == [], on.gpu
mixed, h200 = [row(0, "NVIDIA T400"), row(1, "NVIDIA H200"), row(2, "NVIDIA H200")], "NVIDIA H200, 143771 MiB"
for gpus, name, visible, index in ((two, "", "GPU-1a", "1"), (two, "", "MIG-1", None), (two[:1], "", "MIG-1", "0"), (mixed, h200, None, "1"),
                                   (mixed, h200, "1", None), (mixed, "NVIDIA T400, 2 MiB", "2", "0"), (mixed, "NVIDIA H200 NVL, 9 MiB", None, None)):
    used = watch.used_of(gpus, name, visible)
    assert (used and used[0]) == index, (name, visible, used)
with watch.watched(on, "speed"):
    until = time.monotonic() + 600
    while len((on.logs / "watch-speed.log").read_text().splitlines()) < 2 and time.monotonic() < until:
        time.sleep(0.02)
found = on.results["watch"]["speed"]
assert found["samples"] == 2 and found["clocks.sm"] == {"least": 1500, "mean": 1740, "most": 1980}, found
assert found["power.draw"]["most"] == 500.5 and found["slowed"] == {"power cap": 0.5}, found
END
rm "$work/bin/nvidia-smi"
fake "$work/bin/compute-sanitizer" 'echo "========= Error: Device not supported."; exit 1'
PATH=$work/bin:$PATH faked --out "$work/refused" --only sanitizer || fail "$(cat "$work/page" "$work/err")"
page 'not run: not here: compute-sanitizer refuses this machine: Error: Device not supported'
echo "ok: what is lacking is named"

# A disk that is full midway: said once a file, the page is printed all the same.
if unshare -rm true 2>/dev/null; then
    mkdir "$work/small"
    fake "$work/build/gpu_test_ops" "cat /dev/zero >$work/small/full; exit 1"
    status=0
    unshare -rm sh -c "mount -t tmpfs -o size=64k none '$work/small' && exec tools/gpu-trial --shim '$work/build' --out '$work/small/out' --only operations" \
        >"$work/page" 2>"$work/err" || status=$?
    [ $status = 1 ] || fail "status $status: $(cat "$work/err")"
    grep -q 'small/out/trial.md cannot be written: No space left on device' "$work/err" || fail "$(cat "$work/err")"
    ! grep -q Traceback "$work/err" || fail "$(cat "$work/err")"
    page '^\| operations \| 1 FAILED'
    echo "ok: a full disk"
fi

# Commands that are wrong: one line, before anything runs.
! trial --only speeds || fail "a section that is none"
one_line 'no section is called speeds; there are machine code operations'
! trial --out "$work/late" || fail "a folder that holds a trial"
one_line 'holds a trial already'
! trial --out "$work/page/out" || fail "a folder below a file"
one_line "$work/page/out"
! trial --minutes 0 || fail "no minutes"
one_line '0 is no number of minutes above 0'
! tools/gpu-trial --unpack "$work/page" --out "$work/nothing" 2>"$work/err" || fail "an archive that is none"
one_line 'page is not what `make gpu-trial` packs'
! tools/gpu-trial --unpack "$work/gone.tar.gz" --out "$work/nothing" 2>"$work/err" || fail "an archive that is not there"
one_line 'gone.tar.gz: No such file or directory'
# One byte of an archive is another: what it packs is not what it was.
python3 - "$work/damaged.tar.gz" <<'END'
import io, random, sys, tarfile
with tarfile.open(sys.argv[1], "w:gz") as tar:
    member = tarfile.TarInfo("loam-1-linux-x86_64/bin/loam")
    member.size = 1 << 16
    tar.addfile(member, io.BytesIO(random.Random(1).randbytes(member.size)))
with open(sys.argv[1], "r+b") as archive:
    archive.seek(1 << 15)
    byte = archive.read(1)[0]
    archive.seek(1 << 15)
    archive.write(bytes([byte ^ 1]))
END
! tools/gpu-trial --unpack "$work/damaged.tar.gz" --out "$work/nothing" --only machine >"$work/page" 2>"$work/err" || fail "a damaged archive"
one_line 'damaged.tar.gz is not what `make gpu-trial` packs: CRC check failed'
! tools/gpu-trial --shim "$work/nowhere" --out "$work/nothing" --only machine >"$work/page" 2>"$work/err" || fail "a build folder that is none"
one_line 'there is no loam in'
[ ! -e "$work/nothing" ] || fail "a trial that does not begin leaves a folder"
grep -qxF '/gpu-trial*/' .gitignore || fail "the folder of results is not ignored"
# What reads the page has ended: nothing is said of it, and the status is that of the trial.
status=0
(
    trap '' PIPE # as under nohup and in some services
    exec 3> >(exit)
    wait $!
    exec tools/gpu-trial --shim "$build" --out "$work/unread" --only machine >&3 2>"$work/err"
) || status=$?
[ $status = 0 ] && ! grep -qi 'pipe' "$work/err" || fail "status $status without a reader: $(cat "$work/err")"
[ -s "$work/unread/trial.md" ] || fail "no page without a reader"
echo "ok: wrong commands"
