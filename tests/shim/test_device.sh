# labels: starts-first
# Devices by name, on machines with and without GPUs. The GPU here is a fake of CUDA's runtime under the backend as it is,
# whose kernels run on the host (tests/shim): the program trains, resumes, evaluates and decodes on it as on the CPU.
# Arguments: the program, that backend, the folder of a driver for it.
. tests/cli/lib.sh "$1"
export LOAM_CUDA_BACKEND=$2
driver=$3
unset CUDA_VISIBLE_DEVICES
make_dataset
train=("$loam" train "$work/config.yaml" optim.schedule=constant 'train.micro_batch=2 samples' 'train.batch=2 samples'
    data.input_length=32 train.eval_samples=2)

# Without a driver: a file that is none stands for it.
mkdir "$work/none"
: >"$work/none/libcuda.so.1"
none() { LD_LIBRARY_PATH=$work/none "$@"; }
none "$loam" env | grep -q '^gpu  *none is used: there is no NVIDIA driver (libcuda.so.1)$' || fail "env: $(none "$loam" env)"
none "$loam" env --json | grep -q '"gpu": *"none is used: there is no NVIDIA driver' || fail "env --json"
expect 2 "device cuda: there is no NVIDIA driver (libcuda.so.1)" \
    none "${train[@]}" run.dir="$work/refused" train.device=cuda
expect 1 'train.device: device "gpu" is unknown, want auto, cpu, cuda or cuda:N' \
    none "${train[@]}" run.dir="$work/refused" train.device=gpu
none "${train[@]}" run.dir="$work/quiet" train.device=auto 'train.length=1 steps' 2>"$work/log"
! grep -q 'computing on the CPU' "$work/log" || fail "a machine without a driver: $(cat "$work/log")"
echo "ok: no driver"

# With one: too old, a backend that is not there or of another build, a GPU that is too old, too few GPUs.
with() { LD_LIBRARY_PATH=$driver "$@"; }
with "$loam" env | grep -q '^gpu  *Shim, 1024 MiB, compute capability 9.0, compute mode default$' || fail "env: $(with "$loam" env)"
with "$loam" env | grep -q '^cuda  *driver for CUDA 13.0, loam-cuda.so of CUDA 13.2, cuBLASLt 13.2.1$' || fail "env: $(with "$loam" env)"
LOAM_FAKE_GPU_NAME='Shim MIG 1g.18gb' LOAM_FAKE_GPU_MODE=2 with "$loam" env | grep -q \
    '^gpu  *Shim MIG 1g.18gb, .*, a slice of a GPU by MIG, compute mode prohibited, so no program may use it (nvidia-smi -c DEFAULT)$' || fail "MIG"
LOAM_FAKE_GPU_MODE=3 with "$loam" env | grep -q 'compute mode exclusive, so one process may use it$' || fail "an exclusive GPU"
LOAM_FAKE_DRIVER=12040 with "$loam" env |
    grep -q 'none is used: the NVIDIA driver is for CUDA 12.4, loam-cuda.so needs one for 13.0 or later; NVIDIA.s package cuda-compat.* or a build with nvcc of CUDA 12$' ||
    fail "an old driver"
# cuda-compat: a later driver in a folder of its own is used if the machine's is too old.
mkdir "$work/compat"
cp "$driver/libcuda.so.1" "$work/compat"
for version in 13010:'cuda  *driver for CUDA 13.1 of .*/compat (the machine.s is for 12.4), loam-cuda.so of CUDA 13.2, cuBLASLt 13.2.1$' \
    12080:"gpu  *none is used: the NVIDIA driver is for CUDA 12.4, .*; that in $work/compat is for CUDA 12.8$"; do
    LOAM_CUDA_COMPAT=$work/compat LOAM_FAKE_COMPAT=${version%%:*} LOAM_FAKE_DRIVER=12040 with "$loam" env | grep -q "^${version#*:}" ||
        fail "cuda-compat: $(LOAM_CUDA_COMPAT=$work/compat LOAM_FAKE_COMPAT=${version%%:*} LOAM_FAKE_DRIVER=12040 with "$loam" env)"
