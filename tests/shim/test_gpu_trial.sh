# tools/gpu-trial, dry: its sections run on kernels that run on the host; what fails is named and the others go on. Argument:
# the build folder.
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
tools/gpu-trial --shim "$build" --out "$work/out" >"$work/page" 2>"$work/err" || fail "$(cat "$work/err")"
for text in 'Nothing failed' 'loam env: gpu  *Shim' '^[1-9][0-9]* of [1-9][0-9]* tests pass' '^1 of 1 train, save, resume' \
    '^| cuda | bf16 | ' '^| tiny | [12] | ' '^| attn_fwd | ' '^| encoder attention, bwd | 32 x 32 | '; do
    grep -q "$text" "$work/page" || fail "no \"$text\" in $(cat "$work/page")"
done
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["failed"] == []' "$work/out/trial.json"
tar -tzf "$work/out/logs.tar.gz" >"$work/list"
grep -q 'logs/train-t5-gpu-2.log' "$work/list" || fail "no logs"
[ "$(ls "$work/out" | wc -l)" = 3 ] || fail "more than three files: $(ls "$work/out")"
echo "ok: all sections"

# A GPU that does not open: each section says so.
! LOAM_FAKE_GPU_REFUSES='it is busy' tools/gpu-trial --shim "$build" --out "$work/busy" --only operations,families,speed \
    >"$work/page" 2>"$work/err" || fail "a GPU that does not open is a success"
for section in operations families speed; do
    grep -q "^- $section: .*it is busy" "$work/page" || fail "$section: $(cat "$work/page")"
done

# What is packed starts where it is unpacked.
tools/gpu-trial --pack "$work/trial.tar.gz" --build "$build" >/dev/null
tar -tzf "$work/trial.tar.gz" >"$work/list"
grep -q '/lib/loam/gpu_test_ops_attention$' "$work/list" || fail "no tests are packed"
LD_LIBRARY_PATH=$build/test-driver LOAM_CUDA_BACKEND=$build/libbackend_shim.so \
    tools/gpu-trial --unpack "$work/trial.tar.gz" --out "$work/unpacked" --only machine >"$work/page" 2>"$work/err" ||
    fail "$(cat "$work/err")"
grep -q 'loam env: gpu  *Shim' "$work/page" || fail "$(cat "$work/page")"
echo "ok: packed and unpacked"

# An archive that is none; a test program that does not start; a trial that is told to end, with what it started.
! tools/gpu-trial --unpack "$work/page" --out "$work/none" 2>"$work/err" || fail "an archive that is none"
[ "$(wc -l <"$work/err")" = 1 ] && grep -q 'page is not what `make gpu-trial` packs' "$work/err" || fail "$(cat "$work/err")"
mkdir "$work/build"
ln -s "$build"/* "$work/build"
rm "$work/build/gpu_test_ops"
printf '#!/bin/sh\necho "libglib is not here" >&2\nexit 127\n' >"$work/build/gpu_test_ops"
chmod +x "$work/build/gpu_test_ops"
! tools/gpu-trial --shim "$work/build" --out "$work/broken" --only operations >"$work/page" 2>"$work/err" || fail "a program that does not start"
grep -q '^- operations: gpu_test_ops does not start: libglib is not here' "$work/page" || fail "$(cat "$work/page")"
printf '#!/bin/sh\nsleep 1234 &\necho $! >%q\nwait\n' "$work/child" >"$work/build/gpu_test_ops"
tools/gpu-trial --shim "$work/build" --out "$work/ended" --only operations 2>"$work/err" &
until [ -s "$work/child" ]; do sleep 0.1; done
kill $!
! wait $! || fail "a trial that was ended is a success"
grep -q '^- trial: it was stopped' "$work/ended/trial.md" || fail "no page when it is told to end"
for _ in $(seq 50); do kill -0 "$(cat "$work/child")" 2>/dev/null || break; sleep 0.1; done
! kill -0 "$(cat "$work/child")" 2>/dev/null || fail "what the trial started goes on"
echo "ok: what breaks is named, what was started ends"

! tools/gpu-trial --shim "$build" --only speeds 2>"$work/err" || fail "a section that is none"
grep -q 'no section is called speeds; there are machine code operations' "$work/err" || fail "$(cat "$work/err")"
echo "ok: what fails is named"
