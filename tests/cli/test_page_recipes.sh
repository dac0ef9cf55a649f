# labels: any-processor repeats measures-peak
# The commands at the head of each configuration make what it names (pages.sh).
. tests/cli/lib.sh "$1"
. tests/cli/pages.sh

# The commands at the head of a configuration make the tokenizer and the datasets that it names.
run_header() { # CONFIG
    local command path
    command=$(sed -nE 's/^#   (loam .*|tools.* && loam .*)$/\1/p' "$1")
    [ -n "$command" ] || return 0
    [ -z "${VERBOSE-}" ] || echo "$command"
    ( set -e; eval "$command" ) >"$work/out" 2>"$work/err" </dev/null ||
        echo "$1: $(tail -n 2 "$work/err")" >>"$work/failures"
    echo . >>"$work/run"
    for path in $(sed -nE 's/^.*(path|train|valid): *([^,{ ]+).*$/\2/p' "$1"); do
        [ -e "$path" ] || [ -e "$path.idx" ] || echo "$1: its commands do not make $path" >>"$work/failures"
    done
    loam plan "$1" >"$work/out" 2>"$work/err" || echo "$1: plan: $(tail -n 2 "$work/err")" >>"$work/failures"
}

# What the headers of recipes start from.
make_recipe_files() {
    mkdir -p data/mt5 pile preprocessed_shards wiki
    cp stand-in.model data/spiece.model
    cp stand-in.model data/sentencepiece.model
    cp stand-in.model data/mt5/spiece.model
    quietly loam tokenizer train --type wordpiece --for bert --vocab-size 600 --out words moby-dick.txt
    cp words/vocab.txt data/vocab.txt
    cp gpt2/vocab.json data/gpt2-vocab.json
    cp gpt2/merges.txt data/gpt2-merges.txt
    cp tests/golden/tiktoken/small.tiktoken cl100k_base.tiktoken
    mkdir -p build/grammars
    cp "$(dirname "$LOAM_REAL")/test-grammars/lists.so" build/grammars
    awk 'BEGIN { for (i = 0; i < 300; i++) printf "(a (b c%d) (d (e f) g))\n", i >"src/" i ".list" }'
    quietly loam grammars install --from build/grammars
    printf '#!/bin/sh\n' >tools/install-grammars # the grammar of .list is installed
    cp src/1*.list corpus
    cp moby-dick.txt head.txt
    cp moby-dick.txt wiki
    awk 'NF { gsub(/[\\"\t]/, " "); text = text " " $0 } NR % 100 == 0 { printf "{\"text\": \"%s\"}\n", text; text = "" }' moby-dick.txt |
        tee oscar-en.jsonl preprocessed_shards/0.jsonl | zstd -q >pile/00.jsonl.zst
}

make_recipe_files
for config in configs/*.yaml configs/recipes/*.yaml; do
    case $config in
    configs/demo.yaml) ;; # tools/demo is its command
    */ast-t5-one-machine.yaml) ;; # needs grammars of Python and C
    */ast-t5.yaml) ;;             # before the vanilla one, which trains on its data
    */ast-t5-vanilla.yaml)
        run_header configs/recipes/ast-t5.yaml
        run_header "$config"
        ;;
    *) run_header "$config" ;;
    esac
done
end_pages "$(ls configs/*.yaml configs/recipes/*.yaml | wc -l) configurations"
