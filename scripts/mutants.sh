#!/bin/bash
# A fixed sample of small faults, put one by one into the crates that only decide: which of them does a crate's own
# test notice? Prints a table; the mutants that live are in target/mutants/missed.
# Usage: mutants.sh [--continue] [COUNT]
# --continue runs only what was not caught before. COUNT ends after so many mutants, in the order of the sample.
# MUTANTS_SOURCE and MUTANTS_OUT name another tree and another place for copy, build and results.
set -euo pipefail
source=$(realpath "${MUTANTS_SOURCE:-$(dirname "$0")/..}")
cd "$(dirname "$0")/.."
# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$(realpath -m "${MUTANTS_OUT:-$target/mutants}")
export PATH=$target/tools/bin:$PATH CARGO_TARGET_DIR=$out/build CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=0
export PROPTEST_DISABLE_FAILURE_PERSISTENCE=true

# A mutant's place in the order follows from this seed and its own text: code that moves moves the sample little.
seed=nicety
declare -A sample=(
    [nicety-search]=70 [nicety-account]=70 [nicety-police]=70 [nicety-advisor]=70 [nicety-compare]=70
    [nicety-netdev]=50
)
# What decides in nicety-netdev; the rest talks to the kernel, and only the kernel can tell whether it is right.
netdev=(
    conntrack ethtool/request hwtstamp/stamp_log link/counters openvswitch/policing policer/message shaper/counters
    shaper/survey traffic_control/parse traffic_control/replay traffic_control/replay/root vf/count vf/parse vf/switch
    vf/used
)
# Rules of the cluster that its tests take out by themselves.
exclude=crates/police/src/cluster/mutant.rs
# Far above what the tests of any of these crates take: a mutant that loops for ever is stopped.
limit=600

again=no
if [ "${1:-}" = --continue ]; then again=yes && shift; fi
count=${1:-400}
version=27.1.0
if [ "$(cargo mutants --version 2>/dev/null)" != "cargo-mutants $version" ]; then
    CARGO_TARGET_DIR=$target/tools/build-mutants CARGO_INCREMENTAL=0 \
        cargo install cargo-mutants --version $version --locked --debug --root "$target/tools"
    rm -rf "$target/tools/build-mutants"
fi

# Times of the files are kept: what did not change is not built again.
copy() {
    rm -rf "$out/tree"
    mkdir -p "$out/tree"
    (cd "$source" && git ls-files -z --cached --others --exclude-standard |
        tar -c --null --ignore-failed-read -T - 2>/dev/null) | tar -x -C "$out/tree"
    # But for files that were mutated, whose last build was a mutant's.
    [ ! -e "$out/sample" ] || (cd "$out/tree" && cut -f 3 "$out/sample" | sort -u | xargs touch -c)
}

# All mutants of a crate: its name, a text that stays when lines move, file, and name; split by tabs.
list() {
    local files=()
    if [ "$1" = nicety-netdev ]; then
        mapfile -t files < <(printf -- '--file=crates/netdev/src/%s.rs\n' "${netdev[@]}")
    fi
    cargo mutants -d "$out/tree" --list -p "$1" --exclude "$exclude" "${files[@]}" | awk -v crate="$1" '
        match($0, /:[0-9]+:[0-9]+: /) {
            file = substr($0, 1, RSTART - 1)
            text = file ": " substr($0, RSTART + RLENGTH)
            printf "%s\t%s #%d\t%s\t%s\n", crate, text, n[text]++, file, $0
        }'
}

# Puts lines into an order that follows from the seed and each line's text.
shuffled() { sort -t $'\t' -k 2,2 -R --random-source=<(yes "$seed"); }

draw() {
    local crate
    for crate in "${!sample[@]}"; do
        list "$crate" >"$out/all"
        shuffled <"$out/all" | sed -n "1,${sample[$crate]}p"
    done >"$out/drawn"
    shuffled <"$out/drawn" >"$out/sample"
}

# try CRATE FILE NAME: how a mutant ends.
try() {
    local tests=--tests name kind
    # The other tests of nicety-netdev are the kernel's.
    [ "$1" != nicety-netdev ] || tests=--lib
    name=$(sed 's/[][\\.+*?(){}|^$]/\\&/g' <<<"$3")
    rm -rf "$out/one"
    cargo mutants --in-place -d "$out/tree" -o "$out/one" -p "$1" --file "$2" --re "^$name\$" --baseline skip \
        --timeout $limit --cargo-arg=--locked -- $tests >"$out/log" 2>&1 </dev/null || true
    for kind in caught missed timeout unviable; do
        if [ -s "$out/one/mutants.out/$kind.txt" ]; then echo $kind && return; fi
    done
    echo "mutants: $3 was not tried:" >&2
    cat "$out/log" >&2
    return 1
}

table() {
    awk -F '\t' '
        { all[$1]++; n[$1, $3]++; all["all"]++; n["all", $3]++ }
        function row(crate) {
            alive = n[crate, "missed"]; dead = n[crate, "caught"] + n[crate, "timeout"]
            printf "%-16s %8d %8d %8d %9d %8d %7s\n", crate, all[crate], n[crate, "caught"], alive,
                n[crate, "unviable"], n[crate, "timeout"],
                (alive + dead ? sprintf("%.1f %%", 100 * dead / (alive + dead)) : "-")
        }
        END {
            printf "%-16s %8s %8s %8s %9s %8s %7s\n", "crate", "mutants", "caught", "missed", "unviable", "timeout", "share"
            for (crate in all) if (crate != "all") row(crate) | "sort"
            close("sort")
            row("all")
        }' "$out/results"
    awk -F '\t' '$3 == "missed" { print $5 }' "$out/results" | sort >"$out/missed"
}

copy
draw
touch "$out/results"
if [ $again = yes ]; then
    awk -F '\t' '$3 == "caught" || $3 == "unviable"' "$out/results" >"$out/kept"
    mv "$out/kept" "$out/results"
else
    : >"$out/results"
fi
cut -f 1 "$out/sample" | sort -u | while read -r crate; do
    # From the second mutant on the compiler builds only what it changes.
    (cd "$out/tree" && cargo test --quiet --locked -p "$crate" --lib --tests --no-run)
done
while IFS=$'\t' read -r crate text file name; do
    ! awk -F '\t' -v text="$text" '$2 == text { found = 1 } END { exit !found }' "$out/results" || continue
    begun=$SECONDS
    end=$(try "$crate" "$file" "$name")
    printf '%s\t%s\t%s\t%s\t%s\n' "$crate" "$text" "$end" $((SECONDS - begun)) "$name" >>"$out/results"
    echo "$end $((SECONDS - begun)) s: $name"
done < <(sed -n "1,${count}p" "$out/sample")
echo
table
echo "$out/missed names the mutants that no test noticed"
