"""What the GPU does while sections run: clocks, power, temperature, why it is slower than it could be; and what it is, before."""

import contextlib
import re
import subprocess
import time

from gpu_trial.trial import kill, table

QUERY = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_throttle_reasons.active"]
REASONS = {0x1: "idle", 0x2: "clocks set by the user", 0x4: "power cap", 0x8: "slowed by hardware", 0x10: "sync boost", 0x20: "heat (software)",
           0x40: "heat (hardware)", 0x80: "power brake", 0x100: "display clocks"}
HARMLESS = 0x1
OTHERS_MIB = 2000  # of a GPU's memory; a driver without programs takes less
PREFLIGHT = "index,uuid,name,driver_version,compute_mode,mig.mode.current"


def preflight(trial):
    """One line about the machine, before the clock starts: each GPU, which one is used, what must be changed first."""
    ran = trial.run("preflight", ["nvidia-smi", f"--query-gpu={PREFLIGHT}", "--format=csv,noheader"], 30)
    told, name = versions(trial)
    if ran.status != 0:
        return f"nvidia-smi: not here: {ran.reason()}{told}"
    gpus = [([cell.strip() for cell in line.split(",")] + ["?"] * 6)[:6] for line in ran.lines()]
    used = used_of(gpus, name, trial.env.get("CUDA_VISIBLE_DEVICES"))
    trial.gpu = used and used[0]
    said = [("" if len(gpus) == 1 else f"GPU {index}: ") + f"{name}, driver {driver}, compute mode {mode}, MIG {mig}"
            for index, _, name, driver, mode, mig in gpus]
    if len(gpus) > 1:
        said.append(f"GPU {used[0]} is used; the section ranks uses others, too" if used else "which one is used is not known")
    looked_at = [used] if used else gpus
    said += ["compute mode Prohibited: nvidia-smi -c DEFAULT"] if any(gpu[4] == "Prohibited" for gpu in looked_at) else []
    said += ["MIG is on: loam uses one slice of the GPU, so rates are those of the slice"] if any(gpu[5] == "Enabled" for gpu in looked_at) else []
    return "; ".join(said) + told


def used_of(gpus, name, visible):
    """The row of nvidia-smi of the GPU that CUDA counts as its first, of those that CUDA_VISIBLE_DEVICES leaves; None if that is not known. CUDA
    lists the fastest first, nvidia-smi by slot: where GPUs of several kinds are here, what loam tells of its first one decides."""
    first, alike = (visible or "").split(",")[0].strip(), len({gpu[2] for gpu in gpus}) == 1
    found = [gpu for gpu in gpus if gpu[1].startswith(first)] if first.startswith("GPU-") else \
        [gpu for gpu in gpus if gpu[0] == (first or "0")] if alike else [gpu for gpu in gpus if name.startswith(gpu[2] + ",")]
    return gpus[0] if len(gpus) == 1 else found[0] if len(found) == 1 or found and not first else None


def versions(trial):
    """What loam finds of CUDA, or why it uses no GPU, and what it tells of its first GPU; nothing if it does not start, which the trial tells later."""
    ran = trial.run("preflight-env", [trial.loam, "env"], 60)
    found = [re.fullmatch(r"(cuda|gpu)(?: (\d+))? +(.*)", line) for line in ran.lines()] if ran.status == 0 else []
    told = [match.group(3) if not match.group(2) else f"{match.group(2)}: {match.group(3)}" for match in found if match]
    return "; loam: " + "; ".join(told) if told else "", next((match.group(3) for match in found if match and match.group(1) == "gpu"), "")


def numbers(line):
    """The values of one line of nvidia-smi; None for one that it does not tell."""
    found = []
    for cell in line.split(","):
        try:
            found.append(float(int(cell.strip(), 16)) if "x" in cell else float(cell))
        except ValueError:
            found.append(None)
    return found if len(found) == len(QUERY) else None


def summary(lines):
    """Least, mean and most of each number; the reasons, with the share of the samples."""
    samples = [sample for sample in map(numbers, lines) if sample]
    columns = [[value for value in column if value is not None] for column in zip(*samples)]
    if not samples:
        return None
    found = {name: {"least": min(column), "mean": sum(column) / len(column), "most": max(column)}
             for name, column in zip(QUERY[:-1], columns) if column}
    masks = [int(value) & ~HARMLESS for value in columns[-1]]
    found["slowed"] = {text: sum(bool(mask & bit) for mask in masks) / len(masks) for bit, text in REASONS.items() if any(mask & bit for mask in masks)}
    return {"samples": len(samples), **found}


def that_of(trial, section):
    """Words of nvidia-smi that choose the GPU of a section; of all GPUs where that is not known, and for ranks."""
    return ["-i", trial.gpu] if trial.gpu and section != "ranks" else []


def alone(trial, section):
    """Before a measurement: waits up to 10 s until nothing else holds memory of the GPU, as what was ended does for a while; then says what does."""
    for _ in range(11):
        ran = trial.run("alone", ["nvidia-smi", *that_of(trial, section), "--query-gpu=memory.used", "--format=csv,noheader,nounits"], 30)
        held = max(map(int, filter(str.isdigit, ran.lines())), default=0) if ran.status == 0 else 0
        if held < OTHERS_MIB:
            return
        time.sleep(1)
    trial.say(section, f"Something else holds {held:,} MiB of a GPU, so rates may be too low, and less fits.\n")


@contextlib.contextmanager
def watched(trial, section):
    """Twice a second while a section runs; nothing where nvidia-smi is not here."""
    words = ["nvidia-smi", *that_of(trial, section), "--query-gpu=" + ",".join(QUERY), "--format=csv,noheader,nounits", "-lms", "500"]
    log = trial.logs / f"watch-{section}.log"
    try:
        with log.open("w") as to:
            process = subprocess.Popen(words, stdout=to, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=trial.env, start_new_session=True)
    except OSError:
        process = None
    try:
        yield
    finally:
        if process:
            kill(process)
            process.wait()
            say(trial, section, summary(log.read_text(errors="replace").splitlines()))


def say(trial, section, found):
    if not found:
        return
    trial.results.setdefault("watch", {})[section] = found
    rows = [[name, *(f"{found[name][key]:.0f}" for key in ("least", "mean", "most"))] for name in QUERY[:-1] if name in found]
    slowed = ", ".join(f"{text} in {100 * share:.0f} %" for text, share in found["slowed"].items()) or "no"
    trial.say(section, f"\nThe GPU meanwhile ({found['samples']} samples of nvidia-smi; MHz, W, °C). Slowed: {slowed}.\n\n" +
              table(["", "least", "mean", "most"], rows))
