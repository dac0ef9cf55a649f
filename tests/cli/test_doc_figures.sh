# What docs/ say in numbers that this program decides, beside what it prints: the operations that it measures, counts of
# parameters, defaults. (docs/options.md and docs/presets.md are printed whole: test_help.sh.)
. tests/cli/lib.sh "$1"
: >"$work/empty.yaml"

# says PAGE TEXT: the page has this text, wherever its lines break.
says() {
    tr '\n' ' ' <"docs/$1" | grep -qF -- "$2" || fail "docs/$1 does not say: $2"
}

# The table of operations: every row that `bench ops` prints today, in its order, and no other.
"$loam" bench ops --seconds 0.0001 --json train.threads=1 train.precision=f32 >"$work/out"
grep -oE '"op": ?"[^"]*", ?"shape": ?"[^"]*"' "$work/out" | sed -E 's/"op": ?"([^"]*)", ?"shape": ?"([^"]*)"/\1 | \2/' >"$work/measured"
sed -n '/^| operation | shape |/,/^$/s/^| \([^|]*\) | \([^|]*[0-9]\) |.*/\1 | \2/p' docs/performance.md >"$work/stated"
[ -s "$work/stated" ] || fail "docs/performance.md has no table of operations"
diff -u "$work/stated" "$work/measured" || fail "docs/performance.md has other operations than loam bench ops"
echo "ok: operations of docs/performance.md"

# Counts of plans, as the pages print them.
plan() { "$loam" plan "$@" 2>/dev/null; }
plan configs/t5-1.1-small.yaml train.precision=bf16 | sed -n '/^the run\|^warm-up\|^precision\|^memory\|^parameters\|^a sample\|^a step/p' >"$work/plan"
[ "$(wc -l <"$work/plan")" = 7 ] || fail "the plan: $(cat "$work/plan")"
while read -r line; do
    grep -qxF -- "$line" docs/plan.md || fail "docs/plan.md does not say: $line"
done <"$work/plan"
parameters=$(sed -n 's/^parameters *//p' "$work/plan")
says plan.md "$(plan --megatron-tp 2 configs/recipes/tr1-13b.yaml | grep ^Megatron)"
plan configs/recipes/tr1-13b.yaml --machine v100 parallel.ranks=256 parallel.tensor=2 parallel.pipeline=4 parallel.zero=1 |
    sed -n '/^machine/,/^energy/p' >"$work/plan"
while read -r line; do
    grep -qxF -- "$line" docs/plan.md || fail "docs/plan.md does not say: $line"
done <"$work/plan"
for page in bench performance; do
    says $page.md "$parameters parameters"
done
for recipe in ast-t5 ast-t5-vanilla; do
    says coming-from/ast-t5.md "model of $(plan configs/recipes/$recipe.yaml | sed -n 's/^parameters *//p') parameters"
done
preset=fairseq-transformer-lm
says coming-from/fairseq.md "$preset\` ($("$loam" help --presets | sed -nE "s/.*\`$preset\`.* \| ([^|]*) \|$/\1/p") parameters"
echo "ok: counts of plans"

# The tables of docs/defaults.md, a row at a time: what `plan --options` gives to a model of that family and size.
model_of() { # FAMILY SIZE
    case "$1 $2" in
    "t5 up to 10 M") echo t5-1.1-tiny ;;
    "t5 up to 150 M") echo t5-1.1-small ;;
    "t5 larger") [ "$3" = objective ] && echo t5-1.1-small || echo t5-1.1-base ;;
    "t5 any") echo t5-1.1-base ;;
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
# rows HEADER: the cells of the table that begins with this header, without backquotes and blanks around them, one row a line.
rows() {
    awk -v header="$1" 'index($0, header) == 1 { on = 1; next } on && !/^\|/ { exit } on && !/^\|---/ { gsub(/`/, ""); gsub(/ *\| */, "|"); print substr($0, 2) }' docs/defaults.md
}
# options_of OPTION…: what the plan with these gives, as $work/options; one plan answers for all rows of a model.
options_of() {
    local kept=$work/options-${*//[^a-z0-9_.]/-}
    [ -s "$kept" ] || plan "$work/empty.yaml" tokenizer.path=bytes train.threads=1 train.length='1000 steps' --options "$@" >"$kept" ||
        fail "no plan with $*"
    cp "$kept" "$work/options"
}
n=0
while IFS='|' read -r family size objective length batch optimizer _; do
    # shellcheck disable=SC2046
    options_of model.preset=$(model_of "$family" "$size" objective)
    compare "$family, $size" "data.objective=$objective" "data.input_length=$length" "train.batch=$batch" "optim.name=$optimizer"
    n=$((n + 1))
done < <(rows '| family | size | `data.objective`')
while IFS='|' read -r family optimizer size lr schedule warmup beta2 eps decay _; do
    [ "$family" != "bert, gpt" ] || continue
    # shellcheck disable=SC2046
    options_of model.preset=$(model_of "$family" "$size" optimizer)
    # shellcheck disable=SC2046
    [ "$(option optim.name)" = "$optimizer" ] || options_of model.preset=$(model_of "$family" "$size" optimizer) "optim.name=$optimizer"
    compare "$family, $optimizer, $size" "optim.lr=$lr" "optim.schedule=$schedule" "optim.warmup=$warmup" "optim.weight_decay=$decay" \
        ${beta2:+"optim.beta2=$beta2"} ${eps:+"optim.eps=$eps"} optim.clip_norm=1 optim.min_lr=0
    n=$((n + 1))
done < <(rows '| family | optimizer | size |')
[ $n = 24 ] || fail "$n rows of docs/defaults.md were read, not 24"
echo "ok: $n rows of docs/defaults.md"
