#!/usr/bin/env python3
"""Writes tests/golden/scores/code.jsonl.gz: lines of Java and programs of Python made here from a seed, and the scores that they
get; and python.jsonl.gz: programs of Python, and what the package codebleu leaves of each before it parses it, null where the
tokenizer of Python refuses the program. Needed by no build and no test: the files are in the repository.

    python3.11 -m venv /tmp/scores
    /tmp/scores/bin/pip install --no-deps codebleu==0.7.0 tree-sitter==0.23.2 tree-sitter-java==0.23.5 tree-sitter-python==0.23.6
    /tmp/scores/bin/python tools/make-code-scores.py tests/golden/scores

Python is 3.8 to 3.11: later ones take f-strings apart. Lines of code.jsonl.gz are as those of tools/make-scores.py. How a parser
goes on behind an error depends on its version, so syntax is null where a program does not parse. N-grams, weighted n-grams and
subtrees are those of the package codebleu; the BLEU of CodeXGLUE, whose script is no package, is computed from its definition in
fractions, and so is the match of words.
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
import tree_sitter_python
from codebleu import calc_codebleu
from codebleu.parser import remove_comments_and_docstrings
from tree_sitter import Language, Parser

assert sys.version_info < (3, 12), sys.version
OUT = pathlib.Path(sys.argv[1])
CASES = 400
PYTHON_CASES = 300
PYTHON_PROGRAMS = 900
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


STRINGS = [
    "'a'", '"b # c"', r"r'\d'", r"'it\'s'", "b'x'", "f'{a} {{b}}'", r'Rb"\x"', "u'é'", "''", '"""one"""', "'two' 'words'", r'"tab\t"',
    "'''a\n   b'''", '"""\nMore\n\n  lines # none\n"""', 'rf"""{a}\n"""', "'go \\\n on'", '"""quote \\""" inside"""', "'''ends \\\n'''",
    "'''four''' 'x'", "'日本 # 語'", "'''a'b''c\\'''", "'\\\\'",
]


def python_expression(rng, depth=0):
    def inner():
        return python_expression(rng, depth + 1)

    way = rng.randrange(8 if depth < 3 else 3)
    if way == 0:
        return rng.choice(NAMES)
    if way == 1:
        return rng.choice(["1", "0x1f", "2.5e-3", "1_000j", "None", "True", "..."])
    if way == 2:
        return rng.choice(STRINGS)
    if way == 3:
        return f"{inner()} {rng.choice(['+', '-', '<', '==', 'and', 'if a else', '//', '!='])}{rng.choice([' ', ' ', '   '])}{inner()}"
    if way == 4:
        gap = rng.choice(["", "", "\n        ", " # first\n\n    ", "\n"])
        return f"{rng.choice(NAMES)}({gap}{(',' + (gap or ' ')).join(inner() for _ in range(rng.randrange(3)))})"
    if way == 5:
        return f"[{inner()} for {rng.choice(NAMES)} in {inner()}]"
    if way == 6:
        return f"{rng.choice(NAMES)} + \\\n  {inner()}"
    return f"{{{inner()}: {inner()}}}"


def python_line(rng):
    value = python_expression(rng)
    text = rng.choice(STRINGS)
    line = rng.choice([f"return {value}", f"{rng.choice(NAMES)} = {value}", value, text, f"{text}; {value}", f"assert {value}, {text}",
                       "pass", f"# {rng.choice(NAMES)}", f"{rng.choice(NAMES)} += {value}"])
    return line + rng.choice(["", "", "", "  # " + rng.choice(["note", "'", '"""'])])


def python_block(rng, indent, depth=0):
    out = []
    if rng.random() < 0.4:
        if rng.random() < 0.2:
            out.append(rng.choice(["", indent + "# first"]))
        out.append(indent + rng.choice(STRINGS))
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.15:
            out.append(rng.choice(["", "   ", "# at the margin", indent + "# in the block", "\f"]))
        if depth < 3 and rng.random() < 0.35:
            step = rng.choice(["    ", "    ", "  ", "\t", " \t"])
            head = rng.choice(["if a:", "for i in b:", "def foo(a, b=1):", "class Node:", "@a\n" + indent + "async def f():",
                               "while (a\n  < 2):"])
            out += [indent + head, *python_block(rng, indent + step, depth + 1)]
        else:
            out.append(indent + python_line(rng))
    return out


