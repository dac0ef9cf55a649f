# labels: any-processor measures-peak
# How long threads wait awake: loam starts itself anew with GOMP_SPINCOUNT=1000, which libgomp then takes (OMP_DISPLAY_ENV makes
# it print its settings each time it is loaded), unless the user has chosen; children inherit it, arguments and status pass through.
. tests/cli/lib.sh "$1"
unset OMP_WAIT_POLICY GOMP_SPINCOUNT

# settings: what libgomp took, each time that it was loaded.
settings() {
    env OMP_DISPLAY_ENV=verbose "$@" --version 2>&1 >/dev/null | sed -n "s/.*GOMP_SPINCOUNT = '\([^']*\)'.*/\1/p" | tr '\n' ' '
}
chosen=$(settings "$loam")
[ -n "$chosen" ] || { echo "libgomp does not print GOMP_SPINCOUNT"; exit 77; }
[[ "$chosen" == *" 1000 " ]] && [ "$(wc -w <<<"$chosen")" = 2 ] || fail "by itself: $chosen"
[ "$(settings GOMP_SPINCOUNT=77 "$loam")" = "77 " ] || fail "GOMP_SPINCOUNT=77: $(settings GOMP_SPINCOUNT=77 "$loam")"
for policy in passive active; do
    read -r got more <<<"$(settings OMP_WAIT_POLICY=$policy "$loam")"
    [ -z "$more" ] && [ "$got" != 1000 ] || fail "OMP_WAIT_POLICY=$policy: $got $more"
done
echo "ok: the user's choice is kept"

# Started through a link or the PATH, from another folder and without a /proc path of its own: the same program, the same arguments.
ln -s "$(realpath "$loam")" "$work/loam"
[[ "$(cd / && settings PATH="$work:$PATH" loam)" == *" 1000 " ]] || fail "by the PATH"
[ "$("$work/loam" --version)" = "$("$loam" --version)" ] || fail "another program answers"
expect 1 'unknown option a b;' "$loam" bench ops "a b=c"
echo "ok: arguments"

# What runs now has the variable, and so has what it would start.
mkfifo "$work/in"
"$loam" tokenizer encode --model bytes <"$work/in" >/dev/null 2>"$work/err" &
pid=$!
exec 9<>"$work/in" # which waits for nobody
until_true grep -qz '^GOMP_SPINCOUNT=1000$' "/proc/$pid/environ"
[ "$(tr '\0' '\n' <"/proc/$pid/environ" | grep -c '^GOMP_SPINCOUNT=')" = 1 ] || fail "set twice"
exec 9>&-
wait "$pid" || fail "status $?: $(cat "$work/err")"
(export GOMP_SPINCOUNT=1000 && [ "$(settings "$loam")" = "1000 " ]) || fail "a child starts itself anew"
echo "ok: children inherit it"
