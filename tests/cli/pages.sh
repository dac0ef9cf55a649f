# pages.sh: what the tests of commands in pages and in configurations share; it comes after lib.sh. A folder that has what
# both start from: this repository and small stand-ins for the texts, models and tables of a reader. A `loam` of its own
# shortens the work (fewer steps, a smaller vocabulary), not the commands. VERBOSE=1 prints each command and its time.

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
"plan "*) arguments+=(train.length='3 steps') ;; # of a longer run it measures longer
"tokenizer train") [[ "$*" != *sentencepiece* ]] || arguments+=(--max-sentences 4000) ;;
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
train\ * | "bench step" | "bench ops") arguments+=("${blocks[@]}") ;;
prepare\ * | dataset\ * | "tokenizer train" | "task prepare") arguments+=(--replace) ;; # pages share their files
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

# end_pages WHAT: the failures, or how many commands ran.
end_pages() {
    cat "$work/failures"
    [ ! -s "$work/failures" ] || fail "$(grep -c '^[^ ]' "$work/failures") of $(wc -l <"$work/run") commands"
    echo "ok: $(wc -l <"$work/run") commands of $1"
}

make_texts
make_models
touch "$work/failures"
