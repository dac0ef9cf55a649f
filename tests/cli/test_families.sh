# Every family learns by its objectives: decoders alone by clm, encoders alone by mlm, both by the denoisers.
. tests/cli/lib.sh "$1"
make_dataset

# learns NAME OVERRIDES…: sixty steps lower the held-out loss by half a nat.
learns() {
    local name=$1 run=$work/$1
    shift
    "$loam" train "$work/config.yaml" run.dir="$run" 'train.length=60 steps' model.vocab=auto "$@" 2>"$work/log" ||
        fail "$name: $(tail -n 2 "$work/log")"
    sed -n 's/.*"kind":"valid".*"loss":\([0-9.]*\).*/\1/p' "$run/metrics.jsonl" >"$work/losses"
    awk -v name="$name" 'NR == 1 { first = $1 } { last = $1 }
        END { printf "ok: %s: held-out loss %.2f -> %.2f\n", name, first, last; exit !(last < first - 0.5) }' "$work/losses" ||
        fail "$name learned nothing"
}

small='model.width=32 model.ffn=64 model.heads=2 model.head_dim=16'
learns gpt2 model.preset=gpt2 model.n_enc=0 $small model.max_positions=64 data.objective=clm
learns llama model.preset=tinyllama-1.1b model.n_enc=0 $small model.kv_heads=1 data.objective=clm
learns bert model.preset=bert-base model.n_dec=0 $small model.max_positions=64 data.objective=mlm
learns modernbert model.preset=modernbert-base model.n_dec=0 $small data.objective=mlm
for objective in prefix_lm iid_denoising ul2; do
    learns "t5-$objective" data.objective="$objective"
done

expect 1 'decoder' "$loam" train "$work/config.yaml" run.dir="$work/wrong" data.objective=clm
echo "ba" | "$loam" generate --model "$work/gpt2" --max-tokens 8 >"$work/answer" || fail "generate"
[ "$(wc -l <"$work/answer")" = 1 ] || fail "one line in, one line out"
echo "ok: a GPT goes on from its prompt"
