# Text beside blanks: the ids of the corpus, of transformers by the exported folder, and back (tools/make-blanks.py).
. tests/cli/lib.sh "$1"
golden=tests/golden/blanks

# train NAME KIND FAMILY: the tokenizer at $model and its exported folder.
train() {
    model=$work/$1
    case $2 in sentencepiece-*) model=$model.model ;; esac
    "$loam" tokenizer train --kind "$2" --for "$3" --vocab-size 400 --out "$model" $golden/text.txt 2>"$work/err" &&
        "$loam" tokenizer export --model "$model" --out "$work/$1.hf" 2>>"$work/err" || fail "$1: $(cat "$work/err")"
}
# as_typed BLANK: lines with <extra_id_N> as lines with this blank.
as_typed() {
    if [ "$1" = sentinels ]; then cat; else sed "s/<extra_id_[012]>/$1/g"; fi
}
# encode MODEL OPTIONS…: ids of the lines of standard input.
encode() {
    "$loam" tokenizer encode --model "$@" 2>"$work/err" || fail "$(cat "$work/err")"
}
# One word of each line is left out.
without_a_word() {
    awk "$random"'BEGIN { seed(5) } {
        n = 0
        for (rest = $0; match(rest, /[A-Za-z0-9]+/); rest = substr(rest, RSTART + RLENGTH))
            n++
        which = 1 + int(random() * n)
        line = ""
        for (rest = $0; n > 0 && match(rest, /[A-Za-z0-9]+/); rest = substr(rest, RSTART + RLENGTH))
            line = line substr(rest, 1, RSTART - 1) (--which == 0 ? "<extra_id_0>" : substr(rest, RSTART, RLENGTH))
        print line rest
    }'
}
# How many lines of $work/typed.ids are those of $work/plain.ids with a run of them in the place of blank $1.
right() {
    paste -d'|' "$work/plain.ids" "$work/typed.ids" | awk -F'|' -v blank=" $1 " '{
        whole = " " $1 " "; typed = " " $2 " "
        at = index(typed, blank)
        before = substr(typed, 1, at); after = substr(typed, at + length(blank) - 1)
        if (at > 0 && length(before) + length(after) <= length(whole) + 1 && substr(whole, 1, length(before)) == before &&
            substr(whole, length(whole) - length(after) + 1) == after)
            right++
    } END { print right + 0 }'
}

grep -v '[[<]' $golden/text.txt | grep '[A-Za-z]' >"$work/words" # no special tokens; a piece may hold more than the word (of "int32_t")
lines=$(wc -l <"$work/words")
while read -r name kind family blank; do
    train "$name" "$kind" "$family"
    told=$(grep -c 'a new word' "$work/err" || true)
    [ "$told" = $([ "$kind" != wordpiece ]; echo $?) ] || fail "$name: told $told times that ids differ: $(cat "$work/err")"
    as_typed "${blank/_/ }" <$golden/lines.txt >"$work/typed"
    for place in "$model" "$work/$name.hf"; do
        encode "$place" <"$work/typed" >"$work/ids"
        cmp -s "$work/ids" "$golden/ids.$name" ||
            fail "$place: $(diff "$work/ids" "$golden/ids.$name" | grep -c '^<') lines differ from transformers': $(diff "$work/ids" \
                "$golden/ids.$name" | sed -n 2p)"
    done
    case $family in t5)
        awk '{ for (i = 1; i <= NF; i++) if ($i < 3) next } 1' "$work/ids" >"$work/known" # ids that a text shows
        "$loam" tokenizer decode --model "$model" <"$work/known" | encode "$model" >"$work/again"
        [ "$(wc -l <"$work/known")" -ge 150 ] && cmp -s "$work/known" "$work/again" ||
            fail "$name: $(diff "$work/known" "$work/again" | grep -c '^<') of $(wc -l <"$work/known") lines differ after decoding"
        ;;
    esac
    without_a_word <"$work/words" | as_typed "${blank%_}" >"$work/typed"
    encode "$model" --plain <"$work/words" >"$work/plain.ids"
    encode "$model" <"$work/typed" >"$work/typed.ids"
    piece=${blank%_}
    [ "$blank" != sentinels ] || piece='<extra_id_0>'
    id=$(echo "$piece" | encode "$model")
    got=$(right "$id")
    [ "$got" -ge 150 ] || fail "$name: $got of $lines lines are as the corpus has them"
    echo "ok: $name: $got of $lines lines without a word are as in the corpus"
done <<'END'
t5 sentencepiece-unigram t5 sentinels
t5-bpe sentencepiece-bpe t5 sentinels
mask sentencepiece-unigram roberta <mask>
byte-t5 byte-bpe t5 sentinels
byte-mask byte-bpe roberta <mask>
bert wordpiece bert [MASK]_
END

echo 'return <extra_id_0>(error' >"$work/typed"
"$loam" tokenizer export --model "$work/t5.model" --blanks transformers --out "$work/apart" 2>"$work/err" || fail "$(cat "$work/err")"
for way in "$work/t5.model --blanks transformers" "$work/apart" "$work/apart --blanks transformers"; do
    encode $way --pieces <"$work/typed" >"$work/out"
    grep -q '<extra_id_0> ▁(' "$work/out" || fail "$way: $(cat "$work/out")"
