# Fine-tuning: from a table to a run, its scores and its predictions; resumed, from other models, mixed with another task.
. tests/cli/lib.sh "$1"
cd "$work" # relative paths of the run's data must do
make_marks
cat >config.yaml <<YAML
run: { dir: runs/a, seed: 7 }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
task: { data: marks.tsv, valid: 20%, input: "mark: {text}", target: "{mark}", scores: "accuracy,f1", positive: good }
data: { input_length: 32, target_length: 16 }
train: { length: 160 steps, batch: 16 samples, micro_batch: 8 samples, log_every: 10 steps, eval_every: 0 steps, threads: 1 }
optim: { name: adamw, lr: 5e-3, schedule: constant, warmup: 0 steps }
YAML
"$loam" train config.yaml 2>log || fail "train: $(tail -n 3 log)"
grep -q 'marks.tsv, held out: [0-9]* examples' log || fail "$(cat log)"
grep -q '^labels to train on: bad 1[0-9]*, good 1[0-9]*$' log || fail "$(cat log)"
echo "ok: one command trains on a table"

"$loam" eval runs/a --task --out predictions.jsonl >scores 2>err || fail "eval: $(cat err)"
held_out=$(sed -n 's/.*held out: \([0-9]*\) examples.*/\1/p' log)
[ "$(wc -l <predictions.jsonl)" = "$held_out" ] || fail "$(wc -l <predictions.jsonl) predictions of $held_out"
"$loam" scores accuracy,f1 --positive good predictions.jsonl >again 2>err || fail "scores: $(cat err)"
cmp scores again || fail "other scores: $(cat again)"
awk '/^accuracy/ { exit !($3 > 90) }' scores || fail "it learned little: $(cat scores)"
echo "ok: its scores are those of its predictions: $(head -n 1 scores)"
# White space around a label, which the tokenizer drops, makes no other label.
sed 's/\tgood/\t good /' marks.tsv >spaced.tsv
"$loam" eval runs/a --task task.data=spaced.tsv 2>err | cmp - scores || fail "white space counts: $(cat err)"
"$loam" eval runs/a --task --rank sum task.valid=spaced.tsv >out 2>err && ! grep -q 'labels compared' err || fail "white space makes an unlisted answer: $(cat err)"

# A field that is shorter than what must go leaves the whole input to be cut, and the warning says so.
awk 'BEGIN {
    long = "tuka koti mesa loni dape gufi rano tive mosu kale bari koti mesa loni dape gufi rano tive"
    for (i = 0; i < 3; i++)
        printf "{\"q\": \"bari\", \"c\": \"%s\", \"a\": \"bad\"}\n", long >"short.jsonl"
    printf "{\"q\": \"%s %s\", \"c\": \"bari\", \"a\": \"bad\"}\n", long, long >"long.jsonl"
}'
cat short.jsonl long.jsonl >both.jsonl
for case in 'short:{q} is shorter than what must go, so the whole input loses its end;' 'long:{q} loses its end;' \
    'both:{q} loses its end; where it is shorter than what must go (3 inputs), the whole input does;'; do
    expect 0 "tokens included): the field ${case#*:} task.cut_field" "$loam" task prepare config.yaml --replace --out cut/all \
        task.data="${case%%:*}.jsonl" task.valid= 'task.input=q: {q} c: {c} end' 'task.target={a}' task.cut_field=q \
        task.positive= task.scores=accuracy data.input_length=24
done

# Held-out inputs that are trained on are counted: in the run's dataset, and when two tables become datasets.
"$loam" eval runs/a --task task.valid=60% >out 2>err || fail "$(cat err)"
more=$(sed -n 's/.*marks.tsv: \([0-9]*\) examples answered/\1/p' err)
grep -q "marks.tsv: $((more - held_out)) of $more held-out inputs are trained on" err || fail "$held_out of them were held out: $(cat err)"
"$loam" eval runs/a --task >out 2>err && ! grep -q 'trained on' err || fail "$(cat err)"
# Texts of which only an equal start is left are other texts.
"$loam" train config.yaml run.dir=runs/cut train.length="1 steps" data.input_length=8 'task.input=mari mari mari mari mari mari {text}' \
    >out 2>err || fail "$(cat err)"
