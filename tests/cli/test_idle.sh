# labels: any-processor
# Options that do nothing: each is named on one line with the reason; empty targets are bad rows; labels ranked by predict.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks # lib.sh
cat >config.yaml <<YAML
run: { dir: runs/t5, seed: 7 }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
task: { data: marks.tsv, valid: 20%, input: "mark: {text}", target: "{mark}", scores: accuracy }
data: { input_length: 32, target_length: 16 }
train: { length: 2 steps, batch: 8 samples, threads: 1, precision: f32, scores: false }
YAML

# says TEXT OPTION…: a new run with these options says this, and a plain one says nothing of the kind.
says() {
    expect 0 "$1" "$loam" train config.yaml run.dir="runs/$((++runs))" train.length='0 steps' "${@:2}"
}
runs=0
"$loam" train config.yaml 2>err || fail "$(tail -n 1 err)"
! grep -q 'without effect' err || fail "a warning without a reason: $(cat err)"
expect 1 'no list [ ] where task.rows says so' "$loam" train config.yaml run.dir=runs/rows task.rows='[]'
says 'data.mean_span_length: without effect, since data.objective is seq2seq' data.mean_span_length=4
says 'data.noise_density: without effect, since data.objective is seq2seq' data.noise_density=0.3
says 'data.whole_word, data.max_ngram: without effect, since data.objective is seq2seq' data.whole_word=false data.max_ngram=3
says 'data.mixture_temperature: without effect, since task.data is marks.tsv' data.mixture_temperature=2
says 'data.train: without effect, since task.data is set' data.train=nowhere
for train in one one,two; do # a plan reads no dataset before it names options
    "$loam" plan config.yaml run.dir=runs/plan task.data= data.train=$train data.mixture_temperature=2 data.mixture_cap='9 samples' >out 2>err || :
    named=$(grep -c 'data.mixture_temperature, data.mixture_cap: without effect, since data.train is one$' err || :)
    [ "$named" = $([ $train != one ]; echo $?) ] || fail "data.train=$train: $(cat err)"
done
says 'data.valid: without effect, since the task has examples to evaluate on' data.valid=nowhere
says 'optim.power: without effect, since optim.schedule is constant' optim.power=2
says 'optim.beta2: without effect, since optim.name is adafactor' optim.beta2=0.9
says 'optim.clip_threshold, optim.decay_rate: without effect, since optim.name is adamw' optim.name=adamw optim.clip_threshold=2 optim.decay_rate=0.7
says 'optim.lr, optim.schedule: without effect, since optim.relative_step is true' optim.relative_step=true optim.lr=3e-3 optim.schedule=linear
expect 0 'relative_step' "$loam" plan config.yaml run.dir=runs/relative optim.relative_step=true --options
! grep -q 'without effect' err || fail "named, though nobody gave it: $(cat err)"
says 'train.tf32: without effect, since train.device is cpu' train.tf32=true
says 'optim.cycle_growth: without effect, since optim.cycle is 0 steps' optim.schedule=cosine optim.cycle_growth=2
says 'optim.decay_until: without effect, since optim.cycle is 5 steps' optim.schedule=cosine optim.cycle=5 optim.decay_until=9
says 'optim.init_lr: without effect, since optim.warmup is 0 steps' optim.warmup=0 optim.init_lr=1e-5
says 'optim.init_lr: without effect, since optim.warmup is 0%' optim.warmup=0% optim.init_lr=1e-5
says 'optim.eps2: without effect, since optim.scale_parameter is false' optim.scale_parameter=false optim.eps2=1e-4
says 'optim.min_dim_factored: without effect, since optim.factored is false' optim.factored=false optim.min_dim_factored=4
says 'lora.alpha: without effect, since lora.rank is 0' lora.alpha=16
says 'input "all" has no {field}: it is the same in all examples' task.input=all task.valid=
says 'task.stride: without effect, since model.classifier is none' task.stride=64
says 'task.positive: without effect, since task.scores is accuracy' task.positive=good
awk -F '\t' 'NR > 1 { printf "{\"text\": \"%s\", \"mark\": \"%s\"}\n", $1, $2 }' marks.tsv >marks.jsonl
says 'task.columns: without effect, since the format of marks.jsonl is jsonl' task.data=marks.jsonl task.columns=text,mark
bert='model.family=bert model.n_dec=0 train.scores=true data.target_length=0'
says 'train.z_loss: without effect, since model.classifier is sequence' $bert model.classifier=sequence task.label='{mark}' task.target= train.z_loss=1e-4
says 'task.labels: without effect, since model.classifier is value' $bert model.classifier=value task.value='{number}' task.target= task.scores=pearson task.labels=a,b
expect 1 'task.value and task.label: a task has one kind of label, give one of them' "$loam" train config.yaml run.dir=runs/two \
    $bert task.value='{number}' task.label='{mark}' task.target=
