#!/bin/bash
# Builds nicety as one file without libraries, for any x86-64 Linux from 5.10 on: the C library is
# musl, SQLite and the BPF programs are inside.
# Usage: static.sh [--profile NAME] [--out FILE] [--machine NAME]
# The profile is that of cargo: release, or dev for a quick build. The machine is x86_64, or aarch64, which is built with
# zig's C compiler and linker (scripts/setup.sh release). Prints the file and its size.
set -euo pipefail
cd "$(dirname "$0")/.."

machine=x86_64
target=${CARGO_TARGET_DIR:-target}
profile=release
out=$target/static/nicety
while [ $# -gt 0 ]; do
    case $1 in
    --profile) profile=${2:-} ;;
    --out) out=${2:-} ;;
    --machine) machine=${2:-} ;;
    *)
        echo "static: unknown argument $1; usage: static.sh [--profile NAME] [--out FILE] [--machine NAME]" >&2
        exit 2
        ;;
    esac
    [ -n "${2:-}" ] || {
        echo "static: $1 needs a value" >&2
        exit 2
    }
    shift 2
done
triple=$machine-unknown-linux-musl
build=(cargo build)
needs=("readelf binutils")
case $machine in
x86_64) needs+=("musl-gcc musl-tools" "strip binutils") ;;
aarch64)
    # No package of Debian has musl's headers for another machine; zig brings them.
    build=(cargo zigbuild)
    export PATH=$PWD/$target/tools/cross/bin:$target/tools/cross/bin:$PATH
    needs+=("cargo-zigbuild cargo-zigbuild")
    ;;
*)
    echo "static: no static build for $machine; choose x86_64 or aarch64" >&2
    exit 2
    ;;
esac
for tool in "${needs[@]}"; do
    read -r program package <<<"$tool"
    command -v "$program" >/dev/null || {
        [ "$package" = cargo-zigbuild ] || echo "static: $program is missing; on Debian: apt-get install $package" >&2
        [ "$package" != cargo-zigbuild ] || echo "static: $program is missing; scripts/setup.sh release fetches it" >&2
        exit 3
    }
done
# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh
musl=$triple
# shellcheck source=scripts/musl.sh
. scripts/musl.sh

# The `strip` of this machine does not know programs of another: rustc strips them.
[ "$machine" = x86_64 ] || export "CARGO_PROFILE_${profile^^}_STRIP=debuginfo"
"${build[@]}" --profile "$profile" --locked -p nicety --target "$triple" >&2
# cargo's own name for the directory of this one profile.
built=$target/$triple/${profile/#dev/debug}/nicety
# What a loader would have to load makes it a file for machines like this one only.
if readelf --program-headers --wide "$built" | grep -q INTERP; then
    echo "static: $built asks for a dynamic loader; is crt-static switched off (RUSTFLAGS)?" >&2
    exit 1
fi
mkdir -p "$(dirname "$out")"
# Replaced in one step: the old one may be running.
if [ "$machine" = x86_64 ]; then strip --strip-debug -o "$out.new" "$built"; else cp "$built" "$out.new"; fi
mv "$out.new" "$out"
echo "$out, $(($(stat -c %s "$out") / 1000000)) MB, static"
