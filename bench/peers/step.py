#!/usr/bin/env python3
"""Tokens per second of a whole training step (forward, backward, clip, AdamW) of the same model on the same machine:
PyTorch eager, PyTorch compiled, and loam, in turns in one run.

    bench/peers/step.py [--model t5|bert|gpt2] [--dtype f32|bf16] [--loam build/loam] [--rounds 2] [--steps 5]

T5-1.1-small with 4 samples of 512/114 tokens, BERT-base with 4 of 512, GPT-2 (124 M) with 2 of 1,024. PyTorch has its
fastest attention (sdpa, where the model knows it) and the fused optimizer; samples are of full length, so that it pays for no
padding. Tokens are those of the encoder, or of a decoder alone, as loam counts them. bf16 is autocast in PyTorch. A peer that
fails is named, and the others go on. Needs torch and transformers (4 or 5), and a C++ compiler for the compiled variant.
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


def random_ids(vocab, rows, n):
    return torch.randint(5, vocab, (rows, n))


def t5(samples, n):
    config = transformers.T5Config(vocab_size=32128, d_model=512, d_kv=64, d_ff=1024, num_heads=6, num_layers=8,
                                   num_decoder_layers=8, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
                                   dropout_rate=0.0, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    model = transformers.T5ForConditionalGeneration(config)
    if model.lm_head.weight is model.shared.weight:  # transformers 5 ties whatever it builds
        model.lm_head.weight = torch.nn.Parameter(model.shared.weight.detach().clone())
    return model, dict(input_ids=random_ids(32000, samples, n), labels=random_ids(32000, samples, 114))


def bert(samples, n):
    config = transformers.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                     attn_implementation="sdpa")
    ids = random_ids(30522, samples, n)
    masked = torch.rand(ids.shape) < 0.15
    return transformers.BertForMaskedLM(config), dict(input_ids=ids, labels=torch.where(masked, ids, -100))


def gpt2(samples, n):
    config = transformers.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="sdpa")
    ids = random_ids(50257, samples, n)
    return transformers.GPT2LMHeadModel(config), dict(input_ids=ids, labels=ids)


# Model: how PyTorch builds it and its batch; samples of a step; tokens of a sample; loam's configuration and options.
MODELS = {
    "t5": (t5, 4, 512, "configs/t5-1.1-small.yaml", ["data.input_length=512"]),
    "bert": (bert, 4, 512, "configs/bert-base.yaml", ["data.input_length=512", "model.vocab=30522"]),
    "gpt2": (gpt2, 2, 1024, "configs/gpt2.yaml", ["data.input_length=1024", "model.vocab=50257"]),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="t5", choices=list(MODELS))
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--rounds", type=int, default=2, help="turns of all peers; the median counts")
    parser.add_argument("--steps", type=int, default=5, help="timed steps of a turn; the median counts")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"], help="bf16: autocast")
    parser.add_argument("--peers", default="eager,compiled,loam")
    return parser.parse_args()


class Torch:
    """A model that PyTorch trains, eager or compiled."""

    def __init__(self, args, compiled):
        torch.manual_seed(0)
        build, self.samples, self.tokens, _, _ = MODELS[args.model]
        self.args = args
        self.model, self.batch = build(self.samples, self.tokens)
        self.model.train()
        self.runner = torch.compile(self.model) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        for _ in range(2):
            self.step()

    def step(self):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.args.dtype == "bf16"):
            loss = self.runner(**self.batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return time.perf_counter() - start

    def rate(self):
        return self.samples * self.tokens / statistics.median(self.step() for _ in range(self.args.steps))


class Loam:
    """bench step prints one JSON object with tokens_per_s."""

    def __init__(self, args):
        _, samples, _, config, options = MODELS[args.model]
        self.words = [args.loam, "bench", "step", config, "--seconds", "10", "--json", f"train.micro_batch={samples} samples",
                      f"train.batch={samples} samples", "model.dropout=0", f"train.precision={args.dtype}",
                      f"train.threads={args.threads}", "optim.name=adamw", *options]

    def rate(self):
        printed = subprocess.run(self.words, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.last = json.loads(printed.splitlines()[-1])
        return self.last["tokens_per_s"]


PEERS = {"eager": lambda args: Torch(args, False), "compiled": lambda args: Torch(args, True), "loam": Loam}


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    opened, rates = {}, {}
    for turn in range(args.rounds):
        for peer in args.peers.split(","):
            try:
                opened[peer] = opened.get(peer) or PEERS[peer](args)
                rates.setdefault(peer, []).append(opened[peer].rate())
            except Exception as error:  # whatever a peer fails with
                print(f"{peer} failed: {str(error).splitlines()[0][:160]}", flush=True)
    for peer, found in rates.items():
        print(f"{peer:9s} {statistics.median(found):8.0f} tokens/s  ({', '.join(f'{rate:.0f}' for rate in found)})")
    for peer in [peer for peer in rates if peer != "loam" and "loam" in rates]:
        print(f"loam is {statistics.median(rates['loam']) / statistics.median(rates[peer]):.2f} x {peer}")
    if "loam" in rates:
        last = opened["loam"].last
        print(f"loam: {last['isa']}, {100 * last['share_of_peak']:.0f} % of {last['peak_flops_per_s'] / 1e9:.0f} GFLOP/s")
    _, samples, tokens, _, _ = MODELS[args.model]
    print(f"{args.model}, {samples} x {tokens}, {args.dtype}, {args.threads} threads, torch {torch.__version__}, "
          f"transformers {transformers.__version__}", file=sys.stderr)


if __name__ == "__main__":
    main()
