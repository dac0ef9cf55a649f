#!/usr/bin/env python3
"""Tokens per second of a whole training step in bf16 by PyTorch on a GPU, for tools/gpu-trial.

    bench/peers/gpu_step.py t5-small|t5-base|t5-large|gpt2|bert eager|compiled 32,64,128

The numbers are batches, of which the fastest counts; the compiled model is compiled for each alone, the largest first, and the time
ends at the first one that is slower. Samples are of full length, weights f32 under autocast to bf16, attention sdpa where the model has it,
AdamW fused, gradients clipped. Prints one JSON object: tokens_per_s, samples, attention. --tiny CPU shapes prove the script without a GPU."""

import argparse
import json
import statistics
import sys
import time

SHAPES = {  # width, ffn, heads, blocks
    "t5-small": (512, 1024, 6, 8), "t5-base": (768, 2048, 12, 12), "t5-large": (1024, 2816, 16, 24), "t5-tiny": (32, 64, 2, 1)}


def build(name, attention, tiny):
    import torch
    import transformers as hf

    if name.startswith("t5"):
        width, ffn, heads, blocks = SHAPES["t5-tiny" if tiny else name]
        config = hf.T5Config(vocab_size=32128, d_model=width, d_kv=64, d_ff=ffn, num_heads=heads, num_layers=blocks,
                             num_decoder_layers=blocks, feed_forward_proj="gated-gelu", tie_word_embeddings=False, dropout_rate=0.0,
                             pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, attn_implementation=attention)
        model = hf.T5ForConditionalGeneration(config)
        if model.lm_head.weight is model.shared.weight:
            model.lm_head.weight = torch.nn.Parameter(model.shared.weight.detach().clone())
        return model, 512
    small = dict(num_hidden_layers=1) if tiny else {}
    if name == "bert":
        return hf.BertForMaskedLM(hf.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                                attn_implementation=attention, **small)), 512
    small = dict(n_layer=1) if tiny else {}
    return hf.GPT2LMHeadModel(hf.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation=attention, **small)), 1024


def batch_of(name, samples, length, device):
    import torch

    ids = torch.randint(5, 30000, (samples, length), device=device)
    if name.startswith("t5"):
        return dict(input_ids=ids, labels=torch.randint(5, 30000, (samples, 114), device=device))
    if name == "bert":
        return dict(input_ids=ids, labels=torch.where(torch.rand(ids.shape, device=device) < 0.15, ids, -100))
    return dict(input_ids=ids, labels=ids)


def rate(model, runner, optimizer, batch, device, tokens, steps):
    """The median of the steps after two that are not counted."""
    import torch

    def step():
        with torch.autocast(device, torch.bfloat16):
            loss = runner(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()

    times = []
    for _ in range(2 + steps):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return tokens / statistics.median(times[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["t5-small", "t5-base", "t5-large", "gpt2", "bert"])
    parser.add_argument("kind", choices=["eager", "compiled"])
    parser.add_argument("samples", help="batches to try, such as 32,64")
    parser.add_argument("--tiny", action="store_true", help="a small model on the CPU")
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    import torch

    device = "cpu" if args.tiny else "cuda"
    torch.backends.cuda.matmul.allow_tf32 = True
    attention = "sdpa"
    try:
        model, length = build(args.model, "sdpa", args.tiny)
    except ValueError:  # this version of the model has none
        attention = "eager"
        model, length = build(args.model, "eager", args.tiny)
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    runner = torch.compile(model, dynamic=False) if args.kind == "compiled" else model
    best = None
    for samples in sorted((int(text) for text in args.samples.split(",")), reverse=args.kind == "compiled"):
        try:
            found = rate(model, runner, optimizer, batch_of(args.model, samples, length, device), device, samples * length, args.steps)
        except torch.OutOfMemoryError:
            print(f"{samples} samples do not fit", file=sys.stderr)
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            continue
        print(f"{samples} samples: {found:.0f} tokens/s", file=sys.stderr)
        if best and found < best["tokens_per_s"]:
            break
        best = {"tokens_per_s": found, "samples": samples, "attention": attention, "torch": torch.__version__}
    if not best:
        sys.exit("no batch fits")
    print(json.dumps(best))


if __name__ == "__main__":
    main()
