#!/usr/bin/env python3
"""Writes tests/golden/parquet: small files of Parquet, and what pyarrow reads from them as JSON lines. Needed by no
build and no test: the files are in the repository.

    tools/make-parquet.py tests/golden/parquet [tests/fuzz/seeds/parquet]

- matrix-CODEC-VERSION.parquet: every encoding of every type, as required, nullable and list column; matrix.jsonl
- types.parquet: logical types, structs, maps, lists of lists; types.jsonl
- old.parquet: what pyarrow reads and does not write: lists of two levels, repeated fields, BIT_PACKED levels, lz4 as
  Hadoop frames it; old.jsonl
- long.parquet: a header with statistics of more than 4 KiB; long.jsonl
- bad.parquet: texts that are not UTF-8, have a NUL, or are long
- in the second folder: files of few bytes, for tests/fuzz

The stored files were made with pyarrow 26.0.1.
"""

import argparse
import datetime
import decimal
import json
import math
import pathlib
import struct
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 14
WORDS = ["the whale", "", "Élan", "鯨", "the whales", "the", "море", "ahoy", "the whale"]


def value(kind, i):
    """Value i of a column of this kind."""
    if kind == "text":
        return WORDS[i % len(WORDS)] + ("" if i % 4 else str(i))
    if kind == "fixed":
        return b"%04d" % (i * 37 % 101)
    if kind in ("int32", "int64"):
        return (i * 7919 % 1009 - 500) * (1 if kind == "int32" else 10**13)
    if kind in ("float", "double"):
        return [0.5, -1.25, 3e30, float("inf"), 1 / 3][i % 5]
    return i % 3 == 0


TYPES = {"text": pa.string(), "fixed": pa.binary(4), "int32": pa.int32(), "int64": pa.int64(), "float": pa.float32(),
         "double": pa.float64(), "bool": pa.bool_()}
