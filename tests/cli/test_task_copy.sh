# A run keeps the examples that its scores are of: a table that is changed or gone while the run goes on, or before `loam eval`,
# changes nothing; one that is named counts.
. tests/cli/lib.sh "$1"
cd "$work"
make_marks
cat >t.yaml <<YAML
run: { dir: run, seed: 7 }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0 }
tokenizer: { path: tok.model }
train: { length: 40 steps, batch: 16 samples, log_every: 20 steps, eval_every: 20 steps, threads: 1, precision: f32 }
optim: { name: adamw, lr: 1e-2, schedule: constant, warmup: 0 steps }
task: { data: marks.tsv, valid: 20%, input: "{1}", target: "{mark}", scores: accuracy }
YAML
scores() { sed -n 's/.*"kind":"score","step":\([0-9]*\).*"accuracy":\([0-9.]*\).*/\1 \2/p' "$1/metrics.jsonl"; }

"$loam" train t.yaml run.dir=whole train.length='60 steps' 2>log || fail "$(tail -n 1 log)"
"$loam" train t.yaml 2>log || fail "$(tail -n 1 log)"
"$loam" eval run --task >before 2>err || fail "$(cat err)"
sed -e 's/good/x/; s/bad/good/; s/\tx/\tbad/' marks.tsv >other.tsv
cp marks.tsv kept.tsv
cp other.tsv marks.tsv
"$loam" eval run --task >out 2>err || fail "$(cat err)"
cmp before out || fail "the changed table has other scores: $(cat out)"
"$loam" eval run --task task.data=other.tsv >out 2>err || fail "$(cat err)"
cmp -s before out && fail "a table that is named is not read"
echo "ok: eval after a change"
# A table of held-out examples that was edited while the run stood still: its copy counts, and a word says so.
cp kept.tsv held.tsv && cp kept.tsv marks.tsv && touch -d '1 hour ago' marks.tsv held.tsv
"$loam" train t.yaml run.dir=held task.valid=held.tsv train.stop_at=20 2>log || fail "$(tail -n 1 log)"
cp other.tsv held.tsv && touch -d '1 hour' held.tsv
"$loam" train t.yaml run.dir=held task.valid=held.tsv 2>log || fail "$(tail -n 1 log)"
grep -q 'goes on with the examples that it read at its start (held/task/train), not with held.tsv as it is now' log || fail "$(cat log)"
# So does a run whose config.yaml was edited to name another table, whatever that table's time.
cp other.tsv third.tsv && touch -d '2 days ago' third.tsv && sed -i 's#/marks.tsv#/third.tsv#' held/config.yaml
"$loam" train held train.length='41 steps' 2>log || fail "$(tail -n 1 log)"
grep -q 'read at its start (.*held/task/train), not with .*third.tsv as it is now' log || fail "$(cat log)"
"$loam" train held train.length='42 steps' task.data= 2>log || fail "$(tail -n 1 log)"
grep -q 'goes on with the examples .*, not with .*held.tsv as it is now' log || fail "$(cat log)"
rm run/config.yaml # its examples stay, too
"$loam" train t.yaml 2>log || fail "$(tail -n 1 log)"
rm marks.tsv
"$loam" train t.yaml train.length='60 steps' 2>log || fail "$(tail -n 1 log)"
[ "$(scores run)" = "$(scores whole)" ] || fail "other scores without the table: $(scores run) and $(scores whole)"
"$loam" eval run --task >/dev/null 2>err || fail "$(cat err)"
[ "$(printf 'bari tuka\n' | "$loam" predict run --rank sum 2>err)" = good ] || fail "labels of a table that is gone: $(cat err)"
sed 's/good/x/; s/bad/y/' other.tsv >marks.tsv # nor are labels those of a table that is changed
"$loam" eval run --task --rank sum >out 2>err && awk '/^accuracy/ { exit !($3 > 90) }' out || fail "$(cat out err)"
expect 0 'marks.tsv as it is now, and the run was trained on others' "$loam" eval run --task --shots 1 --samples 2
cp kept.tsv marks.tsv
"$loam" train t.yaml run.dir=spelt task.target='It is {mark}' 2>log || fail "$(tail -n 1 log)" # no capitals in the tokenizer
"$loam" eval spelt --task --rank sum >out 2>err && awk '/^accuracy/ { exit !($3 > 90) }' out || fail "$(cat out err)"
[ "$(printf 'bari tuka\n' | "$loam" predict spelt --rank sum 2>err)" = 'It is good' ] || fail "another spelling of a label: $(cat err)"
rm marks.tsv
echo "ok: without the table: $(scores run | tail -n 1)"

