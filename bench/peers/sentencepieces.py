#!/usr/bin/env python3
"""Small SentencePiece models of every setting that changes how text is split, each encoded three ways: by SentencePiece, by loam,
and by Hugging Face's tokenizers from the tokenizer.json that `loam tokenizer export` writes.

    bench/peers/sentencepieces.py [--loam build/loam] [--lines 5500] [--auto] [TEXT...]
    bench/peers/sentencepieces.py --fixture tests/text/sentencepieces.json

TEXT are .txt and .jsonl files; without any, those below ../shared/data/text and code. The models are trained on a part of them.
A setting that export refuses is printed with its reason. Unigram lines whose two segmentations are equally probable are counted
apart: SentencePiece adds up floats over a whole line, tokenizers doubles. Needs tokenizers and sentencepiece from PyPI.
"""

import argparse
import base64
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import sentencepiece
import tokenizers
from ids import SHARED, draw_lines, is_tie, loam_ids

OPTIONS = [{"remove_extra_whitespaces": a, "add_dummy_prefix": b} for a in (True, False) for b in (True, False)]
SETTINGS = {
    "as it is": {},
    "identity": {"normalization_rule_name": "identity"},
    "nfkc_cf": {"normalization_rule_name": "nfkc_cf"},
    "byte_fallback": {"byte_fallback": True},
    "suffix": {"treat_whitespace_as_suffix": True},
    "across words": {"split_by_whitespace": False},
    "space pieces": {"allow_whitespace_only_pieces": True, "normalization_rule_name": "identity"},
    "user symbols": {"user_defined_symbols": ["<sym>", "def", "ing", "<sym>s"], "byte_fallback": True},
    "like Gemma": {"user_defined_symbols": ["\n", "\n\n", "\t", "▁▁", "▁▁▁▁", "<b>"], "byte_fallback": True,
                   "normalization_rule_name": "identity"},
    "odd symbols": {"user_defined_symbols": ["\n", "ﬁ"]},
    "like Llama": {"byte_fallback": True, "normalization_rule_name": "identity", "split_digits": True,
                   "allow_whitespace_only_pieces": True, "pad_id": 3},
}
ODD = ["", " ", "   ", "a", " a", "  a", "a ", "a  ", "a  b", "  a   b  ", "\ta\tb", "▁", "▁a▁", " ▁ a ▁ ", "<sym>", " <sym> ",
       "a<sym>b", "a <sym> <sym>s  def", "<sym><sym>", "ｆｕｌｌ　ｗｉｄｔｈ ﬁ", "吾輩は猫である", "    return [x for x in y]", "é e\u0301 Å",
       "\u200b", "x\u200by", "𝕏 😀😀 ẞ", "<s> </s> <unk>"]


def train(work, number, kind, setting, lines):
    words = {"vocab_size": 1500, "character_coverage": 0.99, "model_type": kind, "hard_vocab_limit": False, "minloglevel": 2,
             "num_threads": 2, **setting}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(work / str(number)), **words)
    return work / f"{number}.model"


def count(ours, theirs, lines, scores, show, name):
    other = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    wrong = [i for i in other if not (scores and is_tie(scores, ours[i], theirs[i]))]
    for i in wrong[:show]:
        print(f"    {name} {lines[i][:60]!r}: {ours[i][:12]}, SentencePiece {theirs[i][:12]}")
    return len(wrong), len(other) - len(wrong)


