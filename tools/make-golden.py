#!/usr/bin/env python3
"""Writes tests/golden: small files as other programs write them, from text of this repository. Needed by no build and
no test: the files are in the repository.

    HF_HUB_OFFLINE=1 tools/make-golden.py tests/golden [FAIRSEQ]

FAIRSEQ is a folder with the unpacked package fairseq 0.12.2; its indexed_dataset.py and dictionary.py are loaded alone, since the
rest of it does not import beside today's PyTorch. Without it fairseq's files are left as they are. The stored files were made
with safetensors 0.8.0, tensorboard 2.21.0, megatron-core 0.16.1, flax 0.12.8, sentencepiece 0.2.3, tokenizers 0.23.3, transformers
5.23.0 and torch 2.15.0.
"""

import importlib.util
import json
import pathlib
import re
import shutil
import sys
import types

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = pathlib.Path(sys.argv[1])
LINES = [
    "", " ", "  two  spaces ", "Hello, world!", "It's 2026; they'll've gone.", "tabs\tand\ttabs", "ünïcödé café naïve",
    "北京 and 東京タワー", "🙂🙃 emoji 👩‍👩‍👧", "x = foo(bar[3], -1.5e-3);  // comment", "    indented four", "ALL CAPS and MiXeD",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ﬁne ligatures ½ ²", "Ελληνικά και Русский", "مرحبا بالعالم", "1234567890 12 345 6",
    "<extra_id_0> between <extra_id_1>", "[MASK] of [SEP]", "e\u0301 combining", "zero\u200bwidth", "trailing space ",
]


def corpus():
    for path in sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("src/data/**/*.c")]):
        yield from (line for line in path.read_text().splitlines() if line.strip())


def folder(name):
    path = OUT / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def safetensors():
    """One tensor of every dtype, the same six values in each."""
    from safetensors.torch import save_file
    values = torch.tensor([[0.0, 1.0, -2.0], [0.5, 3.0, 100.0]], dtype=torch.float64)
    dtypes = dict(f64=torch.float64, f32=torch.float32, f16=torch.float16, bf16=torch.bfloat16, i64=torch.int64, i32=torch.int32,
                  i16=torch.int16, i8=torch.int8, u8=torch.uint8, bool=torch.bool)
    tensors = {name: values.to(dtype) for name, dtype in dtypes.items()}
    tensors["scalar"] = torch.tensor(1.5)
    tensors["empty"] = torch.zeros(0, 3)
    save_file(tensors, folder("safetensors") / "dtypes.safetensors", metadata={"test": "a", "second": "b\"c"})


def tensorboard():
    """A scalar at steps 0 to 5, and a text."""
    from torch.utils.tensorboard import SummaryWriter
    path = folder("tensorboard")
    writer = SummaryWriter(str(path))
    for step in range(6):
        writer.add_scalar("train/loss", 5 - 0.5 * step, step, walltime=1000.0 + step)
    writer.add_text("note", "written by tensorboard", 5, walltime=1005.0)
    writer.close()
    (event,) = path.iterdir()
    event.rename(path / "events.out.tfevents.0000001000.golden.1.0")


def documents():
    """Ids of documents of one to three sentences."""
    rng = numpy.random.default_rng(3)
    return [[rng.integers(0, 60000, rng.integers(1, 40)).tolist() for _ in range(1 + i % 3)] for i in range(25)]


def megatron():
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
    path = folder("megatron")
    for name, dtype in dict(u16=numpy.uint16, i32=numpy.int32).items():
        builder = IndexedDatasetBuilder(str(path / f"{name}.bin"), dtype=dtype)
        for document in documents():
            for sentence in document:
                builder.add_item(torch.tensor(sentence))
            builder.end_document()
        builder.finalize(str(path / f"{name}.idx"))


