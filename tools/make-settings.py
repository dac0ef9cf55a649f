#!/usr/bin/env python3
"""Writes tests/golden/llama (a small BPE model with byte fallback, as Llama 2's: tokenizer.model and tokenizer.json) and
tests/golden/settings.json: the ids that transformers gives for settings in tokenizer_config.json, special_tokens_map.json,
added_tokens.json, and for normalizers of tokenizer.json.

    HF_HUB_OFFLINE=1 tools/make-settings.py tests/golden

The stored files were made with transformers 5.24.0, tokenizers 0.23.3 and sentencepiece 0.2.3. Needed by no build and no test.

settings.json: "texts", and an object a case: "base", a folder of tests/golden; "files" of it; "json", parts that replace those of its
tokenizer.json; "settings", a file name to its content; "ids" of each text without the special tokens around it. A case may have "texts"
of its own, and then "pair", the ids of the first two of them as a pair with the special tokens around them (not for WordPiece, whose
frame is that of a model), or "decoded", the text of the ids of each without special tokens.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import sentencepiece
import tokenizers
import transformers

TEXTS = ["The mill stands", " by the river  and", "a <mask> b", "a<mask>b", "one<end> two <end>three<end>", "<end> a", "",
         "  two  spaces ", "\u00c5\ufb01ne CAF\u00c9 e\u0301 \uff21\uff42 \u00bd \u4e2d\U0001f600", "x\ty\n\nz", "\u2581a \u2581 b", "Stra\u00dfe \u0130\u03a3 \u03c3\u03c2"]
END = {"content": "<end>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}
GPT2, ROBERTA, LLAMA, FAST = "GPT2Tokenizer", "RobertaTokenizer", "LlamaTokenizer", "PreTrainedTokenizerFast"
VOCAB, JSON, MODEL = ["vocab.json", "merges.txt"], ["tokenizer.json"], ["tokenizer.model"]
MASK = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False, "special": True}


def case(base, files, config, parts=None, model_type=None, **others):
    """The files of a folder: added__json is added.json, and so on."""
    settings = {"tokenizer_config.json": config} if config is not None else {}
    settings |= {name.replace("__", "."): content for name, content in others.items()}
    if model_type:
        settings["config.json"] = {"model_type": model_type}
    return {"base": base, "files": files, "json": parts or {}, "settings": settings}


def masks():
    """A mask named as a string or with flags, in either file, or in added_tokens.json; in vocab.json or added."""
    bare = {**MASK, "lstrip": False}
    for own in (None, "<mask>", {"__type": "AddedToken", **MASK}, {"__type": "AddedToken", **bare}):
        for of_map in (None, "<mask>", MASK, bare):
            config = {"tokenizer_class": ROBERTA, **({"mask_token": own} if own else {})}
            others = {"special_tokens_map__json": {"mask_token": of_map}} if of_map else {}
            yield {**case("byte-bpe", VOCAB, config, **others), "vocab": {"<mask>": 901}}
            yield case("byte-bpe", VOCAB, config, added_tokens__json={"<mask>": 901}, **others)
            yield case("byte-bpe", JSON, config, added_tokens__json={"<mask>": 901}, **others)
            yield case("byte-bpe", VOCAB, {**config, "added_tokens_decoder": {"900": {**END, "content": "<|endoftext|>"}, "901": MASK}}, **others)


def classes():
    for files in (VOCAB, JSON):
        decoder = {"900": {**END, "content": "<|endoftext|>"}, "901": END, "902": {**END, "content": "<mask>"}}
        for name in (GPT2, GPT2 + "Fast", ROBERTA, ROBERTA + "Fast", FAST):
            if files == VOCAB and name == FAST:
                continue
            for add in (None, True, False):
                config = {"tokenizer_class": name, "added_tokens_decoder": decoder, **({} if add is None else {"add_prefix_space": add})}
                if name.startswith(ROBERTA):
                    config |= {"mask_token": "<mask>", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
                               "cls_token": "<|endoftext|>", "sep_token": "<|endoftext|>", "unk_token": "<|endoftext|>",
                               "pad_token": "<|endoftext|>"}
                yield case("byte-bpe", files, config)
        yield case("byte-bpe", files, {"tokenizer_class": GPT2, "add_prefix_space": True}, model_type="gpt2")
        yield case("byte-bpe", files, {"add_prefix_space": True}, model_type="gpt2")
        yield case("byte-bpe", files, {"tokenizer_class": ROBERTA, "mask_token": "<mask>"}, added_tokens__json={"<mask>": 901},
                   special_tokens_map__json={"mask_token": "<mask>"})
        yield case("byte-bpe", files, {"tokenizer_class": ROBERTA, "eos_token": "<|endoftext|>", "mask_token": {"__type": "AddedToken", **MASK}, "added_tokens_decoder": {"900": {**END, "content": "<|endoftext|>"}, "901": MASK}})
    for config in ({"tokenizer_class": ROBERTA, "mask_token": "<mask>"}, {"mask_token": "<mask>"}):
        yield {**case("byte-bpe", VOCAB, config, model_type="roberta", special_tokens_map__json={"mask_token": MASK}),
               "vocab": {"<mask>": 901}}
    yield from masks()
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    for name in (GPT2, ROBERTA, FAST):
        yield case("byte-bpe", JSON, {"tokenizer_class": name, "eos_token": "<|endoftext|>", "added_tokens_decoder": decoder}, {"pre_tokenizer": byte_level})
    for files in (JSON, MODEL, MODEL + JSON):
        yield case("llama", files, {"tokenizer_class": LLAMA, "legacy": False, "added_tokens_decoder": {"500": END}}, model_type="llama")
        for name in (LLAMA, LLAMA + "Fast", FAST):
            if files == MODEL and name == FAST:
                continue
            for keys in ({}, {"legacy": False}, {"legacy": True}, {"add_prefix_space": False}, {"add_prefix_space": True},
                         {"add_prefix_space": True, "legacy": True}, {"add_prefix_space": None, "legacy": False}):
                yield case("llama", files, {"tokenizer_class": name, "added_tokens_decoder": {"500": END}, **keys})
    yield case("llama", MODEL, {"tokenizer_class": LLAMA, "legacy": True}, added_tokens__json={"<end>": 500},
               special_tokens_map__json={"additional_special_tokens": ["<end>"]})
    yield case("llama", MODEL, {"tokenizer_class": LLAMA, "legacy": False, "additional_special_tokens": ["<end>"]},
               added_tokens__json={"<end>": 500})


def defaults():
    """Special tokens that no file names: those of the class, which are appended if the vocabulary lacks them."""
    own = {"texts": ["a", "b", "x</s>y<pad><s> z<unk>", "a <mask> b", "c <m> d"]}
    for files in (VOCAB, JSON):
        for config in ({}, {"mask_token": None}, {"cls_token": "<pad>"}, {"mask_token": {"__type": "AddedToken", **MASK, "content": "<m>"}}):
            yield {**case("byte-bpe", files, {"tokenizer_class": ROBERTA, **config}), **own}
        yield {**case("byte-bpe", files, None, model_type="roberta"), **own}
        yield {**case("byte-bpe", files, {"tokenizer_class": ROBERTA}, special_tokens_map__json={"cls_token": "<c>"}), **own}
        yield {**case("byte-bpe", files, {"tokenizer_class": GPT2, "bos_token": "<s>"}), **own}
    yield {**case("byte-bpe", VOCAB, {"tokenizer_class": ROBERTA}), "vocab": {"<pad>": 901, "<s>": 902}, **own}


def named():
    """Special tokens that a file names and the vocabulary lacks: transformers appends them."""
    own = {"texts": ["a", "b", "x</s>y<pad><s> z<unk>", "a <mask> b", "c <m> d"]}
    names = ({"pad_token": "<pad>"}, {"bos_token": "<s>", "eos_token": "</s>"}, {"mask_token": {"__type": "AddedToken", **MASK, "content": "<m>"}})
    for config in names:
        for name in ("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "ElectraTokenizer"):
            yield {**case("wordpiece", ["vocab.txt"], {"tokenizer_class": name, **config}, model_type="bert"), "texts": own["texts"]}
        yield {**case("byte-bpe", JSON, {"tokenizer_class": FAST, **config}), **own}
        for files in (MODEL, JSON):
            yield {**case("llama", files, {"tokenizer_class": LLAMA, "added_tokens_decoder": {"500": END}, **config}), **own}


def normalizers():
    nfd, nfkc, lower = {"type": "NFD"}, {"type": "NFKC"}, {"type": "Lowercase"}
    replace = {"type": "Replace", "pattern": {"Regex": "[ \\t]+"}, "content": " "}
    parts = [nfd, nfkc, {"type": "NFKD"}, lower, {"type": "Sequence", "normalizers": [nfkc, lower]},
             {"type": "Sequence", "normalizers": [nfd, lower, {"type": "StripAccents"}]},
             {"type": "Sequence", "normalizers": [lower, replace, {"type": "Prepend", "prepend": "x"}]},
             {"type": "Sequence", "normalizers": [{"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "NFC"}]},
             {"type": "Replace", "pattern": {"String": "a"}, "content": "the "}]
    for base in ("byte-bpe", "unigram"):
        for part in parts:
            yield case(base, JSON, {"tokenizer_class": FAST}, {"normalizer": part})
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    for part in parts[:6]:
        inner = part.get("normalizers", [part])
        yield case("llama", JSON, {"tokenizer_class": FAST},
                   {"normalizer": {"type": "Sequence", "normalizers": [*inner, {"type": "Prepend", "prepend": "\u2581"}, space]}})


def bert():
    """The keys of BertNormalizer, which BertTokenizer takes instead of the normalizer of tokenizer.json."""
    def normalizer(low):
        return {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": low}
    keys = ({}, {"do_lower_case": False}, {"do_lower_case": True}, {"do_lower_case": True, "strip_accents": False}, {"do_lower_case": False, "strip_accents": True},
            {"tokenize_chinese_chars": False})
    for low in (True, False):
        for name in ("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "MobileBertTokenizerFast", "ElectraTokenizer", FAST):
            for config in keys if name == "BertTokenizer" else keys[:1]:
                yield case("wordpiece", JSON, {"tokenizer_class": name, **config}, {"normalizer": normalizer(low)})
        yield case("wordpiece", JSON, None, {"normalizer": normalizer(low)}, model_type="bert")
        yield case("wordpiece", JSON, {"do_lower_case": False}, {"normalizer": normalizer(low)}, model_type="bert")
        yield case("wordpiece", JSON, {}, {"normalizer": normalizer(low)})
    yield case("wordpiece", ["vocab.txt", "tokenizer.json"], {"tokenizer_class": "BertTokenizer", "do_lower_case": False})


def byte_pieces():
    """Byte pieces that are special tokens, as those that a trainer was told to keep: the model still falls back to them,
    unless they are no part of its vocabulary."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    texts = ["h\u00e9 the \u4e2d", "\u4e2d", "a <0xC3> b<0xC3>"]
    specials = {*names[:3], *(f"<0x{byte:02X}>" for byte in texts[0].encode())}
    added = [{"id": i, **END, "content": name} for i, name in enumerate(names) if name in specials]
    yield {**case("llama", JSON, {"tokenizer_class": FAST}, {"added_tokens": added}), "texts": texts}
    vocab = [[name, 0.0] for name in names] + [["\u2581", -2.0], *([letter, -3.0] for letter in "abeht")]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": True}
    yield {**case("unigram", JSON, {"tokenizer_class": FAST, "unk_token": "<unk>"}, {"model": model, "added_tokens": added, "post_processor": None}),
           "texts": texts}
    bpe = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "merges": [],
           "vocab": {"<unk>": 0, "\u2581": 1, "h": 2, "a": 3, "b": 4}}
    outside = [added[0], *({**token, "id": 5 + i} for i, token in enumerate(added[1:]))]
    yield {**case("llama", JSON, {"tokenizer_class": FAST}, {"model": bpe, "added_tokens": outside}), "texts": texts[:2]}


