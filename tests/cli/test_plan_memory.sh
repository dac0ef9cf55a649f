# labels: measures-peak starts-first
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
planned() { # RANKS OPTION…: MiB of all ranks together, as the sum of their kinds, which are printed more exactly
    "$loam" plan "$work/config.yaml" "${model[@]}" "${@:2}" 2>"$work/err" |
        awk -v ranks="$1" 'function kinds(   i, sum) {
                 for (i = 2; i < NF; i++)
                     if ($i ~ /^(weights|gradients|optimizer|activations)$/)
                         sum += $(i + 1) * ($(i + 2) ~ /^GiB/ ? 1024 : 1)
                 return sum
             }
             /^memory / { each = kinds() }
             /^stage / { stages += kinds() } # a pipeline: each stage has its own line
             END { print int(stages > 0 ? stages : ranks * each) }'
}

while read -r ranks least options; do
    read -r -a options <<<"$options"
    plan=$(planned "$ranks" "${options[@]}") peak=$(train "run-$ranks-${#options[@]}-$RANDOM" "${options[@]}")
    limit=$((plan * 105 / 100 + ranks * 64)) # a plan above 1 GiB is printed with one digit behind the point
    [ "$peak" -le "$limit" ] || fail "${options[*]}: had $peak MiB, planned $plan MiB"
    [ "$peak" -ge $((plan * least / 100)) ] || fail "${options[*]}: had only $peak MiB, planned $plan MiB"
    echo "ok: ${options[*]}: $peak MiB, planned $plan MiB"
done <<'LAYOUTS'
1 95 train.precision=f32
2 95 train.precision=bf16 parallel.ranks=2 parallel.zero=1
2 95 train.precision=bf16 parallel.ranks=2 parallel.tensor=2
2 90 train.precision=f32 parallel.ranks=2 parallel.pipeline=2
LAYOUTS
