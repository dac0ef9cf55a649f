#!/bin/bash
# test_plan_memory.sh LOAM: the most memory that a run ever has is what `plan` says, within 5 %, and 64 MiB a rank for the program
# itself: also while it makes its weights and saves, in several layouts and both precisions.
. tests/cli/lib.sh
if [ -n "${LOAM_SANITIZED:-}" ]; then
    echo "skipped: a sanitizer has memory of its own"
    exit 0
fi
make_dataset

# A large embedding: a copy of it, or of a block, would be seen. Four blocks, so that what is lost at their ends would be, too.
train() { # NAME OPTION…: trains, and prints the most MiB that the process has had; a hook, its child, reads them
    local name=$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$work/$name" hooks.on_stop="grep VmHWM /proc/\$PPID/status >$work/peak" \
        "${model[@]}" "$@" >"$work/log" 2>&1 || fail "$name: $(tail -n 3 "$work/log")"
    awk '{ print int($2 / 1024) }' "$work/peak"
}
model=(model.n_enc=4 model.n_dec=4 model.width=512 model.ffn=1000 model.heads=8 model.head_dim=64 model.vocab=60000 train.micro_batch='1 samples'
    train.batch='2 samples' train.length='1 steps' train.eval_every='100 steps')
planned() { # MiB of a rank
    "$loam" plan "$work/config.yaml" "${model[@]}" "$@" 2>"$work/err" |
        awk '/^memory /{ print int($2 * ($3 ~ /^GiB/ ? 1024 : 1)) }'
}

while read -r ranks least options; do
    read -r -a options <<<"$options"
    plan=$(planned "${options[@]}") peak=$(train "run-$ranks-${#options[@]}-$RANDOM" "${options[@]}")
    limit=$((ranks * (plan * 105 / 100 + 64)))
    # A plan above 1 GiB is printed with one digit behind the point, and one of a pipeline is of the stage with the most.
    [ "$peak" -le "$limit" ] || fail "${options[*]}: had $peak MiB, planned $ranks times $plan MiB"
    [ "$peak" -ge $((ranks * plan * least / 100)) ] || fail "${options[*]}: had only $peak MiB, planned $ranks times $plan MiB"
    echo "ok: ${options[*]}: $peak MiB, planned $ranks x $plan MiB"
done <<'LAYOUTS'
1 95 train.precision=f32
2 95 train.precision=bf16 parallel.ranks=2 parallel.zero=1
2 95 train.precision=bf16 parallel.ranks=2 parallel.tensor=2
2 60 train.precision=f32 parallel.ranks=2 parallel.pipeline=2
LAYOUTS
