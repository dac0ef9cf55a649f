#!/usr/bin/env python3
"""Trains the same model from the same weights on the same batches with loam and with PyTorch, without dropout, and
compares the loss of every step: in f32 between the two, with --bf16 between bf16 and f32 of each. T5, BERT, ModernBERT,
GPT-2 and Llama, as CONFIG says; on a task too (curve-task.yaml), as text or by a class of each text.

    bench/peers/curve.py CONFIG [--steps 200] [--model HF-FOLDER] [--out DIR] [--loam build/loam] [group.key=value ...]

Without --model the weights are loam's initialization under CONFIG, exported. Both sides take AdamW (0.9, 0.999, 1e-8),
a linear warm-up and then a constant rate, and clip at 1. Ends with status 1 if any step's loss differs by more than
--tolerance (relative). At high rates training magnifies rounding; --spread trains PyTorch a second time with
microbatches of one sample and says how far it then is from itself, --truth trains it in double precision and says how
far both are from that (T5, BERT, GPT-2).

With --bf16 both train in bf16 too, loam with train.precision=bf16 and each --variant, PyTorch under autocast with f32
weights. The status is then 1 if loam's mean deviation of bf16 from f32 is more than --ratio times PyTorch's. --keep
FILE writes the curves as JSON, those of --bf16 for bench/peers/curve_picture.py. Needs torch and transformers (4 or 5).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers

from torch_models import adamw, double_precision, load, train_step


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("overrides", nargs="*", help="group.key=value, given to loam")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--model", help="a Hugging Face folder to start from")
    parser.add_argument("--out", help="keep the runs here")
    parser.add_argument("--loam", default="build/loam")
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--micro", type=int, default=8, help="samples PyTorch computes at once")
    parser.add_argument("--spread", action="store_true", help="compare PyTorch with itself as well")
    parser.add_argument("--truth", action="store_true", help="compare both with PyTorch in double precision")
    parser.add_argument("--threads", type=int, default=0, help="0: every core")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--bf16", action="store_true", help="compare bf16 with f32, in loam and in PyTorch")
    parser.add_argument("--variant", action="append", default=[], metavar="KEY=VALUE[,KEY=VALUE]",
                        help="with --bf16: loam trains in bf16 with these options as well")
    parser.add_argument("--ratio", type=float, default=1.25)
    parser.add_argument("--keep", metavar="FILE", help="write the curves as JSON")
    return parser.parse_intermixed_args()


def loam(args, *words):
    done = subprocess.run([args.loam, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(done.args)}\n{done.stderr}")
    return done.stdout


def settings(args, **more):
    fixed = {"model.dropout": 0, "train.precision": "f32", "train.log_every": "1 steps", "train.eval_every": 0,
             "train.save_every": 0, "train.threads": args.threads, "optim.name": "adamw", "optim.lr": args.lr,
             "optim.schedule": "constant", "optim.warmup": f"{args.warmup} steps", "optim.clip_norm": 1.0,
             "optim.beta1": 0.9, "optim.beta2": 0.999, "optim.eps": 1e-8, "optim.weight_decay": args.weight_decay,
             "optim.decay": "matrices", "train.label_smoothing": 0, "train.z_loss": 0, "train.scores": "false"} | more
    return args.overrides + [f"{key}={value}" for key, value in fixed.items()]


def initial_weights(args, out):
    """A step at rate 0 leaves the initialization as it was."""
    loam(args, "train", args.config,
         *settings(args, **{"run.dir": out / "initial", "train.length": "1 steps", "optim.lr": 0}))
    loam(args, "export", out / "initial", "--to", "hf", "--out", out / "hf")
    return out / "hf"


def losses_of_loam(args, out, model, name="run", **more):
    run = settings(args, **{"run.dir": out / name, "train.length": f"{args.steps} steps", "train.init": model} | more)
    loam(args, "train", args.config, *run)
    lines = [json.loads(line) for line in (out / name / "metrics.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["loss"] for line in lines if line["kind"] == "train"}
    return [losses[step] for step in range(1, args.steps + 1)]


def batches(args, run):
    """Every sample of every step of a run, in order; steps count from 1."""
    show = lambda step: loam(args, "inspect", "batch", run, "--step", step, "--json")
    return [[json.loads(line) for line in show(step).splitlines()] for step in range(1, args.steps + 1)]


def losses_of_torch(args, folder, steps, micro, dtype=torch.float32, autocast=False):
    model = load(folder, dtype)
    optimizer = adamw(model, args.lr, args.weight_decay)
    losses = []
    for step, samples in enumerate(steps, start=1):
        rate = args.lr * min(1, step / args.warmup) if args.warmup else args.lr
        losses.append(train_step(model, optimizer, samples, micro, rate, autocast=autocast))
        if sys.stderr.isatty():
            print(f"\rPyTorch step {step}/{args.steps}", end="", file=sys.stderr)
    return losses


def largest(ours, theirs):
    """The largest relative deviation and its step."""
    return max((abs(a / b - 1), step) for step, (a, b) in enumerate(zip(ours, theirs, strict=True), start=1))


def bf16_curves(args, out, folder, steps, ours):
    """Every curve by its name: {"loam bf16": losses, …}."""
    curves = {"loam f32": ours,
              "loam bf16": losses_of_loam(args, out, folder, "bf16", **{"train.precision": "bf16"})}
    for variant in args.variant:
        options = dict(part.split("=", 1) for part in variant.split(","))
        curves[f"loam bf16 {variant}"] = losses_of_loam(args, out, folder, f"bf16-{variant}",
                                                        **{"train.precision": "bf16"} | options)
    curves["PyTorch f32"] = losses_of_torch(args, folder, steps, args.micro)
    curves["PyTorch bf16"] = losses_of_torch(args, folder, steps, args.micro, autocast=True)
    return curves


def deviation(losses, base):
    """The mean relative deviation of one curve from another."""
    return sum(abs(a / b - 1) for a, b in zip(losses, base, strict=True)) / len(base)


def report_bf16(curves):
    """Prints how far each bf16 curve is from its program's f32 curve; the mean deviation of each."""
    means, tenth = {}, max(len(curves["loam f32"]) // 10, 1)
    print(f"{'deviation from f32':38s}  all steps, mean  largest, at step  first tenth, mean  last tenth, of the mean loss")
    for name, losses in curves.items():
        base = curves[name.split()[0] + " f32"]
        if losses is base:
            continue
        means[name], (away, step) = deviation(losses, base), largest(losses, base)
        print(f"{name:38s}  {means[name]:15.1e}  {away:8.1e}, {step:6d}  {deviation(losses[:tenth], base[:tenth]):17.1e}  "
              f"{sum(losses[-tenth:]) / sum(base[-tenth:]) - 1:+.1e}")
    print("mean loss of the last tenth: " +
          ", ".join(f"{name} {sum(losses[-tenth:]) / tenth:.4f}" for name, losses in curves.items()))
    return means


def main():
    args = arguments()
    if args.threads:
        torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(args.out or scratch)
        folder = args.model or initial_weights(args, out)
        ours = losses_of_loam(args, out, folder)
        steps = batches(args, out / "run")
        if args.bf16:
            curves = bf16_curves(args, out, folder, steps, ours)
            if args.keep:
                pathlib.Path(args.keep).write_text(json.dumps(curves))
            means = report_bf16(curves)
            print(f"torch {torch.__version__}, transformers {transformers.__version__}")
            sys.exit(means["loam bf16"] > args.ratio * means["PyTorch bf16"])
        theirs = losses_of_torch(args, folder, steps, args.micro)
        if args.keep:
            pathlib.Path(args.keep).write_text(json.dumps({"loam": ours, "PyTorch": theirs}) + "\n")
        again = losses_of_torch(args, folder, steps, 1) if args.spread else None
        truth = None
        if args.truth:
            with double_precision():
                truth = losses_of_torch(args, folder, steps, args.micro, torch.float64)
    shown = {1, 2, 5, *range(10, args.steps, max(args.steps // 10, 1)), args.steps}
    for step in sorted(step for step in shown if step <= args.steps):
        a, b = ours[step - 1], theirs[step - 1]
        print(f"step {step:4d}  loam {a:.7f}  PyTorch {b:.7f}  {abs(a / b - 1):.1e}")
    if again:
        print("PyTorch from itself with other microbatches: {:.2e} at step {}".format(*largest(again, theirs)))
    if truth:
        print("loam from double precision: {:.2e} at step {}".format(*largest(ours, truth)))
        print("PyTorch from double precision: {:.2e} at step {}".format(*largest(theirs, truth)))
    away, step = largest(ours, theirs)
    print(f"largest deviation over {args.steps} steps: {away:.2e} at step {step} "
          f"(torch {torch.__version__}, transformers {transformers.__version__})")
    sys.exit(away > args.tolerance)


if __name__ == "__main__":
    main()
