# labels: starts-first
# What models take of a GPU's memory, beside what is planned. The GPU is a fake of CUDA's runtime, which leaves out all work
# (LOAM_FAKE_GPU_DRY of tests/shim/cuda/runtime.cc), so models have the sizes that are trained.
# Arguments: the program, the backend on that runtime, the folder of a driver for it.
. tests/cli/lib.sh "$1"
export LOAM_CUDA_BACKEND=$2 LD_LIBRARY_PATH=$3 LOAM_FAKE_GPU_DRY=1 LOAM_FAKE_GPU_REPORT=$work/report
unset CUDA_VISIBLE_DEVICES
open=33570816 # bytes of an open GPU: 32 MiB for cuBLASLt, counters of kernels

count() { awk -v name="$1" '$1 == name { print $2 }' "$work/report"; }
mib() { awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }'; }
bytes() { awk '{ printf "%.0f", ($1 * ($2 == "GiB" ? 1073741824 : $2 == "MiB" ? 1048576 : 1024)) }'; }

# The reservation is what is planned, within 5 %, and holds the run: if the GPU has just 4 MiB more, which the matrices of
# the matrix-product benchmark (6 MiB) do not fit in, the run has all it needs. Matrices that came before the optimizer
# would lie in the reservation, and the optimizer outside.
spare=4194304
on() { # BYTES CONFIG.yaml OVERRIDES…
    rm -rf "$work/run"
    LOAM_FAKE_GPU_MEMORY=$1 "$loam" "${verb[@]}" "${@:2}" train.device=cuda run.dir="$work/run" >"$work/out" 2>"$work/log" ||
        fail "${verb[0]} $2 on a GPU of $(mib "$1"): $(tail -n 2 "$work/log")"
}
takes() { # CONFIG.yaml OVERRIDES…
    local planned reserved
    planned=$("$loam" plan "$@" train.device=cuda 2>/dev/null | sed -n 's/^memory  *\([0-9.]* [KMG]iB\):.*/\1/p' | bytes)
    on $((open + planned + planned / 16 + spare)) "$@"
    reserved=$(count largest)
    on $((open + reserved + spare)) "$@"
    echo "${verb[0]} ${1##*/}: planned $(mib "$planned"), reserved $(mib "$reserved"), taken $(mib $(($(count peak) - open)))"
    [ $((reserved * 100)) -lt $((planned * 105)) ] && [ $((planned * 100)) -lt $((reserved * 105)) ] ||
        fail "$1: planned $planned bytes, reserved $reserved"
    [ $(($(count peak) - open)) -lt $((reserved + spare)) ] && [ "$(count largest)" = "$reserved" ] ||
        fail "$1: reserved $reserved bytes, taken $(count peak)"
}
# What the benchmark of a step says that it took is what the fake counted, except the matrices of its matrix-product benchmark.
takes_as_told() {
    local told matrices=12582912 # 12 MiB: three matrices of 1,024 x 1,024 in f32, which is what 1 GiB has room for
    "$loam" bench step --seconds 0 --json "$@" train.device=cuda >"$work/out" 2>"$work/log" || fail "$(tail -n 1 "$work/log")"
    told=$(sed 's/.*"memory_bytes":\([0-9]*\).*/\1/' "$work/out")
    [ "$told" -gt 0 ] && [ $((told + open + matrices)) = "$(count peak)" ] || fail "told $told bytes, taken $(count peak)"
    "$loam" bench step --seconds 0 "$@" train.device=cuda >"$work/out" 2>"$work/log" || fail "$(tail -n 1 "$work/log")"
    grep -q '^memory  *[0-9.]* MiB of the GPU, [0-9.]* MiB planned$' "$work/out" || fail "the text says nothing of memory"
}
takes_as_told configs/gpt2.yaml model.n_dec=1 model.width=256 model.ffn=1024 model.heads=4 model.vocab=1000 train.precision=f32 \
    'train.micro_batch=8 samples' data.input_length=128
