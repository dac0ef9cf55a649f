# labels: tools starts-first
# A build folder that was copied or moved with its sources is made anew, one that is entered by a link is not.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/here/build"
cp Makefile "$work/here"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$work/here" >"$work/here/build/CMakeCache.txt"
cp -r "$work/here" "$work/there"
ln -s "$work/here" "$work/link"
for place in here link; do
    ! make -C "$work/$place" -n build | grep 'building anew' >/dev/null || { echo "FAIL: $place was not moved" && exit 1; }
done
make -C "$work/there" -n build | grep 'building anew' >/dev/null || { echo "FAIL: a moved tree" && exit 1; }
echo "ok: a moved tree is built anew"