done
encode "$work/apart" --blanks corpus --pieces <"$work/typed" >"$work/out"
grep -q '<extra_id_0> (' "$work/out" || fail "corpus: $(cat "$work/out")"
expect 1 'not "none"' "$loam" tokenizer encode --model "$work/t5.model" --blanks none
echo "ok: transformers' ids by an option, which an export keeps"

# WordPiece in tokenizer.json: transformers reads text that touches a blank as a new word, as loam does by the option.
train wordpiece-t5 wordpiece t5
while read -r name blank; do
    as_typed "$blank" <$golden/lines.txt >"$work/typed"
    "$loam" tokenizer export --model "$work/$name" --blanks transformers --out "$work/$name-apart" 2>"$work/err" || fail "$(cat "$work/err")"
    ! grep -q 'a new word' "$work/err" || fail "$name: told that ids differ: $(cat "$work/err")"
    for way in "$work/$name --blanks transformers" "$work/$name-apart"; do
        encode $way <"$work/typed" >"$work/ids"
        cmp -s "$work/ids" "$golden/ids.$name-apart" || fail "$way: other ids than transformers'"
    done
    encode "$work/$name" <"$work/typed" >"$work/ids"
    ! cmp -s "$work/ids" "$golden/ids.$name-apart" || fail "$name: no line has text that touches a blank"
done <<'END'
bert [MASK]
wordpiece-t5 sentinels
END
for from in apart t5.hf; do # a tokenizer.json of Unigram says it or not, and stays as it is
    mkdir "$work/$from.json"
    cp "$work/$from/tokenizer.json" "$work/$from.json/"
    "$loam" tokenizer export --model "$work/$from.json" --out "$work/unigram.$from" 2>"$work/err" || fail "$(cat "$work/err")"
    told=$(grep -c '"ed" in re<extra_id_0>ed, as a new word' "$work/err" || true)
    [ "$told" = $([ $from != apart ]; echo $?) ] || fail "unigram of $from: $(cat "$work/err")"
done
echo "ok: with an option WordPiece has transformers' ids beside blanks, and exports without it say that theirs differ"

# A model answers typed blanks as it answers the ids of a corpus with a word left out.
tok=$work/t5.model
"$loam" prepare --tokenizer "$tok" --out "$work/data" $golden/text.txt >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
cat >"$work/config.yaml" <<YAML
run: { dir: $work/run }
model: { n_enc: 1, n_dec: 1, width: 16, ffn: 32, heads: 2, head_dim: 8 }
tokenizer: { path: $tok }
data: { train: $work/data, input_length: 64 }
train: { length: 20 steps, batch: 8 samples, threads: 1 }
optim: { name: adamw, lr: 1e-2 }
YAML
"$loam" train "$work/config.yaml" >/dev/null 2>"$work/err" || fail "$(tail -n 2 "$work/err")"
sed -n 1,40p "$work/words" | without_a_word >"$work/typed"
encode "$tok" --plain < <(sed -n 1,40p "$work/words") >"$work/plain.ids"
encode "$tok" <"$work/typed" >"$work/typed.ids"
id=$(echo '<extra_id_0>' | encode "$tok")
paste -d'|' "$work/plain.ids" "$work/typed.ids" | awk -F'|' -v blank="$id" '{ # the ids of the corpus, but for the word
    n = split($1, whole, " "); m = split($2, typed, " ")
    for (at = 1; typed[at] != blank; at++)
        printf "%d ", whole[at]
    printf "%d ", blank
    for (i = n - (m - at) + 1; i <= n; i++)
        printf "%d ", whole[i]
    print 1
}' >"$work/corpus.ids"
answers() {
    "$loam" generate --model "$work/run" --max-tokens 8 --json "$@" 2>"$work/err" | sed 's/.*"ids"/"ids"/' || fail "$(cat "$work/err")"
}
answers <"$work/typed" >"$work/typed.answers"
answers --ids <"$work/corpus.ids" >"$work/corpus.answers"
[ "$(wc -l <"$work/typed.answers")" = 40 ] && cmp "$work/typed.answers" "$work/corpus.answers" || fail "answers differ"
answers --blanks transformers <"$work/typed" >"$work/apart.answers"
! cmp -s "$work/apart.answers" "$work/corpus.answers" || fail "--blanks changes nothing"
echo "ok: 40 typed lines have the answers of their ids"

cat >"$work/bert.yaml" <<YAML
run: { dir: $work/bert-run }
model: { family: bert, n_enc: 1, width: 16, ffn: 32, heads: 2, head_dim: 8, max_positions: 64 }
tokenizer: { path: $work/bert }
data: { train: $work/bert-data, input_length: 64 }
train: { length: 1 steps, batch: 2 samples, threads: 1 }
YAML
"$loam" prepare --tokenizer "$work/bert" --out "$work/bert-data" $golden/text.txt >/dev/null 2>"$work/err" &&
    "$loam" train "$work/bert.yaml" >/dev/null 2>"$work/err" || fail "$(tail -n 2 "$work/err")"
"$loam" export "$work/bert-run" --to hf --out "$work/bert-model" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
grep -q '"ed" in re\[MASK\]ed, as a new word' "$work/err" || fail "loam export: $(cat "$work/err")"
echo "ok: loam export says that ids beside a mask of WordPiece differ"
