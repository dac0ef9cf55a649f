#!/usr/bin/env python3
"""Times operations of PyTorch on a GPU, in bf16, at the sizes of operations that `loam bench ops` times, for tools/gpu-trial.

    bench/peers/gpu_ops.py [--seconds 0.05] [--tiny]

Attention by each implementation that PyTorch has (flash, cudnn, efficient, math), forward and backward; products by cuBLAS at the shapes of
T5-1.1-large's layers for 32 samples of 512 tokens, and 8192 x 8192 x 8192; copies of 256 MiB within the GPU, to it and from it. Times are those
between two events of the GPU around as many calls as fit in --seconds. One line of JSON for each: op, shape, by, seconds, flops_per_s or
bytes_per_s; seconds is null where an implementation refuses the shape, with the reason. --tiny is the same work, small, on the CPU."""

import argparse
import json
import sys
import time
import warnings

# Name, samples, heads, head size, tokens of queries and keys, causal.
ATTENTION = [("encoder attention", 32, 16, 64, 512, 512, False), ("decoder attention", 32, 16, 64, 512, 512, True),
             ("cross-attention", 32, 16, 64, 114, 512, False), ("GPT-2 attention", 32, 12, 64, 1024, 1024, True)]
# Name, rows, inputs, outputs.
PRODUCTS = [("qkv", 16384, 1024, 3072), ("attention out", 16384, 1024, 1024), ("ffn in", 16384, 1024, 5632), ("ffn out", 16384, 2816, 1024),
            ("logits", 3648, 1024, 32128), ("8192 cubed", 8192, 8192, 8192)]
COPIED = 256 << 20
KERNELS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
MATH_LONGEST = 512  # beyond, the whole scores would fill the memory


def seconds_of(torch, args, call):
    """Mean seconds of a call, after two that are not counted."""
    call(), call()
    if args.tiny:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start, n = time.perf_counter(), 0
    call()
    torch.cuda.synchronize()
    calls = max(1, min(1000, int(args.seconds / (time.perf_counter() - start))))
    begin.record()
    for n in range(calls):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / calls


def tell(op, shape, by, seconds, why=None, flops=None, moved=None):
    print(json.dumps({"op": op, "shape": shape, "by": by, "seconds": seconds, "why": why, "flops_per_s": flops / seconds if flops and seconds else None,
                      "bytes_per_s": moved / seconds if moved and seconds else None}), flush=True)


def attention(torch, args, device):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for name, samples, heads, size, tq, tk, causal in ATTENTION:
        if args.tiny:
            samples, heads, tq, tk = 1, 2, 16, 16
        q, k, v = (torch.randn(samples, heads, t, size, device=device, dtype=torch.bfloat16, requires_grad=True) for t in (tq, tk, tk))
        dout = torch.randn_like(q)
        flops = 4 * samples * heads * tq * tk * size / (2 if causal else 1)
        for by, constant in KERNELS.items():
            backend = getattr(SDPBackend, constant, None)
            if backend is None or by == "math" and max(tq, tk) > MATH_LONGEST:
                continue

            def forward():
                with sdpa_kernel(backend):
                    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

            for suffix, share, call in ("", 1, forward), (", bwd", 2.5, None):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        out = forward()
                        call = call or (lambda out=out: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True))
                        tell(name + suffix, f"{tq} x {tk}", by, seconds_of(torch, args, call), flops=share * flops)
                except (RuntimeError, torch.OutOfMemoryError) as error:
                    tell(name + suffix, f"{tq} x {tk}", by, None, why=str(error).splitlines()[0][:200])


def products(torch, args, device):
    for name, rows, inputs, outputs in PRODUCTS:
        if args.tiny:
            rows, inputs, outputs = 16, 16, 16
        x, w = (torch.randn(n, inputs, device=device, dtype=torch.bfloat16) for n in (rows, outputs))
        tell(f"gemm {name}", f"{rows} x {inputs} x {outputs}", "cuBLAS", seconds_of(torch, args, lambda x=x, w=w: x @ w.T),
             flops=2 * rows * inputs * outputs)


def copies(torch, args, device):
    n = 1 << 16 if args.tiny else COPIED
    host = torch.empty(n, dtype=torch.uint8, pin_memory=not args.tiny)
    there, other = (torch.zeros(n, dtype=torch.uint8, device=device) for _ in range(2))
    for name, to, source, times in ("copy within the GPU", there, other, 2), ("copy to the GPU", there, host, 1), ("copy from the GPU", host, there, 1):
        tell(name, f"{n >> 10} KiB", "copy", seconds_of(torch, args, lambda to=to, source=source: to.copy_(source, non_blocking=True)), moved=times * n)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--tiny", action="store_true", help="small, on the CPU")
    args = parser.parse_args()
    import torch

    device = "cpu" if args.tiny else "cuda"
    for part in copies, products, attention:
        part(torch, args, device)


if __name__ == "__main__":
    sys.exit(main())
