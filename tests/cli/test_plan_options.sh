# labels: measures-peak starts-first
# loam plan's own options: each has its effect in every form of the command, or is refused in one line that says why.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml

# A model that Hugging Face has no form for is told before it is trained, with the words in which its export is refused.
plain=$("$loam" plan "$config" 2>/dev/null)
"$loam" plan "$config" model.position=rotary >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
why=$(sed -n 's/^no export  *`loam export --to hf` cannot write this model: //p' "$work/out")
[ -n "$why" ] && [[ $plain != *'no export'* ]] || fail "the plan: $(cat "$work/out")"
"$loam" train "$config" run.dir="$work/odd" model.position=rotary train.length='1 steps' 2>"$work/log" || fail "$(cat "$work/log")"
grep -qF "cannot write this model: $why" "$work/log" || fail "training: $(cat "$work/log")"
expect 1 "$why" "$loam" export "$work/odd" --to hf --out "$work/hf"

# A step of some kFLOP takes longer than its matrix products, and the plan says so; one of a TFLOP does not.
short='a step this short takes longer'
[[ $plain == *"$short"* ]] || fail "a short step: $plain"
"$loam" plan configs/t5-1.1-small.yaml >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
! grep -q "$short" "$work/out" || fail "a long step: $(cat "$work/out")"

# What training would refuse, because the run exists with another model, the plan says in its words; a longer run is none.
expect 1 'is a run with model.heads: 2, this configuration has 1' "$loam" train "$work/odd" model.heads=1
refused=$(sed 's/^loam train: //' "$work/err" | tail -n 1)
expect 0 "loam train will refuse this: $refused" "$loam" plan "$work/odd" model.heads=1
grep -q '^a step ' "$work/out" || fail "no plan: $(cat "$work/out")"
expect 0 'optim.lr changed from' "$loam" plan "$work/odd" optim.lr=0.001
for length in 1 9; do
    "$loam" plan "$work/odd" train.length="$length steps" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    ! grep -q refuse "$work/err" || fail "a length of $length: $(cat "$work/err")"
done
# Nor does the same configuration differ from a run of a task, whose datasets training has made.
(cd "$work" && make_marks)
marks="data.train= task.data=$work/marks.tsv task.valid=20% task.target={mark} run.dir=$work/marks_run train.length=1steps"
# shellcheck disable=SC2086
"$loam" train "$config" $marks 'task.input=mark: {text}' 2>"$work/log" || fail "$(cat "$work/log")"
for input in 'mark: {text}' 'other: {text}'; do
    # shellcheck disable=SC2086
    "$loam" plan "$config" $marks "task.input=$input" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    ! grep -E 'data\.(train|valid)' "$work/err" || fail "the datasets of a task"
done
grep -q 'will refuse this: .* is a run with task.input: "mark: {text}", this configuration has "other: {text}"' "$work/err" || fail "$(cat "$work/err")"

# Each option, what it adds to the plan of this machine, to that of a cluster and to the list of layouts; "no": it is refused.
while IFS='|' read -r option here there layouts; do
    for form in "here|$here|" "there|$there|--machine cpu" "layouts|$layouts|--machine cpu --layouts"; do
        IFS='|' read -r where adds arguments <<<"$form"
        # shellcheck disable=SC2086
        if [ "$adds" = no ]; then
            expect 1 "--${option%=*} " "$loam" plan "$config" $arguments "--$option"
            grep -Eq -- "^loam plan: --${option%=*} (goes with --(machine|layouts)|has no effect with --(machine|layouts): leave one of them out)" \
                "$work/err" || fail "--$option $arguments: $(cat "$work/err")"
        else
            "$loam" plan "$config" $arguments "--$option" >"$work/out" 2>"$work/err" || fail "--$option $arguments: $(cat "$work/err")"
            grep -q "$adds" "$work/out" || fail "--$option has no effect $where: $(cat "$work/out")"
            "$loam" plan "$config" $arguments >"$work/out" 2>"$work/err" || fail "$arguments: $(cat "$work/err")"
            ! grep -q "$adds" "$work/out" || fail "without --$option $where: $(cat "$work/out")"
        fi
    done
done <<'OPTIONS'
options|^  precision:|^  precision:|no
measure=0.01|, measured|no|no
megatron-tp=2|^Megatron |^Megatron |no
days=5|^needed .* to end in 5 days|^needed .* to end in 5 days|no
tflops=7|^days .* at 7 TFLOP/s|^days .* at 7 TFLOP/s|no
watts=5|no|^energy .* at 5 W|no
gpus=2|no|no|^[0-9]* layouts of 2 ranks
OPTIONS
expect 1 '--rows goes with --layouts' "$loam" plan "$config" --rows 3
expect 1 '--rows goes with --layouts' "$loam" plan "$config" --rows 3 --machine cpu
for rows in 1 2; do # all fit, and a configuration of one rank is none of them
    "$loam" plan "$config" --machine cpu --layouts --gpus 2 --rows $rows >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    [ "$(grep -c '^[0-9]* .* yes ' "$work/out")" = $rows ] || fail "--rows $rows: $(cat "$work/out")"
