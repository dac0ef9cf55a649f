#!/usr/bin/env python3
"""Training of byte-level BPE and WordPiece by loam and by Hugging Face's tokenizers: the same documents, in one run.

bench/peers/train_tokenizer.py [--loam PATH] [--vocab-size N] [--threads N] FILE... : FILEs are .jsonl (field "text") or text
whose documents are parted by blank lines. loam's seconds include starting, reading and writing; tokenizers is given the
documents in memory. Its WordPiece trainer numbers the characters within words in the order of a hash table, which settles
ties; here it is told loam's order, so that the vocabularies can be compared id by id. Needs tokenizers from PyPI.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time


ALPHABET = 20000  # more than there are, for at the limit ties fall anew as well


def documents(path):
    block = []
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        if path.endswith(".jsonl"):
            yield from (json.loads(line)["text"] for line in file)
            return
        for line in file:
            line = line.rstrip("\n").removesuffix("\r")
            if line.strip(" \t\r\f\v"):
                block.append(line)
            elif block:
                yield "\n".join(block)
                block = []
    if block:
        yield "\n".join(block)


def train_byte_bpe(texts, vocab_size, _):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, min_frequency=2, special_tokens=["<|endoftext|>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def train_wordpiece(texts, vocab_size, ours):
    from tokenizers import BertWordPieceTokenizer

    n = 5
    while len(ours[n].removeprefix("##")) == 1:
        n += 1
    tokenizer = BertWordPieceTokenizer(lowercase=False)
    tokenizer.train_from_iterator(texts, vocab_size=vocab_size, min_frequency=2, limit_alphabet=ALPHABET, show_progress=False,
                                  special_tokens=ours[:n])
    return tokenizer


def in_order(vocab):
    return sorted(vocab, key=vocab.get)


def encoded_alike(args, folder, texts):
    """How many lines, and how many of them have other ids where tokenizers reads what loam wrote."""
    from tokenizers import Tokenizer

    lines = [line for text in texts[:: max(1, len(texts) // 500)] for line in text.splitlines() if line][:5000]
    command = [args.loam, "tokenizer", "encode", "--plain", "--model", folder]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.encode_special_tokens = True
    theirs = [e.ids for e in tokenizer.encode_batch(lines, add_special_tokens=False)]
    return len(lines), sum(ours.split() != [str(i) for i in ids] for ours, ids in zip(done.stdout.split("\n"), theirs))


def loam(kind, args, folder):
    """Seconds, the pieces by id, and the merges if there are any."""
    start = time.time()
    alphabet = ["--limit-alphabet", str(ALPHABET)] if kind == "wordpiece" else []
    subprocess.run([args.loam, "tokenizer", "train", "--kind", kind, "--vocab-size", str(args.vocab_size), "--workers",
                    str(args.threads), "--out", folder, *alphabet, *args.files], check=True, stderr=subprocess.DEVNULL)
    seconds = time.time() - start
    with open(f"{folder}/tokenizer.json", encoding="utf-8") as file:
        model = json.load(file)["model"]
    return seconds, in_order(model["vocab"]), model.get("merges", [])


def compare(kind, train, args, texts):
    with tempfile.TemporaryDirectory() as folder:
        seconds, ours, merges = loam(kind, args, folder)
        n_lines, lines_differ = encoded_alike(args, folder, texts)
    start = time.time()
    tokenizer = train(texts, args.vocab_size, ours)
    their_seconds = time.time() - start
    theirs = in_order(tokenizer.get_vocab())
    if merges:
        their_merges = json.loads(tokenizer.to_str())["model"]["merges"]
        ours, theirs = ours + merges, theirs + [" ".join(merge) for merge in their_merges]
    differ = abs(len(ours) - len(theirs)) + sum(a != b for a, b in zip(ours, theirs))
    print(f"{kind}: loam {seconds:.1f} s, tokenizers {their_seconds:.1f} s, {their_seconds / seconds:.1f} times as long; "
          f"{len(ours)} pieces and merges, {differ} differ; {n_lines} lines encoded by both, {lines_differ} differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--vocab-size", type=int, default=30000)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)
    texts = [text for path in args.files for text in documents(path)]
    print(f"{args.vocab_size} pieces from {sum(len(text.encode()) for text in texts) / 1e6:.1f} MB on {args.threads} threads")
    for kind, train in (("byte-bpe", train_byte_bpe), ("wordpiece", train_wordpiece)):
        compare(kind, train, args, texts)


if __name__ == "__main__":
    main()
