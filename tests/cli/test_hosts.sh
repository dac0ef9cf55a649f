# labels: any-processor
# Two hosts, which are network namespaces of this machine: mpirun starts a rank on each, they train what threads train,
# and a lost connection ends both with a line that names the lost rank and its host.
. tests/cli/lib.sh "$1"
command -v mpirun >/dev/null && [ -e "$(dirname "$loam")/loam-mpi.so" ] || { echo "no mpirun, or no loam-mpi.so"; exit 77; }
a=loama$$ b=loamb$$
at_end() {
    pkill -KILL -f "run.dir=$work/" || true
    ip netns del $a 2>/dev/null || true
    ip netns del $b 2>/dev/null || true
}
ip netns add $a 2>/dev/null && ip netns add $b 2>/dev/null && ip link add va$$ type veth peer name vb$$ 2>/dev/null ||
    { echo "network namespaces cannot be made here"; exit 77; }
ip link set va$$ netns $a
ip link set vb$$ netns $b
ip -n $a addr add 10.77.0.1/24 dev va$$
ip -n $b addr add 10.77.0.2/24 dev vb$$
for host in "$a va$$" "$b vb$$"; do
    ip -n ${host% *} link set lo up
    ip -n ${host% *} link set ${host#* } up
done
make_dataset
. tests/cli/ranks.sh
options=(train.length='8 steps' train.eval_every=0 train.save_every='3 steps' train.precision=f32 parallel.timeout=20s)
two_hosts() {
    ip netns exec $a unshare --uts bash -c "hostname $a; exec \"\$@\"" - env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --mca plm rsh \
        --mca plm_rsh_agent "$source_dir/tests/cluster/netns-agent" --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 --host $a,$b -np 2 "$loam" train "$config" "${options[@]}" "$@"
}
"$loam" train "$config" run.dir="$work/threads" "${options[@]}" parallel.ranks=2 2>"$work/err" || fail "$(cat "$work/err")"
two_hosts run.dir="$work/hosts" 2>"$work/err" || fail "two hosts: $(tail -n 4 "$work/err")"
same "$work/threads" "$work/hosts"
grep -q "\"host\":\"$b\"" "$work/hosts/ranks/0001.json" || fail "host: $(cat "$work/hosts/ranks/0001.json")"

# The connection is lost.
two_hosts run.dir="$work/lost" train.length='100k steps' optim.schedule=constant >"$work/out" 2>"$work/log" &
pid=$!
until_true grep -q '"kind":"save"' "$work/lost/metrics.jsonl" 2>/dev/null
for rank in 0 1; do until_true test -s "$work/lost/ranks/000$rank.json"; done # heartbeats
ip -n $b link set vb$$ down
said() { grep -qs "did not answer.*last seen: rank [01] on loam[ab]" "$work/lost/log.txt" "$work/lost/ranks/0001.txt"; }
ended() { ! pgrep -f "^$loam train .*run.dir=$work/lost" >/dev/null; }
for condition in said ended; do
    for try in $(seq 6000); do
        ! $condition || break
        [ "$try" != 6000 ] || fail "not $condition: $(tail -n 3 "$work/log" "$work/lost/log.txt")"
        sleep 0.1
    done
done
pkill -KILL -f "run.dir=$work/" || true # mpirun itself waits for its other half for minutes
wait "$pid" 2>/dev/null || true
"$loam" train "$config" run.dir="$work/lost" train.length='200k steps' train.stop_after=1s optim.schedule=constant train.precision=f32 \
    2>"$work/err" || [ $? = 75 ] || fail "it does not go on: $(tail -n 3 "$work/err")"
grep -q 'going on from' "$work/err" || fail "it does not go on: $(cat "$work/err")"
echo 'ok: a lost connection'
