# A run directory whose files were edited, deleted or moved: each resume compares the options with those that the newest
# checkpoint records under its checksum.
. tests/cli/lib.sh "$1"
make_dataset
train() { "$loam" train "$work/config.yaml" run.dir="$work/run" train.eval_every=100 train.save_every=4 "$@"; }
train train.length=4 2>"$work/log" || fail "$(cat "$work/log")"
run=$work/run
cp "$run/config.yaml" "$work/kept.yaml"
edit() { # edit KEY VALUE: in config.yaml as it was written
    sed "s/^\( *$1\):.*/\1: $2/" "$work/kept.yaml" >"$run/config.yaml"
    ! cmp -s "$work/kept.yaml" "$run/config.yaml" || fail "$1 was not edited"
}

# An edited option that the run must keep is refused by its name, as it is on the command line.
while read -r key value option was; do
    edit "$key" "$value"
    expect 1 "$run is a run with $option: $was, this configuration has $value; choose another run.dir, or set it back" \
        "$loam" train "$run" train.length=6
done <<'KEYS'
seed 8 run.seed 7
width 64 model.width 32
activation relu model.activation gelu_tanh
norm_eps 0.001 model.norm_eps 1e-06
position rotary model.position relative_bias
objective iid_denoising data.objective span_corruption
noise_density 0.3 data.noise_density 0.15
input_length 48 data.input_length 64
KEYS

# So is one that a configuration brings after config.yaml was lost.
rm "$run/config.yaml"
expect 1 'is a run with run.seed: 7, this configuration has 8' train train.length=6 run.seed=8
expect 1 'is a run with data.mean_span_length: 3, this configuration has 4' train train.length=6 data.mean_span_length=4
expect 1 'is a run with data.train: PATH, this configuration has PATH:0.5,PATH:0.5' train train.length=6 \
    data.train="$work/data:0.5,$work/data:0.5"

# Every option that the reference calls logged is logged after an edit, as on the command line, with an event.
train run.dir="$work/logged" train.length=4 train.stop_at=4 2>"$work/log" || fail "$(cat "$work/log")"
cp "$work/logged/config.yaml" "$work/logged.yaml"
edits='length|20 steps
stop_at|6 steps
eval_every|50 steps
save_every|5 steps
eval_samples|512
micro_batch|2 samples
patience|9
keep_last|3
keep_every|4
exit_every|40 steps
spike|7
on_save|"true"
skip_samples|4000-4004
stop_file|/nowhere'
cp "$work/logged.yaml" "$work/edited.yaml"
while IFS='|' read -r key value; do
    sed -i "s|^\( *$key\):.*|\1: $value|" "$work/edited.yaml"
done <<<"$edits"
cp "$work/edited.yaml" "$work/logged/config.yaml"
"$loam" train "$work/logged" 2>"$work/err" || fail "$(cat "$work/err")"
while IFS='|' read -r key value; do
    for file in "$work/err" "$work/logged/metrics.jsonl"; do
        grep -q "[a-z]*\.$key changed from .* to ${value//\"/}" "$file" || fail "$key was not logged in $file: $(cat "$work/err")"
    done
done <<<"$edits"
# Nothing is said of a start without edits, and what an earlier version started counts as it stands.
expect 0 'step 8/20' "$loam" train "$work/logged" train.stop_at=8
[ "$(grep -c ' changed from ' "$work/err")" = 1 ] || fail "said again: $(cat "$work/err")"
rm "$work/logged/started.yaml"
sed -i 's/^\( *stop_at\):.*/\1: 10 steps/' "$work/logged/config.yaml"
expect 0 'step 10/20' "$loam" train "$work/logged"
! grep -q ' changed from ' "$work/err" || fail "what is not known is called changed: $(cat "$work/err")"

# Weights of datasets must stay, whatever the record says; paths may change.
for name in a b c; do
    for kind in bin idx json; do cp "$work/data.$kind" "$work/$name.$kind"; done
done
weighted() { train run.dir="$work/weighted" "$@"; }
expect 0 'step 4/4' weighted train.length=4 data.train="$work/a:0.25,$work/b:0.75"
expect 1 "weighted is a run with data.train: \"$work/a:0.25,$work/b:0.75\", this configuration has \"$work/a:0.5,$work/b:0.5\"; choose" \
    weighted train.length=6 data.train="$work/a:0.5,$work/b:0.5"
