#!/bin/bash
# Puts everything a package holds into a directory, as it stands on a host: program, manual pages, completions, unit,
# plans, alerts, dashboards, documentation. deb.sh and release.sh pack the result.
# Usage: stage.sh --binary FILE --root DIR [--emulator PROGRAM]
# The emulator starts a program of another machine, qemu-aarch64-static for one.
set -euo pipefail
cd "$(dirname "$0")/.."

binary='' root='' emulator=()
while [ $# -gt 0 ]; do
    case $1 in
    --binary) binary=$2 ;;
    --root) root=$2 ;;
    --emulator) emulator=("$2") ;;
    *)
        echo "stage: unknown argument $1; usage: stage.sh --binary FILE --root DIR [--emulator PROGRAM]" >&2
        exit 2
        ;;
    esac
    shift 2
done
[ -n "$binary" ] && [ -n "$root" ] || {
    echo "stage: --binary FILE and --root DIR are needed" >&2
    exit 2
}

install -D -m 755 "$binary" "$root/usr/bin/nicety"
# Symbols of functions stay, for the traces that a report of a crash needs. What was built for another machine has been
# stripped when it was built.
[ ${#emulator[@]} -gt 0 ] || strip --strip-debug "$root/usr/bin/nicety"

nicety=("${emulator[@]}" "$root/usr/bin/nicety")
mkdir -p "$root/usr/share/man/man1"
"${nicety[@]}" man "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
completion() {
    mkdir -p "$root/$2"
    "${nicety[@]}" completions "$1" >"$root/$2/$3"
}
completion bash usr/share/bash-completion/completions nicety
completion zsh usr/share/zsh/vendor-completions _nicety
completion fish usr/share/fish/vendor_completions.d nicety.fish

install -D -m 644 packaging/nicety-police.service "$root/usr/lib/systemd/system/nicety-police.service"
# Named in the configuration of Prometheus and Grafana, so not below doc, which small installations leave out.
install -D -m 644 -t "$root/usr/share/nicety/alerts" packaging/alerts/{nicety.rules,alertmanager}.yml
install -D -m 644 -t "$root/usr/share/nicety/dashboards" packaging/dashboards/*.json
# A hook of libvirt, for /etc/libvirt/hooks/qemu.d.
install -D -m 755 packaging/libvirt/qemu.d/nicety "$root/usr/share/nicety/libvirt/qemu.d/nicety"
doc=$root/usr/share/doc/nicety
# Where Ansible looks by itself.
collection=$root/usr/share/ansible/collections/ansible_collections/nicety/network
(cd packaging/ansible && find . -type f -name '*.py' -o -type f -name '*.yml' -o -type f -name '*.md') |
    while read -r file; do install -D -m 644 "packaging/ansible/$file" "$collection/$file"; done
install -D -m 644 -t "$doc/plans" plans/*.toml
install -D -m 644 -t "$doc/policies" policies/*.toml
install -D -m 644 -t "$doc/examples" packaging/examples/*
install -D -m 644 -t "$doc/ci" packaging/ci/*.yml
install -D -m 644 -t "$doc/kubernetes" packaging/kubernetes/*.yaml
install -D -m 644 -t "$doc" docs/*.md
for part in quickstart guide methodology reference; do
    install -D -m 644 -t "$doc/$part" docs/$part/*.md
done
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
find "$root" -type d -exec chmod 755 {} +
