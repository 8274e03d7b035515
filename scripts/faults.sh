#!/bin/bash
# Accidents in everything that changes a machine: NICETY_FAULTS (200) of each kind. The table is target/faults.md.
# Scenes have machines of their own and mostly wait, so NICETY_FAULTS_AT_ONCE (4) of them go on beside each other.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh
out=${CARGO_TARGET_DIR:-target}/faults
export NICETY_FAULTS=${NICETY_FAULTS:-200}
at_once=${NICETY_FAULTS_AT_ONCE:-4}
cargo test --quiet --locked -p nicety --test faults --no-run
status=0
TIMEFORMAT='%R %U %S'
{ time cargo test --quiet --locked -p nicety --test faults -- --test-threads="$at_once" --nocapture "$@" 2>&1 |
    tee "$out.log"; } 2>"$out.time" || status=$?
read -r real user system < <(tail -n 1 "$out.time")
{
    echo "Seed: $(sed -n 's/.*seed \([0-9]*\)$/\1/p' "$out.log" | head -n 1). Repeat with NICETY_FAULTS_SEED."
    echo "Time: $real s; processors: $user s in programs, $system s in the kernel."
    echo
    echo "| scene | accident | count | result |"
    echo "|---|---|---:|---|"
    grep -o 'FAULT | .*' "$out.log" | cut -c 7- | sort || true
    echo
    grep -o 'SKIP .*' "$out.log" | sed 's/^/- /' || true
} >"$out.md"
cat "$out.md"
exit "$status"
