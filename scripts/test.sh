#!/bin/bash
# Everything that must hold: format, lints, documentation, licences, layers, and all tests. Started as root, those whose
# name ends in `_as_any_user` run once more as nobody. Ends with how long each part took, what was skipped and why, and
# one line that counts. Which tests run beside each other stands in .config/nextest.toml.
# Usage: test.sh [all]: with the campaigns and slow machines that `#[ignore]` names, and every test as both users.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/toolchain.sh
source scripts/musl.sh
source scripts/layers.sh
target=${CARGO_TARGET_DIR:-$PWD/target}
export PATH=$target/tools/bin:$PATH:/usr/sbin:/sbin
# A build from nothing has no next build to save time for: incremental state would double its disk.
export CARGO_INCREMENTAL=0 INSTA_WORKSPACE_ROOT=$PWD NICETY_TEST_RUN=-$$
scope=${1:-usual}
privilege=$([ "$(id -u)" -eq 0 ] && echo root || echo user)

work=$(mktemp -d) beside=
# ended: nothing of this run stays, however it ends: not what runs beside, not the machines of the lab's tests.
ended() {
    [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true
    scripts/labs-down.sh || true
    rm -rf "$work"
}
trap ended EXIT
trap 'exit 130' INT TERM
touch "$work"/{failed,skips,parts}

skip() { echo "SKIP $*" | tee -a "$work/skips"; }
# part NAME COMMAND…: one part of the whole, with its time.
part() {
    local name=$1 begun=$SECONDS
    shift
    echo "== $name"
    "$@" || echo "$name" >>"$work/failed"
    printf '%5d s  %s\n' $((SECONDS - begun)) "$name" >>"$work/parts"
}

# Licences, sources and duplicates need no network; advisories need the RustSec database.
advisories() {
    local status=0
    scripts/audit.sh >"$work/audit" 2>&1 || status=$?
    [ "$status" -ne 3 ] || { skip "advisories: $(tail -n 1 "$work/audit")" && return 0; }
    cat "$work/audit"
    return "$status"
}

# tests PROFILE OPTION…: runs tests; their times, skips and failures are in the profile's JUnit file.
tests() {
    local profile=$1 status=0
    shift
    [ "$scope" != all ] || set -- "$@" --run-ignored all
    rm -f "$target/nextest/$profile/junit.xml"
    cargo nextest run --binaries-metadata "$work/binaries" --cargo-metadata "$work/metadata" --profile "$profile" --no-tests warn \
        --hide-progress-bar "$@" || status=$?
    sed 's/&quot;/"/g; s/&apos;/'"'"'/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' "$target/nextest/$profile/junit.xml" >"$work/$profile.junit"
    sed -n 's/^ *\(<system-out>\)\?\(SKIP .*\)/\2/p' "$work/$profile.junit" | sed "s/^SKIP /SKIP $profile: /" >>"$work/skips"
    return "$status"
}

# As an ordinary user, who can read the tests below a folder that is closed to others too.
as_user() {
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUNNER="$PWD/scripts/as-user.sh $PWD"
    tests user "$@"
}

# Builds all tests; what runs them asks cargo no more, which has one lock for tests and lints.
build() {
    cargo metadata --locked --format-version 1 >"$work/metadata" &&
        cargo nextest list --locked --workspace --target "$musl" --list-type binaries-only --message-format json >"$work/binaries"
}

lints() {
    cargo clippy --quiet --locked --workspace --all-targets --target "$musl" -- -D warnings &&
        RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --workspace --no-deps --target "$musl"
}

[ "$privilege" = user ] || unshare --mount true 2>/dev/null ||
    skip "what needs a mount or user namespace: they are forbidden here, or / is no mount point, as in a plain chroot; pivot_root(8) makes it one"
part "format" cargo fmt --all --check
part "layers" layers
part "licences, sources, duplicates" cargo deny --locked --log-level error check bans licenses sources
part "advisories" advisories
part "build of the tests" build
if grep -q '^build' "$work/failed"; then exit 1; fi

# Lints use what the tests leave of the CPUs, while nothing is measured.
set -m
(chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 "$BASHPID" >/dev/null; part "lints and documentation, beside" lints) >"$work/beside" 2>&1 &
beside=$!
set +m
part "tests as $privilege" tests root -E 'not group(measures)'
wait "$beside" || true
beside=
cat "$work/beside"
part "tests that measure, as $privilege" tests measures -E 'group(measures)'
chosen='test(/_as_any_user$/)'
[ "$scope" != all ] || chosen='all()'
if [ "$privilege" = user ]; then
    skip "tests as root: this is not root"
elif ! scripts/as-user.sh "$PWD" test -r "$target/$musl/debug/nicety" 2>"$work/why"; then
    skip "tests as an ordinary user: $(tail -n 1 "$work/why" || true)"
else
    part "tests as user nobody" as_user -E "$chosen"
fi
[ "$scope" = all ] || grep -rhA3 '#\[ignore = ' crates --include='*.rs' |
    sed -n 's/.*#\[ignore = "\(.*\)"\]/\1/; t hold; s/^ *\(pub \)\?fn \([a-z0-9_]*\).*/\2/; t say; d; :hold h; d; :say G; s/\(.*\)\n\(.*\)/SKIP \1: \2/p' >>"$work/skips"
sed 's/^SKIP /skipped: /; 1s/^/\n/' "$work/skips"
# The longest, by the JUnit files.
sed -n 's/.*<testcase name="\([^"]*\)" classname="\([^"]*\)".* time="\([0-9.]*\)".*/\3 \2 \1/p' "$work"/*.junit |
    sort -rn | sed -n "1,${NICETY_TEST_SLOWEST:-20}s/^\\([0-9]*\\)[0-9.]* /slow: \\1 s /p"
cat "$work/parts"
count() { cat "$work"/*.junit | grep -c "$1" || true; }
failed=$(count '<failure\|<error') skipped=$(wc -l <"$work/skips")
passed=$(($(count '<testcase ') - failed - $(grep -c '^SKIP [a-z]*: ' "$work/skips" || true)))
echo "$((SECONDS / 60)) min $((SECONDS % 60)) s, $(du -sm "$target" | cut -f 1) MB in $target"
echo "$(grep -c ': not tried: ' "$work/skips" || true) truths were not tried: the machine was too busy"
echo "$passed tests passed, $skipped skipped, $failed failed; $(wc -l <"$work/failed") parts failed"
sed 's/^/failed: /' "$work/failed"
[ ! -s "$work/failed" ]