verb=(bench step --seconds 0)
takes configs/t5-1.1-small.yaml model.vocab=32128
takes configs/gpt2.yaml model.vocab=50304 model.n_dec=2
make_dataset
verb=(train)
takes "$work/config.yaml" 'train.length=1 steps' 'train.micro_batch=8 samples' 'train.batch=8 samples' model.width=256 model.ffn=1024 \
    model.heads=4 model.head_dim=64
mv "$work/run" "$work/t5"
echo "ok: the plan holds the run"

# It holds the evaluations of a classifier, too, whose batches are larger than a step's.
awk 'BEGIN { for (i = 0; i < 60; i++) print "text " i " of a file\t" (i % 2 ? "good" : "bad") }' >"$work/texts.tsv"
classifier=(model.preset=bert-base model.n_enc=2 model.n_dec=0 model.width=256 model.ffn=1024 model.heads=4 model.head_dim=64 \
    task.data="$work/texts.tsv" task.columns=text,mark task.valid=20% 'task.input={text}' 'task.label={mark}' data.train= data.valid= \
    'train.length=2 steps' 'train.eval_every=1 steps' 'train.micro_batch=1 samples' 'train.batch=1 samples' data.input_length=64)
takes "$work/config.yaml" "${classifier[@]}"
# Several texts share a packed sequence; the more there are, the more sums the gradient of embeddings of distances has.
takes "$work/config.yaml" "${classifier[@]}" model.position=relative_key model.heads=2
# Answers are written in the memory of a step's activations, or in what is planned for them where that is more.
wide=(model.width=256 model.ffn=1024 model.heads=4 model.head_dim=64 'train.length=2 steps' 'train.eval_every=1 steps' 'train.batch=8 samples')
task=(task.data="$work/texts.tsv" task.columns=text,mark task.valid=50% 'task.input={text}' 'task.target={mark}' task.scores=accuracy data.train= data.valid=)
for shape in 'model.n_dec=1 train.micro_batch="8 samples"' 'train.micro_batch="1 samples"' 'model.family=gpt model.n_enc=0 train.micro_batch="1 samples"' \
    'model.family=gpt model.n_enc=0 train.micro_batch="1 samples" data.input_length=256 data.target_length=255'; do
    eval "shape=($shape)"
    takes "$work/config.yaml" "${wide[@]}" "${task[@]}" data.input_length=320 data.target_length=256 "${shape[@]}"
    grep -q accuracy "$work/log" || fail "no answers: $(tail -n 3 "$work/log")"
done
# So are those of the tasks of data.valid. Where evaluations answer nothing, nothing is planned for it, which is said where that alone fits.
awk 'BEGIN { for (i = 0; i < 60; i++) { for (j = 0; j < 150; j++) printf "text "; print i "\t" (i % 2 ? "good" : "bad") } }' >"$work/texts.tsv"
lengths=(data.input_length=320 data.target_length=16 'train.micro_batch=1 samples')
"$loam" task prepare --out "$work/task" "$work/config.yaml" "${task[@]}" "${lengths[@]}" 2>"$work/log" || fail "$(cat "$work/log")"
mixture=(data.train="$work/task" data.valid="mark:$work/task-valid" data.objective=seq2seq)
takes "$work/config.yaml" "${wide[@]}" "${lengths[@]}" "${mixture[@]}"
grep -q accuracy "$work/log" || fail "no answers: $(tail -n 3 "$work/log")"
most=80000000 # bytes
for silent in 'mixture train.scores=false' 'mixture data.valid=' 'task train.scores=false' 'task task.valid='; do
    declare -n of=${silent% *}
    takes "$work/config.yaml" "${wide[@]}" "${lengths[@]}" "${of[@]}" "${silent#* }"
    ! grep -q accuracy "$work/log" && [ "$(count largest)" -lt "$most" ] || fail "$silent: $(count largest) bytes"
done
LOAM_FAKE_GPU_MEMORY=$((open + most)) expect 2 'Shim has 76.3 MiB free: train.scores=false (51.2 MiB) would fit' \
    "$loam" train "$work/config.yaml" "${wide[@]}" "${lengths[@]}" "${task[@]}" train.device=cuda run.dir="$work/silent"
echo "ok: evaluations"

