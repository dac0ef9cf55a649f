#!/bin/bash
# labels: tools starts-first
# tools/install-packages asks apt-get for what is missing and for nothing when nothing is.
set -euo pipefail
stubs=$(mktemp -d)
trap 'rm -rf "$stubs"' EXIT
log=$stubs/log

fail() {
    echo "$*"
    cat "$log"
    exit 1
}

# A machine that has every package except $ABSENT, and an apt-get that fails its first install for want of an index.
cat >"$stubs/dpkg-query" <<'END'
#!/bin/bash
for package in "${@:4}"; do
    [ "$package" = "${ABSENT:-}" ] || echo "$package installed"
done
[ -z "${ABSENT:-}" ]
END
cat >"$stubs/apt-get" <<'END'
#!/bin/bash
echo "$*" >>"$LOG"
[ "$1" = update ] || grep -qx 'update -qq' "$LOG"
END
printf '#!/bin/bash\necho 0\n' >"$stubs/id"
chmod +x "$stubs"/*
export PATH=$stubs:$PATH LOG=$log

: >"$log"
tools/install-packages build check
[ ! -s "$log" ] || fail "apt-get was called although nothing is missing"

ABSENT=libdnnl-dev tools/install-packages build >/dev/null
grep -q '^install .* libdnnl-dev$' "$log" || fail "the missing package was not asked for alone"
[ "$(grep -c . "$log")" = 3 ] || fail "install, update, install were expected"

: >"$log"
ABSENT=clang tools/install-packages build
[ ! -s "$log" ] || fail "a package of another column was asked for"
