#!/usr/bin/env python3
"""Prints tests/golden/hf-defaults.json: all keys of config.json of each family that loam reads, with the defaults of
transformers' class. Stored with transformers 5.24.0. No build and no test needs it."""
import json

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

FAMILIES = ["t5", "mt5", "umt5", "bert", "roberta", "modernbert", "gpt2", "xglm", "llama", "qwen3"]
LEFT_OUT = ["model_type", "_name_or_path"]
print("{" + ",\n".join(f"{json.dumps(name)}: " + json.dumps({key: value for key, value in CONFIG_MAPPING[name]().to_dict().items()
                                                           if key not in LEFT_OUT}) for name in FAMILIES) + "}")
