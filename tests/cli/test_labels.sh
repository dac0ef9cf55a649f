# Labels of classifiers: whose they are, what becomes of those that a model does not know, and of options that it does
# not take.
. tests/cli/lib.sh "$1"
cd "$work"
# Sentences of a made-up language: with the word "tuka" good, without bad; a sixth of them are good.
awk "$random"'BEGIN {
    seed(5)
    n = split("bari koti mesa loni dape gufi rano tive mosu kale", word)
    for (row = 1; row <= 240; row++) {
        line = row % 6 ? "" : "tuka "
        for (i = 1; i <= 4; i++)
            line = line (i > 1 ? " " : "") word[1 + int(random() * n)]
        print line "\t" (row % 6 ? "bad" : "good") >"marks.tsv"
        print line >"corpus.txt"
        print line "\t" (row % 6 ? 0 : 1) >"numbers.tsv"
    }
}'
"$loam" tokenizer train --type wordpiece --for bert --vocab-size 60 --out tok corpus.txt 2>err || fail "$(cat err)"
cat >base.yaml <<YAML
run: { seed: 7 }
model: { family: bert, n_enc: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0, position: learned, max_positions: 64, token_types: 2, norm: layernorm, norm_bias: true, bias: true, post_norm: true, final_norm: false, embed_norm: true, scale_scores: true, gated: false, activation: gelu_erf, init: normal }
tokenizer: { path: tok }
data: { input_length: 48 }
train: { length: 2 steps, batch: 2 samples, micro_batch: 2 samples, log_every: 1 steps, eval_every: 0 steps, threads: 1, precision: f32 }
optim: { name: adamw, lr: 3e-3, schedule: constant, warmup: 0 steps }
YAML
text="task.columns=text,mark task.input={text}"
marks="task.data=marks.tsv $text task.label={mark}"
t5="model.preset=t5-1.1-small model.n_enc=1 model.n_dec=1 model.width=32 model.ffn=64 model.heads=2 model.head_dim=16"
run() { "$loam" train base.yaml "$@" 2>log || fail "train $*: $(tail -n 3 log)"; }
refuse() { # refuse TEXT OPTION…: a run that does not begin
    local text=$1
    shift
    expect 1 "$text" "$loam" train base.yaml run.dir=runs/refused "$@"
}
run run.dir=runs/marks $marks task.valid=20%
"$loam" export runs/marks --to hf --out hf-marks >/dev/null 2>err || fail "$(cat err)"

# White space around the items of a list is no part of them; YAML may have its own list.
sed 's/^model: { /&labels: [bad, good], /' base.yaml >lists.yaml
echo 'task: { data: marks.tsv, columns: [text, mark], input: "{text}", label: "{mark}", scores: [accuracy, f1_macro] }' >>lists.yaml
spaced=('model.labels=bad, good' 'task.columns=text , mark' 'task.scores= accuracy, f1_macro')
for config in lists base; do
    options=()
    [ $config = lists ] || options=($marks "${spaced[@]}")
    "$loam" train $config.yaml run.dir=runs/$config "${options[@]}" 2>log || fail "$config: $(tail -n 3 log)"
    for line in 'labels: bad,good' 'columns: text,mark' 'scores: accuracy,f1_macro'; do
        grep -q "^  $line" runs/$config/config.yaml || fail "$config has not \"$line\": $(grep -E 'labels|columns|scores' runs/$config/config.yaml)"
    done
done
sed 's/scores: .*]/scores: [{ a: b }]/' lists.yaml >maps.yaml
expect 1 'task.scores: item 1: one value is wanted, not a map' "$loam" train maps.yaml run.dir=runs/refused

refuse 'task.scores=f1: none of the labels bad and good is 1, name the positive one: task.positive=good' $marks task.scores=f1
[ ! -e runs/refused/task ] || fail "prepared in vain"
# A run that computes no score needs no positive label, nor does a prediction.
run run.dir=runs/unscored $marks task.valid=20% task.scores=f1 train.scores=false
run run.dir=runs/unscored $marks task.valid=20% task.scores=f1 train.scores=false train.length='3 steps'
for scores in false true; do
    sed -i "s/^  scores: false/  scores: $scores/" runs/unscored/config.yaml
    echo 'tuka bari' | "$loam" predict runs/unscored >out 2>err || fail "train.scores=$scores: $(cat err)"
done
expect 1 'task.scores=f1: none of the labels' "$loam" eval runs/unscored --task
expect 0 'f1' "$loam" eval runs/unscored --task task.positive=good

