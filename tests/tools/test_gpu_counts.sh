# labels: tools starts-first
# tools/gpu-counts by a made-up cuobjdump, and tools/gpu-roofline, whose row for T5-1.1-small stands in the docs. So do the counts of a
# build for Hopper. Argument: the build folder.
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
# --tiles: a loop of tensor cores; in the loop over tiles one with the loops of a product (its main loop of 32 multiply-adds and the rest of 16),
# then two loops of 8, one without multiply-adds, and one of 4. nested/cuobjdump counts addresses.
mkdir "$work/nested"
cat >"$work/nested/cuobjdump" <<'END'
#!/usr/bin/env python3
at = 0
def says(*texts):
    global at
    for text in texts:
        print(f"        /*{at:04x}*/    {text} ;")
        at += 16
def loop(*texts):
    to = at
    for text in texts:
        text() if callable(text) else says(text)
    says(f"@P0 BRA 0x{to:x}")
adds = lambda n: ["FFMA R1, R2, R3, R1"] * n
nothing = lambda: says("IADD3 R1, R1, 0x1, RZ", "NOP")
inner = lambda *texts: lambda: loop(*texts)
print("\tFunction : _Z24attention_mma_fwd_kernelILi1EEvi")
nothing(), loop("IADD3 R1, R1, 0x1, RZ", "HGMMA.64x64x16 R4", "LDS R2, [R1]"), says("EXIT")
at = 0
print("\tFunction : _Z20attention_fwd_kernelILi2EEvi")
loop(nothing, inner("LDS R2, [R1]", inner("LDS R2, [R1]", *adds(32), "NOP"), inner(*adds(16)), nothing), inner("LDS R2, [R1]", *adds(8)),
     inner("LDS R2, [R1]", *adds(8)), inner("LDS R2, [R1]"), inner(*adds(4)), nothing)
says("EXIT")
at = 0
print("\tFunction : _Z15norm_fwd_kernelILi2EEvi")
loop(*adds(16))
END
chmod +x "$work/nested/cuobjdump"
PATH=$work/nested:$PATH tools/gpu-counts "$work/loam-cuda.so" --tiles >"$work/rows" || fail "$(cat "$work/rows")"
diff "$work/rows" - <<'END' || fail "--tiles"
| kernel | instructions of a warp for a tile |
|---|---:|
| `attention_mma_fwd_kernel<1>` | 4 |

