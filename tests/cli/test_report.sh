# labels: any-processor measures-peak
# loam report: a page of one run and of several, which needs nothing else; of runs that have not begun, that are damaged and that
# try to break out of the page; a million steps in a small page.
. tests/cli/lib.sh "$1"
loam=$(realpath "$loam")

# Every tag of the page is closed in its order, and nothing is loaded from elsewhere.
check_page() {
    awk '
    /\]\]>/ { script = 0; sub(/^.*\]\]>/, "") }
    script || /<!DOCTYPE|<!--/ { next }
    /<!\[CDATA\[/ { script = 1; sub(/<!\[CDATA.*/, "") }
    /<style>/ { style = 1 }
    style && !/<\/style>/ { sub(/^[^<].*$/, "") }
    /<\/style>/ { style = 0 }
    {
        while (match($0, /<[^>]*>/)) {
            tag = substr($0, RSTART + 1, RLENGTH - 2)
            $0 = substr($0, RSTART + RLENGTH)
            name = tag
            sub(/[ \/].*/, "", name)
            if (tag ~ /^\//) {
                name = substr(tag, 2)
                if (n == 0 || open[n] != name) { print FILENAME ":" FNR ": </" name "> in <" open[n] ">"; bad = 1; exit }
                n--
            } else if (tag !~ /\/$/)
                open[++n] = name
        }
    }
    END { if (n && !bad) print FILENAME ": <" open[n] "> is left open"; exit bad || n }' "$1" || fail "$1 is not well-formed"
    ! grep -E '(src|href)="?[a-z]+:|@import|url\(' "$1" || fail "$1 loads something"
    ! grep -E '[ >]-?(nan|inf)\b|[[,:]-?(nan|inf)[],]' "$1" || fail "$1 has numbers that are none"
    [ -z "$(command -v xmllint)" ] || xmllint --noout "$1" || fail "$1 is no XML"
    echo "ok: $1"
}
charts() { grep -c '<figure class="chart">' "$1"; }

make_dataset
"$loam" train "$work/config.yaml" run.dir="$work/a" train.length='20 steps' train.report=true 2>/dev/null
check_page "$work/a/report.html" # the run has written it, after its end
grep -qF '<span class="state ended">ended</span>' "$work/a/report.html" || fail "the state in the page of train.report"
"$loam" train "$work/config.yaml" run.dir="$work/a" 2>/dev/null
"$loam" train "$work/config.yaml" run.dir="$work/b" optim.lr=1e-3 'train.batch=16 samples' 2>/dev/null
expect 0 "$work/one.html" "$loam" report "$work/a/" --out "$work/one.html"
check_page "$work/one.html"
for text in '<h3>Loss</h3>' '<h3>Learning rate</h3>' '<h3>Gradient norm</h3>' '<h3>Throughput</h3>' 'held out <b>' '8 saves'; do
    grep -qF "$text" "$work/one.html" || fail "no $text"
done
last=$(sed -n 's/.*"kind":"train","step":40,.*"loss":\([0-9.]*\),.*/\1/p' "$work/a/metrics.jsonl")
grep -qF "training <b>$(awk -v loss="$last" 'BEGIN { printf "%.5g", loss }')</b>" "$work/one.html" || fail "the last loss, $last"
for text in '<th>optim.lr</th><td>0.001</td><td>0.003</td>' '<th>model.width</th><td>512</td><td>32</td>' \
    '<th>Steps</th><td>40</td><td>40</td>' "<td>goes on from step 20 on $(uname -n)</td>" '<td>train.length changed from 20 steps' \
    "<th>Host</th><td>$(uname -n)</td>" '<th>Ranks</th><td>1</td>' 'class="mark start" d="M'; do
    grep -qF -- "$text" "$work/one.html" || fail "no $text"
done
! grep -qF '<th>optim.weight_decay</th>' "$work/one.html" || fail "an option that is its default"
! grep -qF '<th>model.architecture</th>' "$work/one.html" || fail "an option that follows from the others"
"$loam" report "$work/a" "$work/b" --by hours --out "$work/two.html" 2>/dev/null
check_page "$work/two.html"
grep -qF "$work/b training" "$work/two.html" || fail "the names of two runs"
grep -qF '>hours</text>' "$work/two.html" || fail "--by hours"
"$loam" report "$work/a" "$work/b" 2>"$work/err"
grep -qF '>input tokens</text>' "$work/a/report.html" || fail "steps of unequal size are compared by tokens"
mkdir "$work/nothing"
expect 1 'is no run of loam: it has no checkpoints; give the folder' "$loam" report "$work/nothing"
expect 1 'is no run of loam: there is no such folder; give the folder' "$loam" report "$work/nowhere"
expect 1 'is no run of loam: it is a file; give the folder' "$loam" report "$work/config.yaml"
mkdir -p "$work/half/checkpoints" && touch "$work/half/lock"
expect 1 'is no whole run of loam: it has no config.yaml; `loam train CONFIG.yaml run.dir=' "$loam" report "$work/half"
expect 1 'is a folder; want the name of a file' "$loam" report "$work/a" --out "$work"
expect 1 'the path is empty; want the name of a file' "$loam" report "$work/a" --out ''
expect 1 'want step, tokens or hours' "$loam" report "$work/a" --by epochs
expect 1 'exists and is no report of loam' "$loam" report "$work/a" --out "$work/config.yaml"

# A run that has not begun, a file that was cut, text that is markup.
mkdir -p "$work"/{new,torn,long}/checkpoints && touch "$work"/{new,torn,long}/lock
cp "$work/a/config.yaml" "$work/new/"
cp "$work/a/config.yaml" "$work/torn/"
expect 0 new.html "$loam" report "$work/new" --out "$work/new.html"
check_page "$work/new.html"
grep -qF 'no training step is logged yet' "$work/new.html" || fail "a run without metrics"
cat >"$work/torn/metrics.jsonl" <<'JSON'
{"kind":"train","step":1,"tokens":10,"loss":3.5,"lr":null,"grad_norm":1e999}
{"kind":"train","step":2,"tokens":20,"loss":2.5,"lr":0.1,"grad_norm":"high"}
nonsense
{"kind":"event","step":2,"what":"</script><script>alert(1)</script> \u0007 & <b>"}
{"kind":"event","step":2,"what":"loss 9.0000 is a spike above the mean 2.0000; </td><img src=x>"}
{"kind":"valid","step":2,"name":"<b>&\"'","loss":2.25,"accuracy":0.5}
{"kind":"score","step":2,"name":"]]></script>","f1":12.5,"f1.precision":3}
{"kind":"train","step":-3,"loss":1}
[1,2]
JSON
printf '{"kind":"train","step":3,"loss":' >>"$work/torn/metrics.jsonl"
expect 0 torn.html "$loam" report "$work/torn" --out "$work/torn.html"
check_page "$work/torn.html"
grep -qF '3 damaged lines' "$work/torn.html" || fail "damaged lines: $(grep damaged "$work/torn.html")"
! grep -F -e 'alert(1)<' -e '<img' -e '<b>&' "$work/torn.html" || fail "markup of the run is markup of the page"
grep -qF 'class="mark spike"' "$work/torn.html" || fail "the spike is not marked"

# How commands ended: killed twice, one error, an end; the last three steps have no loss, and step 5 none before; few steps.
mkdir -p "$work/ends/checkpoints" && touch "$work/ends/lock" && cp "$work/a/config.yaml" "$work/ends/"
cat >"$work/ends/metrics.jsonl" <<'JSON'
{"kind":"event","step":0,"what":"starts on a","start":{}}
{"kind":"train","step":1,"tokens":10,"loss":3.5,"lr":0.1,"tokens_per_s":92349,"memory":43839488}
{"kind":"event","step":1,"what":"goes on from step 1 on a","start":{}}
{"kind":"train","step":2,"tokens":20,"loss":3.25,"lr":0.1,"tokens_per_s":92349,"memory":43839488}
{"kind":"event","step":2,"what":"goes on from step 2 on a","start":{}}
{"kind":"event","step":2,"what":"disk full","failed":true}
{"kind":"event","step":2,"what":"goes on from step 2 on a","start":{}}
{"kind":"train","step":3,"tokens":30,"loss":null,"lr":0.1,"tokens_per_s":92349,"memory":43839488}
{"kind":"train","step":4,"tokens":40,"loss":2.5,"lr":0.1,"tokens_per_s":92349,"memory":43839488}
{"kind":"train","step":5,"tokens":50,"loss":null,"lr":0.1,"tokens_per_s":92349,"memory":43839488}
{"kind":"event","step":5,"what":"ended at step 5 (train.length=5 steps)"}
JSON
expect 0 ends.html "$loam" report "$work/ends" --out "$work/ends.html"
check_page "$work/ends.html"
has() { grep -qF -- "$1" "$work/ends.html" || fail "no $1 in ends.html"; }
has '<dd>killed 2 times, 1 error</dd>'
has '<dd>none at step 5 (2.5000 at step 4)</dd>'
has '<td>error</td><td>disk full</td>'
has '<td>end</td><td>ended at step 5'
has '<b>92.35k tokens/s</b>'
has '<b>43.84 MB</b>'
! grep -qF 'means of several log lines' "$work/ends.html" || fail "values that are no means"
# The line of the loss is not drawn across step 3, and there is a tick per step and none between.
[ "$(grep -o '<path class="line" stroke="var(--p0)" d="[^"]*"' "$work/ends.html" | head -n 1 | grep -o M | wc -l)" = 2 ] || fail "a gap is bridged"
[ "$(grep -o '<path class="axis"[^>]*' "$work/ends.html" | head -n 1 | grep -o v4 | wc -l)" = 6 ] || fail "ticks: $(grep -o '<path class="axis"[^>]*' "$work/ends.html" | head -n 1)"
# The marks of several runs stay below their curves.
"$loam" report "$work/ends" "$work/a" --out "$work/several.html" 2>/dev/null
! grep -E 'class="mark [a-z]*" d="[^"]*v210' "$work/several.html" || fail "marks across the curves of several runs"
grep -q 'class="mark start" d="M' "$work/several.html" || fail "no marks"
# An error that ends a command is an event of its own kind.
status=0
LOAM_FAULT=overflow:2 "$spoiled" train "$work/config.yaml" run.dir="$work/failed" train.length='8 steps' 2>"$work/err" || status=$?
[ "$status" = 1 ] && grep -q '"kind":"event",.*"failed":true' "$work/failed/metrics.jsonl" || fail "status $status: $(tail -n 1 "$work/failed/metrics.jsonl")"
echo "ok: ends"

# Answers of a task. A page that cannot be written is said once, and the run goes on.
cd "$work"
make_marks
cat >marks.yaml <<'YAML'
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16 }
tokenizer: { path: tok.model }
task: { data: marks.tsv, valid: 10%, input: '{text} <&>', target: '{mark}', scores: accuracy }
train: { length: 6 steps, batch: 8 samples, micro_batch: 8 samples, eval_every: 2, save_every: 2, eval_samples: 4, threads: 1 }
log: { samples: 2 }
YAML
"$loam" train marks.yaml run.dir=marks 2>/dev/null
mkdir marks/report.html
"$loam" train marks.yaml run.dir=marks train.length='10 steps' train.report=true 2>log || fail "$(cat log)"
[ "$(grep -c 'the report is not written' log)" = 1 ] || fail "a page that cannot be written: $(cat log)"
"$loam" report marks --out marks.html 2>/dev/null
check_page marks.html
[ "$(grep -cF '<dt class="first">input</dt>' marks.html)" = 2 ] || fail "two answers"
grep -qF ' &lt;&amp;&gt;' marks.html || fail "the input of an answer"
grep -qF '<h3>accuracy</h3>' marks.html || fail "the curve of the score"
cd - >/dev/null

# A run that failed before its first step, after an evaluation of step 0, is told from one that has a result.
mkdir -p "$work/unbegun/checkpoints" && touch "$work/unbegun/lock"
cp "$work/a/config.yaml" "$work/unbegun/"
printf '%s\n' '{"kind":"event","step":0,"what":"starts on n"}' '{"kind":"valid","step":0,"name":"valid","loss":5.5}' >"$work/unbegun/metrics.jsonl"
expect 0 mixed.html "$loam" report "$work/a" "$work/unbegun" --out "$work/mixed.html"
[ "$(grep -o ', not trained<' "$work/mixed.html" | wc -l)" = 1 ] || fail "a run without a step: $(grep -o '[a-z]*, not trained.' "$work/mixed.html")"

# A million steps: a page of bounded size that keeps the spike, the dip, and all kinds of events.
cp "$work/a/config.yaml" "$work/long/"
awk "$random"'BEGIN {
    seed(1)
    for (step = 10; step <= 1000000; step += 10) {
        loss = step == 600000 ? 77.125 : 2 + 8 / (1 + step / 5000) + random() / 4
        printf "{\"kind\":\"train\",\"step\":%d,\"tokens\":%d,\"loss\":%.6f,\"accuracy\":0.4%d,\"lr\":%.4g,\"grad_norm\":%.6f,\"tokens_per_s\":%d,\"mfu\":0.%d,\"loss_scale\":65536,\"wall_s\":%d.5}\n", \
            step, step * 512, loss, 1000 * random(), 1e-3 * (1 - step / 1000000), 1 + random(), 5000 + 900 * random(), 300 + 99 * random(), step
        if (step % 1000 == 0) printf "{\"kind\":\"save\",\"step\":%d,\"seconds\":0.5}\n{\"kind\":\"valid\",\"step\":%d,\"name\":\"valid\",\"loss\":%.4f}\n", step, step, loss
        if (step % 500 == 0) printf "{\"kind\":\"event\",\"step\":%d,\"what\":\"skipped: loss or gradient is not finite\"}\n", step
    }
}' >"$work/long/metrics.jsonl"
expect 0 long.html "$loam" report "$work/long" --out "$work/long.html"
bytes=$(wc -c <"$work/long.html")
[ "$bytes" -lt 600000 ] || fail "a million steps make a page of $bytes bytes"
grep -qF 'means of several log lines, with their lowest and highest value' "$work/long.html" || fail "means are not called so"
grep -q '77\.125' "$work/long.html" || fail "the spike is lost"
grep -qF '2000 skipped steps' "$work/long.html" || fail "skipped steps are counted"
grep -qF 'The newest 60 of 2000 events' "$work/long.html" || fail "the list of events is bounded"
echo "ok: $bytes bytes"
