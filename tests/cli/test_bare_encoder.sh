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

# A pooler that no loss of the run reaches keeps its weights: the encoder is frozen, so the pooled vectors stay the same.
# "pairs" names a sentence head, which has no targets without data.sentence_pairs.
pooled() { printf 'bari koti\nmesa loni dape\n' | "$loam" embed --model "$1" --pooling pooler 2>err || fail "$(cat err)"; }
for run in adamw adamw_rms:model.sentence_head=true adafactor:optim.decay=all muon:model.sentence_head=true \
    'adamw:parallel.ranks=2 parallel.zero=2'; do
    IFS=: read -r optimizer option <<<"$run"
    # shellcheck disable=SC2086
    "$loam" train c.yaml run.dir="rest-$run" train.init=bert $small $settings model.preset=bert-base data.objective=mlm \
        train.freeze='shared,encoder.*' optim.name="$optimizer" optim.lr=0.1 optim.weight_decay=1 $option 2>log ||
        fail "$run: $(tail -n 1 log)"
    cmp <(pooled bert) <(pooled "rest-$run") || fail "$run: the pooler has changed"
    echo "ok: $run: the pooler stays as it is"
done
