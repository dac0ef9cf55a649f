# labels: any-processor measures-peak starts-first
# bench ops and bench step: every operation of each family in each precision, its share of the measured peak; traces of a step,
# also of a training step; mfu beside the rate that it refers to.
. tests/cli/lib.sh "$1"
small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.vocab=96 train.threads=1'
precisions='f32 bf16 fp16' half=bf16
# Under sanitizers loam's own products in bf16, measured beside each operation, take a hundred times as long as oneDNN's: one family
# has them there, because no test in C reaches all of their code.
if [ -n "${LOAM_SANITIZED:-}" ]; then
    small="$small train.precision=f32" precisions=bf16 half=f32
fi

# ops PRECISION "OPERATION…" OPTIONS…: these operations are among those of the step, and each has its numbers.
ops() {
    local precision=$1 names=$2 op n
    shift 2
    "$loam" bench ops --seconds 0.001 --json $small "$@" train.precision="$precision" >"$work/out" 2>"$work/err" ||
        fail "bench ops $*: $(cat "$work/err")"
    grep -q "\"precision\": *\"$precision\"" "$work/out" || fail "not in $precision: $(cat "$work/out")"
    for op in $names; do
        grep -qE "\"op\": ?\"$op\"" "$work/out" || fail "$* has no $op: $(grep -oE '"op": ?"[^"]*"' "$work/out")"
    done
    n=$(grep -oE '"op": ?"' "$work/out" | wc -l)
    [ "$(grep -oE '"seconds": ?[0-9]' "$work/out" | wc -l)" = "$n" ] || fail "not every operation has a time: $(cat "$work/out")"
    [ "$(grep -oE "\"op\": ?\"($products)\"[^}]*\"share_of_peak\": ?[0-9]" "$work/out" | wc -l)" = \
        "$(grep -oE "\"op\": ?\"($products)\"" "$work/out" | wc -l)" ] || fail "not every product has a share of the peak: $(cat "$work/out")"
    echo "ok: bench ops in $precision, $n operations, $*"
}
products='gemm|linear|attn_fwd|attn_bwd'
all="${products//|/ } gather scatter_add act_fwd act_bwd xent sumsq"
for precision in $precisions; do
    ops $precision "$all sum_norm_fwd norm_bwd relpos_fwd adafactor" model.preset=t5-1.1-small train.micro_batch='2 samples' data.input_length=64
done
ops $half "$all sum_norm_fwd norm_bwd adamw" model.preset=bert-base data.objective=mlm model.n_enc=1 train.micro_batch='2 samples' data.input_length=64
ops $half "$all sum_norm_fwd norm_bwd adamw" model.preset=gpt2 data.objective=clm model.n_dec=1 train.micro_batch='2 samples' data.input_length=64

# The rows are the operations of a step, each once with tensors of the same shapes.
same="$small data.input_length=32 model.preset=t5-1.1-small model.n_enc=1 model.n_dec=1"
: >"$work/empty.yaml"
"$loam" bench ops --seconds 0.001 --json $same train.micro_batch='2 samples' >"$work/out"
grep -oE '"op": ?"[^"]*", ?"shape": ?"[^"]*"' "$work/out" | sed -E 's/"op": ?"([^"]*)", ?"shape": ?"([^"]*)"/\1 \2/' | sort >"$work/measured"
"$loam" bench step "$work/empty.yaml" tokenizer.path=bytes $same train.micro_batch='2 samples' train.batch='2 samples' --seconds 0.1 --trace "$work/trace.json" >"$work/out"
sed -nE 's/.*"name":"([^"]*)","cat":"[^"]*",.*"shapes":"([^"]*)".*/\1 \2/p' "$work/trace.json" | sort -u >"$work/of_step"
[ -s "$work/of_step" ] || fail "no shapes in $(head -n 5 "$work/trace.json")"
diff -u "$work/of_step" "$work/measured" || fail "bench ops measures other operations than those of a step"
"$loam" bench ops --seconds 0.001 $small data.input_length=32 train.micro_batch='2 samples' >"$work/out"
grep -Eq '^linear +[0-9.]+ ms +[0-9.]+ GFLOP/s +[0-9.]+ % of [0-9]+ +y 64x96 [a-z0-9]+, x 64x32 [a-z0-9]+, w 96x32 [a-z0-9]+$' "$work/out" || fail "$(cat "$work/out")"
for seconds in 0 -3 nan 1e9; do
    expect 1 ', want seconds above 0, up to 3600' "$loam" bench ops --seconds $seconds
done
expect 1 "unknown option model.widht, did you mean model.width?" "$loam" bench ops model.widht=3
expect 1 'No such file or directory' "$loam" bench ops missing.yaml

# A trace of a step: the array that Perfetto reads.
is_trace() {
    head -n 1 "$1" | grep -q '^\[$' && tail -n 1 "$1" | grep -q '^\]$' || fail "$1 is not an array"
    shift
    local name
    for name; do
        grep -q "\"name\":\"$name\",\"cat\":\"[a-z]*\",\"ph\":\"X\"" "$work/trace.json" || fail "no $name in the trace"
    done
}
"$loam" bench step configs/t5-1.1-small.yaml $small data.input_length=32 train.batch='4 samples' train.micro_batch='2 samples' \
    --seconds 0.1 --trace "$work/trace.json" --json >"$work/out"
is_trace "$work/trace.json" step 'microbatch 1' forward backward 'encoder block 7' 'decoder block 0' loss update gemm attn_bwd
grep -q '"peak_spread": *[0-9]' "$work/out" || fail "$(cat "$work/out")"
"$loam" bench step configs/t5-1.1-small.yaml $small data.input_length=32 train.batch="2 samples" train.micro_batch="2 samples" --seconds 0.1 --json --profile >"$work/out" 2>"$work/err" ||
    fail "$(cat "$work/err")"
grep -q '"profile": *\[{"op": *"[a-z_]*", *"share": *[0-9.]*, *"calls": *[0-9]*}' "$work/out" || fail "no operations in $(cat "$work/out")"
expect 1 "$work/missing/trace.json" "$loam" bench step configs/t5-1.1-small.yaml $small --trace "$work/missing/trace.json"

make_dataset
"$loam" train "$work/config.yaml" run.dir="$work/run" 'train.length=5 steps' 2>"$work/log" || fail "$(cat "$work/log")"
"$loam" train "$work/config.yaml" run.dir="$work/traced" 'train.length=5 steps' --trace "$work/trace.json" 2>"$work/log" ||
    fail "$(cat "$work/log")"
is_trace "$work/trace.json" 'step 2' data 'microbatch 1' forward backward update
grep -q 'step 2  its trace is in' "$work/log" || fail "$(cat "$work/log")"
diff -r "$work/run/checkpoints" "$work/traced/checkpoints" || fail "a trace changes the training"
grep -q '"mfu":[0-9.e-]*,"peak_flops_per_s":[0-9.e+]*,"peak_spread":' "$work/run/metrics.jsonl" || fail "$(cat "$work/run/metrics.jsonl")"
grep -Eq 'GFLOP/s  mfu [0-9]+ %' "$work/log" || fail "$(cat "$work/log")"
echo "ok: traces"

# Of several ranks it has a row for each one's communication, which begins before backward ends. On a busy machine the threads
# that do it may begin late, so there are several tries.
overlaps() {
    awk -F '"ts":|,"dur":|,"pid"' '
        /"thread_name"/ { rows++ }
        /"name":"backward"/ { begin = $2; end = $2 + $3 }
        /"cat":"communication"/ && /"tid":2/ && /"name":"all-reduce/ && $2 + $3 > begin && $2 < end { beside++ }
        END { exit !(rows == 2 && beside > 0) }' "$1"
}
deep='model.n_enc=2 model.n_dec=6 model.width=256 model.ffn=1024'
threads() { "$loam" "$@" parallel.ranks=2; }
processes() { "${mpi[@]}" 2 "$loam" "$@"; }
# traced NAME COMMAND: the training writes a trace of overlapping communication.
traced() {
    local name=$1
    shift
    for try in 1 2 3 4 5 6; do
        # shellcheck disable=SC2086
        "$@" train "$work/config.yaml" run.dir="$work/$name-$try" $deep 'train.length=3 steps' train.threads=1 \
            --trace "$work/$name.json" 2>"$work/log" || fail "$(cat "$work/log")"
        grep -q "$name.json; [0-9]* % of the communication lies beside computation" "$work/log" || fail "$(cat "$work/log")"
        ! overlaps "$work/$name.json" || return 0
    done
    fail "no communication beside backward: $(grep -v operation "$work/$name.json")"
}
traced threads threads
if command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ]; then
    traced mpi processes
