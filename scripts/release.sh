#!/bin/bash
# Builds everything that is handed out into one folder, target/release-VERSION: static programs, Debian packages
# and tarballs for x86-64 and arm64, a bill of materials (CycloneDX), and SHA256SUMS.
# Programs for arm64 are built here and started under qemu-user before they are packed.
# Usage: release.sh [--out DIR]
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
out=$target/release-$version
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=${2:?release: --out needs a value} ;;
    *)
        echo "release: unknown argument $1; usage: release.sh [--out DIR]" >&2
        exit 2
        ;;
    esac
    shift 2
done
[ "$(uname -m)" = x86_64 ] || {
    echo "release: this machine is $(uname -m); run it on an x86-64 host, which builds for arm64 too" >&2
    exit 3
}
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || {
    echo "release: qemu-aarch64-static is missing; on Debian: apt-get install qemu-user-static" >&2
    exit 3
}
# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh
export PATH=$PWD/$target/tools/bin:$target/tools/bin:$PATH
command -v cargo-cyclonedx >/dev/null || {
    echo "release: cargo-cyclonedx is missing; scripts/setup.sh release fetches it" >&2
    exit 3
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The folder is replaced as a whole: what an earlier version left there would get into SHA256SUMS.
new=$work/new
mkdir "$new"

# pack MACHINE DEBIAN [EMULATOR]: all that is handed out for one machine.
pack() {
    local machine=$1 debian=$2 started program name
    local -a emulated=("${@:3}")
    program=$new/nicety-$version-linux-$machine
    name=nicety-$version-linux-$machine
    scripts/static.sh --machine "$machine" --out "$program"
    # What cannot even say its name is not handed out.
    started=$("${emulated[@]}" "$program" --version)
    [ "$started" = "nicety $version" ] || {
        echo "release: $program says \"$started\", not \"nicety $version\"" >&2
        return 1
    }
    local -a with=()
    [ ${#emulated[@]} -eq 0 ] || with=(--emulator "${emulated[0]}")
    scripts/deb.sh --binary "$program" --out "$new" --architecture "$debian" "${with[@]}"
    scripts/stage.sh --binary "$program" --root "$work/$name" "${with[@]}"
    tar --directory "$work" --owner=0 --group=0 --numeric-owner --sort=name -cJf "$new/$name.tar.xz" "$name"
    echo "$new/$name.tar.xz"
}
pack x86_64 amd64
pack aarch64 arm64 "$emulator"

# Beside the manifests of a copy: the program writes one file into each crate.
mkdir "$work/source"
tar --exclude=./target --exclude=./.git -cf - . | tar -xf - -C "$work/source"
(cd "$work/source" && cargo cyclonedx --quiet --format json --spec-version 1.5 --target x86_64-unknown-linux-musl \
    --manifest-path crates/nicety/Cargo.toml --override-filename sbom)
# Where this was built says nothing.
sed "s|$work/source|/nicety|g" "$work/source/crates/nicety/sbom.json" >"$new/nicety-$version.cdx.json"
install -m 644 packaging/Containerfile "$new/Containerfile"

(cd "$new" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$new" "$out"
echo "$out:"
(cd "$out" && du -h --apparent-size -- *)
