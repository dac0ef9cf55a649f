#!/usr/bin/env python3
"""Writes tests/generation: tiny random models as Hugging Face saves them, whose special tokens and generation settings
are not the usual ones, and what transformers' own generate answers from each folder without further arguments.

    HF_HUB_OFFLINE=1 tools/make-generation.py tests/generation

The stored files were made with transformers 5.23.0 and torch 2.15.0. Needed by no build and no test.

answers.jsonl: an object a prompt: "prompt" and "ids", the answer without the id that ended it, "finished" whether one did;
"score" (T5 only), the log-probability of "target" by the training loss.
"""

import json
import pathlib
import sys

import torch
import transformers

MODELS = {
    # Padding 3, and a decoder that starts with another id, which training shifts in as well.
    "t5-start": dict(
        kind="T5", seed=1, generation=dict(max_new_tokens=12), vocab_size=61, d_model=16, d_kv=8, d_ff=24, num_heads=2,
        num_layers=2, num_decoder_layers=2, feed_forward_proj="gated-gelu", pad_token_id=3, eos_token_id=[1, 57],
        decoder_start_token_id=7),
    # A model of chats: several ends, an empty prompt begins with bos.
    "llama-ends": dict(
        kind="Llama", seed=5, generation=dict(max_new_tokens=14, eos_token_id=[2, 47, 36, 51]), vocab_size=61,
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        bos_token_id=5, eos_token_id=2, max_position_embeddings=64),
    # A penalty, which counts the prompt.
    "gpt2-penalty": dict(
        kind="GPT2", seed=3, generation=dict(max_new_tokens=16, repetition_penalty=1.4, no_repeat_ngram_size=0),
        vocab_size=61, n_embd=16, n_layer=2, n_head=2, n_positions=64, bos_token_id=4, eos_token_id=25),
}
CLASSES = {"T5": "T5ForConditionalGeneration", "Llama": "LlamaForCausalLM", "GPT2": "GPT2LMHeadModel"}


def make(name, kind, seed, generation, **settings):
    torch.manual_seed(seed)
    config = getattr(transformers, kind + "Config")(**settings)
    model = getattr(transformers, CLASSES[kind])(config).eval()
    for parameter in model.parameters():  # far from uniform, so that answers differ
        parameter.data.normal_(0, 0.6)
    for key, value in generation.items():
        setattr(model.generation_config, key, value)
    folder = pathlib.Path(sys.argv[1]) / name
    model.save_pretrained(folder)
    model = type(model).from_pretrained(folder).eval()  # with what its files say, and nothing else
    lines = []
    for number in range(8):
        prompt = torch.randint(12, 60, (1, 3 + number)).tolist()[0] + ([1] if kind == "T5" else [])
        if number == 7 and kind != "T5":
            prompt = []
        lines.append(answer(model, kind, prompt))
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@torch.no_grad()
def answer(model, kind, prompt):
    given = dict(input_ids=torch.tensor([prompt])) if prompt else {}
    ids = model.generate(**given, do_sample=model.generation_config.do_sample)[0].tolist()
    ids = ids[1 if kind == "T5" or not prompt else len(prompt):]
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    closed = ids[:-1] if ids and ids[-1] in ends else ids
    line = dict(prompt=prompt, ids=closed, finished=closed != ids)
    if kind == "T5":
        target = [20, 33, 12, 1]
        loss = model(input_ids=torch.tensor([prompt]), labels=torch.tensor([target])).loss.item()
        line.update(target=target, score=-loss * len(target))
    return line


for name, settings in MODELS.items():
    make(name, **settings)