fi
echo "ok: communication in traces"

step() { "$loam" bench step configs/t5-1.1-small.yaml $small data.input_length=32 'train.batch=2 samples' --seconds 0 "$@" --json >"$work/out"; }

# A pipeline: every stage trains all microbatches; the bubble of 2 stages and 8 microbatches is 1/9.
for layout in 'ranks=2' 'ranks=4 parallel.tensor=2' 'ranks=4 parallel.zero=3'; do
    # shellcheck disable=SC2086
    step train.micro_batch='1 samples' train.batch="$([ "$layout" = 'ranks=4 parallel.zero=3' ] && echo 16 || echo 8) samples" train.threads=1 \
        parallel.pipeline=2 parallel.$layout --trace "$work/stages.json"
    grep -q '"stages": *2, *"bubble": *0.1111' "$work/out" && grep -q '"sent_bytes": *[1-9]' "$work/out" || fail "$layout: $(cat "$work/out")"
    is_trace "$work/stages.json" || fail "$layout: no trace"
done
"$loam" bench step configs/t5-1.1-small.yaml $small data.input_length=32 train.batch='2 samples' parallel.ranks=2 parallel.pipeline=2 --seconds 0 >"$work/out"
grep -q '^pipeline     2 stages: .* wait 50.0 % of a step; they have waited ' "$work/out" || fail "no line of the pipeline"
grep -Eq '^computing    [0-9.]+ s \([0-9]+ %, planned [0-9]+ %\), [0-9.]+ s \([0-9]+ %, planned [0-9]+ %\) of a step$' "$work/out" ||
    fail "no times of the stages: $(cat "$work/out")"
