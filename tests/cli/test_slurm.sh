# labels: any-processor
# loam slurm: the submit script is this one, a shell reads it, and it does the right thing however `loam train` ends.
. tests/cli/lib.sh "$1"
loam=$(realpath "$loam")
make_dataset
mkdir "$work/my runs"
cp "$work/config.yaml" "$work/my runs/t5.yaml"
cd "$work/my runs"
run="it's a run/100%"

"$loam" slurm t5.yaml run.dir="$run" --nodes 2-4 --ranks 2 --cpus 8 --memory 64G --time 19h50m --partition cpu \
    --account 'lab one' --sbatch=--constraint=avx512 --sbatch=--mail-type=FAIL --before 'module load openmpi' \
    --out job.sh optim.lr=1e-3 train.stop_file='stop here' 2>"$work/err" || fail "$(cat "$work/err")"
sed "s|$work|WORK|g; s|$loam|LOAM|g" job.sh >"$work/script"
diff -u - "$work/script" <<'SCRIPT' || fail 'another script'
#!/bin/bash
#SBATCH --job-name=100%
#SBATCH --nodes=2-4
#SBATCH --cpus-per-task=16
#SBATCH --time=0-19:50:00
#SBATCH --partition=cpu
#SBATCH --account="lab one"
#SBATCH --mem=64G
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --chdir="WORK/my runs"
#SBATCH --output="WORK/my runs/it's a run/100%%/slurm-%j.out"
#SBATCH --open-mode=append
#SBATCH --constraint=avx512
#SBATCH --mail-type=FAIL

# 120 seconds before the time is up all ranks get SIGUSR1: `loam train` saves a checkpoint and ends with status 75,
# and this job goes back into the queue and continues the run. Any other status is that of this job.
loam=LOAM
run='WORK/my runs/it'\''s a run/100%'
module load openmpi
before=$(ls -d "$run"/checkpoints/step-* 2>/dev/null | tail -n 1)
said=$(cat "$run/log.txt" 2>/dev/null | wc -l)
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks=$((SLURM_JOB_NUM_NODES * 2)) --ntasks-per-node=2 --cpus-per-task=8 \
    --mpi=pmix --kill-on-bad-exit=0 --wait=0 "$loam" train t5.yaml 'run.dir=it'\''s a run/100%' optim.lr=1e-3 'train.stop_file=stop here'
status=$?
lost=no
if [ "$status" != 0 ] && tail -n +$((said + 1)) "$run/log.txt" | grep -q '\<rank .* did not '; then
    echo "slurm: a rank is lost: if its node is, Slurm finds out and requeues this job" >&2
    sleep $(($(scontrol show config | sed -n 's/^SlurmdTimeout *= *\([0-9]*\).*/\1/p') + 60))
    lost=yes # the node answers: the job goes back into the queue as one whose time is up
fi
goes_on=no
if [ "$status" = 75 ] || [ $lost = yes ]; then
    goes_on=yes
    if [ "$(ls -d "$run"/checkpoints/step-* 2>/dev/null | tail -n 1)" = "$before" ]; then
        echo "slurm: this job saved no new checkpoint, so it is not repeated: it needs more time" >&2
        goes_on=no
    fi
    if [ -e 'stop here' ]; then # train.stop_file: a person wants the run to stand still
        goes_on=no
    fi
fi
if [ $goes_on = yes ]; then
    scontrol requeue "$SLURM_JOB_ID" && sleep 60 # which ends this script
fi
exit "$status"
SCRIPT
[ -d "$run" ] || fail 'no folder for the output of the job'

# The scripts under stand-ins for Slurm's commands: train ends with $STATUS, after a save if $SAVES says so.
mkdir bin
cat >bin/srun <<'S'
#!/bin/bash
[ -z "$SAVES" ] || mkdir -p "$run_of_test/checkpoints/step-$(date +%s%N)"
[ -z "${SAYS-}" ] || echo "$SAYS" >>"$run_of_test/log.txt"
echo "srun $*" >>calls
exit "$STATUS"
S
for name in scontrol scancel module sleep; do
    printf '#!/bin/bash\necho "%s $*" >>calls\n' "$name" >bin/$name
