#!/usr/bin/env python3
"""Opens what `loam export --to hf` wrote with transformers (4 or 5): every weight finds its place, nothing is left
over, a forward pass is finite, and the tokenizer gives loam's ids for every line of a text.

    bench/peers/load.py FOLDER [--text FILE] [--loam build/loam]
"""

import argparse
import os
import pathlib
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers


def check_weights(folder):
    model, told = transformers.T5ForConditionalGeneration.from_pretrained(folder, output_loading_info=True)
    left = {key: value for key, value in told.items() if value}
    if left:
        sys.exit(f"{folder}: {left}")
    ids = torch.arange(3, 9)[None]
    logits = model(input_ids=ids, labels=ids).logits
    if not torch.isfinite(logits).all():
        sys.exit(f"{folder}: logits are not finite")
    tied = model.lm_head.weight.data_ptr() == model.shared.weight.data_ptr()
    print(f"weights: {sum(p.numel() for p in model.parameters())} numbers, {'tied' if tied else 'untied'}, all in place")
    return logits


def check_tokenizer(folder, text, loam):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    # In plain text "<unk>" is five characters to SentencePiece and a special token to Hugging Face.
    lines = [line for line in text.read_text().splitlines()
             if line.strip() and not any(special in line for special in tokenizer.all_special_tokens)]
    words = [loam, "tokenizer", "encode", "--model", folder]
    printed = subprocess.run(words, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True).stdout
    ours = [[int(word) for word in line.split()] for line in printed.splitlines()]
    theirs = tokenizer(lines, add_special_tokens=False).input_ids
    differing = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    print(f"tokenizer: {len(lines) - len(differing)} of {len(lines)} lines have the same ids ({type(tokenizer).__name__})")
    for i in differing[:3]:
        first = next((k for k, (a, b) in enumerate(zip(ours[i], theirs[i])) if a != b), 0)
        near = slice(max(first - 3, 0), first + 6)
        print(f"  {lines[i][:60]!r} from token {near.start}\n    loam         {tokenizer.convert_ids_to_tokens(ours[i][near])}"
              f"\n    transformers {tokenizer.convert_ids_to_tokens(theirs[i][near])}")
    return not differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--loam", default="build/loam")
    args = parser.parse_args()
    print(f"transformers {transformers.__version__}")
    check_weights(args.folder)
    if args.text and not check_tokenizer(args.folder, args.text, args.loam):
        sys.exit(1)


if __name__ == "__main__":
    main()
