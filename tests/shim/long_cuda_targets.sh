# loam-cuda.so for every generation of GPUs that it is made for, where nvcc is: it compiles, and attention spills on none.
set -euo pipefail
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake -S . -B "$build" -G Ninja -DLOAM_CUDA_ALL=ON >"$build/cmake.log" || { cat "$build/cmake.log" >&2; exit 1; }
if grep -q 'no backend for GPUs is built' "$build/cmake.log"; then
    echo "skipped: $(grep -o 'no backend for GPUs.*' "$build/cmake.log")"
    exit 77
fi
cmake --build "$build" --target backends >"$build/build.log" || { tail -n 30 "$build/build.log" >&2; exit 1; }
for target in sm_80 sm_90a sm_100; do
    grep -q "for '$target'" "$build"/cuda/attention_fwd.log || { echo "FAIL: no code for $target" >&2; exit 1; }
done
bash tests/shim/test_ptxas.sh "$build"
