# loam plan of runs on clusters: the published figures of tr1-13B and BLOOM, and a step predicted on other machines.
. tests/cli/lib.sh "$1"
recipe=configs/recipes/tr1-13b.yaml
plan() { "$loam" plan "$recipe" "$@" >"$work/out" 2>"$work/err" || fail "plan $*: $(cat "$work/err")"; }
line() { sed -n "s/^$1  *//p" "$work/out"; }

plan --machine v100 parallel.ranks=256 parallel.tensor=2 parallel.pipeline=4 parallel.zero=1
[ "$(line parameters)" = 12,853,386,240 ] || fail "parameters: $(line parameters)"
# 64 nodes of 4 V100 took 23.49 s for a step of 1,024 samples, which is 37.98 TFLOP/s of each.
line 'a step there' | awk '{ exit !($1 > 0.9 * 23.49 && $1 < 1.1 * 23.49) }' || fail "a step: $(line 'a step there')"
line 'the run there' | grep -q ' 3[5-9]\.[0-9]* TFLOP/s' || fail "the run: $(line 'the run there')"
line traffic | grep -q 'gradients .* (97 % between nodes), weights .* (97 % .* tensor .* (0 % .* pipeline .* (100 %' ||
    fail "traffic: $(line traffic)"
[[ $(line 'memory there') = 'fits: stage 1 needs'*'of 29.8 GiB' ]] || fail "memory: $(line 'memory there')"
line energy | grep -q ' MWh at 400 W' || fail "energy: $(line energy)"
# The parts of a step add up to it.
line 'a step there' | awk '{ gsub(/;.*/, ""); for (i = 5; i < NF; i++) if ($i ~ /^[0-9.]+$/) sum += $i
    exit !(sum > 0.98 * $1 && sum < 1.02 * $1) }' || fail "parts: $(line 'a step there')"
echo "ok: tr1-13B on 64 nodes"

# 13 billion parameters, 300 billion tokens, 256 GPUs at 45 TFLOP/s.
plan parallel.ranks=256 model.vocab=78893 train.length='300B tokens' train.batch_rampup= --tflops 45 train.device=cuda
[[ $(line days) = *'; 31.35 by 8 T P / (n X)' ]] || fail "days: $(line days)"
# BLOOM: 105.22 s a step, so many days for 100,000 steps.
plan model.n_dec=70 model.width=14336 model.heads=112 model.head_dim=128 model.ffn=57344 model.vocab=250880 \
    train.batch='2048 samples' train.batch_rampup= train.length='100000 steps' train.stop_at=0 parallel.ranks=384 \
    --days 121.7824074 train.device=cuda
[[ $(line needed) = '149.02 TFLOP/s of each of 384 '* ]] || fail "needed: $(line needed)"
echo "ok: 31.35 days, 149.02 TFLOP/s"

plan --machine h100 parallel.ranks=8 --watts 1234
[[ $(line 'memory there') = 'does not fit: '* ]] || fail "13 billion parameters fit one H100 with their optimizer"
line energy | grep -q 'at 1234 W' || fail "watts: $(line energy)"
expect 1 'neither a preset (h200, h100, a100, v100, cpu)' "$loam" plan "$recipe" --machine h1000 parallel.ranks=8
expect 1 '--watts goes with --machine' "$loam" plan "$recipe" --watts 5
expect 1 'set parallel.ranks' "$loam" plan "$recipe" --machine h100
expect 1 '--days is -1' "$loam" plan "$recipe" --days -1
expect 1 'which is not a multiple of 3' "$loam" plan "$recipe" parallel.ranks=6 parallel.tensor=3
