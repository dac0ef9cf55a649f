#!/usr/bin/env python3
"""Every kind of tokenizer with every family of models, from a toy run to Hugging Face: `loam export --to hf`, then
AutoTokenizer and AutoModel of the transformers that is installed (4 or 5) open the folder with nothing missing, give the ids
that loam gives, special tokens in the text included, and finite logits.

    bench/peers/exports.py [--loam build/loam] [--tokenizers FOLDER]

FOLDER holds tokenizers to try besides those that are trained here: any file or folder that tokenizer.path takes.
Needs torch and transformers; no network.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch
import transformers

SMALL = ["model.width=32", "model.ffn=64", "model.heads=2", "model.head_dim=16", "model.vocab=auto"]
FAMILIES = {
    "t5": ("AutoModelForSeq2SeqLM", ["model.n_enc=1", "model.n_dec=1"]),
    "bert": ("AutoModelForPreTraining", ["model.preset=bert-base", "model.n_dec=0", "model.n_enc=1",
                                         "model.max_positions=64", "data.objective=mlm"]),
    "modernbert": ("AutoModelForMaskedLM", ["model.preset=modernbert-base", "model.n_dec=0", "model.n_enc=1",
                                            "data.objective=mlm"]),
    "gpt2": ("AutoModelForCausalLM", ["model.preset=gpt2", "model.n_enc=0", "model.n_dec=1", "model.max_positions=64",
                                      "data.objective=clm"]),
    "llama": ("AutoModelForCausalLM", ["model.preset=tinyllama-1.1b", "model.n_enc=0", "model.n_dec=1", "model.kv_heads=1",
                                       "data.objective=clm"]),
}
TEXT = [
    "The quick brown fox jumps over the lazy dog; it's 2026, don't you know?",
    "def f(x):\n    return {'a': [x + 1], \"b\": x ** 2}  # naïve",
    "吾輩は猫である。名前はまだ無い。", "ｆｕｌｌ　ｗｉｄｔｈ ﬁ Łódź ẞ İstanbul", "  two  spaces\tand a tab ",
]
SPECIAL = ["a <extra_id_0> b<extra_id_1>", "x [MASK] y[SEP]", "one</s> two<|endoftext|>three", "<pad><unk> <s>[CLS]"]


def run(*words, **keywords):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def byte_characters():
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = iter(range(256, 512))
    return [chr(b) if b in visible else chr(next(hidden)) for b in range(256)]


def make_tokenizers(work, loam, corpus):
    """One of every kind: name -> what tokenizer.path takes."""
    for kind in "unigram", "bpe":
        run(loam, "tokenizer", "train", "--type", kind, "--vocab-size", 600, "--byte-fallback", "--out", work / f"{kind}.model",
            corpus)
    characters = byte_characters()
    vocab = {c: i for i, c in enumerate(characters)}
    merges = ["t h", "th e", "Ġ the", "i n", "a n", "an d", "Ġ and"]
    for merge in merges:
        vocab[merge.replace(" ", "")] = len(vocab)
    ranks = [[characters.index(c) for c in piece] for piece in vocab]
    vocab["<|endoftext|>"] = len(vocab)
    for name in "vocab-json", "wordpiece", "cased":
        (work / name).mkdir()
    (work / "vocab-json/vocab.json").write_text(json.dumps(vocab, ensure_ascii=False))
    (work / "vocab-json/merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    import base64
    (work / "ranks.tiktoken").write_text(
        "".join(f"{base64.b64encode(bytes(rank)).decode()} {i}\n" for i, rank in enumerate(ranks)))
    pieces = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces, *("##" + p for p in pieces if p.isalnum()), "the", "##ing"]
    (work / "wordpiece/vocab.txt").write_text("\n".join(pieces) + "\n")
    (work / "cased/vocab.txt").write_text("\n".join([*pieces, "The", *map(chr, range(65, 91))]) + "\n")
    return {"bytes": "bytes", "tiktoken": work / "ranks.tiktoken", "unigram": work / "unigram.model", "bpe": work / "bpe.model",
            "vocab-json": work / "vocab-json", "wordpiece": work / "wordpiece", "cased": work / "cased"}


def loam_ids(loam, model, lines):
    printed = run(loam, "tokenizer", "encode", "--model", model, input="\n".join(lines) + "\n")
    return [[int(word) for word in line.split()] for line in printed.split("\n")[:len(lines)]]


def check(loam, work, corpus, name, path, family):
    auto, options = FAMILIES[family]
    here = work / f"{name}-{family}"
    run(loam, "prepare", "--tokenizer", path, "--out", here / "data", corpus)
    (here / "config.yaml").write_text("run: { seed: 1 }\n")
    run(loam, "train", here / "config.yaml", f"run.dir={here}/run", f"tokenizer.path={path}", f"data.train={here}/data",
        "data.input_length=64", "train.length=1 steps", "train.batch=2 samples", *options, *SMALL)
    run(loam, "export", here / "run", "--to", "hf", "--out", here / "hf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(here / "hf")
    lines = [line for text in TEXT for line in text.split("\n")] + SPECIAL
    for model in path, here / "hf":
        ours = loam_ids(loam, here / "run" if model == path else model, lines)
        for line, own, theirs in zip(lines, ours, tokenizer(lines, add_special_tokens=False).input_ids, strict=True):
            if own != theirs:
                return f"{line!r}: loam {own}, {type(tokenizer).__name__} {theirs}"
    model, told = getattr(transformers, auto).from_pretrained(here / "hf", output_loading_info=True)
    left = {key: value for key, value in told.items() if value}
    if left:
        return str(left)
    ids = torch.tensor([tokenizer(TEXT[0]).input_ids[:60]])
    more = {"decoder_input_ids": ids[:, :4]} if family == "t5" else {}
    out = model(input_ids=ids, **more)
    logits = getattr(out, "logits", None)
    logits = out.prediction_logits if logits is None else logits
    if len(tokenizer) > logits.shape[-1] or not torch.isfinite(logits).all():
        return f"{len(tokenizer)} tokens, logits {tuple(logits.shape)}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--tokenizers", type=pathlib.Path)
    args = parser.parse_args()
    print(f"transformers {transformers.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        corpus = work / "corpus.txt"
        pages = sorted(pathlib.Path("docs").glob("*.md"))
        corpus.write_text("\n\n".join([page.read_text() for page in pages] + TEXT))
        kinds = make_tokenizers(work, args.loam, corpus)
        for path in sorted(args.tokenizers.iterdir()) if args.tokenizers else []:
            kinds[path.name] = path
        wrong = 0
        for name, path in kinds.items():
            for family in FAMILIES:
                problem = check(args.loam, work, corpus, name, path, family)
                wrong += problem is not None
                print(f"{name:12} {family:12} {problem or 'opens, same ids'}", flush=True)
        sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
