#!/usr/bin/env python3
"""Writes tests/golden/scores/code.jsonl.gz: lines of Java made here from a seed, and the scores of programs that they get.
Needed by no build and no test: the file is in the repository.

    python3 -m venv /tmp/scores && /tmp/scores/bin/pip install --no-deps codebleu==0.7.0 tree-sitter==0.23.2 tree-sitter-java==0.23.5
    /tmp/scores/bin/python tools/make-code-scores.py tests/golden/scores

Lines are as those of tools/make-scores.py. How a parser goes on behind an error depends on its version, so syntax is null where
a line does not parse. N-grams, weighted n-grams and subtrees are those of the package codebleu; the BLEU
of CodeXGLUE, whose script is no package, is computed from its definition in fractions, and so is the match of words.
"""

import gzip
import io
import json
import math
import pathlib
import random
import sys
from collections import Counter
from fractions import Fraction

import tree_sitter_java
from codebleu import calc_codebleu
from tree_sitter import Language, Parser

OUT = pathlib.Path(sys.argv[1])
CASES = 400
NAMES = "a b count index value node list getName setValue String Integer foo".split()
TYPES = "int long boolean double String List void Node".split()


def expression(rng, depth=0):
    way = rng.randrange(6 if depth < 3 else 2)
    if way == 0:
        return rng.choice(NAMES)
    if way == 1:
        return rng.choice(["1", "0", "2.5", "true", "null", "'c'", "\"a // b\"", "\"it\\\"s\"", "'\\''"])
    if way == 2:
        return f"{expression(rng, depth + 1)} {rng.choice(['+', '-', '<', '==', '&&'])} {expression(rng, depth + 1)}"
    if way == 3:
        return f"{rng.choice(NAMES)} ( {' , '.join(expression(rng, depth + 1) for _ in range(rng.randrange(3)))} )"
    if way == 4:
        return f"{rng.choice(NAMES)} . {rng.choice(NAMES)}"
    return f"( {expression(rng, depth + 1)} )"


def statement(rng, depth=0):
    way = rng.randrange(7 if depth < 2 else 3)
    if way == 0:
        return f"return {expression(rng)} ;"
    if way == 1:
        return f"{rng.choice(TYPES[:5])} {rng.choice(NAMES)} = {expression(rng)} ;"
    if way == 2:
        return f"{rng.choice(NAMES)} = {expression(rng)} ;"
    if way == 3:
        return f"if ( {expression(rng)} ) {{ {block(rng, depth + 1)} }} else {{ {block(rng, depth + 1)} }}"
    if way == 4:
        return f"for ( int i = 0 ; i < {expression(rng)} ; i ++ ) {{ {block(rng, depth + 1)} }}"
    if way == 5:
        return f"while ( {expression(rng)} ) {{ {block(rng, depth + 1)} }}"
    return f"/* {rng.choice(NAMES)} */ throw new {rng.choice(NAMES)} ( {expression(rng)} ) ;"


def block(rng, depth=0):
    return " ".join(statement(rng, depth) for _ in range(rng.randrange(1, 3)))


def function(rng):
    parameters = " , ".join(f"{rng.choice(TYPES)} {rng.choice(NAMES)}" for _ in range(rng.randrange(3)))
    code = f"public {rng.choice(['static ', ''])}{rng.choice(TYPES)} {rng.choice(NAMES)} ( {parameters} ) {{ {block(rng)} }}"
    return code + rng.choice(["", "", "", " // " + rng.choice(NAMES)])


def changed(rng, code):
    words = code.split(" ")
    rate = rng.choice([0, 0, 0.05, 0.2, 0.5])
    out = []
    for word in words:
        if rng.random() >= rate:
            out.append(word)
            continue
        out += rng.choice([[], [rng.choice(NAMES)], [word, word], [rng.choice(["(", ")", "{", ";", "return", "'", "\"", "/*"])]])
    if rng.random() < 0.05:
        out = out[: rng.randrange(4)]
    return rng.choice([" ", " ", " ", "  ", "\n", " \n\n "]).join(out)


def exact_words(pairs):
    return [100 * sum(any(p.split() == r.split() for r in rs) for p, rs in pairs) / len(pairs)]


def codexglue_bleu(pairs):
    def grams(words, n):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    length = sum(len(p.split()) for p, _ in pairs)
    reference_length = sum(min(len(r.split()) for r in rs) for _, rs in pairs)
    precisions = []
    for n in range(1, 5):
        matches = total = 0
        for p, rs in pairs:
            most = Counter()
            for r in rs:
                most |= grams(r.split(), n)
            own = grams(p.split(), n)
            matches += sum((own & most).values())
            total += sum(own.values())
        precisions.append(Fraction(matches + 1, total + 1))
    penalty = 1.0 if length > reference_length else math.exp(1 - reference_length / length) if length else 0.0
    bleu = penalty * math.exp(sum(math.log(p) for p in precisions) / 4)
    return [100 * bleu, *(100 * float(p) for p in precisions), penalty, length, reference_length]


JAVA = Parser(Language(tree_sitter_java.language()))


def is_sound(code):
    return not JAVA.parse(code.encode()).root_node.has_error


def codebleu(pairs):
    got = calc_codebleu([rs[0] for _, rs in pairs], [p for p, _ in pairs], "java")
    parts = [100 * got[name] for name in ("ngram_match_score", "weighted_ngram_match_score", "syntax_match_score")]
    sound = all(is_sound(p) and is_sound(rs[0]) for p, rs in pairs)
    return [sum(parts) / 3 if sound else None, *parts[:2], parts[2] if sound else None]


def want(pairs):
    values = {"exact_words": exact_words(pairs), "codexglue_bleu": codexglue_bleu(pairs)}
    if all(len(rs) == 1 for _, rs in pairs):
        values["codebleu_no_dataflow language=java"] = codebleu(pairs)
    return {name: [None if value is None else float(f"{value:.10g}") for value in row] for name, row in values.items()}


def case(rng):
    code = function(rng)
    references = [code] if rng.random() < 0.8 else [code, changed(rng, code), function(rng)][: rng.randrange(2, 4)]
    return changed(rng, code), references


def main():
    rng = random.Random(5)
    pairs = [case(rng) for _ in range(CASES)]
    records = [dict(p=[p], r=[rs], want=want([(p, rs)])) for p, rs in pairs]
    for _ in range(30):
        n = rng.randint(2, 40)
        first = rng.randrange(CASES - n)
        records.append(dict(first=first, n=n, want=want(pairs[first : first + n])))
    single = next(i for i in range(CASES) if all(len(rs) == 1 for _, rs in pairs[i : i + 8]))
    records.append(dict(first=single, n=8, want=want(pairs[single : single + 8])))
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        for record in records:
            file.write((json.dumps(record, separators=(",", ":")) + "\n").encode())
    (OUT / "code.jsonl.gz").write_bytes(buffer.getvalue())
    print(f"code.jsonl.gz: {len(records)} lines, {len(buffer.getvalue())} bytes")


main()
