# Ranks that train one model together: as threads and as processes they train what one rank trains, on any number of them
# after another, and end together.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
short='train.length=20 steps'
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/') # a core that this test may use

# Every family, with a batch that does not divide and several microbatches. Two ranks, or three.
families=(
    't5  model.n_enc=1 model.n_dec=1'
    'gpt model.family=gpt model.n_enc=0 model.n_dec=2 data.objective=clm'
    'bert model.family=bert model.n_enc=2 model.n_dec=0 data.objective=mlm tokenizer.sentinels=100'
    'lora model.family=gpt model.n_enc=0 model.n_dec=2 data.objective=clm lora.rank=4'
)
ranks=3
for family in "${families[@]}"; do
    read -r name options <<<"$family"
    # shellcheck disable=SC2086
    for n in 1 $ranks; do
        "$loam" train "$config" run.dir="$work/$name-$n" "$short" train.precision=f32 train.batch='11 samples' \
            train.micro_batch='2 samples' $options parallel.ranks=$n 2>"$work/err" || fail "$name: $(tail -n 2 "$work/err")"
    done
    near "$work/$name-1" "$work/$name-$ranks"
    ranks=$((5 - ranks))
done
"$loam" train "$config" run.dir="$work/t5-again" "$short" train.precision=f32 train.batch='11 samples' \
    train.micro_batch='2 samples' parallel.ranks=3 2>"$work/err"
same "$work/t5-3" "$work/t5-again"
[ -s "$work/t5-3/ranks/0002.txt" ] || fail "rank 2 has no log of its own"

