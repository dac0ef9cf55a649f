#!/usr/bin/env python3
"""Writes tests/golden/torch: small files of torch.save in all its forms, what they hold as safetensors, and models of
tests/parity as pytorch_model.bin. Needed by no build and no test: the files are in the repository.

    tools/make-torch.py tests/golden/torch

The stored files were made with torch 2.15.0 and safetensors 0.8.0.
"""

import argparse
import collections
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

PARITY = pathlib.Path(__file__).resolve().parent.parent / "tests" / "parity"


def tensors():
    """Every type, and every way in which the elements of a tensor can lie in a storage."""
    base = torch.arange(24, dtype=torch.float32) / 8
    cube = base.reshape(2, 3, 4)
    made = collections.OrderedDict()
    made["f32"] = cube
    made["shared"] = cube  # the same storage again
    made["offset"] = base[5:11]
    made["transposed"] = cube[1].t()
    made["permuted"] = cube.permute(2, 0, 1)
    made["strided"] = base[1::3]
    made["expanded"] = torch.tensor([[1.5], [2.5]]).expand(2, 3)
    made["parameter"] = torch.nn.Parameter(base[:6].reshape(2, 3).clone())
    made["scalar"] = torch.tensor(0.25)
    made["empty"] = torch.zeros(0, 3)
    made["f64"] = torch.tensor([1 / 3, -2.0], dtype=torch.float64)
    made["f16"] = torch.tensor([1 / 3, 65504.0], dtype=torch.float16)
    made["bf16"] = torch.tensor([1 / 3, 3e38], dtype=torch.bfloat16)
    made["i64"] = torch.arange(5).expand(1, -1)
    made["i32"] = torch.tensor([-7], dtype=torch.int32)
    made["i16"] = torch.tensor([-7], dtype=torch.int16)
    made["i8"] = torch.tensor([-7], dtype=torch.int8)
    made["u8"] = torch.tensor([200], dtype=torch.uint8)
    made["bool"] = torch.tensor([True, False])
    made["u16"] = torch.tensor([65535, 1], dtype=torch.uint16)
    return made


def fairseq():
    """The form of a checkpoint of fairseq: a Namespace of options, and objects of classes that no reader has."""
    settings = argparse.Namespace(arch="transformer_lm", decoder_layers=2, decoder_embed_dim=4, dropout=0.1, tied=True,
                                  no_such=None, path=pathlib.PurePosixPath("data"))
    model = collections.OrderedDict([("decoder.version", torch.tensor([3.0])),
                                     ("decoder.embed_tokens.weight", torch.arange(12.0).reshape(3, 4))])
    loop = {"name": "a value that holds itself"}
    loop["self"] = loop
    return {"args": settings, "model": model, "loop": loop, "epochs": [1, 2],
            "optimizer_history": [{"criterion_name": "CrossEntropyCriterion", "num_updates": 3, "lr": 5e-4}],
            "last_optimizer_state": {"state": {0: {"step": 3, "exp_avg": torch.ones(2)}}},
            "others": {"sparse": torch.eye(2).to_sparse(), "set": {1}, "bytes": b"abc", "big": 1 << 80, "real": -0.5}}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    made = tensors()
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in made.items()}, out / "tensors.safetensors")
    torch.save(made, out / "zip.bin")
    torch.save(made, out / "protocol-4.bin", pickle_protocol=4)
    torch.save(made, out / "protocol-5.bin", pickle_protocol=5)
    torch.save(made, out / "older.bin", _use_new_zipfile_serialization=False)
    torch.save(fairseq(), out / "fairseq.pt")
    torch.save(fairseq(), out / "fairseq-older.pt", _use_new_zipfile_serialization=False)

    lm = {}
    for name, tensor in load_file(PARITY / "xglm" / "model.safetensors").items():
        lm[name.replace("model.", "decoder.", 1).replace("lm_head", "decoder.output_projection")] = tensor
    lm["decoder.version"] = torch.tensor([3.0])
    lm["decoder.embed_positions._float_tensor"] = torch.zeros(1)
    options = argparse.Namespace(decoder_attention_heads=5, decoder_normalize_before=True, activation_fn="relu",
                                 dropout=0.1, attention_dropout=0.0, no_scale_embedding=False)
    torch.save({"args": None, "cfg": {"model": options}, "model": lm}, out / "fairseq-lm.pt")

    gpt2 = load_file(PARITY / "gpt2-hub" / "model.safetensors")
    torch.save(gpt2, out / "gpt2-hub.bin", _use_new_zipfile_serialization=False)
    t5 = load_file(PARITY / "umt5" / "model.safetensors")
    t5["encoder.embed_tokens.weight"] = t5["decoder.embed_tokens.weight"] = t5["shared.weight"]
    torch.save({"model_state_dict": t5, "iteration": 3, "optimizer_state_dict": {"state": {0: {"exp_avg": torch.ones(2)}}}},
               out / "umt5.bin")
    bert = load_file(PARITY / "bert-hub" / "model.safetensors")
    weight_map = {}
    for shard in (1, 2):
        name = f"pytorch_model-0000{shard}-of-00002.bin"
        part = {key: bert[key] for i, key in enumerate(bert) if i % 2 == shard - 1}
        weight_map.update({key: name for key in part})
        torch.save(part, out / name)
    (out / "pytorch_model.bin.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map}, indent=1) + "\n")


main()
