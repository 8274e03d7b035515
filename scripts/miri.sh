#!/bin/bash
# Runs the tests of what counts frames, reads them and shares rings with the kernel in Miri, which reports undefined
# behaviour and data races. NAME picks tests. Nightly Rust and Miri are installed where they are missing.
# Usage: miri.sh [NAME]
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PATH:$HOME/.cargo/bin

nightly=${MIRI_TOOLCHAIN:-nightly}
say() { echo "miri: $*" >&2; }

if ! rustup run "$nightly" cargo miri --version >/dev/null 2>&1; then
    say "installing $nightly Rust with Miri"
    rustup toolchain install "$nightly" --profile minimal --component miri --component rust-src >&2
fi
export RUSTUP_TOOLCHAIN=$nightly CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/miri
# Generated inputs say the same in a few cases here as in many: Miri is a hundred times slower. The seeds of those
# that failed once are files, which Miri keeps closed.
export PROPTEST_CASES=${PROPTEST_CASES:-2} PROPTEST_DISABLE_FAILURE_PERSISTENCE=true
export MIRIFLAGS=${MIRIFLAGS:--Zmiri-disable-isolation}

begun=$SECONDS status=0
check() {
    say "$*"
    cargo miri test --locked --lib "$@" || status=1
}
# Long loops: they take Miri hours, and there is no unsafe code in these crates.
slow=(an_independent_parser latency port:: every_ an_outage beyond_32 any_ a_million folds_the_largest)
check -p nicety-account -p nicety-packet -- "${slow[@]/#/--skip=}" "$@"
# What opens sockets is the kernel's, which Miri does not have.
for part in af_packet::rx af_xdp::ring memory; do
    [ $# -eq 0 ] || [[ $part == *"$1"* ]] || continue
    check -p nicety-port -- "$part"
done
say "$((SECONDS - begun)) s"
exit "$status"
