#!/bin/bash
# Accidents in everything that changes a machine: NICETY_FAULTS (200) of each kind. The table is target/faults.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh
out=${CARGO_TARGET_DIR:-target}/faults
export NICETY_FAULTS=${NICETY_FAULTS:-200}
status=0
cargo test --locked -p nicety --test faults -- --test-threads=1 --nocapture "$@" | tee "$out.log" || status=$?
{
    echo "Seed: $(sed -n 's/.*seed \([0-9]*\)$/\1/p' "$out.log" | head -n 1). Repeat with NICETY_FAULTS_SEED."
    echo
    echo "| scene | accident | count | result |"
    echo "|---|---|---:|---|"
    grep -o 'FAULT | .*' "$out.log" | cut -c 7- || true
} >"$out.md"
cat "$out.md"
exit "$status"
