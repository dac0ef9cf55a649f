# labels: any-processor repeats measures-peak
# What docs/ say in numbers that this program decides, beside what it prints: counts of parameters, defaults.
# (docs/options and docs/presets.md are printed whole: test_help.sh.)
. tests/cli/lib.sh "$1"
: >"$work/empty.yaml"

# says PAGE TEXT: the page has this text, wherever its lines break. (A pipe to grep -q fails by pipefail if grep ends before the writer.)
says() {
    grep -qF -- "$2" < <(tr '\n' ' ' <"docs/$1") || fail "docs/$1 does not say: $2"
}

# Counts of plans, as the pages print them.
plan() { "$loam" plan "$@" 2>/dev/null; }
unmeasured() { plan "$@" --machine cpu; } # of the same lines: a plan for another machine does not measure this one
plan configs/t5-1.1-small.yaml train.precision=bf16 | sed -n '/^the run\|^warm-up\|^precision\|^memory\|^parameters\|^a sample\|^a step/p' >"$work/plan"
[ "$(wc -l <"$work/plan")" = 7 ] || fail "the plan: $(cat "$work/plan")"
while read -r line; do
    grep -qxF -- "$line" docs/plan.md || fail "docs/plan.md does not say: $line"
done <"$work/plan"
parameters=$(sed -n 's/^parameters *//p' "$work/plan")
says plan.md "$(unmeasured --megatron-tp 2 configs/recipes/tr1-13b.yaml | grep ^Megatron)"
plan configs/recipes/tr1-13b.yaml --machine v100 parallel.ranks=256 parallel.tensor=2 parallel.pipeline=4 parallel.zero=1 train.batch_rampup= |
    sed -n '/^machine/,/^energy/p' >"$work/plan"
while read -r line; do
    grep -qxF -- "$line" docs/plan.md || fail "docs/plan.md does not say: $line"
done <"$work/plan"
for page in bench ../bench/results/epyc-zen4; do
    says $page.md "$parameters parameters"
done
for recipe in ast-t5 ast-t5-vanilla; do
    says coming-from/ast-t5.md "model of $(unmeasured configs/recipes/$recipe.yaml | sed -n 's/^parameters *//p') parameters"
done
preset=fairseq-transformer-lm
says coming-from/fairseq.md "$preset\` ($("$loam" help --presets | sed -nE "s/^$preset .*  ([^ ].*)$/\1/p") parameters"
echo "ok: counts of plans"

