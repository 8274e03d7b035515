#!/bin/bash
# Measures three ready plans in the lab: guests by driver, switches, virtual NICs by what carries
# them. Cells that the time has no room for are named in the reports, those that cannot be built
# with their reasons.
# LAB_MATRIX_BOX   time for each plan (20m)
# LAB_MATRIX_OUT   directory of the results, which must not hold an earlier one's
# LAB_MATRIX_ARGS  more arguments of nicety lab run, as --cpus 4
set -euo pipefail
cd "$(dirname "$0")/.."

nicety=${CARGO_TARGET_DIR:-target}/${LAB_MATRIX_PROFILE:-release}/nicety
out=${LAB_MATRIX_OUT:-runs/lab-matrix-$(date -u +%Y%m%dT%H%M%SZ)}
plans=(guest-drivers bridge-vs-dpdk vnic-backends)
mkdir -p "$out"
out=$(realpath "$out")
for plan in "${plans[@]}"; do
    [ ! -e "$out/$plan" ] || { echo "lab-matrix: $out/$plan is there already; name another LAB_MATRIX_OUT" >&2; exit 2; }
done
# In the lab. 0 and 1 are results, also of cells that the emulated machine was too slow for.
# shellcheck disable=SC2016 # expanded there
measure='
    out=$1 box=$2 failed=0
    shift 2
    for plan; do
        run=$out/$plan code=0
        [ ! -e "$run/report.html" ] || continue
        words=("plans/$plan.toml" --out "$run")
        [ ! -e "$run/run.json" ] || words=(--resume "$run")
        nicety bench "${words[@]}" --engine af_packet --for "$box" || code=$?
        [ $code -le 1 ] || { echo "lab-matrix: $plan ended with code $code" >&2; failed=1; }
    done
    exit $failed'
# Code 3 is a lab that did not start, stood still or ended by itself.
for _ in 1 2 3; do
    status=0
    # shellcheck disable=SC2086 # some words
    "$nicety" lab run --fresh --out "$out" ${LAB_MATRIX_ARGS:-} -- \
        bash -c "$measure" lab-matrix "$out" "${LAB_MATRIX_BOX:-20m}" "${plans[@]}" || status=$?
    [ $status -eq 3 ] || break
done
for plan in "${plans[@]}"; do
    echo "report: $out/$plan/report.html"
done
exit $status
