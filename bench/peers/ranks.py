#!/usr/bin/env python3
"""Tokens per second of a whole training step on two ranks with one thread each: PyTorch's DistributedDataParallel and fully_shard
(FSDP2) over gloo, and loam's layouts, beside loam on one rank with two threads; in turns in one run; prints a table.

    bench/peers/ranks.py [--models t5,gpt2,t5-base] [--dtypes bf16,f32] [--peers ddp,fsdp,one,zero0,zero1,zero3,tensor,pipeline]
                         [--rounds 3] [--steps 2] [--samples 16] [--micro 2]

Models are those of step.py, and so are batches without --samples: half of the samples on each rank, or of the model, or all of
them in microbatches through a pipeline. t5-base is for loam only. PyTorch's ranks are processes that wait for their turn, loam's
are threads. PyTorch's peers need torch and transformers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from names import names
from step import MODELS, build

# Of loam: options beside those of the model.
LAYOUTS = {
    "one": ["train.threads=2"],
    "zero0": ["train.threads=1", "parallel.ranks=2"],
    "zero1": ["train.threads=1", "parallel.ranks=2", "parallel.zero=1"],
    "zero3": ["train.threads=1", "parallel.ranks=2", "parallel.zero=3"],
    "tensor": ["train.threads=1", "parallel.ranks=2", "parallel.tensor=2"],
    "pipeline": ["train.threads=1", "parallel.ranks=2", "parallel.pipeline=2"],
}
MODELS["t5-base"] = (4, 512, "configs/t5-1.1-small.yaml", ["model.preset=t5-base", "model.vocab=32128", "data.input_length=512"])
RANKS = 2


# ---- a rank of PyTorch, in a process of its own ----

def wrap(model, peer):
    import torch
    if peer == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    from torch.distributed.fsdp import fully_shard
    mesh = torch.distributed.init_device_mesh("cpu", (RANKS,))
    for module in model.modules():
        if type(module).__name__ in ("T5Block", "GPT2Block"):
            fully_shard(module, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def serve(args, name, dtype, peer):
    """Rank 0 prints a line when ready, and the tokens per second of all ranks in so many steps for each number read."""
    answers = os.fdopen(os.dup(1), "w")  # libraries print what they like: to standard error
    os.dup2(2, 1)
    import torch
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{args.store}", rank=args.rank, world_size=RANKS)
    torch.manual_seed(0)
    samples, tokens = args.samples or MODELS[name][0], MODELS[name][1]
    model, batch = build(name, samples // RANKS, tokens, "sdpa" if name != "t5" else "eager")
    model = wrap(model.train(), peer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=peer == "ddp")

    def step():
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return time.perf_counter() - start

    step()
    step()
    torch.distributed.barrier()
    if args.rank == 0:
        print(json.dumps(torch.__version__), file=answers, flush=True)
    while True:
        count = torch.tensor([int((sys.stdin.readline() if args.rank == 0 else "") or 0)])
        torch.distributed.broadcast(count, 0)
        if count == 0:
            break
        rate = samples * tokens / statistics.median(step() for _ in range(int(count)))
        if args.rank == 0:
            print(json.dumps(rate), file=answers, flush=True)


class Torch:
    """Those processes, from outside."""

    def __init__(self, args, name, dtype, peer):
        self.steps, self.folder = args.steps, tempfile.TemporaryDirectory()
        words = [sys.executable, __file__, "--store", os.path.join(self.folder.name, "store"), "--serve", f"{name},{dtype},{peer}",
                 "--samples", str(args.samples)]
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        self.ranks = [subprocess.Popen([*words, "--rank", str(rank)], stdin=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                                       stdout=subprocess.PIPE if rank == 0 else self.log, stderr=self.log, text=True)
                      for rank in range(RANKS)]
        self.answer()

    def answer(self):
        line = self.ranks[0].stdout.readline()
        if line:
            return json.loads(line)
        self.log.seek(0)
        raise RuntimeError((self.log.read().strip().splitlines() or ["PyTorch ended"])[-1])

    def rate(self):
        self.ranks[0].stdin.write(f"{self.steps}\n")
        self.ranks[0].stdin.flush()
        return self.answer()

    def close(self):
        self.ranks[0].stdin.close()
        for rank in self.ranks:
            rank.wait()


# ---- loam ----

class Loam:
    """bench step prints one JSON object with tokens_per_s, of all ranks."""

    def __init__(self, args, name, dtype, peer):
        samples, _, config, options = MODELS[name]
        samples = args.samples or samples
        self.words = [args.loam, "bench", "step", config, "--seconds", str(args.seconds), "--json", f"train.batch={samples} samples",
                      f"train.micro_batch={args.micro or samples} samples", "model.dropout=0", f"train.precision={dtype}", "optim.name=adamw",
                      *options, *LAYOUTS[peer]]

    def rate(self):
        ran = subprocess.run(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            raise RuntimeError((ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1])
        return json.loads(ran.stdout.splitlines()[-1])["tokens_per_s"]

    def close(self):
        pass


def measure(args, name, dtype):
    opened = {peer: (Loam if peer in LAYOUTS else Torch)(args, name, dtype, peer) for peer in args.peers}
    rates = {peer: [] for peer in args.peers}
    for turn in range(args.rounds):
        for peer in args.peers:
            rates[peer].append(opened[peer].rate())
            print(f"{name} {dtype} {peer}, turn {turn + 1}: {rates[peer][-1]:.0f} tokens/s", file=sys.stderr, flush=True)
    for peer in opened.values():
        peer.close()
    return {peer: statistics.median(found) for peer, found in rates.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=names(["t5", "gpt2", "t5-base"]), default=["t5", "gpt2"])
    parser.add_argument("--dtypes", type=names(["bf16", "f32"]), default=["bf16", "f32"])
    parser.add_argument("--peers", type=names(["ddp", "fsdp", *LAYOUTS]), default=["ddp", "fsdp", "one", "zero0", "zero1", "zero3"])
    parser.add_argument("--samples", type=int, default=0, help="samples of a step; 0 means those of step.py")
    parser.add_argument("--micro", type=int, default=0, help="samples of a microbatch of loam; 0 means all samples of a step")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each peer")
    parser.add_argument("--steps", type=int, default=2, help="steps of PyTorch per turn")
    parser.add_argument("--seconds", type=float, default=1.5, help="of loam per turn")
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args, *args.serve.split(","))
    if "t5-base" in args.models and set(args.peers) - set(LAYOUTS):
        parser.error("t5-base has no PyTorch model here: --peers of loam's layouts only")
    print("| tokens/s | " + " | ".join(args.peers) + " |\n|---|" + "---|" * len(args.peers), flush=True)
    for name in args.models:
        for dtype in args.dtypes:
            rates = measure(args, name, dtype)
            print(f"| {name}, {dtype} | " + " | ".join(f"{rates[peer]:,.0f}" for peer in args.peers) + " |", flush=True)


if __name__ == "__main__":
    main()
