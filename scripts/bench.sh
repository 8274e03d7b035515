#!/bin/bash
# Runs the release build of `nicety bench` with the arguments given and names the newest report.
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
exit "$status"
