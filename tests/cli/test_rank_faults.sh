# labels: any-processor starts-first
# What happens to a run when something happens to one of its ranks: numbers that are not finite, a weight that memory
# spoiled, a process that is killed or stands still.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
run() { "${program:-$loam}" train "$config" train.length='8 steps' train.eval_every=0 train.save_every='3 steps' train.precision=f32 "$@"; }

# Losses of one rank are NaN: all ranks skip this step, and have the same weights afterwards.
LOAM_FAULT=nan:5@1 run run.dir="$work/nan" parallel.ranks=3 parallel.check_every=1 2>"$work/err" || fail "nan: $(tail -n 3 "$work/err")"
grep -q 'step 5 skipped: loss or gradient is not finite' "$work/err" || fail "nothing skipped: $(cat "$work/err")"
[ "$(grep -c skipped "$work/err")" = 1 ] || fail "more than one step skipped: $(grep skipped "$work/err")"
grep -q '"step":8,"updates":7,' "$work/nan/metrics.jsonl" || fail "updates: $(tail -n 2 "$work/nan/metrics.jsonl")"

# A weight of one rank is another one: parallel.check_every finds it, names the rank, and the checkpoint of before stays.
program=$spoiled
LOAM_FAULT=flip:5@2 expect 2 'step 6: rank 2 has other weights than rank 0' run run.dir="$work/flip" parallel.ranks=3 parallel.check_every=2
[ "$(readlink "$work/flip/checkpoints/latest")" = step-00000003 ] || fail "latest: $(readlink "$work/flip/checkpoints/latest")"
LOAM_FAULT=flip:5@3 expect 2 'rank 3 has other weights than rank 1' run run.dir="$work/flip2" parallel.ranks=4 parallel.tensor=2 parallel.check_every=2
LOAM_FAULT=flip:5@1 expect 2 'stages 0 and 1 of a pipeline have different weights' run run.dir="$work/flip3" parallel.ranks=2 \
    parallel.pipeline=2 parallel.check_every=2
unset program

# damage FILE: ids that the model has not, in the middle of a dataset.
damage() {
    for at in $(seq $(($(stat -c %s "$1") / 4)) 97 $(($(stat -c %s "$1") / 4 + 300))); do
        printf '\377\377' | dd of="$1" bs=2 seek="$at" conv=notrunc 2>/dev/null
    done
}
latest() { readlink "$work/$1/checkpoints/latest"; }

# A held-out sample that one rank cannot read: all ranks save the step together. With ZeRO 3 the others wait for that rank's
# weights, so nothing is saved: the message says which checkpoint is kept.
run run.dir="$work/held" train.length='5 steps' parallel.ranks=2 2>"$work/err" || fail "$(tail -n 3 "$work/err")"
cp -r "$work/held" "$work/sharded"
cp "$work/data-valid.bin" "$work/data-valid.copy"
damage "$work/data-valid.bin"
more=(train.length='12 steps' train.eval_every='7 steps' train.eval_samples=0 train.save_every=0 parallel.ranks=2)
expect 1 'after step 7, which is saved: ' run run.dir="$work/held" "${more[@]}"
[ "$(latest held)" = step-00000007 ] || fail "latest: $(latest held)"
run run.dir="$work/sharded" "${more[@]}" parallel.zero=3 >"$work/out" 2>"$work/err" && fail 'ZeRO 3: status 0'
grep -q 'after step 7, the checkpoint of step 5 is kept: ' "$work/err" || fail "ZeRO 3: $(cat "$work/err")"
[ "$(latest sharded)" = step-00000005 ] || fail "latest: $(latest sharded)"
mv "$work/data-valid.copy" "$work/data-valid.bin"

# A sample that one rank cannot read: whatever the layout, all ranks save the last step before it, that of one rank.
cp "$work/data.bin" "$work/data.copy"
damage "$work/data.bin"
expect 1 ', which is saved: ' run run.dir="$work/one" train.length=400 train.save_every=0
for layout in 'ranks=3' 'ranks=2 parallel.zero=3' 'ranks=4 parallel.tensor=2' 'ranks=4 parallel.pipeline=2'; do
    # shellcheck disable=SC2086
    expect 1 ', which is saved: ' run run.dir="$work/unread" train.length=400 train.save_every=0 parallel.$layout
    [ "$(latest unread)" = "$(latest one)" ] || fail "$layout: latest $(latest unread), of one rank $(latest one)"
    rm -r "$work/unread"
done
mv "$work/data.copy" "$work/data.bin"

if ! command -v mpirun >/dev/null || [ ! -e "$(dirname "$loam")/loam-mpi.so" ]; then
    echo "no mpirun, or no loam-mpi.so: ranks that are processes are not tried"
    exit 0
fi
three=("${mpi[@]}" 3 "$loam" train "$config" train.length='8 steps' train.eval_every=0
    train.save_every='3 steps' train.precision=f32 parallel.timeout=20s)

# A process is killed: mpirun ends the others. The next start says who was last seen where, and goes on.
LOAM_FAULT=step:5:KILL@1 "${three[@]}" run.dir="$work/killed" >"$work/out" 2>"$work/err" && fail 'a run without rank 1 went on'
run run.dir="$work/killed" parallel.ranks=2 2>"$work/err" || fail "after a kill: $(tail -n 3 "$work/err")"
grep -q 'rank [0-2] on ' "$work/err" || fail "no last words: $(head -n 5 "$work/err")"
grep -q '"step":8,' "$work/killed/metrics.jsonl" || fail 'it did not go on'

# A process that gets the processor only for a fifth of the time: it is named as the one that the others wait for.
"${mpi[@]}" 3 "$loam" train "$config" run.dir="$work/slow" train.length='100k steps' optim.schedule=constant train.eval_every=0 \
    train.save_every=0 train.log_every='5 steps' train.precision=f32 parallel.timeout=60s model.width=256 model.ffn=1024 \
    >"$work/out" 2>"$work/log" &
pid=$!
until_true grep -q '"step":5,' "$work/slow/metrics.jsonl" 2>/dev/null
until_true test -s "$work/slow/ranks/0001.json"
slow=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$work/slow/ranks/0001.json")
until grep -q 'rank 1 on .* computes [0-9.]* times as long' "$work/slow/metrics.jsonl"; do
    kill -STOP "$slow"
    sleep 0.2
    kill -CONT "$slow"
    sleep 0.05
    kill -0 "$pid" || fail "the run ended: $(tail -n 2 "$work/log")"
done
kill -USR1 "$pid"
wait "$pid" || true
grep -q '"slowest_rank":1.0,"slowest_factor":' "$work/slow/metrics.jsonl" || fail 'no straggler in the metrics'
echo 'ok: a straggler'

# A process stands still: the others wait for parallel.timeout, name it, and end.
status=0
LOAM_FAULT=step:5:STOP@1 "${three[@]}" run.dir="$work/still" >"$work/out" 2>"$work/err" || status=$?
pkill -KILL -f "run.dir=$work/still" || true
[ "$status" = 2 ] || fail "status $status: $(tail -n 5 "$work/err")"
grep -q "rank 1 did not.*last seen: rank 1 on " "$work/err" || fail "rank 1 is not named: $(cat "$work/err")"
grep "rank 1 did not" "$work/err"
sed -n '/^  rank/p' "$work/err"
grep -q '^  rank 1 on .*: step [0-9]*, ' "$work/err" && grep -q '^  ranks* 0.*: step 5, .*waits in ' "$work/err" ||
    fail "where all ranks stand: $(cat "$work/err")"