# train.micro_batch=auto is the largest microbatch that fits; a run that goes on with less memory says so, and chooses anew.
auto=("${wide[@]}" train.device=cuda train.micro_batch=auto 'train.batch=64 samples' run.dir="$work/auto")
for room in 52000000 70000000; do
    rm -rf "$work/auto"
    LOAM_FAKE_GPU_MEMORY=$((open + room)) "$loam" train "$work/config.yaml" "${auto[@]}" 2>"$work/log" || fail "auto: $(tail -n 2 "$work/log")"
    chosen=$(sed -n 's/.*train.micro_batch=auto: \([0-9]*\) samples at a time.*/\1/p' "$work/log")
    [ "$chosen" -gt 1 ] && [ "$chosen" -lt 64 ] || fail "auto chose $chosen samples"
    parts=$(((64 + chosen - 1) / chosen))
    LOAM_FAKE_GPU_MEMORY=$((open + room)) expect 2 "free: train.micro_batch=" "$loam" train "$work/config.yaml" "${auto[@]}" \
        run.dir="$work/next" train.micro_batch="$(((64 + parts - 2) / (parts - 1))) samples"
done
LOAM_FAKE_GPU_MEMORY=$((open + 52000000)) "$loam" train "$work/config.yaml" "${auto[@]}" 'train.length=3 steps' 2>"$work/log" || fail "auto: $(tail -n 2 "$work/log")"
grep -q "the microbatch of $chosen samples that this run has had does not fit now" "$work/log" &&
    grep -q "train.micro_batch changed from $chosen samples to" "$work/log" || fail "a smaller GPU: $(cat "$work/log")"
echo "ok: auto"

# What a step takes on a GPU is measured, or not said: the CPU's products tell nothing of it.
"$loam" plan configs/t5-1.1-small.yaml model.vocab=32128 train.device=cuda >"$work/out" 2>/dev/null
grep -q '^time  *not estimated for a GPU; --measure 20 runs steps on it$' "$work/out" && ! grep -q 'GFLOP/s' "$work/out" ||
    fail "the time of a plan: $(cat "$work/out")"
echo "ok: no time of a CPU"

# Whatever does not fit is one line with what would, and exit status 2.
on_a_gpu_with() { env LOAM_FAKE_GPU_MEMORY=$((open + $1)) "$loam" "${@:2}"; }
generate=(generate --model "$work/t5" --device cuda)
embed=(embed --model "$work/t5" --device cuda --max-tokens 4096)
bench=(bench generate --model "$work/t5" --device cuda --tokens 1000 --input 1000 --runs 1)
no_model='free, too little for 2,557,952 parameters; bf16 (train.precision, --precision) takes half of f32'
no_batch='of activations; smaller batches (train.micro_batch, --batch) need less'
no_run="Shim has 1000 B free: even train.micro_batch='1 samples' with train.recompute=block and optim.offload=true needs "
expect 2 "$no_model" on_a_gpu_with 1000 "${generate[@]}"
expect 2 "$no_model" on_a_gpu_with 1000 "${embed[@]}"
expect 2 "$no_model" on_a_gpu_with 1000 "${bench[@]}"
expect 2 "$no_model" on_a_gpu_with 1000 eval "$work/t5" train.device=cuda
expect 2 "$no_batch" on_a_gpu_with 12000000 "${embed[@]}"
expect 2 "$no_batch" on_a_gpu_with 12000000 "${bench[@]}"
expect 2 "$no_batch" on_a_gpu_with 12000000 eval "$work/t5" train.device=cuda 'train.micro_batch=200 samples' 'train.batch=200 samples'
expect 2 "$no_run" on_a_gpu_with 1000 bench step "$work/config.yaml" train.device=cuda
expect 2 "$no_run" on_a_gpu_with 1000 plan "$work/config.yaml" train.device=cuda --measure 1
expect 0 'no memory is left for matrix products' on_a_gpu_with 5000000 bench step "$work/config.yaml" train.device=cuda --seconds 0
# The part of a run on the host needs memory there: 100 billion parameters take 1.2 TB. A GPU of 4 TB would have room for it, one of 1 TB not.
huge=(plan configs/gpt2.yaml model.vocab=50304 model.n_dec=32 model.width=16384 model.heads=128 model.head_dim=128 model.ffn=65536 'train.batch=1 samples'
    'train.micro_batch=1 samples' train.precision=bf16 train.device=cuda)
