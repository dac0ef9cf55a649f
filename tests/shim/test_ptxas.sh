# What ptxas said when loam-cuda.so was built: kernels spill few registers. Attention on tensor cores may spill 256 bytes:
# on an H200, more blocks on a multiprocessor were worth more to it. The PTX that ptxas read: attention of bf16 and f16
# goes by tensor cores. Where the file looks for cuBLASLt. Argument: the build folder.
set -euo pipefail
logs=$1/cuda
if ! ls "$logs"/*.log >/dev/null 2>&1; then
    echo "skipped: nvcc is not here, so loam-cuda.so was not built"
    exit 77
fi
targets=$(cat "$logs/targets")
for target in $targets; do
    for log in "$logs"/attention*.log; do
        grep -q "Compiling entry function .* for '$target'" "$log" || { echo "FAIL: $log: no code for $target" >&2; exit 1; }
    done
done
n=$(cat "$logs"/*.log | grep -c 'Compiling entry function')
[ "$n" -ge 40 ] || { echo "FAIL: ptxas names $n kernels" >&2; exit 1; }
awk '/Compiling entry function/ { name = $7 }
/bytes spill stores/ && !/warning/ {
    for (i = 1; i <= NF; i++)
        if ($i == "spill" && $(i + 1) ~ /stores/ && $(i - 2) > (name ~ /attention_mma/ ? 256 : 128)) {
            print "FAIL: " name " spills " $(i - 2) " bytes"
            failed = 1
        }
}
END { exit failed }' "$logs"/*.log
# cuBLASLt may lie beside the file; no place is the folder that somebody happens to be in.
path=$(readelf -d "$1/loam-cuda.so" | sed -n 's/.*runpath: \[\(.*\)\]/\1/p')
case :$path: in
*::* | *:.:*) echo "FAIL: libraries are looked for in the current folder: $path" >&2; exit 1 ;;
:'$ORIGIN':/*) ;;
*) echo "FAIL: libraries are looked for in $path" >&2; exit 1 ;;
esac
# Kernels of the file by name, and how many of these instructions each has; the PTX follows its sizes in the object.
instructions() { # OBJECT INSTRUCTION…
    local object=$1
    shift
    LC_ALL=C tr -c '[:print:]\n\t' '\n' <"$object" | awk -v wanted="$*" '
        BEGIN { n = split(wanted, instruction, " ") }
        function report(   i, line) {
            for (i = 1; i <= n; i++)
                line = line " " count[i] + 0
            if (name)
                print name line
            delete count
        }
        /\.entry / { report(); name = $0; sub(/.*\.entry /, "", name); sub(/\(.*/, "", name) }
        { for (i = 1; i <= n; i++) if (index($0, instruction[i])) count[i]++ }
        END { report() }'
}
kernels=0
for object in "$logs"/attention_mma_*.o; do
    while read -r name products matrices transposed copies; do
        kernels=$((kernels + 1))
        if [ "$products" -lt 16 ] || [ "$matrices" -lt 8 ] || [ "$transposed" -lt 8 ] || [ "$copies" -lt 1 ]; then
            echo "FAIL: $name has $products mma, $matrices and $transposed ldmatrix, $copies cp.async" >&2
            exit 1
        fi
    done < <(instructions "$object" mma.sync.aligned.m16n8k16 ldmatrix.sync.aligned.m8n8.x4.shared \
        ldmatrix.sync.aligned.m8n8.x4.trans cp.async.cg.shared.global)
done
[ "$kernels" -ge 24 ] || { echo "FAIL: $kernels kernels of attention on tensor cores" >&2; exit 1; }
# wgmma runs while its threads go on, unless ptxas has found that something touches its registers too early.
if grep -h 'wgmma.*serialized' "$logs"/*.log; then
    echo "FAIL: products that wait for each other" >&2
    exit 1
fi
# In machine code of 9.0 and later each kernel waits for earlier ones before it touches global memory.
for target in $targets; do
    case $target in sm_8*) continue ;; esac
    said=$(tools/gpu-counts "$1/loam-cuda.so" --target "$target" --early 2>&1) || case $said in
    *'cuobjdump is not here'* | *"Could not find executable file 'nvdisasm'"*) echo "not checked: which kernels wait for earlier ones: $said" ;;
    *) echo "FAIL: $said" >&2 && exit 1 ;;
    esac
done
# Shared memory that a kernel is born with is at most 48 KiB, registers of a thread are at most 255.
awk '/Used [0-9]+ registers/ {
    for (i = 1; i <= NF; i++) {
        if ($i == "Used" && $(i + 1) > 255) failed = 1
        if ($i == "bytes" && $(i + 1) ~ /^smem/ && $(i - 1) > 49152) failed = 1
    }
}
END { exit failed }' "$logs"/attention*.log || { echo "FAIL: registers or shared memory of attention" >&2; exit 1; }
echo "ok: $n kernels, $kernels on tensor cores, for $targets"