def load_fairseq(package):
    """indexed_dataset and dictionary without the package around them."""
    def stub(name, **content):
        module = types.ModuleType(name)
        module.__dict__.update(content)
        module.__path__ = [str(package / pathlib.Path(*name.split(".")[1:]))]
        sys.modules[name] = module
        return module

    def load(name, file):
        spec = importlib.util.spec_from_file_location(name, package / file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    fairseq = stub("fairseq")
    fairseq.utils = stub("fairseq.utils")
    stub("fairseq.data", FairseqDataset=torch.utils.data.Dataset, data_utils=types.SimpleNamespace())
    stub("fairseq.dataclass.constants", DATASET_IMPL_CHOICES=None)
    stub("fairseq.data.fasta_dataset", FastaDataset=None)
    stub("fairseq.data.huffman", HuffmanMMapIndexedDataset=None, HuffmanMMapIndex=None)
    stub("fairseq.file_chunker_utils", Chunker=None, find_offsets=None)
    stub("fairseq.file_io", PathManager=types.SimpleNamespace(open=open, exists=lambda path: True, get_local_path=lambda path: path,
                                                             mkdirs=lambda path: None))
    stub("fairseq.tokenizer", tokenize_line=lambda line: re.sub(r"\s+", " ", line).strip().split())
    return load("fairseq.data.indexed_dataset", "data/indexed_dataset.py"), load("fairseq.data.dictionary", "data/dictionary.py")


def fairseq(package):
    """What fairseq-preprocess makes of lines of words: rare ones become <unk>."""
    indexed, dictionary = load_fairseq(package)
    path = folder("fairseq")
    lines = [re.sub(r"[^\w ]", " ", line).lower() for line in list(corpus())[:400]]
    words = dictionary.Dictionary()
    for line in lines:
        words.encode_line(line, add_if_not_exist=True)
    words.finalize(threshold=2, padding_factor=8)
    words.save(str(path / "dict.txt"))
    builder = indexed.MMapIndexedDatasetBuilder(str(path / "train.bin"), dtype=numpy.uint16)
    for line in lines:
        builder.add_item(words.encode_line(line, add_if_not_exist=False))
    builder.finalize(str(path / "train.idx"))
    (path / "lines.txt").write_text("".join(line + "\n" for line in lines))


def t5x():
    """The legacy checkpoint of T5X: a msgpack of flax, parameters as (in, out) and an Adafactor state. Element (i, j) of
    the k-th parameter is k + i / 16 + j / 1024."""
    from flax.serialization import msgpack_serialize
    width, heads, size, ffn, vocab, layers = 8, 4, 3, 16, 64, 2
    count = iter(range(1000))

    def matrix(rows, cols):
        k = next(count)
        return (k + numpy.arange(rows)[:, None] / 16 + numpy.arange(cols)[None, :] / 1024).astype(numpy.float32)

    def ones():
        next(count)
        return {"scale": numpy.ones(width, numpy.float32)}

    def attention():
        inner = heads * size
        return {"query": {"kernel": matrix(width, inner)}, "key": {"kernel": matrix(width, inner)},
                "value": {"kernel": matrix(width, inner)}, "out": {"kernel": matrix(inner, width)}}

    def mlp():
        return {"wi_0": {"kernel": matrix(width, ffn)}, "wi_1": {"kernel": matrix(width, ffn)}, "wo": {"kernel": matrix(ffn, width)}}

    def encoder_layer():
        return {"pre_attention_layer_norm": ones(), "attention": attention(), "pre_mlp_layer_norm": ones(), "mlp": mlp()}

    def decoder_layer():
        return {"pre_self_attention_layer_norm": ones(), "self_attention": attention(), "pre_cross_attention_layer_norm": ones(),
                "encoder_decoder_attention": attention(), "pre_mlp_layer_norm": ones(), "mlp": mlp()}

    target = {"token_embedder": {"embedding": matrix(vocab, width)},
              "encoder": {"relpos_bias": {"rel_embedding": matrix(heads, 32)}, "encoder_norm": ones(),
                          **{f"layers_{i}": encoder_layer() for i in range(layers)}},
              "decoder": {"relpos_bias": {"rel_embedding": matrix(heads, 32)}, "decoder_norm": ones(),
                          **{f"layers_{i}": decoder_layer() for i in range(layers)}, "logits_dense": {"kernel": matrix(width, vocab)}}}
    state = {"step": numpy.int32(7), "param_states": {"encoder": {"encoder_norm": {"scale": {
        "m": numpy.zeros(1, numpy.float32), "v": numpy.full(width, 0.25, numpy.float32), "v_col": numpy.zeros(1, numpy.float32),
        "v_row": numpy.zeros(1, numpy.float32)}}}}}
    checkpoint = {"version": 3, "optimizer": {"target": target, "state": state}}
    (folder("t5x") / "checkpoint").write_bytes(msgpack_serialize(checkpoint))


def write_ids(path, encode):
    """A line of JSON for each text: the text and its ids, without special tokens."""
    texts = [*LINES, *list(corpus())[::40]]
    path.write_text("".join(json.dumps({"text": text, "ids": encode(text)}, ensure_ascii=True) + "\n" for text in texts))


def byte_bpe():
    from tokenizers import ByteLevelBPETokenizer
    path = folder("byte-bpe")
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(corpus(), vocab_size=900, min_frequency=2, show_progress=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save_model(str(path))
    tokenizer.save(str(path / "tokenizer.json"))
    vocabulary = json.loads((path / "vocab.json").read_text()) | {"<|endoftext|>": tokenizer.get_vocab_size() - 1}
    (path / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False))
    write_ids(path / "ids.jsonl", lambda text: tokenizer.encode(text).ids)


def wordpiece():
    """tokenizer.json is of the old form, whose model has no type."""
    from tokenizers import BertWordPieceTokenizer
    path = folder("wordpiece")
    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(corpus(), vocab_size=900, min_frequency=2, show_progress=False)
    tokenizer.save_model(str(path))
    document = json.loads(tokenizer._tokenizer.to_str())
    del document["model"]["type"]
    (path / "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False))
    write_ids(path / "ids.jsonl", lambda text: tokenizer.encode(text, add_special_tokens=False).ids)


def unigram():
    """As T5's, 100 sentinels on top, with a character map of a few rules; tokenizer.json by transformers' converter."""
    import sentencepiece
    from transformers.convert_slow_tokenizer import T5Converter
    path = folder("unigram")
    rules = {"\ufb01": "fi", "\u00bd": "1/2", "e\u0301": "\u00e9", "\u200b": " ", "\t": " "}
    codes = lambda text: " ".join(f"{ord(c):X}" for c in text)
    (path / "rules.tsv").write_text("".join(f"{codes(key)}\t{codes(value)}\n" for key, value in rules.items()))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=corpus(), model_prefix=str(path / "spiece"), vocab_size=900, model_type="unigram", pad_id=0, eos_id=1,
        unk_id=2, bos_id=-1, character_coverage=0.9995, normalization_rule_tsv=str(path / "rules.tsv"), minloglevel=2)
    (path / "spiece.vocab").unlink()
    (path / "rules.tsv").unlink()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path / "spiece.model"))
    slow = types.SimpleNamespace(vocab_file=str(path / "spiece.model"), _extra_ids=100,
                                 convert_tokens_to_ids=processor.piece_to_id)
    converted = T5Converter(slow).converted()
    converted.add_special_tokens([f"<extra_id_{i}>" for i in range(100)])
    converted.save(str(path / "tokenizer.json"), pretty=False)
    write_ids(path / "ids.jsonl", processor.encode)