expect 0 'optim.power: without effect, since optim.schedule is constant' "$loam" plan config.yaml run.dir=runs/plan optim.power=2
expect 0 'data.train: without effect, since task.data is set' "$loam" plan config.yaml run.dir=runs/plan data.train=nowhere data.valid=nowhere
grep -q 'data.valid: without effect, since the task has examples to evaluate on' err || fail "plan names no data.valid: $(cat err)"
"$loam" train config.yaml run.dir=runs/adamw optim.name=adamw train.length='0 steps' 2>err || fail "$(cat err)"
expect 0 'beta2' "$loam" plan runs/adamw optim.name=adafactor --options
! grep -q 'without effect' err || fail "a saved value is named: $(cat err)"
expect 0 'optim.power: without effect' "$loam" plan runs/adamw optim.schedule=constant optim.power=2
# Nor is one of a file that extends a run's configuration, or of a copy of it.
echo '{ extends: runs/adamw/config.yaml, optim: { name: adafactor } }' >extends.yaml
cp runs/adamw/config.yaml copy.yaml
for plan in 'extends.yaml' 'copy.yaml optim.name=adafactor'; do
    # shellcheck disable=SC2086
    expect 0 'adafactor' "$loam" plan $plan run.dir=runs/other --options
    ! grep -q 'without effect' err || fail "$plan: a value is named that nobody gave: $(cat err)"
done
says 'parallel.sequence: without effect, since parallel.tensor is 1' parallel.sequence=true
says 'optim.rewarm: without effect, since train.init is not set' optim.rewarm=0.5
says 'log.cpu_watts, log.country: without effect, since log.emissions is false' log.cpu_watts=90 log.country=FRA
says 'log.mlflow_experiment: without effect, since log.mlflow is not set' log.mlflow_experiment=mine
expect 1 'train.best=accuracy needs task.valid' "$loam" train config.yaml run.dir=runs/best task.valid= train.best=accuracy
echo "ok: options without effect are named"

# Rows without a target.
{ head -n 3 marks.tsv; printf 'mesa loni\t\t1\nmesa dape\t  \t1\n'; sed -n '4,$p' marks.tsv; } >holes.tsv
expect 1 'holes.tsv:4: the target is empty; task.on_error=skip leaves such rows out' "$loam" train config.yaml run.dir=runs/holes task.data=holes.tsv
expect 0 'holes.tsv: 2 rows were left out' "$loam" train config.yaml run.dir=runs/holes task.data=holes.tsv task.valid=marks.tsv task.on_error=skip
expect 0 'examples have no right answer: they are predicted, not scored' "$loam" eval runs/t5 --task task.valid=holes.tsv
grep -q accuracy out || fail "$(cat out)"
"$loam" eval runs/t5 --task task.valid=holes.tsv --out answers.jsonl 2>err || fail "$(cat err)"
[ "$(grep -c '"references"' answers.jsonl)" = 400 ] && [ "$(wc -l <answers.jsonl)" = 402 ] || fail "an empty cell is a right answer"
echo "ok: empty targets"

# predict --rank answers as eval --rank does.
sed -n '2,41p' marks.tsv | cut -f 1 >lines
for how in sum bytes tokens; do
    "$loam" eval runs/t5 --task task.valid=marks.tsv --samples 40 --rank $how --out of-eval >/dev/null 2>err || fail "$(cat err)"
    "$loam" predict runs/t5 --rank $how --json <lines >of-predict 2>err || fail "$(cat err)"
    for part in 's/.*"prediction":"\([^"]*\)".*/\1/' 's/.*\("label_logprobs":{[^}]*}\).*/\1/'; do
        cmp <(sed "$part" of-eval) <(sed "$part" of-predict) || fail "--rank $how: $(head -n 1 of-eval of-predict)"
    done
    rm of-eval
done
"$loam" predict runs/t5 --raw --rank sum task.labels=good,bad,koti <lines >out 2>err || fail "$(cat err)"
[ "$(wc -l <out)" = 40 ] && ! grep -vqx 'good\|bad\|koti' out || fail "$(cat out)"
head -n 20 lines | "$loam" predict runs/t5 --rank sum --out kept 2>err || fail "$(cat err)"
"$loam" predict runs/t5 --rank sum --out kept <lines 2>err && grep -q 'kept has 20 answers' err || fail "$(cat err)"
expect 1 'kept:1 is not this model' sh -c "'$loam' predict runs/t5 --rank bytes --out kept <lines"
expect 1 '--rank chooses among labels: name them, task.labels=good,bad' "$loam" predict runs/t5 --raw --rank sum
expect 1 '--rank best: sum, bytes or tokens' "$loam" predict runs/t5 --rank best
expect 1 '--no-eos is for --rank' "$loam" predict runs/t5 --no-eos
expect 1 '--beams searches for a text, --rank chooses a label' "$loam" predict runs/t5 --rank sum --beams 2
echo "ok: predict --rank"
