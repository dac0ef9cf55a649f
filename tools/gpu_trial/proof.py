"""The sections that prove: what the machine is, the kernels' instructions, operations, families, curves, the sanitizer."""

import concurrent.futures
import contextlib
import json
import os
import random
import re
import sys
import time

from gpu_trial.trial import Absent, Failed, Late, table, tool_of_cuda

PROGRAMS = ["gpu_test_ops", "gpu_test_ops_attention", "gpu_test_ops_wide", "gpu_test_ops_fp8", "gpu_test_ops_random", "gpu_test_ops_edges"]
MANY = {"gpu_test_ops", "gpu_test_ops_attention", "gpu_test_ops_random"}
ALL_MINUTES = 30  # a trial of so many minutes runs all combinations
ALL = re.compile("sum_and_norm")  # tests that run all combinations in each trial: no GPU has run them yet
FEW = "5"  # of their combinations of shapes and options every fifth: prime to the numbers of choices, so each choice comes up
SMALL = "model.width=32 model.ffn=64 model.heads=2 model.head_dim=16"
FAMILIES = {
    "t5": "",
    "t5-fp8": "train.precision=fp8",
    "t5-adafactor": "optim.name=adafactor optim.lr=1e-2 optim.min_dim_factored=16 train.recompute=block",
    "gpt2": f"model.preset=gpt2 model.n_enc=0 {SMALL} model.max_positions=64 data.objective=clm",
    "bert": f"model.preset=bert-base model.n_dec=0 {SMALL} model.max_positions=64 data.objective=mlm data.sentence_pairs=next",
    "llama": f"model.preset=tinyllama-1.1b model.n_enc=0 {SMALL} model.kv_heads=1 data.objective=clm",
    "ast-t5": f"model.preset=ast-t5-base model.n_enc=1 model.n_dec=1 {SMALL} model.max_positions=64",
    "bert-distances": f"model.preset=bert-base model.n_dec=0 {SMALL} model.max_positions=64 data.objective=mlm "
                      "model.position=relative_key_query",
    "bert-sparse": f"model.preset=bert-base model.n_dec=0 {SMALL} model.max_positions=64 data.objective=mlm "
                   "model.sparse_pattern=bigbird model.sparse_block=4",
    "modernbert": f"model.preset=modernbert-base model.n_dec=0 {SMALL} data.objective=mlm",
}
DECODED = {"t5", "gpt2", "llama", "ast-t5"}
AUTO = {"t5"}  # whose second run on the GPU finds it by train.device=auto
NEAR, USUALLY_NEAR = {"t5-fp8": 2e-2}, 2e-3  # how far losses may be from the CPU's, as a share
TOY = ["train.batch=2 samples", "train.micro_batch=2 samples", "data.input_length=32"]  # kernels on the host take their time


def no_gpu(trial):
    """Why loam can use no GPU here, kept in trial.refused; empty where it can. Counts the GPUs."""
    ran = trial.run("env", [trial.loam, "env"], 60)
    gpu, trial.gpus = re.search(r"^gpu +(.*)$", ran.output, re.M), len(re.findall(r"^gpu ", ran.output, re.M))
    trial.refused = ran.reason() if not gpu else gpu.group(1) if "none is used" in gpu.group(1) or "not used" in gpu.group(1) else ""
    return trial.refused


