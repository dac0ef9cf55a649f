# Heads for labels: classes and values of texts, tags of words, answers in a text, choices; from a file to a run, its
# scores, its predictions and its Hugging Face folder, and on from there.
. tests/cli/lib.sh "$1"
cd "$work"
# Sentences of a made-up language. Those with the word "tuka" are good, the others bad; "mesa" is a name.
awk "$random"'BEGIN {
    seed(3)
    n = split("bari koti mesa loni dape gufi rano tive mosu kale", word)
    for (row = 1; row <= 400; row++) {
        line = tags = q = ""
        good = row % 2
        at = 1 + int(random() * 4)
        for (i = 1; i <= 4; i++) {
            w = good && i == at ? "tuka" : word[1 + int(random() * n)]
            line = line (i > 1 ? " " : "") w
            tag = w == "mesa" ? "B-NAME" : "O"
            tags = tags (i > 1 ? "," : "") "\"" tag "\""
            print w " _ " tag >"tags.conll"
            q = q (i > 1 ? "," : "") "\"" w "\""
        }
        print "" >"tags.conll"
        print line "\t" (good ? "good" : "bad") >"marks.tsv"
        print line >"corpus.txt"
        printf "{\"text\": \"%s\", \"score\": %.1f}\n", line, good ? 1.5 : -0.5 >"scores.jsonl"
        printf "{\"words\": [%s], \"tags\": [%s]}\n", q, tags >"tags.jsonl"
        printf "{\"id\": %d, \"question\": \"where\", \"text\": \"%s\", \"answers\": [%s]}\n", row, line, \
            good ? sprintf("{\"text\": \"tuka\", \"answer_start\": %d}", index(line, "tuka") - 1) : "" >"answers.jsonl"
        a = int(random() * 3)
        printf "{\"ask\": \"%d\", \"a\": \"%s\", \"b\": \"%s\", \"c\": \"%s\", \"right\": %d}\n", row, a == 0 ? "tuka" : "bari", \
            a == 1 ? "tuka" : "koti", a == 2 ? "tuka" : "loni", a >"choices.jsonl"
    }
}'
"$loam" tokenizer train --type wordpiece --for bert --vocab-size 60 --out tok corpus.txt 2>err || fail "$(cat err)"
cat >base.yaml <<YAML
run: { seed: 7 }
model: { family: bert, n_enc: 2, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0, position: learned, max_positions: 64, token_types: 2, norm: layernorm, norm_bias: true, bias: true, post_norm: true, final_norm: false, embed_norm: true, scale_scores: true, gated: false, activation: gelu_erf, init: normal }
tokenizer: { path: tok }
data: { input_length: 48 }
train: { length: 150 steps, batch: 2 samples, micro_batch: 2 samples, log_every: 50 steps, eval_every: 0 steps, threads: 1, precision: f32 }
optim: { name: adamw, lr: 3e-3, schedule: constant, warmup: 30 steps }
YAML

# train NAME OPTION…: trains runs/NAME, evaluates it, exports it to hf-NAME, and evaluates that.
train() {
    name=$1
    shift
    "$loam" train base.yaml run.dir="runs/$name" "$@" 2>log || fail "train $name: $(tail -n 3 log)"
    "$loam" eval "runs/$name" --task --out "$name.out" >"$name.scores" 2>err || fail "eval $name: $(cat err)"
    "$loam" export "runs/$name" --to hf --out "hf-$name" >/dev/null 2>err || fail "export $name: $(cat err)"
    "$loam" eval "hf-$name" --task data.input_length=48 "$@" >again 2>err || fail "eval hf-$name: $(cat err)"
    cmp again "$name.scores" || fail "$name: other scores after export: $(cat again)"
}
above() { awk -v least="$2" -v row="$3" '$1 == row || $2 == row { found = $NF > least } END { exit !found }' "$1" || fail "it learned little: $(cat "$1")"; }

