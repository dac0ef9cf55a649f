# labels: any-processor
# Hooks: commands beside training, tried again, bounded in time, logged; an exported folder that follows the run.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
train="$loam train $config train.length=12steps train.eval_every=6 train.save_every=4 train.keep_last=1 optim.schedule=constant"

# Each event with its path, in order; the exported folder is that of the last checkpoint.
$train run.dir="$work/run" hooks.on_save='[ -e "$LOAM_PATH/state.json" ] && echo "$LOAM_EVENT $LOAM_STEP" >>"$LOAM_RUN/seen" && "$LOAM" export "$LOAM_PATH" --to hf --out "$LOAM_RUN/hf" --replace' \
    hooks.on_best='echo "$LOAM_EVENT $LOAM_STEP" >>"$LOAM_RUN/seen"' hooks.on_stop='echo "$LOAM_EVENT $LOAM_STEP $LOAM_MESSAGE" >>"$LOAM_RUN/seen"' \
    2>"$work/log" || fail "$(cat "$work/log")"
grep -q '^on_save 12$' "$work/run/seen" && grep -q '^on_best ' "$work/run/seen" || fail "$(cat "$work/run/seen" "$work/run/hooks.log")"
[ "$(tail -n 1 "$work/run/seen")" = 'on_stop 12 the run has ended at step 12' ] || fail "$(cat "$work/run/seen")"
grep -q 'on_save step 12: done after' "$work/run/hooks.log" || fail "$(cat "$work/run/hooks.log")"
"$loam" export "$work/run" --to hf --out "$work/hf" >"$work/out" 2>&1
diff -r "$work/hf" "$work/run/hf" || fail "another export"
expect 1 'is not an empty folder' "$loam" export "$work/run" --to hf --out "$work/run/checkpoints" --replace
expect 1 'is not an empty folder' "$loam" export "$work/run" --to hf --out "$work/hf"
echo "ok: events"

# A hook changes no number, however long it takes: a run with one that hangs trains on, and ends.
$train run.dir="$work/plain" train.save_every=1 2>"$work/log"
$train run.dir="$work/slow" train.save_every=1 hooks.on_save='sleep 1000' hooks.timeout=4s hooks.retries=0 hooks.on_stop='echo "$LOAM_STEP" >"$LOAM_RUN/stopped"' 2>"$work/log" || fail "$(cat "$work/log")"
cmp "$work/plain/checkpoints/latest/weights-00001-of-00001.safetensors" "$work/slow/checkpoints/latest/weights-00001-of-00001.safetensors"
grep -q 'it took longer than hooks.timeout and was ended' "$work/slow/hooks.log" || fail "$(cat "$work/slow/hooks.log")"
grep -q 'left out: the next one came before it began' "$work/slow/hooks.log" || fail "$(cat "$work/slow/hooks.log")"
grep -q 'hooks.on_save of step .* failed once (it took longer' "$work/log" || fail "$(cat "$work/log")"
# A failure is an event of the run, and on_stop has all of hooks.timeout, whatever the hooks before it took.
grep -q '"kind":"event".*"what":"hooks.on_save of step .* failed once' "$work/slow/metrics.jsonl" || fail "no event: $(tail -n 3 "$work/slow/metrics.jsonl")"
[ "$(cat "$work/slow/stopped")" = 12 ] || fail "on_stop: $(cat "$work/slow/hooks.log")"
$train run.dir="$work/used" train.save_every=1 hooks.on_save='sleep 0.3; [ -e "$LOAM_PATH/state.json" ] || echo "$LOAM_PATH" >>"$LOAM_RUN/gone"' 2>"$work/log"
[ ! -e "$work/used/gone" ] || fail "checkpoints that a hook was using are gone: $(cat "$work/used/gone")"
[ "$(grep -c 'done after' "$work/used/hooks.log")" -ge 2 ] || fail "$(cat "$work/used/hooks.log")"
# A kind of hook does not wait for ever behind a slow one: on_save runs until two later saves wait, and on_best has its turn.
expect 75 'stopped by train.stop_file' $train run.dir="$work/turns" train.length=10000 train.save_every=1 train.eval_every=1 train.eval_samples=4 \
    train.log_every=100 train.stop_file="$work/enough" hooks.on_save='until s=$(readlink "$LOAM_RUN/checkpoints/latest"); [ "$(expr "${s#step-}" + 0)" -gt $((LOAM_STEP + 1)) ] || [ -e "$LOAM_RUN/../enough" ]; do sleep 0.01; done
    echo "$LOAM_STEP" >>"$LOAM_RUN/saves"; [ "$(wc -l <"$LOAM_RUN/saves")" -lt 4 ] || touch "$LOAM_RUN/../enough"' hooks.on_best='[ -e "$LOAM_RUN/../enough" ] || echo "$LOAM_STEP" >>"$LOAM_RUN/best"'
