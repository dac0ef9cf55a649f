# Mixtures: the plan and the run tell what they take from each dataset.
. tests/cli/lib.sh "$1"
make_dataset
"$loam" prepare --tokenizer "$work/tok.model" --out "$work/few" <(head -c 3000 "$work/corpus.txt") >/dev/null 2>&1 ||
    fail "prepare"

expect 0 "$work/few: 40.00 % of the samples, " "$loam" plan "$work/config.yaml" data.train="$work/data:3,$work/few:2"
expect 0 " epochs in the run" "$loam" plan "$work/config.yaml" data.train="$work/data:3,$work/few:2"
expect 0 "$work/few: 25.00 % of the samples, " "$loam" train "$work/config.yaml" run.dir="$work/mixed" \
    data.train="$work/data:3,$work/few:1" 'train.length=2 steps'
expect 1 "either every dataset has a weight or none" "$loam" train "$work/config.yaml" run.dir="$work/no" \
    data.train="$work/data:3,$work/few"
expect 1 "are for datasets without weights" "$loam" train "$work/config.yaml" run.dir="$work/no" \
    data.train="$work/data:3,$work/few:1" data.mixture_temperature=2
expect 1 "data.mixture_cap: " "$loam" plan "$work/config.yaml" data.mixture_cap=3