def exported(loam, path, folder, lines, auto=False):
    done = subprocess.run([loam, "tokenizer", "export", "--model", path, "--out", folder], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return done.stderr.strip().split(": ", 2)[-1]
    if auto:
        import transformers
        return transformers.AutoTokenizer.from_pretrained(folder)(lines, add_special_tokens=False).input_ids
    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    return [e.ids for e in tokenizer.encode_batch(lines, add_special_tokens=False)]


def check(work, number, kind, setting, sample, lines, args):
    path = train(work, number, kind, setting, sample)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    scores = [processor.get_score(i) for i in range(processor.get_piece_size())] if kind == "unigram" else None
    theirs = processor.encode(lines)
    wrong, ties = count(loam_ids(args.loam, path, lines, True), theirs, lines, None, args.show, "loam")
    # What reads as a special token in text is one to tokenizers, and several lines make one text.
    plain = [line for line in lines if not re.search("<s>|</s>|<unk>", line)]
    plain += ["\n".join(plain[i:i + 5]) for i in range(0, len(plain) - 60, 50)]
    found = exported(args.loam, path, work / f"{number}-hf", plain, args.auto)
    if isinstance(found, str):
        return wrong, f"loam {wrong} differ; export: {found}"
    other, ties = count(found, processor.encode(plain), plain, scores, args.show, "export")
    back = 0
    if kind == "unigram":
        ours = loam_ids(args.loam, work / f"{number}-hf/tokenizer.json", lines, False)
        exact = exported(args.loam, path, work / f"{number}-hf", lines)
        back, _ = count(ours, exact, lines, scores, args.show, "read back") if isinstance(ours, list) else (1, print(ours))
    return wrong + other + back, f"of {len(plain)}: loam {wrong}, export {other} and {ties} ties, read back {back} differ"


# ---- the fixture of tests/text/test_sentencepiece_encode.c ----

OWN = ["the cat sat on the mat and the dog ate the cake", "def feed(cat):", "    if cat.is_hungry:", "        return cake[0] + cake[1]",
       "\tint n = 10;  // ten cats", "café, naïve; thé vert", "{'a': 1, 'b': [22, 333]}", "two  spaces   and four    more", "so the cat ate",
       "x == y  and  y == z", "for (int i = 0; i < 10; i++) {", "    }", "}", "the cats and the dogs are fed", "a <sym> and <sym>s"]
RULES = "FB01\t66 69\nFF41\t61\nA0\t20\n3000\t20\n9\t20\n200B\t\n"  # ligature fi, full-width a, spaces, nothing
SMALL = {
    "as it is": {}, "byte fallback": {"byte_fallback": True, "vocab_size": 330}, "suffix": {"treat_whitespace_as_suffix": True},
    "across words": {"split_by_whitespace": False}, "space pieces": {"allow_whitespace_only_pieces": True},
    "user symbols": {"user_defined_symbols": ["<sym>", "cat", "▁▁", "<sym>s"]}, "words": {"model_type": "word"},
    "characters": {"model_type": "char", "user_defined_symbols": ["cat"]},
}


def own_models(work):
    (work / "rules.tsv").write_text(RULES)
    for kind, (name, setting), spaces in itertools.product(("unigram", "bpe"), SMALL.items(), (OPTIONS[0], OPTIONS[2], OPTIONS[3])):
        if "model_type" in setting and (kind == "bpe" or spaces is OPTIONS[3]):
            continue
        rules = {"normalization_rule_name": "identity"} if spaces is OPTIONS[3] else {"normalization_rule_tsv": str(work / "rules.tsv")}
        yield kind, name, {"vocab_size": 90, **rules, **spaces, **setting}


def own_pipelines():
    from tokenizers import Regex, normalizers, pre_tokenizers
    space = pre_tokenizers.Metaspace
    squeeze = normalizers.Replace(Regex(" {2,}"), " ")
    yield from ((None, space(prepend_scheme=scheme, split=split)) for scheme in ("always", "first", "never") for split in (True, False))
    yield squeeze, space()
    yield normalizers.Sequence([normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")]), space()
    yield normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None
    yield None, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), space()])
    yield normalizers.Strip(), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), space(prepend_scheme="first")])
    yield normalizers.Replace(Regex(r"\A +| +\z"), ""), pre_tokenizers.WhitespaceSplit()


