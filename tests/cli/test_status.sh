# labels: any-processor measures-peak
# loam status and loam watch: of a run that is alive, stopped, ended, killed, and of one that hangs.
. tests/cli/lib.sh "$1"
make_dataset
config=$work/config.yaml
status() { "$loam" status "$@" 2>"$work/err" || true; }
long="$loam train $config train.length=100ksteps train.save_every=5 train.eval_every=0 optim.schedule=constant"

expect 1 'is no run of loam' "$loam" status "$work"
expect 1 'give a run' "$loam" status
$long run.dir="$work/run" 2>"$work/log" &
pid=$!
until_true grep -q '"kind":"save"' "$work/run/metrics.jsonl" 2>/dev/null
until_true "$loam" status "$work/run" >"$work/out"
grep -q ': alive$' "$work/out" && grep -q 'rank 0 on .* step [0-9]' "$work/out" && grep -q 'saved step' "$work/out" || fail "$(cat "$work/out")"
"$loam" watch "$work/run" --every 0.05 >"$work/watched" 2>&1 &
watcher=$!
until_true grep -q ': alive  step' "$work/watched"
kill -TERM "$pid"
wait "$pid" || true
expect 0 ': stopped' "$loam" status "$work/run"
grep -q 'last event: stopped on request at step' "$work/out" || fail "$(cat "$work/out")"
wait "$watcher" || fail "watch: $?"
grep -q ': stopped  step' "$work/watched" || fail "$(tail -n 2 "$work/watched")"

# kill -9: lost as soon as it is silent for long enough.
$long run.dir="$work/killed" 2>"$work/log" &
pid=$!
until_true grep -q '"kind":"save"' "$work/killed/metrics.jsonl" 2>/dev/null
until_true "$loam" status "$work/killed" >"$work/out"
{ kill -KILL "$pid" && wait "$pid" || true; } 2>/dev/null
sleep 0.1
expect 1 ': lost' "$loam" status "$work/killed" --silent 0.05s
grep -q 'ended without a word' "$work/out" || fail "$(cat "$work/out")"

# At once, since its lock is free and its process is gone; a number that another process was given since is no life.
$long run.dir="$work/killed" 2>"$work/log" &
pid=$!
until_true grep -q 'going on from' "$work/log"
until_true grep -q "\"pid\":$pid,.*\"phase\":\"[^s]" "$work/killed/ranks/0000.json"
{ kill -KILL "$pid" && wait "$pid" || true; } 2>/dev/null
expect 1 ': lost' "$loam" status "$work/killed"
sleep 60 &
other=$!
beat=$(sed "s/\"pid\":$pid,/\"pid\":$other,/; s/\"time\":[0-9]*/\"time\":$(($(date +%s) - 40))/; s/ *\$//" "$work/killed/ranks/0000.json")
printf '%-511s\n' "$beat" >"$work/killed/ranks/0000.json" # as long as before, however many digits the number has
expect 1 ': lost' "$loam" status "$work/killed"
kill "$other"

# Suspended: the process exists, however long it is silent.
$long run.dir="$work/suspended" 2>"$work/log" &
pid=$!
until_true grep -q '"kind":"save"' "$work/suspended/metrics.jsonl" 2>/dev/null
kill -STOP "$pid"
until_true grep -q '^State:.*stopped' "/proc/$pid/status"
expect 1 ': stalled' "$loam" status "$work/suspended" --silent 0.05s
grep -q "process $pid is suspended (Ctrl-Z, SIGSTOP); kill -CONT $pid lets it go on" "$work/out" || fail "$(cat "$work/out")"
kill -CONT "$pid"
until_true "$loam" status "$work/suspended" >"$work/out"
kill -TERM "$pid"
wait "$pid" || true

# A copy of a run that trains: nobody trains there, whatever the process in its heartbeat does.
$long run.dir="$work/living" 2>"$work/log" &
pid=$!
until_true grep -q '"kind":"save"' "$work/living/metrics.jsonl" 2>/dev/null
until_true cp -a "$work/living" "$work/backup" 2>/dev/null
expect 1 ': lost' "$loam" status "$work/backup"
grep -q "nobody trains here: process $pid, which its heartbeat names, trains in $work/living\$" "$work/out" || fail "$(cat "$work/out")"
kill -STOP "$pid"
until_true grep -q '^State:.*stopped' "/proc/$pid/status"
expect 1 ': lost' "$loam" status "$work/backup" --silent 0.05s --stalled 0.01s
! grep -q 'kill\|stalled  ' "$work/out" || fail "$(cat "$work/out")"
expect 0 ': lost' "$loam" watch "$work/backup" # it returns
expect 1 ': stalled' "$loam" status "$work/living" --silent 0.05s
kill -CONT "$pid"
until_true "$loam" status "$work/living" >"$work/out"
grep -q ': alive$' "$work/out" || fail "$(cat "$work/out")"
kill -TERM "$pid"
wait "$pid" || true

