# labels: any-processor measures-peak starts-first
# loam plan of runs on clusters: the published figures of tr1-13B and BLOOM, and a step predicted on other machines.
. tests/cli/lib.sh "$1"
recipe=configs/recipes/tr1-13b.yaml
plan() { "$loam" plan "$recipe" "$@" >"$work/out" 2>"$work/err" || fail "plan $*: $(cat "$work/err")"; }
line() { sed -n "s/^$1  *//p" "$work/out"; }

plan --machine v100 parallel.ranks=256 parallel.tensor=2 parallel.pipeline=4 parallel.zero=1 train.batch_rampup=
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

whole="parallel.ranks=8 parallel.tensor=1 parallel.pipeline=1 parallel.zero=0"
# shellcheck disable=SC2086
plan --machine h100 $whole --watts 1234
[[ $(line 'memory there') = 'does not fit: '* ]] || fail "13 billion parameters fit one H100 with their optimizer"
line energy | grep -q 'at 1234 W' || fail "watts: $(line energy)"
expect 1 'neither a preset (h200, h100, a100, v100, cpu)' "$loam" plan "$recipe" --machine h1000 parallel.ranks=8
expect 1 '--watts goes with --machine' "$loam" plan "$recipe" --watts 5
# One GPU: the computing of a whole step, with its recomputation; 8 times that of 8 data-parallel GPUs.
"$loam" plan configs/gpt2.yaml model.vocab=50257 --machine h100 >"$work/out" 2>"$work/err" || fail "one GPU: $(cat "$work/err")"
[[ $(line 'memory there') = 'fits: '* ]] || fail "one GPU: $(line 'memory there')"
one=$(line 'a step there' | sed 's/.*computing \([0-9.]*\) s.*/\1/')
plan_eight=$("$loam" plan configs/gpt2.yaml model.vocab=50257 --machine h100 parallel.ranks=8 train.micro_batch='4 samples' 2>/dev/null)
eight=$(sed -n 's/^a step there .*computing \([0-9.]*\) s.*/\1/p' <<<"$plan_eight")
awk "BEGIN { exit !($one > 7.5 * $eight && $one < 8.5 * $eight) }" || fail "a step on one GPU computes $one s, on each of eight $eight s"
expect 1 '--days is -1' "$loam" plan "$recipe" --days -1
expect 1 'which is not a multiple of 3' "$loam" plan "$recipe" parallel.ranks=6 parallel.tensor=3 parallel.pipeline=1

# A machine of GPUs: memory and precisions of its GPUs, whatever train.device says; the copies of optim.offload; FP8; launches.
gpt2() { "$loam" plan configs/gpt2.yaml model.vocab=50257 "$@" >"$work/out" 2>"$work/err" || fail "gpt2 $*: $(cat "$work/err")"; }
part() { line 'a step there' | sed -n "s/.*$1 \([0-9.e-]*\) s.*/\1/p"; }
gpt2 --machine h100 train.device=cuda
line memory >"$work/there"
grep -q 'scratch [0-9.]* MiB$' "$work/there" || fail "no memory of a GPU: $(cat "$work/there")"
gpt2 --machine h100
line memory | diff - "$work/there" || fail "--machine h100 plans another device's memory"
gpt2 --machine cpu train.device=cuda
! line memory | grep -q scratch || fail "--machine cpu plans a GPU's memory"
expect 1 'train.precision is bf16, and v100 has no bf16: want fp16 or f32' "$loam" plan configs/gpt2.yaml --machine v100 train.precision=bf16
expect 1 'train.precision is fp8, and v100 has no FP8 products: want fp16 or f32' "$loam" plan configs/gpt2.yaml --machine v100 train.precision=fp8
expect 1 'train.precision is fp8, and a100 has no FP8 products: want bf16, fp16 or f32' "$loam" plan configs/gpt2.yaml --machine a100 train.precision=fp8
gpt2 --machine h100
computing=$(part computing) update=$(part update)
gpt2 --machine h100 train.precision=fp8
awk "BEGIN { exit !($(part computing) < 0.9 * $computing) }" || fail "FP8 computes $(part computing) s, bf16 $computing s"
gpt2 --machine h100 optim.offload=true # 12 bytes of each of 124,439,808 parameters at 50 GB/s: 29.9 ms
awk "BEGIN { exit !($(part update) > 0.0296 && $(part update) < 0.0302 && $update < 0.005) }" || fail "updates: $(part update) s, $update s"
gpt2 --machine h100 parallel.ranks=32 train.micro_batch='1 samples' data.input_length=16 # so little work that its host cannot queue it in time
awk "BEGIN { exit !($(part launches) > 2 * $(part computing)) }" || fail "launches: $(line 'a step there')"
# A GPU too small for any layout, which would do with the optimizer on its host.
gpt2 --machine v100 model.n_dec=60 model.width=2048 model.heads=16 model.head_dim=128 model.ffn=8192 train.micro_batch='1 samples'
grep -A 1 '^memory there  *does not fit' "$work/out" | grep -q "^  *optim.offload=true would fit ([12][0-9.]* GiB, and 3[0-9.]* GiB of its host's memory), in [0-9.]* s a step" ||
    fail "offload: $(grep -A 1 '^memory there' "$work/out")"
