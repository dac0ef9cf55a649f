#!/usr/bin/env python3
"""Writes tests/golden/ast-t5: a tiny random checkpoint with the names, the options and the f16 of AST-T5's fairseq
checkpoints, and the logits that a plain computation of its architecture gives. Needed by no build and no test.

    tools/make-ast-t5.py tests/golden/ast-t5

The stored files were made with torch 2.15.0. The architecture: post-LN LayerNorm, biases, ReLU, one embedding for
encoder, decoder and logits, a norm after the embedding, learned positions from row 2 on, and in each encoder block a
table of relative positions of its own, whose buckets are exact up to a quarter of them and then grow geometrically.
"""

import argparse
import collections
import json
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file

VOCAB, WIDTH, FFN, HEADS, BLOCKS, POSITIONS, BINS, DISTANCE, SENTINELS = 47, 24, 36, 4, (2, 3), 40, 16, 24, 9


def weights():
    random = torch.Generator().manual_seed(7)
    model = collections.OrderedDict()

    def matrix(name, rows, cols, scale=None):
        model[name] = torch.randn(rows, cols, generator=random) * (scale or 1.3 * cols ** -0.5)

    def linear(name, rows, cols):
        matrix(name + ".weight", rows, cols)
        model[name + ".bias"] = 0.3 * torch.randn(rows, generator=random)

    def norm(name):
        model[name + ".weight"] = 1 + 0.2 * torch.randn(WIDTH, generator=random)
        model[name + ".bias"] = 0.2 * torch.randn(WIDTH, generator=random)

    for stack, blocks in zip(("encoder", "decoder"), BLOCKS):
        model[stack + ".version"] = torch.tensor([3.0])
        if stack == "encoder":
            matrix("encoder.embed_tokens.weight", VOCAB, WIDTH, 0.7)
        else:
            model["decoder.embed_tokens.weight"] = model["encoder.embed_tokens.weight"]
        matrix(stack + ".embed_positions.weight", POSITIONS + 2, WIDTH, 0.7)
        norm(stack + ".layernorm_embedding")
        for i in range(blocks):
            block = f"{stack}.layers.{i}"
            if stack == "encoder":
                matrix(block + ".self_attn_rel_pos.rel_attn_bias.weight", BINS, HEADS, 1.0)
            for kind in ["self_attn"] + ["encoder_attn"] * (stack == "decoder"):
                for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
                    linear(f"{block}.{kind}.{part}", WIDTH, WIDTH)
                norm(f"{block}.{kind}_layer_norm")
            linear(block + ".fc1", FFN, WIDTH)
            linear(block + ".fc2", WIDTH, FFN)
            norm(block + ".final_layer_norm")
    model["decoder.output_projection.weight"] = model["encoder.embed_tokens.weight"]
    half = {id(tensor): tensor.half() for tensor in model.values()}
    return collections.OrderedDict((name, half[id(tensor)]) for name, tensor in model.items())


def bucket(distance):
    """Of key - query."""
    side, n = BINS // 2, abs(distance)
    exact = side // 2
    if n >= exact:
        n = min(side - 1, exact + math.ceil(math.log(n / exact) / math.log((DISTANCE - 1) / exact) * (side - 1 - exact)))
    return side - 1 + (n if distance > 0 else -n)


def norm(w, name, x):
    return torch.nn.functional.layer_norm(x, (WIDTH,), w[name + ".weight"], w[name + ".bias"], 1e-5)


def linear(w, name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def attention(w, name, x, memory, bias):
    heads = lambda t: t.reshape(len(t), HEADS, WIDTH // HEADS).transpose(0, 1)
    q, k, v = (heads(linear(w, f"{name}.{part}_proj", y)) for part, y in (("q", x), ("k", memory), ("v", memory)))
    scores = q @ k.transpose(1, 2) * (WIDTH // HEADS) ** -0.5 + bias
    return linear(w, name + ".out_proj", (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(x), WIDTH))


def stack(w, name, blocks, ids, memory=None):
    n = len(ids)
    x = norm(w, name + ".layernorm_embedding",
             w["encoder.embed_tokens.weight"][ids] + w[name + ".embed_positions.weight"][2:2 + n])
    for i in range(blocks):
        block, bias = f"{name}.layers.{i}", torch.zeros(n, n)
        if memory is None:
            where = torch.tensor([[bucket(key - query) for key in range(n)] for query in range(n)])
            bias = w[block + ".self_attn_rel_pos.rel_attn_bias.weight"][where].permute(2, 0, 1)
        else:
            bias = bias.masked_fill(torch.ones(n, n).triu(1) > 0, -math.inf)
        x = norm(w, block + ".self_attn_layer_norm", x + attention(w, block + ".self_attn", x, x, bias))
        if memory is not None:
            x = norm(w, block + ".encoder_attn_layer_norm", x + attention(w, block + ".encoder_attn", x, memory, 0))
        hidden = linear(w, block + ".fc1", x).relu()
        x = norm(w, block + ".final_layer_norm", x + linear(w, block + ".fc2", hidden))
    return x


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    model = weights()
    options = argparse.Namespace(
        _name="transformer_t5_base_rpe", activation_fn="relu", dropout=0.1, attention_dropout=0.1,
        activation_dropout=0.0, encoder_embed_dim=WIDTH, encoder_ffn_embed_dim=FFN, encoder_layers=BLOCKS[0],
        encoder_attention_heads=HEADS, encoder_normalize_before=False, encoder_learned_pos=True,
        decoder_attention_heads=HEADS, decoder_normalize_before=False, decoder_learned_pos=True,
        share_all_embeddings=True, no_scale_embedding=True, layernorm_embedding=True, encoder_rel_pos=True,
        encoder_rp_bins=BINS, encoder_rp_max_dist=DISTANCE, decoder_rel_pos=False, decoder_rp_bins=32,
        decoder_rp_max_dist=128, max_positions=1280)
    task = argparse.Namespace(_name="t5_mixture", data="data-bin", tokens_per_sample=SENTINELS)
    torch.save({"args": None, "cfg": {"model": options, "task": task}, "model": model, "criterion": None,
                "optimizer_history": [{"num_updates": 3}], "task_state": {},
                "extra_state": {"train_iterator": {"epoch": 1}, "val_loss": None},
                "last_optimizer_state": {"loss_scale": 128.0}}, out / "checkpoint.pt")
    random = torch.Generator().manual_seed(8)
    w = {name: tensor.double() for name, tensor in model.items()}
    samples, logits = [], []
    torch.set_default_dtype(torch.float64)
    for n, m in ((31, 12), (9, 20), (1, 1)):
        ids, targets = (torch.randint(4, VOCAB, (k,), generator=random) for k in (n, m))
        before = torch.cat([torch.tensor([VOCAB - SENTINELS]), targets[:-1]])
        x = stack(w, "decoder", BLOCKS[1], before, stack(w, "encoder", BLOCKS[0], ids))
        samples.append({"input_ids": ids.tolist(), "target_ids": targets.tolist()})
        logits.append(x @ w["decoder.output_projection.weight"].T)
    (out / "batch.json").write_text(json.dumps({"samples": samples}) + "\n")
    save_file({"logits": torch.cat(logits).float()}, out / "expected.safetensors")


main()
