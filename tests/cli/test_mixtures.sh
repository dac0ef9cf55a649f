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
expect 1 "either every dataset has a weight or none" "$loam" plan "$work/config.yaml" data.train=a:1,b
expect 1 "data.mixture_cap: " "$loam" plan "$work/config.yaml" data.mixture_cap=3

# Lists in YAML are the text forms: the same saved configuration, and a run goes on whichever was used.
cat >"$work/lists.yaml" <<YAML
extends: config.yaml
data:
  train: [{ path: $work/data, weight: 3 }, { path: $work/few, weight: 1 }]
  valid:
    - { name: held-out, path: $work/data-valid }
    - { name: few, path: $work/few }
YAML
expect 0 "$work/few: 25.00 % of the samples, " "$loam" train "$work/lists.yaml" run.dir="$work/listed" 'train.length=2 steps'
for name in held-out few; do
    grep -q "\"kind\":\"valid\".*\"name\":\"$name\"" "$work/listed/metrics.jsonl" || fail "no held-out set named $name"
done
cp "$work/listed/config.yaml" "$work/first.yaml"
expect 0 "going on from" "$loam" train "$work/config.yaml" run.dir="$work/listed" 'train.length=2 steps' \
    data.train="$work/data:3, $work/few:1" data.valid="held-out:$work/data-valid,few:$work/few"
cmp "$work/listed/config.yaml" "$work/first.yaml" || fail "the two forms are saved differently"
expect 0 '"name":"few"' "$loam" eval "$work/listed" --json
sed 's/path: [^ ]*data, /way: x, /' "$work/lists.yaml" >"$work/bad.yaml"
expect 1 "bad.yaml:3: data.train: item 1: no path; an item has path, weight" "$loam" plan "$work/bad.yaml"

# A split trains on one part of the documents and validates on another.
split="data.train=$work/data data.valid= data.split=90,10"
expect 0 "held-out loss" "$loam" train "$work/config.yaml" run.dir="$work/split" 'train.length=2 steps' $split
expect 0 "$work/data@valid:90/10/0: loss" "$loam" eval "$work/split"
expect 0 '"sample":0' "$loam" inspect batch "$work/config.yaml" --valid --json $split
expect 0 "$work/data@train:90/10/0: 75.00 %" "$loam" plan "$work/config.yaml" data.split=90,10 data.train="$work/data:3,$work/few:1"
documents() { "$loam" inspect dataset "$1" --json | grep -o '"documents":[0-9]*' | sed -n 1p | cut -d: -f2; }
[ $(($(documents "$work/data@train:90/10") + $(documents "$work/data@valid:90/10"))) = "$(documents "$work/data")" ] ||
    fail "the parts are not the whole"
expect 1 "data.split: 90,x: up to three numbers not below 0 are wanted" "$loam" train "$work/config.yaml" \
    run.dir="$work/no" data.split=90,x

# A comma in a name, in each option that takes a list of datasets.
mkdir "$work/cm"
for file in "$work"/few.*; do cp "$file" "$work/cm/a,b.${file##*.}"; done
expect 0 "held-out loss" "$loam" train "$work/config.yaml" run.dir="$work/comma" 'train.length=2 steps' \
    data.train="$work/cm/a\,b" data.valid="held-out:$work/cm/a\,b"
expect 0 "$work/cm/a,b: loss" "$loam" eval "$work/comma" data.valid="$work/cm/a\,b"
expect 0 "few: loss" "$loam" eval "$work/comma" data.valid="few: $work/few"
expect 0 "$work/cm/a,b@valid:9/1/0: loss" "$loam" eval "$work/comma" data.valid= data.split=9,1,0
expect 0 "@valid:9/1/0:3" "$loam" eval "$work/comma" data.valid= data.split=9,1,0 data.train="$work/cm/a\,b:3,$work/data:1"

# A length in tokens counts those of samples that do not fill their rows: the plan's steps, and the warning of many passes.
sparse="data.objective=prefix_lm data.packed=false data.train=$work/data,$work/few"
# shellcheck disable=SC2086
"$loam" plan "$work/config.yaml" $sparse 'train.length=40k tokens' 'optim.warmup=20k tokens' >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
# shellcheck disable=SC2086
"$loam" train "$work/config.yaml" run.dir="$work/sparse" $sparse 'train.length=40k tokens' data.valid= 2>"$work/log" || fail "$(cat "$work/log")"
planned=$(sed -n 's/^the run  *about \([0-9]*\) steps, .*/\1/p' "$work/out")
warm=$(sed -n 's/^warm-up ends  *at step //p' "$work/out")
[ $((2 * warm)) -ge $((planned - 2)) ] && [ $((2 * warm)) -le $((planned + 2)) ] || fail "half of $planned steps is not $warm"
made=$(grep -c '"kind":"train"' "$work/sparse/metrics.jsonl")
[ $((10 * planned)) -gt $((8 * made)) ] && [ $((10 * planned)) -lt $((12 * made)) ] || fail "planned $planned steps, made $made"
# shellcheck disable=SC2086
expect 0 "the run reads $work/few " "$loam" train "$work/config.yaml" run.dir="$work/again" 'train.stop_at=1 steps' data.valid= \
    data.train="$work/few" 'train.length=1M tokens'
echo "ok: a plan in tokens of samples that are short"
