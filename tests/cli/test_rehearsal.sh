# loam train --rehearse: the recipes with a layout train at small sizes on 8 ranks, save, and go on in another layout, with
# the losses of one rank.
. tests/cli/lib.sh "$1"
. tests/cli/ranks.sh
make_dataset
"$loam" prepare --tokenizer "$work/tok.model" --append-eod --out "$work/eod" "$work/corpus.txt" >/dev/null 2>&1

# rehearse RECIPE RUN STEPS OPTION…
rehearse() {
    local recipe=$1 run=$2 steps=$3
    shift 3
    "$loam" train "configs/recipes/$recipe.yaml" --rehearse run.dir="$work/$run" tokenizer.path="$work/tok.model" model.vocab=auto \
        train.threads=1 train.precision=f32 train.batch='8 samples' train.eval_every=0 model.dropout=0.1 log.format=loam \
        train.length="$steps steps" train.save_every=2 data.train="$work/eod" optim.schedule=constant "$@" 2>"$work/err" ||
        fail "$recipe: $(tail -n 2 "$work/err")"
}

# moves RECIPE RANKS 'LAYOUT' 'OTHER LAYOUT' OPTION…: two steps in the layout of the recipe, two in another, six on one rank.
moves() {
    local recipe=$1 ranks=$2
    local layout=$3
    read -ra other <<<"$4"
    shift 4
    rehearse "$recipe" "$recipe" 2 parallel.ranks="$ranks" "$@"
    grep -qF "; $ranks ranks (thread, $layout)" "$work/err" || fail "$recipe: another layout: $(grep ranks "$work/err")"
    rehearse "$recipe" "$recipe" 4 "${other[@]}" "$@"
    grep -q 'step 3/4 ' "$work/err" || fail "$recipe does not go on: $(tail -n 3 "$work/err")"
    local alone=(parallel.ranks=1 parallel.tensor=1 parallel.pipeline=1 parallel.zero=0)
    rehearse "$recipe" "$recipe" 10 "${alone[@]}" "$@"
    rehearse "$recipe" one 10 "${alone[@]}" "$@"
    local parts=$work/$recipe-rehearsal one=$work/one-rehearsal
    sed -i '/"kind":"train"/!d' "$parts/metrics.jsonl" "$one/metrics.jsonl" # parts of a run end with evaluations
    near "$one" "$parts"
    rm -r "$one"
}
moves tr1-13b 8 '2 per tensor-parallel group, a pipeline of 4 stages, ZeRO 1' 'parallel.ranks=4 parallel.tensor=1 parallel.pipeline=2 parallel.zero=2'
moves fairseq-lm-mt5 8 'ZeRO 3' 'parallel.ranks=4 parallel.tensor=2 parallel.zero=1' data.valid="$work/eod"

# It does not go with several runs.
expect 1 '--rehearse is for one run' "$loam" train configs/gpt2.yaml --rehearse --seeds 2

# A run is rehearsed by its folder, and stays as it is.
"$loam" train "$work/config.yaml" run.dir="$work/run" train.length='5 steps' 2>"$work/err" || fail "$(tail -n 1 "$work/err")"
expect 0 "saved $work/run-rehearsal/checkpoints/step-00000002" "$loam" train "$work/run" --rehearse train.length='2 steps'
[ "$(readlink "$work/run/checkpoints/latest")" = step-00000005 ] || fail "the rehearsal changed the run"

# Its folder is that of the run with "-rehearsal" after its name, wherever run.dir is said and however its path ends.
rm -r "$work/run-rehearsal"
rehearsed() { # FOLDER COMMAND…
    expect 0 "saved $1/checkpoints/step-00000002" "${@:2}" --rehearse train.length='2 steps'
    rm -r "$1"
}
rehearsed "$work/said-rehearsal" "$loam" train "$work/config.yaml" run.dir="$work/said"
[ ! -e "$work/said" ] || fail "a rehearsal in the folder of the run"
rehearsed "$work/run-rehearsal" "$loam" train "$work/run/"
rehearsed "$work/said-rehearsal" "$loam" train "$work/run" run.dir="$work/said//"
(echo "run: { dir: $work/said/ }" && sed /^run:/d "$work/config.yaml") >"$work/slash.yaml"
rehearsed "$work/said-rehearsal" "$loam" train "$work/slash.yaml"
loam=$(realpath "$loam")
cd "$work/run"
rehearsed "$work/run-rehearsal" "$loam" train .
rehearsed "$work/run-rehearsal" "$loam" train "$work/config.yaml" run.dir=./
[ "$(find "$work/run" -name '*-rehearsal')" = "" ] || fail "a rehearsal inside the run: $(ls -A "$work/run")"
