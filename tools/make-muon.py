#!/usr/bin/env python3
"""Writes tests/golden/muon.safetensors: matrices after 1 and after 20 updates by torch.optim.Muon. Needed by no build and no
test: the file is in the repository.

    python3 -m venv /tmp/muon && /tmp/muon/bin/pip install torch==2.15.0 numpy safetensors
    /tmp/muon/bin/python tools/make-muon.py tests/golden/muon.safetensors

Weights and gradients come from a generator that tests/param/test_optim_muon.c has, too. "bf16" is torch.optim.Muon as it is,
which orthogonalises in bf16. "exact" is the same code of the installed torch with that dtype replaced by f64, on weights
and gradients in f64.
"""

import inspect
import sys

import torch
from safetensors.torch import save_file
from torch.optim import _muon

SHAPES = {"tall": (20, 8), "wide": (6, 24), "square": (12, 12)}
SETTINGS = dict(lr=0.02, weight_decay=0.1, momentum=0.95)


class Numbers:
    """Park and Miller (1988): numbers in (-0.5, 0.5)."""

    def __init__(self, seed):
        self.state = seed

    def matrix(self, rows, cols, dtype):
        values = []
        for _ in range(rows * cols):
            self.state = self.state * 16807 % 2147483647
            values.append(self.state / 2147483647 - 0.5)
        return torch.tensor(values, dtype=torch.float32).to(dtype).reshape(rows, cols)


def exact_orthogonalisation():
    source = inspect.getsource(_muon._zeropower_via_newtonschulz)
    assert source.count("torch.bfloat16") == 1
    names = dict(vars(_muon))
    exec(source.replace("torch.bfloat16", "torch.float64"), names)
    return names["_zeropower_via_newtonschulz"]


def updates(dtype, scale):
    """The matrices after 1 and after 20 updates, by their names."""
    numbers = Numbers(12345)
    weights = {name: torch.nn.Parameter(numbers.matrix(*shape, dtype)) for name, shape in SHAPES.items()}
    muon = torch.optim.Muon(weights.values(), adjust_lr_fn=scale, **SETTINGS)
    kept = {}
    for update in range(1, 21):
        for name, weight in weights.items():
            weight.grad = numbers.matrix(*SHAPES[name], dtype)
        muon.step()
        if update in (1, 20):
            kept |= {f"{name}.{update}": weight.detach().float().clone() for name, weight in weights.items()}
    return kept


tensors = {}
for scale in ("original", "match_rms_adamw"):
    tensors |= {f"bf16.{scale}.{name}": value for name, value in updates(torch.float32, scale).items()}
_muon._zeropower_via_newtonschulz = exact_orthogonalisation()
for scale in ("original", "match_rms_adamw"):
    tensors |= {f"exact.{scale}.{name}": value for name, value in updates(torch.float64, scale).items()}
save_file(tensors, sys.argv[1], metadata={"torch": torch.__version__})
