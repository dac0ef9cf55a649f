#!/bin/bash
# labels: tools starts-first
# tools/check-budgets counts lines of files and functions, spares tables, and names what is over.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/base"
file=$tree/src/base/x.c

lines() { # COUNT TEXT
    for ((i = 0; i < $1; i++)); do echo "$2"; done
}

function_of() { # LINES, signature and braces included
    printf 'static int f(int a,\n             int b)\n{\n'
    lines $(($1 - 4)) '    a += b;'
    echo '}'
}

passes() {
    tools/check-budgets "$tree" || { echo "check-budgets refused $1"; exit 1; }
}

refuses() { # PATTERN
    if output=$(tools/check-budgets "$tree"); then
        echo "check-budgets let pass what should say: $1"
        exit 1
    fi
    grep -q "$1" <<<"$output" || { echo "check-budgets said: $output"; exit 1; }
}

{ echo '#include <stdio.h>'; function_of 60; echo; function_of 60; } >"$file"
passes 'functions of 60 lines'
{ echo '#include <stdio.h>'; function_of 60; echo; function_of 61; } >"$file"
refuses 'src/base/x.c:63: function of 61 lines'

lines 600 'int a;' >"$file"
passes 'a file of 600 lines'
lines 601 'int a;' >"$file"
refuses 'src/base/x.c: 601 lines'

{ echo 'static const Row rows[] = {'; lines 700 '    { 1, 2 },'; echo '};'; function_of 20; } >"$file"
passes 'a long table'
{ echo 'static const Row rows[] = {'; lines 9 '    { 1, 2 },'; echo '};'; function_of 61; } >"$file"
refuses 'function of 61 lines'

{ printf 'class Lines : public Iterator\n{\n'; lines 70 '    void next();'; echo '};'; } >"$file"
passes 'a class of many short functions'
