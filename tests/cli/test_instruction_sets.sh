# labels: any-processor
# The program holds kernels for instruction sets that a machine may lack: none of their code runs before the device has
# chosen among them, as initialisers at the start of the program would.
. tests/cli/lib.sh "$1"
if nm "$loam" | grep __asan_init >/dev/null; then
    echo "skipped: the sanitizers put code of their own before main"
    exit 77
fi
find "$(dirname "$loam")" -path '*loam_kernels_*' -name '*.o' >"$work/objects"
[ "$(wc -l <"$work/objects")" -ge 2 ] || fail "no objects of kernels beside $loam"
while read -r object; do
    readelf -SW "$object" >"$work/sections"
    ! grep -q '\.init_array\|\.ctors' "$work/sections" || fail "$object has code that runs when the program starts"
done <"$work/objects"
echo "ok: $(wc -l <"$work/objects") kernels wait to be called"
