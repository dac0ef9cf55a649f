# loam eval --task --rank on Hugging Face folders: the log-probabilities of labels are those of transformers
# (tools/make-rank.py), and so is the label that is chosen.
. tests/cli/lib.sh "$1"
fixtures=$PWD/tests/generation
cd "$work"

# compare ANSWERS EXPECTED KEY HOW: the log-probabilities are those of KEY, and the answers those of HOW ("" means not compared).
compare() {
    sed 's/.*"label_logprobs":{"bad":\([^,]*\),"good":\([^,]*\),"größer":\([^,]*\),"not at all":\([^}]*\)}.*/\1 \2 \3 \4/' "$1" >got
    sed "s/.*\"$3\": \[\([^]]*\)\].*/\1/; s/,//g" "$2" >want
    [ "$(wc -l <got)" = 12 ] && [ "$(wc -l <want)" = 12 ] || fail "$1: $(head -n 1 "$1")"
    paste -d ' ' got want | awk 'NF != 8 { exit 1 } { for (i = 1; i <= 4; i++) { d = $i - $(i + 4)
        if (d * d > 1e-8 || $i > 0) { print "label " i ": " $i ", not " $(i + 4); exit 1 } } }' >off || fail "$1: $(cat off)"
    [ -z "$4" ] || cmp <(sed 's/.*"prediction":"\([^"]*\)".*/\1/' "$1") <(sed "s/.*\"$4\": \"\([^\"]*\)\".*/\1/" "$2") ||
        fail "$1: other labels by $4"
}
for model in gpt2 t5; do
    folder=$fixtures/rank-$model
    gap=
    [ "$model" = t5 ] || gap=' '
    # rank OUT HOW [OPTION]…
    rank() {
        "$loam" eval "$folder" --task --rank "$2" --out "$1" "${@:3}" tokenizer.path=bytes train.precision=f32 task.valid="$folder/examples.tsv" \
            task.input='{text}' task.target="$gap{mark}" task.scores=accuracy \
            >scores 2>err || fail "$model: $(cat err)"
    }
    for how in sum bytes tokens; do
        rank "$model-$how" "$how"
        compare "$model-$how" "$folder/ranks.jsonl" with_eos "$how"
    done
    rank "$model-bare" sum --no-eos
    compare "$model-bare" "$folder/ranks.jsonl" without ""
    rank "$model-named" sum task.labels='bad,good,größer,not at all' # named labels are put into the template, too
    compare "$model-named" "$folder/ranks.jsonl" with_eos sum
    [ "$(sed 's/.*"prediction":"\([^"]*\)".*/\1/' "$model-sum" "$model-bytes" | sort -u | wc -l)" -gt 1 ] || fail "$model: one answer to all"
    echo "ok: labels of a $model are ranked as by transformers"
done
# A file whose rows are all left out is an error that the rows explain.
printf 'text\tmark\nbari\nkoti\n' >short.tsv
"$loam" eval "$fixtures/rank-t5" --task --rank sum tokenizer.path=bytes task.valid=short.tsv task.input='{text}' task.target='{mark}' \
    task.scores=accuracy task.on_error=skip >out 2>err && fail "it ranked: $(cat out)"
grep -q 'left out: short.tsv:2: 1 column' err && grep -q 'short.tsv has no right answer: a choice needs 2 to 100 labels' err || fail "$(cat err)"