# A run of an earlier version, which kept white space around the names of classes.
cp -r runs/marks runs/outer
sed -i 's/^  labels: bad,good/  labels: " bad, good"/' runs/outer/config.yaml
sed -i 's/bad,good/ bad, good/' runs/outer/task/*.json
sed -i 's/"bad"/" bad"/; s/"good"/" good"/' runs/outer/task/*.jsonl
grep -q '" good"' runs/outer/task/train-valid.jsonl && grep -q '" bad, good"' runs/outer/config.yaml || fail "no outer white space"
"$loam" eval runs/marks --task 2>err | sed 's#runs/[a-z]*##' >scores
"$loam" eval runs/outer --task 2>err | sed 's#runs/[a-z]*##' | cmp - scores || fail "other scores: $(cat err)"
"$loam" train runs/outer train.best=accuracy train.length='3 steps' train.eval_every='1 steps' 2>log || fail "$(cat log)"
grep -q 'best by accuracy: ' log || fail "$(cat log)"

# Several labels in a list are refused before anything is made, by line and name.
printf '%s\n' '{"text": "bari koti", "mark": ["good"]}' '{"text": "mesa loni", "mark": ["good", "bad"]}' >several.jsonl
refuse 'several.jsonl:2: 2 labels ("good", "bad") in {mark}: a classifier gives a text one label' task.data=several.jsonl 'task.input={text}' 'task.label={mark}'
printf '%s\n' '{"text": "bari koti", "mark": 0.5}' '{"text": "mesa loni", "mark": [0.5, 2, 3]}' >several.jsonl
refuse 'several.jsonl:2: 3 labels ("0.5", "2", …)' task.data=several.jsonl 'task.input={text}' 'task.value={mark}'
[ ! -e runs/refused/config.yaml ] || fail "a refused run has a configuration"

# Options that a model does not take are not passed over.
writes="task.data=marks.tsv $text task.target={mark}"
printf 'model: { family: t5, n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16 }\ntokenizer: { path: tok }\nrun: { dir: runs/t5 }\ntrain: { length: 1 steps, threads: 1 }\n' >t5.yaml
for option in 'task.second={text}' task.choices=text task.tags=mark task.answers=mark; do
    expect 1 "$option: the model writes its answer (a T5, a GPT), and only a classifier takes this option" "$loam" train t5.yaml $writes "$option"
done
refuse 'task.cut_field=text: a classifier takes no such option' $marks task.cut_field=text
run run.dir=runs/both $marks 'task.target=it is {mark}'
grep -q 'labels: bad,good' runs/both/config.yaml || fail "the label gives way to the target: $(grep labels runs/both/config.yaml)"
refuse 'did you mean sst2?' task.name=sst3 task.data=marks.tsv
refuse 'task.name=copa is text to text, but the model is encoder-only' task.name=copa task.data=marks.tsv
"$loam" prepare --tokenizer tok --out plain corpus.txt >/dev/null 2>err || fail "$(cat err)"
run run.dir=runs/words data.train=plain data.objective=mlm
printf 'index\tsentence1\tsentence2\tlabel\n0\tbari\tkoti\tentailment\n' >rte.tsv
expect 1 'encoder-only, without a classifier (model.classifier=none, the task wants sequence): fine-tune it' \
    "$loam" eval runs/words --task task.name=rte task.valid=rte.tsv
expect 1 'no classifier: fine-tune it on a task first' "$loam" predict runs/words --raw
echo "ok: options for other models"

# Names of classes.
refuse '"bad,bad" names the class bad twice' $marks model.labels=bad,bad
refuse '"bad,,good" has an empty name' $marks model.labels=bad,,good
refuse '"good,good" names the class good twice' task.data=numbers.tsv $text 'task.label={mark}' task.labels=good,good
: >empty.conll
refuse 'empty.conll: it has no example to take the names of the classes from' task.data=empty.conll 'task.input={1}' task.tags=2
printf 'bari\tbad\nkoti\tbad\n' >one.tsv
refuse 'one.tsv: every label is "bad", and a classifier needs two classes' task.data=one.tsv $text 'task.label={mark}'
echo "ok: names of classes"

# Labels that a model does not know: refused in training and in evaluation, by file and line; left out on request.
sed '7s/bad/so-so/' marks.tsv >third.tsv
unknown='third.tsv:7: "so-so" is none of the classes of model.labels (bad,good)'
refuse "$unknown; task.on_error=skip leaves such rows out" task.data=third.tsv $text 'task.label={mark}' model.labels=bad,good
run run.dir=runs/skipped task.data=third.tsv $text 'task.label={mark}' model.labels=bad,good task.on_error=skip
grep -q 'third.tsv: 1 rows were left out' log || fail "$(cat log)"
sed '7s/\t.*//' marks.tsv >short.tsv # a row that every pass over the table leaves out is told once
run run.dir=runs/short task.data=short.tsv task.valid=20% $text 'task.label={mark}' task.on_error=skip
[ "$(grep -c 'left out: short.tsv:7: ' log) $(grep -c 'short.tsv: 1 rows were left out' log)" = '1 1' ] || fail "$(cat log)"
sed 's/\t.*//' marks.tsv >cut.tsv # a start that fails, since no row is left, has told of the rows
refuse 'cut.tsv: the file holds no examples' task.data=cut.tsv task.valid=20% $text 'task.label={mark}' model.labels=bad,good task.on_error=skip
grep -q 'left out: cut.tsv:1: ' "$work/err" || fail "$(cat "$work/err")"
expect 1 "$unknown" "$loam" eval runs/marks --task task.valid=third.tsv
expect 0 'third.tsv: 1 rows were left out' "$loam" eval runs/marks --task task.valid=third.tsv task.on_error=skip
expect 1 "$unknown, which come from hf-marks; model.labels=NAMES gives others" "$loam" eval hf-marks --task task.valid=third.tsv $text 'task.label={mark}'
refuse "(bad,good), which come from marks.tsv" task.data=marks.tsv task.valid=third.tsv $text 'task.label={mark}'
refuse "(bad,good), which come from hf-marks" task.data=third.tsv $text 'task.label={mark}' train.init=hf-marks
printf 'bari\tbad\nkoti\t-1\n' >test.tsv
expect 0 '1 of 2 examples have no right answer: they are predicted, not scored' "$loam" eval runs/marks --task task.valid=test.tsv task.labels=bad,good
"$loam" eval runs/marks --task task.valid=marks.tsv >scores 2>err || fail "$(cat err)"
"$loam" eval runs/marks --task task.valid=numbers.tsv task.labels=bad,good >again 2>err || fail "$(cat err)"
cmp scores again || fail "named numbers: $(cat again)"
"$loam" eval hf-marks --task task.valid=numbers.tsv $text 'task.label={mark}' model.labels=0,1 >again 2>err || fail "$(cat err)"
cmp scores again || fail "renamed classes: $(cat again)"
expect 1 '"a,b,c" are 3 names, and the model has 2 classes (bad,good)' "$loam" eval hf-marks --task task.valid=numbers.tsv $text 'task.label={mark}' model.labels=a,b,c
printf 'bari koti\n' | "$loam" predict runs/marks --json model.labels=no,yes >out 2>err || fail "$(cat err)"
grep -q '"probabilities":{"no":' out || fail "$(cat out)"
# A label after the text is no second text of a task that reads one.
got=0
printf 'bari koti\tgood\n' | "$loam" predict runs/marks --raw >out 2>err || got=$?
[ "$got" = 1 ] && grep -q "line 1: a tab, and the model's task reads one text, not a pair" err || fail "$got $(cat out err)"
echo "ok: labels that the model does not know"

