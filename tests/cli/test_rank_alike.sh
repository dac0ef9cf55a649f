# labels: any-processor starts-first
# Processes that would train apart from each other are refused at the start, with one line that says which and why: other
# options, another dataset, another model to start from, another instruction set, or a run directory that rank 0 does not write to.
. tests/cli/lib.sh "$1"
command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ] || exit 77
make_dataset
. tests/cli/ranks.sh

# rank1 MESSAGE STATUS VARIABLE=VALUE OPTION…: as rank 1 has a variable, and options, that rank 0 has not. `options` are of
# both.
options=() timeout=120s
rank1() {
    local message=$1 status=$2 variable=$3
    shift 3
    local got=0
    rm -rf "$work/run"
    "${mpi[@]}" 1 "$loam" train "$config" run.dir="$work/run" 'train.length=2 steps' parallel.timeout=$timeout "${options[@]}" : \
        -np 1 env "$variable" "$loam" train "$config" run.dir="$work/run" 'train.length=2 steps' \
        parallel.timeout=$timeout "${options[@]}" "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" = "$status" ] || fail "exit status $got, not $status: $message: $(cat "$work/err")"
    [ "$(grep -c '^loam train: ' "$work/err")" = 1 ] || fail "not one line: $(cat "$work/err")"
    grep -q "^loam train: rank 1 on .* $message" "$work/err" || fail "no $message: $(cat "$work/err")"
    [ ! -e "$work/run/checkpoints/latest" ] || fail "trained in spite of: $message"
    echo "ok: $message"
}
rank1 'has optim.lr=0.5, rank 0 on .* has optim.lr=0.0[0-9]*: start all ranks with the same options' 1 A=b optim.lr=0.5
rank1 'has train.log_every=7 steps, rank 0 on ' 1 A=b 'train.log_every=7 steps'
seq 3000 | sed 's/$/ is another number/' >"$work/other.txt"
"$loam" prepare --tokenizer "$work/tok.model" --out "$work/other" "$work/other.txt" 2>"$work/err" || fail "$(cat "$work/err")"
rank1 'has another dataset in data.train than rank 0 ' 1 A=b data.train="$work/other"
# Two models of one shape.
for model in 1 2; do
    "$loam" train "$config" run.dir="$work/model-$model" 'train.length=1 steps' run.seed=$model 2>"$work/err" || fail "$(cat "$work/err")"
done
options=("train.init=$work/model-1")
rank1 'has another model in train.init than rank 0 ' 1 A=b train.init="$work/model-2"
# One byte in the middle of a larger file, which has no checksum.
"$loam" train "$config" run.dir="$work/large" 'train.length=1 steps' model.vocab=20000 2>"$work/err" || fail "$(cat "$work/err")"
"$loam" export "$work/large" --to hf --out "$work/hf" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
cp -r "$work/hf" "$work/hf-damaged"
middle=$(($(stat -c %s "$work/hf/model.safetensors") / 2))
[ "$middle" -gt 1100000 ] || fail "the file is too small: $middle"
byte=$(od -An -tu1 -j "$middle" -N 1 "$work/hf/model.safetensors")
printf '%b' "\\0$(printf %o $((byte ^ 1)))" | dd of="$work/hf-damaged/model.safetensors" bs=1 seek="$middle" conv=notrunc 2>"$work/err"
options=("train.init=$work/hf" model.vocab=20000 tokenizer.path="$work/tok.model")
rank1 'has another model in train.init than rank 0 ' 1 A=b train.init="$work/hf-damaged"
options=()
# Such files may be seen late: half of parallel.timeout is waited for them.
timeout=12s
rank1 'does not see the files of rank 0 on .* in run.dir .*/run: all ranks write' 2 A=b run.dir="$work/apart"
if "$loam" env | grep -q avx512; then
    rank1 'has another instruction set than rank 0 on .* (avx2, not ' 1 LOAM_CPU_ISA=avx2
fi

# A program of another build, by one byte.
cp "$loam" "$work/loam-other"
cp "$(dirname "$loam")/loam-mpi.so" "$work"
printf x >>"$work/loam-other"
rm -rf "$work/run"
got=0
"${mpi[@]}" 1 "$loam" train "$config" run.dir="$work/run" 'train.length=2 steps' : \
    -np 1 "$work/loam-other" train "$config" run.dir="$work/run" 'train.length=2 steps' >"$work/out" 2>"$work/err" || got=$?
[ "$got" = 1 ] && grep -q '^loam train: rank 1 on .* has another build of loam, oneDNN or the C library than rank 0 ' "$work/err" ||
    fail "status $got: $(cat "$work/err")"
echo "ok: another build"

# A host that lacks the checkpoints of a run: its own error, not one of the checkpoint.
rm -rf "$work/run"
"$loam" train "$config" run.dir="$work/run" 'train.length=2 steps' 2>"$work/err" || fail "$(cat "$work/err")"
mkdir "$work/half"
for file in "$work"/run/*; do
    [ "${file##*/}" = checkpoints ] || ln -s "$file" "$work/half"
done
got=0
"${mpi[@]}" 1 "$loam" train "$config" run.dir="$work/run" 'train.length=4 steps' : \
    -np 1 "$loam" train "$config" run.dir="$work/half" 'train.length=4 steps' >"$work/out" 2>"$work/err" || got=$?
[ "$got" = 2 ] && grep -q '^loam train: .*rank 1 on .* does not see .*/step-00000002, which rank 0 sees' "$work/err" ||
    fail "status $got: $(cat "$work/err")"
echo "ok: no checkpoints on one host"