done
long=$work/$(printf 'a%.0s' {1..200})/compat # its name alone is long for a line
mkdir -p "$long"
cp "$driver/libcuda.so.1" "$long"
LOAM_CUDA_COMPAT=$long LOAM_FAKE_COMPAT=12080 LOAM_FAKE_DRIVER=12040 with "$loam" env | grep -q "^gpu  *none is used: the NVIDIA driver is for CUDA 12.4, .*; that in $long is for CUDA 12.8$" ||
    fail "cuda-compat in a folder with a long name"
LOAM_CUDA_COMPAT=$work/compat LOAM_FAKE_COMPAT=14000 with "$loam" env | grep -q '^cuda  *driver for CUDA 13.0, ' || fail "cuda-compat beside a driver"
LOAM_FAKE_GPU=75 with "$loam" env | grep -q 'not used: Shim has compute capability 7.5, loam-cuda.so is for 8.0 and later' ||
    fail "an old GPU"
LOAM_CUDA_BACKEND=$driver/libcuda.so.1 with "$loam" env | grep -q 'is of another build of loam' || fail "another build"
for table in first short scalars; do
    expect 2 "device cuda: $driver/other-backend.so is of another build of loam" env LOAM_CUDA_BACKEND="$driver/other-backend.so" \
        LOAM_FAKE_TABLE=$table LD_LIBRARY_PATH="$driver" "${train[@]}" run.dir="$work/refused" train.device=cuda
done
# A file of CUDA 12 without its cuBLASLt.
printf 'int cublasLt; int *at = &cublasLt;' >"$work/lt.c"
cc -shared -fPIC -Wl,-soname,libcublasLt.so.12 -o "$work/lt.so" "$work/lt.c"
cc -shared -fPIC -Wl,--no-as-needed -o "$work/of-12.so" "$work/lt.c" "$work/lt.so"
LOAM_CUDA_BACKEND=$work/of-12.so with "$loam" env >"$work/env"
grep -q 'none is used: loam-cuda.so is of CUDA 12 and needs its cuBLASLt: libcublasLt.so.12 is not in /usr/local/cuda/lib64' "$work/env" ||
    fail "no cuBLASLt: $(cat "$work/env")"
LOAM_CUDA_BACKEND=$work/gone.so with "$loam" env | grep -q 'none is used: loam-cuda.so cannot be opened: .*gone.so' ||
    fail "no backend"
# A copy that was cut short, of which dlopen maps what is not there; names that are longer than a line, or than any path.
size=$(stat -Lc %s "$LOAM_CUDA_BACKEND")
for bytes in 100 5000 $((size / 2)) $((size - 1)); do
    head -c "$bytes" "$LOAM_CUDA_BACKEND" >"$work/short.so"
    expect 2 "device cuda: loam-cuda.so is damaged: $work/short.so has $bytes bytes, fewer than its header says" env \
        LOAM_CUDA_BACKEND="$work/short.so" LD_LIBRARY_PATH="$driver" "${train[@]}" run.dir="$work/refused" train.device=cuda
done
LOAM_CUDA_BACKEND=$work/short.so with "${train[@]}" run.dir="$work/short" train.device=auto 'train.length=1 steps' 2>"$work/log"
grep -q 'computing on the CPU: loam-cuda.so is damaged' "$work/log" || fail "auto: $(cat "$work/log")"
for name in "$(printf 'a%.0s' {1..3000})/loam-cuda.so:File name too long" "$(printf 'a%.0s' {1..9000}):LOAM_CUDA_BACKEND has 9000 bytes, and a path less than 4096"; do
    expect 2 "${name#*:}" env LOAM_CUDA_BACKEND="${name%%:*}" LD_LIBRARY_PATH="$driver" "${train[@]}" run.dir="$work/refused" train.device=cuda
done
mkdir "$work/alone"
cp "$loam" "$work/alone/loam"
LOAM_CUDA_BACKEND='' with "$work/alone/loam" env | grep -q 'none is used: there is no loam-cuda.so beside the program' ||
    fail "a backend without a name: $(LOAM_CUDA_BACKEND='' with "$work/alone/loam" env)"