! grep -q 'data.train changed' "$work/err" || fail "logged before it is refused: $(cat "$work/err")"
expect 0 "data.train changed from \"$work/a:0.25,$work/b:0.75\" to \"$work/a:0.25,$work/c:0.75\"" \
    weighted train.length=6 data.train="$work/a:0.25,$work/c:0.75"

# An edited rate is a change: it is logged, and optim.on_change holds for it.
edit lr 0.001
expect 1 'is a run with optim.lr: 0.003, this configuration has 0.001, and optim.on_change is refuse' \
    "$loam" train "$run" train.length=6 optim.on_change=refuse
expect 0 'optim.lr stays 0.003, not 0.001' "$loam" train "$run" train.length=6 optim.on_change=keep
edit lr 0.001
expect 0 'optim.lr changed from 0.003 to 0.001' "$loam" train "$run" train.length=8
[ "$(grep -c 'optim.lr changed' "$work/err")" = 1 ] || fail "said twice: $(cat "$work/err")"
grep -q '"what":"optim.lr changed from 0.003 to 0.001"' "$run/metrics.jsonl" || fail "no event"
rm "$run/config.yaml"
expect 0 'optim.lr changed from 0.001 to 0.002' train train.length=10 optim.lr=2e-3
edit dropout 0.2
expect 0 'model.dropout changed from 0.1 to 0.2' "$loam" train "$run" train.length=12

# A run whose checkpoints are those of two runs, such as of a second one in the same place, goes on from neither.
"$loam" train "$work/config.yaml" run.dir="$work/other" train.length=14 train.eval_every=100 train.save_every=7 optim.lr=1e-3 2>"$work/log"
cp -r "$work/other/checkpoints/step-00000014" "$run/checkpoints"
expect 1 'holds checkpoints of two runs, with other options or other data at their start: those of steps 14 and 12' \
    "$loam" train "$run" train.length=16
rm -r "$run/checkpoints/step-00000014"
expect 0 'step 16/16' "$loam" train "$run" train.length=16

# A checkpoint that is named by its path has the data options of its run.
"$loam" train "$work/config.yaml" run.dir="$work/dense" train.length=4 data.noise_density=0.5 data.mean_span_length=6 2>"$work/log"
evaluate() { "$loam" eval "$@" tokenizer.path="$work/tok.model" 2>"$work/err" || fail "eval $*: $(cat "$work/err")"; }
evaluate "$work/dense@latest" >"$work/named"
for path in checkpoints/step-00000004 checkpoints/latest; do
    evaluate "$work/dense/$path" >"$work/out"
    cmp "$work/named" "$work/out" || fail "$path is evaluated otherwise: $(cat "$work/named" "$work/out")"
done
# One in no run has defaults, and says so, as does one of a run without config.yaml; such a run is refused.
cp -r "$work/dense/checkpoints/step-00000004" "$work/alone"
evaluate "$work/alone" data.valid="$work/data-valid" data.input_length=64 >"$work/out"
grep -q "^$work/alone lies in no run, so data.* are the defaults of its family, except those that are given: data.objective=span_corruption, data.input_length=64" "$work/err" || fail "$(cat "$work/err")"
for kind in 'it has no config.yaml' 'its config.yaml is empty'; do
    rm -f "$work/dense/config.yaml"
    [ "$kind" = 'it has no config.yaml' ] || touch "$work/dense/config.yaml"
    for path in "$work/dense" "$work/dense@latest" "$work/dense@4"; do
        expect 1 "dense is no whole run of loam: $kind" "$loam" eval "$path" data.valid="$work/data-valid" tokenizer.path="$work/tok.model"
        expect 1 "dense is no whole run of loam: $kind" "$loam" predict "$path" --raw
        expect 1 "dense is no whole run of loam: $kind" "$loam" generate --model "$path"
        expect 1 "dense is no whole run of loam: $kind" "$loam" embed --model "$path"
        expect 1 "dense is no whole run of loam: $kind" "$loam" train "$work/config.yaml" run.dir="$work/next" train.init="$path"
        expect 0 ready "$loam" export "$path" --to hf --out "$work/ready" --replace
    done
    evaluate "$work/dense/checkpoints/latest" data.valid="$work/data-valid" >"$work/out"
    grep -q 'dense/checkpoints/latest lies in no run' "$work/err" || fail "$(cat "$work/err")"
