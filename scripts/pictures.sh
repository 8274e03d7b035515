#!/bin/bash
# Writes README.md's first table and takes its pictures from a real run: the report in light and in
# dark, and what the terminal shows, by a browser without a window. They go to docs/pictures.
# Usage: pictures.sh [RUN]
# RUN is a run's directory; without it `nicety bench` makes one, in four minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

nicety=${NICETY:-${CARGO_TARGET_DIR:-target}/release/nicety}
out=docs/pictures
run=${1:-}
for browser in chromium chromium-browser google-chrome none; do
    ! command -v $browser >/dev/null || break
done
if [ $browser = none ]; then
    echo "pictures: no browser here; on Debian: apt-get install chromium" >&2
    exit 3
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$run" ]; then
    run=$work/run
    # A verdict other than ok is a result as well, and the picture says so.
    "$nicety" bench --out "$run" >/dev/null || [ $? -eq 1 ]
fi
"$nicety" report "$run" --html "$work/report.html"
"$nicety" report "$run" --format md >"$work/report.md"

# The table stands between two comments. Of the report's columns it has size, number, interval, load that
# held for ten seconds, capacity, bit rate and verdict.
{
    sed '/^<!-- results -->$/q' README.md
    echo '| Frame size | Frames/s | Interval | Held for 10 s | Capacity | L1 (Mbit/s) | Verdict |'
    echo '|-----------:|---------:|---------:|---------:|---------:|---------:|---------|'
    awk -F ' *[|] *' '/^\| bridge \| uni / { print "| " $4 " | " $5 " | " $6 " | " $7 " | " $8 " | " $9 " | " $14 " |" }' \
        "$work/report.md"
    sed -n '/^<!-- end of results -->$/,$p' README.md
} >"$work/README.md"
if [ "$(grep -c '^| [0-9]' "$work/README.md")" -eq 0 ]; then
    echo "pictures: $run has no results of a bridge in one direction; README.md keeps its table" >&2
else
    cat "$work/README.md" >README.md
fi

# shot NAME WIDTH HEIGHT PAGE [OPTION…].
shot() {
    local name=$1 size=$2,$3 page=$4
    shift 4
    timeout 60 $browser --headless --no-sandbox --disable-gpu --hide-scrollbars --force-color-profile=srgb \
        --user-data-dir="$work/profile" --window-size="$size" --screenshot="$work/$name.png" "$@" \
        "file://$page" >"$work/said" 2>&1 || {
        tail -n 3 "$work/said" >&2
        echo "pictures: $browser took no picture of $name" >&2
        exit 1
    }
    mkdir -p $out
    mv "$work/$name.png" "$out/$name.png"
    echo "$out/$name.png, $(($(stat -c %s "$out/$name.png") / 1000)) kB"
}

shot report-light 880 830 "$work/report.html" --force-device-scale-factor=0.8
shot report-dark 880 830 "$work/report.html" --force-device-scale-factor=0.8 --blink-settings=preferredColorScheme=0

# What the terminal shows, as a page of fixed-width text.
{
    echo '<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#16181d;color:#e6e6e6}'
    echo 'pre{margin:16px;white-space:pre-wrap;font:12px/1.35 "DejaVu Sans Mono",monospace}</style><pre>'
    echo '$ nicety bench'
    "$nicety" report "$run" | head -n 13 | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
    echo '</pre>'
} >"$work/terminal.html"
shot terminal 760 275 "$work/terminal.html"

total=$(cat $out/*.png | wc -c)
[ "$total" -lt 200000 ] || {
    echo "pictures: $total bytes together; README promises less than 200 kB" >&2
    exit 1
}