def python_program(rng):
    code = rng.choice(["\n"] * 9 + ["\r\n"]).join(python_block(rng, ""))
    if rng.random() < 0.25:  # what a model may write
        at = rng.randrange(len(code) + 1)
        odd = ["'", '"', "(", ")", "\\", "'''", "$", "?", "\r", "\f", "\\\n", "é", " \n\t", "\n  x\n y"]
        code = code[:at] + rng.choice(["", rng.choice(odd) + code[at:]])
    return rng.choice(["", "", "", "\n", "  "]) + code + rng.choice(["", "\n", "\n\n"])


def changed_python(rng, code):
    rate = rng.choice([0, 0, 0.1, 0.3])
    out = []
    for line in code.split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        if rng.random() >= rate:
            out.append(line)
        else:
            out += rng.choice([[], [line, line], [margin + python_line(rng)], [margin + rng.choice(STRINGS)]])
    return "\n".join(out)


# What random programs seldom have: a block that a continued line closes, a string that breaks off before another.
PYTHON_ODD = ["if a:\n        b\n    \\\nc", "if a:\n    if b:\n        c\n    \\\n    d", "x = 'a\\\n\ny = '''b\nc'''\n", "'a\\\n\nb'''x\n c",
              "def f():\n    # note\n\n    'doc'\n\n    'kept'", "(\n'dropped',\n 'kept')", "f(a)\n)", "x = 1 \\\n"]


def bare(code):
    try:
        return remove_comments_and_docstrings(code, "python")
    except Exception:
        return None


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


PARSERS = {"java": Parser(Language(tree_sitter_java.language())), "python": Parser(Language(tree_sitter_python.language()))}


def is_sound(code, language):
    code = (bare(code.strip()) or code) if language == "python" else code
    return not PARSERS[language].parse(code.encode()).root_node.has_error


def codebleu(pairs, language):
    got = calc_codebleu([rs[0] for _, rs in pairs], [p for p, _ in pairs], language)
    parts = [100 * got[name] for name in ("ngram_match_score", "weighted_ngram_match_score", "syntax_match_score")]
    sound = all(is_sound(p, language) and is_sound(rs[0], language) for p, rs in pairs)
    return [sum(parts) / 3 if sound else None, *parts[:2], parts[2] if sound else None]


def want(pairs, language="java"):
    values = {"exact_words": exact_words(pairs), "codexglue_bleu": codexglue_bleu(pairs)}
    if all(len(rs) == 1 for _, rs in pairs):
        values["codebleu_no_dataflow language=" + language] = codebleu(pairs, language)
    return {name: [None if value is None else float(f"{value:.10g}") for value in row] for name, row in values.items()}


def case(rng):
    code = function(rng)
    references = [code] if rng.random() < 0.8 else [code, changed(rng, code), function(rng)][: rng.randrange(2, 4)]
    return changed(rng, code), references


def add_python(rng, records):
    codes = [python_program(rng) for _ in range(PYTHON_CASES)]
    pairs = [(changed_python(rng, code), [code]) for code in codes]
    base, name = len(records), "codebleu_no_dataflow language=python"
    records += [dict(p=[p], r=[rs], want=want([(p, rs)], "python")) for p, rs in pairs]
    sound = {i for i in range(PYTHON_CASES) if records[base + i]["want"][name][0] is not None}
    runs = [i for i in sorted(sound) if {i, i + 1, i + 2} <= sound][:10]
    records += [dict(first=base + i, n=3, want=want(pairs[i : i + 3], "python")) for i in runs]


def write(name, records):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        for record in records:
            file.write((json.dumps(record, separators=(",", ":")) + "\n").encode())
    (OUT / name).write_bytes(buffer.getvalue())
    print(f"{name}: {len(records)} lines, {len(buffer.getvalue())} bytes")


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
    add_python(random.Random(6), records)
    write("code.jsonl.gz", records)
    rng = random.Random(7)
    programs = [python_program(rng) for _ in range(PYTHON_PROGRAMS)]
    write("python.jsonl.gz", [[code, bare(code)] for code in programs + PYTHON_ODD])


main()