echo "ok: rules of GPUs"

# All layouts of 8 ranks that train a model of 3 blocks with 2 heads on 8 samples: tensor 1 or 2, pipeline 1 or 2, four
# levels of ZeRO, with and without recompute, microbatches of a power of two up to a rank's samples.
make_dataset
# Megatron's order of 400 million samples, which takes 5 GB, is not made for a plan: there is no memory for it. Sanitizers reserve more.
"$loam" prepare --append-eod --tokenizer "$work/tok.model" --out "$work/eod" "$work/corpus.txt" >/dev/null 2>"$work/err" || fail "prepare: $(cat "$work/err")"
([ -n "${LOAM_SANITIZED:-}" ] || ulimit -v 3000000; "$loam" plan "$work/config.yaml" model.family=gpt model.n_enc=0 model.n_dec=1 data.objective=clm data.compat=megatron \
    data.train="$work/eod" data.valid= data.compat_samples=400000000 --machine cpu >"$work/out" 2>"$work/err") || fail "400 million samples: $(cat "$work/err")"
grep -q '^an epoch  *400000[0-9]* samples' "$work/out" || fail "400 million samples: $(cat "$work/out")"
echo "ok: Megatron's samples are not shuffled"
layouts() {
    "$loam" plan "$work/config.yaml" model.family=gpt model.n_enc=0 model.n_dec=3 data.objective=clm --machine cpu --layouts \
        --gpus 8 --rows 0 "$@" >"$work/out" 2>"$work/err" || fail "layouts: $(cat "$work/err")"
}
layouts
{ # tensor, pipeline, stages, data, zero, micro, recompute
    for groups in '1 1 8' '1 2 4' '2 1 4' '2 2 2'; do
        read -r tensor pipeline data <<<"$groups"
        for zero in 0 1 2 3; do
            for ((micro = 1; micro <= 8 / data; micro *= 2)); do
                for recompute in none block; do echo "$tensor $pipeline 1 $data $zero $micro $recompute"; done
            done
        done
    done
} | sort >"$work/legal"
awk 'NR > 3 { print $1, $2, $3, $4, $5, $6, $7 }' "$work/out" | sort | diff - "$work/legal" || fail "other layouts than the legal ones"
grep -q '^64 layouts of 8 ranks, of which 64 fit' "$work/out" || fail "$(sed -n 2p "$work/out")"
! grep -q '\* yes' "$work/out" || fail "a configuration of one rank is marked"
layouts parallel.ranks=8 parallel.tensor=2 parallel.zero=1 train.micro_batch='2 samples'
[ "$(grep -c '\* yes' "$work/out")" = 1 ] && grep -q '^2  *1  *1  *4  *1  *2  *none .*\* yes' "$work/out" || fail "what is configured: $(cat "$work/out")"
# A rank has fewer samples than a microbatch may have: the configured layout is listed with as many as there are.
layouts parallel.ranks=8 parallel.zero=1 train.micro_batch='3 samples'
grep -q '^1  *1  *1  *8  *1  *1  *none .*\* yes' "$work/out" || fail "not listed: $(cat "$work/out")"
grep -qx '\* a rank has 1 sample of a step, fewer than train.micro_batch' "$work/out" || fail "no reason: $(tail -n 2 "$work/out")"
layouts parallel.ranks=8 parallel.tensor=2 train.micro_batch='3 samples' # of 4 data-parallel ranks each has 2
grep -q '^2  *1  *1  *4  *0  *2  *none .*\* yes' "$work/out" || fail "not listed: $(cat "$work/out")"
# A batch that grows: what it has too few samples for at first.
layouts train.batch_rampup='4 4 100 samples'
grep -qx 'a run that begins with 4 samples a step (train.batch_rampup) can have at most 4 data-parallel ranks at first' "$work/out" ||
    fail "ramp-up: $(tail -n 2 "$work/out")"