[ -e "$work/turns/best" ] || fail "on_best had no turn: $(cat "$work/turns/hooks.log")"
echo "ok: a slow hook"

# Who asks while a run waits for its last hook learns what it waits for.
$train run.dir="$work/waits" hooks.timeout=60s hooks.retries=0 hooks.on_stop='until "$LOAM" status "$LOAM_RUN" | grep -q ": step 12, hooks for "; do sleep 0.05; done; echo yes >"$LOAM_RUN/seen"' 2>"$work/log"
[ -e "$work/waits/seen" ] || fail "$("$loam" status "$work/waits")"

# So does who asks it to end by then: there is no step and no save left.
$train run.dir="$work/asked" hooks.timeout=60s hooks.retries=0 hooks.on_stop='kill -TERM $PPID; until grep -q "waiting for hooks" "$LOAM_RUN/log.txt"; do sleep 0.05; done' 2>"$work/log"
grep -q 'SIGTERM: training has ended, and nothing is left to save; waiting for hooks' "$work/log" && ! grep -q 'after this step' "$work/log" || fail "$(tail -n 3 "$work/log")"

# A second Ctrl-C ends the hook that the run waits for, and the run is at its end.
status=0
$train run.dir="$work/hurried" hooks.timeout=60s hooks.retries=2 hooks.on_stop='echo $$ >"$LOAM_RUN/pid"; kill -INT $PPID; until grep -q "again to stop now" "$LOAM_RUN/log.txt"; do sleep 0.05; done; kill -INT $PPID; exec sleep 60' 2>"$work/log" || status=$?
[ "$status" = 0 ] && ! kill -0 "$(cat "$work/hurried/pid")" 2>/dev/null || fail "status $status: $(tail -n 3 "$work/log")"
grep -q 'on_stop of step 12 failed once (it was ended, as a second Ctrl-C asked for)' "$work/log" || fail "$(tail -n 3 "$work/log")"
expect 0 ': ended' "$loam" status "$work/hurried"

# The best checkpoint whose hook has not succeeded, as when the process was killed before, gets it at the next start, once.
expect 0 'on_best of step 6 failed once' $train run.dir="$work/left" train.stop_at=6 hooks.retries=0 hooks.on_best='exit 3'
for length in 8 9; do
    $train run.dir="$work/left" train.length=$length optim.lr=0 hooks.on_best='echo "$LOAM_STEP" >>"$LOAM_RUN/seen"' 2>"$work/log" || fail "$(cat "$work/log")"
    [ "$(cat "$work/left/seen")" = 6 ] || fail "$(cat "$work/left/seen" "$work/left/hooks.log")"
done

