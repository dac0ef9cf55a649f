# labels: any-processor
# Grammars are installed, and programs cut along their trees: the same bytes for any number of workers, counts by language.
. tests/cli/lib.sh "$1"
grammars=$(dirname "$loam")/test-grammars
export LOAM_GRAMMARS=$work/grammars

expect 0 "no grammar in" "$loam" grammars list
expect 1 "--from is missing" "$loam" grammars install
expect 1 "want list or install" "$loam" grammars remove
mkdir "$work/empty"
expect 1 "no grammar, which is a file NAME.so" "$loam" grammars install --from "$work/empty"
expect 1 "no grammar is installed" "$loam" prepare --ast --tokenizer bytes --out "$work/d" tests/text
expect 0 "1 grammar" "$loam" grammars install --from "$grammars"
expect 0 ".list .lst brackets" "$loam" grammars list

mkdir "$work/src"
awk 'BEGIN { for (i = 1; i <= 60; i++) { printf "(f%d", i; for (j = 0; j < i % 7; j++) printf " (a%s (b %s))", j, i * j
    printf ")\n" } }' | tr '0-9' 'k-t' >"$work/all"
split -l 3 -a 3 --additional-suffix=.list "$work/all" "$work/src/p"
printf '(((((((((((((((((((deep)))))))))))))))))))\n' >"$work/src/deep.list"
printf '( ( ( 1234567890 1234567890\n' >"$work/src/wrong.list"
: >"$work/src/empty.list"
printf '(a\r\n (b)\t\r\n)\r\n' >"$work/src/crlf.list"
printf 'Words that are no program.\n' >"$work/src/read.md"
args=(--ast --segment 31 --ast-max-depth 15 --tokenizer bytes)
expect 0 "lists" "$loam" prepare "${args[@]}" --workers 1 --replace --out "$work/one" "$work/src"
grep -q "lists: 1 of 23 programs are text: too deep" "$work/out" || fail "$(cat "$work/out")"
grep -q "lists: 1 of 23 programs are text: not of its grammar" "$work/out" || fail "$(cat "$work/out")"
grep -q "^text  *1 " "$work/out" || fail "$(cat "$work/out")"
expect 0 "lists" "$loam" prepare "${args[@]}" --workers 5 --out "$work/five" "$work/src"
for suffix in bin idx tree json; do
    cmp "$work/one.$suffix" "$work/five.$suffix" || fail "the workers change .$suffix"
done
echo "ok: the same bytes for any number of workers"
expect 0 '"broken_least"' "$loam" prepare "${args[@]}" --json --valid 20% --out "$work/held" "$work/src"
[ -s "$work/held-valid.tree" ] || fail "no trees of the documents held out"
expect 0 "lists" "$loam" prepare "${args[@]}" --segment-rule greedy --out "$work/greedy" "$work/src"
cmp -s "$work/one.idx" "$work/greedy.idx" && fail "the rule of segmentation changes nothing"
expect 0 "one.tree is left out: a copy of a dataset has no syntax trees" "$loam" dataset shuffle "$work/one" --out "$work/mixed"
expect 0 "documents" "$loam" inspect dataset "$work/mixed"

# The language by a field of JSON lines: a name or a file name.
printf '%s\n' '{"text": "(a b)", "path": "x.lst"}' '{"text": "(c)", "lang": "Brackets"}' '{"text": "(d)", "kind": "lists"}' \
    >"$work/j.jsonl"
expect 0 "lists                 2" "$loam" prepare --ast --tokenizer bytes --replace --out "$work/j" "$work/j.jsonl"
expect 0 "lists                 1" "$loam" prepare --ast --language-field kind --tokenizer bytes --replace --out "$work/j" "$work/j.jsonl"
grep -q "objects without a string in the field of --language-field, which are text: 2" "$work/out" || fail "$(cat "$work/out")"
! grep -q 'no object has' "$work/err" || fail "$(cat "$work/err")"
expect 0 '--language-field knid: no object has a string of this name' "$loam" prepare --ast --language-field knid --tokenizer bytes --replace --out "$work/j" "$work/j.jsonl"
echo '{"text": "(a)", "language": null, "path": "a.list"}' >"$work/null.jsonl"
expect 0 "lists                 1" "$loam" prepare --ast --tokenizer bytes --replace --out "$work/j" "$work/null.jsonl"

