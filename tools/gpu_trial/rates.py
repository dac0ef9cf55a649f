"""The sections that measure: steps of models, operations by themselves, the same steps by PyTorch."""

import dataclasses
import json
import os
import re
import sys

from gpu_trial.trial import Absent, Failed, Late, table
from gpu_trial.watch import alone, watched

T5, GPT, BERT = "configs/t5-1.1-small.yaml", "configs/gpt2.yaml", "configs/bert-base.yaml"
# Small shapes for kernels that run on the host: those of gpu_step.py --tiny.
TINY = "model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.vocab=200 data.input_length=32 train.threads=1"
TINY_BLOCKS = {T5: " model.n_enc=1 model.n_dec=1", GPT: " model.n_dec=1", BERT: " model.n_enc=1"}


@dataclasses.dataclass(frozen=True)
class Model:
    config: str
    options: str
    batches: tuple  # microbatches to try, in samples, rising; where the first does not fit, its half, and so on
    known: float = None  # sequences/s that an H200 has measured (bench/results/2026-11-26-h200.md)


# In bf16 but where the options say otherwise, and without dropout. Adafactor for XL, as T5's authors trained it; AdamW, as the peers, for the others.
MODELS = {
    "T5-1.1-small": Model(T5, "optim.name=adamw model.vocab=32128 data.input_length=512", (64, 128, 256), 2964),
    "T5-1.1-large": Model(T5, "optim.name=adamw model.preset=t5-1.1-large model.vocab=32128 data.input_length=512", (32, 64, 128), 300),
    "T5-1.1-XL": Model(T5, "model.preset=t5-1.1-xl model.vocab=32128 data.input_length=512", (32, 64, 128), 92),
    "T5-1.1-XL, FP8": Model(T5, "model.preset=t5-1.1-xl model.vocab=32128 data.input_length=512 train.precision=fp8", (32, 64, 128), 118),
    "GPT-2-1.5B": Model(GPT, "model.preset=gpt2-xl model.vocab=50257 data.input_length=1024 model.dropout=0", (16, 32), 46),
    "GPT-2": Model(GPT, "model.vocab=50257 data.input_length=1024 model.dropout=0", (16, 32, 64, 128), 480),
    "BERT-base": Model(BERT, "model.vocab=30522 data.input_length=512 model.dropout=0", (64, 128), 1100),
    "T5-1.1-base": Model(T5, "optim.name=adamw model.preset=t5-1.1-base model.vocab=32128 data.input_length=512", (32, 64, 128), 912),
    "T5-1.1-large, 4,096 tokens": Model(T5, "optim.name=adamw model.preset=t5-1.1-large model.vocab=32128 data.input_length=4096 "
                                        "tokenizer.sentinels=256", (8,), 18.7),
}
PROFILED = ("T5-1.1-large", "GPT-2")
# Whose operations are timed by themselves. The second has the heads, head size and sequences of the first.
CAUSAL = "the same attention, causal, without a bias"
KERNELS = {
    "T5-1.1-large": MODELS["T5-1.1-large"],
    CAUSAL: Model(GPT, "model.preset=gpt2-medium model.vocab=50257 data.input_length=512 model.dropout=0", ()),
    "GPT-2": MODELS["GPT-2"],
}
CHOSEN = "T5-1.1-large"  # whose products are also timed by cuBLASLt's first choice of an algorithm
# What PyTorch does, by worth: its name in gpu_step.py, more words. All of them eager come before the first compiled one.
PEERS = {
    "T5-1.1-large": ("t5-large", []),
    "GPT-2": ("gpt2", []),
    "T5-1.1-small": ("t5-small", []),
    "BERT-base": ("bert", []),
    "T5-1.1-base": ("t5-base", []),
    "T5-1.1-large, 4,096 tokens": ("t5-large", ["--attention", "eager"]),
}
EAGER_SECONDS = 15  # at least, with the start of PyTorch
# By worth and cheapness: seconds that a compiled model is given at least, assumed: on an H200 torch.compile had not ended after 60 s.
COMPILED = {"GPT-2": 120, "T5-1.1-small": 120, "BERT-base": 120, "T5-1.1-large": 300, "T5-1.1-base": 180}
NO_ROOM = re.compile(r"the run needs|no memory|out of memory", re.I)


