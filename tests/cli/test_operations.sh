# labels: any-processor measures-peak
# The messages that docs/operations.md quotes are those of the program: each piece between two … or punctuation marks stands in a
# source file.
. tests/cli/lib.sh "$1"
# The strings of the sources, adjacent literals joined, without formats; macros of inttypes.h and of the sources cut a string.
find src -name '*.[ch]' -o -name '*.cu' | LC_ALL=C sort | xargs cat | tr '\n' ' ' |
    sed -E 's/" +"//g; s/" *(PRId64|PRIu64|G_GINT64_FORMAT|FILE_NAME|DRIVER) *"/%d/g; s/\\"/"/g' >"$work/strings"
sed -n '/^## It stopped/,/^## Going back/p' docs/operations.md | grep '^| [`…]' | cut -d '|' -f 2 | sed -n 's/^ *`\([^`]*\)`.*/\1/p' >"$work/quoted"
[ "$(wc -l <"$work/quoted")" -ge 30 ] || fail "$(wc -l <"$work/quoted") messages"
sed 's/loam-mpi\.so/%d/; s/is kept and /is kept\n/; s/…\|[;:,]/\n/g' "$work/quoted" | sed 's/^[ .()/]*//; s/[ .()/]*$//' | while read -r piece; do
    [ "${#piece}" -ge 6 ] || continue
    grep -qF -- "$piece" "$work/strings" || fail "no message of loam: $piece"
done
echo "ok: $(wc -l <"$work/quoted") messages"
