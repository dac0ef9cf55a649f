"""The bars, and the page: what each section came to, what failed, what there was no time for, which bars are met."""

import contextlib
import json
import os
import re
import tarfile
import time

from gpu_trial import share
from gpu_trial.rates import CAUSAL
from gpu_trial.trial import table, tell

RESERVE = 256 << 20  # bytes of a GPU's memory that no plan uses
PACKAGES = {"cuobjdump is": "nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm", "compute-sanitizer is": "nvidia-cuda-sanitizer-api", "PyTorch": "torch transformers",
            "NCCL": "nvidia-nccl-cu13"}  # of PyPI, by what was not here
MOST_TOLD = 5  # failures of a section whose last lines are on the page


# ---- bars ----

def step(results, model, key):
    return (results.get("speed", {}).get(model) or {}).get(key)


def sequences(results, model):
    tokens, length = step(results, model, "tokens_per_s"), step(results, model, "input_tokens")
    return tokens / length if tokens and length else None


def quotient(a, b):
    return a / b if a and b else None


def beside_compiled(results, model):
    peer = results.get("peers", {}).get(model, {}).get("compiled", {})
    return quotient(step(results, model, "tokens_per_s"), peer.get("tokens_per_s"))


def largest(results, model, op, rate):
    """The rate, flops_per_s or bytes_per_s, of an operation of a model: of its calls with the most work."""
    found = [entry for entry in results.get("kernels", {}).get(model, ()) if entry["op"] == op]
    return max(found, key=lambda entry: entry[rate] * entry["seconds"])[rate] if found else None


def attention(results, op):
    """FLOP/s of T5's attention in the encoder, with its bias, beside those of causal attention of the same heads and lengths."""
    return quotient(largest(results, "T5-1.1-large", op, "flops_per_s"), largest(results, CAUSAL, op, "flops_per_s"))


def long_fits(results):
    """1 where loam's step fits and that of PyTorch with eager attention does not, at as many samples; 0 where not so."""
    loam = step(results, "T5-1.1-large, 4,096 tokens", "micro_batch")
    eager = results.get("peers", {}).get("T5-1.1-large, 4,096 tokens", {}).get("eager")
    return None if not loam or eager is None else float((eager["samples"] or 0) < loam)


def beside_plan(results, model):
    """The smaller of the memory that a step took of the GPU and the memory that was planned, beside the other."""
    taken, planned = step(results, model, "memory_bytes"), step(results, model, "planned_bytes")
    return min(taken, planned) / max(taken, planned) if taken and planned else None


def reserve_left(results, model):
    """Of the memory that is never planned, the share that is still free after the first steps, by the driver's count; below 0 if it was too little."""
    taken, planned = step(results, model, "memory_bytes"), step(results, model, "planned_bytes")
    return 1 - (taken - planned) / RESERVE if taken and planned else None


def beside_copies(results, op):
    """Bytes/s of an operation of T5-1.1-large beside those of copies within the GPU."""
    copies = next((entry["bytes_per_s"] for entry in results.get("peer-ops", ()) if entry["op"] == "copy within the GPU"), None)
    return quotient(largest(results, "T5-1.1-large", op, "bytes_per_s"), copies)


def percent(x):
    return f"{100 * x:.1f} %"


def times(x):
    return f"{x:.2f} ×"


def rate(x):
    return f"{x:,.0f} /s"


def fitting(x):
    return "fits, and eager runs out of memory" if x else "eager attention fits too"


