#!/bin/bash
# labels: tools starts-first
# tools/pretraining-proof goes from text and labelled data to its table and picture, at a toy size; a second run makes nothing again.
set -euo pipefail
loam=${1:-build}/loam
[ -x "$loam" ] || { echo "skipped: no $loam"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=2

fail() {
    echo "FAIL: $*"
    tail -n 5 "$work/log"
    exit 1
}

# Rows of made-up words: GLUE's tables, and SQuAD's JSON with the answer in the middle of its context.
words() { # SEED N
    awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%s%c%c%c", i ? " " : "", 97 + rand() * 26, 97 + rand() * 26, 97 + rand() * 26 }'
}
mkdir -p "$work"/tasks/{sst2,rte,cola,squad} "$work/proof"
for i in {1..400}; do echo "{\"text\": \"$(words "$i" 60)\"}"; done >"$work/proof/text.jsonl"
for part in train dev; do
    { printf 'sentence\tlabel\n'; for i in {1..12}; do printf '%s\t%d\n' "$(words "$i" 6)" $((i % 2)); done; } >"$work/tasks/sst2/$part.tsv"
    { printf 'index\tsentence1\tsentence2\tlabel\n'
      for i in {1..12}; do printf '%d\t%s\t%s\t%s\n' "$i" "$(words "$i" 6)" "$(words "$i" 3)" "$([ $((i % 2)) = 0 ] && echo not_)entailment"; done; } \
        >"$work/tasks/rte/$part.tsv"
    for i in {1..12}; do printf 'x\t%d\t\t%s\n' $((i % 2)) "$(words "$i" 6)"; done >"$work/tasks/cola/in_domain_$part.tsv"
    for i in {1..12}; do
        printf '{"context": "%s", "qas": [{"id": "%d", "question": "%s", "answers": [{"text": "%s", "answer_start": 8}]}]}\n' \
            "$(words "$i" 12)" "$i" "$(words 7 4)" "$(words "$i" 4 | cut -c 9-15)"
    done | paste -sd, | sed 's/.*/{"version": "1.1", "data": [{"title": "t", "paragraphs": [&]}]}/' >"$work/tasks/squad/toy-$part.json"
done
proof() {
    tools/pretraining-proof --loam "$loam" --out "$work/proof" --tasks "$work/tasks" --seeds 2 --vocab 200 --steps 3 --batch 2 --length 64 \
        --width 64 >"$work/out" 2>"$work/log" || fail "exit status $?"
}
proof
[ "$(grep -c '^| \(t5\|bert\) | \(pre-trained\|random\) | [-0-9.]* ± ' "$work/out")" = 4 ] || fail "no table: $(cat "$work/out")"
grep -q '</svg>' "$work/proof/scores.svg" || fail "no picture"
cp "$work/out" "$work/first"
proof
cmp "$work/out" "$work/first" || fail "the table changes"
grep -q "^step" "$work/log" && fail "something was trained again"
echo "ok"
