"""The section `launches`: what it is worth that kernels begin before the one before them has ended, and of decoding that one graph replaces the
launches of a step."""

import json

from gpu_trial import rates
from gpu_trial.proof import TOY, prepare, train
from gpu_trial.trial import table

STEPS = ("T5-1.1-large", "GPT-2")
# Trained for one step, then decoded with: their real sizes, and a vocabulary larger than that of the tokenizer.
DECODED = {
    "T5-1.1-small": "model.n_enc=8 model.n_dec=8 model.width=512 model.ffn=1024 model.heads=6 model.head_dim=64 model.vocab=32128",
    "GPT-2": "model.preset=gpt2 model.n_enc=0 model.n_dec=12 model.width=768 model.ffn=3072 model.heads=12 model.head_dim=64 "
             "model.max_positions=1024 data.objective=clm model.vocab=50257",
}
KINDS = {
    "in full order": {"LOAM_BEGIN_EARLY": "0", "LOAM_CUDA_GRAPHS": "0"},
    "begin early": {"LOAM_BEGIN_EARLY": "1", "LOAM_CUDA_GRAPHS": "0"},
    "graphs": {"LOAM_BEGIN_EARLY": "1", "LOAM_CUDA_GRAPHS": "1"},
}
OF_STEPS = ("in full order", "begin early")  # a training step has no graph
TURNS = 2  # of the kinds, of which the faster counts


def in_turns(measure, kinds):
    """Seconds of each kind: the least of those that measure(environment, turn) returns; None if it returned none above 0."""
    seconds = {kind: [] for kind in kinds}
    for turn in range(TURNS):
        for kind in kinds:
            seconds[kind].append(measure(KINDS[kind], f"{kind.replace(' ', '-')}-{turn}"))
    return {kind: min((one for one in of if one > 0), default=None) for kind, of in seconds.items()}


def step(trial, name):
    best = rates.measured(trial, "launches", name)
    return best and in_turns(lambda env, turn: rates.bench(trial, name, rates.MODELS[name], "step", best["micro_batch"],
                                                           0.1 if trial.shim else 1, label=turn, env=env)["step_s"], OF_STEPS)


def token(trial, folder, name, batch):
    """Of one sequence per prompt, without the time to its first token: a difference of two times, below 0 if other work delays the shorter one."""
    run, tokens = trial.work / f"run-decoded-{name}", 4 if trial.shim else 64
    if not run.exists():
        small = [*rates.TINY.split(), *rates.TINY_BLOCKS[rates.MODELS[name].config].split(), *TOY, "model.vocab=auto"] if trial.shim else []
        train(trial, f"decoded-{name}", folder, "cuda", [1], ["train.precision=bf16", *DECODED[name].split(), *small])

    def measure(env, turn):
        words = [trial.loam, "bench", "generate", "--model", run, "--device", "cuda", "--precision", "bf16", "--batch", batch, "--input", 16,
                 "--tokens", tokens, "--runs", 1 if trial.shim else 3, "--json"]
        said = json.loads(trial.must(f"decoded-{name}-{batch}-{turn}", words, 60, env).splitlines()[-1])
        return (said["answer_s"] - said["first_token_s"]) / (tokens - 1)

    return in_turns(measure, KINDS)


def row(name, seconds):
    """Milliseconds of each kind, and how much faster the last of them is than the first."""
    cells = {kind: f"{1e3 * of:.3f}" if of else "not measured" for kind, of in seconds.items()}
    first, *_, last = seconds.values()
    return [name, *(cells.get(kind, "none") for kind in KINDS), f"{100 * (first / last - 1):+.1f} %" if first and last else "not measured"]


def launches(trial):
    """A step of training and one of decoding, each in every kind of launching its kernels, in turns."""
    found, folder = trial.results.setdefault("launches", {}), None
    for name in STEPS:
        with trial.part("launches", f"{name}, a step"):
            if seconds := step(trial, name):
                found[f"{name}, a training step"] = seconds
    for name in DECODED:
        for batch in [1] if trial.shim else [1, 32]:
            with trial.part("launches", f"{name}, decoding {batch}"):
                folder = folder or prepare(trial, "decoded", 200, 200)
                found[f"{name}, a token of {batch} answers"] = token(trial, folder, name, batch)
    trial.say("launches", "Kernels that begin before the one before them has ended, and a graph for the blocks of a decoding step (docs/gpu.md), in milliseconds:\n\n" +
              table(["what", *KINDS, "faster"], [row(name, seconds) for name, seconds in found.items()]))