expect 0 'optim.offload=false would fit (1.7 TiB of Shim)' \
    on_a_gpu_with 4000000000000 "${huge[@]}" optim.offload=true
expect 0 "of this machine's memory, which has " on_a_gpu_with 1000000000000 "${huge[@]}" optim.offload=true
expect 0 'fits: Shim has 3.6 TiB free' on_a_gpu_with 4000000000000 "${huge[@]}"
expect 0 "not compared with a GPU's, since none can be used here" env LOAM_CUDA_BACKEND=/none "$loam" "${huge[@]}"
for verb in generate embed 'bench generate'; do
    expect 1 'train.device=cuda is an option of runs, did you mean --device cuda?' "$loam" $verb --model "$work/t5" train.device=cuda
done
echo "ok: what does not fit"

# Scratch memory is a part of the plan, and set apart before the first step: a second microbatch allocates no more than the first.
scratch=(bench step --seconds 0 configs/t5-1.1-small.yaml model.vocab=32128 train.device=cuda 'train.micro_batch=8 samples' data.input_length=1024)
LOAM_FAKE_GPU_MEMORY=$((1 << 33)) "$loam" "${scratch[@]}" 'train.batch=8 samples' >"$work/out" 2>"$work/log" || fail "scratch: $(tail -n 1 "$work/log")"
once=$(count allocations)
LOAM_FAKE_GPU_MEMORY=$((1 << 33)) "$loam" "${scratch[@]}" 'train.batch=32 samples' >"$work/out" 2>"$work/log" || fail "scratch: $(tail -n 1 "$work/log")"
[ "$(count allocations)" = "$once" ] && [ "$once" = 4 ] || fail "$once allocations with one microbatch, $(count allocations) with four"
"$loam" plan "${scratch[@]:4}" 2>/dev/null >"$work/out"
grep -q '^memory .* activations [0-9.]* [KMG]iB, scratch [0-9.]* MiB$' "$work/out" || fail "the plan has no scratch memory: $(grep ^memory "$work/out")"
# 256 MiB stay free for kernels that CUDA loads later.
LOAM_FAKE_GPU_MEMORY=$(((1 << 33) + open)) expect 2 'Shim has 7.8 GiB free' "$loam" "${scratch[@]}" 'train.micro_batch=512 samples' 'train.batch=512 samples'
# So a run that fills all other memory has room for them, up to that.
full=("${scratch[@]}" 'train.micro_batch=64 samples' 'train.batch=64 samples')
LOAM_FAKE_GPU_MEMORY=$((1 << 36)) "$loam" "${full[@]}" >"$work/out" 2>"$work/log" || fail "full: $(tail -n 1 "$work/log")"
room=$((open + $(count largest) + (256 << 20)))
with_kernels_of() { env LOAM_FAKE_GPU_KERNEL="$1" LOAM_FAKE_GPU_MEMORY=$((room + $1)) "$loam" "${full[@]}"; }
with_kernels_of $((2 << 20)) >"$work/out" 2>"$work/log" || fail "kernels: $(tail -n 1 "$work/log")"
[ "$(count peak)" -gt $((room - (200 << 20))) ] || fail "kernels: $(count peak) of $room bytes"
expect 2 '(a kernel): out of memory' with_kernels_of $((32 << 20))
# Adafactor's scratch memory, of a whole group of matrices, is planned: wide ones, and few tokens.
LOAM_FAKE_GPU_MEMORY=$((1 << 33)) "$loam" "${scratch[@]}" optim.name=adafactor optim.lr=1e-2 data.input_length=32 'train.micro_batch=1 samples' \
    'train.batch=2 samples' >"$work/out" 2>"$work/log" || fail "adafactor: $(tail -n 1 "$work/log")"
[ "$(count allocations)" = "$once" ] || fail "adafactor: $(count allocations) allocations"
echo "ok: scratch memory"