train marks task.data=marks.tsv task.columns=text,mark task.valid=20% 'task.input={text}' 'task.label={mark}'
above marks.scores 90 accuracy
grep -q '"bad"' hf-marks/config.json && grep -q 'BertForSequenceClassification' hf-marks/config.json || fail "$(cat hf-marks/config.json)"
printf 'bari tuka koti mesa\nbari koti mesa loni\n' | "$loam" predict runs/marks >out 2>err || fail "predict: $(cat err)"
[ "$(cat out)" = "good
bad" ] || fail "$(cat out)"
# Of a classifier a whole input is cells, too, so only objects hold texts with tabs.
got=0
printf 'bari tuka\tbad\n' | "$loam" predict runs/marks >out 2>err || got=$?
[ "$got" = 1 ] && [ ! -s out ] && grep -q 'line 1: 2 cells between tabs where 1 is wanted (text); --jsonl takes objects, whose texts may hold tabs$' err || fail "two columns: $(cat out err)"
echo '{"text": "bari\ttuka"}' | "$loam" predict runs/marks --jsonl >out 2>err && [ "$(cat out)" = good ] || fail "a tab in an object: $(cat out err)"
echo 'bari tuka koti mesa' | "$loam" predict hf-marks --raw --json >out 2>err || fail "predict --raw: $(cat err)"
grep -q '"prediction":"good".*"probabilities":{"bad":0.*"good":0.9' out || fail "$(cat out)"
cp -r hf-marks hf-digits # transformers writes classes that are numbers without quotes
sed -i -E 's/"([01])": ?"(bad|good)"/"\1": \1/g' hf-digits/config.json
[ "$(echo 'bari tuka koti mesa' | "$loam" predict hf-digits --raw)" = 1 ] || fail "classes that are numbers: $(cat hf-digits/config.json)"
echo "ok: classes by name, from a table to a prediction and to Hugging Face: $(cat marks.scores)"

# A batch by default is of 8 examples, as the Trainer's, whatever their lengths: 320 examples are 40 updates an epoch.
sed 's/batch: 2 samples, micro_batch: 2 samples, //; s/length: 150 steps, //' base.yaml >plain.yaml
marks="task.data=marks.tsv task.columns=text,mark task.valid=20% task.input={text} task.label={mark}"
examples=$("$loam" inspect dataset runs/marks/task/train | sed -n 's/.*: \([0-9]*\) documents.*/\1/p')
# shellcheck disable=SC2086
"$loam" train plain.yaml run.dir=runs/plain $marks train.length='1 epochs' train.log_every=1 2>log || fail "$(tail -n 1 log)"
updates=$(grep -c '"kind":"train"' runs/plain/metrics.jsonl)
[ "$updates" = $(((examples + 7) / 8)) ] || fail "$updates updates of $examples examples"
grep -q "an epoch of the task is $updates updates of train.batch=8 examples, the run $updates updates: few" log || fail "$(cat log)"
# All examples at once have the loss of the same examples in packed sequences.
# shellcheck disable=SC2086
"$loam" train plain.yaml run.dir=runs/rows $marks train.length='1 epochs' train.batch=1samples train.log_every=1 2>log || fail "$(tail -n 1 log)"
rows=$(grep -c '"kind":"train"' runs/rows/metrics.jsonl)
for way in "$examples examples" "$rows samples"; do
    # shellcheck disable=SC2086
    "$loam" train plain.yaml run.dir="runs/${way#* }" $marks train.length='1 steps' train.batch="$way" train.log_every=1 2>log || fail "$way: $(tail -n 1 log)"
    sed -n 's/.*"kind":"train".*"loss":\([0-9.]*\).*"fill":\([0-9.]*\).*/\1 \2/p' "runs/${way#* }/metrics.jsonl" >>losses
done
awk 'NR == 1 { loss = $1; fill = $2 } NR == 2 { exit !(($1 - loss) ^ 2 < 1e-12 && fill < 0.3 && $2 > 0.8) }' losses || fail "packed or not: $(cat losses)"
# shellcheck disable=SC2086
expect 1 'train.batch counts examples, of which several share a packed sequence' "$loam" train plain.yaml run.dir=runs/x $marks data.packed=true
echo "ok: batches of examples: $updates updates of $examples"

# The run keeps its classes when the table is gone, and a stopped run goes on with the same bytes.
"$loam" train base.yaml run.dir=runs/part train.length='60 steps' task.data=marks.tsv task.columns=text,mark task.valid=20% 'task.input={text}' 'task.label={mark}' 2>log || fail "$(tail -n 1 log)"
mv marks.tsv away.tsv
"$loam" train base.yaml run.dir=runs/part task.data=marks.tsv task.columns=text,mark task.valid=20% 'task.input={text}' 'task.label={mark}' 2>log || fail "resumed: $(tail -n 1 log)"
cmp runs/marks/checkpoints/latest/weights-*.safetensors runs/part/checkpoints/latest/weights-*.safetensors || fail "another model"
mv away.tsv marks.tsv
echo "ok: a resumed run ends with the same weights"

train pairs task.data=marks.tsv task.columns=text,mark task.valid=20% 'task.input={text}' 'task.second=kale' 'task.label={mark}' train.init=runs/marks
above pairs.scores 90 accuracy
expect 0 'examples answered' "$loam" eval runs/pairs --task --out pairs.jsonl
grep -q '"second":"kale"' pairs.jsonl || fail "no second text: $(head -n 1 pairs.jsonl)"
echo "ok: pairs, from another run's weights"

train value task.data=scores.jsonl task.valid=20% 'task.input={text}' 'task.value={score}'
above value.scores 90 pearson
echo "ok: values: $(head -n 1 value.scores)"

# In bf16 the heads' outputs are f32, close to those of f32 and as many distinct ones.
sort -u corpus.txt >texts
"$loam" train base.yaml run.dir=runs/early train.length='20 steps' task.data=marks.tsv task.columns=text,mark 'task.input={text}' 'task.label={mark}' 2>log || fail "$(tail -n 1 log)"
for run in value early; do
    for precision in f32 bf16; do
        "$loam" predict runs/$run --json train.precision=$precision <texts 2>err | sed -E 's/.*"(prediction|good)":"?(-?[0-9.e-]+).*/\2/' >$precision || fail "$(cat err)"
    done
    paste f32 bf16 | awk -v rows="$(wc -l <texts)" '{ f32[$1]; bf16[$2]; far += ($1 - $2) ^ 2 > 1e-4 } END {
        for (x in f32) n++
        for (x in bf16) m++
        print n, m, far + 0
        exit !(NR == rows && m > n / 2 && !far) }' >out || fail "$run: distinct values in f32 and in bf16, far ones: $(cat out)"
    echo "ok: $run in bf16: $(cat out)"