# What is measured, the least that is wanted, how it is written, how it is found.
BARS = [
    *((f"{model}: whole step, share of the products' rate", 0.6, percent, lambda r, model=model: step(r, model, "share_of_peak"))
      for model in ("T5-1.1-large", "T5-1.1-XL", "GPT-2-1.5B")),
    *((f"{model}: sequences of 512 / 114 tokens", least, rate, lambda r, model=model: sequences(r, model))
      for model, least in (("T5-1.1-small", 3700), ("T5-1.1-base", 1100), ("T5-1.1-large", 330), ("T5-1.1-XL", 90))),
    *((f"{model}: rate beside torch.compile's", least, times, lambda r, model=model: beside_compiled(r, model))
      for model, least in (("T5-1.1-small", 1.5), ("T5-1.1-base", 1.5), ("T5-1.1-large", 1.5), ("GPT-2", 1.1), ("BERT-base", 1.1))),
    ("T5-1.1-XL: rate in FP8 beside bf16's", 1.3, times,
     lambda r: quotient(step(r, "T5-1.1-XL, FP8", "tokens_per_s"), step(r, "T5-1.1-XL", "tokens_per_s"))),
    ("attention with T5's bias: FLOP/s beside causal attention's without it, forward", 0.6, percent, lambda r: attention(r, "attn_fwd")),
    ("attention with T5's bias: FLOP/s beside causal attention's without it, backward", 0.6, percent, lambda r: attention(r, "attn_bwd")),
    *((f"{model}: memory taken beside the plan, or the plan beside it", 0.95, percent, lambda r, model=model: beside_plan(r, model))
      for model in ("T5-1.1-small", "T5-1.1-large", "GPT-2-1.5B")),
    *((f"{model}: of the 256 MiB that are never planned, free after the first steps", 0.0, percent, lambda r, model=model: reserve_left(r, model))
      for model in ("T5-1.1-small", "T5-1.1-large", "GPT-2-1.5B")),
    *((f"{op}, T5-1.1-large: bytes/s beside copies'", 0.75, percent, lambda r, op=op: beside_copies(r, op))
      for op in ("norm_fwd", "norm_bwd", "sum_norm_fwd")),
    ("T5-1.1-large at 4,096 tokens, beside PyTorch's eager attention", 1.0, fitting, long_fits),
]


def bars(results, dry):
    """(bar, what is wanted, what was measured, verdict) of each. A dry run meets none and misses none."""
    rows = []
    for name, least, written, find in BARS:
        found = find(results)
        wanted = written(least) if written is fitting else f"at least {written(least)}"
        rows.append((name, wanted, "—" if found is None else written(found),
                     "not measured" if found is None else "dry run" if dry else "met" if found >= least else "NOT MET"))
    return rows


# ---- the page ----

def verdict(trial, name):
    failed, late = sum(of == name for of, *_ in trial.failed), sum(of == name for of, _ in trial.late)
    if name not in trial.wanted:
        return "not chosen"
    if name not in trial.seconds:
        return "not run"
    why = f"it was stopped by {trial.signal.name}" if trial.signal else "lack of time"
    said = ([f"{failed} FAILED"] if failed else []) + ([f"not run: {late} part{'s' * (late > 1)}: {why}"] if late else [])
    said += [f"not run: not here: {reason}" for of, reason in trial.absent if of == name]
    return "; ".join(said) or "done, nothing failed"


def headline(trial):
    rows = bars(trial.results, trial.shim)
    count = lambda word: sum(row[3] == word for row in rows)
    unrun = [name for name in trial.wanted if "not run" in verdict(trial, name)]
    said = [f"Stopped by {trial.signal.name}." if trial.signal else "", f"{len(trial.failed)} failed." if trial.failed else "Nothing failed.",
            f"Not run, or not whole: {', '.join(unrun)}." if unrun else "", f"Parts not run: {len(trial.late)}." if trial.late else "",
            f"Bars: {count('met')} met, {count('NOT MET')} not met, {count('not measured')} not measured." if not trial.shim else ""]
    return f"{time.monotonic() - trial.started:.0f} s of {60 * trial.minutes:.0f} s. " + " ".join(text for text in said if text)


def unrun_of(trial):
    return [name for name in trial.wanted if "not run" in verdict(trial, name) and not any(of == name for of, _ in trial.absent)]


def again(trial, which, names, *more):
    """A command that runs some sections; the folder of its results is named after this trial's."""
    return f"`tools/gpu-trial {trial.programs} --out {trial.folder}-{which} {' '.join(['--only ' + ','.join(names), *more])}`"


def minutes_of(trial, names):
    """What all of these sections need, and a fifth more."""
    return f"--minutes {1.2 * sum(share.need_of([name], trial.gpus).whole for name in names) / 60 + 1:.0f}"