def bench(trial, name, model, verb, micro, seconds, *more, label="", env=None):
    """What `loam bench` prints as JSON: verb is step or ops. label: of the log; env: more of the environment."""
    options = (model.options + (" " + TINY + TINY_BLOCKS[model.config] if trial.shim else "")).split()
    words = [trial.loam, "bench", verb, model.config, "--json", "--seconds", seconds, "train.device=cuda", "train.precision=bf16",
             f"train.micro_batch={micro} samples", f"train.batch={micro} samples", *options, *more]
    label = re.sub(r"[^\w.]+", "-", f"bench-{verb}-{name}-{micro}{''.join(more)}{label}")
    try:
        return json.loads(trial.must(label, words, 90, env).splitlines()[-1])
    except Failed as error:
        if not NO_ROOM.search(str(error)):
            trial.log_products(label, words, env)
        raise


def best_batch(trial, name):
    """What was measured with the fastest microbatch; None where none fits."""
    best, tried, left = None, [], [1, 2] if trial.shim else list(MODELS[name].batches)
    while left:
        micro = left.pop(0)
        try:
            found = bench(trial, name, MODELS[name], "step", micro, 0.1 if trial.shim else 2)
        except Failed as error:
            if not NO_ROOM.search(str(error)):
                raise Failed(f"{micro} samples: {error}", error.said) from None
            tried.append(f"{micro} samples do not fit: {error}")
            left = [micro // 2] if not best and micro > 1 else []
            continue
        if best and found["tokens_per_s"] < best["tokens_per_s"]:
            break
        best = {**found, "micro_batch": micro}
    for line in tried:
        trial.say("speed", f"{name}: {line}\n")
    if not best:
        raise Failed("no microbatch fits", "\n".join(tried))
    return best


def measured(trial, section, name):
    """Loam's rate of a model, measured once in a trial."""
    found = trial.results.setdefault("speed", {})
    if name not in found:
        with trial.part(section, name if section == "speed" else f"{name}, by loam"):
            found[name] = best_batch(trial, name)
    return found.get(name)


def speed(trial):
    rows = []
    alone(trial, "speed")
    with watched(trial, "speed"):
        for name in MODELS:
            measured(trial, "speed", name)
    for name in MODELS:
        if best := trial.results["speed"].get(name):
            share, peak = best.get("share_of_peak"), best.get("peak_flops_per_s")
            rows.append([name, best["precision"], best["micro_batch"], f"{best['input_tokens']} / {best['target_tokens']}",
                         f"{best['tokens_per_s'] / best['input_tokens']:,.1f}", f"{best['tokens_per_s']:,.0f}", f"{1e3 * best['step_s']:.1f}",
                         f"{best['flops_per_s'] / 1e12:.0f}", f"{100 * share:.1f} % of {peak / 1e12:.0f}" if share and peak else "—",
                         f"{100 * best['queued_s'] / best['micro_batch_s']:.0f} %", memory_of(best), beside_known(trial, name, best)])
    trial.say("speed", table(["model", "precision", "samples", "tokens of a sample, input / target", "sequences/s", "input tokens/s", "step, ms",
                              "TFLOP/s", "share of the products' TFLOP/s", "host", "memory taken, of planned", "an H200 so far, sequences/s"], rows) +
              "\n\nA step is one microbatch of so many samples, and its update. The share is of the rate of matrix products in turns with the steps. host: the share of a microbatch's time in "
              "which the host queues it; near 100 % the GPU waits for the host. Memory is the GPU's. Last: what the "
              "docs have for an H200 at its best microbatch then, and the rate of this GPU beside it.")
    for name in PROFILED:
        if best := trial.results["speed"].get(name):
            with trial.part("speed", f"{name}, profile"):
                profile = bench(trial, name, MODELS[name], "step", best["micro_batch"], 0.1 if trial.shim else 1, "--profile")["profile"]
                best["profile"] = profile
                rows = [[entry["op"], entry["calls"], f"{100 * entry['share']:.1f} %"] for entry in profile[:16]]
                trial.say("speed", f"\n{name}, by operation, each waited for, so that their sum is more than a step takes:\n\n" +
                          table(["operation", "calls", "share of the time"], rows))


def memory_of(step):
    taken, planned = step.get("memory_bytes"), step.get("planned_bytes")
    return f"{taken / 2**30:.1f} GiB of {planned / 2**30:.1f}" if taken and planned else "—"


def beside_known(trial, name, step):
    known, rate = MODELS[name].known, step["tokens_per_s"] / step["input_tokens"]
    return f"{known:,}" + ("" if trial.shim else f", {100 * (rate / known - 1):+.1f} %")


def kernels(trial):
    """Each operation at the sizes of a model, 32 samples: attention with T5's bias beside causal attention, products, what moves memory; products
    by cuBLASLt's first choice of an algorithm beside the one that loam has timed."""
    found, samples = trial.results.setdefault("kernels", {}), 1 if trial.shim else 32
    alone(trial, "kernels")
    with watched(trial, "kernels"):
        for name, model in KERNELS.items():
            with trial.part("kernels", name):
                found[name] = bench(trial, name, model, "ops", samples, 0.01 if trial.shim else 0.05)["ops"]
        with trial.part("kernels", f"{CHOSEN}, algorithms of products"):
            first = bench(trial, CHOSEN, KERNELS[CHOSEN], "ops", samples, 0.01 if trial.shim else 0.05, label="-first",
                          env={"LOAM_TIME_PRODUCTS": "0"})["ops"]
            trial.results["first algorithms"] = [op for op in first if op["op"] in ("gemm", "linear")]
    for name, ops in found.items():
        shown = [op for op in ops if name != CAUSAL or op["op"].startswith("attn_")]
        rows = [[op["op"], op["shape"], f"{1e6 * op['seconds']:.0f}", rate_of(op)] for op in shown]
        trial.say("kernels", f"\n{name}, samples: {samples}.\n\n" + table(["operation", "shape", "µs", "rate, and its share of the products' rate"], rows))
    timed = {(op["op"], op["shape"]): op["seconds"] for op in found.get(CHOSEN, ())}
    pairs = [(op, timed.get((op["op"], op["shape"]))) for op in trial.results.get("first algorithms", ())]
    rows = [[op["op"], op["shape"], f"{1e6 * op['seconds']:.0f}", f"{1e6 * taken:.0f}", f"{100 * (op['seconds'] / taken - 1):+.1f} %"]
            for op, taken in pairs if taken]
    if rows:
        trial.say("kernels", f"\nProducts of {CHOSEN}: cuBLASLt's first algorithm, and the fastest of its first 16 that gives the same bits, which loam "
                  "takes.\n\n" + table(["product", "shape", "first, µs", "taken, µs", "faster"], rows))


def rate_of(op):
    if not op["flops_per_s"]:
        return f"{op['bytes_per_s'] / 1e9:.0f} GB/s"
    return f"{op['flops_per_s'] / 1e12:.1f} TFLOP/s" + (f", {100 * op['share_of_peak']:.0f} %" if op["share_of_peak"] else "")


def must_have_torch(trial, modules):
    """Absent unless Python has the modules, and PyTorch sees the GPU."""
    ran = trial.run("peer-torch", [sys.executable, "-c", f"import {modules}; print(torch.cuda.is_available())"], 90, os.environ)
    if ran.status != 0:
        raise Absent(f"{modules.replace('torch', 'PyTorch').replace(', ', ' or ')}: {ran.reason()}")
    if "True" not in ran.output and not trial.shim:
        raise Absent("a PyTorch that sees the GPU")


def peer_ops(trial):
    """Attention of flash, cuDNN and others, products by cuBLAS and copies, by PyTorch at the shapes of `kernels`."""
    must_have_torch(trial, "torch")
    alone(trial, "peer-ops")
    late = None
    try:
        output = trial.must("peer-ops", [sys.executable, "bench/peers/gpu_ops.py", *(["--tiny"] if trial.shim else [])], 60, os.environ)
    except Late as error:
        output, late = error.output, error
    found = trial.results["peer-ops"] = [json.loads(line) for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
    if not found:
        raise late or Failed("nothing was measured", output[-500:])
    rows = [[op["op"], op["shape"], op["by"], f"{1e6 * op['seconds']:.0f}" if op["seconds"] else "—",
             f"{op['flops_per_s'] / 1e12:.1f} TFLOP/s" if op["flops_per_s"] else f"{op['bytes_per_s'] / 1e9:.1f} GB/s" if op["bytes_per_s"]
             else f"refused: {op['why']}"] for op in found]
    trial.say("peer-ops", table(["operation", "shape", "by", "µs", "rate"], rows) + "\n\nPyTorch in bf16, attention without a bias, between two "
              "events of the GPU. Beside them: attn_fwd, attn_bwd, linear and gemm of the same sizes in `kernels`.")
    if late:
        raise late


def peers(trial):
    must_have_torch(trial, "torch, transformers")
    found = trial.results["peers"] = {}
    with watched(trial, "peers"):
        for name, (peer, more) in PEERS.items():
            with trial.part("peers", f"{name}, eager"):
                trial.must_have(EAGER_SECONDS)
                if loam := measured(trial, "peers", name):
                    measure_eager(trial, name, [peer, *more], loam, found.setdefault(name, {}))
        for name, seconds in COMPILED.items():
            if eager := found.get(name, {}).get("eager"):
                with trial.part("peers", f"{name}, compiled"):
                    trial.must_have(seconds)
                    measure_peer(trial, name, [PEERS[name][0]], "compiled", [eager["samples"]], found[name])
    rows = [[name, kind, said["torch"], said["attention"], said["samples"] or "none fits",
             f"{said['tokens_per_s'] / said['input_tokens']:,.0f}" if said["samples"] else "—", f"{said['first_s']:.0f} s" if said["samples"] else "—", ratio_of(trial, name, said)]
            for name, kinds in found.items() for kind, said in kinds.items()]
    trial.say("peers", table(["model", "PyTorch", "version", "attention", "samples", "sequences/s", "first steps", "loam / PyTorch"], rows) +
              "\n\nBoth without dropout, with AdamW, at the batch that is fastest eager and, of loam, its own. PyTorch computes in bf16 by autocast. "
              "first steps: the seconds of two steps before those that count, in which a model is compiled.")


def measure_eager(trial, name, words, loam, kinds):
    batches = [1, 2] if trial.shim else [loam["micro_batch"]] if "--attention" in words else MODELS[name].batches
    said = measure_peer(trial, name, words, "eager", batches, kinds)
    if said["parameters"] != loam["parameters"]:
        raise Failed(f"PyTorch's model has {said['parameters']:,} parameters, loam's {loam['parameters']:,}")
    if not said["samples"] and "--attention" not in words:
        raise Failed("not even one sample fits")


def measure_peer(trial, name, words, kind, batches, kinds):
    """What gpu_step.py says of a kind, noted in `kinds`; its first batch that does not fit is halved until it does."""
    loam = trial.results["speed"][name]
    alone(trial, "peers")
    output = trial.must(f"peer-{'-'.join(words)}-{kind}".replace("---", "-"),
                        [sys.executable, "bench/peers/gpu_step.py", words[0], kind, ",".join(map(str, batches)), "--input", loam["input_tokens"],
                         "--target", loam["target_tokens"], *words[1:], *(["--tiny"] if trial.shim else [])], 600, os.environ)
    said = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if not said:
        raise Failed("nothing was measured", output[-500:])
    kinds[kind] = said[0]
    return said[0]


def ratio_of(trial, name, said):
    loam = trial.results.get("speed", {}).get(name)
    return f"{loam['tokens_per_s'] / said['tokens_per_s']:.2f}" if loam and said["samples"] else "—"