expect 2 "device cuda: GPU 0 does not open: out of memory" env LOAM_FAKE_GPU_MEMORY=20000000 LD_LIBRARY_PATH="$driver" \
    "${train[@]}" run.dir="$work/refused" train.device=cuda
expect 2 "device cuda:1: there is no GPU 1: the driver finds 1" with "${train[@]}" run.dir="$work/refused" train.device=cuda:1
LOAM_FAKE_DRIVER=12040 with "${train[@]}" run.dir="$work/old" train.device=auto 'train.length=1 steps' 2>"$work/log"
grep -q 'computing on the CPU: the NVIDIA driver is for CUDA 12.4' "$work/log" || fail "auto: $(cat "$work/log")"
reason='no kernel image is available for execution on the device'
expect 2 "device cuda: GPU 0 does not open: $reason" env LOAM_FAKE_GPU_REFUSES="$reason" LD_LIBRARY_PATH="$driver" \
    "${train[@]}" run.dir="$work/refused" train.device=cuda
LOAM_CPU_ISA=avx2 LOAM_FAKE_GPU_REFUSES=$reason with "${train[@]}" run.dir="$work/refuses" train.device=auto 'train.length=1 steps' 2>"$work/log"
grep -q "computing on the CPU: GPU 0 does not open: $reason" "$work/log" || fail "auto: $(cat "$work/log")"
grep -q 'precision: f32' "$work/refuses/config.yaml" || fail "the CPU computes in the GPU's precision: $(cat "$work/log")"
expect 2 ": unspecified launch failure" env LOAM_FAKE_GPU_BREAKS=50 LD_LIBRARY_PATH="$driver" \
    "${train[@]}" run.dir="$work/broken" train.device=cuda 'train.length=1 steps'
echo "ok: reasons"

# From here on the GPU has too little memory for the matrices that a run's speed is compared with (gemm_peak.c): their
# products take long on it. The first bytes are those of an open GPU: 32 MiB for cuBLASLt, counters of kernels.
open=33570816
export LOAM_FAKE_GPU_MEMORY=$((open + 5767168))

# Sizes that no kernel is made for are the user's to change.
expect 1 'model.head_dim is 264, GPUs take heads of up to 256 channels; train.device=cpu takes any' \
    with "${train[@]}" run.dir="$work/refused" train.device=cuda model.head_dim=264
expect 0 'Shim (cuda:0, f32)' env LOAM_FAKE_GPU_MEMORY=$((open + 8388608)) LD_LIBRARY_PATH="$driver" "${train[@]}" run.dir="$work/wide" train.device=cuda model.head_dim=256 \
    train.precision=f32 'train.length=1 steps'

# A GPU with too little memory: what does not fit, and what would. Then that is what fits.
small() { env LOAM_FAKE_GPU_MEMORY=$((open + $1)) LD_LIBRARY_PATH="$driver" "${train[@]}" train.device=cuda train.precision=f32 model.n_enc=4 \
    'train.batch=32 samples' 'train.length=1 steps' "${@:2}"; }
expect 2 "Shim has 8.0 MiB free: train.micro_batch='16 samples' (" small 8388608 run.dir="$work/full" 'train.micro_batch=32 samples'
grep -q ' or train.recompute=block (' "$work/err" || fail "recompute: $(cat "$work/err")"
for fitting in 'train.micro_batch=16 samples' train.recompute=block; do
    expect 0 'loss' small 8388608 run.dir="$work/fits-$fitting" 'train.micro_batch=32 samples' "$fitting"
done
expect 2 'Shim has 1.0 KiB free: even train.micro_batch=' small 1024 run.dir="$work/full"
echo "ok: memory"

count() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }

