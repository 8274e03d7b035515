#!/bin/bash
# Accidents in everything that changes a machine: NICETY_FAULTS (200) of each kind. The table is target/faults.md.
# Most scenes have a machine of their own and wait: NICETY_FAULTS_AT_ONCE (4) of them go on beside each other, and beside
# those that look at this machine, one after the other. With arguments only the tests that they name run.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh
. scripts/faults-table.sh
out=${CARGO_TARGET_DIR:-target}/faults
export NICETY_FAULTS=${NICETY_FAULTS:-200} NICETY_FAULTS_SEED=${NICETY_FAULTS_SEED:-$EPOCHSECONDS}
alone=(bench:: children:: machine:: memory:: power_loss_bench a_measured_device)
others=("--test-threads=${NICETY_FAULTS_AT_ONCE:-4}")
for name in "${alone[@]}"; do others+=(--skip "$name"); done

accidents() {
    local log=$out-$1.log
    shift
    cargo test --quiet --locked -p nicety --test faults -- --nocapture "$@" 2>&1 | tee "$log"
}

cargo test --quiet --locked -p nicety --test faults --no-run
rm -f "$out"-*.log
status=0
begun=$SECONDS
if [ $# -gt 0 ]; then
    accidents some --test-threads=1 "$@" || status=$?
else
    accidents alone --test-threads=1 "${alone[@]}" &
    accidents others "${others[@]}" || status=$?
    wait $! || status=$?
fi
# In a pipeline it would tell of another shell's children.
times >"$out-times.log"
read -r user system < <(tail -n 1 "$out-times.log")
{
    echo "Seed: $NICETY_FAULTS_SEED. Repeat with NICETY_FAULTS_SEED."
    echo "Time: $((SECONDS - begun)) s; processors: $user in programs, $system in the kernel."
    faults_table sort "$out"-{alone,others,some}.log
} >"$out.md"
cat "$out.md"
exit "$status"