# A run inside the folder of another one counts too, though not what loam itself keeps in a run.
cp -r "$work/run" "$work/outer"
mkdir -p "$work/outer/fine" "$work/outer/rollback" "$work/outer/before-1" "$work/outer/copies"
cp -r "$work/killed" "$work/outer/fine/tuned"
cp -r "$work/killed" "$work/outer/rollback/was"
cp -r "$work/killed" "$work/outer/before-1/was"
cp "$work/run/metrics.jsonl" "$work/outer/copies/"
expect 1 "$work/outer/fine/tuned: lost" "$loam" status "$work/outer"
[ "$(grep -c '^[^ ]' "$work/out")" = 2 ] && grep -q "^$work/outer: stopped" "$work/out" && ! grep -q 'warning: ' "$work/err" || fail "$(cat "$work/out" "$work/err")"

# A command that is refused on a run that has ended leaves it ended.
"$loam" train "$config" run.dir="$work/done" train.length=3steps 2>"$work/log"
expect 1 'is a run with model.width' "$loam" train "$work/done" model.width=64 train.length=4steps
expect 0 ': ended' "$loam" status "$work/done"
expect 1 'is a run with model.width' "$loam" train "$work/done" model.width=64 train.length=4steps parallel.ranks=2
expect 0 ': ended' "$loam" status "$work/done"

# A run that cannot write heartbeats trains, and its log says so once; one that fails before metrics.jsonl exists says why.
mkdir -p "$work/mute/ranks/0000.json" && touch "$work/mute/lock"
"$loam" train "$config" run.dir="$work/mute" train.length=3steps 2>"$work/log" || fail "$(cat "$work/log")"
[ "$(grep -c 'no heartbeat can be written to .*/mute/ranks (Is a directory)' "$work/mute/log.txt")" = 1 ] || fail "$(cat "$work/mute/log.txt")"
expect 0 ': ended' "$loam" status "$work/mute"
mkdir -p "$work/early/spiece.model/x" && touch "$work/early/lock"
! "$loam" train "$config" run.dir="$work/early" 2>"$work/log" || fail "a tokenizer was written over a folder"
[ ! -e "$work/early/metrics.jsonl" ] || fail "metrics.jsonl is there: $(cat "$work/early/metrics.jsonl")"
expect 1 "  end of log.txt: $(tail -n 1 "$work/early/log.txt")" "$loam" status "$work/early"

# A run that has ended, and one whose heart beats while it stands still.
"$loam" train "$config" run.dir="$work/ended" train.length=3steps 2>"$work/log"
expect 0 ': ended' "$loam" status "$work/ended"
now=$(date +%s)
beat="{\"beat\":9,\"rank\":0,\"ranks\":1,\"host\":\"n\",\"pid\":1,\"step\":4,\"microbatch\":0,\"phase\":\"save\",\"call\":\"\",\"since\":$((now - 9000)).0,\"time\":$now.0,\"stopping\":false,\"ended\":-1,\"last\":9}"
printf '%-511s\n' "$beat" >"$work/ended/ranks/0000.json"
expect 1 ': stalled' "$loam" status "$work/ended" --silent 1h
expect 0 ': alive' "$loam" status "$work/ended" --stalled 9h --silent 1h
expect 1 '1 of 2 runs is stalled, lost or failed' "$loam" status "$work/run" "$work/ended"

