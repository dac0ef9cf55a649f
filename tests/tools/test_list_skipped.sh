#!/bin/bash
# labels: tools starts-first
# tools/list-skipped counts the cases that programs and scripts skipped, with their reasons, and says so when none was.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/Testing/Temporary"

log() { # what ctest writes: a program with two cases, and the output of a script
    cat <<LOG >"$tree/Testing/Temporary/LastTest.log"
1/2 Testing: text/test_x
ok 1 /x/reads
ok 2 /x/reads_files_of_others$1
# SKIP is no case
<end of output>
2/2 Testing: cli/test_y
$2
<end of output>
LOG
}

expect() { # TEXT
    [ "$(tools/list-skipped "$tree")" = "$1" ] || { echo "list-skipped said: $(tools/list-skipped "$tree")"; exit 1; }
}

log "" "done"
expect "no test case was skipped"
log " # SKIP no file z" "done"
expect "1 test case was skipped:
  text/test_x: /x/reads_files_of_others (no file z)"
log " # SKIP no file z" "skipped: no network"
expect "2 test cases were skipped:
  text/test_x: /x/reads_files_of_others (no file z)
  cli/test_y (no network)"