# A prepared set keeps the names of its classes and what is learnt of it; the model must have the same.
prepare() { "$loam" task prepare --out "$@" 2>err || fail "prepare: $(cat err)"; }
prepare data/marks base.yaml model.preset= $marks task.valid=20%
"$loam" inspect dataset data/marks >out 2>err && grep -qx 'labels of a classifier (sequence: bad,good), written as 7,[0-9]* of the tokens' out || fail "$(cat out err)"
prepared="data.train=data/marks data.objective=labels"
run run.dir=runs/prepared $prepared data.valid=data/marks-valid
grep -q 'classifier: sequence' runs/prepared/config.yaml && grep -q 'labels: bad,good' runs/prepared/config.yaml || fail "$(cat runs/prepared/config.yaml)"
run run.dir=runs/prepared $prepared data.valid=data/marks-valid train.length='3 steps'
run run.dir=runs/cut $prepared data.split=90,10
run run.dir=runs/mixed data.train=data/marks,data/marks-valid data.objective=labels
grep -q "data/marks: .* 1.[0-9]*k tokens" log || fail "tokens of notes are counted: $(cat log)"
expect 0 'accuracy' "$loam" eval runs/marks data.valid=data/marks-valid
refuse 'data/marks holds labels of a classifier (sequence: bad,good), and the model has the classes good,bad' $prepared model.labels=good,bad
# Datasets of earlier versions kept white space in names.
sed -i 's/bad,good/bad, good/' data/marks.json
grep -q 'bad, good' data/marks.json || fail 'no names in data/marks.json'
run run.dir=runs/spaced-names $prepared model.labels=bad,good
refuse 'and the model has model.classifier=tokens' $prepared model.classifier=tokens model.labels=bad,good
expect 1 'which data.objective=seq2seq does not read' "$loam" train t5.yaml data.train=data/marks data.objective=seq2seq data.input_length=48 data.target_length=80
"$loam" dataset shuffle --out data/shuffled data/marks >/dev/null 2>err && "$loam" inspect dataset data/shuffled --json >out 2>err || fail "$(cat err)"
grep -q '"labels":{"kind":"sequence","names":"bad,good"}' out || fail "a copy: $(cat out)"
prepare data/numbers base.yaml task.data=numbers.tsv $text 'task.label={mark}'
expect 1 'data/marks holds labels of a classifier (sequence: bad,good), data/numbers labels of a classifier (sequence: 0,1)' \
    "$loam" dataset merge --out data/all data/marks data/numbers
echo "ok: a prepared set keeps the names of its classes"

# The head of another kind is not kept, though its shape is the same.
awk -F'\t' '{ n = split($1, w, " "); for (i = 1; i <= n; i++) print w[i] " " (w[i] == "tuka" ? "B" : "O"); print "" }' marks.tsv >tags.conll
run run.dir=runs/tags task.data=tags.conll 'task.input={1}' task.tags=2 train.init=runs/marks
grep -q 'of a classifier of another kind (sequence, this one is tokens); initialised randomly: classifier, classifier.bias' log || fail "$(cat log)"
grep -q 'labels: B,O' runs/tags/config.yaml || fail "$(grep labels runs/tags/config.yaml)"
run run.dir=runs/again $marks train.init=runs/marks
! grep -q 'fresh' log || fail "$(cat log)"
echo "ok: a head of another kind starts fresh"

# Too little room, missing fields, lengths in time, a trace of nothing.
expect 1 'data.input_length: a sequence of 2 tokens has no room for a text beside 2 special tokens' \
    "$loam" eval runs/marks --task task.valid=marks.tsv data.input_length=2
printf '{"q": "bari", "a": "koti", "b": "mesa", "c": "loni", "l": 1}\n' >choice.jsonl
refuse "a choice's share of 4 tokens has no room for two texts beside 3 special tokens" task.data=choice.jsonl 'task.input={q}' task.choices=a,b,c \
    'task.label={l}' data.input_length=12
