#!/bin/bash
# Builds a Debian package with dpkg-deb: program, manual pages, completions, unit, plans, guide.
# Usage: deb.sh [--binary FILE] [--out DIR]
# Without --binary the program is built first, for release. Prints the package's path.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
binary=
out=$target/debian
while [ $# -gt 0 ]; do
    case $1 in
    --binary) binary=$2 ;;
    --out) out=$2 ;;
    *)
        echo "deb: unknown argument $1; usage: deb.sh [--binary FILE] [--out DIR]" >&2
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
architecture=$(dpkg --print-architecture)

install -D -m 755 "$binary" "$root/usr/bin/nicety"
# Symbols of functions stay, for the traces that a report of a crash needs.
strip --strip-debug "$root/usr/bin/nicety"

# The newest symbol version that the program asks of the C library; none when it is static.
libc=$(readelf --version-info "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n1 | cut -d_ -f2)

mkdir -p "$root/usr/share/man/man1"
"$root/usr/bin/nicety" man "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
completion() {
    mkdir -p "$root/$2"
    "$root/usr/bin/nicety" completions "$1" >"$root/$2/$3"
}
completion bash usr/share/bash-completion/completions nicety
completion zsh usr/share/zsh/vendor-completions _nicety
completion fish usr/share/fish/vendor_completions.d nicety.fish

install -D -m 644 packaging/nicety-police.service "$root/lib/systemd/system/nicety-police.service"
doc=$root/usr/share/doc/nicety
install -D -m 644 -t "$doc/plans" plans/*.toml
install -D -m 644 -t "$doc/policies" policies/*.toml
install -D -m 644 -t "$doc/examples" packaging/examples/*
install -D -m 644 -t "$doc/dashboards" packaging/dashboards/*.json
install -D -m 644 -t "$doc" docs/*.md
install -D -m 644 -t "$doc/quickstart" docs/quickstart/*.md
install -D -m 644 -t "$doc/guide" docs/guide/*.md
install -D -m 644 -t "$doc/methodology" docs/methodology/*.md
install -D -m 644 -t "$doc/reference" docs/reference/*.md
install -D -m 644 -t "$doc/schema" schema/*.json
gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
{
    echo "License: Apache-2.0 or MIT, at your choice."
    echo
    cat LICENSE-MIT
    echo
    echo "The Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0."
    echo
    echo "The live pages contain uPlot:"
    echo
    cat crates/nicety/src/web/uplot/LICENSE
} >"$doc/copyright"

mkdir -p "$root/DEBIAN"
install -m 755 packaging/deb/prerm "$root/DEBIAN/prerm"
size=$(du -sk --exclude=DEBIAN "$root" | cut -f1)
{
    echo "Package: nicety"
    echo "Version: $version"
    echo "Architecture: $architecture"
    echo "Maintainer: The nicety developers <nicety@localhost>"
    echo "Installed-Size: $size"
    [ -z "$libc" ] || echo "Depends: libc6 (>= $libc), libgcc-s1"
    echo "Suggests: openvswitch-switch, dpdk-dev, qemu-system-x86"
    echo "Section: net"
    echo "Priority: optional"
    echo "Description: measures, tunes and polices the network path of virtual machines"
    echo " Finds the highest rate that a bridge, a switch or a guest carries with almost no"
    echo " loss, says what limits it and what each number is worth; finds what slows a"
    echo " host's network; shares a link fairly among tenants."
} >"$root/DEBIAN/control"
(cd "$root" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -type d -exec chmod 755 {} +

mkdir -p "$out"
package=$out/nicety_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
