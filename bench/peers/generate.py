#!/usr/bin/env python3
"""Tokens per second of text generation by the same model on the same machine: Hugging Face's generate (PyTorch, eager) in f32
and in bf16, and loam in the precision that it chooses for this processor, in turns in one run.

    bench/peers/generate.py [--models t5,gpt2] [--batches 1,16] [--beams 1,4] [--loam build/loam] [--rounds 2]

T5-small and GPT-2 (124 M) of random weights. Every prompt has --input random tokens, every answer exactly --tokens: no token
ends an answer. Beams 1 is greedy decoding. A run is a whole answer, its prompt included; the weights are loaded before (loam
prints how long that takes). Tokens are those of the answers, one for each prompt and step, whatever the number of beams.
Ratios are those of loam to the better of Hugging Face's two. Needs torch and transformers (4 or 5).
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def t5():
    config = transformers.T5Config(vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_heads=8, num_layers=6,
                                   feed_forward_proj="relu", pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    return transformers.T5ForConditionalGeneration(config)


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config())


MODELS = {"t5": t5, "gpt2": gpt2}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="t5,gpt2")
    parser.add_argument("--batches", default="1,16", help="prompts that are answered together")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--dtypes", default="f32,bf16", help="of Hugging Face")
    parser.add_argument("--precisions", default="auto", help="of loam: f32, bf16, auto")
    parser.add_argument("--input", type=int, default=64, help="tokens of a prompt")
    parser.add_argument("--tokens", type=int, default=32, help="tokens of an answer")
    parser.add_argument("--rounds", type=int, default=2, help="turns of all peers; the median counts")
    parser.add_argument("--runs", type=int, default=1, help="timed runs of a turn; the median counts")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--loam", default="build/loam")
    return parser.parse_args()


class HuggingFace:
    def __init__(self, args, folder, dtype):
        self.args = args
        loader = transformers.AutoConfig.from_pretrained(folder).architectures[0]
        self.model = getattr(transformers, loader).from_pretrained(folder, dtype=DTYPES[dtype]).eval()
        self.model.generation_config.eos_token_id = None
        self.model.generation_config.pad_token_id = 0

    def run(self, batch, beams, tokens):
        ids = torch.randint(5, 32000, (batch, self.args.input))
        start = time.perf_counter()
        with torch.inference_mode():
            out = self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False,
                                      num_beams=beams, use_cache=True)
        assert out.shape == (batch, tokens + (1 if self.model.config.is_encoder_decoder else self.args.input))
        return time.perf_counter() - start

    def rate(self, batch, beams):
        self.run(batch, beams, 2)
        seconds = statistics.median(self.run(batch, beams, self.args.tokens) for _ in range(self.args.runs))
        return batch * self.args.tokens / seconds


class Loam:
    """bench generate prints one JSON object with tokens_per_s."""

    def __init__(self, args, folder, dtype):
        self.words = [args.loam, "bench", "generate", "--model", folder, "--precision", dtype, "--input", str(args.input),
                      "--tokens", str(args.tokens), "--runs", str(args.runs), "--threads", str(args.threads), "--json"]

    def rate(self, batch, beams):
        words = [*self.words, "--batch", str(batch), "--beams", str(beams)]
        printed = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        self.last = json.loads(printed.splitlines()[-1])
        return self.last["tokens_per_s"]


def measure(args, peers, batch, beams):
    """The median rate of each peer: {(kind, dtype): tokens/s}."""
    found = {}
    for _, (name, peer) in itertools.product(range(args.rounds), peers.items()):
        try:
            found.setdefault(name, []).append(peer.rate(batch, beams))
        except Exception as error:  # whatever a peer fails with
            print(f"{name} failed: {str(error).splitlines()[0][:160]}", flush=True)
    return {name: statistics.median(rates) for name, rates in found.items() if rates}


def best(rates, kind):
    return max((rate for (found, _), rate in rates.items() if found == kind), default=float("nan"))


def compare(args, model, folder):
    columns = [("hf", dtype) for dtype in args.dtypes.split(",")] + [("loam", name) for name in args.precisions.split(",")]
    peers = {(kind, name): {"hf": HuggingFace, "loam": Loam}[kind](args, folder, name) for kind, name in columns}
    print(f"{model:6s} batch beams " + " ".join(f"{kind + ' ' + name:>10s}" for kind, name in columns) + "   ratio")
    for batch, beams in itertools.product(map(int, args.batches.split(",")), map(int, args.beams.split(","))):
        rates = measure(args, peers, batch, beams)
        row = " ".join(f"{rates.get(name, float('nan')):10.1f}" for name in columns)
        print(f"{'':6s} {batch:5d} {beams:5d} {row}  {best(rates, 'loam') / best(rates, 'hf'):6.2f}", flush=True)
    last = getattr(peers[columns[-1]], "last", None)
    if last:
        print(f"loam: {last['isa']}, {last['precision']}, {last['load_s']:.2f} s to load the weights", flush=True)


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    for model in args.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(0)
            MODELS[model]().save_pretrained(folder)
            compare(args, model, folder)
    print(f"tokens/s, {args.input} tokens in, {args.tokens} out, {args.threads} threads, torch {torch.__version__}, "
          f"transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
