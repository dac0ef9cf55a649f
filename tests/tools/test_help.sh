#!/bin/bash
# labels: tools starts-first
# Every shell script of tools/ and bench/ answers --help with its usage, and does nothing else; so do the programs of Python that users call.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/bench/peers"

fail() {
    echo "FAIL: $*"
    cat "$work/out" "$work/err"
    exit 1
}

# The copy stands in an empty folder: a script that goes to work fails there.
n=0
for script in $(grep -lE '^#!/bin/(ba)?sh' tools/* bench/* bench/peers/* 2>/dev/null); do
    cp "$script" "$work/$script"
    (cd "$work" && "$script" --help >out 2>err </dev/null) || fail "$script --help: exit status $?"
    [[ "$(sed -n 1p "$work/out")" == "$script"[\ :]* ]] || fail "$script --help does not begin with its usage"
    [ ! -s "$work/err" ] || fail "$script --help complains"
    rm "$work/$script"
    [ "$(find "$work" -mindepth 1 | wc -l)" = 5 ] || fail "$script --help makes files"
    n=$((n + 1))
done
[ $n -ge 17 ] || fail "only $n scripts were found"
echo "ok: $n scripts answer --help"
command -v python3 >/dev/null || { echo "skipped: the programs of Python, which this machine lacks"; exit 77; }
for program in check-mlflow check-tensorboard code-proof gpu-trial pretraining-proof; do
    "tools/$program" --help >"$work/out" 2>"$work/err" || fail "$program --help: exit status $?"
    [[ "$(sed -n 1p "$work/out")" == "usage: $program "* ]] || fail "$program --help does not begin with its usage"
done
echo "ok: and five programs of Python"