done

train tags task.data=tags.jsonl task.valid=20% 'task.input={words}' task.tags=tags
above tags.scores 90 f1
[ "$(echo 'bari mesa loni' | "$loam" predict runs/tags)" = "O B-NAME O" ] || fail "tags of three words"
"$loam" bench step runs/tags/config.yaml --seconds 0 >out 2>&1 || fail "bench step of tags: $(tail -n 1 out)"
train conll train.length='20 steps' task.data=tags.conll task.valid=20% 'task.input={1}' task.tags=3
cmp runs/tags/task/train.bin runs/conll/task/train.bin || fail "another dataset from columns"
echo "ok: tags of words, from lists and from columns"

train answers task.data=answers.jsonl task.valid=20% 'task.input={question}' 'task.second={text}' task.answers=answers task.scores=squad2
awk '$1 == "exact" || $1 == "squad2" { found = $NF > 80 } END { exit !found }' answers.scores || fail "answers: $(cat answers.scores)"
[ "$(printf 'where\tbari tuka loni\n' | "$loam" predict runs/answers)" = tuka ] || fail "an answer"
# Without squad2, whose questions need no answer, neither a run nor an evaluation begins.
none='has no right answer, which the score squad needs: task.scores=squad2 scores questions without an answer, too'
expect 1 "task.scores: the held-out examples of task.valid=20%: an example $none" "$loam" train base.yaml run.dir=runs/unanswerable \
    task.data=answers.jsonl task.valid=20% 'task.input={question}' 'task.second={text}' task.answers=answers
expect 1 "answers.jsonl:$(awk '/"answers": \[\]/ && !row { row = NR } END { print row }' answers.jsonl) $none" \
    "$loam" eval runs/answers --task task.scores=squad task.valid=answers.jsonl
echo "ok: answers in a text, or none"

train choices task.data=choices.jsonl task.valid=20% 'task.input={ask}' task.choices=a,b,c 'task.label={right}'
above choices.scores 90 accuracy
[ "$(printf '1\tbari\ttuka\tloni\n' | "$loam" predict runs/choices)" = 1 ] || fail "a choice"
echo "ok: choices"

# T5's classifier reads the decoder, which runs over the input once more.
"$loam" tokenizer train --type unigram --vocab-size 33 --out t5.model corpus.txt 2>err || fail "$(cat err)"
mv base.yaml bert.yaml
sed -e 's/^model:.*/model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0, classifier: sequence }/' -e 's/path: tok/path: t5.model/' bert.yaml >base.yaml
train t5 task.data=marks.tsv task.columns=text,mark task.valid=20% 'task.input={text}' 'task.label={mark}'
above t5.scores 90 accuracy
grep -q T5ForSequenceClassification hf-t5/config.json || fail "$(cat hf-t5/config.json)"
# Earlier versions gave a T5 with layernorm and rotary positions another classifier: such a run keeps it.
marks="task.data=marks.tsv task.columns=text,mark task.input={text} task.label={mark} model.norm=layernorm model.position=rotary"
# shellcheck disable=SC2086
"$loam" train base.yaml run.dir=runs/former $marks train.length='1 steps' model.head_transform=true model.classifier_dense=false 2>log || fail "$(tail -n 1 log)"
# shellcheck disable=SC2086
"$loam" train base.yaml run.dir=runs/former $marks train.length='2 steps' 2>log || fail "resumed: $(tail -n 1 log)"
# shellcheck disable=SC2086
expect 1 'is a run with model.head_transform: true' "$loam" train base.yaml run.dir=runs/former $marks model.head_transform=false
sed -i 's/classifier: sequence/classifier: span/' base.yaml
train t5-answers train.length='300 steps' task.data=answers.jsonl task.valid=20% 'task.input={question}' 'task.second={text}' task.answers=answers task.scores=squad2
grep -q T5ForQuestionAnswering hf-t5-answers/config.json || fail "$(cat hf-t5-answers/config.json)"
expect 1 'model.classifier=tokens is of family bert' "$loam" train base.yaml run.dir=runs/bad model.classifier=tokens task.data=tags.jsonl 'task.input={words}' task.tags=tags
mv bert.yaml base.yaml
echo "ok: T5's heads: $(head -n 1 t5.scores)"

