"""How a trial divides its time: what each section needs at least, in what time all of it ends, and what more time is worth to it."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Need:
    least: float  # seconds in which its first parts end, so that it is not left out
    whole: float  # seconds in which all of its parts end
    worth: float  # its part of the seconds beyond the least of all, beside the others'


# Seconds on an H200 with 16 cores; those of peers, of whose compiled models none has ended yet, of launches and of ranks are assumed.
NEEDS = {
    "machine": Need(10, 15, 1),
    "code": Need(5, 20, 1), "operations": Need(60, 300, 2), "families": Need(60, 150, 2), "curves": Need(30, 120, 1),
    "speed": Need(80, 200, 3),
    "launches": Need(25, 60, 1),
    "ranks": Need(60, 240, 2),
    "kernels": Need(25, 45, 1),
    "peer-ops": Need(40, 60, 1),
    "peers": Need(100, 900, 3),
    "sanitizer": Need(25, 300, 1),
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
