# labels: starts-first
# Ranks with a GPU each train what one rank trains, on fakes of CUDA's runtime and of NCCL (tests/shim/cuda). Arguments: the
# program, the backend for the fake GPUs, the folder of a driver for them and of the stand-in of libnccl.so.2.
. tests/cli/lib.sh "$1"
export LOAM_CUDA_BACKEND=$2 LD_LIBRARY_PATH=$3
export LOAM_FAKE_GPUS=4 LOAM_FAKE_GPU_MEMORY=$((33570816 + 5242880)) # too little for the matrices that a run's speed is compared with
export TMPDIR=$work
unset CUDA_VISIBLE_DEVICES
make_dataset
. tests/cli/ranks.sh
run() { # NAME OVERRIDES…
    "$loam" train "$config" run.dir="$work/$1" train.device=cuda train.length='10 steps' optim.schedule=constant \
        train.batch='4 samples' train.micro_batch='2 samples' data.input_length=32 train.eval_every=0 train.eval_samples=2 train.save_every=0 \
        train.precision=f32 "${@:2}" 2>"$work/err" || fail "$1: $(tail -n 3 "$work/err")"
}

# Sanitizers make ten times slower what they find in one layout.
if [ -n "${LOAM_SANITIZED:-}" ]; then
    for level in 1 3; do
        run "zero-$level" parallel.ranks=2 parallel.zero=$level train.micro_batch='4 samples' train.length='2 steps'
    done
    same "$work/zero-1" "$work/zero-3"
    LOAM_FAKE_GPUS=1 expect 1 'ranks 0 and 1 would compute on the same GPU' "$loam" train "$config" run.dir="$work/refused" \
        train.device=cuda parallel.ranks=2
    exit 0
fi

run one
LOAM_FAKE_GPU_MEMORY=$((1 << 30)) "$loam" plan "$config" train.device=cuda parallel.ranks=2 2>/dev/null | grep -A 1 '^memory' |
    grep -qx '  *fits: Shim has [0-9.]* MiB free' || fail "the plan says nothing of the GPU"
for layout in ranks=2 'ranks=4 parallel.tensor=2' 'ranks=2 parallel.pipeline=2' 'ranks=2 parallel.context=2'; do
    # shellcheck disable=SC2086
    run "$layout" parallel.$layout
    grep -q '; [24] ranks (nccl' "$work/err" || fail "what carries tensors: $(grep ' ranks (' "$work/err")"
    near "$work/one" "$work/$layout"
done
for level in 1 2 3; do
    run "zero-$level" parallel.ranks=2 parallel.zero=$level train.micro_batch='4 samples'
    [ $level = 1 ] || same "$work/zero-1" "$work/zero-$level"
done
near "$work/one" "$work/zero-1"

# Memory for sums over ranks is taken before a run compares its plan with what is free, so a run that starts ends, too.
for free in 33 36 44; do
    LOAM_FAKE_GPU_MEMORY=$((33570816 + free * 1048576)) "$loam" train "$config" run.dir="$work/sums-$free" train.device=cuda \
        model.vocab=30000 train.length='1 steps' train.batch='2 samples' train.micro_batch='1 samples' data.input_length=8 data.valid= \
        train.eval_every=0 train.save_every=0 train.precision=f32 parallel.ranks=2 2>"$work/err" || grep -q 'the run needs' "$work/err" ||
        fail "$free MiB: $(tail -n 3 "$work/err")"
done

# In bf16 ranks with GPUs have the same weights, and two runs the same bits, whatever order of queues CUDA chooses.
bf16=(parallel.ranks=4 parallel.tensor=2 parallel.sequence=true parallel.zero=3 parallel.check_every=1 train.precision=bf16)
run first "${bf16[@]}"
LOAM_FAKE_GPU_ORDER=2 run second "${bf16[@]}"
same "$work/first" "$work/second"

# With optim.offload each rank keeps its part of the states and of the master weights on its host; no bit changes.
LOAM_FAKE_GPU_REPORT=$work/kept run offloaded "${bf16[@]}" optim.offload=true
same "$work/first" "$work/offloaded"
adafactor=(parallel.ranks=3 parallel.zero=1 train.precision=bf16 optim.name=adafactor optim.beta1=0.9 optim.min_dim_factored=0)
run adafactor "${adafactor[@]}"
run adafactor-offloaded "${adafactor[@]}" optim.offload=true
same "$work/adafactor" "$work/adafactor-offloaded"
for ranks in 1 2; do
    LOAM_FAKE_GPU_REPORT=$work/kept run "kept-$ranks" parallel.ranks=$ranks parallel.zero=$((ranks - 1)) \
        optim.offload=true train.precision=bf16 train.length='2 steps'
    planned=$(sed -n 's/.* on the host \([0-9.]*\) KiB.*/\1/p' "$work/err")
    awk -v planned="$planned" -v ranks=$ranks '
        /^pinned/ { host = ($2 - ranks * 12582912) / 1024 / ranks } # without the buffers of uploads and downloads
        END { print "planned", planned, "KiB per rank, taken", host; exit !(host < 1.05 * planned && planned < 1.05 * host) }' "$work/kept" ||
        fail "memory of the host"
