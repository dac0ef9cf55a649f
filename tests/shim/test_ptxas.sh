# What ptxas said when loam-cuda.so was built: attention keeps its sums in registers, other kernels spill little. Argument: the
# build folder.
set -euo pipefail
logs=$1/cuda
if ! ls "$logs"/*.log >/dev/null 2>&1; then
    echo "skipped: nvcc is not here, so loam-cuda.so was not built"
    exit 77
fi
n=$(cat "$logs"/*.log | grep -c 'Compiling entry function')
[ "$n" -ge 40 ] || { echo "FAIL: ptxas names $n kernels" >&2; exit 1; }
awk '/Compiling entry function/ { name = $7 }
/bytes spill stores/ && !/warning/ {
    for (i = 1; i <= NF; i++)
        if ($i == "spill" && $(i + 1) ~ /stores/ && $(i - 2) > (name ~ /attention/ ? 0 : 128)) {
            print "FAIL: " name " spills " $(i - 2) " bytes"
            failed = 1
        }
}
END { exit failed }' "$logs"/*.log
echo "ok: $n kernels"
