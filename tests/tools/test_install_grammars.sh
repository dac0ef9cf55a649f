#!/bin/bash
# labels: tools starts-first
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

# A scanner whose common part is missing gets ours, over the scanner of the row `scanner`.
mkdir -p "$work/js-3.0/src" "$work/ts-4.0/typescript/src" "$work/tools/grammars"
cp tools/grammars/typescript_scanner.h "$work/tools/grammars/"
cat >"$work/js-3.0/src/scanner.c" <<'C'
#include "tree_sitter/parser.h"
#include <wctype.h>
enum TokenType { AUTOMATIC_SEMICOLON, TEMPLATE_CHARS, TERNARY_QMARK, HTML_COMMENT, LOGICAL_OR, ESCAPE_SEQUENCE, REGEX_PATTERN, JSX_TEXT };
typedef enum { REJECT, NO_NEWLINE, ACCEPT } WhitespaceResult;
static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }
static void skip(TSLexer *lexer) { lexer->advance(lexer, true); }
static WhitespaceResult scan_whitespace_and_comments(TSLexer *lexer, bool *seen, bool consume) { return REJECT; }
static bool scan_jsx_text(TSLexer *lexer) { return false; }
bool tree_sitter_javascript_external_scanner_scan(void *p, TSLexer *lexer, const bool *valid) { return false; }
C
grep -v loam_grammar tests/text/grammars/lists.c | sed 's/tree_sitter_lists/tree_sitter_typescript/' >"$work/ts-4.0/typescript/src/parser.c"
echo '#include "../../common/scanner.h"
bool scan_it(void *p, TSLexer *l, const bool *v) { return external_scanner_scan(p, l, v); }' >"$work/ts-4.0/typescript/src/scanner.c"
cat >>"$work/tools/grammars.txt" <<END
scanner     js  3.0  $(pack js-3.0)  src
typescript  ts  4.0  $(pack ts-4.0)  typescript/src  ts
END
run typescript || fail "a grammar without its scanner is not made"
nm -D "$work/out/typescript.so" >"$work/symbols"
grep -qa "typescript 4.0 ts" "$work/out/typescript.so" && grep -q " scan_it" "$work/symbols" || fail "no scanner in it"
rm "$work/out/typescript.so"
run lists || fail "the grammar is not made"
grep -qa "lists 2.0 list =brackets" "$work/out/lists.so" || fail "the grammar does not say what it is for"
run cobol && fail "an unknown name is taken"
grep -q "cobol is not in .*: lists typescript" "$work/log" || fail "the names that there are are not told"
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