def next_steps(trial):
    """What to do after this trial, the most urgent first."""
    failed = [name for name in trial.sections if any(of == name for of, *_ in trial.failed)]
    if trial.refused:
        lacks = re.search(r"libcublasLt\.so\.(\d+) is not", trial.refused)
        package = lacks and f"nvidia-cublas{'-cu' + lacks.group(1) if int(lacks.group(1)) < 13 else ''}"
        return [f"loam uses no GPU: {trial.refused.removeprefix('none is used: ')}." + (f" `pip install {package}` brings cuBLASLt." if package else "") +
                f" Then {again(trial, 'again', trial.wanted)}."]
    steps, late = [], unrun_of(trial)
    if failed:
        steps.append(f"What failed is to be reported with trial.md and logs.tar.gz. It runs again, by itself, by {again(trial, 'failed', failed)}.")
    if late:
        steps.append(f"What was not run, or not whole: {again(trial, 'more', late, minutes_of(trial, late))}.")
    if packages := [package for start, package in PACKAGES.items() if any(reason.startswith(start) for _, reason in trial.absent)]:
        names = [of for of, reason in trial.absent if reason.startswith(tuple(PACKAGES))]
        steps.append(f"For what is not here: `pip install {' '.join(packages)}`, then {again(trial, 'tools', dict.fromkeys(names))}.")
    if not trial.shim and any(row[3] == "NOT MET" for row in bars(trial.results, False)):
        steps.append("Where the time of a bar that is not met goes: the operations by time at the end of the section speed, each of them alone in kernels, "
                     "the GPU's clocks in both.")
    if not failed and not late and "speed" not in trial.wanted:
        steps.append(f"Nothing failed, so this GPU, or the one that is to be measured, may be measured: `tools/gpu-trial {trial.programs} --rest "
                     f"{minutes_of(trial, trial.rest)} --out {trial.folder}-rest`.")
    return steps or ["Nothing is left to do. trial.json has the numbers, to compare another trial with."]


def failures(trial):
    lines, told = [], {}
    for section, reason, said in trial.failed:
        lines.append(f"- {section}: {reason}")
        told[section] = told.get(section, 0) + 1
        if said and told[section] <= MOST_TOLD and said not in reason:
            lines += ["", *("      " + line for line in said.splitlines()), ""]
    return lines


def text_of(trial):
    page = [f"# Trial of loam on {'kernels that run on the host' if trial.shim else 'a GPU'}, {time.strftime('%d %B %Y, %H:%M')}\n",
            headline(trial), *([f"\n{trial.about}."] if trial.about else []), ""]
    if trial.shim:
        page += ["A dry run: its shapes are tiny and its times are those of the host, so its rates and bars mean nothing.", ""]
    page += [table(["section", "what it came to", "time"],
                   [[name, verdict(trial, name), f"{trial.seconds[name]:.0f} s" if name in trial.seconds else "—"] for name in trial.sections])]
    page += ["\n## Next\n", *(f"- {step}" for step in next_steps(trial))]
    if trial.failed:
        page += ["\n## What failed\n", *failures(trial), "", "The whole of what each command said is in logs.tar.gz."]
    if trial.late:
        page += ["\n## What was not run, or not to its end\n"] + [f"- {section}: {'; '.join(part for of, part in trial.late if of == section)}"
                                                         for section in dict.fromkeys(of for of, _ in trial.late)]
    page += ["\n## Bars: what an H200 is to reach\n", table(["bar", "wanted", "measured", "verdict"], bars(trial.results, trial.shim))]
    for name in trial.sections:
        page += [f"\n## {name}\n", *trial.lines[name]] if name in trial.lines else []
    return "\n".join(page) + "\n"


def json_of(trial):
    names = ("bar", "wanted", "measured", "verdict")
    return json.dumps({
        "seconds": time.monotonic() - trial.started, "machine_is": trial.about, "dry_run": trial.shim, "stopped_by": trial.signal.name if trial.signal else None,
        "sections": {name: {"verdict": verdict(trial, name), "seconds": trial.seconds.get(name)} for name in trial.sections},
        "failed": trial.failed, "not_run": trial.late, "not_here": trial.absent,
        "bars": [dict(zip(names, row)) for row in bars(trial.results, trial.shim)], **trial.results}, indent=1) + "\n"


def write(trial):
    """The three files, each whole or as it was before; False, and one line said of each, where the disk refuses."""
    def archive(path):
        with tarfile.open(path, "w:gz") as tar:
            tar.add(trial.logs, "logs")

    whole = True
    for name, put in (("trial.md", lambda path: path.write_text(text_of(trial))), ("trial.json", lambda path: path.write_text(json_of(trial))),
                      ("logs.tar.gz", archive)):
        part = trial.out / (name + ".part")
        try:
            put(part)
            os.replace(part, trial.out / name)
        except OSError as error:
            whole = False
            tell(f"{trial.out / name} cannot be written: {error.strerror}")
            with contextlib.suppress(OSError):
                part.unlink()
    return whole
