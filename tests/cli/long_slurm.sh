# labels: long
# Ranks that srun starts, on two nodes of a Slurm of its own: what threads train; a signal to the step saves and ends all
# of them with 75; a rank that is killed ends the step, and the next one goes on. Then jobs of `loam slurm`: one whose time
# is up, one that is put to fewer nodes, one whose node fails, an array, one that is cancelled.
. tests/cli/lib.sh "$1"
loam=$(realpath "$loam")
command -v slurmctld >/dev/null && command -v munged >/dev/null && [ "$(id -u)" = 0 ] || { echo 'no Slurm, or not root'; exit 77; }
[ -e "$(dirname "$loam")/loam-mpi.so" ] || { echo 'no loam-mpi.so'; exit 77; }
at_end() { "$source_dir"/tests/cluster/slurm-down "$work/slurm"; }
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

# Steps of a tenth of a second and more, so that a job of a few hundred of them outlives its minute of time.
jobs="$work/my jobs"
mkdir "$jobs"
cp "$config" "$jobs/t5.yaml"
cd "$jobs"
slow=(train.eval_every=0 train.save_every='20 steps' train.precision=f32 train.batch='64 samples' optim.schedule=constant parallel.timeout=60s)

# submit NAME OPTION…: the job $job of a script of `loam slurm`, which trains the run "a NAME".
submit() {
    "$loam" slurm t5.yaml run.dir="a $1" "${slow[@]}" --cpus 1 --before 'export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo' \
        --out "$1.sh" "${@:2}" 2>"$work/err" || fail "$1: $(cat "$work/err")"
    job=$(sbatch --parsable "$1.sh") || fail "$1: sbatch"
    run="a $1"
    output="$run/slurm-$job.out"
}
state() { scontrol show job "$job" | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p' | head -n 1; }
restarts() { scontrol show job "$job" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p'; }
saved() { readlink "$run/checkpoints/latest" >/dev/null; }
waits() { [ "$(squeue -h -j "$job" -o %t)" = PD ]; } # and no longer completing
runs() { [ "$(state)" = RUNNING ]; }
# Neither pending nor running nor completing; a job that is requeued is none of these for a moment.
gone() { [ -z "$(squeue -h -j "$job")" ]; }
ended() { gone && sleep 1 && gone; }
# in_time COMMAND…: waits for it, a few minutes at most.
in_time() {
    for _ in $(seq 1500); do
        ! "$@" || return 0
        sleep 0.2
    done
    fail "never: $*: $(scontrol show job "$job" | head -n 6; tail -n 5 "$output")"
}
# A job that was put back into the queue waits for two minutes, since Slurm refuses it in the seconds after its end ("Job
# credential revoked"); here some seconds are enough.
hurry() { sleep 5; scontrol update JobId="$job" StartTime=now 2>/dev/null || ! waits; }
losses() { grep '"kind":"train"' "$1/metrics.jsonl" | grep -o '"step":[0-9]*\|"loss":[-0-9.e+]*\|"grad_norm":[-0-9.e+]*'; }
# whole STEPS: the run has each step once, and is at its end.
whole() {
    [ "$(state)" = COMPLETED ] || fail "$run: $(state): $(tail -n 4 "$output")"
    diff <(grep '"kind":"train"' "$run/metrics.jsonl" | sed 's/.*"step":\([0-9]*\).*/\1/') <(seq "$1") >"$work/diff" ||
        fail "$run has not each step once: $(head -n 3 "$work/diff")"
    "$loam" status "$run" | grep -q ': ended' || fail "$("$loam" status "$run")"
}

# Its time is up: some ten seconds after each start the ranks are asked to save, and the run is as long as half a minute here.
status=0
"$loam" train t5.yaml run.dir=uninterrupted "${slow[@]}" train.length='100k steps' train.stop_after=30s parallel.ranks=2 2>"$work/err" || status=$?
[ "$status" = 75 ] || fail "$(tail -n 2 "$work/err")"
steps=$((10#$(readlink uninterrupted/checkpoints/latest | sed 's/step-//')))
submit limit --nodes 2 --time 1 --signal 50 train.length="$steps steps"
in_time runs
until ended; do
    ! waits || hurry
done
whole "$steps"
[ "$(restarts)" -ge 1 ] || fail "$steps steps, and it was never requeued"
[ "$(grep -c 'stopped on request at step' "$run/log.txt")" = "$(restarts)" ] || fail "$(grep step "$run/log.txt" | tail)"
diff <(losses uninterrupted) <(losses "$run") >"$work/diff" || fail "other losses: $(head -n 3 "$work/diff")"
cmp uninterrupted/checkpoints/latest/weights-00001-of-00002.safetensors "$run"/checkpoints/latest/weights-00001-of-00002.safetensors ||
    fail 'other weights'
echo "ok: a job whose time is up, requeued $(restarts) times, has the losses of an uninterrupted run"

# Put back into the queue and given fewer nodes.
submit fewer --nodes 2 --time 10 train.length='600 steps'
in_time saved
scancel --signal=USR1 "$job"
in_time waits
scontrol update JobId="$job" NumNodes=1 NumTasks=1
hurry
in_time ended
whole 600
grep -q 'going on from ' "$output" || fail "$(cat "$output")"
[ "$(scontrol show job "$job" | sed -n 's/.*NumNodes=\([0-9]*\).*/\1/p')" = 1 ] || fail "not one node: $(scontrol show job "$job")"
paste <(losses uninterrupted) <(losses "$run") | awk '/loss/ && n++ < 100 {
        gsub(/"loss":/, "")
        if (($1 - $2) ^ 2 > (1e-3 * $1) ^ 2) { print n, $1, $2; bad = 1 }
    }
    END { exit bad || n < 100 }' >"$work/diff" || fail "on fewer nodes the losses are others: $(head -n 3 "$work/diff")"
echo 'ok: a job requeued with fewer nodes'

# Its node fails: slurmd is gone and the processes of the node stand still. Slurm finds out, requeues the job, and it goes
# on with the node that is left.
submit failure --nodes 1-2 --ranks 2 --time 10 train.length='600 steps'
in_time saved
grep -q '4 ranks' "$output" || fail "not on both nodes: $(cat "$output")"
slurmd=$(cat "$work/slurm/slurmd-n2.pid")
frozen=
for rank in $(pgrep -f "^$loam train"); do
    if grep -qzx 'SLURMD_NODENAME=n2' "/proc/$rank/environ" && grep -qzx "SLURM_CONF=$SLURM_CONF" "/proc/$rank/environ"; then
        frozen+=" $rank $(ps -o ppid= -p "$rank")"
    fi
done 2>/dev/null
[ -n "$frozen" ] || fail 'no process on the second node'
kill -9 "$slurmd"
# shellcheck disable=SC2086
kill -STOP $frozen
in_time waits
# shellcheck disable=SC2086
kill -9 $frozen 2>/dev/null || true
hurry
in_time ended
whole 600
[ "$(restarts)" = 1 ] || fail "$(restarts) restarts"
grep -q 'the last start of this run ended without a word' "$output" || fail "$(cat "$output")"
echo 'ok: a node that fails'
slurmd -N n2 -f "$SLURM_CONF"
until [ "$(sinfo -h -t idle -o %D)" = 2 ]; do sleep 0.2; done

# The others miss a rank sooner than Slurm could miss its node, which is well: the job goes back into the queue by itself.
submit still --nodes 2 --time 10 train.length='600 steps' parallel.timeout=4s
in_time saved
kill -STOP "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$run/ranks/0001.json")"
in_time grep -q 'slurm: a rank is lost' "$output"
in_time waits
hurry
in_time ended
whole 600
[ "$(restarts)" = 1 ] || fail "$(restarts) restarts"
echo 'ok: a rank that stands still'

# An array: the second job goes on where the first stopped, and the rest is cancelled at the end.
submit array --nodes 1 --time 5 --array 1-4%1 train.length='60 steps' train.exit_every='30 steps'
in_time ended
until [ -z "$(squeue -h)" ]; do sleep 0.2; done
[ "$(cat "$run"/slurm-"$job"_*.out | grep -c 'going on from')" -ge 1 ] || fail "$(cat "$run"/slurm-*)"
[ ! -e "$run/slurm-${job}_4.out" ] || fail 'the fourth job of the array has run'
"$loam" status "$run" | grep -q ': ended' || fail "$("$loam" status "$run")"
echo 'ok: an array'

# A job that a person cancels does not come back, and one that person holds by train.stop_file neither.
submit cancelled --nodes 1 --time 5 train.length='100k steps'
in_time saved
scancel "$job"
in_time ended
sleep 3
[ "$(state)" = CANCELLED ] || fail "cancelled: $(state)"
submit held --nodes 1 --time 5 train.length='100k steps' train.stop_file='stand still'
in_time saved
touch 'stand still'
in_time ended
[ "$(state)" = FAILED ] && scontrol show job "$job" | grep -q 'ExitCode=75:0' || fail "held: $(scontrol show job "$job" | head -n 5)"
echo 'ok: jobs that stay ended'
