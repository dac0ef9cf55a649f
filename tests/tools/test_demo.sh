#!/bin/bash
# labels: tools starts-first
# tools/demo looks at the corpus before it removes anything, and keeps the previous run. No step of the demo itself runs here.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools" "$tree/build/demo" "$tree/runs/demo"
cp tools/demo "$tree/tools"
printf '#!/bin/sh\nexit 1\n' >"$tree/build/loam" # fails at the first step
chmod +x "$tree/build/loam"
echo first >"$tree/runs/demo/run"
echo "a text" >"$tree/build/demo/corpus.txt"

fail() {
    echo "$*"
    exit 1
}

# refuses TEXT CORPUS: nothing is removed.
refuses() {
    ! "$tree/tools/demo" "$2" >"$tree/out" 2>"$tree/err" || fail "$2 is taken"
    grep -qF "$1" "$tree/err" && [ "$(wc -l <"$tree/err")" = 1 ] || fail "$2: $(cat "$tree/err")"
    [ "$(cat "$tree/runs/demo/run")" = first ] && [ -e "$tree/build/demo/corpus.txt" ] || fail "$2: something is gone"
}
refuses 'typo is not there, or cannot be read' typo
refuses 'lies in a folder that the demo makes anew' build/demo/corpus.txt
refuses 'lies in a folder that the demo makes anew' "$tree/tools/../build/demo"
refuses 'lies in a folder that the demo makes anew' runs/demo

# A corpus that the tokenizer or the datasets cannot be made of costs nothing.
cp "$tree/build/demo/corpus.txt" "$tree/corpus.txt"
! "$tree/tools/demo" corpus.txt >"$tree/out" 2>&1 || fail "the tokenizer failed, and the demo did not"
grep -q 'a megabyte of text or more' "$tree/out" || fail "a small corpus: $(cat "$tree/out")"
[ "$(cat "$tree/runs/demo/run")" = first ] && [ -e "$tree/build/demo/corpus.txt" ] || fail "a tokenizer that fails: something is gone"

# A demo that trains keeps one previous run.
printf '#!/bin/sh\n[ "$1" = tokenizer ] || [ "$1" = prepare ]\n' >"$tree/build/loam" # fails at training
for run in first second; do
    ! "$tree/tools/demo" corpus.txt >"$tree/out" 2>&1 || fail "the training failed, and the demo did not"
    grep -q 'the previous run is kept as runs/demo-before' "$tree/out" || fail "$(cat "$tree/out")"
    [ "$(cat "$tree/runs/demo-before/run")" = $run ] || fail "not the $run run"
    mkdir "$tree/runs/demo"
    echo second >"$tree/runs/demo/run"
done

# `make run` and `make install` take paths with spaces, and with a ~ that the calling shell left.
would_run() { # COMMAND ARGUMENT…: make, with these arguments, runs a command that ends like this
    make -n "${@:2}" >"$tree/out" || fail "make $2: exit status $?"
    grep -q -- "$1 *$" "$tree/out" || fail "make ${*:2}: $(cat "$tree/out")"
}
would_run 'tools/demo "my texts"' run CORPUS='my texts'
would_run 'tools/demo' run
would_run '--prefix "my programs"' install PREFIX='my programs'
would_run "--prefix \"$HOME/programs\"" install PREFIX='~/programs'
would_run "tools/demo \"$HOME/my texts\"" run CORPUS='~/my texts'
echo "ok: tools/demo"