# The most memory that a run ever has is the plan, within 5 %.
peak() { # OVERRIDES…
    local name=$1 planned taken
    shift
    LOAM_FAKE_GPU_REPORT=$work/report with "${train[@]}" run.dir="$work/peak-$name" train.device=cuda 'train.length=2 steps' \
        'train.batch=16 samples' 'train.micro_batch=8 samples' "$@" 2>"$work/log" || fail "peak: $(tail -n 2 "$work/log")"
    planned=$(sed -n 's/.*memory \([0-9.]*\) MiB: .*/\1/p' "$work/log")
    taken=$(awk -v open=$open '/^peak/ { print ($2 - open) / 1048576 }' "$work/report")
    [ "$(count left "$work/report")" = 0 ] || fail "$name: $(count left "$work/report") bytes are not freed"
    echo "$name: planned $planned MiB, taken $taken MiB"
    awk -v planned="$planned" -v taken="$taken" 'BEGIN { exit !(taken < 1.05 * planned && planned < 1.05 * taken) }' ||
        fail "$name: planned $planned MiB, taken $taken MiB"
}
peak f32 train.precision=f32
peak bf16 train.precision=bf16 train.recompute=block optim.name=adafactor optim.lr=1e-2

# A step waits for the GPU once, to read its losses and the norm of its gradients, whatever the number of microbatches;
# it allocates nothing and downloads two short vectors. Of two lengths of a run, the difference is that of the steps.
a_step() { # NAME OVERRIDES…
    local name=$1 steps
    shift
    for steps in 3 7; do
        LOAM_FAKE_GPU_REPORT=$work/report-$steps with "${train[@]}" run.dir="$work/step-$name-$steps" train.device=cuda \
            train.length="$steps steps" 'train.batch=6 samples' 'train.micro_batch=2 samples' 'train.eval_every=100 steps' \
            'train.save_every=100 steps' "$@" 2>"$work/log" || fail "$name: $(tail -n 2 "$work/log")"
    done
    each() { echo $((($(count "$1" "$work/report-7") - $(count "$1" "$work/report-3")) / 4)); }
    echo "$name: a step of 3 microbatches waits $(each waits) times; $(each launches) kernels, $(each products) products," \
        "$(each copies) copies, $(each uploads) uploads, $(each downloads) downloads"
    for steps in waits:4 allocations:0 downloads:8; do
        [ $(($(count "${steps%:*}" "$work/report-7") - $(count "${steps%:*}" "$work/report-3"))) = "${steps#*:}" ] ||
            fail "$name: four steps have not ${steps#*:} ${steps%:*}: $(diff "$work/report-3" "$work/report-7")"
    done
}
sizes=(train.precision=bf16 model.vocab=300 model.width=32 model.ffn=64 model.heads=2 model.head_dim=16)
a_step t5 train.precision=bf16
a_step bert "${sizes[@]}" model.preset=bert-base model.n_enc=2 model.n_dec=0 model.max_positions=64 data.objective=mlm
a_step gpt "${sizes[@]}" model.preset=gpt2 model.n_enc=0 model.n_dec=2 model.max_positions=64 data.objective=clm
a_step fp8 train.precision=fp8
echo "ok: a step waits once"

# Queued work is done in any order that CUDA allows: late, at random, at once (FakeOrder of tests/shim/cuda/fake.h). The bits are the same.
for order in 0 2 3; do
    LOAM_FAKE_GPU_ORDER=$order with "${train[@]}" run.dir="$work/order-$order" train.device=cuda 'train.length=2 steps' \
        'train.batch=4 samples' train.precision=bf16 2>"$work/log" || fail "order $order: $(tail -n 2 "$work/log")"
    for file in "$work/order-0/checkpoints/latest"/*.safetensors; do
        cmp "$file" "$work/order-$order/checkpoints/latest/${file##*/}" || fail "order $order: other bits"
    done
done
echo "ok: orders"

# Training, resumed after two of four steps; losses near the CPU's, the same bits when it is done again.
losses() { grep '"kind":"train"' "$1/metrics.jsonl" | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
run() { # NAME DEVICE OVERRIDES…
    local name=$1 device=$2
    shift 2
    for steps in 2 4; do
        with "${train[@]}" run.dir="$work/$name" train.device=$device train.length="$steps steps" "$@" 2>"$work/$name.log" ||
            fail "$name: $(tail -n 3 "$work/$name.log")"
    done
}
run cpu cpu train.precision=f32
run gpu cuda train.precision=f32
run again cuda:0 train.precision=f32
[ "$(losses "$work/gpu" | wc -l)" = 4 ] || fail "not four steps: $(losses "$work/gpu")"
paste <(losses "$work/cpu") <(losses "$work/gpu") | awk '{ d = $1 - $2; if (d * d > 1e-8) exit 1 }' ||
    fail "losses $(losses "$work/cpu" | xargs) and $(losses "$work/gpu" | xargs)"
for file in "$work/gpu/checkpoints/latest"/*.safetensors; do
    cmp "$file" "$work/again/checkpoints/latest/${file##*/}" || fail "other bits when it is done again"
