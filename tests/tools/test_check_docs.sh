#!/bin/bash
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
refuses src/base/error.h '/* docs/gone.md */' 'src/base/error.h:2: no page is called docs/gone.md'
