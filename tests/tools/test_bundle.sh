# labels: tools starts-first
# The bundle runs where nothing of Debian is: in a root folder that holds it, a shell, and a C library; and by the C library of
# its own, where the machine's is too old or unknown. Argument: the build folder (default: build).
set -euo pipefail
build=${1:-build}
if [ ! -x "$build/loam" ] || ! unshare -rm true 2>/dev/null; then
    echo "skipped: $build/loam is not there, or this machine lets nobody make namespaces"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAIL: $*" >&2
    exit 1
}
tools/bundle "$build" "$work/loam.tar.zst"
root=$work/root
mkdir -p "$root/bin" "$root/proc" "$root/dev" "$root/tmp"
zstd -dcq "$work/loam.tar.zst" | tar -C "$root" -x
mv "$root"/loam-* "$root/loam"
[ -z "$(find "$root/loam/lib/loam" -maxdepth 1 -name 'libc.so*' -o -maxdepth 1 -name 'libcublas*')" ] || fail "what is the machine's is packed"
for library in "$root"/loam/lib/loam/lib*.so*; do
    case $library in *libcudart*|*libcuda.*) fail "$library" ;; esac
done

# In the root: dash, readlink, and what ld.so needs to start them.
cp "$(readlink -f /bin/sh)" "$root/bin/sh"
cp /bin/readlink "$root/bin"
for file in $(ldd /bin/sh /bin/readlink | grep -oE '/[^ ]+\.so[^ ]*' | sort -u); do
    install -D "$file" "$root$file"
done
libm=$(ldd "$build/loam" | awk '/libm\.so/ { print $3 }')
inside() { # COMMAND…: as the only program of a machine
    unshare -rm sh -c 'mount --rbind /proc "$1/proc" && root=$1 && shift && exec chroot "$root" "$@"' sh "$root" "$@"
}

# No getconf there, so the C library is unknown; there is no libm at first either.
got=$(inside /loam/bin/loam --version) || fail "its own C library: $got"
[ "$got" = "$("$build/loam" --version)" ] || fail "$got"
! LOAM_GLIBC=system inside /loam/bin/loam --version >"$work/out" 2>&1 || fail "without libm it ran by $(cat "$work/out")"
install -D "$libm" "$root$libm"
LOAM_GLIBC=system inside /loam/bin/loam --version >/dev/null || fail "the machine's C library"
! LOAM_GLIBC=musl inside /loam/bin/loam --version >"$work/out" 2>&1 && grep -q 'LOAM_GLIBC is own or system, not "musl"' "$work/out" || fail "a C library that is none: $(cat "$work/out")"
echo "ok: both C libraries"

# A link to it from elsewhere, and work with the libraries that it brought: a tokenizer, compressed text.
printf 'a line of text, and %s more\n\n' one two three four five six seven | zstd -qc >"$root/tmp/text.txt.zst"
ln -s /loam/bin/loam "$root/bin/loam"
inside /bin/loam tokenizer train --type bpe --vocab-size 30 --out /tmp/tok.model /tmp/text.txt.zst >/dev/null 2>"$work/err" ||
    fail "tokenizer: $(cat "$work/err")"
inside /bin/loam env | grep -q '^gpu  *none is used: ' || fail "env"
echo "ok: it works there"
