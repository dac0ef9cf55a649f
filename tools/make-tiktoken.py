#!/usr/bin/env python3
"""tools/make-tiktoken.py: tests/golden/tiktoken: a small rank file, learned here from text of our own, and what the real
tiktoken (0.14) encodes with it and cl100k's pattern. tests/text/test_tiktoken.c compares ids in AST-T5's layout,
tests/text/test_token_ends.c where they lie in the text."""
import base64
import collections
import itertools
import json
import pathlib

import regex
import tiktoken

PATTERN = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
N_RANKS = 420
TEXTS = [
    "def area(width, height):\n    \"\"\"Square metres.\"\"\"\n    return width * height\n",
    "for (int i = 0; i < 100; i++) {\n\tsum += values[i];\n}\r\n",
    "We'll see: it's HE'LL and don't; 1234567 is 3 + 3 + 1 digits.",
    "Größe, naïve, Ελλάδα, Москва, 漢字かな, 🙂🐈\u200d⬛",
    "   \n\n   leading and trailing   \n",
    "",
    " ",
    "\n",
    "a\u00a0b\u2003c\u2028d",
    "<s> <pad> </s> <unk> <sen000> <sen001> <|endoftext|>",
    "x = {'key': [1, 2.5e-10], \"other\": None}  # comment\n",
    "class A:\n    def f(self):\n        return self.width ** 2 - self.height // 3\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\x01\x7f tabs\t\tand\x0bmore",
]
CORPUS = TEXTS + [f"def f{i}(width, height, depth):\n    return width * height + {i} * self.depth - values[{i}]\n" for i in range(40)]


def learn(texts, n):
    words = collections.Counter(w for t in texts for w in regex.findall(PATTERN, t))
    parts = {w: [bytes([b]) for b in w.encode()] for w in words}
    ranks = {bytes([b]): b for b in range(256)}
    while len(ranks) < n:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(parts[word], parts[word][1:]):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        ranks.setdefault(best[0] + best[1], len(ranks))
        for word, own in parts.items():
            i, merged = 0, []
            while i < len(own):
                joined = i + 1 < len(own) and (own[i], own[i + 1]) == best
                merged.append(own[i] + own[i + 1] if joined else own[i])
                i += 1 + joined
            parts[word] = merged
    return ranks


folder = pathlib.Path(__file__).parent.parent / "tests/golden/tiktoken"
folder.mkdir(exist_ok=True)
ranks = learn(CORPUS, N_RANKS)
encoding = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks)})
(folder / "small.tiktoken").write_text("".join(f"{base64.b64encode(p).decode()} {r}\n" for p, r in ranks.items()))
with (folder / "ids.jsonl").open("w") as file:
    for text in TEXTS + CORPUS[-3:]:
        ids = encoding.encode_ordinary(text)
        ends = list(itertools.accumulate(map(len, encoding.decode_tokens_bytes(ids))))
        file.write(json.dumps({"text": text, "ids": ids, "spans": list(zip([0] + ends, ends))}) + "\n")
