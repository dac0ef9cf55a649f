# labels: any-processor
# loam scores: texts, JSON lines and several references; intervals; what is wrong in use is said in one line.
. tests/cli/lib.sh "$1"
printf '%s\n' 'The cat sat on the mat.' 'a dog' '' >"$work/p.txt"
printf '%s\n' 'The cat sat on a mat.' 'the dog' 'nothing' >"$work/r.txt"
printf '%s\n' 'A cat sat on the mat.' 'two dogs' 'none' >"$work/r2.txt"

# 2 of 3 are exact once articles are gone; BLEU is what sacreBLEU 2.6.0 says.
expect 0 'exact_match                66.6667' "$loam" scores squad "$work/p.txt" "$work/r.txt"
expect 0 'bleu                       41.0865' "$loam" scores bleu "$work/p.txt" "$work/r.txt"
expect 0 'nrefs:2|case:lc|eff:no|tok:intl|smooth:floor[0.10]|version:2.6.0' \
    "$loam" scores bleu "$work/p.txt" "$work/r.txt" "$work/r2.txt" --tokenizer intl --smoothing floor --lowercase
"$loam" scores rouge_l,bleu "$work/p.txt" "$work/r.txt" --bootstrap 100 --json >"$work/json"
[ "$(grep -c '"intervals":{' "$work/json")" = 2 ] || fail "intervals: $(cat "$work/json")"
"$loam" scores rouge_l,bleu "$work/p.txt" "$work/r.txt" --bootstrap 100 --json | cmp - "$work/json" || fail "the same seed, other intervals"
gzip -k "$work/p.txt"
printf '1\n1\n' >"$work/flat"
printf '1\n2\n' >"$work/numbers"
expect 0 '"intervals":{"pearson":[null,null]}' "$loam" scores pearson "$work/flat" "$work/numbers" --json --bootstrap 20
"$loam" scores rouge_l,bleu "$work/p.txt.gz" "$work/r.txt" --bootstrap 100 --json | cmp - "$work/json" || fail "gzip"

cat >"$work/squad2.jsonl" <<'JSON'
{"prediction": "the river", "references": ["River", "a brook"]}
{"prediction": "", "references": []}
{"prediction": "the mill", "references": []}
JSON
expect 0 'no_answer_exact_match      50.0000' "$loam" scores squad2 "$work/squad2.jsonl"
printf '%s\n' '{"line":1,"logprob":-6,"tokens":3,"greedy":false}' '{"line":2,"logprob":0,"tokens":3,"greedy":true}' >"$work/lp.jsonl"
expect 0 '2.7183' "$loam" scores perplexity "$work/lp.jsonl"
printf '%s\n' entailment other >"$work/labels"
printf '%s\n' entailment neutral >"$work/wanted"
expect 0 'f1: 1 predictions are labels that no reference has' \
    "$loam" scores f1 --positive entailment "$work/labels" "$work/wanted"
# A byte order mark before the first line is no part of it.
mark=$(printf '\xef\xbb\xbf')
printf '%s\n' "${mark}good" bad >"$work/marked"
printf '%s\n' good bad >"$work/plain"
for pair in 'marked plain' 'plain marked'; do
    expect 0 'accuracy                  100.0000' "$loam" scores accuracy "$work/${pair% *}" "$work/${pair#* }"
done
sed "1s/^/$mark/" "$work/squad2.jsonl" >"$work/marked.jsonl"
expect 0 'no_answer_exact_match      50.0000' "$loam" scores squad2 "$work/marked.jsonl"
printf 'q\nr\nq\n' >"$work/groups"
printf '%s\n' good bad good >"$work/three"
printf '%s\n' good bad bad >"$work/wrong"
for first in '' "$mark"; do
    sed "1s/^/$first/" "$work/groups" >"$work/of-groups"
    "$loam" scores multirc --positive good --groups "$work/of-groups" "$work/three" "$work/wrong" >"$work/multirc$first"
done
cmp "$work/multirc" "$work/multirc$mark" || fail "groups with a byte order mark: $(cat "$work/multirc$mark")"
printf 'q\nq\n' >"$work/groups"
expect 0 'f1a' "$loam" scores multirc --positive entailment --groups "$work/groups" "$work/labels" "$work/wanted"
expect 0 'rouge_lsum' "$loam" scores --list

expect 1 "$work is a folder; name a file" "$loam" scores accuracy "$work" "$work/r.txt"
expect 1 'no score is called rouge_LSum, did you mean rouge_lsum?' "$loam" scores rouge_LSum "$work/p.txt" "$work/r.txt"
expect 1 'seqeval takes tags' "$loam" scores bleu,seqeval "$work/p.txt" "$work/r.txt"
expect 1 'say which scores and of what' "$loam" scores bleu
expect 1 '--tokenizer is 14a, want one of 13a, intl, char, none' "$loam" scores bleu --tokenizer 14a "$work/p.txt" "$work/r.txt"
expect 1 '--word-order is 3' "$loam" scores chrf --word-order 3 "$work/p.txt" "$work/r.txt"
expect 1 'want a share between 0 and 100' "$loam" scores bleu --confidence 100 "$work/p.txt" "$work/r.txt"
expect 1 'groups has 2 lines, but there are 3 predictions' "$loam" scores bleu "$work/p.txt" "$work/groups"
expect 1 'No such file' "$loam" scores bleu "$work/p.txt" "$work/absent"
expect 1 "$work/p.txt needs a file of REFERENCES after it" "$loam" scores bleu "$work/p.txt"
printf 'a dog\n' >"$work/torn.jsonl"
expect 1 'torn.jsonl:1: not JSON' "$loam" scores bleu "$work/torn.jsonl"