# A command that only makes the evaluation which a stop has left, and so ends the run, ends it as any other does. The next one has nothing to do.
told() { # RUN STEP 'EVENT'
    grep -q "\"kind\":\"event\",\"step\":$2,\"what\":\"$3" "$1/metrics.jsonl" || fail "no event of the end: $(tail -n 3 "$1/metrics.jsonl")"
    expect 0 ': ended' "$loam" status "$1"
    grep -q "last event: $3" "$work/out" || fail "$(cat "$work/out")"
    expect 0 'nothing left to do' "$loam" train "$1"
    [ "$(tail -n 1 "$1/why")" = "the run has ended at step $2" ] && [ "$(wc -l <"$1/why")" = $(($2 / 6 + 1)) ] || fail "on_stop: $(cat "$1/why")"
}
late="$train train.length=24steps train.exit_every=6 train.report=true"
expect 75 'at step 6' $late run.dir="$work/short" hooks.on_stop='echo "$LOAM_MESSAGE" >>"$LOAM_RUN/why"'
expect 0 'step 6  held-out loss' "$loam" train "$work/short" train.length=6steps
told "$work/short" 6 'ended at step 6 (train.length=6 steps)'
for step in 6 12; do
    expect 75 "at step $step" $late run.dir="$work/worse" optim.lr=0 train.patience=1 log.mlflow="$work/mlruns" hooks.on_stop='echo "$LOAM_MESSAGE" >>"$LOAM_RUN/why"'
done
expect 0 'step 12  no better held-out loss in 1 evaluation: the run ends' "$loam" train "$work/worse"
told "$work/worse" 12 'no better held-out loss in 1 evaluation: the run ends'
grep -q '^status: 3$' "$work"/mlruns/*/*/meta.yaml || fail "MLflow: $(cat "$work"/mlruns/*/*/meta.yaml)"
for run in short worse; do
    grep -q '>ended<' "$work/$run/report.html" || fail "the report does not say that the run has ended"
done
echo "ok: the end of a run whose last evaluation was left"

# A start that fails, as without the data, is an error of the run: its hooks hear of it, its log and loam status tell it.
for end in bin idx json; do cp "$work/data.$end" "$work/near.$end"; done
expect 75 'stopped by' $train run.dir="$work/start" train.exit_every=5 data.train="$work/near" hooks.on_alert='echo "$LOAM_MESSAGE" >>"$LOAM_RUN/why"; echo "$LOAM_STEP" >"$LOAM_RUN/at"'
mv "$work/near.bin" "$work/far.bin"
expect 1 "opening $work/near.bin: No such file" "$loam" train "$work/start"
grep -q "opening $work/near.bin: No such file" "$work/start/why" || fail "no alert: $(cat "$work/start/hooks.log")"
[ "$(cat "$work/start/at")" = 5 ] || fail "the run is at step 5, its hook heard $(cat "$work/start/at")"
expect 1 ': failed' "$loam" status "$work/start"
grep -q "last event: the start failed: opening $work/near.bin: No such file" "$work/out" || fail "$(cat "$work/out")"
mv "$work/far.bin" "$work/near.bin"
expect 75 'at step 10' "$loam" train "$work/start"
[ "$(wc -l <"$work/start/why")" = 1 ] || fail "$(cat "$work/start/why")"
rm -r "$work/start/tb" && touch "$work/start/tb" # a start that fails after metrics.jsonl is open
expect 1 'start/tb is a file' "$loam" train "$work/start"
[ "$(grep -c 'start/tb is a file' "$work/start/metrics.jsonl")" = 1 ] || fail "$(tail -n 2 "$work/start/metrics.jsonl")"

# Tried again; and what a stop and an error tell.
$train run.dir="$work/again" train.save_every=0 train.eval_every=0 hooks.on_save='n=$(cat "$LOAM_RUN/n" 2>/dev/null || echo 0); echo $((n + 1)) >"$LOAM_RUN/n"; [ "$n" = 1 ] || exit 3' 2>"$work/log"
[ "$(cat "$work/again/n")" = 2 ] || fail "$(cat "$work/again/hooks.log")"
grep -q 'on_save step 12: exit status 3 after' "$work/again/hooks.log" || fail "$(cat "$work/again/hooks.log")"
expect 75 'stopped by train.exit_every' $train run.dir="$work/stop" train.exit_every=5 parallel.ranks=2 hooks.on_stop='echo "$LOAM_MESSAGE" >"$LOAM_RUN/why"'
grep -q 'stopped by train.exit_every=5 steps at step 5' "$work/stop/why" || fail "$(cat "$work/stop/why")"
$train run.dir="$work/spike" optim.lr=0 train.spike=0.01 train.spike_window=2 hooks.on_alert='echo "$LOAM_MESSAGE" >>"$LOAM_RUN/why"' 2>"$work/log"
grep -q 'is a spike above the mean' "$work/spike/why" || fail "no alert: $(cat "$work/log")"
expect 1 'hooks.timeout: "3 steps" does not fit; write a time' $train run.dir="$work/x" hooks.timeout=3steps

