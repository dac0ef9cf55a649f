# labels: any-processor
# Help is there where people look: `loam help VERB`, manual pages of every verb and option, completion in three shells.
. tests/cli/lib.sh "$1"

expect 0 'usage: loam train CONFIG.yaml' "$loam" help train
expect 0 'usage: loam bench step' "$loam" help bench step
expect 0 'group.key=value' "$loam" help plan
expect 0 'loam tokenizer WHAT' "$loam" help tokenizer
expect 0 'before TEXT, in which \n means a line end' "$loam" help eval
expect 1 'nothing found for trian, did you mean train?' "$loam" help trian
expect 1 'nothing found for qwx yz; try another word' "$loam" help qwx yz
# A group of options, one option, and what other programs call them.
expect 0 'learning rate at the end of the schedule' "$loam" help optim
[ "$(grep -c '^optim\.' "$work/out")" = "$(grep -c '^- `optim\.' docs/options/optim.md)" ] || fail "loam help optim lists other options"
! grep -q '^.\{101\}' "$work/out" || fail "lines above 100 columns"
expect 0 '(number between 0 and 10; default: by model; a resumed run may change it)' "$loam" help optim.lr
[ "$(grep -c '^[a-z]' "$work/out")" = 1 ] || fail "more than one option: $(cat "$work/out")"
expect 0 'train.patience' "$loam" help train.
# Any other word is searched for in options, presets and pages; of what is cut no line is longer.
for case in 'lr:optim.min_lr' 'batch:train.micro_batch' 'warmup:optim.warmup' 'presets:model.preset=t5-1.1-small' 'finetune:loam train ' \
    'checkpoints:loam rollback' 'gpt2:model.preset=gpt2' 'Micro-Batch:train.micro_batch' 'cosine:optim.schedule' 'predictions:loam eval --predictions'; do
    expect 0 "  ${case#*:}" "$loam" help "${case%%:*}"
    ! LC_ALL=C.UTF-8 grep '^.\{101\}' "$work/out" || fail "lines above 100 columns"
