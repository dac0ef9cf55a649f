# tools/gpu-counts by a made-up cuobjdump, and tools/gpu-roofline, whose row for T5-1.1-small stands in the docs. Argument: the
# build folder.
set -euo pipefail
build=$(realpath "$1")
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "skipped: Python 3.10 is not here"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAIL: $*" >&2
    exit 1
}
: >"$work/loam-cuda.so"
cat >"$work/cuobjdump" <<'END'
#!/bin/sh
case $1 in
--dump-sass) printf '%s\n' '	Function : _Z4plusIfEvi' '        /*0000*/                   HMMA.16816 R1, R2 ;' '   /* 0x1 */' \
    '        /*0010*/              @!P0 LDG.E R1, [R2] ;' '        /*0020*/                   STL [R1], R2 ;' '        /*0030*/  NOP ;' ;;
--dump-resource-usage) printf '%s\n' ' Function _Z4plusIfEvi:' '  REG:128 STACK:0 SHARED:33792 LOCAL:0 CONSTANT[0]:488' ;;
--dump-elf) printf '%s\n' '.nv.info._Z4plusIfEvi' '	Attribute:	EIATTR_MAX_THREADS' '	Format:	EIFMT_SVAL' '	Value:	0x80 0x1 0x1' ;;
esac
END
chmod +x "$work/cuobjdump"
PATH=$work:$PATH tools/gpu-counts "$work/loam-cuda.so" >"$work/rows" || fail "$(cat "$work/rows")"
# 128 threads of 128 registers: 4 blocks by registers; 32 KiB of shared memory and 1 more: 4 of 164 KiB, 3 of 100, 6 of 228.
grep -qxF '| `plus` | 1 | 3 | 1 | 1 | 0 | 1 | 128 | 32768 | 4 | 3 | 4 | 3 |' "$work/rows" || fail "$(cat "$work/rows")"
! tools/gpu-counts "$work/none.so" 2>"$work/err" || fail "a file that is not there"
grep -q 'none.so is not here' "$work/err" || fail "$(cat "$work/err")"
! tools/gpu-roofline T5 2>"$work/err" || fail "a model that is none"
grep -q 'no model is called T5; there are T5-1.1-small' "$work/err" || fail "$(cat "$work/err")"
tools/gpu-roofline --build "$build" T5-1.1-small >"$work/rows" || fail "$(cat "$work/rows")"
grep -qxF "$(tail -n 1 "$work/rows")" docs/architecture/gpu.md || fail "docs/architecture/gpu.md lacks: $(tail -n 1 "$work/rows")"
echo "ok"
