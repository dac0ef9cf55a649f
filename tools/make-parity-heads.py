#!/usr/bin/env python3
"""Writes tests/parity/heads: tiny random encoders with the classifiers of Hugging Face, and what they compute.

    HF_HUB_OFFLINE=1 tools/make-parity-heads.py tests/parity/heads     with transformers 4: writes everything
    HF_HUB_OFFLINE=1 tools/make-parity-heads.py tests/parity/heads     with transformers 5: compares with the above
With names (t5-span bert-tokens …) only those are made. The stored files were made with transformers 4.57.6 and compared with 5.23.0, torch 2.15.0. Needed by no build and no
test: the fixtures are in the repository.

expected.safetensors holds the truth in double precision, rounded to f32: "logits" (of each sequence, or of each token,
sequence after sequence), "loss", and "grad.NAME" for every parameter that has a gradient. Samples are sequences with
their token types; several sequences are the choices of a question.
"""

import json
import pathlib
import sys

import numpy
import torch
import transformers
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench" / "peers"))
from parity_families import in_double, randomize
from torch_models import double_precision

GENERATION = int(transformers.__version__.split(".")[0])

BERT = dict(vocab_size=53, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=22,
            max_position_embeddings=40, type_vocab_size=2, pad_token_id=0)
ROBERTA = BERT | dict(max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)
MODERN = dict(vocab_size=53, hidden_size=12, intermediate_size=18, num_hidden_layers=2, num_attention_heads=3,
              max_position_embeddings=40, global_attn_every_n_layers=2, local_attention=4, pad_token_id=0,
              bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, reference_compile=False,
              classifier_pooling="cls", classifier_activation="silu")
T5 = dict(vocab_size=53, d_model=12, d_kv=5, d_ff=22, num_heads=3, num_layers=2, feed_forward_proj="gated-gelu",
          relative_attention_num_buckets=8, relative_attention_max_distance=20, pad_token_id=0, eos_token_id=1,
          decoder_start_token_id=0, tie_word_embeddings=False, is_encoder_decoder=False)
FAMILIES = {"bert": ("Bert", BERT), "roberta": ("Roberta", ROBERTA), "modernbert": ("ModernBert", MODERN), "t5": ("T5", T5)}
HEADS = {"sequence": "ForSequenceClassification", "value": "ForSequenceClassification",
         "tokens": "ForTokenClassification", "span": "ForQuestionAnswering", "choice": "ForMultipleChoice"}
NAMES = ["negative", "so so", "positive"]


def build(family, head):
    kind, settings = FAMILIES[family]
    if family == "t5" and head != "tokens":
        settings = settings | dict(is_encoder_decoder=True, num_decoder_layers=1)
    if head in ("sequence", "tokens"):
        settings = settings | dict(id2label=dict(enumerate(NAMES)), label2id={n: i for i, n in enumerate(NAMES)})
    if head == "value":
        settings = settings | dict(num_labels=1)
    attention = {} if family == "t5" else {"attn_implementation": "sdpa"}
    config = getattr(transformers, kind + "Config")(**settings, **attention)
    return getattr(transformers, kind + HEADS[head])(config)


def sequence(random, n):
    second = int(random.integers(1, n))
    return {"input_ids": random.integers(3, 53, n).tolist(), "segments": [int(i >= second) for i in range(n)]}


def samples_of(head, seed, end=None):
    """end: id of the last token of every sequence; None: any."""
    random = numpy.random.default_rng(seed)
    samples = []
    for lengths in ([[17, 9, 4], [21, 3, 12], [2, 30, 8]] if head == "choice" else [[23], [5], [34], [9]]):
        sample = {"sequences": [sequence(random, n) for n in lengths]}
        n = lengths[0]
        if end is not None:
            sample["sequences"][0]["input_ids"][-1] = end
        if head in ("sequence", "choice"):
            sample["label"] = int(random.integers(0, 3))
        if head == "value":
            sample["value"] = round(float(random.normal()), 3)
        if head == "tokens":
            sample["labels"] = [int(random.integers(0, 3)) if random.random() < 0.4 else -100 for _ in range(n)]
        if head == "span":
            sample["label"], sample["label_end"] = sorted(random.integers(0, n, 2).tolist())
        samples.append(sample)
    return samples