def own_unigrams(lines):
    words = ["▁", "▁▁", "▁▁▁▁", "▁▁the", "▁the", "▁cat", "cat", "s", "the", "▁a", "▁ca", "ke", "ate", "▁d", "og", "é"]
    scores = [-3.5, -4.25, -5.1, -6.3, -3.1, -4.4, -5.2, -3.7, -4.9, -4.1, -5.5, -4.6, -5.0, -4.8, -4.7, -7.3]
    scores = [round(score * 64) / 64 for score in scores]  # no sum is rounded, so ties are ties to floats and doubles
    vocab = [("<unk>", 0.0), *zip(words, scores), *((c, -6.0 - i / 16) for i, c in enumerate("abcdefghiklmnoprtuwy.,:;()[]{}=+0123"))]
    for normalizer, pre_tokenizer in own_pipelines():
        tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(vocab, unk_id=0, byte_fallback=False))
        if normalizer:
            tokenizer.normalizer = normalizer
        if pre_tokenizer:
            tokenizer.pre_tokenizer = pre_tokenizer
        yield {"json": tokenizer.to_str(), "ids": [e.ids for e in tokenizer.encode_batch(lines, add_special_tokens=False)]}


def write_fixture(work, path, loam):
    # Of these spaces RULES leave nothing, and tokenizers put nothing before or after nothing.
    lines = [line for line in OWN + ODD if line not in ("\u200b", "▁") and not re.search("<s>|</s>|<unk>", line)] + ["two\n lines \n  of text "]
    models = []
    for number, (kind, name, setting) in enumerate(own_models(work)):
        model = train(work, number, kind, setting, OWN * 4)
        ids = sentencepiece.SentencePieceProcessor(model_file=str(model)).encode(lines)
        row = {"name": f"{kind} {name}", "model": base64.b64encode(model.read_bytes()).decode(), "ids": ids}
        if "model_type" not in setting:
            found = exported(loam, model, work / f"{number}-hf", lines)
            if isinstance(found, str):
                row["refused"] = found
            else:
                scores = [p.get_score(i) for p in [sentencepiece.SentencePieceProcessor(model_file=str(model))]
                          for i in range(p.get_piece_size())] if kind == "unigram" else None
                wrong = [(line, a, b) for line, a, b in zip(lines, found, ids) if a != b and not is_tie(scores, a, b)]
                assert not wrong, (row["name"], wrong)
                root = json.loads((work / f"{number}-hf/tokenizer.json").read_text())
                row["parts"] = {key: root[key] for key in ("normalizer", "pre_tokenizer")}
        models.append(row)
    path.write_text(json.dumps({"lines": lines, "models": models, "tokenizers": list(own_unigrams(lines))}, ensure_ascii=False,
                               separators=(",", ":")) + "\n")
    return f"{path}: {len(models)} models, {path.stat().st_size} bytes"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--lines", type=int, default=5500)
    parser.add_argument("--show", type=int, default=2, help="differing lines that are printed")
    parser.add_argument("--auto", action="store_true", help="read what is exported by transformers' AutoTokenizer")
    parser.add_argument("--only", default="", help="settings whose name holds this")
    parser.add_argument("texts", nargs="*", type=pathlib.Path)
    parser.add_argument("--fixture", type=pathlib.Path, help="write the answers that the tests compare with, and nothing else")
    args = parser.parse_args()
    if args.fixture:
        with tempfile.TemporaryDirectory() as folder:
            print(write_fixture(pathlib.Path(folder), args.fixture, args.loam))
        return
    texts = args.texts or [p for p in sorted(SHARED.glob("text/*.txt")) + sorted(SHARED.glob("code/*.jsonl"))]
    if not texts:
        sys.exit(f"no text: name files, for there is no {SHARED}")
    print(f"sentencepiece {sentencepiece.__version__}, tokenizers {tokenizers.__version__}")
    lines = draw_lines(texts, args.lines) + ODD
    sample = random.Random(1).sample(lines, min(3000, len(lines)))
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = itertools.product(("unigram", "bpe"), SETTINGS.items(), OPTIONS)
        for number, (kind, (name, setting), spaces) in enumerate(cases):
            title = f"{kind:8} {name:13} {'squeeze' if spaces['remove_extra_whitespaces'] else 'keep':8}" \
                    f"{'prefix' if spaces['add_dummy_prefix'] else '-':7}"
            if args.only not in title:
                continue
            wrong, words = check(pathlib.Path(folder), number, kind, setting | spaces, sample, lines, args)
            total += wrong
            print(f"{title} {words}", flush=True)
    sys.exit(total > 0)


if __name__ == "__main__":
    main()
