"""How a trial divides its time: what each section needs at least, in what time all of it ends, and what more time is worth to it."""

import dataclasses

from gpu_trial import launches, proof, ranks, rates


@dataclasses.dataclass(frozen=True)
class Need:
    least: float  # seconds in which its first parts end, so that it is not left out
    whole: float  # seconds in which all of its parts end
    worth: float  # its part of the seconds beyond the least of all, beside the others'


def counted(first, whole, seconds, worth, at_once=1):
    """The need of a section of `whole` commands, so many at once, each of so many seconds; `first` of them are enough not to be left out."""
    return Need(first * seconds / at_once, whole * seconds / at_once, worth)


# Seconds of one command, from what whole sections took on an H200 with 16 cores. Of `loam bench step` with 2 s of steps: speed, 26 commands in
# 200 s. Of a small run, an evaluation or an answer: families, 78 commands, four at once, beside the operations in 150 s. Of a test: operations, 88
# tests, six at once, all combinations in 300 s. Of `loam bench ops`: kernels, three commands in 45 s.
STEP, SMALL, TEST, OPS = 7.7, 7.7, 20, 15
# Assumed, since no trial has run launches or ranks yet: steps for 1 s; a model of real size that answers a batch, or trains one step to do so; a
# small run by itself; steps on several GPUs; all collectives. And the first start of PyTorch, which reads its files.
SHORT, ANSWERS, LAYOUT, RANKED, COLLECTIVES, TORCH = STEP - 1, 3, 5, 12, 20, 10
N_TESTS = 88

N_STEPS = sum(len(model.batches) for model in rates.MODELS.values()) + len(rates.PROFILED)
N_FAMILIES = 7 * len(proof.FAMILIES) + 2 * len(proof.DECODED)  # five times training, two evaluations; two answers
N_STEP_TURNS, N_TURNS = launches.TURNS * 2, launches.TURNS * len(launches.KINDS)  # of a step of training, with and without; of decoding
N_LAYOUTS = 1 + 2 * len(ranks.LAYOUTS)  # one rank, threads, processes
EAGER = TORCH + rates.EAGER_SECONDS * len(rates.PEERS)

NEEDS = {
    "machine": Need(10, 15, 1),  # four commands; PyTorch's start takes the longest
    "code": Need(60, 60, 1),  # one command, which took a minute on that machine
    "operations": Need(N_TESTS * TEST / 6 / int(proof.FEW), N_TESTS * TEST / 6, 2),  # first: a fifth of the combinations
    "families": counted(N_FAMILIES // 3, N_FAMILIES, SMALL, 2, at_once=4),
    "curves": Need(30, 120, 1),  # five runs of 200 steps, two at once; the CPU's takes the longest
    "speed": counted(10, N_STEPS, STEP, 3),  # first: the microbatches of three models
    "launches": Need(N_STEP_TURNS * SHORT, len(launches.STEPS) * N_STEP_TURNS * SHORT + len(launches.DECODED) * (1 + 2 * N_TURNS) * ANSWERS, 1),
    "ranks": Need(N_LAYOUTS * LAYOUT, N_LAYOUTS * LAYOUT + 4 * len(ranks.SCALED) * RANKED + COLLECTIVES, 2),  # on 1, 2, 4 and 8 GPUs
    "kernels": counted(2, len(rates.KERNELS) + 1, OPS, 1),  # first: attention with a bias, and beside it; last: products once more
    "peer-ops": Need(40, 60, 1),  # one command, of which each line counts
    "peers": Need(EAGER, EAGER + sum(rates.COMPILED.values()), 3),  # of the compiled models none has ended yet: assumed
    "sanitizer": Need(25, 300, 1),  # one combination of each operation; how long all take is assumed
}
NOTHING = Need(1, 1, 0)  # of a section that finds nothing to do on this machine


def need_of(names, gpus):
    """The need of sections that run at the same time."""
    needs = [NOTHING if name == "ranks" and gpus < 2 else NEEDS[name] for name in names]
    return Need(*(max(getattr(need, field) for need in needs) for field in ("least", "whole", "worth")))


def divide(needs, seconds):
    """The seconds of each: its least, less by one factor for all if there are too few; what is more than that by worth, none above its whole
    while another has less; what is more than all need by what they need."""
    least = sum(need.least for need in needs)
    if seconds <= least:
        return [seconds * need.least / least for need in needs]
    given, left = [need.least for need in needs], seconds - least
    while open_ones := [i for i, need in enumerate(needs) if need.worth and given[i] < need.whole]:
        worth = sum(needs[i].worth for i in open_ones)
        # Until the first of them is whole, or nothing is left.
        each = min(left / worth, *((needs[i].whole - given[i]) / needs[i].worth for i in open_ones))
        for i in open_ones:
            given[i] = needs[i].whole if given[i] + each * needs[i].worth > needs[i].whole - 1e-6 else given[i] + each * needs[i].worth
        left -= each * worth
        if left < 1e-6:
            return given
    whole = sum(given)
    return [part * (1 + left / whole) for part in given]