def additions(golden):
    """Added tokens: a special one, one that is found in the text, and one whose normalized content is found in the normalized text."""
    added = [END, {**END, "content": "\u27e6", "special": False}, {**END, "content": "NEWTOK", "special": False, "normalized": True}]
    texts = ["\u27e6 a NEWTOK b", "a NEWTOK b NEWTOKc", "xNEWTOK NEWTOK", "a b\u27e6c <end> d", "NEWTOK<end>NEWTOK the \u27e6NEWTOK", "a  NEWTOK  b"]
    own = {"texts": texts, "decoded": []}
    for base, class_, files in (("byte-bpe", GPT2, [JSON, VOCAB]), ("wordpiece", "BertTokenizer", [JSON, ["vocab.txt"]]),
                                ("llama", LLAMA, [JSON, MODEL]), ("unigram", "T5Tokenizer", [JSON, ["spiece.model"]])):
        parts = json.loads((golden / base / "tokenizer.json").read_text())
        old, size = parts["added_tokens"], tokenizers.Tokenizer.from_file(str(golden / base / "tokenizer.json")).get_vocab_size()
        new = [{"id": size + i, **token} for i, token in enumerate(added)]
        decoder = {str(token["id"]): {key: token[key] for key in END} for token in old + new}
        for file in files:
            if file == JSON:
                yield {**case(base, JSON, {"tokenizer_class": FAST}, {"added_tokens": old + new}), **own}
            else:
                yield {**case(base, file, {"tokenizer_class": class_, "added_tokens_decoder": decoder}), **own}