"$loam" eval runs/cut --task >out 2>err && grep -q 'are longer than' err && ! grep -q 'trained on' err || fail "$(cat err)"
{ cat marks.tsv && printf 'loni\tghost\t0\n'; } | awk 'NR < 11 || /ghost/' >part.tsv
prepared=("$loam" task prepare config.yaml --replace --out cut/all task.scores=accuracy task.positive=)
expect 0 'part.tsv: 9 of 10 held-out inputs are trained on' "${prepared[@]}" task.valid=part.tsv
expect 0 'part.tsv: 1 of 10 right answers are none of the 2 that are trained on' "${prepared[@]}" task.valid=part.tsv
"${prepared[@]}" >out 2>err && ! grep -q 'trained on\|one answer\|no model' err || fail "$(cat err)"
# Examples that contradict others are counted: in datasets, and by show, which counts held-out ones that are trained on, too.
{ cat marks.tsv && sed -n '2s/good/bad/p' marks.tsv; } >against.tsv
{ cat against.tsv && awk 'BEGIN { for (i = 0; i < 99; i++) print "koti " i "\tbad\t0\nkoti " i "\tgood\t0" }'; } >more.tsv
against=' examples have a text that others have with another label'
expect 0 "against.tsv: 2 of 401$against" "${prepared[@]}" task.data=against.tsv task.valid=
! grep -q 'no model can be right' err || fail "$(cat err)"
expect 0 "warning: more.tsv: 200 of 599$against, so no model can be right about all of them" "${prepared[@]}" task.data=more.tsv task.valid=
expect 0 "more.tsv: 200 of 599$against" "$loam" task show config.yaml task.data=more.tsv task.valid=part.tsv
grep -q 'part.tsv: 9 of 10 held-out inputs are trained on' err || fail "$(cat err)"
expect 0 "more.tsv: 200 of 599$against" "$loam" task show task.data=more.tsv 'task.input={text}' 'task.label={mark}'
expect 0 'input' "$loam" task show config.yaml
[ ! -s err ] || fail "$(cat err)"
mkdir official && printf 'sentence\tlabel\nbari\t1\n' >official/dev.tsv # without the file to train on
expect 0 'target  positive' "$loam" task show task.name=sst2 task.data=official --valid
expect 1 'cannot open official/train.tsv' "$loam" task show task.name=sst2 task.data=official
# Answers that look alike, that the tokenizer does not know (it has no capitals), and several of one example.
sed '9s/bad/BAD/' marks.tsv >spelt.tsv
expect 0 'spelt.tsv: are "BAD" and "bad" one answer?' "${prepared[@]}" task.data=spelt.tsv task.valid=
grep -q 'spelt.tsv: 1 of 400 targets have characters that the tokenizer does not know, so no model can write them, such as "BAD"' err || fail "$(cat err)"
sed 's/\tgood/\tba  d/' marks.tsv >gap.tsv
expect 0 'gap.tsv: the tokenizer makes "ba d" of the answer "ba  d", so no model can write it' "${prepared[@]}" task.data=gap.tsv task.valid=
printf '{"text": "bari", "mark": ["bad", "good"]}\n{"text": "koti", "mark": ["bad"]}\n' >lists.jsonl
expect 0 'lists.jsonl: 1 examples have several right answers, of which the first is trained on' "${prepared[@]}" task.data=lists.jsonl task.valid=
# A table with answers of another spelling, the first rows of a table.
sed 's/\tgood/\tfine/' marks.tsv >other.tsv
expect 0 'other.tsv: 200 of 400 predictions are none of the 2 right answers of the file, such as "good"' "$loam" eval runs/a --task task.valid=other.tsv task.scores=accuracy
sed '2,41s/\tbad/\t/' other.tsv >holes.tsv # of 20 no answer is known
expect 0 'holes.tsv: 200 of 380 predictions are none of the 2 right answers' "$loam" eval runs/a --task task.valid=holes.tsv task.scores=accuracy
expect 1 'several tables of the same columns are first joined to one file: marks.tsv,other.tsv: two columns are called "tsv"' \
    "$loam" eval runs/a --task task.valid=marks.tsv,other.tsv