done
"$loam" generate --model "$work/dense" --precision f32 </dev/null || fail "generate: a given precision needs no config.yaml"
# A folder of transformers that has a lock and a log is no run that lost its config.yaml.
touch "$work/ready/lock" "$work/ready/log.txt"
"$loam" generate --model "$work/ready" </dev/null || fail "generate: a folder of transformers with a lock and a log"

# A run whose checkpoints were lost, with or without the links to them, does not start over by itself.
lost=$work/lost
cp -r "$run" "$lost"
rm -r "$lost/checkpoints"/step-*
cp "$lost/metrics.jsonl" "$work/curves"
for links in latest,best none; do
    expect 1 'saved step 16, but that checkpoint is missing' "$loam" status "$lost"
    expect 1 "no checkpoint of $lost is valid ($lost/checkpoints/step-00000016 is missing); to start over" \
        "$loam" train "$lost" train.length=18
    cmp "$work/curves" "$lost/metrics.jsonl" || fail "its curves were cut: $(cat "$lost/metrics.jsonl")"
    [ "$links" = none ] || rm "$lost/checkpoints/latest" "$lost/checkpoints/best"
done
# It does once they are moved away as advised, and its curves are kept.
rm -r "$lost/checkpoints"
expect 1 "it has no checkpoints; \`loam train CONFIG.yaml run.dir=$lost\` starts it over" "$loam" train "$lost"
expect 0 "what the run before wrote is in $lost/before-1" train run.dir="$lost" train.length=2
cmp "$work/curves" "$lost/before-1/metrics.jsonl" && [ -d "$lost/before-1/tb" ] || fail "$(ls "$lost/before-1")"
# A checkpoint under the name of another step is neither trusted nor removed, and one that is missing is told.
cp -r "$run" "$work/renamed"
mv "$work/renamed/checkpoints/step-00000016" "$work/renamed/checkpoints/step-00000900"
expect 0 'step-00000900 holds the checkpoint of step 16: it was renamed; the previous checkpoint is used' \
    "$loam" train "$work/renamed" train.length=24
grep -q 'step-00000016 is missing; the previous checkpoint is used' "$work/err" || fail "$(cat "$work/err")"
grep -q 'going on from .*/step-00000012' "$work/err" || fail "$(cat "$work/err")"
[ -e "$work/renamed/checkpoints/damaged-step-00000900/state.json" ] && [ -d "$work/renamed/checkpoints/step-00000020" ] ||
    fail "$(ls "$work/renamed/checkpoints")"
mv "$work/renamed/checkpoints/step-00000020" "$work/renamed/checkpoints/step-00000003"
expect 0 'step-00000003 is ignored: it holds the checkpoint of step 20' "$loam" train "$work/renamed" train.length=32
ls "$work/renamed/checkpoints" | tr '\n' ' ' | grep -q 'step-00000003 step-00000028 step-00000032 $' || fail "$(ls "$work/renamed/checkpoints")"

# A finished cosine run that is made longer: its rate lifts, and a line says so.
cosine="$loam train $work/config.yaml run.dir=$work/cosine optim.schedule=cosine train.eval_every=0 train.save_every=0"
$cosine train.length=20 2>"$work/err" || fail "$(cat "$work/err")"
! grep -q 'the learning rate was' "$work/err" || fail "$(cat "$work/err")"
expect 0 'the learning rate was ' $cosine train.length=40
grep -q "at the last update (step 20); by the schedule of this command it is 0.00[0-9]* there, [4-9][0-9] % of optim.lr" "$work/err" || fail "$(cat "$work/err")"
# A rate that becomes 0 is no share of anything.
cut="$loam train $work/config.yaml run.dir=$work/cut train.eval_every=0 train.save_every=0"
$cut train.stop_at=8 2>"$work/err" || fail "$(cat "$work/err")"
expect 0 'by the schedule of this command it is 0 there, and goes on from that' $cut optim.lr=0