printf 'bari\n' >line
got=0
"$loam" predict runs/marks data.input_length=2 <line >out 2>err || got=$?
[ "$got" = 1 ] && grep -q 'no room for a text' err || fail "$got $(cat out err)"
printf '{"words": ["a"]}\n' >bare.jsonl
refuse 'bare.jsonl:1: no field "ner"' task.data=bare.jsonl 'task.input={words}' task.tags=ner
printf '{"q": "a", "text": "b"}\n' >bare.jsonl
refuse 'bare.jsonl:1: no field "found"' task.data=bare.jsonl 'task.input={q}' 'task.second={text}' task.answers=found
grep -v optim base.yaml >timed.yaml
"$loam" train timed.yaml run.dir=runs/timed $marks train.length='1s' 2>log || fail "a length in time: $(tail -n 1 log)"
expect 0 '--trace: trace.json is not written' "$loam" train base.yaml run.dir=runs/marks $marks task.valid=20% --trace trace.json
long='bari koti mesa loni dape gufi rano tive mosu kale'
printf '{"q": "%s %s", "text": "bari tuka", "a": [{"text": "tuka", "answer_start": 5}]}\n' "$long" "$long" >long.jsonl
run run.dir=runs/long task.data=long.jsonl 'task.input={q}' 'task.second={text}' task.answers=a data.input_length=20
grep -q '1 of 1 questions are longer than half of data.input_length=20' log || fail "$(cat log)"
grep -q 'long.jsonl: 1 examples, [12][0-9] tokens' log || fail "tokens of notes are counted: $(cat log)"
printf '{"q": "bari", "text": "bari tuka %s %s", "a": [{"text": "tuka", "answer_start": 5}]}\n' "$long" "$long" >windows.jsonl
run run.dir=runs/windows task.data=windows.jsonl 'task.input={q}' 'task.second={text}' task.answers=a data.input_length=20 task.stride=2
grep -q 'windows.jsonl: 1 examples ([2-9] sequences), ' log || fail "windows are no examples: $(cat log)"
# A missing cell of pandas is no text; quotes of its tables are told.
printf '{"text": "bari NaN", "mark": "bad"}\n{"text": "koti", "mark": NaN}\n{"text": "mesa", "mark": "good"}\n' >missing.jsonl
refuse 'missing.jsonl:2: the field "mark" is null' task.data=missing.jsonl 'task.input={text}' 'task.label={mark}'
printf 'text\tmark\n"bari ""tuka"" koti"\tgood\n"loni"\tbad\n' >quoted.tsv
expect 0 'quoted.tsv:2: cells are quoted as in CSV, and the quotes are read as text: task.quotes=true' \
    "$loam" task prepare base.yaml --out made --replace task.data=quoted.tsv 'task.input={text}' 'task.label={mark}'
for table in 'quoted.tsv task.quotes=true' 'quoted.tsv task.quotes=false' marks.tsv; do
    # shellcheck disable=SC2086
    "$loam" task prepare base.yaml --out made --replace $text 'task.label={mark}' task.header=true task.data=$table >out 2>err || fail "$(cat err)"
    ! grep -q 'are quoted' err || fail "$(cat err)"
done
"$loam" inspect batch runs/long --samples 1 --json >out 2>err && grep -q '"span":\[[1-9][0-9]*,[1-9]' out || fail "$(cat out err)"
printf '{"text": "bari", "score": -1.5}\n' >value.jsonl
run run.dir=runs/value task.data=value.jsonl 'task.input={text}' 'task.value={score}'
"$loam" inspect batch runs/value --samples 1 --json >out 2>err && grep -q '"value":-1.5' out || fail "$(cat out err)"
# Numbers are those of Python's float, as in the scores.
printf '{"text": "bari", "score": "%s"}\n' much 0x10 nan ' 2 ' 1_000 >value.jsonl
run run.dir=runs/values task.data=value.jsonl 'task.input={text}' 'task.value={score}' task.on_error=skip
for row in '1: "much"' '2: "0x10"' '3: "nan"'; do grep -q "left out: value.jsonl:$row is not a number" log || fail "$row: $(cat log)"; done
grep -q 'value.jsonl: 2 examples' log || fail "$(cat log)"
echo "ok: one line for each"

# Weights of classes that balance them; label smoothing.
run run.dir=runs/balanced $marks train.class_weights=balanced
grep -q 'weights of the classes: bad 0.6 (of 200), good 3 (of 40)' log || fail "$(cat log)"
run run.dir=runs/given $marks train.class_weights=0.6,3
cmp runs/balanced/checkpoints/latest/weights-*.safetensors runs/given/checkpoints/latest/weights-*.safetensors || fail "other weights of classes"
run run.dir=runs/plain $marks
accuracies() { sed -n 's/.*"kind":"train".*"accuracy":\([0-9.e-]*\).*/\1/p' "runs/$1/metrics.jsonl" | sed -n 1p; }
[ "$(accuracies given)" = "$(accuracies plain)" ] || fail "weights of classes change the accuracy: $(accuracies given), $(accuracies plain)"
run run.dir=runs/smooth $marks train.label_smoothing=0.1
! cmp -s runs/smooth/checkpoints/latest/weights-*.safetensors runs/plain/checkpoints/latest/weights-*.safetensors || fail "label smoothing is ignored"
refuse 'set one of them' $marks train.label_smoothing=0.1 train.class_weights=balanced
refuse 'has no classes to spread it over' task.data=value.jsonl 'task.input={text}' 'task.value={score}' train.label_smoothing=0.1

