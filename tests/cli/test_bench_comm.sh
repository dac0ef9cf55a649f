# labels: measures-peak starts-first
# bench comm: every collective between threads and between processes, bytes as they should be, and a file that plan reads.
. tests/cli/lib.sh "$1"
short='--seconds 0.001 --most 0.131072'

# row FILE CALL BYTES: sent_bytes of this row.
row() { tr -d '\n ' <"$1" | grep -o "{\"call\":\"$2\",\"bytes\":$3,[^}]*}" | grep -o '"sent_bytes":[0-9]*' | cut -d: -f2; }

# check_file FILE RANKS TRANSPORT: what a rank sends of 131,072 bytes, by the formulas of direct exchange.
check_file() {
    local n=131072 r=$2 part=$((131072 / $2)) file=$1
    grep -q "\"transport\": \"$3\"" "$file" && grep -q "\"ranks\": $r" "$file" || fail "$(head -n 3 "$file")"
    local -A sent=([all-reduce]=$((2 * (r - 1) * part)) [reduce-scatter]=$(((r - 1) * part)) [all-gather]=$(((r - 1) * part))
        [all-to-all]=$(((r - 1) * part)) [send/receive]=$n)
    for call in "${!sent[@]}"; do
        [ "$(row "$file" "$call" $n)" = "${sent[$call]}" ] || fail "$call sends $(row "$file" "$call" $n), not ${sent[$call]}"
        [ -n "$(row "$file" "$call" 8192)" ] || fail "no $call of 8 KiB"
    done
    [ -n "$(row "$file" broadcast $n)" ] && [ "$(row "$file" barrier 0)" = 0 ] || fail "no broadcast, or no barrier"
    "$loam" plan configs/gpt2.yaml model.vocab=50257 parallel.ranks=4 --machine "$file" >"$work/plan" 2>"$work/err" ||
        fail "plan: $(cat "$work/err")"
    grep -q "^machine  *${file##*/}: nodes of $r with" "$work/plan" && grep -q '^a step there ' "$work/plan" ||
        fail "plan: $(grep there "$work/plan")"
    grep -q '^energy  *unknown: --watts W, ' "$work/plan" || fail "watts that nobody measured: $(grep '^energy' "$work/plan")"
    [ "$(grep -c 'does not say whether its ranks are GPUs' "$work/err")" = 0 ] || fail "a file of this version: $(cat "$work/err")"
    echo "ok: $r ranks, $3"
}

counts='2 4'
[ -z "${LOAM_SANITIZED:-}" ] || counts=2
for ranks in $counts; do
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=1 "$loam" bench comm $short parallel.ranks=$ranks --out "$work/threads.json" >"$work/out" 2>"$work/err" ||
        fail "$(cat "$work/err")"
    [ "$(awk '$1 ~ /^(all-reduce|reduce-scatter|all-gather|broadcast|all-to-all|send\/receive|barrier)$/' "$work/out" | wc -l)" = 13 ] ||
        fail "the table: $(cat "$work/out")"
    check_file "$work/threads.json" $ranks thread
done
if command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ]; then
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=1 "${mpi[@]}" 3 "$loam" bench comm $short --json --out "$work/mpi.json" >"$work/out" 2>"$work/err" ||
        fail "$(cat "$work/err")"
    [ "$(grep -c '"transport":' "$work/out")" = 1 ] || fail "other ranks print, too: $(cat "$work/out")"
    "$loam" plan configs/gpt2.yaml model.vocab=50257 parallel.ranks=6 --machine "$work/mpi.json" 2>/dev/null |
        grep -q '^machine  *mpi.json: nodes of 3 with' || fail "plan with mpi.json"
    # An error is said once, not by every process.
    status=0
    "${mpi[@]}" 3 "$loam" bench comm --most 0 >"$work/out" 2>"$work/err" || status=$?
    [ $status = 1 ] && [ "$(grep -c '^loam bench: --most is 0' "$work/err")" = 1 ] || fail "status $status: $(cat "$work/err")"
    status=0
    "${mpi[@]}" 3 "$loam" bench comm train.device=none >"$work/out" 2>"$work/err" || status=$?
    [ $status = 1 ] && [ "$(grep -c '^loam bench: ' "$work/err")" = 1 ] || fail "status $status: $(cat "$work/err")"
    echo "ok: mpirun"
fi
expect 1 'set parallel.ranks=2, or start it by mpirun' "$loam" bench comm
expect 1 '--most is 0' "$loam" bench comm --most 0 parallel.ranks=2
expect 1 '--seconds is -1' "$loam" bench comm --seconds -1 parallel.ranks=2
echo precious >"$work/mine"
expect 1 "$work/mine" "$loam" bench comm parallel.ranks=2 --out "$work/mine"
[ "$(cat "$work/mine")" = precious ] || fail "a file of something else is gone"
