# log.mlflow: the metrics of a run in a store of MLflow are those of metrics.jsonl, also after a rollback and going on.
. tests/cli/lib.sh "$1"
make_dataset
train=("$loam" train "$work/config.yaml" run.dir="$work/run" train.length='8 steps' train.log_every='2 steps' train.eval_every=4
    train.save_every=2 log.mlflow="$work/mlruns" log.mlflow_experiment='mine: all')
# steps KIND: the steps of metrics.jsonl; stored METRIC: those of the store.
steps() { sed -n "s/.*\"kind\":\"$1\",\"step\":\([0-9]*\).*/\1/p" "$work/run/metrics.jsonl"; }
stored() { cut -d ' ' -f 3 "$work"/mlruns/*/*/metrics/"$1"; }
same() {
    diff <(steps train) <(stored train/loss) || fail "$1: steps"
    diff <(steps valid) <(stored valid/loss) || fail "$1: evaluations"
    diff <(sed -n 's/.*"kind":"train".*"loss":\([0-9.e+-]*\),"nll.*/\1/p' "$work/run/metrics.jsonl" | awk '{ printf "%.9g\n", $1 }') \
        <(cut -d ' ' -f 2 "$work"/mlruns/*/*/metrics/train/loss | awk '{ printf "%.9g\n", $1 }') || fail "$1: losses"
}

"${train[@]}" train.stop_at='4 steps' 2>"$work/log" || fail "$(cat "$work/log")"
same first
grep -qx 'status: 3' "$work"/mlruns/*/*/meta.yaml || fail "$(cat "$work"/mlruns/*/*/meta.yaml)"
[ "$(cat "$work"/mlruns/*/*/params/train.batch)" = '8 samples' ] || fail "$(cat "$work"/mlruns/*/*/params/train.batch)"
grep -qx 'name: "mine: all"' "$work"/mlruns/*/meta.yaml || fail "$(cat "$work"/mlruns/*/meta.yaml)"

"${train[@]}" 2>"$work/log" || fail "$(cat "$work/log")"
same "going on"
"$loam" rollback "$work/run" --to 6 2>"$work/log"
"$loam" train "$work/run" train.length='10 steps' 2>"$work/log" || fail "$(cat "$work/log")"
same "after a rollback"
[ "$(ls -d "$work"/mlruns/*/*/metrics | wc -l)" = 1 ] || fail "another run"

entries() { ls -d "$work"/mlruns/*/*/metrics | wc -l; }
# values ENTRY: all metrics and options of an entry.
values() { (cd "$1" && grep -r . metrics params | sort); }
first=$(echo "$work"/mlruns/*/*/)

# Undoing a rollback brings back what a start after it had removed or changed.
values "$first" >"$work/values"
"$loam" rollback "$work/run" --to 8 2>"$work/log"
{ LOAM_FAULT=step:2 "$loam" train "$work/run" train.length='20 steps' train.log_every='1 steps' train.save_every=0 >"$work/out" 2>&1 && fail "no kill"; } 2>/dev/null
values "$first" | cmp -s "$work/values" - && fail "the start changed nothing"
"$loam" rollback "$work/run" --undo 2>"$work/log" || fail "$(cat "$work/log")"
values "$first" | diff "$work/values" - || fail "not as before the rollback"

# A copy of a run is another run there, with the values so far; the original's entry stays as it is.
cp -r "$work/run" "$work/copy"
"$loam" train "$work/copy" train.length='12 steps' 2>"$work/log" || fail "$(cat "$work/log")"
values "$first" | diff "$work/values" - || fail "a copy wrote into the entry of its original"
[ "$(entries)" = 2 ] || fail "$(entries) entries after a copy"
second=$(for entry in "$work"/mlruns/*/*/; do [ "$entry" = "$first" ] || echo "$entry"; done)
[ "$(cut -d ' ' -f 3 "$second/metrics/train/loss" | tr '\n' ' ')" = '2 4 6 8 10 12 ' ] || fail "$(cat "$second/metrics/train/loss")"
[ "$(cat "$second/tags/mlflow.runName")" = copy ] || fail "$(cat "$second/tags/mlflow.runName")"

# A run that is moved, or whose experiment changes, keeps its one entry.
mv "$work/copy" "$work/moved"
"$loam" train "$work/moved" train.length='14 steps' log.mlflow_experiment=other 2>"$work/log" || fail "$(cat "$work/log")"
[ "$(entries)" = 2 ] && [ ! -e "$second" ] || fail "$(ls -d "$work"/mlruns/*/*/)"
other=$(dirname "$(grep -lx 'name: "other"' "$work"/mlruns/*/meta.yaml)")
[ "$(cut -d ' ' -f 3 "$other/$(basename "$second")/metrics/train/loss" | tail -n 1)" = 14 ] || fail "the entry did not move"
grep -qx "experiment_id: '$(basename "$other")'" "$other/$(basename "$second")/meta.yaml" || fail "$(cat "$other"/*/meta.yaml)"

# A run that starts over without its checkpoints is another run there.
rm -r "$work/run/checkpoints"
expect 0 "what the run before wrote is in $work/run/before-1" "${train[@]}" train.stop_at='2 steps'
values "$first" | diff "$work/values" - || fail "a run that starts over wrote into the entry of the run before"
[ "$(entries)" = 3 ] && [ -e "$work/run/before-1/mlflow.txt" ] || fail "$(entries) entries after starting over"

# The state is that of loam status: of a run without a step, of one that stopped or was killed, and after a command that leaves
# such a run no step and no evaluation to do, whose other options are not stored.
state() { sed -n 's/^status: //p' "$work/states"/*/"$(cut -d ' ' -f 1 "$work/$1/mlflow.txt" | head -n 1)/meta.yaml"; }
shown() { "$loam" status "$work/$1" 2>/dev/null | sed -n "1s/.*: //p" || true; }
small=("$loam" train "$work/config.yaml" log.mlflow="$work/states" data.valid= train.save_every=2 train.log_every=1)
"${small[@]}" run.dir="$work/empty" train.length='0 steps' 2>"$work/log" && [ "$(state empty) $(shown empty)" = '3 ended' ] || fail "$(state empty) $(shown empty)"
"${small[@]}" run.dir="$work/early" train.exit_every=2 2>"$work/log" && fail "it did not stop"
[ "$(state early) $(shown early)" = '5 stopped' ] || fail "$(state early) $(shown early)"
{ LOAM_FAULT=step:3 "${small[@]}" run.dir="$work/killed" >"$work/out" 2>&1 && fail "no kill"; } 2>/dev/null
[ "$(state killed) $(shown killed)" = '1 lost' ] || fail "$(state killed) $(shown killed)"
for run in early killed; do
    expect 0 'nothing left to do at step 2' "${small[@]}" run.dir="$work/$run" train.length='2 steps'
    [ "$(state $run) $(shown $run)" = '3 ended' ] || fail "$run: $(state $run) $(shown $run)"
    [ "$(grep -h . "$work"/states/*/*/params/train.length | sort | tr '\n' ';')" = '0 steps;40 steps;40 steps;' ] ||
        fail "$(grep . "$work"/states/*/*/params/train.length)"
done

# A store that cannot be written is a warning.
: >"$work/file"
expect 0 "log.mlflow: $work/file is a file; a folder is wanted there; the run goes on" "$loam" train "$work/config.yaml" \
    run.dir="$work/none" log.mlflow="$work/file/mlruns" train.length='1 steps'
