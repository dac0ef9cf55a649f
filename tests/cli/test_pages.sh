# labels: any-processor repeats measures-peak starts-first
# Every command that README and docs show runs, in the order of the pages (pages.sh).
. tests/cli/lib.sh "$1"
. tests/cli/pages.sh

# Commands that do not run here, and why: a pattern of bash for FILE:COMMAND.
not_here=(
    'README.md:git clone *' 'the address is that of the copy that is read'
    'README.md:make run*' 'installs packages and trains for minutes: tests/tools/long_demo.sh'
    'README.md:make  *' 'builds what is tested'
    'README.md:make test*' 'runs this test'
    '*:make bench-peers*' 'installs PyTorch'
    '*:python3 -m venv *' 'makes a folder for PyTorch'
    '*/bin/p[iy]*' 'installs or runs PyTorch'
    'docs/gpu.md:*' 'packs a bundle or needs a GPU: tests/tools/test_bundle.sh, tests/shim/test_gpu_trial.sh'
    'docs/architecture/gpu.md:*' 'builds for GPUs: tests/tools/test_gpu_counts.sh'
    'docs/*:tools/install-grammars *' 'downloads grammars: tests/tools/test_install_grammars.sh'
    'docs/parallel.md:mpirun --host*' 'needs several machines'
    'docs/layouts.md:loam plan *--layouts*' 'lists layouts for twenty seconds: tests/cli/test_plan_cluster.sh'
    'docs/parallel.md:loam train config.yaml train.device=cuda *' 'needs GPUs: tests/shim/test_gpu_ranks.sh'
    'docs/parallel.md:srun *' 'needs Slurm'
    '*:sbatch *' 'needs Slurm: tests/cli/long_slurm.sh'
    'docs/code-eval.md:loam scores *--language *' 'needs the grammars of Java and C#'
    'docs/coming-from/ast-t5.md:loam train *' "needs AST-T5's tokenizer"
)
command -v python3 >/dev/null || not_here+=('docs/data-files.md:python3 *' 'there is no Python')

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
        cp -r runs/a runs/moved
        ;;
    docs/python.md)
        rm -rf runs/gpt
        printf '%s\n' 'model: { preset: gpt2-tiny }' 'tokenizer: { path: gpt2 }' 'data: { train: moby-gpt, input_length: 32 }' >python.yaml
        quietly loam prepare --tokenizer gpt2 --out moby-gpt moby-dick.txt
        quietly loam train python.yaml run.dir=runs/gpt
        ;;
    docs/parallel.md | docs/layouts.md)
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

make_tables
pages=(README.md docs/tokenizer.md docs/prepare.md docs/inspect.md docs/finetune.md docs/train.md docs/schedules.md docs/mixtures.md docs/precision.md docs/heads.md docs/code.md)
for page in docs/*.md docs/*/*.md; do
    [[ " ${pages[*]} " == *" $page "* ]] || pages+=("$page")
done
for page in "${pages[@]}"; do
    before_page "$page"
    (run_page "$page")
done
end_pages "${#pages[@]} pages"
