#!/usr/bin/env python3
"""Every kind of tokenizer that loam trains, for every family: does transformers load, pad, pair and fill what is exported?

Usage: python bench/peers/families.py build/loam TEXT.txt   (a text of some hundred kilobytes)

A tiny model of each family is trained for a step with a tokenizer made for it, and exported. Then AutoTokenizer gives the ids
that loam gives, AutoModel loads and runs on padded texts and pairs, padding changes no logit of an encoder, and the fill-mask
pipeline answers. Tokenizers of another family are tried too. Prints a line a model; the exit status is 1 if any failed.
"""
import os
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

SMALL = "model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 "
ENCODER = SMALL + "model.n_enc=1 model.n_dec=0 data.objective=mlm model.max_positions=80 "
DECODER = SMALL + "model.n_enc=0 model.n_dec=1 data.objective=clm "
MODELS = {
    "bert": ENCODER + "model.preset=bert-base data.sentence_pairs=next",
    "roberta": ENCODER + "model.preset=roberta-base",
    "t5": SMALL + "model.n_enc=1 model.n_dec=1",
    "gpt": DECODER + "model.preset=gpt2 model.max_positions=80",
    "llama": DECODER + "model.preset=tinyllama-1.1b model.kv_heads=1",
}
KINDS = ["byte-bpe", "wordpiece", "sentencepiece-unigram", "sentencepiece-bpe"]
FAMILIES = ["bert", "roberta", "t5", "gpt"]
OTHERS = [("byte-bpe", "gpt", "bert"), ("byte-bpe", "gpt", "roberta"), ("byte-bpe", "gpt", "t5"), ("byte-bpe", "gpt", "llama"),
          ("sentencepiece-unigram", "t5", "bert"), ("wordpiece", "bert", "roberta"), ("byte-bpe", "roberta", "bert")]
TEXTS = ["Call me Ishmael.", "The whale, the white whale was seen again by the ship's mate; naïve 123!"]


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def export(loam, work, text, tokenizer, family):
    """The folder of a model of the family, trained for a step with the tokenizer."""
    name = f"{os.path.basename(tokenizer)}-{family}"
    data, made, out = (os.path.join(work, part + name) for part in ("data-", "run-", "hf-"))
    run(loam, "prepare", "--tokenizer", tokenizer, "--out", data, text)
    run(loam, "train", os.devnull, f"tokenizer.path={tokenizer}", f"data.train={data}", f"run.dir={made}", "data.input_length=64",
        "train.batch=2 samples", "train.micro_batch=2 samples", "train.length=1 steps", "model.vocab=auto", "optim.warmup=0",
        *MODELS[family].split())
    run(loam, "export", made, "--to", "hf", "--out", out)
    return out


def check_tokenizer(loam, tokenizer, tok):
    lines = run(loam, "tokenizer", "encode", "--plain", "--model", tokenizer, input="\n".join(TEXTS) + "\n").splitlines()
    for text, line in zip(TEXTS, lines):
        assert tok(text, add_special_tokens=False)["input_ids"] == [int(i) for i in line.split()], text


def check_model(folder, family, tok):
    AutoModel.from_pretrained(folder)
    form = {"t5": AutoModelForSeq2SeqLM, "gpt": AutoModelForCausalLM, "llama": AutoModelForCausalLM}.get(family, AutoModelForMaskedLM)
    model = form.from_pretrained(folder).eval()
    start = {"decoder_input_ids": torch.zeros(2, 1, dtype=torch.long)} if family == "t5" else {}
    padded = tok(TEXTS, padding=True, return_tensors="pt")
    pairs = tok([("a", "b c d"), ("e f", "g")], padding=True, return_tensors="pt")
    logits = model(**padded, **start).logits
    model(**pairs, **start)
    if form is AutoModelForMaskedLM:
        alone = model(**tok(TEXTS[0], return_tensors="pt")).logits[0]
        assert torch.allclose(alone, logits[0, : len(alone)], atol=1e-4), "padding changes logits"
        assert len(pipeline("fill-mask", model=folder, tokenizer=folder)(f"The white {tok.mask_token} was seen.")) == 5


def main():
    loam, text = (os.path.abspath(path) for path in sys.argv[1:3])
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for kind, made_for, family in [(kind, family, family) for kind in KINDS for family in FAMILIES] + OTHERS:
            tokenizer = os.path.join(work, f"{kind}-for-{made_for}")
            try:
                if not os.path.exists(tokenizer):
                    run(loam, "tokenizer", "train", "--kind", kind, "--for", made_for, "--vocab-size", "1000", "--out", tokenizer, text)
                folder = export(loam, work, text, tokenizer, family)
                tok = AutoTokenizer.from_pretrained(folder)
                check_tokenizer(loam, tokenizer, tok)
                check_model(folder, family, tok)
                shown = " ".join(tok.convert_ids_to_tokens(tok("a", "b")["input_ids"]))
                print(f"ok: {kind} for {made_for}, {family}: {shown}; padding {tok.pad_token}, mask {tok.mask_token}")
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(f"FAIL: {kind} for {made_for}, {family}: {getattr(error, 'stderr', '') or error}")
    print(f"transformers {transformers.__version__}: {failed} failed")
    sys.exit(failed > 0)


main()