# A long .txt of which parts are held out is text.
for i in {1..4000}; do printf 'Line %s of a novel (of words).\n' "$i"; done >"$work/novel.txt"
expect 0 "language" "$loam" prepare --ast --whole-file --valid 20% --tokenizer bytes --out "$work/n" "$work/novel.txt"
grep -q "^lists" "$work/out" && fail "a novel is parsed: $(cat "$work/out")"

# A file that a rival grammar finds at most half as many errors in is of the rival's language.
mkdir "$work/rivals"
echo '(a b (c))' >"$work/rivals/plain.list"
echo '(a1 b2 (c3) 123 456)' >"$work/rivals/digits.list"
echo '(word (only))' >"$work/rivals/own.word"
expect 0 "words                 2" "$loam" prepare --ast --grammars "$(dirname "$loam")/test-rivals" --tokenizer bytes --out "$work/r" "$work/rivals"
grep -q "^lists  *1 " "$work/out" || fail "$(cat "$work/out")"

expect 1 "exclude each other" "$loam" prepare --ast --append-eod --tokenizer bytes --out "$work/d" "$work/src"
expect 1 "exclude each other; --ast-format fairseq" "$loam" prepare --ast --format fairseq --tokenizer bytes --out "$work/d" "$work/src"
for option in "--segment-rule greedy" "--segment 64" "--ast-max-bytes 9" "--ast-max-errors 0.5" "--ast-max-seconds 0" "--ast-max-depth 9" \
    "--by-language" "--text-share 0.1" "--language-temperature 2" "--ast-format fairseq" "--grammars $work" "--language-field kind"; do
    expect 1 "${option%% *} is for --ast" "$loam" prepare $option --tokenizer bytes --out "$work/d" "$work/src"
done
expect 1 "every document of $work/d, 1 of them, was held out by --valid 99%" "$loam" prepare --ast --by-language --valid 99% --tokenizer bytes --out "$work/d" "$work/src/deep.list"
for share in 0 1 -0.5; do
    expect 1 "--text-share $share: a share above 0 and below 1" "$loam" prepare --ast --by-language --text-share $share --tokenizer bytes --out "$work/d" "$work/src"
done
expect 1 "--language-temperature 0: a number above 0" "$loam" prepare --ast --by-language --language-temperature 0 --tokenizer bytes --out "$work/d" "$work/src"
for option in "--segment 50" "--ast-max-depth 9" "--text-share 0.1"; do
    expect 1 "${option% *} is not for lines" "$loam" prepare --format fairseq $option --out "$work/d" "$work/src/read.md"
done
expect 1 "least or greedy" "$loam" prepare --ast --segment-rule best --tokenizer bytes --out "$work/d" "$work/src"
expect 0 "documents" "$loam" prepare --tokenizer bytes --replace --out "$work/one" "$work/src"
[ ! -e "$work/one.tree" ] || fail "a tree of another dataset is left"
expect 0 "syntax trees" "$loam" inspect dataset "$work/five" --documents 2 --tokenizer bytes --trees --check
grep -q "^  list 0-" "$work/out" && grep -q "^      identifier .*  b$" "$work/out" || fail "no tree: $(cat "$work/out")"
expect 1 "has no syntax trees: loam prepare --ast" "$loam" inspect dataset "$work/one" --trees
cp "$work/five.tree" "$work/bad.tree" && cp "$work/five.bin" "$work/bad.bin" && cp "$work/five.idx" "$work/bad.idx" &&
    cp "$work/five.json" "$work/bad.json" && printf '\177' | dd of="$work/bad.tree" bs=1 seek=40 conv=notrunc status=none
expect 1 "the file is corrupt" "$loam" inspect dataset "$work/bad" --check
cp "$work/five.tree" "$work/short.tree" && cp "$work/five.bin" "$work/short.bin" && cp "$work/five.idx" "$work/short.idx" &&
    cp "$work/five.json" "$work/short.json" && truncate -s -8 "$work/short.tree"
expect 1 "short.tree" "$loam" inspect dataset "$work/short"

