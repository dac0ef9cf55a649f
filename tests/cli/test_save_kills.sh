# kill -9 during each kind of save (in phases, of the best, around a spike, by exit_every, beside training, with all files
# that a run can write beside its own logs): the run that goes on has the losses, the checkpoints and the links of a run
# that was never killed (and perhaps one checkpoint more, if it was killed before it removed an old one), and whole files.
# LOAM_KILLS: kills of each kind, spread over its system calls.
. tests/cli/lib.sh "$1"
make_dataset
declare -A kinds=(
    [phases]='train.save_phases=4:2,10:3 train.save_every=20'
    [best]='train.keep_best=2 train.keep_last=2 train.eval_every=2 train.save_every=2'
    [spike]='train.spike=0.2 train.spike_window=5 train.spike_after=3 optim.lr=0.05 train.save_every=5'
    [exit_every]='train.exit_every=5 train.save_every=3'
    [async]='train.save_async=true train.save_every=2'
    [files]="train.report=true log.emissions=true log.cpu_watts=50 log.mlflow=$work/mlruns log.megatron_series=true train.save_every=3"
)

# train DIR KIND: one command; its status.
train() {
    # shellcheck disable=SC2086
    "$loam" train "$work/config.yaml" run.dir="$1" train.length=24 train.eval_every=6 train.keep_last=3 ${kinds[$2]} 2>"$work/log"
}
# to_the_end DIR KIND: with train.exit_every it takes several commands.
to_the_end() {
    local status
    while status=0 && (train "$1" "$2") || status=$?; do
        [ "$status" != 0 ] || return 0
        [ "$status" = 75 ] || fail "$2: status $status: $(tail -n 2 "$work/log")"
    done
}
# killed_at N DIR KIND: kills the first command that makes N system calls on files; false if there is none.
killed_at() {
    local status
    while status=0 && (LOAM_FAULT=io:$1 train "$2" "$3") || status=$?; do
        case $status in
        137) return 0 ;;
        0) return 1 ;;
        75) ;;
        *) fail "$3: status $status: $(tail -n 2 "$work/log")" ;;
        esac
    done
} 2>/dev/null
losses() { sed -n 's/.*"kind":"\(train\|valid\)","step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }
state() { readlink "$1/checkpoints/latest" "$1/checkpoints/best" && losses "$1"; }

# whole_files DIR: the report has its end, each row of emissions has all its columns, and MLflow has each step once.
whole_files() {
    [ -e "$1/report.html" ] || return 0
    [ -z "$(find "$1" "$work/mlruns" -name '*.??????.tmp')" ] || fail "left: $(find "$1" "$work/mlruns" -name '*.??????.tmp')"
    [ "$(tail -n 1 "$1/report.html")" = '</body></html>' ] || fail 'half a report'
    awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' "$1/emissions.csv" || fail "emissions: $(cat "$1/emissions.csv")"
    cut -d ' ' -f 3 "$work"/mlruns/*/"$(sed 's/ .*//; q' "$1/mlflow.txt")"/metrics/train/loss |
        cmp - <(seq 24) || fail 'MLflow has other steps'
}

for kind in phases best spike exit_every async files; do
    to_the_end "$work/whole" "$kind"
    [ "$kind" != spike ] || [ -n "$(ls "$work/whole/spikes")" ] || fail 'no spike'
    points=(60 110)
    if [ -n "${LOAM_KILLS-}" ]; then
        calls=64
        while killed_at $((calls * 2)) "$work/cut" "$kind"; do
            calls=$((calls * 2))
            rm -rf "$work/cut"
        done
        rm -rf "$work/cut"
        points=()
        for ((i = 1; i <= LOAM_KILLS; i++)); do
            points+=($((calls * i / LOAM_KILLS)))
        done
    fi
    for at in "${points[@]}"; do
        killed_at "$at" "$work/cut" "$kind" || fail "$kind: no call $at"
        to_the_end "$work/cut" "$kind"
        diff <(state "$work/whole") <(state "$work/cut") >"$work/diff" || fail "$kind, call $at: $(head -n 5 "$work/diff")"
        for file in "$work"/whole/checkpoints/step-*/*.safetensors; do
            cmp "$file" "${file/whole/cut}" || fail "$kind, call $at: other weights"
        done
        whole_files "$work/cut"
        rm -rf "$work/cut"
    done
    rm -r "$work/whole"
    echo "ok: $kind, killed at ${#points[@]} of its calls"
done
