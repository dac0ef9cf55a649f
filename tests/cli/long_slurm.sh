# Ranks that srun starts, on two nodes of a Slurm of its own: what threads train; a signal to the step saves and ends all
# of them with 75; a rank that is killed ends the step, and the next one goes on.
. tests/cli/lib.sh "$1"
command -v slurmctld >/dev/null && command -v munged >/dev/null && [ "$(id -u)" = 0 ] || { echo 'no Slurm, or not root'; exit 77; }
[ -e "$(dirname "$loam")/loam-mpi.so" ] || { echo 'no loam-mpi.so'; exit 77; }
trap 'tests/cluster/slurm-down "$work/slurm"; rm -rf "$work" 2>/dev/null || { sleep 1; rm -rf "$work"; }' EXIT
chmod a+x "$work"
tests/cluster/slurm-up "$work/slurm" 2 >"$work/export" || fail 'Slurm does not start'
. "$work/export"
# Two nodes on one host crash Open MPI's shared memory.
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo
make_dataset
. tests/cli/ranks.sh
step=(srun --mpi=pmix --nodes=2 --ntasks=2 --overlap "$loam" train "$config" train.eval_every=0 train.save_every='3 steps' train.precision=f32
    parallel.timeout=3s)
"$loam" train "$config" run.dir="$work/threads" train.length='8 steps' train.eval_every=0 train.save_every='3 steps' train.precision=f32 \
    parallel.ranks=2 2>"$work/err" || fail "$(cat "$work/err")"
"${step[@]}" run.dir="$work/step" train.length='8 steps' 2>"$work/err" || fail "srun: $(tail -n 4 "$work/err")"
same "$work/threads" "$work/step"

"${step[@]}" run.dir="$work/signal" train.length='100k steps' optim.schedule=constant 2>"$work/log" &
pid=$!
until_true grep -q '"kind":"save"' "$work/signal/metrics.jsonl" 2>/dev/null
scancel --signal=USR1 "$(squeue -h -o %A | head -n 1)"
status=0
wait "$pid" || status=$?
[ "$status" = 75 ] || fail "SIGUSR1: status $status: $(tail -n 3 "$work/log")"
grep -q 'stopped on request at step' "$work/signal/log.txt" || fail "SIGUSR1: $(tail -n 3 "$work/signal/log.txt")"

status=0
LOAM_FAULT=step:5:KILL@1 "${step[@]}" run.dir="$work/killed" train.length='8 steps' 2>"$work/err" || status=$?
[ "$status" != 0 ] || fail 'the run went on without rank 1'
"${step[@]}" run.dir="$work/killed" train.length='8 steps' 2>"$work/err" || fail "it does not go on: $(tail -n 4 "$work/err")"
grep -q 'going on from' "$work/err" || fail "it does not go on: $(cat "$work/err")"
echo 'ok: srun'
