#!/bin/bash
# Packs nicety as a system extension: one image that systemd-sysext lays over /usr, for hosts whose /usr is read-only.
# Usage: sysext.sh [--binary FILE] [--out DIR] [--machine NAME --emulator PROGRAM]
# The program must be static, as it is to run on any distribution; without --binary it is built. The last two are for a
# program of another machine: its name as uname has it, and what starts its programs here. Prints the image's path.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
binary='' out=$target/sysext machine=$(uname -m) emulator=()
while [ $# -gt 0 ]; do
    case $1 in
    --binary) binary=$2 ;;
    --out) out=$2 ;;
    --machine) machine=$2 ;;
    --emulator) emulator=(--emulator "$2") ;;
    *)
        echo "sysext: unknown argument $1; usage: sysext.sh [--binary FILE] [--out DIR] [--machine NAME --emulator PROGRAM]" >&2
        exit 2
        ;;
    esac
    shift 2
done
for tool in "mksquashfs squashfs-tools" "readelf binutils" "gzip gzip"; do
    read -r program package <<<"$tool"
    command -v "$program" >/dev/null || {
        echo "sysext: $program is missing; on Debian: apt-get install $package" >&2
        exit 3
    }
done
if [ -z "$binary" ]; then
    scripts/static.sh >&2
    binary=$target/static/nicety
fi
if readelf --program-headers --wide "$binary" | grep -q INTERP; then
    echo "sysext: $binary asks for a dynamic loader; give the static one (make static)" >&2
    exit 2
fi
# systemd's name of the machine, systemd.unit(5) ConditionArchitecture=.
case $machine in
x86_64) architecture=x86-64 ;;
aarch64) architecture=arm64 ;;
*)
    echo "sysext: no image for $machine; choose x86_64 or aarch64" >&2
    exit 2
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/stage.sh --binary "$binary" --root "$work/root" "${emulator[@]}"
# Any distribution: a static program asks for nothing of the host but its kernel.
release=$work/root/usr/lib/extension-release.d
mkdir -p "$release"
printf 'ID=_any\nARCHITECTURE=%s\n' "$architecture" >"$release/extension-release.nicety"
chmod 755 "$work/root" "$work/root/usr" "$work/root/usr/lib" "$release"
mkdir -p "$out"
# On a host the file's name must be that of extension-release: /var/lib/extensions/nicety.raw.
image=$out/nicety-$architecture.raw
rm -f "$image"
mksquashfs "$work/root" "$image" -all-root -noappend -quiet -no-progress -comp xz >&2
echo "$image"