# -1 and -100 are no labels, unless the classes have them; a run says how many of each class it trains on.
awk -F '\t' 'NR % 5 == 0 { $2 = NR % 2 ? -1 : -100 } { print $1 "\t" $2 }' numbers.tsv >holes.tsv
holes="task.data=holes.tsv $text task.label={mark}"
refuse 'holes.tsv:5: it has no label: -1 and -100 mean none' $holes
run run.dir=runs/holes $holes task.on_error=skip task.valid=numbers.tsv
grep -q 'labels to train on: 0 160, 1 32' log || fail "$(cat log)"
"$loam" eval runs/holes --task task.valid=holes.tsv --out holes.jsonl >out 2>err || fail "$(cat err)"
grep -q '48 of 240 examples have no right answer: they are predicted, not scored' err || fail "$(cat err)"
"$loam" scores holes.jsonl 2>err | cmp - out || fail "scores of the file: $(cat err)"
run run.dir=runs/named $holes model.labels=-100,-1,0,1
grep -q 'labels to train on: -100 24, -1 24, 0 160, 1 32' log || fail "$(cat log)"
awk -F '\t' '{ n = split($1, w, " "); q = t = ""; for (i = 1; i <= n; i++) { q = q (i > 1 ? "," : "") "\"" w[i] "\""; t = t (i > 1 ? "," : "") (i == 2 ? "\"-100\"" : w[i] == "tuka" ? "\"B-A\"" : "\"O\"") } print "{\"w\": [" q "], \"t\": [" t "]}" }' marks.tsv >tags.jsonl
run run.dir=runs/untagged task.data=tags.jsonl task.valid=tags.jsonl 'task.input={w}' task.tags=t
grep -q 'labels to train on: B-A 40, O 720' log || fail "$(cat log)"
"$loam" eval runs/untagged --task --out tags.out.jsonl >out 2>err || fail "$(cat err)"
"$loam" scores tags.out.jsonl 2>err | cmp - out || fail "scores of the file: $(cat err)"
[ "$(grep -c '"graded_references"' tags.out.jsonl)" = 240 ] || fail "$(head -n 1 tags.out.jsonl)"
# Two spellings of a class, and a row of names.
sed 's/bad/Good/;3s/Good/bad/' marks.tsv >spelt.tsv
refuse 'are "Good" and "good" one class?' task.data=spelt.tsv $text 'task.label={mark}'
run run.dir=runs/spelt task.data=spelt.tsv $text 'task.label={mark}' model.labels=Good,good,bad
# So are names that only look different: other spaces, characters without width, accents apart.
for name in 'goo\xc2\xa0d' 'goo  d' 'goo d\xe3\x80\x80' '\xef\xbb\xbfgoo d' 'goo\xe2\x80\x8bd' '\xef\xbd\x87oo d'; do
    { printf 'bari\tgoo d\nkoti\tbad\nmesa\t'"$name"'\n'; } >alike.tsv
    refuse 'one class? Labels may not differ only in case, white space' task.data=alike.tsv $text 'task.label={mark}'
done
printf 'bari\tgoo d\nkoti\tbad\nmesa\tgoo\xc2\xa0d\nloni\tgood\n' >alike.tsv
refuse 'are "goo d" and "goo[U+00A0]d" one class?' task.data=alike.tsv $text 'task.label={mark}'
printf 'bari\tcaf\xc3\xa9\nkoti\tbad\nmesa\tcafe\xcc\x81\n' >alike.tsv
refuse 'are "cafe[U+0301]" and "café" one class?' task.data=alike.tsv $text 'task.label={mark}'
printf 'bari\tgoo\xe2\x80\x8bd\nkoti\tbad\nmesa\tgood\n' >alike.tsv
refuse 'are "good" and "goo[U+200B]d" one class?' task.data=alike.tsv $text 'task.label={mark}'
flag='\xf0\x9f\x8f\xb4\xf3\xa0\x81\xa7\xf3\xa0\x81\xa2\xf3\xa0\x81'
printf 'bari\t'$flag'\xa5\nkoti\t'$flag'\xb3\n' >flags.tsv # they differ in tags
run run.dir=runs/flags task.data=flags.tsv $text 'task.label={mark}' train.length="1 steps"
printf 'text,spam\nhello mum,ham\nbuy now,spam\n' >spam.csv
printf '{"text": "buy now", "spam": "spam"}\n{"text": "hello mum", "spam": "ham"}\n' >spam.jsonl
printf 'text\tmark\nbari\tbad\n' >run.tsv
# A row of names, for models that write as well; if only some cells are names, a line asks. A class may be called as its column.
for family in base t5; do
    made=("$loam" task prepare $family.yaml --out made --replace 'task.label={mark}' $text)
    { printf 'Text\tMark\n' && cat marks.tsv; } >headed.tsv
    expect 1 'headed.tsv:1: the cells are "text, mark", as the columns are called' "${made[@]}" task.data=headed.tsv
    expect 0 'headed.tsv: 240 examples' "${made[@]}" task.data=headed.tsv task.header=true
    expect 0 'run.tsv: 2 examples' "${made[@]}" task.data=run.tsv task.header=false
    { printf 'sentence\tMark\n' && cat marks.tsv; } >headed.tsv
    expect 0 'headed.tsv:1: a cell is called as its column (text, mark): if this row is the names of the columns, give task.header=true' \
        "${made[@]}" task.data=headed.tsv
    for data in spam.csv spam.jsonl; do
        expect 0 'target  spam' "$loam" task show $family.yaml task.data=$data 'task.input={text}' 'task.label={spam}' --n 9
    done
done
# An empty cell of a column without a name is no name.
sed 's/\t/\t\t/' marks.tsv >unnamed.tsv
"${made[@]}" task.data=unnamed.tsv task.columns=text,,mark >out 2>&1 && ! grep -q 'called as' out || fail "$(cat out)"
expect 1 'run.tsv:1: the cells are "text, mark"' "$loam" eval runs/marks --task task.valid=run.tsv
echo "ok: labels that mean none, alike, and of a header"

# Other names for a model's classes: each class keeps its place, and no name goes to another class.
moved='the model'"'"'s classes are bad,good in this order, and its class'
for model in runs/marks hf-marks; do
    for names in good,bad good,other; do
        expect 1 "$moved bad would be called good" "$loam" predict $model --raw model.labels=$names
        expect 1 "$moved bad would be called good" "$loam" eval $model --task $marks task.valid=marks.tsv model.labels=$names
        refuse "$moved bad would be called good" train.init=$model $marks model.labels=$names
    done
    expect 0 "the model's classes get other names: bad -> poor, good -> rich" "$loam" predict $model --raw model.labels=poor,rich
    expect 0 "the model's classes get other names: good -> rich" "$loam" predict $model --raw model.labels=bad,rich