# A hook is no rank: variables of launchers are not its.
told=(OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_MCA_ess=pmi PMIX_RANK=0 PMIX_NAMESPACE=x PMI_RANK=0 SLURM_PROCID=0 SLURM_STEP_ID=1
    SLURM_STEP_NUM_TASKS=1 SLURM_LOCALID=0 RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=a TORCHELASTIC_RUN_ID=1)
kept=(OMPI_MCA_btl=self OMPI_ALLOW_RUN_AS_ROOT=1 SLURM_JOB_ID=7 RANKING=1)
env "${told[@]}" "${kept[@]}" $train run.dir="$work/launched" hooks.on_stop='env >"$LOAM_RUN/env"' 2>"$work/log" || fail "$(cat "$work/log")"
for variable in "${told[@]%=*}"; do
    ! grep -q "^$variable=" "$work/launched/env" || fail "the hook has $variable"
done
for variable in "${kept[@]}"; do
    grep -qx "$variable" "$work/launched/env" || fail "the hook lacks $variable"
done
echo "ok: no variables of launchers"

# Of a command that prints without end the log has a part from each end; the disk stays free for the next save.
$train run.dir="$work/prints" train.save_every=0 hooks.on_stop='echo first; yes 0123456789abcde | head -c 100000000; echo last' 2>"$work/log" || fail "$(cat "$work/log")"
[ "$(head -n 1 "$work/prints/hooks.log")" = first ] && [ "$(tail -n 2 "$work/prints/hooks.log" | head -n 1)" = last ] ||
    fail "not both ends: $(head -c 100 "$work/prints/hooks.log"; tail -n 2 "$work/prints/hooks.log")"
[ "$(stat -c %s "$work/prints/hooks.log")" -lt 5000000 ] && grep -q 'bytes left out' "$work/prints/hooks.log" ||
    fail "$(stat -c %s "$work/prints/hooks.log") bytes"
echo "ok: a hook that prints much"

# What a command leaves in a session of its own is ended with it, also when it has forked twice.
$train run.dir="$work/leaves" train.save_every=0 \
    hooks.on_stop='setsid sh -c "echo \$\$ >$LOAM_RUN/a; exec sleep 100" & (setsid sh -c "sleep 100 & echo \$! >$LOAM_RUN/b; exit" &); until [ -s "$LOAM_RUN/a" ] && [ -s "$LOAM_RUN/b" ]; do sleep 0.01; done' 2>"$work/log"
for name in a b; do
    child=$(cat "$work/leaves/$name")
    # By its environment: a process that has ended has none, and another may have its number since.
    outlives() { tr '\0' '\n' 2>/dev/null <"/proc/$child/environ" | grep -x "LOAM_RUN=$work/leaves" >"$work/out"; }
    for i in $(seq 600); do # it is killed by then, and ends when the system comes to it
        outlives || break
        sleep 0.1
    done
    ! outlives || fail "process $child outlives its hook"
done
echo "ok: a hook that leaves processes"

# kill -9 while a hook runs: nothing of the run is lost, and the hook of a later save runs.
{ LOAM_FAULT=step:7 $train run.dir="$work/killed" hooks.on_save='sleep 0.2; echo "$LOAM_STEP" >>"$LOAM_RUN/seen"' >"$work/out" 2>&1 && fail "no kill"; } 2>/dev/null
$train run.dir="$work/killed" hooks.on_save='sleep 0.2; echo "$LOAM_STEP" >>"$LOAM_RUN/seen"' 2>"$work/log"
[ "$(tail -n 1 "$work/killed/seen")" = 12 ] || fail "$(cat "$work/killed/seen")"
echo "ok: kill -9"
