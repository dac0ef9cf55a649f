#!/usr/bin/env python3
"""Tokens per second of a whole training step (forward, backward, clip, AdamW) of the same model on the same machine:
PyTorch eager, PyTorch compiled, and loam, in turns in one run, for three models in two precisions; prints a table.

    bench/peers/step.py [--models t5,bert,gpt2] [--dtypes f32,bf16] [--peers eager,compiled,loam] [--rounds 3] [--steps 3]

T5-1.1-small with 4 samples of 512/114 tokens, BERT-base with 4 of 512, GPT-2 (124 M) with 2 of 1,024. PyTorch has its
fastest attention (sdpa, else eager: said under the table) and the fused optimizer; samples are of full length, so that it pays
for no padding. Tokens are those of the encoder, or of a decoder alone, as loam counts them. bf16 is autocast in PyTorch.
Each PyTorch model lives in a process of its own and waits for its turn; one that fails, or is killed, is named, and the others
go on. Needs torch and transformers (4 or 5), and a C++ compiler for the compiled variant.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

from names import names

# How much PyTorch and loam do; loam's configuration and options.
MODELS = {
    "t5": (4, 512, "configs/t5-1.1-small.yaml", ["data.input_length=512"]),
    "bert": (4, 512, "configs/bert-base.yaml", ["data.input_length=512", "model.vocab=30522"]),
    "gpt2": (2, 1024, "configs/gpt2.yaml", ["data.input_length=1024", "model.vocab=50257"]),
}


# ---- PyTorch, in a process of its own ----

def build(name, samples, n, attention):
    import torch
    import transformers as hf

    def ids(vocab, length):
        return torch.randint(5, vocab, (samples, length))

    if name == "t5":
        config = hf.T5Config(vocab_size=32128, d_model=512, d_kv=64, d_ff=1024, num_heads=6, num_layers=8, num_decoder_layers=8,
                             feed_forward_proj="gated-gelu", tie_word_embeddings=False, dropout_rate=0.0, pad_token_id=0,
                             eos_token_id=1, decoder_start_token_id=0, attn_implementation=attention)
        model = hf.T5ForConditionalGeneration(config)
        if model.lm_head.weight is model.shared.weight:  # transformers 5 ties whatever it builds
            model.lm_head.weight = torch.nn.Parameter(model.shared.weight.detach().clone())
        return model, dict(input_ids=ids(32000, n), labels=ids(32000, 114))
    if name == "bert":
        config = hf.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation=attention)
        given = ids(30522, n)
        return hf.BertForMaskedLM(config), dict(input_ids=given, labels=torch.where(torch.rand(given.shape) < 0.15, given, -100))
    config = hf.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation=attention)
    given = ids(50257, n)
    return hf.GPT2LMHeadModel(config), dict(input_ids=given, labels=given)


class Trained:
    """A model that PyTorch trains, eager or compiled."""

    def __init__(self, name, dtype, peer, threads):
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        samples, tokens, _, _ = MODELS[name]
        self.torch, self.bf16, self.tokens = torch, dtype == "bf16", samples * tokens
        try:
            self.attention = "sdpa"
            self.model, self.batch = build(name, samples, tokens, "sdpa")
        except ValueError:  # this version of the model has none
            self.attention = "eager"
            self.model, self.batch = build(name, samples, tokens, "eager")
        self.model.train()
        self.runner = torch.compile(self.model) if peer == "compiled" else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        for _ in range(2):
            self.step()

    def step(self):
        start = time.perf_counter()
        with self.torch.autocast("cpu", self.torch.bfloat16, enabled=self.bf16):
            loss = self.runner(**self.batch).loss
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return time.perf_counter() - start


def serve(name, dtype, peer, threads):
    """Prints a line of JSON when ready, and the tokens per second of so many steps for each number read."""
    import transformers

    answers = os.fdopen(os.dup(1), "w")  # libraries print what they like: to standard error
    os.dup2(2, 1)
    trained = Trained(name, dtype, peer, threads)
    print(json.dumps({"attention": trained.attention, "torch": trained.torch.__version__, "transformers": transformers.__version__}),
          file=answers, flush=True)
    for line in sys.stdin:
        rate = trained.tokens / statistics.median(trained.step() for _ in range(int(line)))
        print(json.dumps(rate), file=answers, flush=True)


class Torch:
    """That process, from outside."""

    def __init__(self, args, name, dtype, peer):
        self.args, self.log = args, open(os.path.join(args.logs, f"{name}-{dtype}-{peer}.log"), "w+")
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", f"{name},{dtype},{peer}", "--threads", str(args.threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.facts = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.log.seek(0)
        said = [text.strip() for text in self.log.read().splitlines() if text.strip()]
        reasons = [text for text in said if re.match(r"[\w.]*(Error|Exception)\b", text)] or said[-1:] or [f"exit status {status}"]
        raise RuntimeError(f"killed by signal {-status}" if status < 0 else reasons[-1])

    def rate(self):
        self.process.stdin.write(f"{self.args.steps}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ---- loam ----

class Loam:
    """bench step prints one JSON object with tokens_per_s."""

    def __init__(self, args, name, dtype, _):
        samples, _, config, options = MODELS[name]
        self.facts = {}
        self.words = [args.loam, "bench", "step", config, "--seconds", str(args.seconds), "--json", f"train.micro_batch={samples} samples",
                      f"train.batch={samples} samples", "model.dropout=0", f"train.precision={dtype}", f"train.threads={args.threads}",
                      "optim.name=adamw", *options]

    def rate(self):
        ran = subprocess.run(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            raise RuntimeError(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"exit status {ran.returncode}")
        self.facts = json.loads(ran.stdout.splitlines()[-1])
        return self.facts["tokens_per_s"]

    def close(self):
        pass


# ---- turns and table ----

def measure(args, name, dtype, facts):
    """Rates of each peer, in turns; facts collects what they say about themselves."""
    opened, rates, failed = {}, {}, set()
    for turn in range(args.rounds):
        for peer in args.peers:
            if peer in failed:
                continue
            try:
                opened[peer] = opened.get(peer) or (Loam if peer == "loam" else Torch)(args, name, dtype, peer)
                rates.setdefault(peer, []).append(opened[peer].rate())
                facts[name, dtype, peer] = opened[peer].facts
                print(f"{name} {dtype} {peer}, turn {turn + 1}: {rates[peer][-1]:.0f} tokens/s", file=sys.stderr, flush=True)
            except (RuntimeError, OSError, ValueError) as error:
                failed.add(peer)
                print(f"{name} {dtype}: {peer} FAILED: {str(error)[:300]}", file=sys.stderr, flush=True)
    for peer in opened.values():
        peer.close()
    return {peer: None if peer in failed else found for peer, found in rates.items()} | {peer: None for peer in failed}


def cell(found):
    if not found:
        return "failed"
    return f"{statistics.median(found):,.0f}" + (f" ({min(found):,.0f} to {max(found):,.0f})" if len(found) > 1 else "")


def ratio(loam, others):
    others = [statistics.median(found) for found in others if found]
    return f"{statistics.median(loam) / max(others):.2f}" if loam and others else "—"


def print_table(args, rates, facts):
    torches = [peer for peer in args.peers if peer != "loam"]
    print("\n| tokens/s | " + " | ".join(torches) + " | loam | share of its peak | loam / best PyTorch | / best in any precision |")
    print("|---|" + "---|" * (len(torches) + 4))
    for (name, dtype), found in rates.items():
        samples, tokens, _, _ = MODELS[name]
        loam, own = found.get("loam"), facts.get((name, dtype, "loam"))
        anywhere = [rates[name, other].get(peer) for other in args.dtypes if (name, other) in rates for peer in torches]
        share = f"{100 * own['share_of_peak']:.0f} % of {own['peak_flops_per_s'] / 1e9:,.0f} GFLOP/s" if own else "—"
        print(f"| {name}, {samples} x {tokens}, {dtype} | " + " | ".join(cell(found.get(peer)) for peer in torches) +
              f" | {cell(loam)} | {share} | {ratio(loam, [found.get(peer) for peer in torches])} | {ratio(loam, anywhere)} |")
    said = [fact for (_, _, peer), fact in facts.items() if peer in torches]
    isas = sorted({fact["isa"] for (_, _, peer), fact in facts.items() if peer == "loam"})
    eager = sorted({name for (name, _, peer), fact in facts.items() if peer in torches and fact["attention"] == "eager"})
    print(f"\nmedian (least to most) of {args.rounds} turns; {args.threads} threads, {' '.join(isas)}" +
          (f", torch {said[0]['torch']}, transformers {said[0]['transformers']}, attention "
           f"sdpa{', eager for ' + ' '.join(eager) if eager else ''}" if said else "") + time.strftime(", %d %B %Y"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    parser.add_argument("--models", "--model", type=names(list(MODELS)), default=list(MODELS))
    parser.add_argument("--dtypes", "--dtype", type=names(["f32", "bf16"]), default=["f32", "bf16"], help="bf16: autocast in PyTorch")
    parser.add_argument("--peers", type=names(["eager", "compiled", "loam"]), default=["eager", "compiled", "loam"])
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--rounds", type=int, default=3, help="turns of all peers; the median counts")
    parser.add_argument("--steps", type=int, default=3, help="timed steps of PyTorch in a turn; the median counts")
    parser.add_argument("--seconds", type=float, default=10, help="of loam's steps in a turn; the median counts")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--logs", default="/tmp", help="folder for what PyTorch's processes print")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    os.environ["HF_HUB_OFFLINE"] = "1"
    args = arguments()
    if args.serve:
        serve(*args.serve.split(","), args.threads)
        return
    rates, facts = {}, {}
    for name in args.models:
        for dtype in args.dtypes:
            rates[name, dtype] = measure(args, name, dtype, facts)
    print_table(args, rates, facts)


if __name__ == "__main__":
    main()
