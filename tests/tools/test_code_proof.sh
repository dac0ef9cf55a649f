#!/bin/bash
# labels: tools starts-first
# tools/code-proof goes from programs to its table and picture, at a toy size; a second run makes nothing again, other options are refused,
# and what nearly repeats a held-out program is not trained on.
set -euo pipefail
loam=${1:-build}/loam
[ -x "$loam" ] && [ -f "$(dirname "$loam")/test-grammars/lists.so" ] || { echo "skipped: no $loam"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LOAM_GRAMMARS=$(dirname "$loam")/test-grammars OMP_NUM_THREADS=2

fail() {
    echo "FAIL: $*"
    tail -n 5 "$work/log"
    exit 1
}

mkdir "$work/src"
for i in {1..90}; do
    awk -v i="$i" 'BEGIN { srand(i); for (k = 0; k < 12; k++) { printf "(f%c", 97 + rand() * 26; for (j = 0; j < 3; j++)
        printf " (%c%c (b %c))", 97 + rand() * 26, 97 + rand() * 26, 97 + rand() * 26; print ")" } }' >"$work/src/p$i.list"
    [ "$i" -gt 30 ] || { cat "$work/src/p$i.list" && echo "(copy $i)"; } >"$work/src/copy$i.list"
done
proof() {
    tools/code-proof --loam "$loam" --out "$work/proof" --steps 5 --seeds 1 --batch 2 --length 64 --width 64 --layers 1 --jobs 2 --vocab 300 \
        --suffixes .list --held 20% --samples 4 --blanks 5 "$@" "$work/src" >"$work/out" 2>"$work/log" || return $?
}
proof || fail "exit status $?"
grep -q "nearly in the evaluation sets: [1-9]" "$work/log" || fail "copies of held-out programs are trained on"
[ "$(grep -c '^| \(syntax\|greedy\|vanilla\) | [0-9]' "$work/out")" = 3 ] || fail "no table: $(cat "$work/out")"
grep -q '</svg>' "$work/proof/proof.svg" || fail "no picture"
cp "$work/out" "$work/first"
proof || fail "exit status $?"
cmp "$work/out" "$work/first" || fail "the table changes"
grep -q "step" "$work/log" && fail "something was trained again"
proof --steps 6 && fail "results of 5 steps are shown for 6"
grep -q "was made with steps 5, not 6" "$work/log" || fail "no reason"
echo "ok"
