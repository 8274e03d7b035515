#!/bin/bash
# Limits of other programs at ports that nicety polices: NICETY_FAULTS (1000) random rewrites for each way to adopt them,
# with kills, restarts and restores, and a twentieth as many accidents at system calls; in about half an hour. The
# table is target/faults-adopt.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh
. scripts/faults-table.sh
out=${CARGO_TARGET_DIR:-target}/faults-adopt
export NICETY_FAULTS=${NICETY_FAULTS:-1000} NICETY_FAULTS_SEED=${NICETY_FAULTS_SEED:-$EPOCHSECONDS}
status=0
begun=$SECONDS
cargo test --quiet --locked -p nicety --test police -- --nocapture --ignored adopt::campaign:: adopt::roots:: 2>&1 | tee "$out.log" || status=$?
NICETY_FAULTS=$((NICETY_FAULTS / 20)) cargo test --quiet --locked -p nicety --test faults -- --nocapture --ignored \
    police::police_replacing 2>&1 | tee -a "$out.log" || status=$?
# A kernel with all that these programs use.
lab=$(mktemp -d)
row='FAULT | limits of others | replaced and given back in the lab: libvirt, Proxmox, Neutron, CNI, Open vSwitch | 2 |'
if "${CARGO_TARGET_DIR:-target}/debug/nicety" lab run --out "$lab" -- "$PWD/crates/netdev/tests/traffic_control/replace.sh"; then
    echo "$row as before |" >>"$out.log"
else
    echo "$row FAILED |" >>"$out.log"
    status=1
fi
rmdir "$lab"
{
    echo "Seed: $NICETY_FAULTS_SEED. Repeat with NICETY_FAULTS_SEED. Time: $((SECONDS - begun)) s."
    faults_table cat "$out.log"
} >"$out.md"
cat "$out.md"
exit "$status"
