# Every command that README and docs show runs, in the order of the pages, in a folder that has what the pages start from:
# this repository and small stand-ins for the texts, models and tables of a reader. A `loam` of this test shortens the work
# (fewer steps, a smaller vocabulary), not the commands. VERBOSE=1 prints each command and its time.
. tests/cli/lib.sh "$1"

command -v zstd >/dev/null || { echo "skipped: there is no zstd"; exit 77; }
real=$(realpath "$loam")
tree=$work/tree
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export LOAM_REAL=$real HOME=$work/home XDG_DATA_HOME=$work/home/share
mkdir -p "$tree" "$HOME"
cp -r README.md docs configs tools "$tree"
mkdir "$tree/src"
cp -r src/base src/param "$tree/src"
ln -s "$PWD/tests" "$PWD/bench" "$tree"
cd "$tree"

# Commands that do not run here, and why: a pattern of bash for FILE:COMMAND.
not_here=(
    'README.md:git clone *' 'the address is that of the copy that is read'
    'README.md:make run*' 'installs packages and trains for minutes: tests/tools/long_demo.sh'
    '*:make bench-peers*' 'installs PyTorch'
    '*/bin/p[iy]*' 'installs or runs PyTorch'
    'docs/performance.md:bench/*' 'measures for minutes'
    'docs/gpu.md:*' 'packs a bundle or needs a GPU: tests/tools/test_bundle.sh, tests/shim/test_gpu_trial.sh'
    'docs/*:tools/install-grammars *' 'downloads grammars: tests/tools/test_install_grammars.sh'
    'docs/code.md:tools/code-proof *' 'trains for hours: tests/tools/test_code_proof.sh'
    'docs/finetune.md:tools/pretraining-proof *' 'trains for hours: tests/tools/test_pretraining_proof.sh'
    'docs/parallel.md:mpirun --host *' 'needs two machines'
    'docs/parallel.md:loam plan *--layouts*' 'lists layouts for twenty seconds: tests/cli/test_plan_cluster.sh'
    'docs/parallel.md:loam train config.yaml train.device=cuda *' 'needs GPUs: tests/shim/test_gpu_ranks.sh'
    'docs/parallel.md:srun *' 'needs Slurm'
    '*:sbatch *' 'needs Slurm: tests/cli/long_slurm.sh'
    'docs/code-eval.md:loam scores *--language *' 'needs the grammars of Java and C#'
    'docs/coming-from/ast-t5.md:loam train *' "needs AST-T5's tokenizer"
)

# The command with less work: a line of the page stays as it is, the program gets other numbers.
mkdir -p build
cat >build/loam <<'SHIM'
#!/bin/bash
arguments=()
for argument in "$@"; do
    case $previous=$argument in
    --vocab-size=?????) argument=600 ;;
    --vocab-size=????) argument=500 ;;
    --seconds=*) argument=0.05 ;;
    --to=12000) argument=2 ;; # steps of shortened runs
    --seeds=*) argument=1 ;;
    --beams=*) argument=2 ;;
    --to=?????) argument=2 ;;
    esac
    case $argument in
    /usr/include) argument=/usr/include/asm-generic ;;
    /usr/lib/python3.11) argument=src/base ;;
    model.preset=t5-1.1-base) argument=model.preset=t5-1.1-tiny ;;
    model.vocab=50257) argument=model.vocab=600 ;;
    *@40) argument=${argument/@40/@2} ;;
    esac
    previous=$argument
    arguments+=("$argument")
done
few=(train.batch="${OMPI_COMM_WORLD_SIZE:-4} samples" train.micro_batch='1 samples' train.threads=1)
case "$1 ${2-}" in
"train "*) arguments+=(train.length='3 steps' train.eval_every=2 train.save_every=2 train.eval_samples=4 "${few[@]}") ;;
"bench step") arguments+=(--seconds 0.05 model.vocab=600 data.input_length=32 "${few[@]}") ;;
"bench ops") arguments+=(--seconds 0.001 data.input_length=32 "${few[@]}") ;;
"bench generate") arguments+=(--runs 1 --input 8 --tokens 4) ;;
"bench comm") arguments+=(--seconds 0.001 --most 0.1) ;;
"generate "*) arguments+=(--max-tokens 4) ;;
"predict "*) exec < <(head -n 20) ;;
"eval "*) [[ "$*" != *task* ]] || arguments+=(--samples 4) ;;
esac
case "$*" in
*configs/gpt2.yaml*) blocks=(model.n_enc=0 model.n_dec=1 data.input_length=32) ;;
*configs/bert-base.yaml*) blocks=(model.n_enc=1 model.n_dec=0 data.input_length=32) ;;
*configs/t5-*parallel.interleave=2*) blocks=(model.n_enc=2 model.n_dec=2 data.input_length=32) ;;
*configs/t5-*) blocks=(model.n_enc=1 model.n_dec=1 data.input_length=32) ;;
*code.yaml*) blocks=(data.input_length=256) ;;
*data.yaml*) blocks=(model.n_dec=2 data.input_length=32) ;;
*) blocks=() ;;
esac
case "$1 ${2-}" in
train\ * | "bench step") arguments+=("${blocks[@]}") ;;
esac
exec "$LOAM_REAL" "${arguments[@]}"
SHIM
chmod +x build/loam
export PATH=$tree/build:$PATH

