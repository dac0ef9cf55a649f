# loam eval --task with --rank and --shots: log-probabilities of labels are those of --score, prompts are what the template
# writes, equal in every run, and never hold the example itself.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks # lib.sh
tok=tok.model
sed 's/good/tuka tuka tuka/; s/bad/bari/' marks.tsv >long.tsv # labels of different lengths
cat >config.yaml <<YAML
run: { dir: runs/t5, seed: 7 }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
task: { data: long.tsv, valid: 20%, input: "mark: {text}", target: "{mark}", scores: accuracy }
data: { input_length: 32, target_length: 16 }
train: { length: 3 steps, batch: 8 samples, threads: 1, precision: f32, scores: false }
YAML
"$loam" train config.yaml 2>log || fail "t5: $(tail -n 1 log)"
"$loam" train config.yaml run.dir=runs/gpt model.preset=gpt2 model.n_enc=0 model.max_positions=96 data.input_length=64 'task.target= {mark}' 2>log ||
    fail "gpt: $(tail -n 1 log)"

# evaluate FILE OPTION…: answers of --task go to FILE.
evaluate() {
    local out=$1
    shift
    "$loam" eval "$@" --out "$out" >scores 2>err || fail "eval $*: $(cat err)"
}
field() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" "$2"; }                        # a text of each answer
labels() { sed 's/.*"label_logprobs":{"bari":\([^,]*\),"tuka tuka tuka":\([^}]*\)}.*/\1\n\2/' "$1"; } # two numbers each
ids() { printf '%b\n' "$1" | tr '\n' ' ' | sed 's/ $//' | "$loam" tokenizer encode --model "$tok" | tr ' ' ','; }

