# labels: starts-first
# What transformers and PyTorch computed, beside the program on a fake GPU (tests/shim/cuda), whose kernels run on the host: losses of
# fine-tuning, answers, probabilities of labels. Arguments: the program, that backend, the folder of a driver for it.
. tests/cli/lib.sh "$1"
export LOAM_CUDA_BACKEND=$2 LD_LIBRARY_PATH=$3
unset CUDA_VISIBLE_DEVICES
export LOAM_FAKE_GPU_MEMORY=$((33570816 + 8388608)) # no room for the matrices that a run's speed is compared with, whose products take long

# Fine-tuning from stored weights: the losses of PyTorch in f32 (tools/make-finetune-curves), step by step; those in bf16, here
# with the optimizer on the host, and in f16 are as far from them as their roundings.
curve() { # MODEL PRECISION STEPS TOLERANCE OVERRIDES…
    local golden=tests/golden/finetune/$1 name=$1-$2
    "$loam" train "$golden.yaml" run.dir="$work/$name" train.init="$golden" train.device=cuda train.precision="$2" train.length="$3 steps" \
        train.scores=false train.threads=1 "${@:5}" 2>"$work/log" || fail "$name: $(tail -n 1 "$work/log")"
    sed -n 's/.*"kind":"train".*"loss":\([0-9.e-]*\),"nll".*/\1/p' "$work/$name/metrics.jsonl" >"$work/losses"
    [ "$(wc -l <"$work/losses")" = "$3" ] || fail "$name: $(wc -l <"$work/losses") losses of $3 steps"
    head -n "$3" "$golden.losses" | paste "$work/losses" - | awk -v name="$name" -v tolerance="$4" '
        { away = $1 / $2 - 1; if (away < 0) away = -away; if (away > most) most = away }
        END { printf "ok: %s: %d steps beside PyTorch, largest deviation %.1e\n", name, NR, most; exit !(most < tolerance) }' || fail "$name"
}
for model in t5 bert; do
    curve $model f32 12 1e-6
    curve $model bf16 4 1e-3 optim.offload=true
    curve $model fp16 4 1e-4 fp16.initial_scale=1024
done

# Greedy answers of generation_config.json's settings, in f32 and f16 those of transformers (tools/make-generation.py).
for model in t5-start llama-ends gpt2-penalty; do
    for precision in f32 fp16; do
        answers=tests/generation/$model/answers.jsonl
        "$loam" generate --model tests/generation/$model --device cuda --precision $precision --jsonl prompt --json <"$answers" \
            >"$work/answers" 2>"$work/err" || fail "$model: $(cat "$work/err")"
        diff <(grep -o '"ids": \[[^]]*\]\|"finished": [a-z]*' "$answers" | tr -d ' ') \
            <(grep -o '"ids":\[[^]]*\]\|"finished":[a-z]*' "$work/answers") || fail "$model answers otherwise than transformers in $precision"
    done
    echo "ok: answers of $model"
done

# Log-probabilities of four labels of each line (tools/make-rank.py).
for model in gpt2 t5; do
    folder=tests/generation/rank-$model gap=
    [ $model = t5 ] || gap=' '
    "$loam" eval "$folder" --task --rank sum --out "$work/ranks-$model" tokenizer.path=bytes train.precision=f32 train.device=cuda \
        task.valid="$folder/examples.tsv" task.input='{text}' task.target="$gap{mark}" task.scores=accuracy >"$work/scores" 2>"$work/err" ||
        fail "$model: $(cat "$work/err")"
    sed 's/.*"label_logprobs":{"bad":\([^,]*\),"good":\([^,]*\),"größer":\([^,]*\),"not at all":\([^}]*\)}.*/\1 \2 \3 \4/' "$work/ranks-$model" >"$work/got"
    sed 's/.*"with_eos": \[\([^]]*\)\].*/\1/; s/,//g' "$folder/ranks.jsonl" >"$work/want"
    [ "$(wc -l <"$work/got")" = 12 ] || fail "$model: $(head -n 1 "$work/ranks-$model")"
    paste -d ' ' "$work/got" "$work/want" | awk 'NF != 8 { exit 1 } { for (i = 1; i <= 4; i++) { d = $i - $(i + 4); if (d * d > 1e-8) exit 1 } }' ||
        fail "$model ranks otherwise: $(head -n 1 "$work/got"), not $(head -n 1 "$work/want")"
    echo "ok: ranks of $model"
done
