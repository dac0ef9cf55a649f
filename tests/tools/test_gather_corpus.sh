#!/bin/bash
# labels: tools starts-first
# tools/gather-corpus keeps code and prose, drops licences and repeats, and is the same at every call.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/include" "$tree/repo/src" "$tree/repo/tests"
cp -r README.md CONTRIBUTING.md docs tools "$tree/repo" # a copy, so that nothing changes between two gatherings
cp -r src/base "$tree/repo/src"
gather=$tree/repo/tools/gather-corpus

fail() {
    echo "$*"
    exit 1
}

for i in 1 2 3 4 5; do
    {
        printf '/* A licence.\n *\n * Copyright 19%d0 Somebody. */\n\n' "$i"
        printf '/* This paragraph stands in\n   every file. */\n\n'
        printf '#define UNIQUE_%s "a \\"quoted\\" \\\\ word"\n\n' "$(printf "$i" | tr 1-5 a-e)"
        for line in 1 2 3 4 5 6 7 8; do echo "extern int shared_function_number(int with, int many, char *arguments);"; done
        echo
        for line in {1..40}; do echo "int own_$(printf "$i" | tr 1-5 a-e)_$line(void);"; done
    } >"$tree/include/file_$i.h"
done
"$gather" "$tree/a.jsonl" 50 "$tree/include"
"$gather" "$tree/b.jsonl" 50 "$tree/include"
cmp "$tree/a.jsonl" "$tree/b.jsonl"

grep -F "$tree" "$tree/a.jsonl" >"$tree/headers.jsonl"
[ "$(wc -l <"$tree/headers.jsonl")" = 5 ] || fail "five headers should make five lines"
! grep -q 'Somebody' "$tree/headers.jsonl" || fail "a licence was kept"
! grep -q 'This paragraph stands' "$tree/headers.jsonl" || fail "a comment of five files was kept"
[ "$(grep -c shared_function_number "$tree/headers.jsonl")" = 1 ] || fail "a repeated paragraph was kept"
grep -qF '#define UNIQUE_c \"a \\\"quoted\\\" \\\\ word\"\n' "$tree/headers.jsonl" || fail "wrong escapes"
grep -q '"path": "src/base/' "$tree/a.jsonl" || fail "the project's own sources are missing"

"$gather" "$tree/small.jsonl" 0 "$tree/include"
! grep -qF "$tree" "$tree/small.jsonl" || fail "headers were taken beyond the budget"
