#!/usr/bin/env python3
"""Writes tests/golden/blanks: the ids that transformers gives lines with blanks, from tokenizers that loam trains and exports.

    HF_HUB_OFFLINE=1 tools/make-blanks.py build/loam tests/golden/blanks

The stored files were made with transformers 5.24.0 and tokenizers 0.23.3. Needed by no build and no test. text.txt, the corpus,
is kept; lines.txt are lines of it with blanks in random places, ids.NAME the ids of each line by the exported tokenizer NAME.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import transformers

KINDS = {"t5": ["sentencepiece-unigram", "t5"], "t5-bpe": ["sentencepiece-bpe", "t5"], "mask": ["sentencepiece-unigram", "roberta"],
         "byte-t5": ["byte-bpe", "t5"], "byte-mask": ["byte-bpe", "roberta"], "bert": ["wordpiece", "bert"],
         "bert-apart": ["wordpiece", "bert"], "wordpiece-t5-apart": ["wordpiece", "t5"]}
EDGES = ["<extra_id_0>", " <extra_id_0> ", "<extra_id_0><extra_id_1>", "<extra_id_0>  <extra_id_1> a", "a</s>b <extra_id_0> c",
         "  a  <extra_id_0>  b  ", "a\t<extra_id_0>\tb", "<extra_id_0>'s", "x (<extra_id_0>)"]


def with_blanks(line, draw):
    for blank in range(draw.randint(1, 3)):
        begin = draw.randint(0, len(line))
        end = min(len(line), begin + draw.randint(0, 6))
        before, after = (draw.choice(["", "", "", " ", "  "]) for _ in range(2))
        line = f"{line[:begin]}{before}<extra_id_{blank}>{after}{line[end:]}"
    return line


def of_kind(name, line):
    """WordPiece of tokenizer.json cannot say that a word goes on behind a mask: a space follows each, except in NAME-apart."""
    piece = {"mask": "<mask>", "byte-mask": "<mask>", "bert": "[MASK] ", "bert-apart": "[MASK]"}.get(name)
    for blank in range(3) if piece else ():
        line = line.replace(f"<extra_id_{blank}>", piece)
    return line


def main():
    loam, out = sys.argv[1], pathlib.Path(sys.argv[2])
    draw = random.Random(41)
    text = [line for line in (out / "text.txt").read_text().splitlines() if len(line) > 10]
    lines = [with_blanks(draw.choice(text), draw) for _ in range(240)] + EDGES
    (out / "lines.txt").write_text("".join(line + "\n" for line in lines))
    for name, (kind, family) in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            made = f"{folder}/{'tok.model' if kind.startswith('sentencepiece') else 'tok'}"
            subprocess.run([loam, "tokenizer", "train", "--kind", kind, "--for", family, "--vocab-size", "400", "--out", made,
                            out / "text.txt"], check=True)
            apart = ["--blanks", "transformers"] if name.endswith("-apart") else []
            subprocess.run([loam, "tokenizer", "export", "--model", made, "--out", f"{folder}/hf", *apart], check=True)
            tokenizer = transformers.AutoTokenizer.from_pretrained(f"{folder}/hf")
            ids = [tokenizer(of_kind(name, line), add_special_tokens=False)["input_ids"] for line in lines]
        (out / f"ids.{name}").write_text("".join(" ".join(map(str, each)) + "\n" for each in ids))


main()
