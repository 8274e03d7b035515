#!/bin/bash
# Takes a picture of every kind of page at 1280 and 390 pixels, in light and dark, into target/screenshots.
# They are the pages that the tests open in a browser, with the same made-up results.
# Usage: screenshots.sh [DIRECTORY]
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-${CARGO_TARGET_DIR:-target}/screenshots}
for browser in chromium chromium-browser google-chrome none; do
    ! command -v $browser >/dev/null || break
done
if [ $browser = none ]; then
    echo "screenshots: no browser here; on Debian: apt-get install chromium" >&2
    exit 3
fi
# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh
mkdir -p "$out"
rm -f "$out"/*.png
status=0
# The test that takes them also looks for what keeps people from using a page.
NICETY_SCREENSHOTS=$(realpath "$out") cargo test --quiet --locked -p nicety-report --test browser -- \
    axe_finds_nothing_on_any_page || status=$?
echo "$out: $(find "$out" -name '*.png' | wc -l) pictures"
exit "$status"
