# labels: tools
# cmake/test_labels.cmake reads the labels of a test, and refuses one that does not exist.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

labels() { # LINE [NAME]
    local file=$tree/${2:-test_it}.sh
    echo "$1" >"$file"
    printf '%s\n' 'cmake_policy(VERSION 3.25)' "include($PWD/cmake/test_labels.cmake)" "test_labels(labels $file)" \
        'message("<${labels}>")' >"$tree/labels.cmake"
    cmake -DCMAKE_SOURCE_DIR="$tree" -P "$tree/labels.cmake" 2>&1 | tr -s '\n ' ' ' || true
}
gives() { # TEXT LINE [NAME]
    labels "${@:2}" | grep -qF "$1" || { echo "FAIL: of \"$2\": $(labels "${@:2}")"; exit 1; }
}

gives '<repeats;starts-first>' '# labels: repeats starts-first'
gives '<any-processor>' '/* labels: any-processor */'
gives '<>' '# Labels are words.'
gives 'test_it.sh: a test has no label starts-last' '# labels: repeats starts-last'
gives 'long_it.sh: a test of this name has the label long' '# labels: repeats' long_it
gives '<long>' '# labels: long' long_it
