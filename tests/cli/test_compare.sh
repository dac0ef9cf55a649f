# labels: any-processor
# loam compare: options that differ, losses at equal steps and tokens, curves as a picture; what is no run is named.
. tests/cli/lib.sh "$1"
make_dataset
"$loam" train "$work/config.yaml" run.dir="$work/a" 2>/dev/null
"$loam" train "$work/config.yaml" run.dir="$work/b" optim.lr=1e-3 'train.batch=16 samples' 2>/dev/null

"$loam" compare "$work/a" "$work/b/" --rows 4 --svg "$work/curves.svg" --baseline unigram=4.9 >"$work/table"
grep -Eq '^optim\.lr +0\.003 +0\.001$' "$work/table" || fail "optim.lr: $(cat "$work/table")"
grep -Eq '^train\.batch +8 samples +16 samples$' "$work/table" || fail "train.batch"
! grep -q 'run\.dir' "$work/table" || fail "run.dir always differs and says nothing"
last() { sed -n "s/.*\"kind\":\"$2\".*\"step\":40,.*\"loss\":\([0-9.]*\).*/\1/p" "$work/$1/metrics.jsonl"; }
printf -v row '%.4f +%.4f' "$(last a valid)" "$(last b valid)"
grep -Eq "^40 +$row\$" "$work/table" || fail "held-out losses at step 40: $(cat "$work/table")"
grep -q '^held-out loss after tokens' "$work/table" || fail "no table by tokens"
"$loam" compare "$work/a" "$work/b" --json | sed -n 1p | grep -q '^{"option":"train.batch","values":{' || fail "JSON"

