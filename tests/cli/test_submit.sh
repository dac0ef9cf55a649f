# labels: any-processor
# Predictions in the forms of the leaderboards.
. tests/cli/lib.sh "$1"
cd "$work"
# same FILE: it holds what standard input says.
same() {
    diff - "submission/$1" || fail "$1"
    echo "ok: $1"
}
lines() { # lines ID:PREDICTION…
    local pair
    for pair; do printf '{"id":"%s","input":"x","prediction":"%s","logprob":-1.0,"of":"0"}\n' "${pair%%:*}" "${pair#*:}"; done
}
lines 7:entailment 8:not_entailment | sed 's/"id":"[0-9]*",//' >rte.jsonl
expect 0 'submission/RTE.tsv: 2 predictions' "$loam" task submit rte rte.jsonl --out submission
printf 'index\tprediction\n0\tentailment\n1\tnot_entailment\n' | same RTE.tsv
sed '1s/^/\xef\xbb\xbf/' rte.jsonl >marked.jsonl # a byte order mark, as an editor adds it
expect 0 'submission/RTE.tsv: 2 predictions' "$loam" task submit rte marked.jsonl --out submission
printf '{"input":"x","prediction":"acceptable"}\n{"input":"x","prediction":"unacceptable"}\n{"input":"x","prediction":"hm"}\n' >cola.jsonl
expect 0 '1 of 3 predictions are not labels of cola, and are written as its first one' "$loam" task submit cola cola.jsonl --out submission
printf 'index\tprediction\n0\t1\n1\t0\n2\t0\n' | same CoLA.tsv
printf '{"input":"x","prediction":"3.8"}\n{"input":"x","prediction":"7"}\n' >stsb.jsonl
"$loam" task submit stsb stsb.jsonl --out submission 2>err || fail "$(cat err)"
printf 'index\tprediction\n0\t3.800\n1\t5.000\n' | same STS-B.tsv
lines 3:True 9:False >boolq.jsonl
"$loam" task submit boolq boolq.jsonl --out submission 2>err || fail "$(cat err)"
printf '{"idx":3,"label":"true"}\n{"idx":9,"label":"false"}\n' | same BoolQ.jsonl
lines 0:choice2 1:choice1 >copa.jsonl
"$loam" task submit copa copa.jsonl --out submission 2>err || fail "$(cat err)"
printf '{"idx":0,"label":1}\n{"idx":1,"label":0}\n' | same COPA.jsonl
lines 0-0-0:True 0-0-1:False 0-1-2:True 4-2-3:False >multirc.jsonl
"$loam" task submit multirc multirc.jsonl --out submission 2>err || fail "$(cat err)"
same MultiRC.jsonl <<'JSON'
{"idx":0,"passage":{"questions":[{"idx":0,"answers":[{"idx":0,"label":1},{"idx":1,"label":0}]},{"idx":1,"answers":[{"idx":2,"label":1}]}]}}
{"idx":4,"passage":{"questions":[{"idx":2,"answers":[{"idx":3,"label":0}]}]}}
JSON
lines a1:in_June b2: >squad.jsonl
"$loam" task submit squad squad.jsonl --out submission 2>err || fail "$(cat err)"
printf '{"a1":"in_June","b2":""}\n' | same squad.json
sed 's/"prediction":"[^"]*"/"prediction":"the referent","graded":"True"/' boolq.jsonl >wsc.jsonl
"$loam" task submit wsc wsc.jsonl --out submission 2>err || fail "$(cat err)"
printf '{"idx":3,"label":"True"}\n{"idx":9,"label":"True"}\n' | same WSC.jsonl

lines x:neutral >word.jsonl
expect 1 'word.jsonl:1: the id "x" is no number' "$loam" task submit cb word.jsonl --out submission
printf '{"id":"1","input":"x"}\n' >none.jsonl
expect 1 'none.jsonl:1: no "prediction"' "$loam" task submit cb none.jsonl --out submission
expect 1 'rte.jsonl:1: no "id": the lines are not of wic' "$loam" task submit wic rte.jsonl --out submission
expect 1 'is not PASSAGE-QUESTION-ANSWER' "$loam" task submit multirc boolq.jsonl --out submission
expect 1 'no leaderboard takes predictions' "$loam" task submit imdb rte.jsonl --out submission
expect 1 'usage: loam task submit' "$loam" task submit rte
[ ! -e submission/CB.jsonl ] || fail "a file of no predictions"
lines 99999999999999999999:True >huge.jsonl
expect 1 'huge.jsonl:1: the id "99999999999999999999" is no number' "$loam" task submit boolq huge.jsonl --out submission
lines 0-0--1:True >nested.jsonl
expect 1 'the id "0-0--1" is not PASSAGE-QUESTION-ANSWER' "$loam" task submit multirc nested.jsonl --out submission
lines a:x b:y a:z >twice.jsonl
expect 1 'twice.jsonl:3: the id "a" is there twice' "$loam" task submit squad twice.jsonl --out submission
