# labels: starts-first
# Pipelines with several stages per rank train what one rank trains, with any number of microbatches, beside data and
# tensor parallelism and ZeRO; they go on from the checkpoints of other layouts; cuts between stages may be named.
. tests/cli/lib.sh "$1"
make_dataset
. tests/cli/ranks.sh
make_tasks

steps=20
rows=9
[ -z "${LOAM_SANITIZED:-}" ] || rows=3
head -n $rows >"$work/rows" <<'ROWS'
2 2 1 0 1 block t5 adamw parallel.interleave=2 parallel.cuts=2,3,5
3 3 1 0 1 none t5 adafactor parallel.interleave=2 model.n_dec=4
4 2 2 1 2 none bert adamw parallel.interleave=2 model.n_enc=5 model.position=learned
2 2 1 0 2 none gpt adamw parallel.interleave=2 model.n_dec=4
4 2 1 2 1 block gpt adafactor parallel.interleave=3 model.n_dec=6
2 2 1 0 3 none classifier adamw train.scores=false model.n_enc=4 parallel.interleave=2
2 2 1 0 8 none lora adamw parallel.interleave=2 model.n_dec=4
2 2 1 0 2 none t5 adamw parallel.interleave=2 model.memory_tokens=3
2 2 1 0 8 none answers adamw parallel.interleave=2
ROWS
while read -r row; do
    # shellcheck disable=SC2086
    layout_row $row
done <"$work/rows"

# bf16 and fp16 beside one rank: a cut changes no bit of a pass, and only the order of sums of tied parameters.
half=(train.length='8 steps' train.batch='8 samples' train.micro_batch='2 samples' optim.clip_norm=0 train.eval_every=0
    model.n_dec=4 model.tie_embeddings=false)
for precision in bf16 fp16; do
    rank_run one gpt 1 0 "${half[@]}" train.precision=$precision
    rank_run ranks gpt 2 0 "${half[@]}" train.precision=$precision parallel.pipeline=2 parallel.interleave=2
    for run in one ranks; do
        grep -o '"step":[0-9]*\|"loss":[-0-9.e+]*' "$work/$run/metrics.jsonl" >"$work/losses-$run"
    done
    diff "$work/losses-one" "$work/losses-ranks" >"$work/diff" || fail "$precision: $(head -n 4 "$work/diff")"
    rm -r "$work/one" "$work/ranks"
done

# One run in four layouts after one another: the same curve as one rank.
moved=(model.n_enc=3 model.n_dec=3 train.batch='8 samples' train.micro_batch='2 samples' train.precision=f32 train.save_every=0 train.length='12 steps'
    train.log_every=1 train.eval_every=0)
rank_run one t5 1 0 "${moved[@]}"
steps=0
for layout in '4 2 parallel.tensor=2 parallel.interleave=3' '1 1' '3 3 parallel.interleave=2' '2 2 parallel.interleave=2 parallel.cuts=2,4,6'; do
    read -r ranks pipeline options <<<"$layout"
    steps=$((steps + 3))
    # shellcheck disable=SC2086
    rank_run moved t5 "$ranks" 0 "${moved[@]}" train.stop_at="$steps steps" parallel.pipeline="$pipeline" $options
done
for run in one moved; do # without the evaluations at which the run stopped
    grep '"kind":"train"' "$work/$run/metrics.jsonl" >"$work/lines" && mv "$work/lines" "$work/$run/metrics.jsonl"
done
near "$work/one" "$work/moved"

# What the first rank sends in a step is what the plan says.
while read -r ranks options; do
    # shellcheck disable=SC2086
    planned=$("$loam" plan "$config" ${models[t5]} "${moved[@]}" parallel.ranks="$ranks" $options 2>"$work/err" |
        sed -n 's/^ranks.* in a step (\([0-9]*\) bytes)$/\1/p')
    # shellcheck disable=SC2086
    rank_run sent t5 "$ranks" 0 "${moved[@]}" train.stop_at='2 steps' $options
    sent=$(grep -o '"sent_bytes":[0-9]*' "$work/sent/metrics.jsonl" | tail -n 1)
    [ "$sent" = "\"sent_bytes\":$planned" ] || fail "$options: planned $planned, sent $sent"
    rm -r "$work/sent"
done <<'ROWS'
2 parallel.pipeline=2 parallel.interleave=2
4 parallel.pipeline=2 parallel.interleave=3 parallel.tensor=2
ROWS

# Layouts that cannot be: one line that says what would be right.
refused() { expect 1 "$1" "$loam" train "$config" run.dir="$work/refused" "${@:2}"; }
refused 'there is no pipeline: set parallel.pipeline' parallel.ranks=2 parallel.interleave=2
refused 'at least one for each of their stages: at most 1' parallel.ranks=2 parallel.pipeline=2 parallel.interleave=2
refused 'and for 2 stages it names the first block of the second one, 1 number from 2 to 2' parallel.ranks=2 parallel.pipeline=2 parallel.cuts=3
refused 'in rising order: there are 2; equal work would be ' parallel.ranks=2 parallel.pipeline=2 parallel.cuts=2,2
refused 'parallel.cuts is "2", and there is no pipeline: set parallel.pipeline' parallel.cuts=2
[ ! -e "$work/refused" ] || fail 'a refused run left a folder'