# A list in YAML is what a text with commas is: the columns of one table, and not several tables.
printf 'task: { data: [marks.tsv, other.tsv], input: "{text}", target: "{mark}" }\n' >several.yaml
expect 1 'several tables of the same columns are first joined to one file: marks.tsv,other.tsv' "$loam" task show several.yaml
cut -f 1 marks.tsv >part.text && cut -f 2 marks.tsv >part.mark
expect 0 'target  mark' "$loam" task show several.yaml task.data=part.text,part.mark
sed 's/\[.*\]/[part.text, part.mark]/' several.yaml >columns.yaml
"$loam" task show columns.yaml 2>err | cmp - out || fail "$(cat err)"
# A comma in the name of one file, and white space, are its own.
cp marks.tsv 'my, marks.tsv'
expect 0 'target  good' "$loam" task show several.yaml 'task.data=my, marks.tsv'
printf 'task: { data: ["my, marks.tsv"], input: "{text}", target: "{mark}" }\n' >spaced.yaml
"$loam" task show spaced.yaml 2>err | cmp - out || fail "$(cat err)"
expect 0 'marks.tsv: the first 9 examples answered' "$loam" eval runs/a --task task.valid=marks.tsv --samples 9
awk 'BEGIN { print "text\tmark\tnumber"; for (i = 0; i < 262145; i++) print "bari tuka\tgood\t" i }' >many.tsv
printf 'text\tmark\tnumber\nbari tuka\tgood\t1\nkoti\tbad\t2\n' >few.tsv
expect 0 'many.tsv: 262,144 of the first 262,144 held-out inputs are trained on' "${prepared[@]}" task.data=few.tsv task.valid=many.tsv
TERM=xterm script -qec "$loam task show config.yaml task.data=many.tsv task.valid= --n 1" /dev/null </dev/null >out
grep -q 'reading .*examples' out || fail "no progress on a terminal: $(head -c 500 out)"

# A line counts right answers that --rank does not compare, as its labels come from the examples to train on. Some scores see more
# than equal texts: SQuAD's F1 counts a word that an answer shares with the right one.
printf '{"text": "bari tuka", "mark": "ghost"}\n{"text": "bari koti", "mark": "bad"}\n' >ghost.jsonl
expect 0 'ghost.jsonl: 1 of 2 right answers are none of the 2 labels compared' "$loam" eval runs/a --task --rank sum task.valid=ghost.jsonl task.scores=accuracy
printf '{"text": "bari tuka", "mark": "good ghost"}\n{"text": "bari koti", "mark": "bad ghost"}\n' >ghost.jsonl
expect 0 '2 of 2 right answers are none of the 2 labels compared, so the model cannot give them; task.labels' \
    "$loam" eval runs/a --task --rank sum task.valid=ghost.jsonl task.scores=squad
awk '$1 == "f1" && $2 > 60 { found = 1 } END { exit !found }' out || fail "$(cat out)"
expect 0 'accuracy' "$loam" eval runs/a --task --rank sum
! grep -q 'labels compared' err || fail "$(cat err)"

# Predictions that are there are not made again: a torn file goes on and ends with the same bytes; one of other answers stays.
cp predictions.jsonl before.jsonl
head -c 1700 before.jsonl >predictions.jsonl
"$loam" eval runs/a --task --out predictions.jsonl >again 2>err || fail "$(cat err)"
cmp before.jsonl predictions.jsonl && cmp scores again && grep -q 'predictions.jsonl has [1-9][0-9]* answers: going on after them' err || fail "$(cat err)"
sed 's/"prediction":"[a-z]*"/"prediction":"bad"/' before.jsonl >changed.jsonl
cp changed.jsonl predictions.jsonl
"$loam" eval runs/a --task --out predictions.jsonl >again 2>err || fail "$(cat err)"
awk '/^accuracy/ { exit !($3 < 70) }' again && cmp changed.jsonl predictions.jsonl || fail "stored predictions were not used: $(cat again)"
for other in 'task.target=it is {mark}' data.target_length=12; do
    expect 1 "predictions.jsonl:1 is not this model's answer to line 1 of" "$loam" eval runs/a --task --out predictions.jsonl "$other"