ENCODINGS = {"text": ["PLAIN", "DICT", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
             "fixed": ["PLAIN", "DICT", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"],
             "int32": ["PLAIN", "DICT", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
             "int64": ["PLAIN", "DICT", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
             "float": ["PLAIN", "DICT", "BYTE_STREAM_SPLIT"],
             "double": ["PLAIN", "BYTE_STREAM_SPLIT"],
             "bool": ["PLAIN", "RLE"]}


def matrix():
    """The columns of the matrix, and the encoding of each."""
    columns, fields, encodings = [], [], {}
    for kind, names in ENCODINGS.items():
        for encoding in names:
            for shape in ("required", "nullable", "list"):
                name = f"{kind}_{encoding.lower()}_{shape}"
                values = [value(kind, i) for i in range(ROWS)]
                if shape == "nullable":
                    values = [None if i % 5 in (1, 2) else v for i, v in enumerate(values)]
                if shape == "list":
                    values = [None if i % 6 == 4 else [None if k == 2 else value(kind, i + k) for k in range(i % 4)]
                              for i in range(ROWS)]
                of = pa.list_(TYPES[kind]) if shape == "list" else TYPES[kind]
                fields.append(pa.field(name, of, nullable=shape != "required"))
                columns.append(pa.array(values, of))
                encodings[name + (".list.element" if shape == "list" else "")] = encoding
    return pa.table(columns, schema=pa.schema(fields)), encodings


def types():
    """Logical types, and values within each other."""
    instant = datetime.datetime(2026, 1, 31, 12, 30, 5, 123456)
    rows = {
        "date": (pa.date32(), [datetime.date(2026, 2, 28), None, datetime.date(1, 1, 1), datetime.date(1969, 12, 31)]),
        "milliseconds": (pa.timestamp("ms", "UTC"), [0, -1, None, 1769862605123]),
        "microseconds": (pa.timestamp("us"), [instant, None, datetime.datetime(1600, 2, 29), instant]),
        "nanoseconds": (pa.timestamp("ns"), [1, None, -(2**63), -1]),
        "time": (pa.time64("us"), [datetime.time(23, 59, 59, 999999), None, datetime.time(0), datetime.time(1, 2, 3)]),
        "decimal": (pa.decimal128(20, 4), [decimal.Decimal("-0.0001"), None, decimal.Decimal("12"),
                                           decimal.Decimal("9999999999999999.9999")]),
        "small_decimal": (pa.decimal128(5, 2), [decimal.Decimal("-1.50"), None, decimal.Decimal("0"),
                                                decimal.Decimal("999.99")]),
        "large_decimal": (pa.decimal256(60, 0), [decimal.Decimal(-(10**59)), None, decimal.Decimal(2**190), 1]),
        "uint8": (pa.uint8(), [255, None, 0, 1]),
        "uint32": (pa.uint32(), [2**32 - 1, None, 0, 1]),
        "uint64": (pa.uint64(), [2**64 - 1, None, 0, 2**63 - 1]),
        "half": (pa.float16(), [0.5, None, float("nan"), float("-inf")]),
        "double": (pa.float64(), [float("nan"), None, float("inf"), -0.0]),
        "uuid": (pa.uuid(), [uuid.UUID(int=1).bytes, None, uuid.UUID(int=2**127 + 7).bytes, uuid.UUID(int=5).bytes]),
        "json": (pa.string(), ['{"a": 1}', None, "[]", "7"]),
        "nothing": (pa.null(), [None] * 4),
        "bytes": (pa.binary(), [b"plain", None, b"", b"bytes"]),
        "category": (pa.dictionary(pa.int8(), pa.string()), ["cat", None, "dog", "cat"]),
        "answers": (pa.struct([("text", pa.list_(pa.string())), ("answer_start", pa.list_(pa.int32()))]),
                    [{"text": ["a", "b"], "answer_start": [1, 2]}, None, {"text": [], "answer_start": None},
                     {"text": ["c"], "answer_start": [None]}]),
        "turns": (pa.list_(pa.struct([("role", pa.string()), ("words", pa.list_(pa.string()))])),
                  [[{"role": "user", "words": ["hi", None]}, {"role": None, "words": None}], None, [],
                   [None, {"role": "bot", "words": []}]]),
        "lists": (pa.list_(pa.list_(pa.int64())), [[[1, 2], [], None, [3]], None, [], [[None]]]),
        "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1), ("b", None)], None, [], [("c", 3)]]),
        "numbered": (pa.map_(pa.int32(), pa.list_(pa.string())), [[(7, ["x", "y"])], None, [], [(8, None), (9, [])]]),
    }
    return pa.table({name: pa.array(values, of) for name, (of, values) in rows.items()})


# ---- what loam makes of a value ----


def plain(of, v):
    if isinstance(of, pa.BaseExtensionType):
        return str(uuid.UUID(bytes=v.value.as_py())) if v.is_valid else None
    if not v.is_valid:
        return None
    if pa.types.is_struct(of):
        return {field.name: plain(field.type, v[field.name]) for field in of}
    if pa.types.is_map(of):
        pairs = [(plain(of.key_type, pair["key"]), plain(of.item_type, pair["value"])) for pair in v.values]
        return {key if isinstance(key, str) else json.dumps(key): item for key, item in pairs}
    if pa.types.is_list(of):
        return [plain(of.value_type, item) for item in v.values]
    if pa.types.is_timestamp(of):
        return timestamp(v.value, of)
    x = v.as_py()
    if isinstance(x, (datetime.date, datetime.time)):
        return x.isoformat()
    if isinstance(x, decimal.Decimal):
        return format(x, "f")
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, float):
        return None if math.isnan(x) else x if math.isfinite(x) else "Infinity" if x > 0 else "-Infinity"
    return str(x) if isinstance(x, int) and x >= 2**63 else x


def timestamp(units, of):
    """As isoformat of datetime, and of pandas for nanoseconds."""
    in_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[of.unit]
    seconds, rest = divmod(units, in_second)
    text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)).isoformat()
    nanoseconds = rest * (10**9 // in_second)
    if nanoseconds % 1000:
        text += f".{nanoseconds:09d}"
    elif nanoseconds:
        text += f".{nanoseconds // 1000:06d}"
    return text + ("+00:00" if of.tz else "")


def write_answers(parquet, path, **right):
    """right: values of columns that pyarrow reads against the specification."""
    table = pq.read_table(parquet)
    for name, values in right.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    with open(path, "w", encoding="utf-8") as out:
        for i in range(table.num_rows):
            row = {name: plain(column.type, column[i]) for name, column in zip(table.column_names, table.columns)}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


# ---- files that pyarrow does not write ----


class Compact:
    """Thrift's compact protocol: a struct is a list of (id, type, value)."""

    @staticmethod
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    @classmethod
    def of(cls, kind, v):
        if kind in ("i32", "i64"):
            return cls.varint(v << 1 if v >= 0 else (-v << 1) - 1)
        if kind == "text":
            return cls.varint(len(v)) + v
        if kind == "struct":
            return cls.struct(v)
        of, items = v  # a list
        codes = {"i32": 5, "text": 8, "struct": 12}
        head = bytes([len(items) << 4 | codes[of]]) if len(items) < 15 else bytes([0xF0 | codes[of]]) + cls.varint(
            len(items))
        return head + b"".join(cls.of(of, item) for item in items)

    @classmethod
    def struct(cls, fields):
        codes = {"i32": 5, "i64": 6, "text": 8, "list": 9, "struct": 12}
        out, last = b"", 0
        for number, kind, v in fields:
            out += bytes([(number - last) << 4 | codes[kind]]) + cls.of(kind, v)
            last = number
        return out + b"\0"


def element(name, physical=None, repetition=None, children=None, converted=None):
    fields = [(1, "i32", physical), (3, "i32", repetition), (4, "text", name.encode()), (5, "i32", children),
              (6, "i32", converted)]
    return [field for field in fields if field[2] is not None]


def rle(levels, width):
    """One run per level, after their length."""
    out = b"".join(b"\2" + bytes([level]) for level in levels)
    return struct.pack("<I", len(out)) + out


def bit_packed(levels, width):
    """From the highest bit of each byte."""
    bits = "".join(format(level, f"0{width}b") for level in levels)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


INT32, REPEATED, OPTIONAL, REQUIRED, LIST = 1, 2, 1, 0, 3


def write_old(path):
    """Columns of INT32, each with its nodes, levels (repetition, definition, their encoding) and values."""
    columns = [
        ("two_levels", [element("two_levels", None, OPTIONAL, 1, LIST), element("array", INT32, REPEATED)],
         rle([0, 1, 0, 0, 0, 1], 1) + rle([2, 2, 0, 1, 2, 2], 2), 3, [1, 2, 3, 4], 6),
        ("repeated", [element("repeated", INT32, REPEATED)],
         rle([0, 0, 1, 1, 0, 0], 1) + rle([0, 1, 1, 1, 1, 0], 1), 3, [5, 6, 7, 8], 6),
        ("packed", [element("packed", INT32, OPTIONAL)], bit_packed([1, 0, 1, 1], 1), 4, [9, -10, 11], 4),
        ("hadoop", [element("hadoop", INT32, REQUIRED)], b"", 3, [12, 13, 14, 15], 4)]
    body, chunks = b"PAR1", []
    for name, nodes, levels, encoding, values, entries in columns:
        page = levels + struct.pack(f"<{len(values)}i", *values)
        packed, codec = page, 0
        if name == "hadoop":  # two blocks, as Hadoop cuts them
            packed, codec = b"", 5
            for block in (page[:8], page[8:]):
                raw = pa.Codec("lz4_raw").compress(block, asbytes=True)
                packed += struct.pack(">II", len(block), len(raw)) + raw
        header = Compact.struct([(1, "i32", 0), (2, "i32", len(page)), (3, "i32", len(packed)),
                                 (5, "struct", [(1, "i32", entries), (2, "i32", 0), (3, "i32", encoding),
                                                (4, "i32", encoding)])])
        path_in_schema = [node[[f[0] for f in node].index(4)][2] for node in nodes]
        chunks.append([(2, "i64", len(body)), (3, "struct", [
            (1, "i32", INT32), (2, "list", ("i32", [0, encoding])), (3, "list", ("text", path_in_schema)),
            (4, "i32", codec), (5, "i64", entries), (6, "i64", len(header) + len(page)),
            (7, "i64", len(header) + len(packed)), (9, "i64", len(body))])])
        body += header + packed
    schema = [element("schema", children=len(columns))] + [node for column in columns for node in column[1]]
    footer = Compact.struct([(1, "i32", 1), (2, "list", ("struct", schema)), (3, "i64", 4),
                             (4, "list", ("struct", [[(1, "list", ("struct", chunks)), (2, "i64", len(body)),
                                                      (3, "i64", 4)]]))])
    path.write_bytes(body + footer + struct.pack("<I", len(footer)) + b"PAR1")


def write_seeds(folder):
    """One small file per codec and version, with encodings that the others lack."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "old").write_bytes((folder.parents[2] / "golden/parquet/old.parquet").read_bytes())
    encodings = ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
    texts = ["one", None, "one two", "one"]
    for i, codec in enumerate(["none", "snappy", "gzip", "brotli", "lz4", "zstd"]):
        table = pa.table({"text": texts, "n": pa.array([1, 2, None, 4], pa.int32()),
                          "list": [["a"], [], None, ["b", None]],
                          "d": pa.array([decimal.Decimal("1.5"), None, None, decimal.Decimal("-2")],
                                        pa.decimal128(3, 1)) if i % 2 else pa.array([True, None, False, True]),
                          "t": pa.array([1, None, 3, 4], pa.timestamp("us"))})
        pq.write_table(table, folder / codec, compression=codec, data_page_version=["1.0", "2.0"][i // 3],
                       use_dictionary=["t"], write_statistics=False, store_schema=False, row_group_size=3,
                       column_encoding={"text": encodings[i % 3], "list.list.element": encodings[i % 3],
                                        "n": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"][i % 2],
                                        **({} if i % 2 else {"d": "RLE"})})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("seeds", type=pathlib.Path, nargs="?")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    table, encodings = matrix()
    for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
        for version in ("1.0", "2.0"):
            path = folder / f"matrix-{codec}-{version[0]}.parquet"
            pq.write_table(table, path, compression=codec, data_page_version=version, row_group_size=9,
                           write_batch_size=4, data_page_size=1, write_statistics=False, store_schema=False,
                           write_page_checksum=version == "2.0",
                           use_dictionary=[name for name, encoding in encodings.items() if encoding == "DICT"],
                           column_encoding={name: encoding for name, encoding in encodings.items()
                                            if encoding != "DICT"})
    write_answers(path, folder / "matrix.jsonl")
    pq.write_table(types(), folder / "types.parquet", compression="snappy", version="2.6")
    write_answers(folder / "types.parquet", folder / "types.jsonl")
    write_old(folder / "old.parquet")
    # pyarrow takes BIT_PACKED levels from the lowest bit.
    write_answers(folder / "old.parquet", folder / "old.jsonl", packed=[9, None, -10, 11])
    pq.write_table(pa.table({"text": [b"good", b"caf\xe9", b"a\0b", b"x" * 1001, b"last"], "label": list("abaab")}),
                   folder / "bad.parquet", compression="none")
    pq.write_table(pa.table({"text": ["a" * 2100, "b" * 2100]}), folder / "long.parquet", use_dictionary=False)
    write_answers(folder / "long.parquet", folder / "long.jsonl")
    if arguments.seeds:
        write_seeds(arguments.seeds)


if __name__ == "__main__":
    main()