# The tables of docs/defaults.md, a row at a time: what `plan --options` gives to a model of that family and size.
model_of() { # FAMILY SIZE
    case "$1 $2" in
    "t5 up to 10 M") echo t5-1.1-tiny ;;
    "t5 up to 150 M") echo t5-1.1-small ;;
    "t5 larger") [ "$3" = objective ] && echo t5-1.1-small || echo t5-1.1-base ;;
    "t5 any" | "t5, bert, gpt any") echo t5-1.1-base ;;
    "bert up to 10 M") echo bert-tiny ;;
    "bert up to 150 M") echo bert-base ;;
    "bert larger") echo bert-large ;;
    "gpt up to 10 M" | "gpt up to 50 M") echo gpt2-tiny ;;
    "gpt up to 150 M") echo gpt2 ;;
    "gpt up to 500 M") echo gpt2-medium ;;
    "gpt up to 1 B") echo gpt2-large ;;
    "gpt larger") [ "$3" = objective ] && echo "gpt2-xl model.max_positions=2048" || echo tr1-13b ;;
    "gpt up to 2 B") echo fairseq-gpt3-xl ;;
    "gpt up to 4 B") echo fairseq-gpt3-2.7b ;;
    "gpt up to 10 B") echo fairseq-gpt3-6.7b ;;
    *) fail "docs/defaults.md has a row that this test does not know: $1, $2" ;;
    esac
}
# option NAME: its value in $work/options.
option() {
    awk -v group="${1%%.*}:" -v key="  ${1#*.}:" '/^[a-z]/ { here = $0 == group } here && index($0, key) == 1 { print substr($0, length(key) + 2) }' \
        "$work/options"
}
# compare ROW OPTION=VALUE…: these stand in $work/options; numbers are compared as numbers.
compare() {
    local row=$1 pair got want
    shift
    for pair; do
        got=$(option "${pair%%=*}") want=${pair#*=}
        [ "$got" = "$want" ] || awk "BEGIN { exit !(\"$got\" ~ /^[0-9]/ && \"$want\" ~ /^[0-9.e-]+$/ && ${got:-1} == ${want:-0}) }" 2>/dev/null ||
            fail "docs/defaults.md, $row: ${pair%%=*} is $got, not $want"
    done
}
# rows HEADER: the cells of the table whose heading begins with these, between bars, one row a line; "-" means an empty cell.
rows() {
    awk -v header="$1" '/^```/ { on = 0 } { gsub(/  +/, "|"); gsub(/\|-/, "|") } on { print } index($0, header) == 1 { on = 1 }' docs/defaults.md
}
# options_of OPTION…: what the plan with these gives, as $work/options; one plan answers for all rows of a model.
options_of() {
    local kept=$work/options-${*//[^a-z0-9_.]/-}
    [ -s "$kept" ] || unmeasured "$work/empty.yaml" tokenizer.path=bytes train.threads=1 train.length='1000 steps' --options "$@" >"$kept" ||
        fail "no plan with $*"
    cp "$kept" "$work/options"
}
n=0
while IFS='|' read -r family size objective length batch optimizer _; do
    # shellcheck disable=SC2046
    options_of model.preset=$(model_of "$family" "$size" objective)
    compare "$family, $size" "data.objective=$objective" "data.input_length=$length" "train.batch=$batch" "optim.name=$optimizer"
    n=$((n + 1))
done < <(rows 'family|size|data.objective')
while IFS='|' read -r family optimizer size lr schedule warmup beta2 eps decay _; do
    [ "$family" != "bert, gpt" ] || continue
    # shellcheck disable=SC2046
    options_of model.preset=$(model_of "$family" "$size" optimizer)
    # shellcheck disable=SC2046
    [ "$(option optim.name)" = "$optimizer" ] || options_of model.preset=$(model_of "$family" "$size" optimizer) "optim.name=$optimizer"
    compare "$family, $optimizer, $size" "optim.lr=$lr" "optim.schedule=$schedule" "optim.warmup=$warmup" "optim.weight_decay=$decay" \
        ${beta2:+"optim.beta2=$beta2"} ${eps:+"optim.eps=$eps"} optim.clip_norm=1 optim.min_lr=0
    n=$((n + 1))
done < <(rows 'family|optimizer|size')
[ $n = 25 ] || fail "$n rows of docs/defaults.md were read, not 25"
echo "ok: $n rows of docs/defaults.md"

# Memory by precision, and counts of the pages' own models.
memory() { unmeasured "$work/empty.yaml" tokenizer.path=bytes train.threads=1 train.micro_batch='8 samples' "$@" | sed -nE 's/^memory  +([^:]*):.*/\1/p'; }
while read -r name preset vocab length; do
    for precision in f32 bf16 'bf16 train.f32_residual=false' 'bf16 train.f32_gradients=false'; do
        # shellcheck disable=SC2086
        name+=" $(memory "model.preset=$preset" "model.vocab=$vocab" "data.input_length=$length" train.precision=$precision)"
    done
    grep -qxF -- "${name//_/ }" < <(tr -s ' ' <docs/precision.md) || fail "docs/precision.md does not say: ${name//_/ }"
done <<'MODELS'
T5-1.1-small,_512/114 t5-1.1-small 32128 512
BERT-base,_512 bert-base 30522 512
GPT-2_124M,_1024 gpt2 50257 1024
MODELS
# 2,000 pieces and 100 sentinels, rounded up to a multiple of 128
says train.md "model: $(unmeasured "$work/empty.yaml" tokenizer.path=bytes model.preset=t5-1.1-tiny model.vocab=2176 | sed -n 's/^parameters *//p') parameters"
echo "ok: memory by precision"

# The defaults of tasks, which two pages state.
printf '{"text": "a b", "label": "x"}\n{"text": "c", "label": "y"}\n' >"$work/classes.jsonl"
echo '{"text": "a b", "second": "d e", "answers": {"text": ["d"], "answer_start": [0]}}' >"$work/answers.jsonl"
echo '{"text": "a b", "first": "c", "second": "d e", "label": 1}' >"$work/choices.jsonl"
task() { # WHAT FILE "OPTION=VALUE…" OPTION…
    local what=$1 file=$2 expected=$3
    shift 3
    unmeasured "$work/empty.yaml" tokenizer.path=bytes train.threads=1 --options "task.data=$work/$file.jsonl" 'task.input={text}' "$@" >"$work/options" ||
        fail "no plan of $what"
    # shellcheck disable=SC2086
    compare "$what" $expected
}
written=(task.target='{label}') classes=(task.label='{label}')
text='data.objective=seq2seq data.input_length=512 data.target_length=128'
task "text, T5" classes "$text optim.name=adafactor optim.lr=1e-3 optim.schedule=constant" model.preset=t5-1.1-tiny "${written[@]}"
compare "text" 'train.batch=16 examples' 'train.length=5 epochs' 'train.eval_every=1 epoch' 'optim.warmup=0 steps'
task "text, T5, adapters" classes "$text optim.name=adamw optim.lr=5e-4 optim.weight_decay=0 lora.alpha=8" model.preset=t5-1.1-tiny lora.rank=4 "${written[@]}"
task "text, T5, AdamW" classes "optim.lr=1e-4 optim.schedule=linear optim.warmup=6%" model.preset=t5-1.1-tiny optim.name=adamw "${written[@]}"
task "text, GPT" classes "$text optim.name=adamw optim.lr=5e-5 optim.schedule=linear optim.warmup=6%" model.preset=gpt2-tiny "${written[@]}"
labels='data.objective=labels optim.name=adamw optim.lr=5e-5 optim.schedule=linear optim.warmup=6% optim.beta2=0.999'
task "classes" classes "$labels data.input_length=256" model.preset=bert-tiny "${classes[@]}"
compare "classes" 'train.batch=8 examples' 'train.length=3 epochs' 'train.eval_every=1 epoch'
task "classes, adapters" classes "optim.lr=5e-4 optim.weight_decay=0" model.preset=bert-tiny lora.rank=4 "${classes[@]}"
task "answers" answers "$labels data.input_length=384" model.preset=bert-tiny 'task.second={second}' task.answers=answers
task "choices" choices "$labels data.input_length=512" model.preset=bert-tiny task.choices=first,second "${classes[@]}"
says lora.md 'the optimizer is AdamW at 5e-4 without weight decay'
says lora.md '`lora.alpha` (`lora_alpha`): default 8'
says defaults.md '| `data.input_length`, `data.target_length` | those of `task.name` ([task](task.md)), else 512 and 128; a GPT'
says defaults.md '| `train.batch` | 16 examples |'
says defaults.md '| with `adamw` on a T5; on a GPT | 1e-4; 5e-5; `linear`, 6% |'
says defaults.md '| `labels`; 256, answers 384, choices 512, at most `model.max_positions` |'
says defaults.md '| 8 examples, 3 epochs, 1 epoch |'
says defaults.md '| 5e-5, `linear`, 6%, 0.999 |'
echo "ok: defaults of tasks"

# Defaults of verbs in tables of their pages: the number after (default …) of the help.
number_of() { # VERB OPTION
    "$loam" "$1" --help | sed -nE "s/^ *$2=.*\(default[^0-9)]*([0-9.]+)[^)]*\).*/\1/p"
}
for option in --max-line --max-mean-line; do
    says prepare.md "- \`$option N\` ($(number_of prepare $option)):"
done
says prepare.md "- \`--min-letters SHARE\` ($(number_of prepare --min-letters)):"
says prepare.md "at least \`--exclude-share\` ($(number_of prepare --exclude-share)) of the distinct n-grams of one, n = \`--exclude-ngram\` ($(number_of prepare --exclude-ngram))"
says prepare.md "at most $(number_of prepare --max-document) MiB (\`--max-document\`)"
while IFS='|' read -r option stated; do
    [ "$stated" = "$(number_of generate "$option")" ] ||
        fail "docs/generate.md: $option has the default $(number_of generate "$option"), not $stated"
done < <(sed -nE '/--temperature|--top-k/d; s/^- `(--[a-z-]+)[^`]*` \(([0-9.]*).*/\1|\2/p' docs/generate.md)
echo "ok: defaults of verbs"