expect 1 'the run has one rank: set parallel.ranks' step parallel.pipeline=2
echo "ok: a pipeline"

# A trace goes into a pipe, and through links to the file behind them; no other file is replaced, and training does not begin.
mkfifo "$work/fifo"
timeout 900 cat "$work/fifo" >"$work/read" &
step --trace "$work/fifo"
wait $!
[ -p "$work/fifo" ] && is_trace "$work/read" || fail "the pipe"
ln -s trace.json "$work/link"
step --trace "$work/link"
[ -L "$work/link" ] && is_trace "$work/trace.json" || fail "the link"
cp "$work/config.yaml" "$work/kept.yaml"
expect 1 'config.yaml exists and is no trace of loam: give another name' step --trace "$work/config.yaml"
expect 1 'config.yaml exists and is no trace of loam' "$loam" train "$work/config.yaml" run.dir="$work/none" --trace "$work/config.yaml"
[ ! -e "$work/none" ] && cmp "$work/config.yaml" "$work/kept.yaml" || fail "training began"
expect 1 '--seconds is -1, want seconds' step --seconds -1
echo "ok: what a trace replaces"

# A trace that cannot be written is told, and the run goes on: a file of the run, which is there by then, and a full disk.
mkdir "$work/fresh"
traced() { # NAME FILE
    "$loam" train "$work/config.yaml" run.dir="$work/$1" 'train.length=5 steps' --trace "$2" 2>"$work/log" || fail "$1: $(cat "$work/log")"
    grep -q 'step 2: its trace is not written, and training goes on: ' "$work/log" || fail "$1: $(cat "$work/log")"
    grep -q '"kind":"train","step":5' "$work/$1/metrics.jsonl" || fail "$1: metrics"
    diff -r "$work/run/checkpoints" "$work/$1/checkpoints" || fail "$1: another training"
}
traced fresh "$work/fresh/log.txt"
if mknod "$work/full" c 1 7 2>/dev/null && : 2>/dev/null >>"$work/full"; then
    traced disk "$work/full"
    [ -c "$work/full" ] || fail "the device is gone"
fi
echo "ok: traces that cannot be written"

# The scripts of bench/results, with a tiny model.
command -v python3 >/dev/null || exit 0
bench/curves --loam "$loam" --out "$work/curves.svg" --seconds 0 --tokens 64 --lengths 16,32 --micro-batches 1,2 $small model.n_enc=1 \
    model.n_dec=1 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(grep -c '<polyline' "$work/curves.svg")" = 4 ] && tail -n 1 "$work/curves.svg" | grep -q '^</svg>$' || fail "$(cat "$work/curves.svg")"
[ "$(grep -Ec '^\| (16|32|1|2) \| [0-9.]+ s \|' "$work/out")" = 4 ] || fail "$(cat "$work/out")"
if [ "$(nproc)" -ge 2 ]; then
    bench/spinning --loam "$loam" --rounds 1 --seconds 0 configs/t5-1.1-small.yaml $small model.n_enc=1 model.n_dec=1 data.input_length=32 \
        >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    [ "$(grep -Ec '^\| (1000|300000) \| [0-9.]+ s' "$work/out")" = 4 ] || fail "$(cat "$work/out")"
fi
echo "ok: scripts"
