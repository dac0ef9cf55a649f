#!/usr/bin/env python3
"""Writes tests/parity: tiny random models as Hugging Face saves them, and what they compute. T5, mT5 and umT5
are here, the other families are in parity_families.py.

Run twice, since the two generations of transformers write different folders and do not live in one environment:
    HF_HUB_OFFLINE=1 tools/make-parity.py tests/parity     with transformers 4: everything but *-tf5
    HF_HUB_OFFLINE=1 tools/make-parity.py tests/parity     with transformers 5: *-tf5, checked against the above
With names (gpt2 bert …) only those are made.
The stored files were made with transformers 4.57.6 (huggingface_hub 0.36.2) and 5.23.0 (2.4.0), torch 2.15.0,
numpy 2.4.6, safetensors 0.8.0. Needed by no build and no test: the fixtures are in the repository.

expected.safetensors holds the truth in double precision, rounded to f32: "logits" (rows of the target tokens, sample
after sample; V), "loss" (mean cross-entropy over target tokens) and "grad.NAME" for every parameter. Its metadata
says how far Hugging Face's own f32 is from it. encoded.safetensors, where there is an encoder, is what the bare encoder
makes of the same inputs.
"""

import json
import math
import pathlib
import sys

import numpy
import torch
import transformers
from safetensors.torch import load_file, save_file

import parity_families

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench" / "peers"))
from torch_models import double_precision

GENERATION = int(transformers.__version__.split(".")[0])

# Sizes that divide by nothing convenient; "kind" is T5 where it is not given. The first has T5's buckets and a sample longer than their reach, the second
# few buckets that samples outgrow quickly.
MODELS = {
    "t5-v1.0": dict(
        seed=10, lengths=[(150, 11), (7, 23), (1, 1)], vocab_size=101, d_model=24, d_kv=20, d_ff=40, num_heads=3,
        num_layers=2, num_decoder_layers=3, feed_forward_proj="relu", tie_word_embeddings=True,
        relative_attention_num_buckets=32, relative_attention_max_distance=128),
    "t5-v1.1": dict(
        seed=11, lengths=[(13, 29), (31, 6)], vocab_size=107, d_model=26, d_kv=12, d_ff=34, num_heads=5,
        num_layers=3, num_decoder_layers=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
        relative_attention_num_buckets=8, relative_attention_max_distance=20),
    "mt5": dict(
        kind="MT5", seed=12, lengths=[(9, 17), (27, 5)], vocab_size=103, d_model=22, d_kv=10, d_ff=30, num_heads=3,
        num_layers=2, num_decoder_layers=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
        relative_attention_num_buckets=8, relative_attention_max_distance=20),
    "umt5": dict(
        kind="UMT5", seed=13, lengths=[(33, 12), (4, 19), (1, 2)], vocab_size=97, d_model=18, d_kv=8, d_ff=26,
        num_heads=3, num_layers=3, num_decoder_layers=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
        relative_attention_num_buckets=8, relative_attention_max_distance=20),
}


def class_of(settings, what):
    return getattr(transformers, settings.get("kind", "T5") + what)


def config_of(settings):
    names = {key: value for key, value in settings.items() if key not in ("kind", "seed", "lengths")}
    return class_of(settings, "Config")(**names, dropout_rate=0.1, layer_norm_epsilon=1e-6, pad_token_id=0,
                                        eos_token_id=1, decoder_start_token_id=0)


def randomize(model, settings):
    """Weights larger than the default initialization, so that attention is far from uniform."""
    random = torch.Generator().manual_seed(settings["seed"])
    width, inner = settings["d_model"], settings["num_heads"] * settings["d_kv"]
    scales = {"q": 2 / math.sqrt(width * settings["d_kv"] ** 0.5), "k": 2 / math.sqrt(width * settings["d_kv"] ** 0.5),
              "v": width ** -0.5, "o": inner ** -0.5, "wo": settings["d_ff"] ** -0.5, "lm_head": width ** -0.5,
              "wi": width ** -0.5, "wi_0": width ** -0.5, "wi_1": width ** -0.5, "shared": 1.0,
              "relative_attention_bias": 1.0}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            kind = name.split(".")[-2]
            noise = torch.randn(parameter.shape, generator=random)
            parameter.copy_(1 + 0.2 * noise if "norm" in kind else scales[kind] * noise)


def samples_of(settings):
    random = numpy.random.default_rng(settings["seed"])
    draw = lambda n: [int(i) for i in random.integers(2, settings["vocab_size"], n - 1)] + [1]
    return [{"input_ids": draw(n), "target_ids": draw(m)} for n, m in settings["lengths"]]


def padded(samples):
    rows = lambda key, fill: torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(sample[key]) for sample in samples], batch_first=True, padding_value=fill)
    inputs = rows("input_ids", 0)
    lengths = torch.tensor([len(sample["input_ids"]) for sample in samples])
    mask = (torch.arange(inputs.shape[1])[None, :] < lengths[:, None]).long()
    return inputs, mask, rows("target_ids", -100)


