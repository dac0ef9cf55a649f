# labels: long
# kill -9 at many moments of a run that uses everything that changes during a run: it ends as if it had never been killed.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
losses() { sed -n 's/.*"kind":"\(train\|valid\)","step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }
spikes() { sed -n 's/.*"kind":"event","step":\([0-9]*\),"what":"loss .* is a spike.*/\1/p' "$1/metrics.jsonl"; }

# ends_like WHOLE RUN: the same losses and spikes, each once, the same links and bytes.
ends_like() {
    diff <(losses "$1") <(losses "$2") >"$work/diff" || fail "$2: other losses: $(head -n 4 "$work/diff")"
    diff <(spikes "$1") <(spikes "$2") || fail "$2: other spikes"
    for link in latest best; do
        [ "$(readlink "$1/checkpoints/$link")" = "$(readlink "$2/checkpoints/$link")" ] || fail "$2: another $link"
        for file in "$1/checkpoints/$link"/*; do
            cmp "$file" "$2/checkpoints/$link/${file##*/}" || fail "$2: another ${file##*/}"
        done
    done
}

for mode in '' 'train.save_async=true' 'parallel.ranks=2 parallel.zero=2'; do
    run="$loam train $config train.length=60steps train.batch=8samples train.micro_batch=2samples train.eval_every=9 train.precision=f32 $mode"
    everything=(train.batch_rampup='2 2 90 samples' train.save_phases='10:3,30:7,11' train.skip_samples=41-45,200-210 train.spike=2
        train.spike_window=5 train.spike_after=4 train.spike_action=skip optim.schedule=wsd optim.decay_length='100 samples'
        optim.weight_decay_ramp=cosine hooks.on_save='sleep 0.05; test -e "$LOAM_PATH/state.json" || echo "$LOAM_PATH" >>"$LOAM_RUN/gone"')
    rm -rf "$work/whole" "$work/killed"
    $run run.dir="$work/whole" "${everything[@]}" 2>"$work/log" || fail "$(cat "$work/log")"
    [ -n "$(spikes "$work/whole")" ] || fail "no spike"
    kills=0
    for try in $(seq 400); do
        status=0
        # At any system call that changes a file, also of hooks' checkpoints, saves around spikes, links and logs.
        { LOAM_FAULT=io:$((20 + try * 37 % 230)) $run run.dir="$work/killed" "${everything[@]}" >"$work/out" 2>&1 || status=$?; } 2>/dev/null
        [ "$status" = 0 ] && break
        [ "$status" = 137 ] || fail "status $status: $(tail -n 2 "$work/out")"
        kills=$((kills + 1))
    done
    [ "$status" = 0 ] || $run run.dir="$work/killed" "${everything[@]}" 2>"$work/log" || fail "$(cat "$work/log")"
    [ "$kills" -ge 10 ] || fail "only $kills kills"
    ends_like "$work/whole" "$work/killed"
    echo "ok: $kills kills ${mode:-with one rank}"
done

# A rollback that is killed at each of its system calls.
LOAM_ROLLBACK_STEP=1 bash tests/cli/test_rollback.sh "$loam" || fail "rollback"

# 20 kills of each kind of save.
LOAM_KILLS=20 bash tests/cli/test_save_kills.sh "$loam" || fail "saves"