quietly() { "$@" >"$work/out" 2>"$work/err" || fail "stand-in: $*: $(tail -n 3 "$work/err")"; }

# What the pages start from.
make_texts() {
    cat docs/*.md docs/architecture/*.md | awk 'length($0) > 40 { print; if (++n % 3 == 0) print "" }' >moby-dick.txt
    mkdir -p corpus
    awk 'NF { print $0 "\n" >sprintf("corpus/%d.txt", NR % 9) }' moby-dick.txt # 1 % held out of some thousand paragraphs
    for i in {1..300}; do
        echo "{\"path\": \"$i.list\", \"text\": \"(a (b c$i) (d (e f) g) (h i j))\", \"code\": \"(b $i)\"}"
    done >corpus.jsonl
    head -n 20 corpus.jsonl >mbpp.jsonl
    tac moby-dick.txt >wikitext-2.valid.txt # long enough that 5 % of its parts are some, whatever the pages say
    printf '{"text": "a b"}\n{"body": "c"}\n' >bad.jsonl
    zstd -q -c corpus.jsonl | head -c 300 >cut.jsonl.zst
}

make_tables() {
    mkdir -p glue/RTE glue/CoLA
    for part in train dev test; do
        awk -v part=$part 'BEGIN {
            print "index\tsentence1\tsentence2" (part == "test" ? "" : "\tlabel")
            for (i = 0; i < 40; i++)
                print i "\tA dog " i % 7 " runs.\tIt runs " i % 5 "." (part == "test" ? "" : "\t" (i % 2 ? "entailment" : "not_entailment"))
        }' >glue/RTE/$part.tsv
        awk 'BEGIN { for (i = 0; i < 40; i++) print "gj04\t" i % 2 "\t\tThe dog " i % 7 " runs." }' >glue/CoLA/$part.tsv
    done
}

make_models() {
    quietly loam tokenizer train --type unigram --vocab-size 600 --out stand-in.model moby-dick.txt
    quietly loam tokenizer train --kind byte-bpe --for gpt --vocab-size 500 --out gpt2 moby-dick.txt
    quietly loam prepare --tokenizer stand-in.model --out stand-in --valid 5% moby-dick.txt
    printf '%s\n' 'model: { preset: t5-1.1-tiny }' 'tokenizer: { path: stand-in.model }' \
        'data: { train: stand-in, valid: stand-in-valid, input_length: 64 }' >stand-in.yaml
    quietly loam train stand-in.yaml run.dir=stand-in-run
    for name in t5 t5-small t5-base t5-v1_1-small; do
        quietly loam export stand-in-run --to hf --out $name
    done
}

# What one page starts from, and no page before it makes.
before_page() {
    case $1 in
    docs/inspect.md)
        printf '%s\n' 'tokenizer: { path: tok.model }' 'data: { train: data/moby, valid: data/moby-valid, input_length: 64 }' \
            'train: { batch: 32 samples }' >config.yaml
        printf '%s\n' 'model: { preset: gpt2-tiny }' 'tokenizer: { path: tok.model }' 'data: { train: data/moby }' >gpt.yaml
        printf '%s\n' 'model: { preset: bert-tiny }' 'tokenizer: { path: tok.model }' 'data: { train: data/moby }' >bert.yaml
        ;;
    docs/finetune.md)
        mkdir -p runs build/demo
        cp -r stand-in-run runs/demo
        tr -d '\\\t"' <moby-dick.txt | awk 'NF { printf "{\"text\": \"%s\"}\n", $0 }' >build/demo/corpus.jsonl
        ;;
    docs/heads.md)
        cp -r runs/first runs/a
        cp -r runs/first runs/b
        ;;
    docs/operations.md)
        rm -rf runs/a runs/b
        mkdir -p scratch
        for file in stand-in.* stand-in-valid.*; do
            cp "$file" "scratch/data${file#stand-in}"
        done
        cp stand-in.yaml config.yaml
        quietly "$real" train stand-in.yaml run.dir=runs/a train.keep_last=9 train.length='1 steps' train.batch='4 samples'
        quietly loam train runs/a hooks.on_save=true # longer, which is an event
        ;;
    docs/parallel.md)
        printf '%s\n' 'run: { dir: runs/ranks }' 'model: { preset: t5-1.1-tiny }' 'tokenizer: { path: stand-in.model }' \
            'data: { train: stand-in, input_length: 32 }' >config.yaml
        ;;
    docs/code.md)
        mkdir -p build/grammars
        cp "$(dirname "$LOAM_REAL")/test-grammars/lists.so" build/grammars
        awk 'BEGIN { for (i = 0; i < 300; i++) printf "(a (b c%d) (d (e f) g))\n", i >"src/" i ".list" }'
        eval "$(sed -n "/^cat >code.yaml/,/^YAML/p" docs/code.md)"
        ;;
    docs/code-eval.md)
        mkdir -p code-to-code-trans/data
        for name in {train,valid,test}.java-cs.txt.{java,cs}; do
            yes 'int f ( ) ;' | head -n 8 >code-to-code-trans/data/$name || true
        done
        eval "$(sed -n '/^cat >problems.jsonl/,/^JSON/p' docs/code-eval.md)"
        gzip -c problems.jsonl >HumanEval.jsonl.gz
        ;;
    docs/coming-from/ast-t5.md) cp tests/golden/ast-t5/checkpoint.pt checkpoint_last.pt ;;
    docs/import.md)
        cp tests/golden/torch/fairseq-lm.pt checkpoint_best.pt
        ln -s "$PWD/tests/golden/t5x" checkpoint_1000000
        ;;
    esac
}

# run_page PAGE: its commands, in order, in this shell: a page may change the folder and set variables.
run_page() {
    local kind at status command got i start where
    export PATH=$tree/build:$PATH
    while IFS=$'\t' read -r kind at status command; do
        command=${command//$'\001'/$'\n'}
        if [ "$kind" = given ]; then
            mkdir -p "$(dirname "$status")"
            [ -e "$status" ] || printf '%s' "$command" >"$status"
            continue
        fi
        where=${at%:*}
        for ((i = 0; i < ${#not_here[@]}; i += 2)); do
            [[ $where:$command == ${not_here[i]} ]] && continue 2
        done
        start=$EPOCHREALTIME got=0
        eval "$command" >"$work/out" 2>"$work/err" </dev/null || got=$?
        [ -z "${VERBOSE-}" ] || awk -v a="$start" -v b="$EPOCHREALTIME" -v c="$command" 'BEGIN { printf "%6.2f s  %s\n", b - a, substr(c, 1, index(c "\n", "\n") - 1) }'
        echo . >>"$work/run"
        [ "$got" = "$status" ] || printf '%s: exit status %s, not %s: %s\n    %s\n' "$at" "$got" "$status" "$command" "$(tail -n 2 "$work/err")" >>"$work/failures"
    done < <(awk -f "$source_dir/tests/cli/page_commands.awk" "$1")
}

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
    printf '#!/bin/sh\n' >tools/install-grammars # docs/code.md has installed the grammar of .list
    cp src/1*.list corpus
    cp moby-dick.txt head.txt
    cp moby-dick.txt wiki
    awk 'NF { gsub(/[\\"\t]/, " "); text = text " " $0 } NR % 100 == 0 { printf "{\"text\": \"%s\"}\n", text; text = "" }' moby-dick.txt |
        tee oscar-en.jsonl preprocessed_shards/0.jsonl | zstd -q >pile/00.jsonl.zst
}

make_texts
make_tables
make_models
touch "$work/failures"
pages=(README.md docs/tokenizer.md docs/prepare.md docs/inspect.md docs/finetune.md docs/train.md docs/heads.md docs/code.md)
for page in docs/*.md docs/*/*.md; do
    [[ " ${pages[*]} " == *" $page "* ]] || pages+=("$page")
done
for page in "${pages[@]}"; do
    before_page "$page"
    (run_page "$page")
done
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
cat "$work/failures"
[ ! -s "$work/failures" ] || fail "$(grep -c '^[^ ]' "$work/failures") of $(wc -l <"$work/run") commands"
echo "ok: $(wc -l <"$work/run") commands of ${#pages[@]} pages"
