#!/bin/bash
# Builds a Debian package with dpkg-deb: program, manual pages, completions, unit, plans, alerts, guide.
# Usage: deb.sh [--binary FILE] [--out DIR] [--architecture NAME --emulator PROGRAM]
# Without --binary the program is built first, for release. The last two are for a program of another machine: Debian's
# name of it, and what starts its programs here. Prints the package's path.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
binary='' out=$target/debian architecture='' emulator=()
while [ $# -gt 0 ]; do
    case $1 in
    --binary) binary=$2 ;;
    --out) out=$2 ;;
    --architecture) architecture=$2 ;;
    --emulator) emulator=(--emulator "$2") ;;
    *)
        echo "deb: unknown argument $1; usage: deb.sh [--binary FILE] [--out DIR] [--architecture NAME --emulator PROGRAM]" >&2
        exit 2
        ;;
    esac
    shift 2
done
for tool in dpkg-deb readelf strip gzip; do
    command -v $tool >/dev/null || {
        echo "deb: $tool is missing; on Debian: apt-get install dpkg binutils gzip" >&2
        exit 3
    }
done
if [ -z "$binary" ]; then
    # shellcheck source=scripts/toolchain.sh
    . scripts/toolchain.sh
    cargo build --release --locked -p nicety >&2
    binary=$target/release/nicety
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
[ -n "$architecture" ] || architecture=$(dpkg --print-architecture)
scripts/stage.sh --binary "$binary" --root "$root" "${emulator[@]}"

# The newest symbol version that the program asks of the C library; none when it is static.
libc=$(readelf --version-info "$binary" | { grep -o 'GLIBC_[0-9.]*' || true; } | sort -uV | tail -n1 | cut -d_ -f2)

mkdir -p "$root/DEBIAN"
install -m 755 packaging/deb/prerm "$root/DEBIAN/prerm"
# libvirt calls it where it is; whoever wants none empties it, and an upgrade leaves it so.
hook=/etc/libvirt/hooks/qemu.d/nicety
install -D -m 755 packaging/libvirt/qemu.d/nicety "$root$hook"
echo $hook >"$root/DEBIAN/conffiles"
find "$root/etc" -type d -exec chmod 755 {} +
size=$(du -sk --exclude=DEBIAN "$root" | cut -f1)
{
    echo "Package: nicety"
    echo "Version: $version"
    echo "Architecture: $architecture"
    echo "Maintainer: The nicety developers <nicety@localhost>"
    echo "Installed-Size: $size"
    [ -z "$libc" ] || echo "Depends: libc6 (>= $libc), libgcc-s1"
    echo "Suggests: libvirt-clients, openvswitch-switch, dpdk-dev, qemu-system-x86, prometheus, prometheus-alertmanager"
    echo "Section: net"
    echo "Priority: optional"
    echo "Description: measures, tunes and polices the network path of virtual machines"
    echo " Finds the highest rate that a bridge, a switch or a guest carries with almost no"
    echo " loss, says what limits it and what each number is worth; finds what slows a"
    echo " host's network; shares a link fairly among tenants."
} >"$root/DEBIAN/control"
(cd "$root" && find etc usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
chmod 755 "$root/DEBIAN"

mkdir -p "$out"
package=$out/nicety_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
