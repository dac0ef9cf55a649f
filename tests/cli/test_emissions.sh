# log.emissions: a row of emissions.csv per start, which a rollback leaves alone, with one rank and with two.
. tests/cli/lib.sh "$1"
make_dataset
train=("$loam" train "$work/config.yaml" train.length='8 steps' train.log_every='2 steps' train.eval_every=0 train.save_every=2
    log.emissions=true log.cpu_watts=50 log.ram_watts=5 log.pue=1.2)
file=$work/run/emissions.csv

"${train[@]}" run.dir="$work/run" train.stop_at='4 steps' 2>"$work/log" || fail "$(cat "$work/log")"
[ "$(wc -l <"$file")" = 2 ] || fail "not one row: $(cat "$file")"
# Energy is positive, and the sum of its parts; emissions are 475 g for each kWh.
awk -F , 'function near(a, b) { return a - b < 1e-12 && b - a < 1e-12 }
    NR == 2 { exit !($5 > 0 && $14 > 0 && near($14, $11 + $12 + $13) && near($6, 0.475 * $14)) }' "$file" || fail "$(cat "$file")"
[ "$(sed -n 2p "$file" | cut -d , -f 2,4)" = loam,run ] || fail "$(cat "$file")"

"${train[@]}" run.dir="$work/run" 2>"$work/log"
[ "$(wc -l <"$file")" = 3 ] || fail "not two rows: $(cat "$file")"
cp "$file" "$work/before"
"${train[@]}" run.dir="$work/run" 2>"$work/log" # nothing to do, nothing to add
cmp "$work/before" "$file" || fail "a row of nothing"
"$loam" rollback "$work/run" --to 6 2>"$work/log"
cmp "$work/before" "$file" || fail "energy was given back"
"${train[@]}" run.dir="$work/run" parallel.ranks=2 2>"$work/log" || fail "$(cat "$work/log")"
[ "$(wc -l <"$file")" = 4 ] || fail "not three rows: $(cat "$file")"

if [ ! -r /sys/class/powercap/intel-rapl:0/energy_uj ]; then
    "$loam" train "$work/config.yaml" train.length='1 steps' run.dir="$work/none" log.emissions=true 2>"$work/log"
    grep -q 'state their power by log.cpu_watts' "$work/log" || fail "no warning: $(cat "$work/log")"
fi
echo 'time,joules' >"$file"
expect 0 'has other columns than loam writes; it is kept as' "${train[@]}" run.dir="$work/run" train.length='9 steps'
[ "$(cat "$file.bak")" = 'time,joules' ] && [ "$(wc -l <"$file")" = 2 ] || fail "$(cat "$file")"