[ "$(grep -c '<path class="line" stroke="#[0-9a-f]*" d="M[0-9.]* [0-9.]*L' "$work/curves.svg")" = 2 ] || fail "two curves"
! grep -q 'var(\|:root' "$work/curves.svg" || fail "colours that only browsers know"
if command -v rsvg-convert >/dev/null; then # the blue of the first curve is drawn, and no black area
    rsvg-convert -f png "$work/curves.svg" -o "$work/curves.png" || fail "the picture outside of a browser"
fi
grep -q 'unigram 4.90</text>' "$work/curves.svg" || fail "the baseline"
"$loam" compare "$work/a" --svg "$work/one.svg"
grep -q '</svg>' "$work/one.svg" || fail "the picture of one run"

expect 1 'exists and is no SVG of loam: give another name' "$loam" compare "$work/a" --svg "$work/config.yaml"
ln -s one.svg "$work/link.svg"
"$loam" compare "$work/a" --svg "$work/link.svg" # a picture of before is replaced
[ -L "$work/link.svg" ] || fail "the link"

# Evaluations where no step of training is logged: before the first record, after the last, and without any.
for name in odd short; do
    length=23 && [ "$name" = odd ] || length=4
    "$loam" train "$work/config.yaml" run.dir="$work/$name" train.length="$length steps" train.eval_every=4 train.log_every=10 2>/dev/null
done
"$loam" compare "$work/odd" "$work/odd" --rows 9 >"$work/table"
for step in 4 20 23; do
    [ "$(grep -c "^$step  .*[0-9]\.[0-9]" "$work/table")" -ge 1 ] || fail "no row of step $step: $(cat "$work/table")"
done
[ "$(sed -n '/^held-out loss after/,/^$/p' "$work/table" | grep -c '[0-9]\.[0-9]* *$')" = 7 ] || fail "tokens: $(cat "$work/table")"
expect 0 'held-out loss at step' "$loam" compare "$work/odd" "$work/short" --svg "$work/short.svg"
! grep -qi nan "$work/out" "$work/short.svg" || fail "nan: $(cat "$work/out")"

# A torn last line and lines that are no records are passed over.
cp -r "$work/a" "$work/torn"
printf 'nonsense\n{"kind":"train","step":41,"loss":' >>"$work/torn/metrics.jsonl"
expect 0 'the options are the same' "$loam" compare "$work/a" "$work/torn"
grep -q 'torn/metrics.jsonl: damaged lines are left out: 1' "$work/err" || fail "not a word of the damaged line: $(cat "$work/err")"
printf '\377\376{\n' >"$work/torn/metrics.jsonl"
expect 1 'holds no loss: 1 of its lines are no JSON objects' "$loam" compare "$work/torn"
rm "$work/torn/metrics.jsonl"
mkfifo "$work/torn/metrics.jsonl"
expect 1 'torn/metrics.jsonl is no file' "$loam" compare "$work/torn"
expect 0 'torn: ended' "$loam" status "$work/torn"
# One run: its losses, and nothing that differs.
"$loam" compare "$work/a" >"$work/table"
grep -Eq "^40 +$(printf '%.4f' "$(last a valid)")\$" "$work/table" || fail "the losses of one run: $(cat "$work/table")"
! grep -q option "$work/table" || fail "options of one run: $(cat "$work/table")"
"$loam" compare "$work/a" --json | sed -n 1p | grep -q '^{"kind":"valid","step":' || fail "JSON of one run"
# Losses of the same samples with more noise are of other targets.
for noise in 0.15 0.3; do
    "$loam" train "$work/config.yaml" run.dir="$work/noise/$noise" data.noise_density=$noise train.length=1 2>"$work/err" || fail "$(cat "$work/err")"
done
expect 0 "are of other targets (data.noise_density: 0.3 and 0.15): they cannot be compared" "$loam" compare "$work/noise"
# Data that were made again by the same path between two runs: the losses are of other samples.
put() { for end in bin idx json; do cp "$work/$1.$end" "$work/$2.$end"; done; }
for n in 1 2; do
    [ "$n" = 1 ] && put data-valid held || put data held
    "$loam" train "$work/config.yaml" run.dir="$work/held/$n" run.seed=$n data.valid="$work/held" train.length=1 2>"$work/err" || fail "$(cat "$work/err")"
done
expect 0 "warning: the held-out losses of $work/held/1 and $work/held/2 are of other samples: they cannot be compared" "$loam" compare "$work/held"
! grep -q 'trained on other data' "$work/err" || fail "$(cat "$work/err")"
expect 0 'data:' "$loam" collect "$work/held"
[ "$(grep -c '  data:' "$work/out")" = 2 ] || fail "one mean of losses of other samples: $(cat "$work/out")"
"$loam" report "$work/held" --out "$work/held.html" 2>/dev/null
grep -q "Of other held-out samples than those of $work/held/1, .* the losses of $work/held/2" "$work/held.html" || fail "the report"
for n in 1 2; do
    [ "$n" = 1 ] && put data learnt || put data-valid learnt
    "$loam" train "$work/config.yaml" run.dir="$work/learnt/$n" data.train="$work/learnt" train.length=1 train.eval_every=0 2>"$work/err" || fail "$(cat "$work/err")"
done
expect 0 "warning: $work/learnt/1 and $work/learnt/2 were trained on other data, though data.train is the same" "$loam" compare "$work/learnt"
! grep -q 'held-out losses of' "$work/err" || fail "$(cat "$work/err")"
# A loss that is rounded to zero has no minus.
cp -r "$work/a" "$work/zero" && sed -Ei 's/"loss":[0-9.]+/"loss":-1e-9/' "$work/zero/metrics.jsonl"
"$loam" compare "$work/zero" >"$work/table" && grep -Eq '^40 .* 0\.0000$' "$work/table" || fail "a loss of zero: $(cat "$work/table")"
mkdir "$work/empty" "$work/sweep"
expect 1 'is no run directory: it holds no metrics.jsonl' "$loam" compare "$work/a" "$work/empty"
# A folder, such as a sweep's, stands for the runs below it.
cp -r "$work/a" "$work/b" "$work/sweep"
"$loam" compare "$work/sweep" >"$work/table" && grep -q "^held-out loss at step  *$work/sweep/a  *$work/sweep/b\$" "$work/table" || fail "$(cat "$work/table")"
# A run of it that has written no metrics yet is left out.
mkdir -p "$work/sweep/begun/checkpoints" && cp "$work/a/config.yaml" "$work/sweep/begun" && : >"$work/sweep/begun/lock"
"$loam" compare "$work/sweep" >"$work/table.2" 2>"$work/err" || fail "a run without metrics: $(cat "$work/err")"
grep -q "sweep/begun is left out: .*metrics.jsonl" "$work/err" && cmp "$work/table" "$work/table.2" || fail "$(cat "$work/err")"
rm -r "$work/sweep/begun"
"$loam" report "$work/sweep" --out "$work/sweep.html" 2>/dev/null && grep -q "sweep/b" "$work/sweep.html" || fail "the report of a folder"
expect 1 '0 runs given, want 1 to 32' "$loam" compare
# The name of a file says what is in it.
expect 1 '--svg x.png: the file is no .png; give a name that ends in .svg' "$loam" compare "$work/a" --svg x.png
expect 1 '--out x.pdf: the file is no .pdf; give a name that ends in .html' "$loam" report "$work/a" --out x.pdf
expect 1 '--out x.csv: the file is no .csv; give a name that ends in .jsonl' "$loam" eval "$work/a" --task rte --out x.csv
expect 1 '--out x.json: the file is no .json; give a name that ends in .jsonl' "$loam" predict "$work/a" --out x.json
expect 1 '--npy x.csv: the file is no .csv; give a name that ends in .npy' "$loam" embed --model "$work/a" --npy x.csv
expect 1 '--trace x.html: the file is no .html; give a name that ends in .json' "$loam" train "$work/config.yaml" --trace x.html
expect 1 '--trace x.html: the file is no .html; give a name that ends in .json' "$loam" bench step "$work/config.yaml" --trace x.html
expect 1 '--out x.csv: the file is no .csv; give a name that ends in .json' "$loam" bench comm parallel.ranks=2 --out x.csv
expect 1 '--out x.json: the file is no .json; give a name that ends in .sh' "$loam" slurm "$work/config.yaml" run.dir="$work/a" --nodes 1 --time 1h --out x.json
expect 1 'is no run directory' "$loam" compare "$work/a/config.yaml"
expect 1 'is a folder; want the name of a file' "$loam" compare "$work/a" --svg "$work"
cp -r "$work/a" "$work/bare"
rm "$work/bare/config.yaml"
expect 1 'bare has no config.yaml, whose options are compared: put it back' "$loam" compare "$work/bare"
# A run that cannot be read takes no other one away.
echo 'x: [' >"$work/bare/config.yaml"
"$loam" compare "$work/a" "$work/b" >"$work/table"
expect 0 'warning: '"$work/bare is left out: $work/bare/config.yaml:1: x: a list is not accepted here" "$loam" compare "$work/bare" "$work/a" "$work/torn" "$work/b/"
grep -q "torn is left out: .*torn/metrics.jsonl is no file" "$work/err" && cmp "$work/table" "$work/out" || fail "the others: $(cat "$work/err" "$work/out")"
expect 1 'bare/config.yaml:1: x: a list is not accepted here' "$loam" compare "$work/bare"
expect 1 '--baseline is a line of the picture' "$loam" compare "$work/a" "$work/b" --baseline unigram=4.9
expect 1 'want NAME=LOSS' "$loam" compare "$work/a" "$work/b" --svg "$work/x.svg" --baseline 4.9
