#!/bin/bash
# tools/install-grammars compiles what it has checked, and nothing else; without the network, from made-up packages.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*"
    cat "$work/log"
    exit 1
}

pack() { # PACKAGE-VERSION: makes the source distribution of a folder
    tar czf "$work/sdists/$1.tar.gz" -C "$work" "$1"
    sha256sum "$work/sdists/$1.tar.gz" | cut -d ' ' -f 1
}

mkdir -p "$work/tools" "$work/sdists" "$work/headers-1.0/lib" "$work/lists-2.0/src"
cp tools/install-grammars "$work/tools"
for header in array alloc ts_assert; do : >"$work/headers-1.0/lib/$header.h"; done
cp /usr/include/tree_sitter/parser.h "$work/headers-1.0/lib/"
grep -v loam_grammar tests/text/grammars/lists.c >"$work/lists-2.0/src/parser.c"
cat >"$work/tools/grammars.txt" <<END
# A comment.
headers  headers  1.0  $(pack headers-1.0)  lib
lists    lists    2.0  $(pack lists-2.0)  src  list =brackets
END

run() { "$work/tools/install-grammars" --out "$work/out" --sdists "$work/sdists" "$@" >"$work/log" 2>&1; }

run lists || fail "the grammar is not made"
grep -qa "lists 2.0 list =brackets" "$work/out/lists.so" || fail "the grammar does not say what it is for"
run cobol && fail "an unknown name is taken"
grep -q "cobol is not in .*: lists" "$work/log" || fail "the names that there are are not told"
rm "$work/out/lists.so"
echo "int changed;" >>"$work/lists-2.0/src/parser.c"
pack lists-2.0 >/dev/null
run && fail "a changed source distribution is taken"
grep -q "is not the pinned file" "$work/log" || fail "the change is not told"
[ ! -e "$work/out/lists.so" ] || fail "a changed grammar was compiled"
rm "$work/sdists/lists-2.0.tar.gz"
run && fail "a missing source distribution is not missed"
grep -q "no source distribution of lists 2.0" "$work/log" || fail "what is missing is not told"
echo "ok"
