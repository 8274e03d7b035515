#!/bin/bash
# Runs the release build of `nicety bench` with the arguments given and names the newest report.
# That the answer is negative (exit 1: a cell without a result that can be relied on) is said and is no
# failure of this script: it has measured and reported.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
begun=$(mktemp)
trap 'rm -f "$begun"' EXIT
status=0
"$target/release/nicety" bench "$@" || status=$?
report=$(find runs -maxdepth 2 -name report.html -newer "$begun" 2>/dev/null | sort | tail -n 1)
if [ -n "$report" ]; then
    echo "report: $report" >&2
fi
if [ "$status" -eq 1 ]; then
    echo "measured, but not every result is to be relied on: see the verdicts above" >&2
    status=0
fi
exit "$status"