# One path that is no run does not hide the others; a folder stands for the runs below it.
expect 1 '1 of 3 paths is no run' "$loam" status "$work/run" "$work/absent" "$work/killed" --silent 1h
grep -q "$work/run: stopped" "$work/out" && grep -q "$work/killed: " "$work/out" || fail "$(cat "$work/out")"
grep -q "warning: $work/absent is no run of loam: there is no such folder" "$work/err" || fail "$(cat "$work/err")"
expect 1 '1 of 2 paths is no run' "$loam" status "$work/run" "$work/absent" --json
[ "$(grep -c '^{' "$work/out")" = 2 ] && grep -q "\"run\": *\"$work/absent\", *\"state\": *\"no run\", *\"problem\": *\".* there is no such folder" "$work/out" || fail "$(cat "$work/out")"
expect 1 'there is no such folder' "$loam" status "$work/absent" --json
grep -q '"state": *"no run"' "$work/out" || fail "$(cat "$work/out")"
mkdir -p "$work/sweep/lr=1"
cp -r "$work/run" "$work/sweep/lr=1/seed-2"
cp -r "$work/run" "$work/sweep/lr=1/seed-1"
expect 0 "$work/sweep/lr=1/seed-1: stopped" "$loam" status "$work/sweep/"
[ "$(grep -c ': stopped$' "$work/out")" = 2 ] || fail "$(cat "$work/out")"
[ "$("$loam" status "$work/sweep" "$work/sweep/lr=1/seed-1" | grep -c "seed-1: stopped")" = 1 ] || fail "a run that two paths lead to is there twice"
cp -r "$work/run" "$work/sweep/lost" && rm "$work/sweep/lost/config.yaml"
for verb in status "report --out $work/lost.html"; do
    "$loam" $verb "$work/sweep" "$work/sweep" >"$work/out" 2>"$work/err" || true
    [ "$(grep -c 'sweep/lost is no whole run' "$work/err")" = 1 ] || fail "what is left of a run is told twice: $(cat "$work/err")"
done
rm -r "$work/sweep/lost"
expect 0 "$work/sweep/lr=1/seed-2: stopped" "$loam" watch "$work/sweep"
"$loam" status "$work/run" --json | grep -q '"state": *"stopped"' || fail "$("$loam" status "$work/run" --json)"
expect 1 'is not a time' "$loam" status "$work/run" --silent 3steps

# A folder names what is left of runs beside the whole ones; folders of other programs are none.
mkdir -p "$work/remnants/other/checkpoints"
cp -r "$work/done" "$work/remnants/whole"
for kind in no-config empty unsaved failed; do
    cp -r "$work/done" "$work/remnants/$kind"
done
rm "$work/remnants/no-config/config.yaml"
mkdir "$work/remnants/no-config/rollback"
cp -r "$work/done/config.yaml" "$work/done/checkpoints" "$work/remnants/no-config/rollback/"
: >"$work/remnants/empty/config.yaml"
rm -r "$work/remnants/unsaved/checkpoints"
rm -r "$work/remnants/failed"/{config.yaml,checkpoints,metrics.jsonl,ranks}
echo '{"loss": 1}' >"$work/remnants/other/metrics.jsonl"
echo 'width: 3' >"$work/remnants/other/config.yaml"
ln -s "$work/remnants/no-config" "$work/remnants/again"
for command in status "status --json" watch collect compare "report --out $work/remnants.html"; do
    case $command in status*) want=1 ;; *) want=0 ;; esac
    expect "$want" "warning: $work/remnants/no-config is no whole run of loam: it has no config.yaml; \`loam train" "$loam" $command "$work/remnants"
    grep -q "warning: $work/remnants/empty is no whole run of loam: its config.yaml is empty" "$work/err" &&
        grep -q "warning: $work/remnants/unsaved is no run of loam: it has no checkpoints" "$work/err" &&
        grep -q "warning: $work/remnants/failed is no whole run of loam" "$work/err" &&
        [ "$(grep -c 'warning: .*remnants/' "$work/err")" = 4 ] && ! grep -q rollback "$work/out" || fail "$command: $(cat "$work/err" "$work/out")"
done
expect 1 '4 more folders are no whole run' "$loam" status "$work/remnants"
mkdir "$work/one"
mv "$work/remnants/empty" "$work/one/"
expect 1 '1 of 2 paths is no run' "$loam" status "$work/done" "$work/one"
grep -q "warning: $work/one/empty is no whole run of loam: its config.yaml is empty" "$work/err" || fail "$(cat "$work/err")"
expect 1 'empty has an empty config.yaml, whose options are compared: put it back' "$loam" compare "$work/one/empty"

# A process of this machine that is gone counts as lost some seconds after its last heartbeat; of another machine it is not known.
for case in "0 alive elsewhere" "1 lost $(uname -n)"; do
    read -r status state host <<<"$case"
    beat="{\"beat\":9,\"rank\":0,\"ranks\":1,\"host\":\"$host\",\"pid\":99999999,\"step\":4,\"microbatch\":0,\"phase\":\"save\",\"call\":\"\",\"since\":$((now - 9)).0,\"time\":$((now - 8)).0,\"stopping\":false,\"ended\":-1,\"last\":9}"
    printf '%-511s\n' "$beat" >"$work/ended/ranks/0000.json"
    expect "$status" ": $state" "$loam" status "$work/ended" --silent 1h