layouts train.batch_schedule='0:2 100 samples:8'
awk 'NR > 3 && $4 > 2 { exit 1 }' "$work/out" || fail "more data-parallel ranks than samples: $(cat "$work/out")"
# With 4 blocks also two stages for each of two ranks.
layouts model.n_dec=4
[ "$(grep -c '^[12]  *2  *2 ' "$work/out")" = 40 ] || fail "interleaved: $(cat "$work/out")"
# Long samples: some ranks divide the tokens, as many as have 4,096 of them each and as the heads allow.
layouts data.input_length=16384 model.heads=4 model.head_dim=8
awk 'NR == 3 && $2 != "context" { exit 1 } NR > 3 && $1 * $2 * $3 * $5 != 8 { exit 1 } NR > 3 { seen[$2]++ }
    END { exit !(seen[1] && seen[2] && seen[4] && !seen[8]) }' "$work/out" || fail "context: $(sed -n 3,9p "$work/out")"
layouts parallel.ranks=8 parallel.context=2 train.micro_batch='2 samples'
[ "$(awk 'NR > 3 && $2 == 2' "$work/out" | grep -c '\* yes')" = 1 ] || fail "the configured parallel.context: $(cat "$work/out")"
layouts
# Steps get no shorter down the list, by more than 1 %; of those within 1 % the simplest comes first. What is refused by training
# is not in it.
awk 'NR > 3 { step = $(NF - 2); if (step < 0.985 * last) exit 1; last = step > last ? step : last }' "$work/out" || fail "not by time: $(cat "$work/out")"
"$loam" plan configs/gpt2.yaml model.vocab=50257 --machine h100 --layouts --gpus 8 --rows 1 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
awk 'NR == 4 { exit !($1 == 1 && $2 == 1 && $5 <= 1 && $7 == "none") }' "$work/out" || fail "not the simplest: $(cat "$work/out")"
expect 1 '--gpus is 1025, want 1 to 1024' "$loam" plan configs/gpt2.yaml --machine h100 --layouts --gpus 1025
expect 1 'data.compat=megatron does not support data.objective=span_corruption, only clm, mlm' "$loam" plan configs/t5-1.1-small.yaml data.compat=megatron
expect 1 'which is not a multiple of 4' "$loam" plan "$work/config.yaml" parallel.ranks=8 parallel.tensor=4
expect 1 '16 data-parallel ranks for a batch of 8 samples' "$loam" plan "$work/config.yaml" parallel.ranks=16
expect 1 '--layouts needs --machine' "$loam" plan "$work/config.yaml" --layouts
for count in gpus=0 gpus=-1 megatron-tp=0 megatron-tp=1025; do
    expect 1 "--${count%=*} is ${count#*=}, want 1 to " "$loam" plan "$work/config.yaml" --machine cpu --layouts "--$count"
done
expect 1 '--gpus goes with --layouts' "$loam" plan "$work/config.yaml" --gpus 4
expect 1 'no layout of 16 ranks can train' "$loam" plan "$work/config.yaml" train.batch='1 samples' model.n_enc=1 model.n_dec=0 \
    model.family=bert data.objective=mlm tokenizer.sentinels=100 --layouts --gpus 16 --machine cpu
# Where nothing fits, the layout that needs the least memory; on one GPU a step takes hours.
"$loam" plan "$recipe" --machine v100 --layouts --gpus 1 --rows 2 parallel.tensor=1 parallel.pipeline=1 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '^10 layouts of 1 rank, of which 0 fit; ' "$work/out" || fail "$(sed -n 2p "$work/out")"
awk 'NR > 3 && $1 == 1 { n++; if ($(NF - 2) < 3000) exit 1 } END { exit n < 2 }' "$work/out" || fail "a step on one GPU: $(cat "$work/out")"
grep -q '^none fits into 29.8 GiB: the smallest needs 218 GiB, with parallel.zero=0; more GPUs' "$work/out" || fail "$(tail -n 1 "$work/out")"
! layouts --gpus 8 || ! grep -q 'as configured' "$work/out" || fail "no row is marked: $(sed -n 2p "$work/out")"
# What does not fit, and the nearest layout that does.
# shellcheck disable=SC2086
"$loam" plan "$recipe" --machine v100 model.n_dec=10 $whole train.batch='8 samples' train.batch_rampup= >"$work/out" 2>"$work/err"
grep -A 1 '^memory there  *does not fit: stage 1 needs' "$work/out" | grep -Eq '^  *parallel.(zero=[123]|tensor=4) would fit \([12][0-9.]* GiB\)' ||
    fail "nearest: $(grep -A 1 'memory there' "$work/out")"
"$loam" plan "$recipe" --machine v100 parallel.tensor=1 parallel.pipeline=1 >"$work/out" 2>"$work/err"
grep -qx '  *no layout of 1 GPU fits; more GPUs or shorter samples need less memory' "$work/out" || fail "one GPU: $(cat "$work/out")"
echo "ok: layouts"