def stale(golden):
    """A tokenizer.json that was saved later than the file beside it: with an added token, or trained anew."""
    both = {"unigram": ["spiece.model", "tokenizer.json"], "wordpiece": ["vocab.txt", "tokenizer.json"]}
    texts = {"texts": ["a NEWTOK b", "NEWTOK the"]}
    token = {**END, "id": 1000, "content": "NEWTOK", "special": False}
    unk, cls = {**END, "id": 0, "content": "<unk>"}, {**END, "id": 0, "content": "[UNK]"}
    vocab = [["<unk>", 0.0], ["\u2581", -2.0], *([letter, -3.0] for letter in "abeht"), ["\u2581the", -1.0]]
    unigram = {"model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}, "added_tokens": [unk, {**token, "id": 8}]}
    words = {"[UNK]": 0, "the": 1, "a": 2, "b": 3}
    wordpiece = {"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": words},
                 "added_tokens": [cls, {**token, "id": 4}]}
    for base, name, retrained in (("unigram", "T5Tokenizer", unigram), ("wordpiece", "BertTokenizer", wordpiece)):
        old = json.loads((golden / base / "tokenizer.json").read_text())
        new = {**token, "id": len(old["model"]["vocab"])}
        for class_ in (name, FAST):
            yield {**case(base, both[base], {"tokenizer_class": class_}, {"added_tokens": [*old["added_tokens"], new]}), **texts, "decoded": []}
        yield {**case(base, both[base], {"tokenizer_class": FAST}, {**retrained, "post_processor": None}), **texts, "decoded": []}