done

# Links to runs in the folder count, each run once. Control characters of a name do not reach the terminal or break lines.
odd=$'odd\n\033[31m'
mkdir "$work/links"
cp -r "$work/run" "$work/$odd"
ln -s "$work/$odd" "$work/links/$odd"
ln -s "$work/$odd" "$work/links/again"
expect 0 'links/again: stopped' "$loam" status "$work/links"
[ "$(grep -c ': stopped$' "$work/out")" = 1 ] || fail "$(cat "$work/out")"
for command in "status" "watch" "compare" "report"; do
    expect 0 'odd\x0a\x1b[31m' "$loam" $command "$work/$odd"
    ! grep -q "$(printf '\033')" "$work/out" "$work/err" || fail "$command: $(cat -v "$work/out" "$work/err")"
done

# Before the first log line there is no step and no loss to show. A run whose folder went away is told.
cp -r "$work/run" "$work/begun"
grep '"kind":"event"' "$work/run/metrics.jsonl" >"$work/begun/metrics.jsonl"
rm -r "$work/begun/ranks" "$work/begun/lock"
"$loam" watch "$work/begun" >"$work/watched" 2>&1 || fail "$(cat "$work/watched")"
[ "$(cat "$work/watched")" = "$work/begun: stopped" ] || fail "$(cat "$work/watched")"
sleep 60 &
other=$!
beat="{\"beat\":9,\"rank\":0,\"ranks\":1,\"host\":\"$(uname -n)\",\"pid\":$other,\"step\":4,\"microbatch\":0,\"phase\":\"save\",\"call\":\"\",\"since\":$(date +%s).0,\"time\":$(date +%s).0,\"stopping\":false,\"ended\":-1,\"last\":9}"
mkdir "$work/begun/ranks"
printf '%-511s\n' "$beat" >"$work/begun/ranks/0000.json"
"$loam" watch "$work/begun" --every 0.05 >"$work/watched" 2>&1 &
pid=$!
until_true grep -q ': alive' "$work/watched"
mv "$work/begun" "$work/elsewhere"
status=0
wait "$pid" || status=$?
kill "$other"
[ "$status" = 1 ] && grep -qx "$work/begun: gone" "$work/watched" && grep -q 'begun is gone: it was renamed or deleted' "$work/watched" ||
    fail "status $status: $(cat "$work/watched")"

# A run that begins in a watched folder, such as the next one of a sweep, is shown, too.
mkdir "$work/night"
cp -r "$work/elsewhere" "$work/night/seed-1"
sleep 60 &
other=$!
printf '%-511s\n' "${beat/\"pid\":*,\"step\"/\"pid\":$other,\"step\"}" >"$work/night/seed-1/ranks/0000.json"
"$loam" watch "$work/night" --every 0.05 >"$work/watched" 2>&1 &
pid=$!
until_true grep -q 'seed-1: alive' "$work/watched"
cp -r "$work/run" "$work/copied"
mv "$work/copied" "$work/night/seed-2" # at once, as below
kill "$other"
wait "$pid" || fail "watch: $(cat "$work/watched")"
grep -q 'seed-2: stopped' "$work/watched" || fail "the second run of a folder is not shown: $(cat "$work/watched")"

# A run that does not exist yet is waited for.
"$loam" watch "$work/later" --every 0.05 >"$work/watched" 2>&1 &
watcher=$!
pid=$watcher
until_true grep -q 'waiting for the run: ' "$work/watched"
cp -r "$work/run" "$work/copied"
mv "$work/copied" "$work/later" # at once: half a copy has no state
wait "$watcher" || fail "watch: $(cat "$work/watched")"
grep -q 'later: .*  step' "$work/watched" || fail "$(cat "$work/watched")"

# On a terminal the picture is drawn, with a curve; several runs have a line each.
if command -v script >/dev/null; then
    TERM=xterm script -qec "$loam watch $work/run" /dev/null </dev/null >"$work/log"
    grep -q '[▁▂▃▄▅▆▇█]' "$work/log" || fail "no curve: $(cat "$work/log")"
    TERM=xterm script -qec "$loam watch $work/run $work/later" /dev/null </dev/null >"$work/log"
    [ "$(grep -c '[▁▂▃▄▅▆▇█]' "$work/log")" = 2 ] && [ "$(wc -l <"$work/log")" -le 3 ] || fail "two runs: $(cat "$work/log")"
fi