done

refused() { expect "$@" "$loam" train "$config" run.dir="$work/refused" train.device=cuda parallel.ranks=2; }
host=$(hostname)
LOAM_FAKE_GPUS=1 refused 1 "ranks 0 and 1 would compute on the same GPU, Shim (cuda:0 of $host): each rank needs its own, and a rank sees 1 there; want at most"
expect 1 "Shim (cuda:1 of $host): train.device=cuda:1 is one GPU for all ranks, want train.device=cuda" "$loam" train "$config" \
    run.dir="$work/refused" train.device=cuda:1 parallel.ranks=2
needs="several ranks on GPUs need NVIDIA's library NCCL, libnccl.so.2 in LD_LIBRARY_PATH or LOAM_NCCL=FILE"
LOAM_NCCL=$work/gone.so refused 2 "$needs: $work/gone.so: cannot open shared object file"
LOAM_NCCL=libm.so.6 refused 2 "$needs: libm.so.6 has no function ncclGetVersion"
for version in 2708:2.7.8 21703:2.17.3 30102:3.1.2; do
    LOAM_FAKE_NCCL_VERSION=${version%:*} refused 2 \
        "libnccl.so.2 is of version ${version#*:}, loam needs 2.18 or a later version 2"
done
"$loam" env | grep -q '^nccl  *2.28.9' || fail "env: $("$loam" env)"
LOAM_FAKE_NCCL_BREAKS=40 refused 2 'rank 1: NCCL: remote process exited or there was a network error'
! grep -q 'rank 1.*rank 1' "$work/err" || fail "a rank is named twice: $(cat "$work/err")"

if ! command -v mpirun >/dev/null || [ ! -e "$(dirname "$loam")/loam-mpi.so" ]; then
    echo "no mpirun, or no loam-mpi.so: ranks that are processes are not tried"
    exit 0
fi
# Ranks as processes: the fake GPUs of a process go on while it looks at them, and when work is queued.
export LOAM_FAKE_GPU_ORDER=3
two=("${mpi[@]}" 2 "$loam" train "$config" train.device=cuda train.length='10 steps' optim.schedule=constant
    train.batch='4 samples' train.micro_batch='2 samples' data.input_length=32 train.eval_every=0 train.eval_samples=2
    train.save_every=0 train.precision=f32)
"${two[@]}" run.dir="$work/processes" >"$work/out" 2>"$work/err" || fail "mpirun: $(tail -n 3 "$work/err")"
same "$work/ranks=2" "$work/processes"
# A stage of a pipeline that has queued several messages waits for the other stage, and its GPU goes on with them.
"${two[@]}" run.dir="$work/stages" parallel.pipeline=2 train.eval_samples=8 parallel.timeout=60s >"$work/out" 2>"$work/err" ||
    fail "pipeline: $(tail -n 3 "$work/err")"
run stages-by-threads parallel.ranks=2 parallel.pipeline=2 train.eval_samples=8
same "$work/stages-by-threads" "$work/stages"
# GPUs of which one has more memory free: the pieces of sums are as long on both.
# shellcheck disable=SC2016
"${two[@]:0:${#mpi[@]} + 1}" bash -c 'LOAM_FAKE_GPU_MEMORY=$((LOAM_FAKE_GPU_MEMORY + 1048576 * OMPI_COMM_WORLD_RANK)) exec "$@"' - \
    "${two[@]:${#mpi[@]} + 1}" run.dir="$work/uneven" >"$work/out" 2>"$work/err" || fail "uneven: $(tail -n 3 "$work/err")"
same "$work/ranks=2" "$work/uneven"
for fault in STOP KILL; do
    status=0
    LOAM_FAULT=step:5:$fault@1 "${two[@]}" run.dir="$work/$fault" parallel.timeout=20s train.save_every='3 steps' \
        >"$work/out" 2>"$work/err" || status=$?
    lost=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$work/$fault/ranks/0001.json")
    kill -KILL "$lost" 2>/dev/null || true
    [ $status != 0 ] || fail "a run without rank 1 went on"
    [ $fault = KILL ] || {
        [ $status = 2 ] || fail "status $status: $(tail -n 3 "$work/err")"
        grep -q 'rank 1 did not answer rank 0 within 20 s (parallel.timeout); last seen: rank 1 on ' "$work/err" ||
            fail "who was lost: $(cat "$work/err")"
    }
    [ "$(readlink "$work/$fault/checkpoints/latest")" = step-00000003 ] || fail "$fault: no checkpoint"
    echo "ok: $fault"
done