# Processes: the same bytes as threads. Afterwards the run goes on with another number of ranks.
if command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ]; then
    "${mpi[@]}" 3 "$loam" train "$config" run.dir="$work/mpi" "$short" train.precision=f32 train.batch='11 samples' \
        train.micro_batch='2 samples' 2>"$work/err" || fail "mpirun: $(tail -n 3 "$work/err")"
    same "$work/t5-3" "$work/mpi"
    grep -q 'ranks (mpi), up to 4 samples each' "$work/mpi/log.txt" || fail "log: $(head -n 3 "$work/mpi/log.txt")"
    [ "$(grep -c 'going on\|^step 20/' "$work/err")" = 1 ] || fail "more than one rank talks: $(cat "$work/err")"
    # After SIGTERM mpirun reads no output any more: a rank that writes a line per millisecond would wait for it. It kills the
    # ranks a second later, which is too early for a save on a busy disk.
    for signal in USR1 TERM; do
        "${mpi[@]:0:2}" mpirun --mca odls_base_sigkill_timeout 5 "${mpi[@]:3}" 2 "$loam" train "$config" run.dir="$work/$signal" 'train.length=100k steps' optim.schedule=constant \
            train.save_every=0 train.eval_every=0 train.log_every='50 steps' 2>"$work/log" &
        pid=$!
        until_true grep -q '"step":50,' "$work/$signal/metrics.jsonl" 2>/dev/null
        kill -$signal "$pid"
        wait "$pid" || true
        grep -q 'stopped on request at step' "$work/$signal/log.txt" || fail "SIG$signal: $(tail -n 3 "$work/log")"
        [ -e "$work/$signal/checkpoints/latest/state.json" ] || fail "SIG$signal saved nothing"
        echo "ok: SIG$signal to mpirun"
    done
    "${mpi[@]}" 2 "$loam" train "$config" run.dir="$work/seeds" 'train.length=1 steps' --seeds 2 >"$work/table" 2>"$work/err" ||
        fail "seeds: $(tail -n 3 "$work/err")"
    [ "$(grep -c '^all runs' "$work/table")" = 1 ] || fail "one table for all ranks: $(cat "$work/table")"
    # Ranks that would train other runs than rank 0 would wait for it for ever, also if one's sweep is refused.
    "${mpi[@]}" 1 "$loam" train "$config" run.dir="$work/apart" --seeds 2 : -np 1 "$loam" train "$config" run.dir="$work/apart" >"$work/table" 2>"$work/err" &&
        fail "--seeds on one rank"
    grep -q 'rank 1 was started with no --seeds, --sweep or --rehearse, rank 0 with --seeds 2: start all ranks' "$work/err" || fail "$(cat "$work/err")"
    "${mpi[@]}" 1 "$loam" train "$config" run.dir="$work/apart" --seeds 2 : -np 1 "$loam" train "$config" run.dir="$work/apart" --seeds 0 >"$work/table" 2>"$work/err" &&
        fail "--seeds 0 on rank 1"
    grep -q 'rank 1 on .*: --seeds is "0"' "$work/err" && [ ! -e "$work/apart" ] || fail "$(cat "$work/err")"
    "${mpi[@]}" 2 "$loam" train "$config" run.dir="$work/none" data.train=/none 2>"$work/err" && fail "no dataset"
    [ "$(grep -c 'there is no dataset' "$work/err")" = 1 ] || fail "one line for all ranks: $(cat "$work/err")"
    # A run of three threads goes on as two processes, which are as many as mpirun says.
    "${mpi[@]}" 2 "$loam" train "$work/t5-again" train.length='22 steps' 2>"$work/err" || fail "mpirun, RUN: $(tail -n 3 "$work/err")"
    grep -q '2 ranks (mpi)' "$work/err" && grep -q '"step":22,' "$work/t5-again/metrics.jsonl" || fail "$(cat "$work/err")"
    # mpirun of one process is one rank, whatever the run was saved with, unless the user says otherwise.
    "${mpi[@]}" 1 "$loam" train "$work/t5-again" train.length='24 steps' 2>"$work/err" || fail "mpirun -np 1: $(tail -n 3 "$work/err")"
    grep -q '^model: ' "$work/err" && ! grep -q ' ranks (' "$work/err" || fail "mpirun -np 1: $(cat "$work/err")"
    "${mpi[@]}" 1 "$loam" train "$work/t5-again" train.length='26 steps' parallel.ranks=3 2>"$work/err" || fail "$(tail -n 3 "$work/err")"
    grep -q '3 ranks (thread)' "$work/err" || fail "parallel.ranks=3: $(cat "$work/err")"
    # More threads than cores, counted over the ranks of the host: one line. On a GPU the threads are not compared.
    for start in "${mpi[*]} 2 taskset -c $cpu $loam train %" "taskset -c $cpu $loam train % parallel.ranks=2"; do
        ${start/\%/$config run.dir=$work/threads train.length=0steps train.threads=2} 2>"$work/err" || fail "$start: $(cat "$work/err")"
        [ "$(grep -c '4 compute threads of 2 ranks on 1 core slow each other down' "$work/err")" = 1 ] || fail "$start: $(cat "$work/err")"
        rm -r "$work/threads"
    done
    # A process that is not of one MPI job with the others, and would train as one of several ranks 0.
    expect 2 'by srun --mpi=pmix, or on one machine without a launcher by parallel.ranks=2' "${mpi[@]:0:2}" RANK=0 WORLD_SIZE=2 "$loam" train "$config" run.dir="$work/apart"
    # Variables of torchrun that are left over: of two ranks 0 each would train by itself.
    "${mpi[@]}" 2 env RANK=0 WORLD_SIZE=1 "$loam" train "$config" run.dir="$work/apart" 2>"$work/err" && fail "two ranks 0"
    [ "$(grep -c '^loam train: .*RANK=0 and WORLD_SIZE=1 contradict Open MPI' "$work/err")" = 1 ] || fail "one line: $(cat "$work/err")"
    expect 1 'torchrun says that this is rank 7 of 2' env RANK=7 WORLD_SIZE=2 "$loam" train "$config" run.dir="$work/apart"
    [ ! -e "$work/apart" ] || fail "a refused run left a folder"
else
    echo "no mpirun, or no loam-mpi.so: ranks that are processes are not tried"
fi