done
expect 1 "predictions.jsonl:1 is not this model's answer to line 1 of" "$loam" eval runs/a --task --out predictions.jsonl --beams 2
cmp changed.jsonl predictions.jsonl || fail "predictions were written over"
cp before.jsonl predictions.jsonl
echo "ok: predictions are gone on with"

printf 'bari tuka koti mesa\nbari koti mesa loni\n' | "$loam" predict runs/a >out 2>err || fail "predict: $(cat err)"
[ "$(cat out)" = "good
bad" ] || fail "$(cat out)"
echo '{"text": "loni loni tuka gufi"}' | "$loam" predict runs/a --jsonl --json >out || fail "predict --jsonl"
grep -q '"input":"mark: loni loni tuka gufi","prediction":"good"' out || fail "$(cat out)"
echo 'mark: loni loni tuka gufi' | "$loam" predict runs/a --raw >out && [ "$(cat out)" = good ] || fail "--raw: $(cat out)"
echo "ok: predictions of lines, of objects and of whole inputs"
printf '\xef\xbb\xbfbari tuka koti mesa\r\n' | "$loam" predict runs/a --json >out || fail "predict with a byte order mark"
grep -q '"input":"mark: bari tuka koti mesa"' out || fail "$(cat out)"
# A table without a header is no text: its label would be read with it. Texts with tabs are given as objects or whole.
got=0
printf 'bari\n\nbari tuka\tbad\n' | "$loam" predict runs/a --json >out 2>err || got=$?
[ "$got" = 1 ] && [ "$(wc -l <out)" = 2 ] && grep -q 'line 3: 2 cells between tabs where 1 is wanted (text); --jsonl takes objects, whose texts may hold tabs, --raw whole inputs' err ||
    fail "two columns: $(cat out err)"
echo '{"text": "bari\ttuka"}' | "$loam" predict runs/a --jsonl --json 2>err | grep -q '"input":"mark: bari\\ttuka"' || fail "a tab in an object: $(cat err)"
printf 'mark: bari\ttuka\n' | "$loam" predict runs/a --raw --json 2>err | grep -q '"input":"mark: bari\\ttuka"' || fail "a tab in a whole input: $(cat err)"
# Lines left out change nothing for the lines after them.
printf 'bari\ttuka\nbari\tb\tc\nx\nkoti\tmesa\n' | "$loam" predict runs/a --on-error skip --json 'task.input={text} of {mark}' >out 2>err || fail "$(cat err)"
grep -q 'a line holds, between tabs: text, mark' err || fail "$(cat err)"
[ "$(grep -o '"input":"[^"]*"' out | tr '\n' ' ')" = '"input":"bari of tuka" "input":"koti of mesa" ' ] && grep -q 'line 3: 1 cell between' err || fail "lines left out: $(cat out err)"
# A device that has no end is written to, and not read.
expect 2 '/dev/full' bash -c "echo bari | timeout 900 '$loam' predict runs/a --out /dev/full"
# Thousands of lines to a file: killed, torn, gone on with; another input or another model is refused.
for i in $(seq 30); do sed -n '2,$p' marks.tsv | cut -f 1; done >many
"$loam" predict runs/a --json <many >whole 2>err || fail "$(cat err)"
status=0
(LOAM_FAULT=write:60 "$loam" predict runs/a --out many.jsonl <many || exit $?) 2>err || status=$?
[ "$status" = 137 ] && [ "$(wc -l <many.jsonl)" -gt 20 ] && [ "$(wc -l <many.jsonl)" -lt 11000 ] || fail "status $status, $(wc -l <many.jsonl) answers"
truncate -s -5 many.jsonl
"$loam" predict runs/a --out many.jsonl <many 2>err || fail "$(cat err)"
grep -q 'many.jsonl has [1-9][0-9]* answers: going on after them' err || fail "$(cat err)"
sed 's/,"of":"[0-9a-f]*"}$/}/' many.jsonl | cmp - whole || fail "other answers"
cp many.jsonl kept
"$loam" predict runs/a --out many.jsonl <many 2>err && cmp many.jsonl kept || fail "a whole file: $(cat err)"
{ cat many; echo tuka; } | "$loam" predict runs/a --out many.jsonl 2>err && [ "$(wc -l <many.jsonl)" = 12001 ] || fail "a line more: $(cat err)"
got=0
sed '5s/^/tuka /' many | "$loam" predict runs/a --out many.jsonl 2>err || got=$?
[ "$got" = 1 ] && grep -q "many.jsonl:5 is not this model's answer to line 5 of standard input" err || fail "$got $(cat err)"
got=0
head -n 3 many | "$loam" predict runs/a --out many.jsonl 2>err || got=$?
[ "$got" = 1 ] && [ "$(wc -l <many.jsonl)" = 12001 ] && grep -q 'many.jsonl has more answers than the 3 of standard input' err || fail "$got $(cat err)"
echo "ok: answers to 12,000 lines, gone on with"
printf '{"text": "loni"}\n{"word": "x"}\n' >lines
got=0
"$loam" predict runs/a --jsonl <lines >out 2>err || got=$?
[ "$got" = 1 ] && [ "$(wc -l <out)" = 1 ] && grep -q 'line 2: the example: no field "text"; there are word' err || fail "$(cat out err)"
echo "ok: a bad line is named after the answers before it"

# The dataset is the run's: the table may go, and a stopped run goes on with the same bytes.
"$loam" train config.yaml run.dir=runs/b train.length='25 steps' 2>log || fail "$(tail -n 1 log)"
mv marks.tsv away.tsv
"$loam" train config.yaml run.dir=runs/b 2>log || fail "resumed: $(tail -n 1 log)"
cmp runs/a/checkpoints/latest/weights-*.safetensors runs/b/checkpoints/latest/weights-*.safetensors || fail "another model"
mv away.tsv marks.tsv
echo "ok: a resumed run ends with the same weights"
expect 1 'is a run with task.input' "$loam" train config.yaml 'task.input=other: {text}'

# From other models: a run, and a Hugging Face folder.
"$loam" export runs/a --to hf --out hf >/dev/null 2>err || fail "$(cat err)"
for init in runs/a hf; do
    printf 'run: { dir: runs/from-%s }\ntrain: { init: %s, length: 4 steps, threads: 1 }\n' "$(basename "$init")" "$init" >from.yaml
    printf 'task: { data: marks.tsv, input: "{number}: {text}", target: "{mark}", valid: 10%% }\n' >>from.yaml
    "$loam" train from.yaml 2>log || fail "train.init=$init: $(tail -n 1 log)"
    grep -q 'objective: seq2seq' "runs/from-$(basename "$init")/config.yaml" || fail "another objective"
done
"$loam" eval hf --task task.valid=marks.tsv 'task.input=mark: {text}' 'task.target={mark}' task.scores=accuracy --samples 50 >out 2>err ||
    fail "eval hf: $(cat err)"
awk '/^accuracy/ { exit !($3 > 90) }' out || fail "$(cat out)"
echo "ok: a run and a Hugging Face folder are fine-tuned and judged"

# A mixture of two tasks, prepared beforehand.
for word in mark number; do
    "$loam" task prepare --out "data/$word" config.yaml "task.input=$word: {text}" "task.target={$word}" 2>err || fail "$(cat err)"
done
"$loam" train config.yaml run.dir=runs/mix task.data= task.input= task.target= task.valid= data.train=data/mark:0.5,data/number:0.5 data.objective=seq2seq \
    train.length='3 steps' 2>log || fail "mixture: $(tail -n 1 log)"
echo "ok: a mixture of two tasks"

# A run of no task answers one: lengths of inputs and targets are the task's.
printf 'index\tsentence1\tsentence2\tlabel\n0\ttuka\tmesa\tentailment\n' >rte.tsv
"$loam" train config.yaml run.dir=runs/plain task.data= task.input= task.target= task.valid= data.train=data/mark data.objective=span_corruption \
    data.input_length=16 data.target_length=0 train.length='1 steps' 2>log || fail "no task: $(tail -n 1 log)"
"$loam" eval runs/plain --task task.name=rte task.valid=rte.tsv >out 2>err || fail "a run of no task: $(cat err)"
grep -q '^accuracy' out || fail "$(cat out)"
! grep -q 'longer than' err || fail "the run's input length: $(cat err)"
expect 0 'longer than data.input_length=16' "$loam" eval runs/plain --task task.name=rte task.valid=rte.tsv data.input_length=16
echo "ok: a run of no task answers one"

# A decoder alone reads the input and writes the target.
"$loam" train config.yaml run.dir=runs/gpt model.preset=gpt2 model.n_enc=0 model.max_positions=64 'task.target= {mark}' data.target_length=8 train.length='200 steps' optim.lr=4e-3 2>log || fail "gpt: $(tail -n 1 log)"
"$loam" eval runs/gpt --task >out 2>err || fail "gpt: $(cat err)"
awk '/^accuracy/ { exit !($3 > 80) }' out || fail "a decoder alone: $(cat out)"
echo "ok: a decoder alone: $(head -n 1 out)"
# In a prefix LM the input is read in both directions, in training as in answering.
for prefix_lm in true false; do
    "$loam" train config.yaml run.dir=runs/prefix-$prefix_lm model.preset=gpt2 model.n_enc=0 model.n_dec=2 model.prefix_lm=$prefix_lm 'task.target= {mark}' \
        data.target_length=8 train.length='2 steps' train.log_every='1 steps' 2>log || fail "gpt: $(tail -n 1 log)"
    grep -o '"loss":[^,]*' runs/prefix-$prefix_lm/metrics.jsonl >loss.$prefix_lm
done
[ -s loss.true ] && ! cmp -s loss.true loss.false || fail "the same losses: $(cat loss.true)"
"$loam" eval runs/gpt --task data.target_length=30 >out 2>err || fail "gpt: $(cat err)"
grep -q 'inputs are longer than data.input_length=32 takes beside a target of up to data.target_length (' err || fail "$(cat err)"

# What is wrong is named, and may be skipped.
sed '7s/.*/only one cell/' marks.tsv >torn.tsv
expect 1 'torn.tsv:7: 1 columns where 3 are wanted (text, mark, number); task.on_error=skip' \
    "$loam" train config.yaml run.dir=runs/c task.data=torn.tsv
"$loam" train config.yaml run.dir=runs/c task.data=torn.tsv task.on_error=skip train.length='1 steps' 2>log || fail "$(tail -n 1 log)"
grep -q 'torn.tsv: 1 rows were left out' log || fail "$(cat log)"
expect 1 "run.dir runs/d,e: the dataset of a task lies in the run, and a comma separates datasets" "$loam" train config.yaml run.dir=runs/d,e
expect 1 'no column "txt"; there are text, mark, number' "$loam" train config.yaml run.dir=runs/d 'task.input={txt}'
expect 1 'did you mean sst2?' "$loam" train config.yaml run.dir=runs/d task.name=sst3
expect 1 'the model has no decoder that writes an answer' "$loam" train config.yaml run.dir=runs/d model.preset=bert-tiny model.n_dec=0
expect 1 'task.valid: 200%' "$loam" train config.yaml run.dir=runs/d task.valid=200%
expect 1 'has no {mark}' "$loam" train config.yaml run.dir=runs/d task.cut_field=mark
expect 1 'was not trained on a task: give --raw' "$loam" predict hf
expect 1 'no score is called "accurcy"' "$loam" eval runs/a --task task.scores=accurcy
# Scores that cannot be are told before anything is prepared, or before the first step.
expect 1 'no score is called "accurcy"' "$loam" train config.yaml run.dir=runs/named task.scores=accurcy
[ ! -e runs/named/task ] || fail "prepared in vain"
expect 1 'task.scores: ' "$loam" train config.yaml run.dir=runs/named task.scores=f1 task.positive=
grep -q 'f1: no example has the label "1", .*: name it (--positive, task.positive=good)' err || fail "$(cat err)"
expect 1 'task.scores: ' "$loam" train config.yaml run.dir=runs/named task.scores=pearson
[ ! -e runs/named/checkpoints ] || fail "trained in vain"
# A look at a table tells what training on it would. The batches of a task are those of its run.
expect 1 'data.train is not set, and a run makes the dataset of its task when it begins: loam task show config.yaml prints examples, loam inspect batch runs/a' \
    "$loam" inspect batch config.yaml
expect 1 'data.valid is not set, and a run makes the dataset of its task when it begins: loam task show config.yaml' "$loam" inspect batch config.yaml --valid
expect 1 'no column "mrk"; there are text, mark, number' "$loam" task show config.yaml 'task.target={mrk}'
expect 1 'task.data=-: the examples are read several times, standard input once: write them to a file' bash -c "'$loam' task show config.yaml task.data=- <marks.tsv"
for table in marks.tsv 'quoted.csv'; do
    sed 's/\t/","/g; s/^/"/; s/$/"/' marks.tsv >quoted.csv
    expect 1 'standard input is a table with the columns ' bash -c "'$loam' predict runs/a --json <$table"
done
for header in text '"text"'; do
    expect 1 "standard input begins with $header, the name of the task's field: leave the header of the table out" \
        bash -c "printf '%s\nbari tuka\n' '$header' | '$loam' predict runs/a"
done
[ "$(printf 'bari\ntext\n' | "$loam" predict runs/a | wc -l)" = 2 ] || fail "a name of a field within the lines is refused"
[ "$(printf 'text\n' | "$loam" predict runs/a --raw | wc -l)" = 1 ] || fail "a whole input is refused"
[ "$(printf '1\n' | "$loam" predict runs/a 'task.input={1}' | wc -l)" = 1 ] || fail "a number is refused, as it names the column"
[ "$(printf 'text, mark\n' | "$loam" predict runs/a | wc -l)" = 1 ] || fail "a line with a comma is refused"
[ "$(printf '1,2\n' | "$loam" predict runs/a 'task.input={1}' | wc -l)" = 1 ] || fail "a line of numbers is refused, as column 1 has one of them for its name"
# Answers are of a model, whatever it is exported as.
cut -f 1 marks.tsv | sed -n 2,6p >lines
for name in t5 umt5; do
    "$loam" train config.yaml run.dir=runs/$name train.length='1 steps' model.architecture=$name 2>err || fail "$(cat err)"
done
"$loam" predict runs/t5 --out whole.jsonl <lines 2>err || fail "$(cat err)"
sed -n 1,2p whole.jsonl >some.jsonl
"$loam" predict runs/umt5 --out some.jsonl <lines 2>err && cmp some.jsonl whole.jsonl || fail "$(cat err)"
echo "ok: predict tells a table from lines"
head -n 1 marks.tsv >none.tsv
expect 1 'none.tsv: the file holds no examples' "$loam" task show config.yaml task.data=none.tsv task.valid=
expect 1 'none.tsv: the file holds no examples' "$loam" train config.yaml run.dir=runs/none task.data=none.tsv
iconv -f UTF-8 -t UTF-16 marks.tsv >wide.tsv
expect 1 'wide.tsv: UTF-16, as its byte order mark says; first: iconv' "$loam" task show config.yaml task.data=wide.tsv
"$loam" train config.yaml run.dir=runs/e data.input_length=8 train.length='1 steps' 2>log || fail "$(tail -n 1 log)"
grep -q 'inputs are longer than data.input_length=8 takes' log || fail "$(cat log)"
echo "ok: what is cut is counted"

# Tasks of the table, on files of their layout, by a model that knows nothing of them: numbers of examples, names of scores.
judge() { # judge TASK FILE EXAMPLES SCORE…
    local task=$1 file=$2 n=$3
    shift 3
    rm -f answers.jsonl
    "$loam" eval hf --task task.name="$task" task.valid="$file" data.target_length=4 --out answers.jsonl >out 2>err || fail "$task: $(cat err)"
    [ "$(wc -l <answers.jsonl)" = "$n" ] || fail "$task: $(wc -l <answers.jsonl) answers of $n"
    for score in "$@"; do
        grep -q " $score " out || fail "$task: no $score: $(cat out)"
    done
    [ ! -s out ] || { "$loam" scores answers.jsonl >again 2>>err && cmp out again; } || fail "$task: other scores of the file: $(cat again err)"
    echo "ok: $task"
}
cat >squad.json <<'JSON'
{"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": "bari tuka.", "qas": [
  {"id": "a", "question": "loni?", "answers": [{"text": "bari", "answer_start": 0}, {"text": "tuka", "answer_start": 5}]},
  {"id": "b", "question": "mesa?", "answers": [{"text": "tuka", "answer_start": 5}]}]}]}]}
