#!/usr/bin/env python3
"""Prints tests/golden/hf-defaults.json: all keys of config.json of each family that tests/parity has a model of, with
the defaults of transformers' class. Stored with transformers 5.24.0. No build and no test needs it."""
import json
import pathlib

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

PARITY = pathlib.Path(__file__).resolve().parent.parent / "tests" / "parity"
FAMILIES = sorted({json.loads(path.read_text())["model_type"] for path in PARITY.glob("*/config.json")})
LEFT_OUT = ["model_type", "_name_or_path"]
print("{" + ",\n".join(f"{json.dumps(name)}: " + json.dumps({key: value for key, value in CONFIG_MAPPING[name]().to_dict().items()
                                                           if key not in LEFT_OUT}) for name in FAMILIES) + "}")
