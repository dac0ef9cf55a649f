#!/usr/bin/env python3
"""Writes tests/parity/lora: tiny random models with an adapter of PEFT (LoRA), and what they compute.

    HF_HUB_OFFLINE=1 tools/make-parity-lora.py tests/parity/lora     with transformers 4 and peft
    HF_HUB_OFFLINE=1 tools/make-parity-lora.py tests/parity/lora embeddings
The stored files were made with peft 0.21.2, transformers 4.57.6, torch 2.15.0. Needed by no build and no test: the
fixtures are in the repository.

A fixture is the folder that PeftModel.save_pretrained writes, the model that it belongs to in the folder base, a batch
and expected.safetensors: in double precision, rounded to f32, "logits", "loss", and "grad.NAME" for every trained
tensor, NAME as in adapter_model.safetensors. Names of classes and samples are those of make-parity-heads.py.

gpt2-wte and t5-shared (transformers 5.24.0) have an embedding of their own, which the base model ties to its logits: an
adapter of the base model of gpt2 or t5, and scored.json: ids and the log probability of the target.
"""

import importlib.util
import json
import pathlib
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "bench" / "peers"))
import parity_families
from torch_models import double_precision


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


parity, heads = load("make-parity"), load("make-parity-heads")
T5 = dict(kind="T5", seed=40, lengths=[(13, 9), (5, 14)], vocab_size=67, d_model=16, d_kv=6, d_ff=26, num_heads=3,
          num_layers=2, num_decoder_layers=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
          relative_attention_num_buckets=8, relative_attention_max_distance=20)

# r, lora_alpha, what is adapted
FIXTURES = {
    "t5": dict(r=3, lora_alpha=7, target_modules=["q", "v", "wi_1", "wo", "o"], task_type="SEQ_2_SEQ_LM"),
    "gpt2": dict(r=4, lora_alpha=16, target_modules=["c_attn", "c_proj"], task_type="CAUSAL_LM", fan_in_fan_out=True),
    "llama": dict(r=2, lora_alpha=4, target_modules="all-linear", task_type="CAUSAL_LM", use_rslora=True),
    "bert-sequence": dict(r=3, lora_alpha=6, target_modules=["query", "value", "intermediate.dense"],
                          task_type="SEQ_CLS"),
    "modernbert-tokens": dict(r=3, lora_alpha=6, target_modules=["Wqkv", "Wi"], task_type="TOKEN_CLS"),
}
SEEDS = {name: 400 + i for i, name in enumerate(FIXTURES)}


def build(name):
    seed = SEEDS[name]
    if name == "t5":
        model = parity.class_of(T5, "ForConditionalGeneration")(parity.config_of(T5))
        parity.randomize(model, T5)
        return model, parity.samples_of(T5)
    if name in parity_families.FAMILIES:
        row = parity_families.FAMILIES[name]
        model = parity_families.build(row)
        parity_families.randomize(model, seed)
        return model, parity_families.samples_of(row)
    model = heads.build(*name.split("-"))
    heads.randomize(model, seed)
    return model, heads.samples_of(name.split("-")[1], seed)


def outputs(name, model, samples):
    """The logits on whose rows loss falls, and the loss."""
    if name == "t5":
        inputs, mask, labels = parity.padded(samples)
        out = model(input_ids=inputs, attention_mask=mask, labels=labels)
        return out.logits[labels != -100], out.loss
    if name in parity_families.FAMILIES:
        batch = parity_families.batch_of(samples)
        out = model(**batch)
        labels = torch.cat([batch["labels"][:, 1:], torch.full((len(samples), 1), -100)], dim=1)
        return out.logits[labels != -100], out.loss
    family, head = name.split("-")
    batch = heads.batch_of(family, head, samples)
    out = model(**batch)
    return heads.logits_of(out, head, batch["attention_mask"] == 1), out.loss


def stored_name(name):
    """Of a parameter in adapter_model.safetensors."""
    return name.replace(".modules_to_save.default", "").replace(".default", "")


def compute(name, model, samples):
    model.eval()
    model.zero_grad()
    logits, loss = outputs(name, model, samples)
    loss.backward()
    values = {"logits": logits, "loss": loss.reshape(1)}
    values |= {"grad." + stored_name(key): p.grad for key, p in model.named_parameters() if p.requires_grad}
    return {key: value.detach().double().contiguous().clone() for key, value in values.items()}


def adapt(model, settings, seed):
    """Adapters of random values: PEFT starts with a product of zero."""
    model = peft.get_peft_model(model, peft.LoraConfig(**settings))
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.3 * parameter.shape[1] ** -0.5 * torch.randn(parameter.shape, generator=random))
    return model


def embeddings(out):
    for name, base, cls, module, target in (("gpt2-wte", "gpt2", transformers.GPT2LMHeadModel, "wte", "c_attn"),
                                            ("t5-shared", "t5", transformers.T5ForConditionalGeneration, "shared", "q")):
        folder, ids, answer = out / name, [5, 6, 7, 8], [11, 12, 13]
        config = peft.LoraConfig(r=2, target_modules=[target], modules_to_save=[module], fan_in_fan_out=base == "gpt2")
        model = peft.get_peft_model(cls.from_pretrained(out / base / "base", dtype=torch.float32), config).eval()
        random = torch.Generator().manual_seed(8)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter += 0.1 * torch.randn(parameter.shape, generator=random)
            if base == "gpt2":
                logits = model(input_ids=torch.tensor([ids + answer])).logits[0, len(ids) - 1:-1]
            else:
                logits = model(input_ids=torch.tensor([ids]), labels=torch.tensor([answer])).logits[0]
        model.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)
        settings = json.loads((folder / "adapter_config.json").read_text()) | {"base_model_name_or_path": f"../{base}/base"}
        (folder / "adapter_config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
        logprob = torch.log_softmax(logits.double(), -1).gather(1, torch.tensor(answer)[:, None]).sum().item()
        (folder / "scored.json").write_text(json.dumps({"input": ids, "target": answer, "logprob": logprob}) + "\n")


def main():
    out = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    if sys.argv[2:] == ["embeddings"]:
        return embeddings(out)
    for name, settings in FIXTURES.items():
        folder = out / name
        base, samples = build(name)
        base.save_pretrained(folder / "base")
        model = adapt(base, settings, SEEDS[name])
        model.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)
        config = json.loads((folder / "adapter_config.json").read_text()) | {"base_model_name_or_path": "base"}
        (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        (folder / "batch.json").write_text(json.dumps({"samples": samples}) + "\n")
        in_f32 = compute(name, model, samples)
        with double_precision():
            truth = compute(name, parity_families.in_double(model), samples)
        print(name, "f32 of PEFT against double:", heads.worst(in_f32, truth))
        save_file({key: value.float() for key, value in truth.items()} | {"loss": truth["loss"]},
                  folder / "expected.safetensors", metadata={"peft": peft.__version__})


if __name__ == "__main__":
    main()