# Masked spans of a batch are coloured on a terminal alone, and the text is the same.
cat >"$work/code.yaml" <<YAML
tokenizer: { path: bytes }
data: { train: $work/five, objective: subtree_corruption, input_length: 32, noise_density: 0.25 }
train: { batch: 4 samples, micro_batch: 4 samples }
YAML
escape=$(printf '\033')
expect 0 "text (" "$loam" inspect batch "$work/code.yaml"
grep -qF "$escape" "$work/out" && fail "colours in a file"
cp "$work/out" "$work/plain"
CLICOLOR_FORCE=1 expect 0 "$escape[4;31m" "$loam" inspect batch "$work/code.yaml"
sed "s/$escape\[[0-9;]*m//g" "$work/out" | cmp - "$work/plain" || fail "the colours change the text"
NO_COLOR=1 CLICOLOR_FORCE=1 expect 0 "text (" "$loam" inspect batch "$work/code.yaml"
cmp "$work/out" "$work/plain" || fail "colours in spite of NO_COLOR"

# A dataset for each language, their shares, and AST-T5's layout: runs read both.
cp "$work/src"/*.list "$work/rivals"
for i in {1..40}; do printf 'Words that are no program, %s of them.\n' "$i" >"$work/rivals/$i.md"; done
own=(--ast --grammars "$(dirname "$loam")/test-rivals" --segment 31 --tokenizer bytes --valid 20%)
expect 0 "l_weights.json: use it as data.train" "$loam" prepare "${own[@]}" --by-language --text-share 0.25 --out "$work/l" "$work/rivals"
grep -q '"text": 0.25$' "$work/l_weights.json" || fail "text has another share: $(cat "$work/l_weights.json")"
[ -s "$work/l_lists.tree" ] && [ -s "$work/l_text-valid.idx" ] || fail "no datasets of languages: $(ls "$work")"
expect 0 "ft/lists/train" "$loam" prepare "${own[@]}" --ast-format ffrecord --out "$work/ft" "$work/rivals"
[ -s "$work/ft/lists/ndtypes/train.bin" ] && [ -s "$work/ft/lists/ndtypes/ffr/train.ffr" ] && grep -q '^p000031 ' "$work/ft/dict_ndtype.txt" ||
    fail "not AST-T5's layout: $(find "$work/ft")"
for workers in 1 5; do
    "$loam" prepare "${own[@]}" --ast-format ffrecord --workers $workers --out "$work/ft$workers" "$work/rivals" >/dev/null 2>&1
done
diff -r "$work/ft1" "$work/ft5" || fail "the workers change AST-T5's files"
"$loam" inspect dataset "$work/l_lists" --documents 9 --trees --tokenizer bytes | sed -n '/^---/,$p' >"$work/trees.own"
"$loam" inspect dataset "$work/ft/lists/train" --documents 9 --trees --tokenizer bytes | sed -n '/^---/,$p' >"$work/trees.ft"
sed 's/, [0-9]* tokens$//' "$work/trees.own" >"$work/a" && sed 's/, [0-9]* tokens$//' "$work/trees.ft" | cmp - "$work/a" ||
    fail "the trees differ by their format"
cp -r "$work/ft" "$work/torn"
rm -r "$work/torn/lists/ndtypes/ffr" "$work/torn/lists/ndtypes/train.idx"
expect 1 "ndtypes/train.idx: No such file" "$loam" inspect dataset "$work/torn/lists/train"
rm "$work/torn/lists/ndtypes/train.bin"
expect 0 "torn/lists/ndtypes/train.idx is missing: $work/torn/lists/train has no syntax trees, and is read as text" "$loam" inspect dataset "$work/torn/lists/train"
for weights in "$work/l_weights.json" "$work/ft/data_weights.json"; do
    expect 0 "valid_text" "$loam" train "$work/code.yaml" data.train="$weights" data.valid="$weights" run.dir="$work/run-$(basename "$weights")" \
        model.n_enc=1 model.n_dec=1 model.width=16 model.ffn=16 model.heads=2 model.head_dim=8 'train.length=3 steps' 'train.log_every=1 steps' \
        'optim.warmup=1 steps' train.threads=1
done
echo '{"python": -1}' >"$work/bad.json"
expect 1 "a weight above 0" "$loam" inspect batch "$work/code.yaml" data.train="$work/bad.json"
expect 1 "which is named without suffix: $work/one" "$loam" inspect batch "$work/code.yaml" data.train="$work/one.json"
expect 1 "loam, fairseq or ffrecord" "$loam" prepare --ast --ast-format x --tokenizer bytes --out "$work/d" "$work/src"
