#!/bin/bash
# Accidents in one cap over many hosts: NICETY_FAULTS (100) of each kind, in a quarter of an hour. The table is
# target/faults-cluster.md. Clusters of simulated hosts go on beside each other on a real etcd; three real daemons with
# real packets go on beside them, with a twentieth as many accidents.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh
. scripts/faults-table.sh
out=${CARGO_TARGET_DIR:-target}/faults-cluster
export NICETY_FAULTS=${NICETY_FAULTS:-100} NICETY_FAULTS_SEED=${NICETY_FAULTS_SEED:-$EPOCHSECONDS}

cargo test --locked -p nicety-policed -p nicety --test faults --no-run --message-format=json-render-diagnostics >"$out.json"
# Below crates/$1, with the words that follow.
program() {
    local folder=$PWD/crates/$1 exe
    shift
    # The binaries that it needs were built beside it.
    exe=$(sed -n "s|.*\"manifest_path\":\"$folder/Cargo.toml\".*\"name\":\"faults\".*\"executable\":\"\([^\"]*\)\".*|\1|p" "$out.json")
    (cd "$folder" && CARGO_MANIFEST_DIR=$folder "$exe" "$@" 2>&1)
}
rm -f "$out"-*.log
status=0
begun=$SECONDS
program nicety --nocapture --ignored cluster:: >"$out-daemons.log" &
daemons=$!
program policed | tee "$out-simulated.log" || status=$?
wait "$daemons" || status=$?
grep -v '^FAULT' "$out-daemons.log" || true
{
    echo "Seed: $NICETY_FAULTS_SEED. Repeat with NICETY_FAULTS_SEED. Time: $((SECONDS - begun)) s."
    faults_table sort "$out"-*.log
    grep -h 'most that all hosts\|most in two seconds' "$out"-*.log || true
} >"$out.md"
cat "$out.md"
exit "$status"
