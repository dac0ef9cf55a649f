#!/usr/bin/env python3
"""Training of byte-level BPE by loam and by Hugging Face's tokenizers: the same documents, the same cores, in one run.

bench/peers/train_bpe.py [--loam PATH] [--vocab-size N] [--threads N] FILE... : FILEs are .jsonl (field "text") or text whose
documents are parted by blank lines. loam's seconds include starting, reading and writing; tokenizers is given the documents
in memory. Needs tokenizers from PyPI.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time


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


def hugging_face(texts, vocab_size, folder):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, min_frequency=2, special_tokens=["<|endoftext|>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    start = time.time()
    tokenizer.train_from_iterator(texts, trainer)
    seconds = time.time() - start
    tokenizer.model.save(folder)
    return seconds


def loam(binary, files, vocab_size, threads, folder):
    start = time.time()
    subprocess.run([binary, "tokenizer", "train", "--kind", "byte-bpe", "--vocab-size", str(vocab_size), "--workers",
                    str(threads), "--out", folder, *files], check=True, stderr=subprocess.DEVNULL)
    return time.time() - start


def merges(folder):
    with open(f"{folder}/merges.txt", encoding="utf-8") as file:
        return file.read().split("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--vocab-size", type=int, default=30000)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)
    texts = [text for path in args.files for text in documents(path)]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    with tempfile.TemporaryDirectory() as work:
        ours, theirs = f"{work}/loam", f"{work}/hf"
        os.mkdir(theirs)
        seconds = loam(args.loam, args.files, args.vocab_size, args.threads, ours)
        their_seconds = hugging_face(texts, args.vocab_size, theirs)
        differ = sum(a != b for a, b in zip(merges(ours), merges(theirs)))
        print(f"byte-level BPE of {args.vocab_size} pieces from {megabytes:.1f} MB on {args.threads} threads: loam {seconds:.1f} s, "
              f"tokenizers {their_seconds:.1f} s, {their_seconds / seconds:.1f} times as long; {len(merges(ours))} and "
              f"{len(merges(theirs))} merges, {differ} lines differ")


if __name__ == "__main__":
    main()
