#!/bin/bash
# NICETY_HOUR_S (3600) seconds of traffic that is billed, while ports come and go and the daemon is killed, stopped and
# reloaded: the bills beside what the uplink has carried. The table is target/faults-bills.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh
. scripts/faults-table.sh
out=${CARGO_TARGET_DIR:-target}/faults-bills
export NICETY_HOUR_S=${NICETY_HOUR_S:-3600} NICETY_FAULTS_SEED=${NICETY_FAULTS_SEED:-$EPOCHSECONDS}
status=0
cargo test --quiet --locked -p nicety --test police -- --nocapture --ignored bills::hour:: 2>&1 | tee "$out.log" || status=$?
{
    echo "Seed: $NICETY_FAULTS_SEED. Repeat with NICETY_FAULTS_SEED."
    faults_table cat "$out.log"
} >"$out.md"
cat "$out.md"
exit "$status"
