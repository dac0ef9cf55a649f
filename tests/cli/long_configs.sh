# labels: long
# The configurations of configs/ as they stand: the commands at their head, with their real vocabularies, on a text large
# enough for them, then two updates of the full model in small batches.
. tests/cli/lib.sh "$1"
mkdir "$work/corpus"
tools/gather-corpus "$work/corpus/own.jsonl" 40 >/dev/null
cp -r configs "$work"
cd "$work"
mkdir bin
ln -s "$loam" bin/loam
export PATH=$work/bin:$PATH
for config in configs/*.yaml; do
    [ "$config" != configs/demo.yaml ] || continue # tools/demo makes its data
    sed -nE 's/^#   (loam .*)$/\1/p' "$config" >commands
    [ "$(wc -l <commands)" = 2 ] || fail "$config: not two commands at its head"
    bash -e commands >out 2>err || fail "$config: $(tail -n 2 err)"
    loam train "$config" run.dir=run train.length='2 steps' train.batch='2 samples' train.micro_batch='1 samples' \
        train.eval_samples=2 >out 2>err || fail "$config: $(tail -n 2 err)"
    loam export run --to hf --out hf >out 2>err || fail "$config: $(tail -n 2 err)"
    echo "ok: $config"
    rm -r run hf data
done