done
# Pages of the documentation stand after options: those that have the word in their title first.
for case in 'finetune:docs/finetune.md|Fine-tuning' 'lr:docs/schedules.md|Learning rates' 'presets:docs/presets.md|Presets' \
    'parquet:docs/data-files.md|Data from Parquet' 'docker:docs/not-in-loam.md|pip install' \
    'learning rate:docs/schedules.md|Learning rates' 'ResumIng:docs/train.md|Stopping and going on' 'gpu:docs/gpu.md|GPUs' 'learning-rates:docs/coming-from/megatron.md|--lr,'; do
    words=${case%%:*} page=${case#*:}
    expect 0 "pages of the documentation:" "$loam" help "$words"
    sed '0,/^pages of the documentation:/d' "$work/out" | grep -E -- "^  ${page%|*} +${page#*|}" >/dev/null || fail "$words: $(cat "$work/out")"
    ! sed '0,/^pages of/d' "$work/out" | grep ':$' || fail "$words: pages are not last"
    ! LC_ALL=C.UTF-8 grep '^.\{101\}' "$work/out" || fail "lines above 100 columns"
done
# Words that no title, heading, option or verb has are searched for in the text of the pages, and the heading above is shown.
for case in 'bom:docs/task.md +Files' 'translate:docs/task.md +The tasks' 'summarize:docs/task.md +The tasks'; do
    expect 0 'pages of the documentation:' "$loam" help "${case%%:*}"
    grep -E "^  ${case#*:}" "$work/out" >/dev/null || fail "${case%%:*}: $(cat "$work/out")"
done
for case in 'semicolon:task.delimiter' 'overfit:train.patience' 'summarization:loam scores' 'question answering:task.answers'; do
    expect 0 "  ${case#*:}" "$loam" help "${case%%:*}"
done
"$loam" help learning rate | cmp - <("$loam" help 'learning rate') || fail "words without quotes"
"$loam" help parquet | grep -A 1 '^pages of' | grep -F docs/data-files.md >/dev/null || fail "a title is not first: $("$loam" help parquet)"
# The index is in the program; the folder is that of the installed pages.
mkdir -p "$work/usr/bin" "$work/usr/share/doc/loam/docs"
cp "$loam" "$work/usr/bin/loam"
expect 0 "  $work/usr/share/doc/loam/docs/finetune.md " "$work/usr/bin/loam" help finetune
rmdir "$work/usr/share/doc/loam/docs"
expect 0 "  docs/finetune.md " "$work/usr/bin/loam" help finetune
rm -r "$work/usr"
expect 1 'learning_rate is called optim.lr here; `loam help optim.lr` tells more' "$loam" help learning_rate
expect 1 'there is no option optim.zz; `loam help optim.` lists its group' "$loam" help optim.zz
expect 1 'unknown option --learning-rate, did you mean optim.lr=VALUE?' "$loam" train x.yaml --learning-rate 1e-3
expect 1 'unknown option --parallel.ranks, did you mean parallel.ranks=VALUE?' "$loam" train x.yaml --parallel.ranks=2
expect 1 'unknown option --tensor-model-parallel-size, did you mean parallel.tensor=VALUE?' "$loam" train x.yaml --tensor-model-parallel-size 2
expect 1 "unknown option max_steps, did you mean train.length='100 steps'?" "$loam" train configs/gpt2.yaml max_steps=100
expect 1 "unknown option --warmup-ratio, did you mean optim.warmup='10%'?" "$loam" train x.yaml --warmup-ratio 0.1
expect 1 "unknown option --batch-size, did you mean train.batch='8 samples'?" "$loam" train x.yaml --batch-size=8
expect 1 'unknown option train_file, did you mean task.data?' "$loam" train configs/gpt2.yaml train_file=x.csv
expect 1 'unknown option train_file, did you mean data.train, for the dataset that loam prepare makes of it?' "$loam" train configs/gpt2.yaml train_file=x.txt
expect 1 'unknown option --hostfile, did you mean mpirun --hostfile FILE -np RANKS loam train …?' "$loam" train configs/gpt2.yaml --hostfile hosts
expect 1 'unknown option parallel.hostfile, did you mean mpirun --hostfile FILE -np RANKS loam train …?' "$loam" train configs/gpt2.yaml parallel.hostfile=hosts
expect 1 'hostfile is no option here: mpirun --hostfile FILE' "$loam" help hostfile
expect 1 '--layouts takes no value, and --layouts=no gives one: leave it out' "$loam" plan x.yaml --machine cpu --layouts=no
for verb in train plan slurm 'bench step' 'bench ops'; do
    # shellcheck disable=SC2086
    expect 1 'opening "": No such file or directory' "$loam" $verb ''
done
expect 1 'unknown option --ranks, did you mean parallel.ranks=VALUE?' "$loam" bench comm --ranks 2
expect 1 'unknown option --device, did you mean train.device=VALUE?' "$loam" bench comm --device cuda
# In verbs that answer, a length is that of the answers.
expect 1 'unknown option --max-tokens, did you mean data.target_length=2?' "$loam" predict x --max-tokens 2
expect 1 'unknown option --max_new_tokens, did you mean data.target_length=2?' "$loam" eval x --max_new_tokens=2
expect 1 'unknown option max_length, did you mean data.target_length=2?' "$loam" eval x --task max_length=2
expect 1 "unknown option --max-tokens, did you mean train.micro_batch='2 tokens'?" "$loam" train x --max-tokens 2
# An argument given as an option of other verbs.
expect 1 'unknown option --model: give MODEL without it; usage: loam eval MODEL ' "$loam" eval --model x data.valid=y
expect 1 'unknown option --model: give MODEL without it; usage: loam predict MODEL ' "$loam" predict --model=x
expect 1 'unknown option --config: give CONFIG.yaml without it; usage: loam train ' "$loam" train --config x.yaml
expect 1 'unknown option --run: give RUN without it; usage: loam train ' "$loam" train --run x
expect 1 'unknown option --runs: give RUN without it; usage: loam compare ' "$loam" compare --runs x
expect 1 'unknown option --dir' "$loam" import x --dir y
! grep -q 'without it' "$work/err" || fail "DIR is the value of an option: $(cat "$work/err")"
expect 1 "unknown option --num_train_epochs, did you mean train.length='3 epochs'?" "$loam" plan x.yaml --num_train_epochs 3
expect 1 'want bash, zsh or fish' "$loam" help --completion tcsh
diff <(cat docs/options/*.md | grep '^- `' | sort) <("$loam" help --options | grep '^- `' | sort) ||
    fail "docs/options does not have the options that loam help --options prints"
expect 1 'there is no group of options trian' "$loam" help --options trian

for group in $("$loam" help --options | sed -n 's/^- `\([a-z0-9]*\)\..*/\1/p' | sort -u); do
    diff -u "docs/options/$group.md" <("$loam" help --options "$group") || fail "docs/options/$group.md is not what loam help --options $group prints"
    ! LC_ALL=C.UTF-8 grep -E '^ +([-+*#>]|[0-9]+\.) ' "docs/options/$group.md" || fail "docs/options/$group.md has a line that begins another list"
    grep -qF "](options/$group.md)" docs/options.md || fail "docs/options.md has no link to the options of $group"
    "$loam" help --help | tr -s ' ,().\n' '\n' | grep -x "$group" >/dev/null || fail "loam help --help does not name the group $group"
done

# Every verb of `loam --help` has a page, every option of a configuration stands in loam-config(5).
"$loam" help --man "$work/man"
"$loam" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | while read -r verb; do
    compgen -G "$work/man/loam-$verb*.1" >/dev/null || fail "no manual page of $verb"
    grep -q "^\\\\fB$verb" "$work/man/loam.1" || fail "loam.1 does not list $verb"
done
[ "$(grep -c '^\\fB[a-z0-9]*\.[a-z0-9_]*\\fR (' "$work/man/loam-config.5")" = "$(grep -c '^- `' <("$loam" help --options))" ] ||
    fail "loam-config.5 lists other options than loam help --options"
grep -q '^\\fB\\-\\-valid\\fR \\fISHARE\\fR$' "$work/man/loam-prepare.1" || fail "loam-prepare.1 does not say --valid"
if command -v man >/dev/null; then
    for page in "$work"/man/*; do
        warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -l "$page" 2>&1 >/dev/null) || true
        [ -z "$warnings" ] || fail "$(basename "$page"): $warnings"
    done
fi

# On a terminal lines are as long as it is wide, but for examples; the manual fills its paragraphs.
if command -v script >/dev/null; then
    for verb in train 'tokenizer train' plan; do
        script -qec "stty cols 60; $loam $verb --help; $loam help optim" /dev/null </dev/null | tr -d '\r' >"$work/narrow"
        ! LC_ALL=C.UTF-8 grep '^.\{61\}' "$work/narrow" | grep -v '^  loam ' || fail "$verb: lines above 60 columns"
        LC_ALL=C.UTF-8 grep -q '^.\{55\}' "$work/narrow" || fail "$verb: $(cat "$work/narrow")"
    done
fi
sed -n '/^\.SH DESCRIPTION/,/^\.SH OPTIONS/p' "$work/man/loam-train.1" | grep -A 1 '^\.nf$' | grep '^  loam train config.yaml' >/dev/null ||
    fail "the example of loam-train.1"

# What the three shells make of the last word of a line at a tab: LINE>WORD, or the words that they offer. Values follow a blank or
# an =; no files are offered where only a verb, an action or one of some values fits.
cat >"$work/lines" <<'LINES'
loam ben>bench
loam bench st>step
loam bench step --sec>--seconds
loam bench step optim.warmup_i>optim.warmup_init=
loam train x.y>x.yaml
loam train x.yaml optim.schedule=l>optim.schedule=linear
loam train x.yaml model.preset=t5-1.1-sm>model.preset=t5-1.1-small
loam train x.yaml model.tie_embeddings=f>model.tie_embeddings=false
loam train x.yaml task.name=boo>task.name=boolq
loam train x.yaml data.train=cor>data.train=corpus/
loam prepare --tokenizer cor>corpus/
loam prepare --tokenizer=cor>--tokenizer=corpus/
loam tokenizer train --kind w>wordpiece
loam tokenizer train --type w>wordpiece
loam tokenizer train --for x --ki>--kind
loam export runs/a --to h>hf
loam export runs/a --to=p>--to=peft
loam collect runs --format m>markdown
loam prepare --format m>megatron
loam generate runs/a --device cu>cuda
loam plan x.yaml --machine h1>h100
loam plan x.yaml --machine cor>corpus/
loam plan x.yaml --machine=h1>--machine=h100
loam plan x.yaml --machine=cor>--machine=corpus/
loam help optim.warmup_i>optim.warmup_init=
loam help roll>rollback
loam export runs/a --to >hf peft
loam tokenizer >decode describe encode export train
LINES
loam=$(realpath "$loam"); cd "$work"; mkdir corpus 'a folder'; touch x.yaml 'a folder/m.yaml'
for shell in bash zsh fish; do "$loam" help --completion $shell >_loam.$shell; done
cut -d'>' -f 1 lines >typed

cat >ask.bash <<'END'
source _loam.bash
compopt() { :; }
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
while IFS= read -r COMP_LINE; do
    COMP_POINT=${#COMP_LINE} word=${COMP_LINE##* }
    _loam
    mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | sort)
    for i in "${!COMPREPLY[@]}"; do [ ! -d "${COMPREPLY[i]}" ] || COMPREPLY[i]+=/; done # as readline does
    [[ $word = *=* ]] && COMPREPLY=("${COMPREPLY[@]/#/${word%%=*}=}")
    echo "$COMP_LINE>${COMPREPLY[*]}"
done
END
bash ask.bash <typed >got
diff lines got >&2 || fail "completion in bash"
[ "$(bash ask.bash <<<'loam train a\ f')" = 'loam train a\ f>a folder/' ] || fail "a name with a blank"
[ "$(bash ask.bash <<<'loam train a\ folder/')" = 'loam train a\ folder/>a folder/m.yaml' ] || fail "a folder with a blank"

if command -v fish >/dev/null; then
    # shellcheck disable=SC2016
    HOME=$work fish -c 'source _loam.fish; while read -l line; set -l words (complete -C "$line"); echo "$line>$words"; end' <typed >got
    diff lines got >&2 || fail "completion in fish"
fi

# zsh completes only on a terminal: after the tab, ^A puts a command in front of the line, which prints it. A line with several answers
# stays as it is.
if command -v zsh >/dev/null; then
    mkdir functions; cp _loam.zsh functions/_loam
    cat >ask.zsh <<'END'
zmodload zsh/zpty
zpty z 'zsh -f -i'
zpty -w z 'PS1=; bindkey -e; unsetopt zle_bracketed_paste; fpath=(functions $fpath); autoload -Uz compinit; compinit -u -D'
while IFS= read -r line; do zpty -w z "$line"$'\t\C-A'"print -r -- GOT "; done <typed
zpty -w z exit
while zpty -r z line; do print -rn -- "$line"; done
END
    HOME=$work TERM=dumb zsh -f ask.zsh </dev/null | tr -d '\r' >said
    sed -n 's/^GOT //p' said >got # without the slash of a folder, which goes when more is typed
    sed -E 's/ >.*//; s/[^ ]*>//; s|/$||' lines >words
    diff words got >&2 || fail "completion in zsh"
fi
cd - >/dev/null
echo "ok: help, manual pages, completion"