# Without loam-mpi.so no rank can speak for another host: the first rank of each says why it ends, and if the launcher does not
# say which is the first, every rank. A mistake in the configuration is said in the same way.
mkdir "$work/bare"
cp "$loam" "$work/bare/loam"
bare() { expect "$1" "$2" env WORLD_SIZE=4 "${@:3}" "$work/bare/loam" train "$config" run.dir="$work/apart"; }
bare 2 'loam train: torchrun started 4 processes: there is no loam-mpi.so' RANK=0 LOCAL_RANK=0
bare 2 "loam train: rank 2 on $(hostname): torchrun started 4 processes: there is no loam-mpi.so" RANK=2 LOCAL_RANK=0
bare 2 "loam train: rank 3 on $(hostname): torchrun started 4 processes: there is no loam-mpi.so" RANK=3
status=0
env WORLD_SIZE=4 RANK=3 LOCAL_RANK=1 "$work/bare/loam" train "$config" run.dir="$work/apart" >"$work/out" 2>"$work/err" || status=$?
[ $status = 2 ] && [ ! -s "$work/err" ] || fail "the second rank of a host, status $status: $(cat "$work/err")"
expect 1 "loam train: rank 2 on $(hostname): unknown option train.lenght, did you mean train.length?" env WORLD_SIZE=4 RANK=2 LOCAL_RANK=0 "$work/bare/loam" train "$config" train.lenght=3
if command -v mpirun >/dev/null; then
    status=0
    "${mpi[@]}" 2 "$work/bare/loam" train "$config" run.dir="$work/apart" >"$work/out" 2>"$work/err" || status=$?
    [ $status = 2 ] && [ "$(grep -c '^loam train: ' "$work/err")" = 1 ] || fail "mpirun, status $status: $(cat "$work/err")"
fi
[ ! -e "$work/apart" ] || fail "ranks that cannot reach each other left a folder"
echo "ok: ranks without MPI"

# 4 -> 1 -> 3 ranks in one run continue the curve of one rank.
for part in '8 4' '14 1' '20 3'; do
    read -r steps n <<<"$part"
    "$loam" train "$config" run.dir="$work/elastic" train.length="$steps steps" optim.schedule=constant train.precision=f32 \
        parallel.ranks=$n 2>"$work/err" || fail "$part: $(cat "$work/err")"
done
"$loam" train "$config" run.dir="$work/one" "$short" optim.schedule=constant train.precision=f32 2>"$work/err"
diff <(grep -c '"kind":"train"' "$work/one/metrics.jsonl") <(grep -c '"kind":"train"' "$work/elastic/metrics.jsonl")
for run in one elastic; do
    grep '"kind":"train"' "$work/$run/metrics.jsonl" >"$work/lines"
    mkdir "$work/$run-train"
    cp "$work/lines" "$work/$run-train/metrics.jsonl"
done
near "$work/one-train" "$work/elastic-train"

# A plan counts them, too.
expect 0 '4 compute threads of 2 ranks on 1 core slow each other down' taskset -c "$cpu" "$loam" plan "$config" parallel.ranks=2 train.threads=2
taskset -c "$cpu" "$loam" plan "$config" parallel.ranks=2 train.threads=2 --machine cpu >"$work/out" 2>"$work/err"
! grep -q 'compute threads' "$work/err" || fail "another machine: $(cat "$work/err")"

# Rank 0 finds that no checkpoint is valid: the other ranks end with it, before they read train.init.
"$loam" tokenizer train --type unigram --vocab-size 150 --out "$work/other.model" "$work/corpus.txt" 2>"$work/err"
"$loam" prepare --tokenizer "$work/other.model" --out "$work/other" "$work/corpus.txt" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
"$loam" train "$config" run.dir="$work/start" model.vocab=300 train.length='1 steps' 2>"$work/err" || fail "$(cat "$work/err")"
init=("$config" run.dir="$work/init" tokenizer.path="$work/other.model" data.train="$work/other" data.valid= model.vocab=300
    parallel.ranks=2 train.init="$work/start" train.eval_every=0)
"$loam" train "${init[@]}" train.length='2 steps' 2>"$work/err" || fail "$(cat "$work/err")"
read_init() { grep -c 'which train.init was trained with' "$work/init/ranks/0001.txt"; }
[ "$(read_init)" = 1 ] || fail "rank 1 says nothing of train.init: $(cat "$work/init/ranks/0001.txt")"
printf 'xyzzy xyzzy' | dd of="$work/init/checkpoints/latest/weights-00001-of-00002.safetensors" bs=1 seek=3000 conv=notrunc 2>/dev/null
"$loam" train "${init[@]}" train.length='4 steps' 2>"$work/err" && fail "every checkpoint is damaged"
[ "$(read_init)" = 1 ] || fail "rank 1 has read train.init: $(cat "$work/init/ranks/0001.txt")"

expect 1 'start at most 8, or set train.batch' "$loam" train "$config" run.dir="$work/many" parallel.ranks=9
expect 1 'there is no dataset' "$loam" train "$config" run.dir="$work/none" data.train=/none parallel.ranks=3
