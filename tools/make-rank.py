#!/usr/bin/env python3
"""Writes tests/generation/rank-gpt2 and rank-t5: tiny random models of ids of bytes (ByT5's) as Hugging Face saves them, examples
with right answers, and the log-probability that transformers gives to each label as the target of each example.

    HF_HUB_OFFLINE=1 tools/make-rank.py tests/generation

The stored files were made with transformers 5.23.0 and torch 2.15.0. Needed by no build and no test.

ranks.jsonl: an object an example: "input", and for each label in the order of LABELS two sums over its tokens, with and without the
EOS behind it; in "sum", "bytes" and "tokens" the best label by the sum with EOS, by this over the UTF-8 bytes of the label, over
its tokens.
"""

import json
import pathlib
import sys

import torch
import transformers

LABELS = ["bad", "good", "größer", "not at all"]
INPUTS = ["the mill stands by the river", "a", "nothing ever happened here", "Two dogs; one bone.", "no, no, no", "wind and rain",
          "äöü", "what a day it was!", "0 1 2 3 4 5", "lower CASE", "quiet water", "the last line"]
MODELS = {
    "rank-gpt2": ("GPT2", dict(vocab_size=384, n_embd=12, n_layer=2, n_head=2, n_positions=64, bos_token_id=1, eos_token_id=1)),
    "rank-t5": ("T5", dict(vocab_size=384, d_model=8, d_kv=4, d_ff=16, num_heads=2, num_layers=2, num_decoder_layers=2,
                           feed_forward_proj="gated-gelu", pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)),
}
CLASSES = {"T5": "T5ForConditionalGeneration", "GPT2": "GPT2LMHeadModel"}


def ids(text):
    return [byte + 3 for byte in text.encode()]


@torch.no_grad()
def score(model, kind, text, label):
    """Sums with EOS and without, and the number of tokens with EOS."""
    target = ids(label if kind == "T5" else " " + label) + [1]
    if kind == "T5":
        decoder = [0] + target[:-1]
        logits = model(input_ids=torch.tensor([ids(text) + [1]]), decoder_input_ids=torch.tensor([decoder])).logits[0]
    else:
        whole = ids(text) + target
        logits = model(input_ids=torch.tensor([whole[:-1]])).logits[0][len(whole) - 1 - len(target):]
    of_tokens = torch.log_softmax(logits.double(), -1)[torch.arange(len(target)), torch.tensor(target)]
    return of_tokens.sum().item(), of_tokens[:-1].sum().item(), len(target)


def make(name, kind, settings):
    torch.manual_seed(7)
    model = getattr(transformers, CLASSES[kind])(getattr(transformers, kind + "Config")(**settings)).eval()
    for parameter in model.parameters():  # far from uniform, so that choices differ
        parameter.data.normal_(0, 0.7)
    folder = pathlib.Path(sys.argv[1]) / name
    model.save_pretrained(folder)
    lines = []
    for text in INPUTS:
        scores = [score(model, kind, text, label) for label in LABELS]
        best = {"sum": [s[0] for s in scores], "bytes": [s[0] / len(label.encode()) for s, label in zip(scores, LABELS)],
                "tokens": [s[0] / s[2] for s in scores]}
        lines.append({"input": text, "with_eos": [s[0] for s in scores], "without": [s[1] for s in scores],
                      **{how: LABELS[values.index(max(values))] for how, values in best.items()}})
    (folder / "ranks.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    (folder / "examples.tsv").write_text("text\tmark\n" + "".join(f"{text}\t{LABELS[i % 4]}\n" for i, text in enumerate(INPUTS)))


for name, (kind, settings) in MODELS.items():
    make(name, kind, settings)
