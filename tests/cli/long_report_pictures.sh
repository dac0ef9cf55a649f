# labels: long
# The page of loam report in a browser: each section is painted, in light, in dark and in print; the pointer reads values off.
# PICTURES=FOLDER keeps the pictures, to look at them. Skipped if there is no chromium.
. tests/cli/lib.sh "$1"
browser=$(command -v chromium || command -v google-chrome) || { echo "skipped: there is no chromium"; exit 77; }
pictures=${PICTURES:-$work/pictures}
mkdir -p "$pictures"
make_dataset
"$loam" train "$work/config.yaml" run.dir="$work/a" train.spike=2 train.spike_window=10 2>/dev/null
"$loam" train "$work/config.yaml" run.dir="$work/b" optim.lr=1e-3 train.length='30 steps' 2>/dev/null
"$loam" report "$work/a" "$work/b" --out "$work/two.html" 2>/dev/null
page=$work/two.html

browse() {
    timeout 280 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$work/profile" "$@" 2>"$work/err" || fail "$browser: $(tail -n 3 "$work/err")"
}

# A picture of an empty page of this size has some 5 kB.
for section in summary curves scores samples events plan options machine; do
    sed "s|</head>|<style>section:not(#$section){display:none}</style></head>|" "$page" >"$work/$section.html"
    for scheme in light dark; do
        browse --blink-settings=preferredColorScheme=$([ $scheme = dark ] && echo 0 || echo 1) --window-size=1400,1300 \
            --screenshot="$pictures/$section-$scheme.png" "file://$work/$section.html"
        [ "$(wc -c <"$pictures/$section-$scheme.png")" -gt 8000 ] || fail "$section is not painted"
    done
    ! cmp -s "$pictures/$section-light.png" "$pictures/$section-dark.png" || fail "$section is the same in light and dark"
    echo "ok: $section"
done
browse --no-pdf-header-footer --print-to-pdf="$pictures/two.pdf" "file://$page"
head -c 5 "$pictures/two.pdf" | grep -q '%PDF-' || fail "print"

# The pointer over the middle of the first curve: the values of step 20 there and in the other curves, and "–" behind a run's end.
hover() {
    sed "s|</body>|<script>addEventListener('load', () => { const s = document.querySelector('.chart svg'), b = s.getBoundingClientRect();\
        s.dispatchEvent(new PointerEvent('pointermove', { clientX: b.left + b.width * (58 + 648 * $1) / 720, clientY: b.top + 50 })); })</script></body>|" \
        "$page" >"$work/hover.html"
    browse --dump-dom --window-size=1400,1300 "file://$work/hover.html" >"$work/dom"
}
hover 0.5
grep -qF '>step 20</text>' "$work/dom" || fail "no crosshair at step 20"
for run in a b; do
    loss=$(sed -n 's/.*"kind":"train","step":20,.*"loss":\([0-9.]*\),"nll.*/\1/p' "$work/$run/metrics.jsonl")
    grep -qF "$run training <b>$(awk -v loss="$loss" 'BEGIN { printf "%.5g", loss }')</b>" "$work/dom" || fail "the loss of $run at step 20, $loss"
done
hover 1
grep -qF "b training <b>–</b>" "$work/dom" || fail "a value behind the end of a run"
echo "ok: the pointer reads values off"
