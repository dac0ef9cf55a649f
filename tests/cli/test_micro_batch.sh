#!/bin/bash
# test_micro_batch.sh LOAM: train.micro_batch=auto on CPUs: what it chooses, that ranks choose alike, that a run keeps its choice.
. tests/cli/lib.sh
make_dataset
auto=train.micro_batch=auto

planned() { "$loam" plan "$work/config.yaml" $auto "$@" 2>"$work/err" | sed -n 's/^a step .* microbatches of \([0-9]*\),.*/\1/p'; }
is() { # WHAT EXPECTED FOUND
    [ "$2" = "$3" ] || fail "$1: $3, not $2: $(tail -n 1 "$work/err")"
    echo "ok: $1: $2"
}

# 1,024 input tokens and their targets: 6 samples are the most that 8,192 tokens hold. A step of 64 is 11 microbatches, none larger
# than 6; of 14, three of 5. A step of short samples is one microbatch.
is 'long samples' 6 "$(planned train.batch='64 samples' data.input_length=1024)"
is 'parts of equal size' 5 "$(planned train.batch='14 samples' data.input_length=1024)"
is 'short samples' 64 "$(planned train.batch='64 samples')"
is 'a share of each rank' 32 "$(planned train.batch='64 samples' parallel.ranks=2)"
is 'a pipeline has four microbatches per stage' 8 "$(planned train.batch='64 samples' parallel.ranks=2 parallel.pipeline=2)"
expect 0 'the microbatch is chosen by memory (train.micro_batch=auto)' "$loam" plan "$work/config.yaml" $auto
is 'on GPUs of a cluster' 32 "$(planned train.batch='64 samples' data.input_length=1024 --machine h200 parallel.ranks=2)"
"$loam" plan "$work/config.yaml" $auto --options >"$work/out" 2>"$work/err"
grep -qx '  micro_batch: 8 samples' "$work/out" || fail "--options keeps auto"
expect 1 'train.micro_batch=auto leaves open' "$loam" plan "$work/config.yaml" $auto data.compat=fairseq

# A run says what it has chosen, has the numbers of that microbatch, and keeps it when it goes on with another batch.
train() { # NAME OVERRIDES…
    "$loam" train "$work/config.yaml" run.dir="$work/$1" train.length='6 steps' "${@:2}" 2>"$work/err" >/dev/null || fail "$1: $(tail -n 2 "$work/err")"
}
losses() { sed -n 's/.*"kind": *"train".*"loss": *\([0-9.e-]*\).*/\1/p' "$work/$1/metrics.jsonl"; }
train auto $auto
grep -qF 'train.micro_batch=auto: 8 samples at a time, 1 microbatch per step' "$work/err" || fail "the log does not say what was chosen"
grep -qx '  micro_batch: 8 samples' "$work/auto/config.yaml" || fail "config.yaml has no number"
train number train.micro_batch='8 samples'
[ -n "$(losses auto)" ] || fail "no losses"
cmp <(losses auto) <(losses number) || fail "auto has other numbers than 8 samples"
train auto $auto train.batch='16 samples' train.length='8 steps'
grep -qF 'train.micro_batch=auto: 8 samples at a time, 2 microbatches per step' "$work/err" || fail "a run that goes on chooses anew"
! grep -q 'train.micro_batch changed' "$work/err" || fail "a kept microbatch is called changed"

# Ranks choose alike.
train ranks $auto parallel.ranks=2
grep -qF 'train.micro_batch=auto: 4 samples at a time, 1 microbatch per step' "$work/err" || fail "two ranks"
"$loam" bench step "$work/config.yaml" $auto parallel.ranks=2 --seconds 0 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'backward of 4 samples' "$work/out" || fail "bench step on two ranks: $(cat "$work/out")"
echo "ok: two ranks"

# The fill counts the samples that a microbatch has, not those that it has room for: in a small batch, at the start of a
# ramp, in a step whose last microbatch is smaller, and on ranks with different numbers of samples.
fills() { sed -n 's/.*"kind": *"train".*"fill": *\([0-9.e-]*\).*/\1/p' "$work/$1/metrics.jsonl"; }
train single train.micro_batch='1 samples'
train larger train.micro_batch='256 samples'
train uneven train.micro_batch='3 samples' parallel.ranks=3
[ "$(fills single | wc -l)" = 6 ] || fail "no fills"
for run in larger uneven; do
    cmp <(fills single) <(fills $run) || fail "$run: another fill: $(fills $run | head -n 1), not $(fills single | head -n 1)"
done
for micro in 1 256; do
    train ramp-$micro train.micro_batch="$micro samples" train.batch_rampup='2 2 30 samples'
done
cmp <(fills ramp-1) <(fills ramp-256) || fail "another fill in a ramp"
echo "ok: fill"
