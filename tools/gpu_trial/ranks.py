"""The section of several GPUs: layouts of ranks beside one rank, by threads and by processes, and how the speed grows with the GPUs."""

import json
import re
import shutil

from gpu_trial import proof, rates
from gpu_trial.trial import Absent, Failed, table
from gpu_trial.watch import alone, watched

# Two ranks each.
LAYOUTS = {
    "data parallel": "",
    "ZeRO 1": "parallel.zero=1",
    "ZeRO 2": "parallel.zero=2",
    "ZeRO 3": "parallel.zero=3",
    "tensor parallel": "parallel.tensor=2",
    "pipeline": "parallel.pipeline=2",
}
SMALL = ["train.precision=f32", "data.input_length=32", "model.n_enc=2", "model.n_dec=2", "train.batch=4 samples", "train.micro_batch=2 samples"]
STEPS = 3
BY_PROCESSES = {"LOAM_FAKE_GPU_ORDER": "3"}  # simulated GPUs go on when work is queued, and while they are looked at
NEAR = 1e-3  # how far losses may be from one rank's: sums are added in another order
SCALED = ("T5-1.1-large", "GPT-2")
USUAL_BATCH = 32  # samples of a rank, if section speed has found no better
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np"]


def ranks(trial):
    if trial.gpus < 2:
        raise Absent("one GPU")
    said = trial.must("ranks-env", [trial.loam, "env"], 60)
    none = re.search(r"^nccl +none is found: (.*)$", said, re.M)
    if none:
        raise Absent(f"NCCL: {none.group(1)}")
    found = trial.results["ranks"] = {"layouts": {}, "steps": {}}
    layouts(trial, found["layouts"], by_processes=shutil.which("mpirun") and not re.search(r"^mpi +none", said, re.M))
    alone(trial, "ranks")
    counts = [n for n in (2, 4, 8) if n <= trial.gpus]
    with watched(trial, "ranks"):
        for name in SCALED:
            scaling(trial, name, counts, found["steps"].setdefault(name, {}))
        with trial.part("ranks", "collectives"):
            found["collectives"] = collectives(trial, counts[-1])
    tell_steps(trial, found["steps"])


def layouts(trial, found, by_processes):
    """Each layout trains as one rank does, and has the same bits by processes as by threads."""
    folder = proof.prepare(trial, "ranks", 200 if trial.shim else 400, 200)
    one = None
    with trial.part("ranks", "one rank"):
        one, _ = proof.train(trial, "ranks-one", folder, "cuda", [STEPS], SMALL)
    for name, options in LAYOUTS.items() if one else ():
        with trial.part("ranks", name):
            found[name] = layout(trial, name.replace(" ", "-"), folder, options.split(), one, by_processes)
    if not by_processes:
        trial.say("ranks", "Ranks as processes: not here: mpirun, or loam-mpi.so.\n")
    rows = [[name, f"{apart:.1e}", "the same bits" if by_processes else "—"] for name, apart in found.items()]
    trial.say("ranks", table(["two ranks, f32", f"losses of {STEPS} steps beside one rank's, of which {NEAR:g} is allowed", "processes beside threads"], rows))


def layout(trial, name, folder, options, one, by_processes):
    """How far the losses are apart."""
    losses, threads = proof.train(trial, f"ranks-{name}", folder, "cuda", [STEPS], [*SMALL, "parallel.ranks=2", *options])
    apart = max((abs(a - b) / abs(b) for a, b in zip(losses, one)), default=1)
    if len(losses) != STEPS or not apart <= NEAR:
        raise Failed(f"losses {losses}, of one rank {one}")
    if by_processes:
        _, processes = proof.train(trial, f"ranks-{name}-mpi", folder, "cuda", [STEPS], [*SMALL, *options], [*MPIRUN, 2], BY_PROCESSES if trial.shim else None)
        if not proof.weights(threads) or proof.weights(threads) != proof.weights(processes):
            raise Failed("processes have other bits than threads")
    return apart


def scaling(trial, name, counts, found):
    """The step of a model at 1, 2, 4, … GPUs, each with as many samples."""
    micro = 1 if trial.shim else (trial.results.get("speed", {}).get(name) or {}).get("micro_batch", USUAL_BATCH)
    for n in [1, *counts]:
        with trial.part("ranks", f"{name} on {n} GPU{'s' * (n > 1)}"):
            found[n] = {**rates.bench(trial, name, rates.MODELS[name], "step", micro, 0.1 if trial.shim else 2,
                                      f"train.batch={n * micro} samples", f"parallel.ranks={n}", "parallel.zero=1"), "micro_batch": micro}


def collectives(trial, n):
    words = [trial.loam, "bench", "comm", "--json", "--seconds", 0.001 if trial.shim else 0.1, "--most", 1 if trial.shim else 256,
             "train.device=cuda", f"parallel.ranks={n}"]
    said = json.loads(trial.must("ranks-comm", words, 120).splitlines()[-1])
    rows = [[call["call"], f"{call['bytes']:,}", f"{1e6 * call['seconds']:.0f}", f"{call['bytes_per_s'] / 1e9:.1f}"] for call in said["calls"]]
    trial.say("ranks", f"\nCollectives of {n} ranks ({said['transport']}), f32:\n\n" +
              table(["collective", "bytes", "µs", "GB/s that a rank sends"], rows))
    return said


def tell_steps(trial, found):
    rows = []
    for name, steps in found.items():
        for n, step in steps.items():
            one = steps.get(1)
            rate = step["tokens_per_s"] / step["input_tokens"]
            speedup = step["tokens_per_s"] / one["tokens_per_s"] if one else None
            rows.append([name, n, step["micro_batch"], f"{rate:,.1f}", f"{speedup:.2f}" if one else "—", f"{100 * speedup / n:.0f} %" if one else "—",
                         f"{step.get('sent_bytes', 0) / 1e6:,.0f}"])
    trial.say("ranks", "\nSteps, bf16, AdamW, each rank with as many samples, states divided among ranks (ZeRO 1):\n\n" +
              table(["model", "GPUs", "samples of a rank", "sequences/s", "times one GPU's", "of the number of GPUs", "MB that a rank sends in a step"], rows))