done
expect 1 "$moved bad would be called good" "$loam" train runs/marks run.dir=runs/moved train.init=runs/marks model.labels=good,bad
sed 's/\tgood/\trich/' marks.tsv >rich.tsv
run run.dir=runs/rich train.init=runs/marks ${marks/marks.tsv/rich.tsv} model.labels=bad,rich
grep -q "the model's classes get other names: good -> rich" log || fail "$(cat log)"
echo "ok: other names of classes"

# A tokenizer that has more ids than the model has embeddings is refused before the first text, by every verb.
cp -r hf-marks more && rm -f more/tokenizer.json
for i in $(seq 200); do printf '\nmore%d' "$i"; done >>more/vocab.txt
for verb in 'predict more --raw' 'embed --model more' 'generate --model more' 'export more --to hf --out more-hf'; do
    expect 1 'more has 128 embedding rows, the tokenizer more/vocab.txt has 261 ids' "$loam" $verb
done

# Comments and words of several tokens of CoNLL-U; elsewhere a line that begins with # is a word.
printf '# sent_id = 1\n# text = du pain\n1-2\tdu\t_\n1\tde\tA\n2\tle\tB\n\n# x\n1\tpain\tA\n1.1\tx\tB\n2\t#\tB\n\n' >universal.conllu
printf '# NN A\nb NN B\n\n# id = 4\nc NN A\n' >plain.conll
"$loam" task show base.yaml task.data=universal.conllu task.format=conll 'task.input={2}' task.tags=3 --n 9 >out 2>err || fail "$(cat err)"
grep -q 'de le' out && grep -q 'pain #' out && ! grep -q 'du\|text\| x' out || fail "$(cat out)"
"$loam" task show base.yaml task.data=plain.conll task.format=conll 'task.input={1}' task.tags=3 --n 9 >out 2>err || fail "$(cat err)"
grep -q '# b' out && ! grep -q 'id' out || fail "$(cat out)"
# If the run's copy of its examples is gone, it is made again; without the table the run stays as it is, and with another one.
rm -r runs/plain/task
cp -r runs/plain runs/taken && rm runs/taken/config.yaml && mkdir runs/taken/task && touch runs/taken/task/train.bin
# shellcheck disable=SC2086
expect 1 'another process is training in runs/taken' flock runs/taken/lock "$loam" train base.yaml run.dir=runs/taken $marks train.length='3 steps'
[ -e runs/taken/task/train.bin ] || fail "a start that is refused removes the examples that another process makes"
cp marks.tsv kept.tsv; rm marks.tsv
# shellcheck disable=SC2086
expect 1 'runs/plain/task/train, the examples that the run read at its start, is gone and cannot be made again: ' "$loam" train base.yaml \
    run.dir=runs/plain $marks train.length='3 steps'
sed 's/mesa/loni/' kept.tsv >marks.tsv
# shellcheck disable=SC2086
"$loam" train base.yaml run.dir=runs/plain $marks train.length='3 steps' 2>log && fail "it goes on with other examples"
grep -q '^loam train: .* was trained on other data than .*marks.tsv holds now' log || fail "$(cat log)"
[ -z "$(ls runs/plain/task)" ] || fail "the other examples stay in the run: $(ls runs/plain/task)"
mv kept.tsv marks.tsv
# shellcheck disable=SC2086
"$loam" train base.yaml run.dir=runs/plain $marks train.length='3 steps' task.input='x {1}' 2>log && fail "it goes on with other inputs"
grep -q 'is a run with task.input: ' log && [ -z "$(ls runs/plain/task)" ] || fail "$(ls runs/plain/task; cat log)"
run run.dir=runs/plain $marks train.length='3 steps'
grep -q 'runs/plain/task/train is gone: it is made again from task.data' log || fail "$(cat log)"
# The examples of a run are those of its start, which a changed table or another one says.
sed 's/mesa/loni/' marks.tsv >changed.tsv && cp changed.tsv marks.tsv
run run.dir=runs/plain $marks train.length='3 steps'
grep -q 'goes on with the examples that it read at its start (runs/plain/task/train), not with marks.tsv as it is now' log || fail "$(cat log)"
# A change is said once. The label nan is no number, and neither is 01 the class of the number 1.
run run.dir=runs/plain $marks train.length='4 steps' train.class_weights=balanced
[ "$(grep -c 'train.class_weights changed from' log)" = 1 ] || fail "$(grep changed log)"
printf 'text,y\na,1\nb,nan\nc,0\nd,-neg\n' >nan.csv
"$loam" task prepare base.yaml --out nan task.data=nan.csv 'task.input={text}' 'task.label={y}' >out 2>err || fail "$(cat err)"
grep -q '0,1,-neg,nan' nan.json || fail "$(cat nan.json)"
for label in 01 +1 ' 1' -0; do
    printf 'text,y\na,%s\nb,1\nc,0\n' "$label" >zeros.csv
    expect 1 "\"$label\" is none of the labels" "$loam" task prepare base.yaml --out zeros task.data=zeros.csv 'task.input={text}' 'task.label={y}' task.labels=neg,pos
