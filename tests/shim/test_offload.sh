# labels: starts-first
# optim.offload on a fake of CUDA's runtime (tests/shim/cuda), which does queued work, copies too, as late as the order of its
# queues allows. Arguments: the program, that backend, the folder of a driver for it.
. tests/cli/lib.sh "$1"
export LOAM_CUDA_BACKEND=$2 LD_LIBRARY_PATH=$3
open=33570816   # bytes of device memory of an open GPU: 32 MiB for cuBLASLt, counters of kernels
pinned=12582912 # and page-locked bytes: two buffers for uploads, one for downloads
export LOAM_FAKE_GPU_MEMORY=$((open + 5242880)) # too little for the matrices that a run's speed is compared with, whose products take long
unset CUDA_VISIBLE_DEVICES
make_dataset
train=("$loam" train "$work/config.yaml" optim.schedule=constant 'train.micro_batch=2 samples' 'train.batch=2 samples'
    data.input_length=32 train.eval_samples=2 optim.lr=1e-3)

# No bit changes, whether a run is made at once or in two parts.
run() { # NAME STEPS OVERRIDES…
    "${train[@]}" run.dir="$work/$1" train.length="$2 steps" train.device=cuda "${@:3}" 2>"$work/log" ||
        fail "$1: $(tail -n 3 "$work/log")"
}
same() { # A B
    for file in "$work/$1/checkpoints/latest"/*.safetensors; do
        cmp "$file" "$work/$2/checkpoints/latest/${file##*/}" || fail "other bits: $2"
    done
}
for settings in 'adamw bf16' 'adafactor bf16 optim.beta1=0.9 optim.min_dim_factored=0' 'adamw_rms f32'; do
    read -ra each <<<"$settings"
    options=(optim.name="${each[0]}" train.precision="${each[1]}" "${each[@]:2}")
    run "${each[0]}" 4 "${options[@]}"
    run "${each[0]}-host" 2 "${options[@]}" optim.offload=true
    run "${each[0]}-host" 4 "${options[@]}" optim.offload=true
    same "${each[0]}" "${each[0]}-host"
    echo "ok: ${each[0]}"
done

# A run may go on without, and with it again.
for steps in 2:true 3:false 4:true; do
    run turns "${steps%:*}" optim.name=adamw train.precision=bf16 optim.offload="${steps#*:}"
done
same adamw turns

# Queues do their work in any order that CUDA allows (FakeOrder of tests/shim/cuda/fake.h): copies early, and at random.
for order in 1 2; do
    LOAM_FAKE_GPU_ORDER=$order run "order-$order" 4 optim.name=adamw train.precision=bf16 optim.offload=true
    same adamw "order-$order"
done
echo "ok: orders"

# On the CPU it changes nothing, and a line says so.
"${train[@]}" run.dir="$work/cpu" 'train.length=1 steps' optim.offload=true 2>"$work/log" || fail "offload on the CPU"
grep -q 'optim.offload has no effect on the CPU' "$work/log" || fail "offload on the CPU: $(cat "$work/log")"
echo "ok: on and off"

# Memory of the GPU and of the host is what the plan says.
LOAM_FAKE_GPU_REPORT=$work/report run memory 1 optim.name=adamw train.precision=bf16 optim.offload=true
planned=$(sed -n 's/.*memory \([0-9.]* [KM]iB\): .*, on the host \([0-9.]* [KM]iB\);.*/\1 \2/p' "$work/log")
taken=$(awk -v open=$open -v pinned=$pinned '/^peak/ { gpu = $2 - open } /^pinned/ { host = $2 - pinned } END { print gpu, host }' \
    "$work/report")
echo "planned $planned, taken $taken"
echo "$planned $taken" |
    awk 'function bytes(n, unit) { return n * (unit == "KiB" ? 1024 : 1048576) }
         function near(a, b) { return a < 1.05 * b && b < 1.05 * a }
         { exit !(near(bytes($1, $2), $5) && near(bytes($3, $4), $6)) }' ||
    fail "planned $planned, taken $taken"

# A model that fits where its optimizer lies on the host.
wide() { # OVERRIDES…
    env LOAM_FAKE_GPU_MEMORY=$((open + 11534336)) "${train[@]}" train.device=cuda train.precision=bf16 optim.name=adamw model.width=64 \
        model.ffn=512 model.n_enc=6 'train.length=1 steps' "$@"
}
expect 2 'Shim has 11.0 MiB free: optim.offload=true (9.0 MiB) would fit' wide run.dir="$work/full"
expect 0 'loss' wide run.dir="$work/fits" optim.offload=true

# What fits by two options together, where no microbatch is smaller.
expect 2 'Shim has 11.0 MiB free: train.recompute=block with optim.offload=true (10.3 MiB) would fit' wide run.dir="$work/both" \
    'train.micro_batch=1 samples' 'train.batch=1 samples' data.input_length=256