# Frozen parts: no states, the same weights; a run of two parts ends with the bytes of one.
marks="task.data=marks.tsv task.columns=text,mark task.valid=20% task.input={text} task.label={mark}"
for name in frozen halves; do
    for length in $([ $name = halves ] && echo 5) 10; do
        "$loam" train base.yaml run.dir=runs/$name $marks train.init=runs/marks train.freeze='shared,encoder.*' \
            train.length="$length steps" 2>log || fail "$name: $(tail -n 1 log)"
    done
done
cmp runs/frozen/checkpoints/latest/weights-*.safetensors runs/halves/checkpoints/latest/weights-*.safetensors || fail "resumed frozen"
states() { cat "runs/$1"/checkpoints/latest/optimizer-*.safetensors | wc -c; }
[ "$(states frozen)" -lt $(($(states marks) / 4)) ] || fail "states of frozen parts: $(states frozen) of $(states marks)"
echo "ok: frozen parts"
expect 1 'train.freeze: no parameter is called encodr' "$loam" train base.yaml run.dir=runs/bad $marks train.freeze='encodr.*'
expect 1 'want one number for each class of model.labels (bad,good)' "$loam" train base.yaml run.dir=runs/bad $marks train.class_weights=1,2,3
"$loam" train base.yaml run.dir=runs/weighted $marks train.class_weights=1,4 train.length='2 steps' 2>log || fail "$(tail -n 1 log)"
got=0
echo 'bari [MASK]' | "$loam" generate --model runs/marks >out 2>err || got=$?
[ "$got" = 1 ] && grep -q 'is a classifier (model.classifier=sequence)' err || fail "$(cat out err)"
"$loam" inspect batch runs/marks --samples 1 >out 2>err || fail "$(cat err)"
grep -q -x label out || fail "$(cat out)"
echo "ok: weights of classes; other verbs on a classifier"

printf 'text\tmark\nbari\tgood\nkoti\t\n' >bad.tsv
expect 1 'bad.tsv:3: the target is empty' "$loam" train base.yaml run.dir=runs/bad task.data=bad.tsv 'task.input={text}' 'task.label={mark}'
expect 1 'give task.label' "$loam" train base.yaml run.dir=runs/bad task.data=marks.tsv task.columns=text,mark 'task.input={text}' 'task.target={mark}'
"$loam" prepare --tokenizer tok --out plain corpus.txt >/dev/null 2>err || fail "$(cat err)"
expect 1 'trains a classifier' "$loam" train base.yaml run.dir=runs/bad data.objective=labels data.train=plain
for tag in '' 'B PER'; do
    printf '{"tokens": ["c"], "tags": ["%s"]}\n' "$tag" >tags.jsonl
    expect 1 "tags.jsonl:1: tags: \"$tag\" is not one word" "$loam" train base.yaml run.dir=runs/bad task.data=tags.jsonl 'task.input={tokens}' task.tags=tags
done
printf '{"question": "q", "text": "bari tuka", "answers": [{"text": "tuka", "answer_start": 4}]}\n' >off.jsonl
expect 1 'off.jsonl:1: the answer "tuka" does not stand at character 4' "$loam" train base.yaml run.dir=runs/bad task.data=off.jsonl 'task.input={question}' 'task.second={text}' task.answers=answers

# A BERT that does not tie its embeddings has a projection to the vocabulary, which a classifier leaves out.
"$loam" prepare --tokenizer tok --out text corpus.txt >/dev/null 2>err || fail "$(cat err)"
"$loam" train base.yaml run.dir=runs/untied model.tie_embeddings=false data.train=text train.length='2 steps' 2>log || fail "$(tail -n 1 log)"
expect 1 'runs/untied has no decoder that writes text, and no classifier: fine-tune it on a task first' "$loam" predict runs/untied
cat >untied.yaml <<YAML
run: { dir: runs/marked }
train: { init: runs/untied, length: 2 steps }
task: { data: marks.tsv, columns: "text,mark", valid: 20%, input: "{text}", label: "{mark}" }
YAML
expect 0 'not in this model, so ignored: lm_head' "$loam" train untied.yaml
expect 1 'model.classifier=value does not fit the task, whose labels are for model.classifier=sequence' "$loam" train untied.yaml \
    run.dir=runs/other model.classifier=value
