# lib.sh: what the command-line tests share. Each test is called with the binary as its first argument, from the repository's root.
# A pipe fails when any of its commands does, also one whose reader (head, grep -q) left before it had written all: sed -n 1p reads on.
set -euo pipefail
loam=$1
spoiled=$(dirname "$1")/loam_spoiled # loam, whose weights LOAM_FAULT=flip and overflow change
source_dir=$PWD
work=$(mktemp -d)
# What a script has to end or to remove beside its jobs and its folder: it gives this function a body of its own.
at_end() { :; }
# A test that fails leaves no run behind: a run in the background would hold the test's output open, which ctest waits for.
# Processes that are no jobs, such as the ranks of mpirun, may write into the folder for a moment more.
end_test() {
    local left
    left=$(jobs -p)
    [ -z "$left" ] || kill -KILL $left 2>/dev/null || true
    at_end || true
    wait
    for _ in $(seq 100); do
        ! rm -rf "$work" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "left behind: $work" >&2
}
trap end_test EXIT
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

# mpirun, before the number of processes. Open MPI keeps memory until the process ends, also that of plugins which are
# unloaded by then and have no name that tests/leaks.supp could list: no leaks are looked for.
mpi=(env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe --bind-to none -np)

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# expect STATUS 'TEXT' COMMAND…: the command ends with this status and says TEXT; an error is one line on standard error.
expect() {
    local status=$1 text=$2 got=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
    [ "$got" = "$status" ] || fail "exit status $got, not $status: $*: $(tail -n 3 "$work/err")"
    grep -qF -- "$text" "$work/out" "$work/err" || fail "no \"$text\" from: $*: $(tail -n 3 "$work/err")"
    [ "$status" = 0 ] || [ "$(grep -c '^loam[: ]' "$work/err")" = 1 ] || fail "not one clear line: $(cat "$work/err")"
    echo "ok: $text"
}

# until_true COMMAND…: waits for it while the process "$pid" lives. Its other reader or writer may be slow, so nothing here
# counts seconds: ctest ends a test that hangs.
until_true() {
    until "$@"; do
        kill -0 "$pid" 2>/dev/null || fail "the run ended: $(tail -n 2 "$work/log")"
        sleep 0.01
    done
}

# For awk programs, whose own rand() differs from one awk to another: seed(n), then random() in (0, 1) (Park and Miller 1988).
random='function seed(n) { state = (n + 1) * 69621 % 2147483647 } function random() { state = state * 16807 % 2147483647; return state / 2147483647 } '

# A corpus of short documents in a made-up language, a tokenizer of 200 pieces and a dataset, made here in a second or two.
make_dataset() {
    awk "$random"'BEGIN {
        seed(7)
        n = split("ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu", syllable)
        for (word = 1; word <= 300; word++)
            for (i = 0; i < 2 + word % 3; i++)
                words[word] = words[word] syllable[1 + int(random() * n)]
        for (doc = 0; doc < 400; doc++) {
            for (line = 0; line < 6; line++) {
                at = 1 + int(random() * 290) # a line is a run of neighbours: something to learn
                for (i = 0; i < 8; i++)
                    printf "%s%s", words[at + i], i < 7 ? " " : ".\n"
            }
            print ""
        }
    }' >"$work/corpus.txt"
    "$loam" tokenizer train --type unigram --vocab-size 200 --out "$work/tok.model" "$work/corpus.txt" 2>"$work/err" ||
        fail "tokenizer: $(cat "$work/err")"
    "$loam" prepare --tokenizer "$work/tok.model" --out "$work/data" --valid 10% --workers 2 "$work/corpus.txt" >/dev/null \
        2>"$work/err" || fail "prepare: $(cat "$work/err")"
    cat >"$work/config.yaml" <<YAML
run: { seed: 7 }
model: { n_enc: 1, n_dec: 1, width: 32, ffn: 64, heads: 2, head_dim: 16, dropout: 0.1 }
tokenizer: { path: $work/tok.model }
data: { train: $work/data, valid: $work/data-valid, input_length: 64 }
train: { length: 40 steps, batch: 8 samples, micro_batch: 4 samples, log_every: 1 steps, eval_every: 10 steps,
         save_every: 5 steps, eval_samples: 16, threads: 1 }
optim: { name: adamw, lr: 3e-3, schedule: linear, warmup: 4 steps }
YAML
}

# A table marks.tsv (text, mark, number) of sentences in a made-up language, and a tokenizer of 30 pieces of them, tok.model;
# sentences with the word "tuka" are good, the others bad.
make_marks() {
    awk "$random"'BEGIN {
        seed(3)
        n = split("bari koti mesa loni dape gufi rano tive mosu kale", word)
        print "text\tmark\tnumber"
        for (row = 1; row <= 400; row++) {
            line = ""
            good = row % 2
            at = 1 + int(random() * 4)
            for (i = 1; i <= 4; i++)
                line = line (i > 1 ? " " : "") (good && i == at ? "tuka" : word[1 + int(random() * n)])
            print line "\t" (good ? "good" : "bad") "\t" row
        }
    }' >marks.tsv
    cut -f 1,2 marks.tsv | tr '\t' ' ' >corpus.txt
    "$loam" tokenizer train --type unigram --vocab-size 30 --replace --out tok.model corpus.txt 2>err || fail "$(cat err)"
}
