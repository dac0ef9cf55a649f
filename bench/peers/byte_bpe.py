"""The same text into the same ids by loam and by tiktoken, on one core each, in one run: bench/peers/byte_bpe.py VOCAB.JSON FILE…

VOCAB.JSON has merges.txt beside it. Each line printed is a file: bytes, the seconds of either, and loam's speed over
tiktoken's. Both encode the lines of the file REPEAT times, in turns, and the best of three counts: processor seconds, so that
other work on the machine matters less. loam's are those of the command, reading and printing included, less those of an
empty input.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import tiktoken

LOAM = os.environ.get("LOAM", "build/loam")
REPEAT = 4
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def byte_of_character():
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in visible]
    return {chr(b): b for b in visible} | {chr(256 + i): b for i, b in enumerate(hidden)}


def open_tiktoken(path):
    table = byte_of_character()
    vocabulary = json.load(open(path, encoding="utf-8"))
    ranks = {bytes(table[c] for c in piece): rank for piece, rank in vocabulary.items() if piece != "<|endoftext|>"}
    return tiktoken.Encoding("peer", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def lines_of(path):
    text = open(path, encoding="utf-8", newline="\n").read()
    if path.endswith(".jsonl"):
        text = "\n".join(v for line in text.splitlines() for v in json.loads(line).values() if isinstance(v, str))
    return [line for line in text.split("\n") if line]


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def loam_seconds(vocabulary, data):
    with tempfile.NamedTemporaryFile() as source, tempfile.TemporaryFile() as ids:
        source.write(data)
        source.flush()
        started = children()
        subprocess.run([LOAM, "tokenizer", "encode", "--model", vocabulary, "--plain"], stdin=open(source.name, "rb"),
                       stdout=ids, check=True)
        seconds = children() - started
        ids.seek(0)
        return seconds, ids.read()


def tiktoken_seconds(peer, lines):
    started = time.process_time()
    ids = [peer.encode_ordinary(line) for line in lines]
    return time.process_time() - started, ids


def main():
    vocabulary, files = sys.argv[1], sys.argv[2:]
    peer = open_tiktoken(vocabulary)
    empty = min(loam_seconds(vocabulary, b"")[0] for _ in range(3))
    for path in files:
        lines = lines_of(path) * REPEAT
        data = "".join(line + "\n" for line in lines).encode()
        runs = [(loam_seconds(vocabulary, data), tiktoken_seconds(peer, lines)) for _ in range(3)]
        ours, theirs = min(run[0][0] for run in runs) - empty, min(run[1][0] for run in runs)
        same = [[int(id) for id in line.split()] for line in runs[0][0][1].splitlines()] == runs[0][1][1]
        print(f"{os.path.basename(path):24} {len(data):10} bytes  loam {ours:6.2f} s  tiktoken {theirs:6.2f} s  "
              f"loam / tiktoken {theirs / ours:5.2f}  {'same ids' if same else 'OTHER IDS'}", flush=True)


main()
