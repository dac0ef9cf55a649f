#!/usr/bin/env python3
"""Tokens per second of a whole training step (forward, backward, clip, AdamW) of the same T5 on the same machine:
PyTorch eager, PyTorch compiled, and loam, one after the other in one run.

    bench/peers/step.py [--config configs/t5-1.1-small.yaml] [--loam build/loam] [--samples 4] [--steps 5]

Samples are of full length, so that PyTorch pays for no padding. Tokens are those of the encoder, as loam counts them.
Needs torch and transformers (4 or 5), and a C++ compiler for the compiled variant.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers

from torch_models import adamw, t5_batch

SMALL = dict(vocab_size=32128, d_model=512, d_kv=64, d_ff=1024, num_heads=6, num_layers=8, num_decoder_layers=8,
             feed_forward_proj="gated-gelu", tie_word_embeddings=False, dropout_rate=0.0, pad_token_id=0,
             eos_token_id=1, decoder_start_token_id=0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/t5-1.1-small.yaml")
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--input-length", type=int, default=512)
    parser.add_argument("--target-length", type=int, default=114)
    parser.add_argument("--steps", type=int, default=5, help="timed steps; the median counts")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"], help="bf16: autocast")
    parser.add_argument("--peers", default="eager,compiled,loam")
    return parser.parse_args()


def step_seconds(args, model, optimizer, batch):
    start = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=args.dtype == "bf16"):
        loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return time.perf_counter() - start


def torch_rate(args, compiled):
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**SMALL))
    if model.lm_head.weight is model.shared.weight:  # transformers 5 ties whatever it builds
        model.lm_head.weight = torch.nn.Parameter(model.shared.weight.detach().clone())
    model.train()
    optimizer = adamw(model, 1e-3, 0.0)
    draw = lambda n: torch.randint(2, 32000, (n,)).tolist()
    batch, _ = t5_batch([{"input_ids": draw(args.input_length), "target_ids": draw(args.target_length)}
                         for _ in range(args.samples)])
    runner = torch.compile(model) if compiled else model
    for _ in range(2):
        step_seconds(args, runner, optimizer, batch)
    seconds = statistics.median(step_seconds(args, runner, optimizer, batch) for _ in range(args.steps))
    return args.samples * args.input_length / seconds


def loam_rate(args):
    """bench step prints one JSON object with tokens_per_s."""
    words = [args.loam, "bench", "step", args.config, "--seconds", 15, "--json", f"train.micro_batch={args.samples} samples",
             f"train.batch={args.samples} samples", f"data.input_length={args.input_length}", "model.dropout=0",
             f"train.precision={args.dtype}", f"train.threads={args.threads}", "optim.name=adamw"]
    printed = subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(printed.splitlines()[-1])["tokens_per_s"]


PEERS = {"eager": lambda args: torch_rate(args, False), "compiled": lambda args: torch_rate(args, True),
         "loam": loam_rate}


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    rates = {}
    for peer in args.peers.split(","):
        rates[peer] = PEERS[peer](args)
        print(f"{peer:9s} {rates[peer]:8.0f} tokens/s", flush=True)
    if "loam" in rates:
        for peer in rates.keys() - {"loam"}:
            print(f"loam is {rates['loam'] / rates[peer]:.2f} x {peer}")
    print(f"T5-1.1-small, {args.samples} x {args.input_length}/{args.target_length}, {args.dtype}, {args.threads} "
          f"threads, torch {torch.__version__}, transformers {transformers.__version__}", file=sys.stderr)


if __name__ == "__main__":
    main()