# A run that was renamed has its own held-out set still, also if another run has its former name since.
cp other.tsv marks.tsv
"$loam" train t.yaml run.dir=named task.data=kept.tsv 2>log || fail "$(tail -n 1 log)"
"$loam" eval named 2>err | grep loss >before || fail "$(cat err)"
mv named renamed
verbs() { # verbs: what the renamed run says of itself, which the folder of its former name does not change
    "$loam" eval renamed 2>err | grep loss && "$loam" inspect batch renamed --valid 2>>err
}
verbs >out || fail "renamed: $(cat err)"
cmp <(sed 's#/named/#/renamed/#' before) <(grep loss out) || fail "renamed: $(cat before out)"
"$loam" train t.yaml run.dir=named 2>log || fail "$(tail -n 1 log)"
verbs >again || fail "renamed: $(cat err)"
cmp out again && ! grep -q /named err || fail "of another run: $(cat out again err)"
"$loam" train renamed train.length='41 steps' 2>log && ! grep 'data.*changed' log || fail "$(cat log)"
expect 0 'b: loss' "$loam" eval renamed data.valid=a:renamed/task/train-valid,b:renamed/task/train # datasets that the user names
cp -r renamed lost && rm -r lost/task
expect 1 'lost/task/train-valid, the held-out examples that the run kept, is gone; --task task.valid=TABLE' "$loam" eval lost
expect 1 'lost/task/train-valid, the held-out examples that the run kept, is gone; loam task show RUN' "$loam" inspect batch lost --valid
expect 1 'lost/task/train, the examples that the run kept, is gone; loam task show RUN' "$loam" inspect batch lost
expect 1 'lost/task/train, the examples that the run kept, is gone; loam task show RUN' "$loam" inspect dataset lost/task/train
expect 1 'lost@best names a checkpoint; wanted is a configuration file or a run: lost' "$loam" plan lost@best
expect 0 'input' "$loam" task show lost/config.yaml
sed '7s/\t.*//' kept.tsv >short.tsv # a row that both passes over the table leave out is told once
"$loam" eval renamed --task --shots 1 --samples 2 task.data=short.tsv task.valid=20% task.on_error=skip >out 2>err || fail "$(cat err)"
[ "$(grep -c 'left out: short.tsv:7: ' err)" = 1 ] || fail "$(cat err)"
rm marks.tsv

# The copies of every format give the examples of the files.
printf 'bari\tO\nkoti\tB-X\n\nmesa\tO\n' >words.conll
echo '{"data": [{"title": "a", "list": [{"text": "bari koti", "asked": [{"q": "w", "id": "1", "a": ["bari"]}, {"q": "v", "id": "2", "a": ["koti"]}]}]}]}' >deep.json
for kind in conll deep; do
    case $kind in
    conll) options="task.data=words.conll task.valid=words.conll task.input={1} task.references=2" ;;
    deep) options="task.data=deep.json task.valid=deep.json task.rows=data[].list[].asked[] task.input={title}_{text}_{q} task.references=a" ;;
    esac
    # shellcheck disable=SC2086
    "$loam" train t.yaml run.dir=$kind train.length='1 steps' task.target= task.scores=squad $options 2>log || fail "$kind: $(tail -n 1 log)"
    "$loam" eval $kind --task --out "$kind.copy" >copy 2>err || fail "$(cat err)"
    file=$(echo "$options" | sed 's/.*valid=\([^ ]*\).*/\1/')
    "$loam" eval $kind --task task.valid="$file" --out "$kind.file" >file 2>err || fail "$(cat err)"
    cmp "$kind.copy" "$kind.file" && cmp copy file || fail "$kind: $(cat "$kind.copy" "$kind.file")"
    grep -q '"input":' $kind.copy || fail "no example of $kind"
done
grep -q asked deep/task/train-valid.jsonl && fail "a copy holds the neighbours of its record"
echo "ok: copies of nested records and of sentences"
echo '[1]' >deep/task/train-valid.jsonl
expect 1 'train-valid.jsonl:1: no copy of a record' "$loam" eval deep --task