def batch_of(family, head, samples):
    rows = [s for sample in samples for s in sample["sequences"]]
    longest = max(len(row["input_ids"]) for row in rows)
    pad = FAMILIES[family][1]["pad_token_id"]
    fill = lambda values, value: values + [value] * (longest - len(values))
    batch = {"input_ids": torch.tensor([fill(row["input_ids"], pad) for row in rows]),
             "attention_mask": torch.tensor([fill([1] * len(row["input_ids"]), 0) for row in rows])}
    if family == "bert":
        batch["token_type_ids"] = torch.tensor([fill(row["segments"], 0) for row in rows])
    if head == "choice":
        batch = {name: value.reshape(len(samples), -1, longest) for name, value in batch.items()}
    if head in ("sequence", "choice"):
        batch["labels"] = torch.tensor([sample["label"] for sample in samples])
    if head == "value":
        batch["labels"] = torch.tensor([sample["value"] for sample in samples], dtype=torch.get_default_dtype())
    if head == "tokens":
        batch["labels"] = torch.tensor([fill(sample["labels"], -100) for sample in samples])
    if head == "span":
        batch["start_positions"] = torch.tensor([sample["label"] for sample in samples])
        batch["end_positions"] = torch.tensor([sample["label_end"] for sample in samples])
    return batch


def logits_of(out, head, seen):
    if head == "span":
        return torch.stack([out.start_logits[seen], out.end_logits[seen]], dim=-1)
    return out.logits[seen] if head == "tokens" else out.logits.reshape(-1, 1) if head == "choice" else out.logits


def compute(model, family, head, samples):
    """A sample at a time for spans: in a padded batch the softmax of transformers runs over the padding too."""
    model.eval()
    model.zero_grad()
    logits, losses = [], []
    for part in [[sample] for sample in samples] if head == "span" else [samples]:
        batch = batch_of(family, head, part)
        out = model(**batch)
        logits.append(logits_of(out, head, batch["attention_mask"] == 1))
        losses.append(out.loss)
    loss = torch.stack(losses).mean()
    loss.backward()
    values = {"logits": torch.cat(logits), "loss": loss.reshape(1)}
    values |= {"grad." + name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {name: value.detach().double().contiguous().clone() for name, value in values.items()}


def worst(values, truth):
    return max(((values[name] - truth[name]).norm() / truth[name].norm().clamp_min(1e-2)).item() for name in truth)


def main():
    out = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    cases = [(f, h) for f in FAMILIES for h in HEADS if f != "t5"]
    cases += [("t5", h) for h in ("tokens", "sequence", "value", "span")]
    for seed, (family, head) in enumerate(cases):
        if sys.argv[2:] and f"{family}-{head}" not in sys.argv[2:]:
            continue
        folder = out / f"{family}-{head}"
        if GENERATION == 5:
            model, told = getattr(transformers, FAMILIES[family][0] + HEADS[head]).from_pretrained(
                folder, output_loading_info=True)
            assert not told["missing_keys"] and not told["unexpected_keys"], told
            samples = json.loads((folder / "batch.json").read_text())["samples"]
            truth = {name: value.double() for name, value in load_file(folder / "expected.safetensors").items()}
            print(folder.name, "f32 of transformers 5 against double:", worst(compute(model, family, head, samples), truth))
            continue
        end = 1 if family == "t5" and head != "tokens" else None
        model, samples = build(family, head), samples_of(head, 100 + seed, end)
        randomize(model, 100 + seed)
        model.save_pretrained(folder)
        (folder / "batch.json").write_text(json.dumps({"samples": samples}) + "\n")
        in_f32 = compute(model, family, head, samples)
        with double_precision():
            truth = compute(in_double(model), family, head, samples)
        print(folder.name, "f32 of transformers 4 against double:", worst(in_f32, truth))
        save_file({name: value.float() for name, value in truth.items()} | {"loss": truth["loss"]},
                  folder / "expected.safetensors", metadata={"transformers": transformers.__version__})


if __name__ == "__main__":
    main()
