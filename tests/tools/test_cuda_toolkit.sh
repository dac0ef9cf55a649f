# labels: tools starts-first
# cmake/cuda.cmake by made-up toolkits: which versions of nvcc it takes, which cuBLASLt it looks for, for which GPUs it builds.
set -euo pipefail
if ! command -v cmake >/dev/null; then
    echo "skipped: cmake is not here"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAIL: $*" >&2
    exit 1
}
mkdir -p "$work/project" "$work/cuda/bin" "$work/cuda/lib64"
ln -s "$PWD/src" "$work/project/src"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(toolkit VERSION 1.0 LANGUAGES C CXX)
add_custom_target(backends)
include($PWD/cmake/cuda.cmake)
END
configure() { # VERSION OPTIONS…: what cmake says with nvcc of this version
    printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$1" "$1" >"$work/cuda/bin/nvcc"
    chmod +x "$work/cuda/bin/nvcc"
    rm -rf "$work/build"
    cmake -S "$work/project" -B "$work/build" -DLOAM_NVCC="$work/cuda/bin/nvcc" -DCMAKE_FIND_ROOT_PATH="$work" \
        -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY "${@:2}" >"$work/said" 2>&1 || fail "nvcc $1: $(tail -3 "$work/said")"
}
said() { grep -qF "$1" "$work/said" || fail "no \"$1\" in $(cat "$work/said")"; }

configure 12.3
said 'nvcc is of CUDA 12.3, 12.4 or later is needed'
touch "$work/cuda/lib64/libcublasLt.so.13"
configure 12.9
said 'cuBLASLt of its CUDA 12 (libcublasLt.so.12) is not'
touch "$work/cuda/lib64/libcublasLt.so.12"
for version in '12.4:sm_80 sm_89 sm_90a' '12.8:sm_80 sm_89 sm_90a sm_100 sm_120' '13.0:sm_80 sm_89 sm_90a sm_100 sm_120'; do
    configure "${version%%:*}" -DLOAM_CUDA_GPUS=all
    [ "$(cat "$work/build/cuda/targets")" = "${version#*:}" ] || fail "nvcc ${version%%:*}: $(cat "$work/build/cuda/targets" "$work/said")"
    grep -q "libcublasLt.so.${version%%.*}" "$work/build/CMakeCache.txt" || fail "cuBLASLt: $(grep CUBLASLT "$work/build/CMakeCache.txt")"
done
for gpus in '9.0:sm_90a' '8.6;8.0:sm_80' '12.0;8.9;10.3:sm_120 sm_89 sm_100'; do
    configure 13.0 "-DLOAM_CUDA_GPUS=${gpus%:*}"
    [ "$(cat "$work/build/cuda/targets")" = "${gpus#*:}" ] || fail "${gpus%:*}: $(cat "$work/build/cuda/targets" "$work/said")"
done
for wrong in h100 90 '' '9.0,8.0'; do
    ! (configure 13.0 "-DLOAM_CUDA_GPUS=$wrong") 2>/dev/null || fail "LOAM_CUDA_GPUS=$wrong is taken"
    said "LOAM_CUDA_GPUS is $wrong, want machine, all, or compute capabilities"
done
echo "ok"