def machine(trial):
    found = trial.results["machine"] = {}
    for name, words, env in (
            ("loam", [trial.loam, "env"], None),
            ("nvidia-smi", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"], None),
            ("nvcc", ["nvcc", "--version"], None),
            ("torch", [sys.executable, "-c", "import torch, transformers; print(torch.__version__, transformers.__version__)"], os.environ)):
        with trial.part("machine", name):
            ran = trial.run(f"machine-{name}", words, 60, env)
            found[name] = ran.output.strip() if ran.status == 0 else f"not here: {ran.reason()}"
            shown = [found[name]] if ran.status else [line.strip() for line in ran.output.splitlines() if line.strip()]
            if name == "loam" and ran.status == 0:
                shown = [re.sub(r" +", " ", line) for line in shown if re.match(r"loam|processor|threads|memory|cuda|gpu|nccl", line)]
            trial.say("machine", f"- {'loam env' if name == 'loam' else name}: " +
                      "; ".join((shown if name in ("loam", "nvidia-smi") else shown[-1:]) or ["nothing was said"]))


def code(trial):
    """Instructions of the attention kernels, and all kernels that keep registers in memory."""
    tool, library = tool_of_cuda("cuobjdump"), trial.library / "loam-cuda.so"
    capability = re.search(r"compute capability (\d+)\.(\d+)", trial.must("code-env", [trial.loam, "env"], 60))
    if not library.exists() or not capability:
        raise Absent("the GPU" if library.exists() else "loam-cuda.so was not built")
    target = "sm_89" if capability.groups() == ("8", "9") else {"8": "sm_80", "9": "sm_90a", "12": "sm_120"}.get(capability.group(1), "sm_100")
    output, counts = trial.must("code", [tool, "--dump-sass", "--gpu-architecture", target, library], 150), {}
    for line in output.splitlines():
        if found := re.search(r"Function : (\S+)", line):
            counts[found.group(1)] = count = dict.fromkeys(("HMMA", "HGMMA", "LDSM", "LDGSTS", "LDL", "STL"), 0)
        elif counts and (found := re.search(r"\b(HMMA|HGMMA|LDSM|LDGSTS|LDL|STL)\b", line)):
            count[found.group(1)] += 1
    if not counts:
        raise Failed(f"cuobjdump shows no kernel for {target}", output[-500:])
    trial.results["code"] = counts
    by_tensor_cores = {name: count for name, count in counts.items() if "attention_mma" in name}
    for name, count in by_tensor_cores.items():
        if not count["LDGSTS"] or not (count["HGMMA"] if target == "sm_90a" else count["HMMA"] and count["LDSM"]):
            trial.fail("code", f"{name} lacks instructions of tensor cores or asynchronous copies: {count}")
    if not by_tensor_cores:
        trial.fail("code", "no kernel is of attention on tensor cores")
    spills = sorted(((count["LDL"] + count["STL"], name) for name, count in counts.items()), reverse=True)
    trial.say("code", f"{len(counts)} kernels for {target}, {len(by_tensor_cores)} of attention on tensor cores. Accesses to registers that were "
              "put into memory: " + (", ".join(f"{n} in `{name}`" for n, name in spills[:8] if n) or "none") + ".")


def tests_of(trial, section):
    """Program and path of each test."""
    tests = []
    for program in PROGRAMS:
        with trial.part(section, program):
            ran = trial.run(f"list-{program}", [trial.bin / program, "-l"], 60)
            paths = [line for line in ran.output.splitlines() if line.startswith("/")]
            if ran.status != 0 or not paths:
                raise ran.failure(f"does not start: {ran.reason()}" if ran.status != 0 else "it lists no tests")
            tests += [(program, path) for path in (paths[:1] if trial.shim else paths)]
    return tests


def each(jobs, threads, trial, do):
    """do(job) for each, some at the same time."""
    with concurrent.futures.ThreadPoolExecutor(1 if trial.shim else threads) as pool:
        list(pool.map(do, jobs))


def operations(trial):
    """A process a test, so that one which breaks the GPU's state breaks no other."""
    rows = trial.results["operations"] = {}

    def one(job):
        program, path = job
        name = path.rsplit("/", 1)[-1]
        stride = "997" if trial.shim else FEW if program in MANY and trial.minutes < ALL_MINUTES and not ALL.search(name) else "1"
        words = [trial.bin / program, "-p", path]
        with trial.part("operations", name):
            ran = trial.run(f"op-{name}", words, 100 if trial.minutes < ALL_MINUTES else 600, {"RIG_STRIDE": stride})
            said = [line.strip()[:300] for line in (ran.output + ran.errors).splitlines()]
            reason = None if ran.status == 0 else next((line for line in said if "error" in line.lower() and "worst" not in line), ran.reason())
            told = re.findall(r"worst error (\S+) over (\d+) of (\d+) combinations", ran.output)
            rows[name] = {"status": ran.status, "worst": [float(worst) for worst, *_ in told], "reason": reason,
                          "combinations": sum(int(n) for _, n, _ in told), "of_combinations": sum(int(n) for *_, n in told)}
            if ran.status != 0:
                trial.log_products(f"op-{name}", words, {"RIG_STRIDE": stride})
                raise ran.failure(reason)

    tests = tests_of(trial, "operations")
    each(tests, 6, trial, one)
    passed = sum(row["status"] == 0 for row in rows.values())
    done, of = (sum(row[key] for row in rows.values()) for key in ("combinations", "of_combinations"))
    trial.say("operations", f"{passed} of {len(tests)} tests pass: operations against the reference, {done:,} of {of:,} combinations of shapes and "
              f"options, each twice with equal bits" + ("" if done == of or trial.shim else f" (all of them with --minutes {ALL_MINUTES} or more)") +
              ". The largest error of each is in trial.json.")


def corpus(path, documents):
    """Short documents in a made-up language."""
    rng = random.Random(7)
    syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()
    words = ["".join(rng.choice(syllables) for _ in range(2 + word % 3)) for word in range(300)]
    lines = []
    for _ in range(documents):
        for _ in range(6):
            at = rng.randrange(290)
            lines.append(" ".join(words[at:at + 8]) + ".")
        lines.append("")
    path.write_text("\n".join(lines))


def prepare(trial, name, documents, pieces):
    """A folder with a corpus, its tokenizer and dataset, and a configuration."""
    folder = trial.work / name
    folder.mkdir(exist_ok=True)
    corpus(folder / "corpus.txt", documents)
    for verb in (["tokenizer", "train", "--type", "unigram", "--vocab-size", pieces, "--out", folder / "tok.model"],
                 ["prepare", "--tokenizer", folder / "tok.model", "--out", folder / "data", "--valid", "10%", "--workers", "2"]):
        trial.must(f"{name}-{verb[0]}", [trial.loam, *verb, folder / "corpus.txt"], 60)
    config = folder / "config.yaml"
    config.write_text(f"tokenizer: {{ path: {folder}/tok.model }}\ndata: {{ train: {folder}/data, valid: {folder}/data-valid }}\n"
                      "run: { seed: 7 }\nmodel: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0.1 }\n"
                      "train: { batch: 8 samples, micro_batch: 4 samples, log_every: 1 steps, eval_samples: 8 }\n"
                      "optim: { name: adamw, lr: 3e-3, schedule: constant }\n")
    return folder


def losses(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line.get("kind") == "train"]


def train(trial, name, folder, device, steps, options, before=(), env=None):
    """Losses of a run, and its folder; every number of `steps` is a process that goes on with the one before. before: words of a launcher."""
    run = trial.work / f"run-{name}"
    for n in steps:
        trial.must(f"train-{name}-{n}", [*before, trial.loam, "train", folder / "config.yaml", f"run.dir={run}", f"train.device={device}",
                                         f"train.length={n} steps", "model.vocab=auto", *options], 100, env)
    return losses(run), run


def weights(run):
    return [path.read_bytes() for path in sorted((run / "checkpoints" / "latest").glob("weights-*.safetensors"))]


def family(trial, folder, name, options):
    """CPU and GPU in f32, then the GPU again: losses near each other, the same bits; evaluation; decoding."""
    words = ["train.precision=f32", "data.input_length=48", *options.split(), *(TOY if trial.shim else [])]
    steps = [1, 2] if trial.shim else [3, 6]
    cpu, cpu_run = train(trial, f"{name}-cpu", folder, "cpu", steps, words)
    gpu, gpu_run = train(trial, f"{name}-gpu", folder, "cuda", steps, words)
    found = "auto" if name in AUTO else "cuda"
    _, again = train(trial, f"{name}-again", folder, found, steps[1:], words)
    near = NEAR.get(name, USUALLY_NEAR)
    if len(cpu) != steps[-1] or any(not abs(a - b) <= near * abs(a) for a, b in zip(cpu, gpu, strict=True)):
        raise Failed(f"losses {gpu}, on the CPU {cpu}")
    if not weights(gpu_run) or weights(gpu_run) != weights(again):
        raise Failed(f"other bits when it is done again by train.device={found}, without a stop between")
    seen = []
    for device, run in ("cpu", cpu_run), ("cuda", gpu_run):
        output = trial.must(f"eval-{name}-{device}", [trial.loam, "eval", run, f"train.device={device}", "--json"], 60)
        seen.append(float(re.search(r'"loss": *([0-9.]+)', output).group(1)))
    if not abs(seen[0] - seen[1]) <= near * seen[0]:
        raise Failed(f"held-out loss {seen[1]}, on the CPU {seen[0]}")
    if name in DECODED:
        prompt = (folder / "corpus.txt").read_text().splitlines()[0] + "\n"
        said = [trial.must(f"generate-{name}-{device}", [trial.loam, "generate", "--model", gpu_run, "--device", device, "--max-tokens", "6"],
                           60, stdin=prompt) for device in ("cpu", "cuda")]
        if said[0] != said[1]:
            raise Failed(f"generate says {said[1].strip()!r}, on the CPU {said[0].strip()!r}")
    return max(abs(a - b) for a, b in zip(cpu, gpu))


def families(trial):
    folder = prepare(trial, "toys", 200 if trial.shim else 400, 200)
    chosen = {"t5": FAMILIES["t5"]} if trial.shim else FAMILIES
    found = trial.results["families"] = {}

    def one(item):
        with trial.part("families", item[0]):
            found[item[0]] = family(trial, folder, *item)

    each(chosen.items(), 4, trial, one)
    trial.say("families", f"{len(found)} of {len(chosen)} train, save, resume to the same bits, evaluate and decode as on the CPU: "
              f"{', '.join(sorted(found)) or 'none'}.\n\n" +
              table(["family", "largest difference of a step's loss from the CPU's, nats", "allowed, of the loss"],
                    [[name, f"{apart:.1e}", f"{100 * NEAR.get(name, USUALLY_NEAR):g} %"] for name, apart in sorted(found.items())]))


def curves(trial):
    """The mean loss of the last tenth of the steps, beside the CPU's in f32."""
    folder = prepare(trial, "curve", 200 if trial.shim else 6000, 200)
    steps = 2 if trial.shim else 200
    sizes = TOY if trial.shim else ["model.width=256", "model.ffn=512", "model.heads=4", "model.head_dim=64", "model.n_enc=3", "model.n_dec=3",
                                   "train.batch=8 samples", "train.micro_batch=8 samples", "data.input_length=128", "optim.lr=1e-3"]
    # Last digits grow into other losses within 200 steps: two instruction sets of a CPU are 0.2 % apart in f32 and 1.0 % in
    # bf16, which is 0.7 and 1.7 % above f32.
    allowed = {"f32": 1e-2, "bf16": 3e-2, "fp16": 3e-2, "fp8": 4e-2}
    kinds = [("cpu", "f32")] + [("cuda", precision) for precision in (["bf16"] if trial.shim else allowed)]
    found, seconds = {}, {}

    def one(kind):
        with trial.part("curves", " ".join(kind)):
            start = time.monotonic()
            loss, _ = train(trial, f"curve-{'-'.join(kind)}", folder, kind[0], [steps], [f"train.precision={kind[1]}", *sizes])
            tail = loss[-max(steps // 10, 1):]
            found[kind], seconds[kind] = sum(tail) / len(tail), time.monotonic() - start

    each(kinds, 2, trial, one)  # the processor's beside those of the GPU
    base, rows = found.get(kinds[0]), []
    for kind in [kind for kind in kinds if kind in found]:
        apart = "—" if kind == kinds[0] else f"{100 * (found[kind] / base - 1):+.2f} %, within {100 * allowed[kind[1]]:g} %" if base else "not compared"
        rows.append([*kind, f"{found[kind]:.4f}", apart, f"{seconds[kind]:.0f} s"])
        if kind != kinds[0] and base and not abs(found[kind] - base) <= allowed[kind[1]] * base:
            trial.fail("curves", f"{kind[1]}: loss {found[kind]:.4f} after {steps} steps, the CPU's in f32 {base:.4f}")
    trial.results["curves"] = {" ".join(kind): loss for kind, loss in found.items()}
    trial.say("curves", table(["device", "precision", f"mean loss of the last {max(steps // 10, 1)} of {steps} steps, nats", "beside the CPU", "time"], rows))


def sanitizer(trial):
    """One combination of each operation in f32, and of attention and norms in bf16 and f16 too; races only where threads share memory."""
    tool = tool_of_cuda("compute-sanitizer")
    narrow, shares = re.compile("attn|norm"), re.compile("attn|norm|xent|embedding|top|reductions|adafactor|sums|table|buckets|fp8")
    tests = [(program, path) for program, path in tests_of(trial, "sanitizer") if "_in_bf16" not in path or narrow.search(path)]
    tests.sort(key=lambda test: ("_in_bf16" not in test[1], "attn" not in test[1]))  # tensor cores first
    jobs = [(kind, *test) for test in tests for kind in ("racecheck", "memcheck") if kind == "memcheck" or shares.search(test[1])]
    clean = trial.results["sanitizer"] = []

    def one(job):
        kind, program, path = job
        name = f"{kind} {path.rsplit('/', 1)[-1]}"
        words = [tool, "--tool", kind, "--error-exitcode", "9", trial.library / program, "-p", path]
        ran = trial.run(f"sanitizer-{name.replace(' ', '-')}", words, 60, {"RIG_STRIDE": "997"})
        said = ran.output + ran.errors
        if refusal := re.search(r"^=+ Error: .*(?:not supported|not permitted).*$", said, re.M | re.I):
            raise Absent(f"compute-sanitizer refuses this machine: {refusal.group(0).strip('= ')}")
        found = re.search(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (.*)$", said, re.M)
        if ran.status != 0 or not found:
            raise ran.failure(found.group(1) if found else None)
        clean.append(name)

    def noted(job):
        with trial.part("sanitizer", f"{job[0]} {job[2].rsplit('/', 1)[-1]}"):
            one(job)

    if jobs:
        with contextlib.suppress(Failed, Late):  # only whether it is refused; it is done again with the others
            one(jobs[0])
    each(jobs[bool(clean):], 6, trial, noted)
    trial.say("sanitizer", f"{len(clean)} of {len(jobs)} runs of memcheck and racecheck find nothing.")