done
# The same with the default: what is said is whether it was given.
expect 1 '--rows goes with --layouts' "$loam" plan "$config" --rows 20
for zero in measure:seconds days:days tflops:TFLOP/s watts:watts; do
    expect 1 "--${zero%:*} is 0, want ${zero#*:} above 0, up to " "$loam" plan "$config" --machine cpu "--${zero%:*}=0"
    expect 1 "--${zero%:*} is nan, want ${zero#*:} above 0, up to " "$loam" plan "$config" --machine cpu "--${zero%:*}=nan"
done
# A microbatch has at most the samples that a rank has.
for step in 1:4 4:2 8:1; do
    "$loam" plan "$config" --machine cpu parallel.ranks=${step%:*} >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    grep -q "^a step  *8 samples in microbatches of ${step#*:}, " "$work/out" || fail "${step%:*} ranks: $(grep '^a step ' "$work/out")"
done
# A number that follows from a length which is unknown is no number.
"$loam" plan "$config" --machine cpu --days 5 --tflops 7 train.length=2h optim.schedule=constant >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(grep -Ec '^(needed|days|energy)  *unknown: train.length is a time$' "$work/out")" = 3 ] || fail "a time: $(cat "$work/out")"
"$loam" plan "$config" --machine cpu --days 5 train.length='2 epochs' data.train="$work/none" data.valid= optim.schedule=constant optim.warmup=0 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '^needed  *unknown: train.length is in epochs of data that cannot be read$' "$work/out" || fail "epochs: $(cat "$work/out")"
"$loam" plan "$config" --machine cpu --days 5 train.length=0 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(grep -Ec '^(needed|energy)  *none: train.length is 0$' "$work/out")" = 2 ] || fail "no steps: $(cat "$work/out")"
echo "ok: options"

# What ends a run: train.stop_at in any unit, before train.length; the schedule stays that of train.length. 40 steps of 8 samples.
plan() { "$loam" plan "$config" "$@" >"$work/out" 2>"$work/err" || fail "$*: $(cat "$work/err")"; }
plan train.stop_at='10 steps'
tokens=$(sed -n 's/^the run  *10 steps, \(.*\) input tokens$/\1/p' "$work/out")
[ -n "$tokens" ] && grep -q '^  *ends at train.stop_at=10 steps; the schedule is that of train.length=40 steps$' "$work/out" || fail "$(cat "$work/out")"
plan train.length='10 steps' && grep -q "^the run  *10 steps, $tokens input tokens$" "$work/out" || fail "$(cat "$work/out")"
! grep -q stop_at "$work/out" || fail "$(cat "$work/out")"
plan train.stop_at='76 samples' && grep -q '^the run  *10 steps, ' "$work/out" || fail "$(cat "$work/out")"
plan train.stop_at='80 steps' && grep -q '^the run  *40 steps, ' "$work/out" || fail "$(cat "$work/out")"
for days in 0 1; do
    "$loam" plan "$config" --machine cpu --tflops 7 train.batch=8samples train.length=400steps train.stop_at=$((days * 100))steps 2>"$work/err" |
        awk '/^the run there|^days|^energy/ { print }' >"$work/end-$days"
done
! diff "$work/end-0" "$work/end-1" >/dev/null || fail "a cluster's run does not end at train.stop_at"
# A length in time: the steps that fit, and a warm-up that is longer is warned of; train.stop_at may come first.
plan train.length=20m optim.schedule=constant optim.warmup='100M steps'
grep -q '^the run  *about [0-9]* steps, .* input tokens (an estimate)$' "$work/out" || fail "$(cat "$work/out")"
grep -q 'warning: optim.warmup is 100000000 steps and the run [0-9]*: the learning rate rises to its last step' "$work/err" || fail "$(cat "$work/err")"
plan train.length=20m optim.schedule=constant train.stop_at='3 steps' && grep -q '^the run  *3 steps, ' "$work/out" || fail "$(cat "$work/out")"
# A period of less than a second has no time.
plan && grep -q '^a save  *every 5 steps' "$work/out" && ! grep 'every 0s' "$work/out" || fail "$(cat "$work/out")"
# What ends a command, or the run at an unknown step.
plan train.stop_after=1h train.stop_date='2099-01-31 07:30' train.exit_every='5 steps' train.stop_file=stop train.patience=3
for line in '^a command stops  *after 1h (train.stop_after): the run takes about 1$' '^a command stops  *at 2099-01-31 07:30 (train.stop_date)$' \
    '^a command stops  *every 5 steps (train.exit_every)$' '^a command stops  *when stop exists (train.stop_file)$' \
    '^it ends earlier  *after 3 evaluations without a better held-out loss (train.patience)$'; do
    grep -q "$line" "$work/out" || fail "no $line: $(cat "$work/out")"