def spans():
    """Into ids.jsonl: the bytes of the text that each token of a library covers. A part of a character counts as all of it."""
    from tokenizers import BertWordPieceTokenizer, Tokenizer
    byte_level, unigram_json = (Tokenizer.from_file(str(OUT / name / "tokenizer.json")) for name in ("byte-bpe", "unigram"))
    words = BertWordPieceTokenizer(str(OUT / "wordpiece" / "vocab.txt"))
    encode = {"byte-bpe": byte_level.encode, "unigram": lambda text: unigram_json.encode(text, add_special_tokens=False),
              "wordpiece": lambda text: words.encode(text, add_special_tokens=False)}
    for name, encoded in encode.items():
        path = OUT / name / "ids.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:
            text, tokens = record["text"], encoded(record["text"])
            record.pop("spans", None)
            if tokens.ids == record["ids"]:
                record["spans"] = [[len(text[:i].encode()) for i in span] for span in tokens.offsets]
        path.write_text("".join(json.dumps(record, ensure_ascii=True) + "\n" for record in records))


def main():
    for make in (safetensors, tensorboard, megatron, t5x, byte_bpe, wordpiece, unigram, spans):
        make()
    if len(sys.argv) > 2:
        fairseq(pathlib.Path(sys.argv[2]))


main()