done
printf '[ "$2" != config ] || echo "SlurmdTimeout           = 300 sec"\n' >>bin/scontrol
chmod +x bin/*
export PATH=$PWD/bin:$PATH run_of_test=$PWD/$run SLURM_JOB_ID=17 SLURM_ARRAY_JOB_ID=17 SLURM_JOB_NUM_NODES=3 SLURM_CPUS_ON_NODE=6
mkdir "$run/checkpoints"
touch "$run/lock"

# ends SCRIPT STATUS SAVES EXPECTED 'CALLS': the script ends with status EXPECTED after these calls.
ends() {
    local got=0
    rm -f calls
    STATUS=$2 SAVES=$3 bash "$1" >"$work/out" 2>&1 || got=$?
    [ "$got" = "$4" ] || fail "$1 after status $2: $got, not $4: $(cat "$work/out")"
    [ "$(grep -v '^srun\|^module\|^sleep' calls | tr '\n' ';')" = "$5" ] || fail "$1 after status $2: $(cat calls)"
    echo "ok: $1 after status $2"
}
ends job.sh 75 yes 75 'scontrol requeue 17;'
grep -q '^srun --nodes=3 .* train t5.yaml ' calls || fail "$(cat calls)"
ends job.sh 75 '' 75 ''
ends job.sh 0 yes 0 ''
ends job.sh 2 yes 2 ''
# A rank that did not answer: Slurm is given the time to find its node lost, and requeues the job; if it does not, the job does.
export SAYS='2026-01-31T07:30:00Z loam train: rank 1 did not answer rank 0 within 60 s (parallel.timeout)'
ends job.sh 2 yes 2 'scontrol show config;scontrol requeue 17;'
grep -qx 'sleep 360' calls || fail "$(cat calls)"
ends job.sh 137 '' 137 'scontrol show config;'
SAYS='' ends job.sh 2 yes 2 '' # said by an earlier start
unset SAYS
touch 'stop here'
ends job.sh 75 yes 75 ''

# A date that has passed stops each start after a step, with a new checkpoint: the job must not go on for ever.
"$loam" slurm t5.yaml run.dir="$run" train.stop_date='2026-01-31 07:30' --time 1h --out date.sh 2>"$work/err" || fail "$(cat "$work/err")"
ends date.sh 75 yes 75 ''
"$loam" slurm t5.yaml run.dir="$run" train.stop_date='2126-01-31 07:30' hooks.on_save='sleep 1' hooks.timeout=10m --time 1h \
    --out date.sh 2>"$work/err" || fail "$(cat "$work/err")"
ends date.sh 75 yes 75 'scontrol requeue 17;'
grep -q 'a hook may take up to hooks.timeout (600 s' "$work/err" || fail "no word of hooks: $(cat "$work/err")"

cp t5.yaml kept.yaml
expect 1 'is no script of loam slurm' "$loam" slurm t5.yaml run.dir="$run" --time 1h --out t5.yaml
cmp t5.yaml kept.yaml || fail 'another file was replaced'

"$loam" slurm t5.yaml run.dir="$run" --array 1-10%1 --out array.sh 2>"$work/err" || fail "$(cat "$work/err")"
grep -q -- '--time 10m00s: 1.5 times an estimate, rounded up to 10 minutes: ' "$work/err" || fail "it does not say where the time is from: $(cat "$work/err")"
grep -q '^#SBATCH --time=0-00:10:00$' array.sh && grep -q '^#SBATCH --exclusive$' array.sh &&
    grep -q '^#SBATCH --output=".*/slurm-%A_%a.out"$' array.sh || fail "$(cat array.sh)"
export SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MAX=10
ends array.sh 75 yes 0 ''
grep -q -- '--cpus-per-task=6 ' calls || fail "not all cores: $(cat calls)"
ends array.sh 75 '' 75 'scancel --state=PENDING 17;'
ends array.sh 0 yes 0 'scancel --state=PENDING 17;'
ends array.sh 2 yes 2 'scancel --state=PENDING 17;'
export SLURM_ARRAY_TASK_ID=10
ends array.sh 75 yes 75 ''
"$loam" slurm t5.yaml run.dir=e --time 1-12 --no-requeue >once.sh 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '^#SBATCH --time=1-12:00:00$' once.sh && ! grep -q '^#SBATCH --ntasks-per-node' once.sh || fail "$(cat once.sh)"
ends once.sh 75 yes 75 ''

# refused TEXT OPTION…
refused() {
    expect 1 "$1" "$loam" slurm t5.yaml run.dir=b --time 20h "${@:2}"
}
expect 1 'no configuration given' "$loam" slurm
expect 1 'unknown option --node, did you mean --nodes?' "$loam" slurm t5.yaml --node 2
for option in nodes time array memory partition account name mpi; do
    refused "--$option is empty or has a line end" --$option ''