# equal MODEL ANSWERS TEXT|IDS: each label's log-probability is what --score gives, a pair at a time; of ids without EOS.
equal() {
    local prompt=input mark
    ! grep -q '"prompt"' "$2" || prompt=prompt
    field "$prompt" "$2" | while read -r text; do
        for mark in bari 'tuka tuka tuka'; do
            if [ "$3" = ids ]; then
                printf '{"input":[%s],"target":[%s]}\n' "$(ids "$text")" "$(ids " $mark")"
            else
                printf '{"input":"%s","target":"%s"}\n' "$text" "$mark"
            fi
        done
    done >pairs
    "$loam" eval "$1" --score pairs >scored 2>err || fail "--score: $(cat err)"
    [ "$(wc -l <scored)" = "$(labels "$2" | wc -l)" ] && [ -s scored ] || fail "$(wc -l <scored) scores: $(head -n 2 "$2")"
    paste <(sed 's/.*"logprob":\([^,]*\),"tokens":\([0-9]*\).*/\1 \2/' scored) <(labels "$2") >both
    awk '{ d = $1 - $3 } d * d > 1e-8 { print; bad = 1 } END { exit bad }' both || fail "$1 $2: other sums"
}
# chosen ANSWERS HOW: the answer is the best of the pairs in `both`.
chosen() {
    awk -v how="$2" '{ n = how == "bytes" ? (NR % 2 ? 4 : 14) : how == "tokens" ? $2 : 1; value = $3 / n }
        NR % 2 { first = value; next } { print (value > first ? "tuka tuka tuka" : "bari") }' both | cmp - <(field prediction "$1") ||
        fail "$1 is not chosen by $2"
}
for model in t5 gpt; do
    for how in sum bytes tokens; do
        evaluate "$model-$how" "runs/$model" --task --samples 40 --rank "$how"
        equal "runs/$model" "$model-$how" text
        chosen "$model-$how" "$how"
    done
    cmp <(labels "$model-sum") <(labels "$model-bytes") || fail "log-probabilities depend on how they are compared"
    [ "$(cat "$model"-* | sed -n 's/.*"prediction":"\([^"]*\)".*/\1/p' | sort -u | wc -l)" = 2 ] || fail "$model: one choice by all three"
done
grep -q '^accuracy' scores || fail "$(cat scores)"
evaluate no-eos runs/gpt --task --samples 4 --rank sum --no-eos
equal runs/gpt no-eos ids
evaluate named runs/t5 --task --rank sum --samples 4 'task.labels=tuka tuka tuka,bari,koti'
grep -q '"label_logprobs":{"tuka tuka tuka":-[0-9.]*,"bari":-[0-9.]*,"koti":-[0-9.]*}' named || fail "task.labels: $(cat named)"
echo "ok: answers are the best labels by --score"

# Prompts.
evaluate held-out runs/t5 --task --rank sum data.input_length=128
evaluate shots runs/t5 --task --rank sum data.input_length=128 --shots 3
[ "$(wc -l <shots)" = "$(wc -l <held-out)" ] || fail "$(wc -l <shots) answers"
awk -F '\t' 'NR > 1 { print "mark: " $1 " " $2 }' long.tsv | sort -u >all
paste <(field input shots) <(field prompt shots) >prompts
field input held-out | sort -u >own
awk -F '\t' 'FILENAME == "all" { known[$0] = 1; next } FILENAME == "own" { own[$0] = 1; next } {
    n = split($2, part, /\\n\\n/)
    if (n != 4 || part[4] != $1 || part[1] == part[2] || part[2] == part[3] || part[1] == part[3]) exit 1
    for (i = 1; i < n; i++) {
        text = part[i]
        sub(/ (bari|tuka tuka tuka)$/, "", text)
        if (!(part[i] in known) || (text in own)) exit 1
    }
}' all own prompts || fail "prompts: $(head -n 2 prompts)"
evaluate some runs/t5 --task --rank sum data.input_length=128 --shots 3 --samples 3
cmp <(field prompt some) <(field prompt shots | head -n 3) || fail "other examples with --samples"
evaluate seed runs/t5 --task --rank sum data.input_length=128 --shots 3 --shots-seed 2 --samples 3
! cmp -s <(field prompt some) <(field prompt seed) || fail "--shots-seed does nothing"
evaluate marked runs/t5 --task --rank sum data.input_length=128 --shots 2 --samples 3 --shots-separator ' @\n'
cmp <(field prompt some | awk '{ split($0, part, /\\n\\n/); print part[1] " @\\n" part[2] " @\\n" part[4] }') <(field prompt marked) ||
    fail "separator: $(field prompt marked)"
# Where the examples to train on are those to answer, none is its own example: 400 rows, many of them equal, and one twice.
{ head -n 1 long.tsv; sed -n '2,4p' long.tsv; sed -n 2p long.tsv; } >few.tsv
evaluate itself runs/t5 --task --rank sum data.input_length=128 task.data=few.tsv task.valid=few.tsv --shots 2
paste <(field input itself) <(field prompt itself) | awk -F '\t' '{ n = split($2, part, /\\n\\n/)
    for (i = 1; i < n; i++) if (index(part[i], $1 " ") == 1) exit 1 }' || fail "an example is its own: $(cat itself)"
expect 1 '--shots 3: task.data has only 2 labelled examples with another input' "$loam" eval runs/t5 --task data.input_length=128 \
    task.data=few.tsv task.valid=few.tsv --shots 3
echo "ok: prompts are other examples of the template, the same in every run"

# A GPT reads as far as its positions go; what does not fit is left out at the start and counted.
evaluate gpt-shots runs/gpt --task --rank sum --shots 2 --samples 10
equal runs/gpt gpt-shots ids
evaluate full runs/gpt --task --rank sum --shots 40 --samples 10
grep -q "10 of 10 prompts have fewer examples than --shots 40: $((10 * 41 - $(field prompt full | sed 's/\\n\\n/\n/g' | wc -l))) were left out at their start" err ||
    fail "$(cat err)"
while read -r text; do
    n=$(ids "$text" | tr ',' '\n' | wc -l)
    [ "$n" -le 87 ] && [ "$n" -gt 50 ] || fail "$n tokens"
done < <(field prompt full)
{ head -n 1 long.tsv; printf '%s\tbari\t1\n' "$(printf 'koti %.0s' {1..200})"; } >endless.tsv
evaluate long-input runs/gpt --task --rank sum --shots 2 task.valid=endless.tsv
grep -q 'endless.tsv: 1 of 1 inputs are longer than model.max_positions=96 takes' err || fail "$(cat err)"
evaluate cut runs/t5 --task --rank sum data.input_length=48 --shots 3
paste <(field prompt cut) <(field prompt shots) | awk -F '\t' '{ at = length($2) - length($1) + 1; fewer += at > 1 }
    at < 1 || substr($2, at) != $1 { bad = 1 } END { exit bad || fewer == 0 }' || fail "examples are not left out at the start"
for separator in a i o; do # letters that the model writes
    evaluate "written-$separator" runs/gpt --task --samples 10 --shots 2 --shots-separator "$separator"
    ! field prediction "written-$separator" | grep "$separator" || fail "an answer goes on behind its end"
done
echo "ok: too long prompts lose whole examples"

# Where pieces hold the space before a word, labels behind examples have the space that their targets have in them.
tok=bytes
"$loam" train config.yaml run.dir=runs/bytes tokenizer.path=bytes model.preset=gpt2 model.n_enc=0 model.max_positions=512 data.input_length=96 2>log || fail "bytes: $(tail -n 1 log)"
evaluate of-bytes runs/bytes --task --rank bytes --samples 5 --shots 2 --shots-separator ' # '
equal runs/bytes of-bytes ids
chosen of-bytes bytes
evaluate of-bytes-0 runs/bytes --task --rank sum --samples 5
equal runs/bytes of-bytes-0 text
echo "ok: a tokenizer of bytes"

# Answers are gone on with; other settings are other answers.
head -c 700 shots >torn
"$loam" eval runs/t5 --task --rank sum data.input_length=128 --shots 3 --out torn >out 2>err || fail "$(cat err)"
cmp <(field prompt torn) <(field prompt shots) && grep -q 'going on after them' err || fail "$(cat err)"
for other in '--rank sum --shots 2' '--rank bytes --shots 3' '--rank sum --shots 3 --shots-seed 9' '--shots 3' '--rank sum --shots 3 --shots-separator x' \
    '--rank sum --shots 3 --no-eos' '--rank sum'; do
    expect 1 "shots:1 is not this model's answer to line 1 of" "$loam" eval runs/t5 --task data.input_length=128 $other --out shots
done
cmp <(field prompt torn) <(field prompt shots) || fail "answers were written over"

# What is wrong is named.
sed '7s/.*/only one cell/' long.tsv >torn.tsv
expect 1 'torn.tsv:7: 1 columns where 3 are wanted' "$loam" eval runs/t5 --task --shots 1 task.data=torn.tsv task.valid=few.tsv
expect 0 'torn.tsv: 1 rows were left out' "$loam" eval runs/t5 --task --shots 1 task.data=torn.tsv task.valid=few.tsv task.on_error=skip
expect 1 'long.tsv has too many different right answers: a choice needs 2 to 100 labels' "$loam" eval runs/t5 --task --rank sum 'task.target={number}'
expect 1 '--shots takes labelled examples of task.data, which is not set' "$loam" eval runs/t5 --task --shots 1 task.data= task.valid=few.tsv
echo '{"text": "bari said he left", "target": {"span1_index": 0, "span1_text": "bari", "span2_index": 2, "span2_text": "he"}, "idx": 0, "label": true}' >wsc.jsonl
"$loam" export runs/t5 --to hf --out hf >/dev/null 2>err || fail "$(cat err)"
expect 1 'wsc.jsonl:1: --rank chooses among the labels False,True, and the right answer is "bari"' "$loam" eval hf --task wsc task.valid=wsc.jsonl --rank sum
expect 1 '--rank median: sum, bytes or tokens' "$loam" eval runs/t5 --task --rank median
expect 1 '--rank and --shots need --task' "$loam" eval runs/t5 --shots 2
expect 1 '--shots -1 is out of range' "$loam" eval runs/t5 --task --shots -1
expect 1 '--beams searches for a text' "$loam" eval runs/t5 --task --rank sum --beams 2
expect 1 'tasks whose answers are texts' "$loam" eval runs/t5 --task humaneval task.valid=x.jsonl --rank sum
"$loam" train config.yaml run.dir=runs/head model.preset=t5-1.1-small model.classifier=sequence data.target_length=0 task.target= 'task.label={mark}' 2>log || fail "head: $(tail -n 1 log)"
expect 1 '--beams, --rank and --shots are for models that write text' "$loam" eval runs/head --task --rank sum
expect 1 '--beams is for models that write text' "$loam" predict runs/head --beams 2