def corpus(golden):
    for line in (golden / "byte-bpe" / "ids.jsonl").read_text().splitlines():
        yield json.loads(line)["text"].replace("\n", " ")


def llama(golden):
    folder = golden / "llama"
    folder.mkdir(exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=corpus(golden), model_prefix=str(folder / "tokenizer"), vocab_size=500, model_type="bpe", byte_fallback=True,
        unk_id=0, bos_id=1, eos_id=2, pad_id=-1, normalization_rule_name="identity", remove_extra_whitespaces=False,
        num_threads=1, minloglevel=2)
    (folder / "tokenizer.vocab").unlink()
    from transformers.convert_slow_tokenizer import SentencePieceExtractor

    parts = SentencePieceExtractor(str(folder / "tokenizer.model")).extract(tokenizers.models.BPE)
    fast = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=parts["vocab"], merges=parts["merges"], fuse_unk=True, byte_fallback=True,
                                                      unk_token="<unk>"))
    fast.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("\u2581"),
                                                       tokenizers.normalizers.Replace(" ", "\u2581")])
    steps = tokenizers.decoders
    fast.decoder = steps.Sequence([steps.Replace("\u2581", " "), steps.ByteFallback(), steps.Fuse(), steps.Strip(" ", 1, 0)])
    fast.add_special_tokens([tokenizers.AddedToken(piece, normalized=False, special=True) for piece in ("<unk>", "<s>", "</s>")])
    fast.save(str(folder / "tokenizer.json"), pretty=False)



def encode(each, golden, folder):
    for name in each["files"]:
        shutil.copy(golden / each["base"] / name, folder)
    if each["json"]:
        path = folder / "tokenizer.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **each["json"]}))
    if each.get("vocab"):
        path = folder / "vocab.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **each["vocab"]}))
    for name, content in each["settings"].items():
        (folder / name).write_text(json.dumps(content))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = each.get("texts")
    ids = {"ids": [tokenizer(text, add_special_tokens=False).input_ids for text in texts or TEXTS]}
    if "decoded" in each:
        ids["decoded"] = [tokenizer.decode(line, skip_special_tokens=True) for line in ids["ids"]]
    return ids | ({"pair": tokenizer(*texts[:2]).input_ids} if texts and each["base"] != "wordpiece" and "decoded" not in each else {})


def main(golden):
    llama(golden)
    cases = []
    for each in [*classes(), *normalizers(), *defaults(), *named(), *byte_pieces(), *additions(golden), *stale(golden), *bert()]:
        with tempfile.TemporaryDirectory() as folder:
            cases.append({**each, **encode(each, golden, pathlib.Path(folder))})
    body = ",\n".join(json.dumps(each) for each in cases)
    (golden / "settings.json").write_text('{"texts": ' + json.dumps(TEXTS) + ', "cases": [\n' + body + "\n]}\n")


main(pathlib.Path(sys.argv[1]))