def compute(model, samples):
    inputs, mask, labels = padded(samples)
    model.eval()
    model.zero_grad()
    out = model(input_ids=inputs, attention_mask=mask, labels=labels)
    out.loss.backward()
    values = {"logits": out.logits[labels != -100].detach(), "loss": out.loss.detach().reshape(1)}
    for name, parameter in model.named_parameters():
        values["grad." + name] = parameter.grad.detach()
    return {name: value.double().contiguous().clone() for name, value in values.items()}


def distances(values, truth):
    """Of logits relative to their maximum, of the loss relative, of gradients the worst relative to their norm; one that
    is zero by its nature, such as that of the bias of keys, relative to a hundredth of the largest norm."""
    away = lambda name: (values[name] - truth[name]).abs().max().item()
    least = 1e-2 * max(value.norm() for name, value in truth.items() if name.startswith("grad."))
    return {
        "logits": away("logits") / truth["logits"].abs().max().item(),
        "loss": away("loss") / truth["loss"].abs().item(),
        "grads": max(((values[name] - truth[name]).norm() / max(truth[name].norm(), least)).item()
                     for name in truth if name.startswith("grad.")),
    }


def write_sharded(folder, source):
    """The same model in shards, with what hub files carry besides: aliases of the embedding, a dead bias table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_bytes((source / "config.json").read_bytes())
    tensors = load_file(source / "model.safetensors")
    heads = tensors["decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    tensors["encoder.embed_tokens.weight"] = tensors["shared.weight"].clone()
    tensors["decoder.embed_tokens.weight"] = tensors["shared.weight"].clone()
    tensors["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = torch.zeros_like(heads)
    names, shards, where = sorted(tensors), 3, {}
    for i in range(shards):
        file = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: tensors[name] for name in names[i::shards]}
        where |= {name: file for name in part}
        save_file(part, folder / file, metadata={"format": "pt"})
    index = {"metadata": {"total_size": sum(t.numel() * 4 for t in tensors.values())}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def make_with_4(out, name, settings):
    folder = out / name
    model = class_of(settings, "ForConditionalGeneration")(config_of(settings))
    randomize(model, settings)
    model.save_pretrained(folder)
    samples = samples_of(settings)
    (folder / "batch.json").write_text(json.dumps({"samples": samples}) + "\n")
    in_f32 = compute(model, samples)
    with double_precision():
        truth = compute(model.double(), samples)
    away = distances(in_f32, truth)
    print(name, "f32 of Hugging Face against double:", away)
    stored = {key: value.float() for key, value in truth.items()} | {"loss": truth["loss"]}
    notes = {"transformers": transformers.__version__, "torch": torch.__version__}
    notes |= {f"f32_distance_{key}": f"{value:.2e}" for key, value in away.items()}
    save_file(stored, folder / "expected.safetensors", metadata=notes)
    parity_families.write_encoded(out, name)


def make_with_5(out, name, settings):
    """transformers 5 ties whatever it builds, so a v1.1 is loaded from the folder that 4 wrote."""
    kind = class_of(settings, "ForConditionalGeneration")
    model, told = kind.from_pretrained(out / name, output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"], told
    samples = json.loads((out / name / "batch.json").read_text())["samples"]
    truth = {key: value.double() for key, value in load_file(out / name / "expected.safetensors").items()}
    values = compute(model, samples)
    if settings.get("kind") == "UMT5":
        # 5 multiplies the logits of every umT5 by width^-1/2, which 4 and the published models do to tied ones alone.
        assert torch.allclose(values["logits"] * settings["d_model"] ** 0.5, truth["logits"], atol=1e-4)
        return
    away = distances(values, truth)
    print(name, "f32 of Hugging Face 5 against double:", away)
    assert max(away.values()) < 1e-4
    model.save_pretrained(out / (name + "-tf5"))
    again = kind.from_pretrained(out / (name + "-tf5"))
    assert max(distances(compute(again, samples), truth).values()) < 1e-4


def main():
    out = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    wanted = sys.argv[2:] or [*MODELS, *parity_families.FAMILIES]
    for name, settings in MODELS.items():
        if name in wanted:
            (make_with_4 if GENERATION == 4 else make_with_5)(out, name, settings)
    for name, row in parity_families.FAMILIES.items():
        if name in wanted:
            first = row.get("made_with", 4)
            if GENERATION == first:
                parity_families.make_all(out, name, row, distances)
            elif GENERATION > first:
                parity_families.make_with_5(out, name, row, distances)
    if GENERATION == 4 and "t5-v1.1" in wanted:
        write_sharded(out / "t5-v1.1-sharded", out / "t5-v1.1")


if __name__ == "__main__":
    main()