done
# The lengths that a GPT has by default are cut to its positions, half of them for the answer.
gpt="model.family=gpt model.n_enc=0 model.n_dec=1 model.position=learned model.max_positions=40"
sed '/^data:/d; s/data: .*//; s/family: bert, n_enc: 1, //; s/position: learned, max_positions: 64, token_types: 2, //' base.yaml >gpt.yaml
# shellcheck disable=SC2086
"$loam" plan gpt.yaml run.dir=runs/gpt $gpt task.data=marks.tsv $text 'task.target={mark}' --options >out 2>err || fail "$(cat err)"
grep -q 'input_length: 40' out && grep -q 'target_length: 20' out || fail "$(grep length out)"
# A score of a label that nothing has is 0.
printf '{"prediction": "a", "reference": "a"}\n' >same.jsonl
expect 0 'warning: f1: nothing is labelled "1", so the score is 0' "$loam" scores f1 same.jsonl
grep -q ' 0.0000' out || fail "$(cat out)"
echo "ok: CoNLL-U, changed tables, labels that nothing has"

# A comma and a backslash in the name of a class: trained on, kept by the export and by its import, scored, predicted.
awk -F '\t' '{ print $1 "\t" ($2 == "good" ? "yes, \\good" : "no, bad") }' marks.tsv >commas.tsv
commas="task.data=commas.tsv $text task.label={mark}"
run run.dir=runs/commas $commas
grep -qF 'labels to train on: no, bad 200, yes, \good 40' log || fail "$(grep 'labels to' log)"
"$loam" export runs/commas --to hf --out commas-hf >/dev/null 2>&1
grep -qF '"0": "no, bad"' commas-hf/config.json && grep -qF '"1": "yes, \\good"' commas-hf/config.json || fail "$(grep -A3 id2label commas-hf/config.json)"
echo 'tuka bari' | "$loam" predict runs/commas --json 2>err | grep -qE '"(no, bad|yes, \\\\good)"' || fail "$(cat err)"
"$loam" eval commas-hf --task task.valid=commas.tsv $text task.label={mark} >/dev/null 2>err || fail "$(cat err)"
grep -q 'labels: .*no\\\\*, bad,yes\\\\*, ' runs/commas/config.yaml || fail "$(grep labels: runs/commas/config.yaml)"
echo "ok: names of classes with commas"

# Columns of choices that are called by numbers: a label that is the name of one and the number of another is refused.
printf 'q,1,2,right\na,b,c,1\nd,e,f,2\n' >numbered.csv
choose="task.data=numbered.csv task.input={q} task.choices=1,2 task.label={right}"
refuse 'numbered.csv:2: the label "1" is the number of one choice, from 0, and the name of another' $choose
sed 's/,1$/,0/; s/,2$/,0/; 1s/.*/q,1,2,right/' numbered.csv >zeros.csv
"$loam" task show base.yaml model.classifier=choice $choose task.data=zeros.csv --n 2 >out 2>err || fail "$(cat err)"
[ "$(grep -c 'target  0' out)" = 2 ] || fail "$(cat out)"
# Empty choices at the end are none; others need a text.
printf 'q,a,b,c,right\ne,bari,mesa,,1\nf,bari,mesa,koti,2\n' >fewer.csv
choose="task.input={q} task.choices=a,b,c task.label={right}"
"$loam" task show base.yaml model.classifier=choice $choose task.data=fewer.csv --n 2 >out 2>err || fail "$(cat err)"
[ "$(grep -c '^  2       ' out)" = 1 ] || fail "an empty choice: $(cat out)"
printf 'q,a,b,c,right\ne,bari,,mesa,0\n' >gap.csv
refuse 'gap.csv:2: choice 1 (from 0) is empty, and there are choices after it' $choose task.data=gap.csv
sed 's/,,1/,,2/' fewer.csv >none.csv
refuse 'none.csv:2: the label "2" names none of the 2 choices, want 0 to 1' $choose task.data=none.csv
# Tags without a hyphen: ORG would be outside of every entity, EVENT the end of one.
printf 'Ada ORG\nof O\n\nthe O\nfair EVENT\n\n' >plain.conll
tags="task.data=plain.conll task.input={1} task.tags=2"
refuse 'task.scores=seqeval reads the tag EVENT as E and the type VENT: write B- and I- before a type, and O for a word outside, or give task.scores=accuracy' $tags task.valid=plain.conll
run run.dir=runs/plain-tags $tags task.valid=plain.conll task.scores=accuracy train.eval_every='2 steps'
sed 's/ORG/NOUN/; s/EVENT/VERB/' plain.conll >words.conll
refuse 'do not begin with B, I, E, S or O, as those of entities do; the score accuracy takes any tags' $tags task.data=words.conll task.valid=words.conll
# A model that writes tags writes all of a sentence, not the first one; a number's scores are those of numbers.
writes="model.family=t5 task.data=plain.conll task.input={1}"
refuse 'task.tags=2: the model writes its answer (a T5, a GPT), and only a classifier takes this option; a text of all tags' $writes task.tags=2
refuse 'plain.conll:1: the target "{2}" is the list of a sentence' $writes 'task.target={2}'
"$loam" task show base.yaml $writes 'task.target=tags: {2}' --n 1 >out 2>err && grep -q 'target  tags: ORG, O$' out || fail "$(cat out err)"
printf 'text,price\na,1\nb,3\n' >small.csv
sed '/^model:/d' base.yaml >t5.yaml
"$loam" train t5.yaml run.dir=runs/t5-value $t5 task.data=small.csv task.valid=small.csv 'task.input={text}' 'task.value={price}' train.eval_every='2 steps' 2>log || fail "$(tail -n 1 log)"
grep -q 'step 2  pearson ' log || fail "$(cat log)"
# One class, written as two numbers; a class that no example to train on has.
printf 'text,y\na,1\nb,1.0\nc,0\n' >twice.csv
refuse 'are "1" and "1.0" one class?' task.data=twice.csv 'task.input={text}' 'task.label={y}'
printf 'text,y\na,12345678901234567\nb,12345678901234568\n' >ids.csv
run run.dir=runs/ids task.data=ids.csv 'task.input={text}' 'task.label={y}'
printf 'text,y\na,bad\nb,bad\n' >half.csv
expect 0 'warning: no example to train on has the label good' "$loam" train base.yaml run.dir=runs/half train.init=runs/marks task.data=half.csv 'task.input={text}' 'task.label={y}'
# Answers that are longer than the longest span, and values that are far from what a head begins with.
awk 'BEGIN { for (i = 0; i < 31; i++) { a = a (i ? " " : "") "bari"; } printf "{\"q\": \"q\", \"t\": \"tuka %s\", \"a\": [{\"text\": \"%s\", \"answer_start\": 5}]}\n", a, a }' >long.jsonl
expect 0 'long.jsonl: 1 answers have more than 30 tokens, and a prediction has at most so many' "$loam" train base.yaml run.dir=runs/spans task.data=long.jsonl 'task.input={q}' 'task.second={t}' task.answers=a
printf 'text,price\na,1000\nb,3000\n' >prices.csv
expect 0 'a column (value - 2000) / 1000 is learnt faster' "$loam" train base.yaml run.dir=runs/prices task.data=prices.csv 'task.input={text}' 'task.value={price}'
grep -q 'prices.csv: values from 1000 to 3000, mean 2000, standard deviation 1000$' err || fail "$(cat err)"
echo "ok: ambiguous choices, plain tags, numbers that are one class, absent classes, long answers, large values"