| kernel | loops: instructions/multiply-adds |
|---|---|
| `attention_fwd_kernel<2>` | 34/32, 2 × 10/8 |
END
# What is missing, wrong or fails: one line, and its status. refused STATUS 'TEXT' COMMAND…
refused() {
    local got=0
    "${@:3}" >"$work/rows" 2>"$work/err" </dev/null || got=$?
    [ "$got" = "$1" ] || fail "exit status $got, not $1: ${*:3}: $(cat "$work/err")"
    [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -- "$2" "$work/err" || fail "not one line with \"$2\": $(cat "$work/err")"
}
program() { # file, commands of the shell
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
counts() { PATH=$work/$1:$PATH tools/gpu-counts "${@:2}"; } # with the cuobjdump of a folder
refused 1 'none.so is not here; `make` builds it' tools/gpu-counts "$work/none.so"
refused 1 "$work is no file" tools/gpu-counts "$work"
program "$work/fails/cuobjdump" "echo \"cuobjdump fatal: Invalid fatbin header in '\$4'\"; exit 1"
refused 1 "Invalid fatbin header in '$work/loam-cuda.so'" counts fails "$work/loam-cuda.so" --all
program "$work/dies/cuobjdump" 'kill -9 $$'
refused 1 'cuobjdump: exit status -9, nothing was said' counts dies "$work/loam-cuda.so" --tiles
program "$work/empty/cuobjdump" 'printf "\377\n"' # no UTF-8
refused 1 'has no machine code for sm_90a' counts empty "$work/loam-cuda.so"
refused 1 'has no attention on tensor cores for sm_90a' counts empty "$work/loam-cuda.so" --tiles
refused 1 '0 of 0 kernels' counts empty "$work/loam-cuda.so" --early
printf '#!/no/such/shell\n' >"$work/dies/cuobjdump"
refused 1 'cuobjdump: No such file or directory' counts dies "$work/loam-cuda.so"
program "$work/dies/cuobjdump" "exec '$work/cuobjdump' \"\$@\""
program "$work/dies/c++filt" 'echo "c++filt: no memory" >&2; exit 3'
refused 1 'c++filt: no memory' counts dies "$work/loam-cuda.so"

# What reads has ended: quietly.
exec 3> >(exit)
wait $!
refused_quietly() { "$@" >&3 2>"$work/err" || [ $? = 141 ] && [ ! -s "$work/err" ] || fail "without a reader: $(cat "$work/err")"; }
PATH=$work:$PATH refused_quietly tools/gpu-counts "$work/loam-cuda.so"
exec 3>&-

# Ctrl-C while a command of the tool runs. stopped COMMAND…: the command has written $work/pid by then.
stopped() {
    rm -f "$work/pid"
    (exec python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.execvp(sys.argv[1], sys.argv[1:])' \
        "$@" >/dev/null 2>"$work/err") &
    until [ -s "$work/pid" ]; do
        kill -0 $! 2>/dev/null || fail "it ended before: $(cat "$work/err")"
        sleep 0.05
    done
    kill -INT $!
    local status=0
    wait $! || status=$?
    [ $status = 130 ] || fail "exit status $status by Ctrl-C: $*"
    [ "$(wc -l <"$work/err")" = 1 ] && grep -q ': stopped$' "$work/err" || fail "by Ctrl-C: $(cat "$work/err")"
}
program "$work/waits/cuobjdump" "echo \$\$ >'$work/pid'; exec sleep 60"
stopped env PATH="$work/waits:$PATH" tools/gpu-counts "$work/loam-cuda.so"
program "$work/waits/loam" "echo \$\$ >'$work/pid'; exec sleep 60"
stopped tools/gpu-roofline --build "$work/waits" T5-1.1-small

# A build without loam; one that fails; traces that are none.
refused 1 'empty/loam: No such file or directory' tools/gpu-roofline --build "$work/empty" T5-1.1-small
program "$work/empty/loam" 'echo "a note" >&2; echo "loam bench: device cuda: loam-cuda.so is damaged" >&2; exit 2'
refused 1 'T5-1.1-small: loam bench: device cuda: loam-cuda.so is damaged' tools/gpu-roofline --build "$work/empty" T5-1.1-small
program "$work/empty/loam" 'exit 7'
refused 1 'loam ends with status 7' tools/gpu-roofline --build "$work/empty" T5-1.1-small
program "$work/empty/loam" exit
refused 1 'trace.json: No such file or directory' tools/gpu-roofline --build "$work/empty" T5-1.1-small
for trace in '{' '{}' '[1]' '[]' '[{"cat":"operation"}]' '[{"cat":"operation","name":"gemm","args":{"flops":"many","bytes":1}}]'; do
    program "$work/empty/loam" "while [ \$# -gt 1 ]; do shift; done; echo '$trace' >\"\$1\""
    refused 1 "T5-1.1-small: loam's trace is not read: " tools/gpu-roofline --build "$work/empty" T5-1.1-small
done
! tools/gpu-roofline T5 2>"$work/err" || fail "a model that is none"
grep -q 'no model is called T5; there are T5-1.1-small' "$work/err" || fail "$(cat "$work/err")"
tools/gpu-roofline --build "$build" T5-1.1-small >"$work/rows" || fail "$(cat "$work/rows")"
grep -qxF "$(tail -n 1 "$work/rows")" bench/results/2026-11-26-h200.md || fail "bench/results/2026-11-26-h200.md lacks: $(tail -n 1 "$work/rows")"
# The page of counts has what the tool prints of a build for Hopper by the nvcc that it names.
page=bench/results/gpu-counts.md
version=$(sed -n 's/.*for sm_90a, by nvcc \([0-9.]*[0-9]\).*/\1/p' "$page")
[ -n "$version" ] || fail "$page names no version of nvcc"
if ! grep -q sm_90a "$build/cuda/targets" 2>/dev/null || ! grep -aqF "V$version" "$build/loam-cuda.so" || ! command -v cuobjdump >/dev/null || ! command -v nvdisasm >/dev/null; then
    echo "not compared with $page: there is no build for sm_90a by nvcc $version, or no cuobjdump with nvdisasm"
else
    tools/gpu-counts "$build/loam-cuda.so" | grep '^| `' >"$work/rows"
    tools/gpu-counts "$build/loam-cuda.so" --tiles | grep '^| `' >"$work/tiles"
    awk '/^## /{ on = /Kernels/ } on && /^\| `/' "$page" >"$work/page"
    ! grep -vxFf "$work/page" "$work/rows" >"$work/new" || fail "$page lacks: $(cat "$work/new")"
    ! cat "$work/rows" "$work/tiles" | grep -vxFf - "$work/page" >"$work/old" || fail "tools/gpu-counts does not print: $(cat "$work/old")"
fi
echo "ok"