# What this user may not read is not damaged: the command ends with status 2, says what to do, and renames nothing. Root
# without capabilities is held by a file's mode as other users are.
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --bounding-set=-all --inh-caps=-all)
locked() { # locked PATH COMMAND…
    local path=$1 mode
    shift
    mode=$(stat -c %a "$path")
    chmod 0 "$path"
    expect 2 "reading $path" timeout 60 "${as_user[@]}" "$@"
    grep -q 'Permission denied.*chmod' "$work/err" || fail "no advice: $(cat "$work/err")"
    chmod "$mode" "$path"
}
chmod 0 "$work/kept.yaml"
if ! "${as_user[@]}" true || "${as_user[@]}" test -r "$work/kept.yaml"; then
    echo 'skipped: no file can be kept from this user'
    exit 0
fi
train run.dir="$work/own" train.length=8 2>"$work/log" || fail "$(cat "$work/log")"
last=$work/own/checkpoints/step-00000008
ls "$work/own/checkpoints" >"$work/before"
for inner in '' /state.json /weights-00001-of-00001.safetensors; do
    locked "$last$inner" "$loam" train "$work/own" train.length=12
    locked "$last$inner" "$loam" inspect checkpoint "$work/own"
done
locked "$work/own/checkpoints" "$loam" train "$work/own" train.length=12
locked "$work/own/config.yaml" "$loam" train "$work/own" train.length=12
# Nor is a run trained that this user may not write: it would be lost at its first save.
for inner in '' /lock /log.txt /metrics.jsonl /tb /checkpoints; do
    chmod a-w "$work/own$inner"
    expect 2 "writing $work/own$inner: Permission denied; this user needs the right to write it" \
        timeout 60 "${as_user[@]}" "$loam" train "$work/own" train.length=12
    chmod u+w "$work/own$inner"
done
locked "$last" "$loam" generate --model "$work/own@8"
locked "$last" "$loam" inspect checkpoint "$last"
locked "$work/own" "$loam" status "$work/own"
locked "$work/own" "$loam" watch "$work/own"
locked "$work/own/checkpoints" "$loam" status "$work/own"
locked "$work/own/metrics.jsonl" "$loam" status "$work/own"
# Neither is a dataset, a tokenizer or a folder of Hugging Face missing that cannot be looked at.
unseen() { # unseen PATH COMMAND…
    local path=$1 mode status=0
    shift
    mode=$(stat -c %a "$path")
    chmod 0 "$path"
    timeout 60 "${as_user[@]}" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    chmod "$mode" "$path"
    [ "$status" = 1 ] || [ "$status" = 2 ] || fail "exit status $status: $*: $(cat "$work/err")"
    grep -q "$path.*Permission denied" "$work/err" || fail "$*: $(cat "$work/err")"
}
"$loam" export "$work/own" --to hf --out "$work/hf" 2>"$work/err" || fail "$(cat "$work/err")"
mkdir "$work/kept" && cp "$work"/data.* "$work/kept"
cp "$work/tok.model" "$work/hf/spiece.model"
unseen "$work/kept" "$loam" inspect dataset "$work/kept/data"
unseen "$work/kept/data.idx" "$loam" inspect dataset "$work/kept/data"
unseen "$work/kept" "$loam" train "$work/config.yaml" run.dir="$work/new" data.train="$work/kept/data"
unseen "$work/kept" "$loam" tokenizer train --type bpe --vocab-size 200 --out "$work/new.model" "$work/kept/corpus.txt"
unseen "$work/kept" "$loam" prepare --tokenizer "$work/tok.model" --out "$work/new" "$work/kept/corpus.txt"
unseen "$work/kept" "$loam" prepare --tokenizer "$work/kept/tok.model" --out "$work/new" "$work/corpus.txt"
unseen "$work/kept" "$loam" train "$work/kept/config.yaml"
unseen "$work/kept" "$loam" task show task.name=rte task.data="$work/kept/corpus.txt"
unseen "$work/kept" "$loam" train "$work/config.yaml" run.dir="$work/new" data.train= task.name=rte task.data="$work/kept"
unseen "$work/hf" "$loam" inspect model "$work/hf"
unseen "$work/hf" "$loam" generate --model "$work/hf"
unseen "$work/hf" "$loam" tokenizer encode --model "$work/hf"
unseen "$work/hf" "$loam" tokenizer encode --model "$work/hf/spiece.model"
unseen "$work/hf/spiece.model" "$loam" tokenizer encode --model "$work/hf/spiece.model"
unseen "$work/hf" "$loam" import --from hf "$work/hf" --out "$work/imported"
ls "$work/own/checkpoints" | cmp - "$work/before" || fail "renamed: $(ls "$work/own/checkpoints")"
