# Bare encoders of Hugging Face (BertModel) that go on with masked words get the language-model head of their class there, with a
# warning that names it, and are exported as that class.
. tests/cli/lib.sh "$1"
cd "$work"
awk "$random"'BEGIN {
    seed(5)
    n = split("bari koti mesa loni dape gufi rano tive mosu kale", word)
    for (row = 1; row <= 200; row++) {
        for (i = 1; i <= 8; i++)
            printf "%s ", word[1 + int(random() * n)]
        print "\n"
    }
}' >corpus.txt
"$loam" tokenizer train --type wordpiece --for bert --vocab-size 60 --out tok corpus.txt 2>err || fail "$(cat err)"
"$loam" prepare --tokenizer tok --out data corpus.txt >/dev/null 2>err || fail "$(cat err)"
echo "{}" >c.yaml
settings="tokenizer.path=tok data.train=data data.input_length=32 train.length=2 train.batch=2samples train.threads=1 train.precision=f32"
small="model.n_enc=2 model.width=32 model.ffn=64 model.heads=2 model.head_dim=16 model.max_positions=64"
for family in bert:bert-base:BertForMaskedLM roberta:roberta-base:RobertaForMaskedLM modernbert:modernbert-base:ModernBertForMaskedLM; do
    IFS=: read -r name preset class <<<"$family"
    # shellcheck disable=SC2086
    "$loam" train c.yaml run.dir="$name" model.preset="$preset" $small model.head_transform=false model.head_bias=false model.sentence_head=false $settings 2>log ||
        fail "$name: $(tail -n 1 log)"
    "$loam" export "$name" --to hf --out "$name-hf" >/dev/null 2>err || fail "$(cat err)"
    ! grep -q ForMaskedLM "$name-hf/config.json" || fail "$name is not bare: $(cat "$name-hf/config.json")"
    # shellcheck disable=SC2086
    "$loam" train c.yaml run.dir="$name-on" train.init="$name-hf" data.objective=mlm $settings 2>log || fail "$name: $(tail -n 1 log)"
    grep -q 'not among the loaded weights, so initialised randomly: .*transform.dense' log || fail "no warning: $(cat log)"
    "$loam" export "$name-on" --to hf --out "$name-back" >/dev/null 2>err || fail "$(cat err)"
    grep -q "$class" "$name-back/config.json" || fail "$name: $(cat "$name-back/config.json")"
    echo "ok: $name goes on as $class"
done
# A task, or an explicit option, leaves the encoder as it is. Options of initial weights are free.
# shellcheck disable=SC2086
"$loam" train c.yaml run.dir=plain train.init=bert-hf model.head_transform=false model.head_bias=false model.init_zero_outputs=true $settings 2>log || fail "$(tail -n 1 log)"
! grep -q 'initialised randomly' log || fail "$(cat log)"
