# labels: any-processor starts-first
# Ranks that are processes and a model: from a Hugging Face folder each reads its own part only, and what has no ranks, such
# as an evaluation or an export, is done by one of them.
. tests/cli/lib.sh "$1"
command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ] || { echo "no mpirun, or no loam-mpi.so"; exit 77; }
make_dataset
export OMP_NUM_THREADS=1
gpt=("$work/config.yaml" model.preset=gpt2-tiny model.n_enc=0 model.n_dec=4 model.width=320 model.ffn=1280 model.heads=4 model.head_dim=80
    data.objective=clm data.input_length=32 data.valid= model.dropout=0 train.batch='4 samples' train.micro_batch='1 samples'
    train.length='1 steps' train.eval_every=0 train.precision=f32 optim.name=adafactor optim.lr=0)
"$loam" train "${gpt[@]}" run.dir="$work/whole" 2>"$work/err" || fail "$(cat "$work/err")"
"$loam" export "$work/whole" --to hf --out "$work/hf" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
whole=$(($(stat -c %s "$work/hf/model.safetensors") / 1024))

# peak OPTION…: KiB of memory that rank 0 of four has had at once, files included, in one step with these options. The run
# stays in $work/run.
peak() {
    rm -rf "$work/run"
    "${mpi[@]}" 4 "$loam" train "${gpt[@]}" run.dir="$work/run" hooks.on_save="grep VmHWM /proc/\$PPID/status >$work/peak" "$@" \
        2>"$work/err" || fail "$*: $(tail -n 3 "$work/err")"
    awk '{ print $2 }' "$work/peak"
}
for layout in parallel.pipeline=4 parallel.tensor=4 parallel.zero=3; do
    random=$(peak $layout)
    from=$(peak $layout train.init="$work/hf")
    [ -n "${LOAM_SANITIZED:-}" ] || [ $((2 * (from - random))) -lt "$whole" ] ||
        fail "$layout: $((from - random)) KiB more to read a model of $whole KiB"
    # The weights are those of the folder: a step at rate 0 changes none.
    "$loam" export "$work/run" --to hf --out "$work/again" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    cmp "$work/hf/model.safetensors" "$work/again/model.safetensors" || fail "$layout: other weights"
    rm -r "$work/again"
    echo "ok: $layout reads its part"
done

# One process works, and says so; the others end.
"${mpi[@]}" 3 "$loam" export "$work/whole" --to hf --out "$work/again" >"$work/out" 2>"$work/err" || fail "export: $(cat "$work/err")"
cmp "$work/hf/model.safetensors" "$work/again/model.safetensors" || fail "another export"
[ "$(grep -c 'Open MPI started 3 processes, and loam export works in one: the others end' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
"$loam" eval "$work/whole" data.valid="$work/data-valid" >"$work/one" 2>"$work/err" || fail "eval: $(cat "$work/err")"
"${mpi[@]}" 3 "$loam" eval "$work/whole" data.valid="$work/data-valid" >"$work/out" 2>"$work/err" || fail "eval: $(cat "$work/err")"
diff "$work/one" "$work/out" || fail "evaluated by several"
# In a script the others say that they do nothing, and how each may do work of its own.
script="'$loam' eval '$work/whole' data.valid='$work/data-valid'; true"
"${mpi[@]}" 3 bash -c "$script" >"$work/out" 2>"$work/err" || fail "a script: $(cat "$work/err")"
diff "$work/one" "$work/out" || fail "evaluated by several"
[ "$(grep -c 'rank [12] of Open MPI does nothing, .*: env -u OMPI_COMM_WORLD_RANK loam eval' "$work/err")" = 2 ] || fail "silent: $(cat "$work/err")"
"${mpi[@]}" 3 env -u OMPI_COMM_WORLD_RANK bash -c "$script" >"$work/out" 2>"$work/err" || fail "a script: $(cat "$work/err")"
[ "$(cat "$work/one" "$work/one" "$work/one" | sort)" = "$(sort "$work/out")" ] || fail "not each of three: $(cat "$work/out" "$work/err")"
# Under srun and torchrun processes may well evaluate something of their own.
RANK=1 WORLD_SIZE=2 "$loam" eval "$work/whole" data.valid="$work/data-valid" >"$work/out" 2>"$work/err" || fail "eval: $(cat "$work/err")"
diff "$work/one" "$work/out" || fail "torchrun's rank 1 evaluates nothing"
echo "ok: one process works"