done
refused '--nodes is 4-2, want a number or the least and the most, such as 4 or 2-4' --nodes 4-2
refused '--array is 1-10, want FIRST-LAST%1, such as 1-10%1: one job of the run at a time' --array 1-10
refused '--time is 20x, want a time of up to a year such as 19h50m' --time 20x
expect 0 '#SBATCH --time=1-07:00:00' "$loam" slurm t5.yaml run.dir="$run" --time 1d07h
# A length in time counts the time of all jobs, so several follow each other.
expect 1 'train.length is a time, the training time of all jobs: give --time, that of one job' "$loam" slurm t5.yaml run.dir="$run" train.length=20h
expect 0 'train.length=20h counts the training time of all jobs: at least 3 follow each other' "$loam" slurm t5.yaml run.dir="$run" train.length=20h --time 10h
refused '--time 2 is no longer than --signal, 120 seconds' --time 2
refused '--ranks is 0, want 1 to 65535' --ranks 0
refused '--sbatch is exclusive, want one option of sbatch' --sbatch exclusive
refused 'parallel.ranks is 2: leave it out, srun starts 4 ranks' --nodes 4 parallel.ranks=2
refused 'parallel.tensor is 3, ' --nodes 4 parallel.tensor=3
refused "16 data-parallel ranks for a batch of 8 samples: some would have none" --nodes 4 --ranks 4
refused 'holds files (calls' run.dir=.
refused '--memory is lots, want a whole number with K, M, G or T, such as 64G' --memory lots
refused '--memory is 64000, want a whole number with K, M, G or T' --memory 64000
refused '--cpus is 0, want 1 to 65535; without --cpus the ranks share all cores of the node' --cpus 0
refused '--gpus 2 with --ranks 3: each rank computes on one GPU' --gpus 2 --ranks 3
refused 'want a name that `sinfo` lists' --partition 'a b'
refused '--before is empty' --before ' '
refused '--sbatch=--nodes=8 contradicts the rest of the script: use --nodes of loam slurm' --sbatch=--nodes=8
refused '--sbatch=-N8 contradicts the rest of the script' --sbatch=-N8
refused '--sbatch=--time 5 contradicts the rest of the script: use --time of loam slurm' '--sbatch=--time 5'
refused '--sbatch=--mem-per-cpu=2G contradicts' --memory 64G --sbatch=--mem-per-cpu=2G
refused '--sbatch=--gres=gpu:a100:4 contradicts' --gpus 1 --sbatch=--gres=gpu:a100:4 train.device=cuda
refused 'a value with blanks needs double quotes' '--sbatch=--comment=two words'
refused 'a value with blanks needs double quotes' '--sbatch=--comment="two'
refused '--sbatch is --, want one option of sbatch' --sbatch=--
refused 'tokenizer.path is not set' tokenizer.path=
refused 'data.train is not set' data.train=
refused '. is a folder; want the name of a file' --out .
refused '--out is empty' --out ''
refused 'nowhere' --out nowhere/job.sh
expect 2 'writing /dev/full: No space left on device' "$loam" slurm t5.yaml run.dir=b/c --time 20h --out /dev/full
expect 2 'writing standard output: No space left on device' sh -c '"$1" slurm t5.yaml run.dir=b/c --time 20h >/dev/full' sh "$loam"
mkdir b && expect 2 'No space left' "$loam" slurm t5.yaml run.dir=b/c/d --time 20h --out /dev/full
rmdir b || fail "a folder is left, or a folder that was there is gone"
[ ! -e b ] || fail 'a refused call made the directory of the run'
"$loam" slurm t5.yaml run.dir=d --time 20h --memory 0 --sbatch=--time-min=5 '--sbatch=--comment="two words"' --sbatch=--mem-bind=local \
    '--sbatch=-C avx512' --sbatch=--gres=disk:1 --sbatch=--partition=cpu >more.sh 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '^#SBATCH --comment="two words"$' more.sh && grep -q '^#SBATCH --mem=0$' more.sh || fail "$(cat more.sh)"
"$loam" slurm t5.yaml run.dir=d --time 20h train.device=cuda --sbatch=--nice >more.sh 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'train.device is cuda and the job asks for no GPU' "$work/err" || fail "no word of the GPU: $(cat "$work/err")"
"$loam" slurm t5.yaml run.dir=d --time 20h train.device=cuda:0 --ranks 2 >more.sh 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'the job asks for no GPU: give --gpus 2' "$work/err" && grep -q 'with train.device=cuda each rank takes a GPU of its own' "$work/err" ||
    fail "no word of the GPUs: $(cat "$work/err")"
for missing in data.train=nowhere tokenizer.path=nowhere; do
    expect 0 'warning: on this machine the job would fail: ' "$loam" slurm t5.yaml run.dir=d --time 20h $missing
done
expect 1 'tokenizer.path: nowhere: no such file' "$loam" slurm t5.yaml run.dir=b tokenizer.path=nowhere
expect 1 'run.dir is not set' "$loam" slurm t5.yaml --time 20h
expect 1 'give --time' "$loam" slurm t5.yaml run.dir=b train.device=cuda --gpus 1
echo 'ok: loam slurm'
