#!/bin/bash
# Known weaknesses in what is built in, and crates that were withdrawn or that nobody maintains: cargo-deny with the
# RustSec database. Where github.com is out of reach, NICETY_ADVISORIES names a clone of that database. The last line
# says how new the database is. Status 3 and a last line with the reason: there is no database.
# Usage: audit.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh

target=${CARGO_TARGET_DIR:-$PWD/target}
export PATH=$target/tools/bin:$PATH
database=https://github.com/RustSec/advisory-db
work=$target/audit
mkdir -p "$work"

# The rules are those of deny.toml; only where the database is kept is ours.
sed "s|^\[advisories\]\$|&\ndb-path = \"$work/db\"\ngit-fetch-with-cli = true|" deny.toml >"$work/deny.toml"
clone=${NICETY_ADVISORIES:-}
if [ -n "$clone" ]; then
    [ -d "$clone" ] || {
        echo "there is no directory $clone; correct NICETY_ADVISORIES" >&2
        exit 2
    }
    rm -rf "$work/db"
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=url.file://$(realpath "$clone").insteadOf GIT_CONFIG_VALUE_0=$database
fi
export GIT_TERMINAL_PROMPT=0
deny=(cargo deny --locked --log-level error --config "$work/deny.toml")
if ! "${deny[@]}" fetch db >"$work/fetch" 2>&1; then
    why=$(sed -n 's/^fatal: //p' "$work/fetch" | tail -n 1)
    echo "cannot fetch $database: ${why:-see $work/fetch}; name a clone of it: make audit NICETY_ADVISORIES=DIRECTORY"
    exit 3
fi
"${deny[@]}" --offline check advisories
newest=$(git -C "$work"/db/advisory-db-* log -1 --format=%cs)
days=$((($(date +%s) - $(date -d "$newest" +%s)) / 86400))
echo "the database is of $newest, $days days old"
