#!/bin/bash
# labels: tools starts-first
# tools/check-docs passes the documentation of this repository and a sound tree, and names each planted violation.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

reset_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{src/base,docs/floors,tests/base}
    echo '/* docs/page.md says more. */' >"$tree/src/base/error.h"
    touch "$tree/tests/base/test_error.c"
    printf '# loam\n\n[a page](docs/page.md), [its end](docs/page.md#the-end-of-it), [away](https://example.org/#none)\n' >"$tree/README.md"
    cat >"$tree/docs/page.md" <<'E2'
# A page

[here](#the-end-of-it), [up](../README.md#loam), [floor](floors/base.md#twice-1), [folder](floors/), `base/error.h`,
`tests/base/test_error.c`, `cli/NAME.c`

```
# not a section, [not](a-link.md)
```

## The end, of `it`
E2
    printf '# Base\n\n## Twice\n\n## Twice\n\n[page](../page.md)\n' >"$tree/docs/floors/base.md"
}

refuses() { # FILE LINE PATTERN: the line makes the check fail with a message that matches
    reset_tree
    echo "$2" >>"$tree/$1"
    if output=$(tools/check-docs "$tree"); then
        echo "check-docs let pass in $1: $2"
        exit 1
    fi
    grep -qF "$3" <<<"$output" || { echo "check-docs said of $2: $output"; exit 1; }
}

tools/check-docs
reset_tree
tools/check-docs "$tree"
refuses README.md 'see [other](docs/other.md)' 'README.md:4: the link docs/other.md leads to no file'
refuses README.md 'see [it](docs/page.md#not-a-section)' 'README.md:4: docs/page.md has no section #not-a-section'
refuses docs/page.md 'see [it](#the-end)' 'docs/page.md has no section #the-end'
refuses docs/floors/base.md 'see [it](page.md)' 'docs/floors/base.md:8: the link page.md leads to no file'
refuses docs/floors/base.md 'see [it](#twice-2)' 'docs/floors/base.md has no section #twice-2'
refuses docs/page.md 'in `base/gone.h`' 'no source file is called base/gone.h'
refuses docs/page.md 'in `gone.c`' 'no source file is called gone.c'
refuses src/base/error.h '/* by gone.h */' 'src/base/error.h:2: no source file is called gone.h'
refuses src/base/error.h '/* docs/gone.md */' 'src/base/error.h:2: no page is called docs/gone.md'
refuses docs/page.md "$(printf 'word %.0s' {1..25})" 'docs/page.md:11: the line has 125 characters, at most 120 are allowed'
refuses README.md "- $(printf 'ö %.0s' {1..60})" 'README.md:4: the line has 122 characters'
for line in "| $(printf 'word %.0s' {1..40})|" "$(printf 'ö%.0s' {1..130})" "$(printf 'öö %.0s' {1..40})"; do # a row; a word; 119 characters
    reset_tree
    echo "$line" >>"$tree/docs/page.md"
    tools/check-docs "$tree"
done
refuses docs/page.md "$(printf 'word\n%.0s' {1..3000})" 'docs/page.md: 3022 words, at most 3000 are allowed'
reset_tree
for page in {1..27}; do
    printf 'word\n%.0s' {1..2500} >"$tree/docs/page$page.md"
done
! output=$(tools/check-docs "$tree") || { echo "check-docs let pass 67,500 words"; exit 1; }
grep -qF 'docs: 67529 words in all, at most 65000 are allowed' <<<"$output" || { echo "check-docs said: $output"; exit 1; }
