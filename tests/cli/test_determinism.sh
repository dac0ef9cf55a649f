# labels: rounds repeats starts-first
# What docs/determinism.md promises of training: which settings leave every bit of the weights as it is, and which change
# the last digits alone.
. tests/cli/lib.sh "$1"
make_dataset

# run NAME OVERRIDES…: twelve steps on two threads, large enough for these to share the work.
run() {
    local name=$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$work/$name" 'train.length=12 steps' 'train.save_every=6 steps' \
        optim.schedule=constant model.width=128 model.ffn=256 train.batch='16 samples' train.micro_batch='8 samples' \
        train.threads=2 train.precision="$precision" "$@" 2>"$work/log"
}
train() { run "$@" || fail "$1: $(tail -n 2 "$work/log")"; }
latest() { echo "$work/$1/checkpoints/latest"; }
same_run() { # ANOTHER WHY: its checkpoint and its losses have the same bytes
    diff -r "$(latest first)/" "$(latest "$1")/" >"$work/diff" || fail "$2: $(cat "$work/diff")"
    diff <(losses first) <(losses "$1") >"$work/diff" || fail "$2: $(cat "$work/diff")"
    echo "ok: $2"
}
same_weights() { # ANOTHER WHY: weights and moments have the same bytes
    for file in "$(latest first)"/*.safetensors; do
        cmp "$file" "$(latest "$1")/${file##*/}" || fail "$2"
    done
    echo "ok: $2"
}
losses() { sed -n 's/.*"kind":"\(train\|valid\)".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$work/$1/metrics.jsonl"; }
near() { # ANOTHER SHARE WHY: losses that differ by no more than this share
    paste -d' ' <(losses first) <(losses "$1") >"$work/both"
    awk -v share="$2" '$1 != $4 || $2 != $5 || $3 / $6 - 1 > share || 1 - $3 / $6 > share { print } END { if (NR < 12) print NR " losses" }' \
        "$work/both" >"$work/far"
    [ ! -s "$work/far" ] || fail "$3: $(head -n 3 "$work/far")"
    echo "ok: $3"
}

for precision in f32 bf16; do
    rm -rf "$work/first"
    train first
    train again-$precision
    same_run again-$precision "$precision: the same run again"
    ! (LOAM_FAULT=step:9 run cut-$precision || exit $?) 2>"$work/err" || fail "was not killed"
    train cut-$precision
    same_run cut-$precision "$precision: a run that was killed after its ninth step and went on"
    train recompute-$precision train.recompute=block
    same_run recompute-$precision "$precision: activations computed again"
    OMP_WAIT_POLICY=active train watched-$precision train.eval_every=1 train.log_every=3 train.save_every=4 --trace "$work/trace"
    same_weights watched-$precision "$precision: looked at more often"
    OMP_DYNAMIC=true OMP_THREAD_LIMIT=2 train limited-$precision train.threads=3
    same_run limited-$precision "$precision: OpenMP may give no more than two threads"

    share=$([ $precision = f32 ] && echo 1e-5 || echo 1e-2)
    train threads-$precision train.threads=3
    near threads-$precision $share "$precision: another number of threads"
    train cuts-$precision train.micro_batch='3 samples'
    near cuts-$precision $share "$precision: other microbatches"
    [ "$(uname -m)" != x86_64 ] || LOAM_CPU_ISA=avx2 train avx2-$precision
    [ "$(uname -m)" != x86_64 ] || near avx2-$precision $share "$precision: another instruction set"
done

for run in one two; do
    head -n 4 "$work/corpus.txt" | cut -d' ' -f1-4 |
        "$loam" generate --model "$work/again-bf16" --max-tokens 6 --n 2 --temperature 1 --seed 3 --json >"$work/$run"
done
cmp "$work/one" "$work/two" || fail "other answers"
echo "ok: the same answers"
