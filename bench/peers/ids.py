#!/usr/bin/env python3
"""The ids of loam beside those of the libraries that own the tokenizers, line by line, for every tokenizer below a folder.

    bench/peers/ids.py [--loam build/loam] [--lines 100000] [--tokenizers FOLDER] [TEXT...]

tokenizer.json, vocab.txt and vocab.json with merges.txt are read by Hugging Face's tokenizers with truncation off, .model by
SentencePiece; what `loam tokenizer export` writes of each is read by tokenizers too. TEXT are .txt and .jsonl files (all
strings of their objects); without any, those below ../shared/data/text and code. Lines are drawn evenly from every file, the
same number from each as far as it goes. Lines whose two segmentations are equally probable in a unigram model are counted
apart: each library settles such ties in its own way. Needs tokenizers and sentencepiece from PyPI.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import sentencepiece
import tokenizers

SHARED = pathlib.Path("../shared/data")
BATCH = 2000


def lines_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        text = "\n".join(v for line in text.splitlines() for v in json.loads(line).values() if isinstance(v, str))
    return [line for line in text.replace("\r", "\n").replace("\0", "").split("\n") if line]


def draw_lines(paths, n):
    """As many from each as are there, the rest evenly from those that have more; long lines in pieces."""
    files = sorted((lines_of(path) for path in paths), key=len)
    chosen = []
    for i, lines in enumerate(files):
        take = min(len(lines), (n - len(chosen)) // (len(files) - i))
        chosen += [lines[k * len(lines) // take] for k in range(take)]
    return chosen


def from_sentencepiece(path):
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return lambda lines: processor.encode(lines)


def from_tokenizers(tokenizer):
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda lines: [e.ids for e in tokenizer.encode_batch(lines, add_special_tokens=False)]


def reference(path):
    if path.suffix == ".model":
        return "sentencepiece", from_sentencepiece(path)
    if path.name == "vocab.txt":
        config = path.with_name("tokenizer_config.json")
        lower = json.loads(config.read_text()).get("do_lower_case", True) if config.exists() else True
        return "tokenizers", from_tokenizers(tokenizers.BertWordPieceTokenizer(str(path), lowercase=lower))
    if path.name.endswith("tokenizer.json"):
        return "tokenizers", from_tokenizers(tokenizers.Tokenizer.from_file(str(path)))
    merges = path.with_name(path.name.replace("vocab.json", "merges.txt"))
    tokenizer = tokenizers.ByteLevelBPETokenizer(str(path), str(merges))
    tokenizer.add_special_tokens([token for token in ["<|endoftext|>"] if tokenizer.token_to_id(token) is not None])
    return "tokenizers", from_tokenizers(tokenizer)


def scores_of(path):
    """Log probabilities by id; None where the model has none."""
    if path.suffix == ".model":
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        return [processor.get_score(i) for i in range(processor.get_piece_size())]
    vocab = json.loads(path.read_text())["model"]["vocab"] if path.name.endswith("tokenizer.json") else None
    return [score for _, score in vocab] if isinstance(vocab, list) else None


def is_tie(scores, ours, theirs):
    sums = [sum(scores[i] if i < len(scores) else 0 for i in ids) for ids in (ours, theirs)] if scores else [0, 1]
    return abs(sums[0] - sums[1]) <= 1e-5 * abs(sums[0])


def loam_ids(loam, path, lines, plain):
    words = [loam, "tokenizer", "encode", "--model", path, *(["--plain"] if plain else [])]
    done = subprocess.run(words, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return done.stderr.strip()
    return [[int(word) for word in line.split()] for line in done.stdout.split("\n")[:len(lines)]]


def compare(name, library, encode, ours, scores, lines, show):
    theirs = [ids for i in range(0, len(lines), BATCH) for ids in encode(lines[i:i + BATCH])]
    other = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    wrong = [i for i in other if not is_tie(scores, ours[i], theirs[i])]
    ties = f", {len(other) - len(wrong)} ties" if scores else ""
    print(f"{name:55} {library:22} {len(lines) - len(other):7} of {len(lines)} lines equal{ties}", flush=True)
    for i in wrong[:show]:
        at = next((k for k, (a, b) in enumerate(zip(ours[i], theirs[i])) if a != b), 0)
        print(f"    {lines[i][:70]!r} from token {at}: loam {ours[i][at:at + 8]}, {library} {theirs[i][at:at + 8]}")
    return len(wrong)


def find_tokenizers(folder):
    names = "*.model", "*vocab.txt", "*tokenizer.json", "*vocab.json"
    return sorted(path for name in names for path in folder.rglob(name))


def check(path, name, lines, args):
    library, encode = reference(path)
    plain = library == "sentencepiece"  # to it, "</s>" in a text is text
    ours = loam_ids(args.loam, path, lines, plain)
    if isinstance(ours, str):
        print(f"{name:55} {ours}")
        return 0
    scores = scores_of(path)
    wrong = compare(name, library, encode, ours, scores, lines, args.show)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([args.loam, "tokenizer", "export", "--model", path, "--out", folder], check=True)
        exported = from_tokenizers(tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json"))
        ours = loam_ids(args.loam, path, lines, False) if plain else ours
        return wrong + compare(name, "tokenizers, exported", exported, ours, scores, lines, args.show)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--show", type=int, default=2, help="differing lines that are printed")
    parser.add_argument("--tokenizers", type=pathlib.Path, default=SHARED)
    parser.add_argument("texts", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    texts = args.texts or [p for p in sorted(SHARED.glob("text/*.txt")) + sorted(SHARED.glob("code/*.jsonl"))]
    if not texts:
        sys.exit(f"no text: name files, for there is no {SHARED}")
    lines = draw_lines(texts, args.lines)
    print(f"{len(lines)} lines, {sum(len(line.encode()) for line in lines) / 1e6:.1f} MB")
    wrong = sum(check(path, str(path.relative_to(args.tokenizers)), lines, args) for path in find_tokenizers(args.tokenizers))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
