# labels: long starts-first
# Every reader of files from outside gets a million runs of libFuzzer; what was found is kept in build-clang/fuzz/NAME, so the
# next time goes on from there. FUZZ_RUNS=N for another number.
set -euo pipefail
runs=${FUZZ_RUNS:-1000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v clang >/dev/null || { echo "no clang: make check installs it"; exit 77; }
cmake --preset clang >"$work/cmake" || { cat "$work/cmake"; exit 1; }
mapfile -t names < <(for file in tests/fuzz/fuzz_*.c; do basename "$file" .c; done | sed 's/^fuzz_//')
cmake --build build-clang -j "$(nproc)" --target "${names[@]/#/fuzz_}" >"$work/build" || { tail -n 50 "$work/build"; exit 1; }

fuzz() { # NAME
    local seeds=() started=$SECONDS
    [ ! -e "tests/fuzz/dictionaries/$1" ] || seeds+=("-dict=tests/fuzz/dictionaries/$1")
    mkdir -p "build-clang/fuzz/$1"
    [ ! -d "tests/fuzz/seeds/$1" ] || seeds+=("build-clang/fuzz/$1" "tests/fuzz/seeds/$1")
    [ -d "tests/fuzz/seeds/$1" ] || seeds+=("build-clang/fuzz/$1")
    if ! "build-clang/fuzz_$1" -runs="$runs" -artifact_prefix="build-clang/fuzz/$1-" "${seeds[@]}" >"$work/$1" 2>&1; then
        tail -n 40 "$work/$1"
        echo "FAIL: $1"
        return 1
    fi
    echo "ok: $1: $runs runs in $((SECONDS - started)) s"
}
export -f fuzz
export runs work
export ASAN_OPTIONS=quarantine_size_mb=8:malloc_context_size=8
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}'
