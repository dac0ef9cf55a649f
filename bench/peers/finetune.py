#!/usr/bin/env python3
"""Examples per second of fine-tuning: loam, which packs examples, beside Hugging Face's Trainer, which pads each batch to
its longest example, in turns in one run; prints a table.

    bench/peers/finetune.py [--data TASKS] [--models bert,t5] [--tasks rte,sst2] [--dtypes f32,bf16] [--rounds 2]

Both train the same model (the shape of BERT-base or of T5-small, random weights from one folder) with the same tokenizer on
the same examples, cut at the same length, for one epoch by AdamW at the same rate with dropout 0.1, with as many examples a step
on average. BERT learns the class of a text or a pair, T5 writes it. Time is that of the training loop alone, its data
included: train_runtime of the Trainer, wall_s of loam. TASKS has rte/train.tsv and sst2/train.tsv with a line of column
names; without it made-up texts of such lengths are used. bf16 is autocast in PyTorch. Needs torch, transformers (4 or 5),
accelerate and, for T5, sentencepiece.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from names import names

SHAPES = {
    "bert": dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072),
    "t5": dict(d_model=512, d_kv=64, d_ff=2048, num_heads=8, num_layers=6, num_decoder_layers=6),
}
CLASSES = {"rte": ["not_entailment", "entailment"], "sst2": ["negative", "positive"]}
WORDS = {"rte": (44, 12), "sst2": (9, 0)}  # of made-up texts, about as many as the first and the second text of a task have
ROW, TARGET = {"bert": 256, "t5": 512}, 32  # tokens of a packed sequence, and of its targets: of each example at most 8


# ---- the examples ----

def made_up(task, n):
    draw = random.Random(5)
    words = ["".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(draw.randint(1, 4))) for _ in range(2000)]
    text = lambda mean: " ".join(draw.choice(words) for _ in range(max(3, int(draw.lognormvariate(math.log(mean), 0.6)))))
    first, second = WORDS[task]
    return [(text(first), text(second) if second else None, draw.choice(CLASSES[task])) for _ in range(n)]


def examples_of(args, task):
    if args.data is None:
        return made_up(task, args.examples)
    with open(pathlib.Path(args.data) / task / "train.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[: args.examples]
    name = lambda label: CLASSES[task][int(label)] if label in ("0", "1") else label
    if task == "rte":
        return [(row["sentence1"], row["sentence2"], name(row["label"])) for row in rows]
    return [(row["sentence"], None, name(row["label"])) for row in rows]


def source_of(model, task, first, second):
    """What a T5 reads; a BERT reads a text or a pair."""
    if model == "bert":
        return first
    return f"rte sentence1: {first} sentence2: {second}" if second else f"sst2 sentence: {first}"


def write_table(folder, model, task, examples):
    with open(folder / "examples.jsonl", "w", encoding="utf-8") as file:
        for first, second, label in examples:
            row = {"text": source_of(model, task, first, second), "label": label}
            file.write(json.dumps(row | ({"second": second} if second and model == "bert" else {})) + "\n")


# ---- the model's folder ----

def train_tokenizer(args, folder, model):
    with open(folder / "examples.jsonl", encoding="utf-8") as file, open(folder / "corpus.txt", "w", encoding="utf-8") as corpus:
        for row in map(json.loads, file):
            corpus.write(row["text"] + "\n" + row.get("second", "") + "\n" + row["label"] + "\n")
    kind = ["wordpiece", "--for", "bert"] if model == "bert" else ["unigram", "--for", "t5"]
    out = folder / ("tok" if model == "bert" else "spiece.model")
    for size in (args.vocab, 1000, 200):  # a small slice has few pieces
        ran = subprocess.run([args.loam, "tokenizer", "train", "--type", *kind, "--vocab-size", str(size), "--out", str(out),
                              str(folder / "corpus.txt")], capture_output=True, text=True)
        if ran.returncode == 0:
            return out
    raise RuntimeError(ran.stderr.strip().splitlines()[-1])


def build(args, folder, model, tokenizer_path):
    """loam writes the folder once more, with a tokenizer.json that gives its own ids."""
    import torch
    import transformers as hf

    torch.manual_seed(1)
    if model == "bert":
        tokenizer = hf.AutoTokenizer.from_pretrained(tokenizer_path)
        config = hf.BertConfig(vocab_size=len(tokenizer), **SHAPES[model])
        built = hf.BertModel(config)
    else:
        tokenizer = hf.T5TokenizerFast(vocab_file=str(tokenizer_path), extra_ids=100)
        config = hf.T5Config(vocab_size=-(-len(tokenizer) // 128) * 128, dropout_rate=0.1, decoder_start_token_id=0, **SHAPES[model])
        built = hf.T5ForConditionalGeneration(config)
    built.save_pretrained(folder / "first")
    tokenizer.save_pretrained(folder / "first")
    subprocess.run([args.loam, "export", str(folder / "first"), "--to", "hf", "--out", str(folder / "model")], check=True,
                   capture_output=True)
    return hf.AutoTokenizer.from_pretrained(folder / "model")


# ---- the Trainer, in a process of its own ----

def train_peer(folder, model, task, dtype, batch, rate, length, threads):
    import torch
    import transformers as hf

    torch.set_num_threads(threads)
    tokenizer = hf.AutoTokenizer.from_pretrained(folder / "model")
    rows = [json.loads(line) for line in open(folder / "examples.jsonl", encoding="utf-8")]

    def features(row):
        pair = [row["second"]] if "second" in row else []
        given = tokenizer(row["text"], *pair, truncation="longest_first" if pair else True, max_length=length)
        given["labels"] = CLASSES[task].index(row["label"]) if model == "bert" else tokenizer(row["label"]).input_ids
        return given

    data = [dict(features(row)) for row in rows]
    if model == "bert":
        built = hf.AutoModelForSequenceClassification.from_pretrained(folder / "model", num_labels=2)
        collator = hf.DataCollatorWithPadding(tokenizer)
    else:
        built = hf.T5ForConditionalGeneration.from_pretrained(folder / "model")
        collator = hf.DataCollatorForSeq2Seq(tokenizer, built)
    options = hf.TrainingArguments(output_dir=str(folder / "trainer"), per_device_train_batch_size=batch, num_train_epochs=1,
                                   learning_rate=rate, weight_decay=0.0, max_grad_norm=1.0, lr_scheduler_type="linear", seed=7,
                                   bf16=dtype == "bf16", use_cpu=True, save_strategy="no", report_to=[], logging_strategy="no",
                                   disable_tqdm=True, dataloader_num_workers=0, remove_unused_columns=False)
    told = hf.Trainer(model=built, args=options, train_dataset=data, data_collator=collator).train()
    return {"seconds": told.metrics["train_runtime"], "loss": told.metrics["train_loss"], "versions":
            f"torch {torch.__version__}, transformers {hf.__version__}"}


# ---- turns ----

def run_peer(args, folder, model, task, dtype, _):
    words = [sys.executable, __file__, "--serve", f"{folder},{model},{task},{dtype}", "--batch", str(args.batch), "--rate",
             str(args.rate), "--length", str(args.length), "--threads", str(args.threads)]
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError((ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1])
    return json.loads(ran.stdout.strip().splitlines()[-1])


def run_loam(args, folder, model, task, dtype, rows):
    run = tempfile.mkdtemp(prefix="run-", dir=folder)
    second = "second" in json.loads(open(folder / "examples.jsonl", encoding="utf-8").readline())
    learns = ["task.label={label}", "task.labels=" + ",".join(CLASSES[task])] + (["task.second={second}"] if second else []) \
        if model == "bert" else ["task.target={label}", f"data.target_length={rows[1]}"]
    words = [args.loam, "train", f"run.dir={run}/run", f"train.init={folder}/model", f"task.data={folder}/examples.jsonl",
             "task.input={text}", *learns, f"data.input_length={ROW[model]}", f"train.batch={rows[0]} samples",
             f"train.micro_batch={min(rows[0], 8)} samples", "train.length=1 epochs", "train.eval_every=0", "train.log_every=1000000",
             "optim.name=adamw", f"optim.lr={args.rate}", "optim.warmup=0", "optim.schedule=linear", "optim.weight_decay=0",
             "optim.clip_norm=1", f"train.precision={dtype}", f"train.threads={args.threads}"]
    open(f"{run}/empty.yaml", "w").close()
    ran = subprocess.run(words[:2] + [f"{run}/empty.yaml"] + words[2:], capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip().splitlines()[-1])
    records = [json.loads(line) for line in open(f"{run}/run/metrics.jsonl", encoding="utf-8")]
    trained = [record for record in records if record["kind"] == "train"]
    return {"seconds": trained[-1]["wall_s"], "loss": trained[-1]["loss"], "fill": trained[-1]["fill"], "steps": trained[-1]["step"]}


def rows_of(args, folder, model, tokenizer):
    """Packed sequences of a step that hold args.batch examples on average, and tokens of their targets: in a T5's as
    many as the inputs of a packed sequence need."""
    examples = [json.loads(line) for line in open(folder / "examples.jsonl", encoding="utf-8")]
    lengths = [min(args.length, len(tokenizer(row["text"], *([row["second"]] if "second" in row else [])).input_ids))
               for row in examples]
    targets = max(len(tokenizer(row["label"]).input_ids) for row in examples)
    each = ROW[model] / statistics.mean(lengths)
    return max(1, round(args.batch / (0.97 * each))), 8 * math.ceil(each * 1.3 * targets / 8)


def measure(args, model, task, dtype, facts):
    with tempfile.TemporaryDirectory(prefix="finetune-", dir=args.scratch) as name:
        folder = pathlib.Path(name)
        write_table(folder, model, task, examples_of(args, task))
        tokenizer = build(args, folder, model, train_tokenizer(args, folder, model))
        rows, n = rows_of(args, folder, model, tokenizer), sum(1 for _ in open(folder / "examples.jsonl", encoding="utf-8"))
        rates = {"Trainer": [], "loam": []}
        for turn in range(args.rounds):
            for peer, run in (("Trainer", run_peer), ("loam", run_loam)):
                told = run(args, folder, model, task, dtype, rows)
                rates[peer].append(n / told["seconds"])
                facts[peer] = told
                said = ", ".join(f"{key} {value:.3g}" for key, value in told.items() if not isinstance(value, str))
                print(f"{model} {task} {dtype} {peer}, turn {turn + 1}: {rates[peer][-1]:.1f} examples/s ({said})", file=sys.stderr,
                      flush=True)
        return rates


def cell(found):
    return f"{statistics.median(found):.1f}" + (f" ({min(found):.1f} to {max(found):.1f})" if len(found) > 1 else "")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    parser.add_argument("--data", help="folder of the tasks' files; without it made-up examples")
    parser.add_argument("--models", type=names(list(SHAPES)), default=list(SHAPES))
    parser.add_argument("--tasks", type=names(list(CLASSES)), default=list(CLASSES))
    parser.add_argument("--dtypes", type=names(["f32", "bf16"]), default=["f32"])
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--examples", type=int, default=256, help="the first so many of each task")
    parser.add_argument("--batch", type=int, default=32, help="examples of a step")
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate")
    parser.add_argument("--length", type=int, default=256, help="most tokens of an example")
    parser.add_argument("--vocab", type=int, default=4000, help="of the tokenizer, which is trained on the examples")
    parser.add_argument("--rounds", type=int, default=2, help="turns of both; the median counts")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--scratch", help="folder for models and runs, which are removed")
    parser.add_argument("--tiny", action="store_true", help="models of two blocks: to try the script")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    args = arguments()
    args.loam = os.path.abspath(args.loam)
    if args.serve:
        folder, model, task, dtype = args.serve.split(",")
        told = train_peer(pathlib.Path(folder), model, task, dtype, args.batch, args.rate, args.length, args.threads)
        print(json.dumps(told))
        return
    if args.tiny:
        SHAPES["bert"] |= dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128)
        SHAPES["t5"] |= dict(d_model=64, d_kv=16, d_ff=128, num_heads=4, num_layers=2, num_decoder_layers=2)
    lines, facts = [], {}
    for dtype in args.dtypes:
        for model in args.models:
            for task in args.tasks:
                rates = measure(args, model, task, dtype, facts)
                ratio = statistics.median(rates["loam"]) / statistics.median(rates["Trainer"])
                lines.append(f"| {model}, {task}, {dtype} | {cell(rates['Trainer'])} | {cell(rates['loam'])} | {ratio:.2f} |")
    print("\n| examples/s | Trainer, padded | loam, packed | loam / Trainer |\n|---|---|---|---|\n" + "\n".join(lines))
    print(f"\nmedian (least to most) of {args.rounds} turns over {args.examples} examples at most, {args.batch} a step; {args.threads} "
          f"threads, {facts['Trainer']['versions']}" + time.strftime(", %d %B %Y"))


if __name__ == "__main__":
    main()
