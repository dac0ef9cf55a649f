#!/usr/bin/env python3
"""Prints the checksums of tests/base/test_float8.c: casts to FP8 by PyTorch, saturating, of every bf16 number and of
4,194,304 f32 numbers, whose bits are i * 2654435761 mod 2^32; NaN counts as 0x7F."""
import hashlib
import numpy
import torch

FORMATS = {"E4M3": (torch.float8_e4m3fn, 448.0), "E5M2": (torch.float8_e5m2, 57344.0)}


def cast(x, name):
    dtype, largest = FORMATS[name]
    codes = x.clamp(-largest, largest).to(dtype).view(torch.uint8).numpy().copy()
    codes[torch.isnan(x).numpy()] = 0x7F
    return codes


bf16 = torch.from_numpy((numpy.arange(1 << 16, dtype=numpy.uint32) << 16).view(numpy.float32))
f32 = torch.from_numpy((numpy.arange(1 << 22, dtype=numpy.uint64) * 2654435761).astype(numpy.uint32).view(numpy.float32))
for name, (dtype, largest) in FORMATS.items():
    print(name, "of bf16", hashlib.sha256(cast(bf16, name).tobytes()).hexdigest())
    print(name, "of f32", hashlib.sha256(cast(f32, name).tobytes()).hexdigest())
    back = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float32).numpy().copy()
    back[numpy.isnan(back)] = 12345  # one bit pattern for NaN and for infinity, which the casts never make
    back[numpy.isinf(back)] = 12345
    print(name, "to f32", hashlib.sha256(back.tobytes()).hexdigest())
