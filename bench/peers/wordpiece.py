#!/usr/bin/env python3
"""WordPiece and Unigram beside Hugging Face's tokenizers and SentencePiece: the same lines on one core, in one run.

bench/peers/wordpiece.py --tokenizer FOLDER [--loam PATH] FILE... : FOLDER holds tokenizer.json, of WordPiece or Unigram,
and for Unigram spiece.model too. Processor seconds are compared, so that other work on the machine matters less. loam's are
those of `loam tokenizer encode`, reading and printing included, less those of a run on nothing; the libraries are called
on lines in memory. Needs tokenizers (and sentencepiece) from PyPI.
"""
import argparse
import json
import os
import resource
import subprocess
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
BATCH = 1000


def lines_of(path):
    """Of a .jsonl file, those of all its strings."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if path.endswith(".jsonl"):
        text = "\n".join(v for line in text.splitlines() for v in json.loads(line).values() if isinstance(v, str))
    return [line for line in text.replace("\r", " ").split("\n") if line]


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def best(run, clock=time.process_time, times=2):
    """The least of a few times, in processor seconds, and what the last run gave."""
    seconds = []
    for _ in range(times):
        start = clock()
        result = run()
        seconds.append(clock() - start)
    return min(seconds), result


def hugging_face(folder, lines):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)

    def run():
        batches = (lines[i : i + BATCH] for i in range(0, len(lines), BATCH))
        return [e.ids for batch in batches for e in encode(batch, add_special_tokens=False)]

    return best(run)


def sentencepiece(folder, lines):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/spiece.model")
    return best(lambda: processor.encode(lines, num_threads=1))


def loam(binary, folder, text):
    command = [binary, "tokenizer", "encode", "--model", f"{folder}/tokenizer.json", "--plain"]

    def run(text):
        return best(lambda: subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True), children)

    seconds, done = run(text)
    return seconds - run(b"")[0], [[int(word) for word in line.split()] for line in done.stdout.decode().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    peers = {"tokenizers": hugging_face}
    if os.path.exists(f"{args.tokenizer}/spiece.model"):
        peers["sentencepiece"] = sentencepiece
    for path in args.files:
        lines = lines_of(path)
        text = ("\n".join(lines) + "\n").encode()
        seconds, ids = loam(args.loam, args.tokenizer, text)
        print(f"{path}: {len(text) / 1e6:.1f} MB, {len(lines)} lines\n  {'loam':14} {len(text) / seconds / 1e6:6.1f} MB/s")
        for name, peer in peers.items():
            theirs, their_ids = peer(args.tokenizer, lines)
            differ = sum(a != b for a, b in zip(ids, their_ids, strict=True))
            print(f"  {name:14} {len(text) / theirs / 1e6:6.1f} MB/s  loam is {theirs / seconds:.1f} times as fast;"
                  f" {differ} lines differ")


if __name__ == "__main__":
    main()