JSON
judge squad squad.json 2 exact_match f1
grep -q '"id":"a","input":"question: loni ? context: bari tuka . ",.*"references":\["bari","tuka"\]' answers.jsonl || fail "$(cat answers.jsonl)"
cat >multirc.jsonl <<'JSON'
{"idx": 0, "passage": {"text": "bari", "questions": [{"question": "tuka", "idx": 0, "answers": [{"text": "a", "idx": 0, "label": 0}, {"text": "b", "idx": 1, "label": 1}]}, {"question": "loni", "idx": 1, "answers": [{"text": "a", "idx": 2, "label": 1}]}]}}
JSON
judge multirc multirc.jsonl 3 f1a exact_match
[ "$(grep -c '"group":"0-0"' answers.jsonl)" = 2 ] || fail "$(cat answers.jsonl)"
echo '{"text": "bari said he left", "target": {"span1_index": 0, "span1_text": "bari", "span2_index": 2, "span2_text": "he"}, "idx": 0, "label": false}' >wsc.jsonl
judge wsc wsc.jsonl 1 accuracy
grep -q '"prediction":"[^"]*","graded":"\(True\|False\|\)"' answers.jsonl || fail "no graded label: $(cat answers.jsonl)"
printf '{"id": "x", "input": "tuka", "output": "a"}\n{"id": "y", "input": "mesa", "output": "c"}\n{"id": "x", "input": "tuka", "output": "b"}\n' >qasper.jsonl
judge qasper qasper.jsonl 2 f1
grep -q '"references":\["a","b"\]' answers.jsonl || fail "$(cat answers.jsonl)"
printf 'sentence1\tsentence2\tscore\na\tb\t1.0\nc\td\t3.2\n' >stsb.tsv
judge stsb stsb.tsv 2 pearson spearman
printf 'tuka\nmesa\n' >a.en && printf 'bari\nloni\n' >a.de
judge wmt_ende a.en,a.de 2 bleu
printf 'index\tsentence1\tsentence2\n0\ttuka\tmesa\n' >diagnostic.tsv
# Intervals are those of the file, too; an example without a right answer is predicted, and not scored.
printf 'index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n1\ta\tc\t-1\n2\ta\td\tnot_entailment\n' >partly.tsv
judge rte partly.tsv 3 accuracy
grep -q '1 of 3 examples have no right answer: they are predicted, not scored' err || fail "$(cat err)"
"$loam" eval hf --task task.name=rte task.valid=partly.tsv data.target_length=4 --out answers.jsonl --bootstrap 50 --confidence 90 >out 2>err || fail "$(cat err)"
"$loam" scores accuracy answers.jsonl --bootstrap 50 --confidence 90 >again 2>err && cmp out again && grep -q ' to ' out || fail "intervals: $(cat out again err)"
expect 1 '--bootstrap is for the scores of a task' "$loam" eval hf --bootstrap 3
judge ax diagnostic.tsv 1
[ ! -s out ] && grep -q 'there are no scores' err || fail "scores without answers: $(cat out err)"
