# labels: long starts-first
# `make aarch64` builds what computes as it does here, seen under qemu-user: tests of operations, layers and models; a
# tokenizer and a dataset have the same bytes, and a model learns with losses that agree to four digits.
set -euo pipefail
command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-g++ >/dev/null || {
    echo "skipped: no cross compiler or no qemu-user; tools/install-packages aarch64 installs them"
    exit 77
}
[ -x build/loam ] || { echo "skipped: no build/loam to compare with"; exit 77; }

# No test that starts its own program again, for which the kernel would need to know qemu; products of bf16 are cases of test_ops.
programs=(base_test_philox base_test_options text_test_wordpiece data_test_loader data_test_mixture param_test_schedule
    device_test_ops device_test_ops_attention device_test_ops_casts device_test_ops_exact device_test_ops_gradients device_test_ops_parts nn_test_context_query nn_test_layers
    model_test_calls model_test_decoder model_test_frozen model_test_parity model_test_precision model_test_stages)
tools/aarch64 loam "${programs[@]}"

. tests/cli/lib.sh build/loam
export OMP_WAIT_POLICY=passive
test_program() { # NAME
    build-aarch64/run "build-aarch64/$1" >"$work/$1.log" 2>&1 || {
        tail -n 20 "$work/$1.log"
        echo "FAIL: $1"
        return 1
    }
    echo "ok: $1"
}
export -f test_program
export work
printf '%s\n' "${programs[@]}" | xargs -P "$(nproc)" -I{} bash -c 'test_program {}'

make_dataset
emulated() { build-aarch64/run build-aarch64/loam "$@"; }
emulated tokenizer train --type unigram --vocab-size 200 --out "$work/arm.model" "$work/corpus.txt" 2>"$work/err"
cmp "$work/tok.model" "$work/arm.model" || fail "another tokenizer"
emulated prepare --tokenizer "$work/tok.model" --out "$work/arm" --valid 10% --workers 2 "$work/corpus.txt" >"$work/out" 2>"$work/err"
for end in .bin .idx -valid.bin -valid.idx; do
    cmp "$work/data$end" "$work/arm$end" || fail "another dataset"
done
echo "ok: the same tokenizer and dataset"

losses() { sed -n 's/.*"kind":"\(train\|valid\)".*"step":\([0-9]*\).*"loss":\([0-9.e+-]*\).*/\1 \2 \3/p' "$1/metrics.jsonl"; }
for precision in f32 bf16; do
    tolerance=$([ $precision = f32 ] && echo 1e-4 || echo 1e-2)
    "$loam" train "$work/config.yaml" run.dir="$work/here-$precision" train.precision=$precision 2>"$work/err"
    emulated train "$work/config.yaml" run.dir="$work/arm-$precision" train.precision=$precision 2>"$work/err"
    grep -q "(neon, $precision)" "$work/err" || fail "not the instruction set and precision: $(cat "$work/err")"
    paste -d' ' <(losses "$work/here-$precision") <(losses "$work/arm-$precision") >"$work/both"
    awk -v tolerance=$tolerance '{ d = $3 / $6 - 1; if ($2 != $5 || d * d > tolerance * tolerance) exit 1 } END { if (NR < 40) exit 1 }' \
        "$work/both" || fail "other losses in $precision: $(tail -n 3 "$work/both")"
    echo "ok: training in $precision"
done