# A folder, what loam import makes of it, and a checkpoint alone read as much of a long text as the run that they come
# from, and as long as other folders say, else as by default with a head, not as in pre-training.
sed 's/max_positions: 64/max_positions: 400/; /^data:/d' base.yaml >long.yaml
awk 'BEGIN { for (i = 1; i <= 420; i++) printf "%s ", i % 7 ? "koti" : "tuka"; print "" }' >long.txt
answers() { "$loam" predict "$@" --json <long.txt 2>err || fail "predict $*: $(cat err)"; }
for length in 256 60 300; do
    options=()
    [ $length = 256 ] || options=(data.input_length=$length)
    "$loam" train long.yaml run.dir=runs/long$length $marks task.valid=20% "${options[@]}" 2>log || fail "$(tail -n 3 log)"
    "$loam" export runs/long$length --to hf --out hf-long$length >/dev/null 2>err || fail "$(cat err)"
    "$loam" import hf-long$length --out imported$length >/dev/null 2>err || fail "$(cat err)"
    answers runs/long$length >want
    grep -q "longer than data.input_length=$length" err || fail "a run that truncates at $length: $(cat err)"
    for folder in hf-long$length imported$length; do
        answers $folder --raw >got
        cmp want got || fail "$folder answers otherwise than its run: $(cat err)"
    done
    grep -q "^imported$length lies in no run, so data.* are the defaults of its head, except those that are given: data.objective=labels, data.input_length=$length\$" err || fail "$(cat err)"
done
answers runs/long256 >want
sed -i 's/"model_max_length": *[0-9]*/"model_max_length":1000000000000000019884624838656/' hf-long256/tokenizer_config.json
answers hf-long256 --raw | cmp - want || fail "without model_max_length: $(cat err)"
answers hf-long256 --raw data.input_length=60 >got
grep -q 'longer than data.input_length=60' err || fail "data.input_length given: $(cat err)"
echo "ok: models with a head in no run read as much as their runs"

# Columns by number only: whether a table begins with names is asked, not guessed, except where the numbers are names.
printf 'r1\tbari koti\tbad\nr2\ttuka mesa\tgood\nr3\tloni\tbad\n' >bare.tsv
numbers="task.data=bare.tsv task.input={2} task.label={3}"
says='bare.tsv: the task names columns by number, so the first line (r1, bari koti, bad) may be their names or data: give task.header=true if it is names, task.header=false if it is data'
refuse "$says" $numbers
expect 1 "$says" "$loam" task show base.yaml $numbers
expect 1 "$says" "$loam" eval runs/marks --task $numbers task.columns= task.valid=bare.tsv
"$loam" task show base.yaml $numbers task.header=false >out 2>err && grep -q 'input   bari koti' out || fail "$(cat out err)"
"$loam" task show base.yaml $numbers task.header=true >out 2>err && ! grep -q 'input   bari koti' out || fail "$(cat out err)"
printf '3\t1\t2\ngood\tr1\ttuka mesa\nbad\tr2\tloni\n' >named.tsv
"$loam" task show base.yaml $numbers task.data=named.tsv >out 2>err && grep -q 'input   tuka mesa' out && grep -q 'target  good' out ||
    fail "names that are numbers: $(cat out err)"
# Options that are no templates take the name of a field without braces.
for option in tags answers references cut_field; do
    case $option in references | cut_field) target="model.family=t5 task.target={mark}" ;; *) target= ;; esac
    refuse "task.$option={mark}: this option is no template, write the name of the field alone: mark" task.data=marks.tsv $text $target "task.$option={mark}"
done
refuse 'task.choices={a},{b}: this option is no template, write the name of the field alone: a' task.data=marks.tsv $text 'task.choices={a},{b}' 'task.label={mark}'
# Only a classifier of texts or tags has weights of its classes.
refuse 'train.class_weights: "balanced": only a classifier of texts or tags has classes to weigh (model.classifier=sequence or tokens), and this model has model.classifier=none: leave it out' \
    model.family=t5 task.data=marks.tsv $text 'task.target={mark}' train.class_weights=balanced
echo "ok: columns by number, names without braces, weights of classes that a model does not have"