done
# FP8: bytes and transposed casts on the GPU, the same numbers in bf16 on the CPU.
for device in cpu cuda; do
    with "${train[@]}" run.dir="$work/fp8-$device" train.device=$device 'train.length=2 steps' train.precision=fp8 2>"$work/log" ||
        fail "FP8: $(tail -n 3 "$work/log")"
done
paste <(losses "$work/fp8-cpu") <(losses "$work/fp8-cuda") | awk '{ d = ($1 - $2) / $1; if (d * d > 1e-4) exit 1 }' ||
    fail "losses in FP8 $(losses "$work/fp8-cpu" | xargs) and $(losses "$work/fp8-cuda" | xargs)"
with "${train[@]}" run.dir="$work/current" train.device=cuda 'train.length=1 steps' train.precision=fp8 fp8.scaling=current \
    2>"$work/log" || fail "current scaling: $(tail -n 3 "$work/log")"
LOAM_FAKE_GPU=80 expect 1 "train.precision=fp8: Shim has compute capability 8.0, FP8 products need 8.9" \
    with "${train[@]}" run.dir="$work/refused" train.device=cuda train.precision=fp8
# TF32 is for products of f32 on a GPU.
for device in cuda cpu; do
    with "${train[@]}" run.dir="$work/tf32-$device" train.device=$device 'train.length=1 steps' train.precision=f32 train.tf32=true \
        2>"$work/$device.log" || fail "tf32: $(tail -n 3 "$work/$device.log")"
done
grep -q 'f32 as tf32' "$work/cuda.log" && ! grep -q 'f32 as tf32' "$work/cpu.log" || fail "tf32: $(cat "$work"/c*.log)"
echo "ok: FP8 and TF32"

# auto takes the GPU, in bf16, whatever the processor would compute in; nothing else does unasked.
LOAM_CPU_ISA=avx2 with "${train[@]}" run.dir="$work/auto" train.device=auto 'train.length=1 steps' 2>"$work/log"
grep -q 'bf16' "$work/auto/config.yaml" && grep -q ' Shim (cuda:0, bf16)$' "$work/log" || fail "auto: $(cat "$work/log")"
with "${train[@]}" run.dir="$work/default" 'train.length=1 steps' 2>"$work/log"
grep -q ' cpu on ' "$work/log" || fail "the default: $(cat "$work/log")"
for device in cpu,f32 cuda,bf16; do
    LOAM_CPU_ISA=avx2 with "$loam" bench generate --model "$work/auto" --device "${device%,*}" --precision auto --tokens 1 --input 4 --runs 1 \
        >"$work/log" || fail "bench generate"
    grep -q "^model .*${device#*,}" "$work/log" || fail "--precision auto on ${device%,*}: $(cat "$work/log")"
done
grep -q '^model  *Shim (cuda:0, bf16), loaded' "$work/log" || fail "bench names the GPU: $(cat "$work/log")"
echo "ok: training"

with "$loam" eval "$work/gpu" train.device=cuda --json >"$work/gpu.json"
with "$loam" eval "$work/gpu" train.device=cpu --json >"$work/cpu.json"
paste -d ' ' <(grep -o '"loss": *[0-9.]*' "$work/cpu.json") <(grep -o '"loss": *[0-9.]*' "$work/gpu.json") |
    sed 's/"loss"://g' | awk '{ d = $1 - $2; if (d * d > 1e-8) exit 1 }' || fail "eval: $(cat "$work/gpu.json" "$work/cpu.json")"
for device in cpu cuda; do
    echo 'bace <extra_id_0> dihaki.' | with "$loam" generate --model "$work/gpu" --device $device --max-tokens 4 >"$work/$device.txt"
done
cmp "$work/cpu.txt" "$work/cuda.txt" || fail "generate"
echo "ok: eval and generate"
