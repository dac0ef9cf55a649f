# Whole-word masking of Japanese, which has no spaces, masks as large a share of the tokens as that of English.
. tests/cli/lib.sh
cd "$work"
awk 'BEGIN { srand(3); split("吾輩 は 猫 で ある 名前 まだ 無い どこ 生れ た か とんと 見当 が つか ぬ 何 でも 薄暗い じめじめ した 所", w, " ")
             for (i = 0; i < 60; i++) { line = ""; for (j = 0; j < 120; j++) line = line w[1 + int(23 * rand())]; print line; print "" } }' >ja.txt
for kind in byte-bpe unigram; do
    "$loam" tokenizer train --kind $kind --for bert --vocab-size 320 --out $kind ja.txt >log 2>&1
    "$loam" prepare --tokenizer $kind --out data-$kind ja.txt >log 2>&1
    cat >config.yaml <<YAML
model: { preset: bert-tiny, max_positions: 128 }
tokenizer: { path: $kind }
data: { train: data-$kind, objective: mlm, input_length: 128 }
train: { batch: 50 samples, length: 2 steps }
run: { dir: run }
YAML
    "$loam" inspect batch config.yaml --json >batch.json
    share=$(sed 's/.*"labels":\[\([^]]*\)\].*/\1/' batch.json | awk -F, '{ for (i = 2; i < NF; i++) n += $i != -100; all += NF - 2 } END { print n / all }')
    awk -v share="$share" 'BEGIN { exit !(share > 0.14 && share < 0.16) }' || fail "$kind: $share of the tokens have a label"
done
