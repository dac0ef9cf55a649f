#!/bin/bash
# labels: tools starts-first
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
    # A room with a shared inner header and an inner room, and calls that go one way only.
    mkdir -p "$tree/src/device/cpu/kernels"
    printf '#include "device/cpu/cpu.h"\nint *cpu_shared(void);\n' >"$tree/src/device/cpu/inner.h"
    printf 'void cpu_fill(int *);\n' >"$tree/src/device/cpu/cpu.h"
    printf '#include "device/cpu/kernels/kernels.h"\nvoid cpu_fill(int *x)\n{\n    kernel(x);\n}\n' >"$tree/src/device/cpu/cpu.c"
    printf '#include "device/cpu/inner.h"\nvoid kernel(int *x);\n' >"$tree/src/device/cpu/kernels/kernels.h"
    printf '#include "device/cpu/inner.h"\nvoid kernel(int *x)\n{\n    *x = *cpu_shared();\n}\n' >"$tree/src/device/cpu/kernels/fill.c"
    printf '#include "device/cpu/inner.h"\nstatic int one = 1; /* cpu_fill */\nint *cpu_shared(void)\n{\n    return &one;\n}\n' >"$tree/src/device/cpu/shared.c"
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
refuses device/ops.c '#include "device/cpu/inner.h"' 'src/device/ops.c:1: "device/cpu/inner.h" is inside src/device/cpu: from outside include "device/cpu/cpu.h"'
refuses device/ops.c '#include "device/cpu/kernels/kernels.h"' 'is inside src/device/cpu: from outside include "device/cpu/cpu.h"'
refuses device/cpu/cpu.c '#include "device/cpu/kernels/simd.h"' 'is inside src/device/cpu/kernels: from outside include "device/cpu/kernels/kernels.h"'
refuses device/cpu/shared.c $'void cpu_again(int *x)\n{\n    cpu_fill(x);\n}' 'circle: .*cpu.c -> .*fill.c (kernel) -> .*shared.c (cpu_shared) -> .*cpu.c (cpu_fill)'
refuses device/cpu/kernels/fill.c $'const int table[] = {\n    1,\n};\nvoid again(int *x)\n{\n    cpu_fill(x);\n}' 'circle: .*cpu.c -> .*fill.c (kernel) -> .*cpu.c (cpu_fill)'
refuses device/cpu/shared.c $'void (*const cpu_table[])(int *) = { cpu_fill };' 'circle: .*(cpu_fill)'

private=$'static void fill(int *x)\n{\n    *x = 1;\n}'
reset_tree
echo "$private" | tee -a "$tree/src/device/cpu/cpu.c" >>"$tree/src/device/cpu/shared.c"
tools/check-layers "$tree" # two files may
reset_tree() { :; }
refuses train/step.c "$private" 'fill: a private function of three files or more.* src/device/cpu/cpu.c src/device/cpu/shared.c src/train/step.c'
