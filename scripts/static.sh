#!/bin/bash
# Builds nicety as one file without libraries, for any x86-64 Linux from 5.10 on: the C library is
# musl, SQLite and the BPF programs are inside.
# Usage: static.sh [--profile NAME] [--out FILE]
# The profile is that of cargo: release, or dev for a quick build. Prints the file and its size.
set -euo pipefail
cd "$(dirname "$0")/.."

triple=x86_64-unknown-linux-musl
target=${CARGO_TARGET_DIR:-target}
profile=release
out=$target/static/nicety
while [ $# -gt 0 ]; do
    case $1 in
    --profile) profile=${2:-} ;;
    --out) out=${2:-} ;;
    *)
        echo "static: unknown argument $1; usage: static.sh [--profile NAME] [--out FILE]" >&2
        exit 2
        ;;
    esac
    [ -n "${2:-}" ] || {
        echo "static: $1 needs a value" >&2
        exit 2
    }
    shift 2
done
for tool in "musl-gcc musl-tools" "readelf binutils" "strip binutils"; do
    read -r program package <<<"$tool"
    command -v "$program" >/dev/null || {
        echo "static: $program is missing; on Debian: apt-get install $package" >&2
        exit 3
    }
done
# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh
if [ ! -e "$(rustc --print sysroot)/lib/rustlib/$triple" ]; then
    command -v rustup >/dev/null || {
        echo "static: Rust's library for $triple is missing; install it as your toolchain's package" >&2
        exit 3
    }
    rustup target add $triple >&2 || {
        echo "static: Rust's library for $triple cannot be fetched; check the network" >&2
        exit 3
    }
fi

# Backtraces need symbols of functions only: without the rest a dev build is done sooner.
[ "$profile" != dev ] || export CARGO_PROFILE_DEV_DEBUG=false
cargo build --profile "$profile" --locked -p nicety --target $triple >&2
# cargo's own name for the directory of this one profile.
built=$target/$triple/${profile/#dev/debug}/nicety
# What a loader would have to load makes it a file for machines like this one only.
if readelf --program-headers --wide "$built" | grep -q INTERP; then
    echo "static: $built asks for a dynamic loader; is crt-static switched off (RUSTFLAGS)?" >&2
    exit 1
fi
mkdir -p "$(dirname "$out")"
# Replaced in one step: the old one may be running.
strip --strip-debug -o "$out.new" "$built"
mv "$out.new" "$out"
echo "$out, $(($(stat -c %s "$out") / 1000000)) MB, static"
