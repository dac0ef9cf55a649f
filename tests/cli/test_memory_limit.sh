# labels: any-processor measures-peak
# Memory that a limit refuses (ulimit -v) ends a run before its first step, or not at all: in one line, with status 2.
. tests/cli/lib.sh "$1"
make_dataset
if ! (ulimit -v 4000000 && "$loam" --version) >"$work/out" 2>&1; then
    echo "skipped: this build cannot run under a limit of its address space"
    exit 77
fi
refused=0
for mib in 120 150 180 220 260 300 400 600 1000 2000; do
    status=0
    rm -rf "$work/run"
    (ulimit -v $((mib * 1024)) && "$loam" train "$work/config.yaml" run.dir="$work/run" train.threads=2 train.length=3 ||
        exit $?) 2>"$work/err" || status=$?
    [ "$status" = 0 ] || [ "$status" = 2 ] || fail "$mib MiB: status $status: $(tail -n 3 "$work/err")"
    [ "$status" = 0 ] || [ "$(grep -c '^loam[: ]' "$work/err")" = 1 ] || fail "$mib MiB: not one line: $(cat "$work/err")"
    [ "$status" = 0 ] || refused=$((refused + 1))
    last=$status
done
[ "$refused" -gt 2 ] || fail "only $refused were refused"
[ "$last" = 0 ] || fail "2000 MiB are enough: $(tail -n 1 "$work/err")"
echo "ok: $refused limits refused, the others enough"

expect 2 'a smaller model, or parallel.zero' bash -c "ulimit -v 300000; '$loam' train '$work/config.yaml' run.dir='$work/large' model.width=2048 model.ffn=8192"
