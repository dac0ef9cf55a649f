#!/bin/bash
# tools/check-layers passes a sound tree and names each planted violation.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

reset_tree() {
    rm -rf "$tree/src"
    mkdir -p "$tree"/src/{base,data,device,train}
    printf '#pragma once\n#include <glib.h>\n' >"$tree/src/base/error.h"
    printf '#pragma once\n' >"$tree/src/device/ops.h"
    printf '#include "base/error.h"\n#include <stdio.h>\n' >"$tree/src/data/loader.c"
    printf '#include "device/ops.h"\n#include "data/batch.h"\n' >"$tree/src/train/step.c"
}

refuses() { # FILE LINE PATTERN: the line makes the check fail with a message that matches
    reset_tree
    mkdir -p "$(dirname "$tree/src/$1")"
    echo "$2" >>"$tree/src/$1"
    if output=$(tools/check-layers "$tree"); then
        echo "check-layers let pass in src/$1: $2"
        exit 1
    fi
    grep -q "$3" <<<"$output" || { echo "check-layers said of $2: $output"; exit 1; }
}

reset_tree
tools/check-layers "$tree"
refuses data/loader.c '#include "device/ops.h"' 'src/data/loader.c:3: data may not include device'
refuses base/error.h '#include "train/step.h"' 'base may not include train'
refuses train/step.c '# include "../data/loader.h"' 'is not a path from src/FLOOR/'
refuses train/step.c '#include "step.h"' 'is not a path from src/FLOOR/'
refuses device/ops.h '#include "base/error.h"' 'includes GLib: src/device/ops.h -> src/base/error.h'
refuses device/cpu.c '#include <glib.h>' 'src/device/cpu.c: device code includes GLib'
refuses attic/old.c '' 'no floor is called attic'
