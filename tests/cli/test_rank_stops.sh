# labels: any-processor starts-first
# Ranks that are processes: a signal to one of them stops all with one save, a disk that is full for one of them costs that
# save and nothing else, and a sample that one of them cannot read ends all of them after one save.
. tests/cli/lib.sh "$1"
command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ] || { echo "no mpirun, or no loam-mpi.so"; exit 77; }
at_end() { pkill -KILL -f "run.dir=$work/" || true; }
make_dataset
. tests/cli/ranks.sh

# ranks FIRST OPTION…: three ranks, each in a shell that runs FIRST before, keeps the exit status, and waits for those of
# the others: mpirun kills all processes once one has ended with another status than 0.
ranks() {
    local first=$1
    shift
    "${mpi[@]}" 3 bash -c "$first"'; "$0" "$@"; status=$?; echo $status >"$STATUS.$OMPI_COMM_WORLD_RANK"
        for try in $(seq 6000); do [ -s "$STATUS.0" ] && [ -s "$STATUS.1" ] && [ -s "$STATUS.2" ] && break; sleep 0.1; done; exit $status' \
        "$loam" train "$config" train.precision=f32 train.eval_every=0 parallel.timeout=60s "$@"
}
statuses() { cat "$STATUS".0 "$STATUS".1 "$STATUS".2 | tr '\n' ' '; }

# A signal to rank 1 alone.
for signal in USR1 TERM; do
    export STATUS=$work/$signal
    ranks : run.dir="$work/run-$signal" train.length='100k steps' optim.schedule=constant train.save_every=0 >"$work/out" 2>"$work/log" &
    pid=$!
    until_true grep -q '"step":5,' "$work/run-$signal/metrics.jsonl" 2>/dev/null
    until_true test -s "$work/run-$signal/ranks/0001.json"
    kill -s "$signal" "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$work/run-$signal/ranks/0001.json")"
    wait "$pid" && fail "mpirun has status 0 after SIG$signal"
    [ "$(statuses)" = '75 75 75 ' ] || fail "SIG$signal: statuses $(statuses): $(tail -n 3 "$work/log")"
    [ "$(grep -c 'stopped on request at step' "$work/log")" = 1 ] || fail "SIG$signal: $(cat "$work/log")"
    [ "$(grep -c '"kind":"save"' "$work/run-$signal/metrics.jsonl")" = 1 ] || fail "SIG$signal: not one save"
    "$loam" inspect checkpoint "$work/run-$signal" >"$work/out" || fail "the checkpoint is damaged"
done
echo 'ok: a signal to one rank'

# Rank 1 cannot write its part.
export STATUS=$work/first
ranks : run.dir="$work/full" train.length='5 steps' parallel.zero=1 2>"$work/log" || fail "$(tail -n 2 "$work/log")"
export STATUS=$work/second
ranks '[ $OMPI_COMM_WORLD_RANK != 1 ] || ulimit -f 8' run.dir="$work/full" train.length='12 steps' parallel.zero=1 >"$work/out" 2>"$work/log" &&
    fail 'a run whose last save failed has status 0'
[ "$(statuses)" = '2 2 2 ' ] || fail "statuses $(statuses): $(tail -n 3 "$work/log")"
grep -q 'was not saved, the previous checkpoint is kept' "$work/log" || fail "no warning: $(cat "$work/log")"
grep -q '"step":12,' "$work/full/metrics.jsonl" || fail 'training did not go on'
[ "$(readlink "$work/full/checkpoints/latest")" = step-00000005 ] || fail "latest: $(readlink "$work/full/checkpoints/latest")"
"$loam" inspect checkpoint "$work/full" >"$work/out" || fail 'the checkpoint before is damaged'
echo 'ok: a disk that is full for one rank'

# What rank 0 alone finds out before the first step ends all ranks with its status: another process trains in the run directory.
"$loam" train "$config" run.dir="$work/taken" train.length='100k steps' optim.schedule=constant train.eval_every=0 train.save_every=0 2>"$work/log" &
pid=$!
until_true test -s "$work/taken/metrics.jsonl"
export STATUS=$work/fourth
ranks : run.dir="$work/taken" train.length='100k steps' >"$work/out" 2>"$work/err" && fail 'two runs in one folder'
kill -USR1 "$pid"
wait "$pid" || true
[ "$(statuses)" = '1 1 1 ' ] || fail "statuses $(statuses): $(cat "$work/err")"
[ "$(grep -c '^loam train: another process is training in ' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
# A tokenizer that rank 1 has not.
export STATUS=$work/fifth
ranks '[ $OMPI_COMM_WORLD_RANK != 1 ] || set -- "$@" tokenizer.path=/none' run.dir="$work/missing" \
    >"$work/out" 2>"$work/err" && fail 'a rank without a tokenizer'
[ "$(statuses)" = '1 1 1 ' ] || fail "statuses $(statuses): $(cat "$work/err")"
[ "$(grep -c '^loam train: rank 1 on .*: .*/none' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
echo 'ok: errors before the first step'

# Some rank cannot read a sample: it has ids that the model has not.
export STATUS=$work/third
for at in $(seq $(($(stat -c %s "$work/data.bin") / 4)) 97 $(($(stat -c %s "$work/data.bin") / 4 + 300))); do
    printf '\377\377' | dd of="$work/data.bin" bs=2 seek="$at" conv=notrunc 2>/dev/null
done
ranks : run.dir="$work/unread" train.length='400 steps' train.save_every=0 >"$work/out" 2>"$work/log" && fail 'a run without its data has status 0'
[ "$(statuses)" = '1 1 1 ' ] || fail "statuses $(statuses): $(tail -n 3 "$work/log")"
[ "$(grep -c '^loam train: after step [0-9]*, which is saved: ' "$work/log")" = 1 ] || fail "$(cat "$work/log")"
"$loam" inspect checkpoint "$work/unread" >"$work/out" || fail 'the checkpoint is damaged'
echo 'ok: a sample that one rank cannot read'
