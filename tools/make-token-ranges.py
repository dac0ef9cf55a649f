#!/usr/bin/env python3
"""Writes tests/golden/token-ranges.json: where Hugging Face's tokenizers say that tokens are in texts with characters that normalizers
drop (accents, zero-width spaces, soft hyphens) or that are several tokens.

    tools/make-token-ranges.py tests/golden

The stored file was made with tokenizers 0.23.3. Needed by no build and no test.

A list of cases: "base", a folder of tests/golden with a tokenizer.json; "normalizer", which replaces that of the file; "texts", each with
"ids" and "spans", the bytes [begin, end) of each id.
"""

import json
import pathlib
import sys

import tokenizers

TEXTS = ["the cafe\u0301 whale sea", "the ship\u200b whale sea", "ship \u00ad whale sea", "\u0301 the sea", "the\u00adsea \u200b\u200b(river)\u200b",
         "\u200bthe mill", "caf\u00e9 na\u00efve", "the \U0001f600 sea", "\u4e2d\u6587 the \u6771\u4eac", "the  mill \t river", "e\u0301\u0323 \u0130x",
         "the mill \u200b "]
STRIPS = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}]}
CASES = [("wordpiece", None), ("byte-bpe", None), ("byte-bpe", STRIPS), ("unigram", None), ("unigram", STRIPS), ("llama", None)]


def spans_of(text, encoding):
    at = [len(text[:i].encode()) for i in range(len(text) + 1)]
    return [[at[begin], at[end]] for begin, end in encoding.offsets]


def main(golden):
    cases = []
    for base, normalizer in CASES:
        root = json.loads((golden / base / "tokenizer.json").read_text())
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps({**root, **({"normalizer": normalizer} if normalizer else {})}))
        encoded = [(text, tokenizer.encode(text, add_special_tokens=False)) for text in TEXTS]
        cases.append({"base": base, "normalizer": normalizer,
                      "texts": [{"text": text, "ids": each.ids, "spans": spans_of(text, each)} for text, each in encoded]})
    (golden / "token-ranges.json").write_text("[\n" + ",\n".join(json.dumps(each) for each in cases) + "\n]\n")


main(pathlib.Path(sys.argv[1]))
