#!/usr/bin/env python3
"""Tokens per second of a whole training step in bf16 by PyTorch on a GPU, for tools/gpu-trial.

    bench/peers/gpu_step.py t5-small|t5-base|t5-large|gpt2|bert eager|compiled 32,64,128

The numbers are batches, of which the fastest counts, rising until one is slower or does not fit; if the first does not fit, its half, and so on.
A model is compiled for the first of them only, or for its half. Samples are of full length, weights f32 under autocast to bf16, attention sdpa where the model has it,
no dropout, AdamW fused, gradients clipped to the norm 1: what `loam bench step` does with optim.name=adamw model.dropout=0. One line of
JSON: tokens_per_s and samples, both null if not even one sample fits, first_s (seconds of the two steps that do not count, in which a model
is compiled), attention, parameters. --tiny is the same work with a small model on the CPU."""

import argparse
import gc
import json
import statistics
import sys
import time

TARGETS = 114  # of T5's 512 tokens
SIZES = {"t5-small": (512, 1024, 6, 64, 8), "t5-base": (768, 2048, 12, 64, 12), "t5-large": (1024, 2816, 16, 64, 24),
         "gpt2": (768, 3072, 12, 64, 12), "bert": (768, 3072, 12, 64, 12)}  # width, ffn, heads, head size, blocks
TINY = (32, 64, 2, 16, 1)
INPUTS = {"gpt2": 1024}  # else 512
VOCABULARIES = {"gpt2": 50257, "bert": 30522}  # else 32128
TINY_VOCABULARY = 200
MASKED = 0.15  # share of BERT's tokens with a loss


def vocabulary(args):
    return TINY_VOCABULARY if args.tiny else VOCABULARIES.get(args.model, 32128)


def build(args, attention):
    import torch
    import transformers as hf

    width, ffn, heads, head_size, blocks = TINY if args.tiny else SIZES[args.model]
    vocab = vocabulary(args)
    if args.model.startswith("t5"):
        config = hf.T5Config(vocab_size=vocab, d_model=width, d_kv=head_size, d_ff=ffn, num_heads=heads, num_layers=blocks,
                             num_decoder_layers=blocks, feed_forward_proj="gated-gelu", tie_word_embeddings=False, dropout_rate=0.0,
                             pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, attn_implementation=attention)
        model = hf.T5ForConditionalGeneration(config)
        if model.lm_head.weight is model.shared.weight:  # transformers 5 ties whatever it builds
            model.lm_head.weight = torch.nn.Parameter(model.shared.weight.detach().clone())
        return model
    if args.model == "bert":
        return hf.BertForMaskedLM(hf.BertConfig(vocab_size=vocab, hidden_size=width, intermediate_size=ffn, num_attention_heads=heads,
                                                num_hidden_layers=blocks, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                                attn_implementation=attention))
    return hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=vocab, n_embd=width, n_inner=ffn, n_head=heads, n_layer=blocks, resid_pdrop=0.0,
                                            embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation=attention))


def build_fastest(args):
    """The model, and its kind of attention."""
    for attention in [args.attention] if args.attention else ["sdpa", "eager"]:
        try:
            return build(args, attention), attention
        except ValueError as error:  # this version of the model has none
            refusal = error
    raise refusal


def batch_of(args, samples, device):
    import torch

    ids = torch.randint(5, vocabulary(args), (samples, args.input), device=device)
    if args.model.startswith("t5"):
        return dict(input_ids=ids, labels=torch.randint(5, vocabulary(args), (samples, args.target), device=device))
    if args.model == "bert":
        return dict(input_ids=ids, labels=torch.where(torch.rand(ids.shape, device=device) < MASKED, ids, -100))
    return dict(input_ids=ids, labels=ids)


def step(model, runner, optimizer, batch, device):
    """Seconds of one update."""
    import torch

    start = time.perf_counter()
    with torch.autocast(device, torch.bfloat16):
        loss = runner(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def rate(args, model, runner, optimizer, samples, device):
    """(input tokens per second, by the median of the steps after two that are not counted; seconds of these two); None where they do not fit."""
    import torch

    try:
        batch = batch_of(args, samples, device)
        seconds = [step(model, runner, optimizer, batch, device) for _ in range(2 + args.steps)]
    except torch.OutOfMemoryError:
        print(f"{samples} samples do not fit", file=sys.stderr)
        seconds = None
    if seconds is None:  # outside of the handler, whose traceback holds the activations
        batch = None
        optimizer.zero_grad(set_to_none=True)
        gc.collect()
        torch.cuda.empty_cache()
        return None
    found = samples * args.input / statistics.median(seconds[2:])
    print(f"{samples} samples: {found:.0f} tokens/s", file=sys.stderr)
    return found, sum(seconds[:2])


def best_of(args, model, runner, optimizer, device):
    """(tokens per second, samples, seconds of its first steps) of the fastest batch; None for each where none fits."""
    left = sorted(int(text) for text in args.samples.split(","))
    left = left[:1] if args.kind == "compiled" else left
    best = None, None, None
    while left:
        samples = left.pop(0)
        found = rate(args, model, runner, optimizer, samples, device)
        if found is None:
            left = [samples // 2] if best[0] is None and samples > 1 else []
        elif best[0] and found[0] < best[0]:
            break
        else:
            best = found[0], samples, found[1]
    return best


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=list(SIZES))
    parser.add_argument("kind", choices=["eager", "compiled"])
    parser.add_argument("samples", help="batches to try, such as 32,64")
    parser.add_argument("--input", type=int, help="tokens of a sample")
    parser.add_argument("--target", type=int, default=TARGETS, help="T5's target tokens of a sample")
    parser.add_argument("--attention", choices=["eager", "sdpa"])
    parser.add_argument("--tiny", action="store_true", help="a small model on the CPU")
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    args.input = args.input or INPUTS.get(args.model, 512)
    return args


def main():
    args = arguments()
    import torch

    torch.set_float32_matmul_precision("high")
    device = "cpu" if args.tiny else "cuda"
    torch.manual_seed(0)
    model, attention = build_fastest(args)
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    runner = torch.compile(model, dynamic=False) if args.kind == "compiled" else model
    found, samples, first = best_of(args, model, runner, optimizer, device)
    print(json.dumps({"kind": args.kind, "tokens_per_s": found, "samples": samples, "first_s": first, "attention": attention,
                      "input_tokens": args.input, "parameters": sum(p.numel() for p in model.parameters()), "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