done
# A run of more than a day names the presets that an evening and a day suffice for. If it is the plan's own preset, a day
# is 24/25 of a run of 25 hours, by the same count of work and parameters, and beyond 40 passes over the text it says so.
number() { sed -n "$1" "$work/out" | sed 's/k/e3/; s/M/e6/; s/B/e9/; s/T/e12/'; }
"$loam" prepare --tokenizer "$work/tok.model" --out "$work/again" "$work/corpus.txt" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
awk '$1 != "model:"' "$config" >"$work/preset.yaml"
for model in 't5-1.1-tiny' 'bert-tiny model.pooler=false model.sentence_head=false'; do
    named=${model%% *} other=${model#"${model%% *}"}
    for _ in 1 2 3 4 5; do # the rate that is measured may name another preset
        preset=$named
        # shellcheck disable=SC2086
        "$loam" plan "$work/preset.yaml" model.preset="$preset" $other data.train="$work/again" data.valid= train.length=25h >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
        named=$(sed -n 's/^in a day  *model.preset=\([^ ]*\) .*/\1/p' "$work/out")
        [ "$named" != "$preset" ] || break
    done
    run=$(number 's/^the run .* steps, \([0-9.]*[kMBGT]*\) input tokens.*/\1/p')
    day=$(number 's/^in a day .* about \([0-9.]*[kMBGT]*\) tokens.*/\1/p')
    awk "BEGIN { exit !($day / $run > 0.94 && $day / $run < 0.98) }" || fail "$model: $(cat "$work/out")"
    size=$(number 's/^in a day .* (\([0-9.]*[kMBGT]*\) parameters).*/\1/p')
    params=$(sed -n 's/^parameters  *\([0-9,]*\).*/\1/p' "$work/out" | tr -d ,)
    awk "BEGIN { exit !($size / $params > 0.99 && $size / $params < 1.01) }" || fail "$model: $(cat "$work/out")"
    grep -Eq '^in a day .* tokens, [0-9]+ passes over the same text: 24 hours here$' "$work/out" || fail "$model: $(cat "$work/out")"
done
plan train.length='1B steps'
for time in evening:3 day:24; do
    grep -Eq "^in an? ${time%:*} +model.preset=t5[a-z0-9.-]+ \([0-9.]+[kM]? parameters\) on about [0-9.]+[kMBGT]+ tokens: ${time#*:} hours here" "$work/out" || fail "no ${time%:*}: $(cat "$work/out")"
done
plan && ! grep '^in a day' "$work/out" || fail "a short run needs no other preset"
# The measured rate has its spread, and a machine that others keep busy is said to be so.
plan
grep -Eq '^ +estimated from its rate of matrix products, [0-9]+ GFLOP/s \([0-9]+ to [0-9]+ while it was measured\)' "$work/out" || fail "$(cat "$work/out")"
busy=()
for _ in $(seq "$(nproc)"); do
    awk 'BEGIN { for (;;) n++ }' &
    busy+=($!)
done
plan
kill "${busy[@]}"
wait "${busy[@]}" 2>/dev/null || true
grep -Eq '^warning: other programs keep [0-9.]+ of this machine.s [0-9]+ cores busy' "$work/err" || fail "a busy machine: $(cat "$work/err")"
echo "ok: ends"

# Machines: names in any case, and files.
for name in H100 h100; do
    "$loam" plan "$config" --machine $name >"$work/$name" 2>"$work/err" || fail "$(cat "$work/err")"
done
diff "$work/H100" "$work/h100" || fail 'another machine'
expect 1 '--machine "" is neither a preset (h200, ' "$loam" plan "$config" --machine ''
cat >"$work/m.json" <<'JSON'
{ "machine": { "ranks_per_node": 2, "gpus": false, "fp8": true, "memory_bytes": 1e11, "flops_per_s": 1e12, "copy_bytes_per_s": 1e11,
  "within_bytes_per_s": 1e10, "between_bytes_per_s": 1e9 } }
JSON
energy() { "$loam" plan "$config" --machine "$work/m.json" "$@" 2>"$work/err" | sed -n 's/^energy  *//p'; }
[ "$(energy)" = 'unknown: --watts W, or "watts" in "machine" of the file, says what each takes' ] || fail "energy: $(energy)"
[ ! -s "$work/err" ] || fail "$(cat "$work/err")"
[[ $(energy --watts 300) = *' MWh at 300 W for each' ]] || fail "energy: $(energy --watts 300)"
sed -i 's/"gpus"/"watts": 250, &/' "$work/m.json"
[[ $(energy) = *' MWh at 250 W for each' ]] || fail "energy: $(energy)"
[[ $(energy --watts 300) = *' MWh at 300 W for each' ]] || fail "energy: $(energy --watts 300)"
sed 's/250/-1/' "$work/m.json" >"$work/wrong.json"
expect 1 'machine.watts must be a number from 0.001 to 1e+06' "$loam" plan "$config" --machine "$work/wrong.json"
# A file of an earlier version, which does not say what its ranks are.
sed -i 's/"gpus": false, "fp8": true, //' "$work/m.json"
energy >"$work/out"
[ "$(grep -c '^warning: .*m.json does not say whether its ranks are GPUs' "$work/err")" = 1 ] || fail "$(cat "$work/err")"
echo "ok: machines"
