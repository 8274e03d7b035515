#!/bin/bash
# Accidents in one cap over many hosts: NICETY_FAULTS (100) of each kind, in a quarter of an hour. The table is
# target/faults-cluster.md. Clusters of simulated hosts go on beside each other on a real etcd; three real daemons with
# real packets go on beside them, with a twentieth as many accidents.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh
out=${CARGO_TARGET_DIR:-target}/faults-cluster
export NICETY_FAULTS=${NICETY_FAULTS:-100} NICETY_FAULTS_SEED=${NICETY_FAULTS_SEED:-$EPOCHSECONDS}
# As an ordinary user they would be the same.
export NICETY_TEST_ROOT_ONLY=1

cargo test --quiet --locked -p nicety-cluster --test faults --no-run
cargo test --quiet --locked -p nicety --test faults --no-run
rm -f "$out"-*.log
status=0
begun=$SECONDS
cargo test --quiet --locked -p nicety --test faults -- --nocapture --ignored cluster:: >"$out-daemons.log" 2>&1 &
daemons=$!
cargo test --quiet --locked -p nicety-cluster --test faults 2>&1 | tee "$out-simulated.log" || status=$?
wait "$daemons" || status=$?
grep -v '^FAULT' "$out-daemons.log" || true
{
    echo "Seed: $NICETY_FAULTS_SEED. Repeat with NICETY_FAULTS_SEED. Time: $((SECONDS - begun)) s."
    echo
    echo "| scene | accident | count | result |"
    echo "|---|---|---:|---|"
    cat "$out"-*.log | grep -o 'FAULT | .*' | cut -c 7- | sort || true
    echo
    cat "$out"-*.log | grep -o 'SKIP .*' | sed 's/^/- /' || true
    grep -h 'most that all hosts\|most in two seconds' "$out"-*.log || true
} >"$out.md"
cat "$out.md"
exit "$status"
