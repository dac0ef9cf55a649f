#!/usr/bin/env python3
"""Writes tests/golden/frames.json: what transformers puts around texts by default, for a tokenizer of every family.

    HF_HUB_OFFLINE=1 tools/make-frames.py tests/golden

The stored file was made with transformers 5.23.0 and tokenizers 0.23.3. Needed by no build and no test.

An object a case: "base", the folder of tests/golden whose "files" the tokenizer is made of; what its tokenizer.json has instead
("post_processor") or besides ("added_tokens"), its "tokenizer_config.json"; "preset", a model of the family; and the ids of TEXTS
("single") and of pairs of them ("pair", absent for decoders).
"""

import json
import pathlib
import shutil
import sys
import tempfile

import transformers

TEXTS = ["The mill stands by the river.", "Two dogs, one bone", "0 1 2 3"]


def special(piece, kind=0):
    return {"SpecialToken": {"id": piece, "type_id": kind}}


def text(name, kind=0):
    return {"Sequence": {"id": name, "type_id": kind}}


def template(single, pair, **ids):
    return {"type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {piece: {"id": piece, "ids": [at], "tokens": [piece]} for piece, at in ids.items()}}


def added(*pieces, first):
    return [{"id": first + i, "content": piece, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True} for i, piece in enumerate(pieces)]


def llama(first):
    return template([special("<s>"), text("A")], [special("<s>"), text("A"), special("<s>", 1), text("B", 1)], **{"<s>": first})


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
BERT = template([special("[CLS]"), text("A"), special("[SEP]")],
                [special("[CLS]"), text("A"), special("[SEP]"), text("B", 1), special("[SEP]", 1)], **{"[CLS]": 2, "[SEP]": 3})
ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 901], "cls": ["<s>", 900], "trim_offsets": True, "add_prefix_space": False}
NAMES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
ROBERTA_NAMES = {**NAMES, "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>", "pad_token": "<pad>"}
ENDS = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
JSON, FAST = ["tokenizer.json"], {"tokenizer_class": "PreTrainedTokenizerFast"}
WORDS = {"base": "wordpiece", "files": JSON}
BYTES = {"base": "byte-bpe", "files": JSON}
PIECES = {"base": "unigram", "files": JSON}
VOCAB = {"base": "byte-bpe", "files": ["vocab.json", "merges.txt"], "preset": "gpt2"}
CASES = {
    "bert": {**WORDS, "preset": "bert-base", "post_processor": BERT, "config": {**FAST, "cls_token": "[CLS]", "sep_token": "[SEP]"}},
    "bert of a vocab.txt": {"base": "wordpiece", "files": ["vocab.txt"], "preset": "bert-base",
                            "config": {"tokenizer_class": "BertTokenizer", "do_lower_case": True}},
    "modernbert": {**WORDS, "preset": "modernbert-base", "post_processor": BERT, "config": FAST},
    "roberta": {**BYTES, "preset": "roberta-base", "post_processor": ROBERTA, "config": {**FAST, **ROBERTA_NAMES},
                "added": added("<s>", "</s>", "<pad>", "<unk>", "<mask>", first=900)},
    "gpt2": {**BYTES, "preset": "gpt2", "config": {**FAST, **ENDS}},
    "gpt2 with add_bos_token": {**VOCAB, "config": {"tokenizer_class": "GPT2Tokenizer", **ENDS, "add_bos_token": True}},
    "gpt2 without add_bos_token": {**VOCAB, "config": {"tokenizer_class": "GPT2Tokenizer", **ENDS, "add_bos_token": False}},
    "a flag beside a tokenizer.json": {**BYTES, "preset": "gpt2", "config": {**FAST, **ENDS, "add_bos_token": True}},
    "llama 2": {**PIECES, "preset": "tinyllama-1.1b", "post_processor": llama(1000), "config": {**FAST, **NAMES},
                "added": added("<s>", first=1000)},
    "llama 3": {**BYTES, "preset": "tinyllama-1.1b", "config": {**FAST, **NAMES}, "added": added("<s>", "</s>", first=901),
                "post_processor": {"type": "Sequence", "processors": [BYTE_LEVEL, llama(901)]}},
    "t5": {**PIECES, "preset": "t5-small", "config": {**FAST, "eos_token": "</s>", "pad_token": "<pad>"}},
    "codet5": {**BYTES, "preset": "t5-small", "post_processor": ROBERTA, "config": {**FAST, **ROBERTA_NAMES},
               "added": added("<s>", "</s>", "<pad>", "<unk>", "<mask>", first=900)},
}


def build(case, golden, folder):
    for name in case["files"]:
        shutil.copy(golden / case["base"] / name, folder)
    if case["files"] == JSON:
        path = folder / "tokenizer.json"
        root = json.loads(path.read_text())
        root["post_processor"] = case.get("post_processor", root.get("post_processor"))
        ids = [token["id"] for token in case.get("added", [])]
        root["added_tokens"] = [token for token in root["added_tokens"] if token["id"] not in ids] + case.get("added", [])
        path.write_text(json.dumps(root))
    (folder / "tokenizer_config.json").write_text(json.dumps(case["config"]))


def main(golden):
    cases = []
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            build(case, golden, pathlib.Path(folder))
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            out = {"name": name, **case, "texts": TEXTS, "single": [tokenizer(each).input_ids for each in TEXTS]}
            assert out["single"] == [tokenizer(text_target=each).input_ids for each in TEXTS]
            if case["preset"] not in ("gpt2", "tinyllama-1.1b", "t5-small"):
                out["pair"] = tokenizer(TEXTS[0], TEXTS[1]).input_ids
            cases.append(out)
            print(name, tokenizer.convert_ids_to_tokens(out["single"][1]))
    (golden / "frames.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


main(pathlib.Path(sys.argv[1]))
