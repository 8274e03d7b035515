#!/bin/bash
# Plays the quickstarts on a bare Debian 12: a root made by debootstrap, without a network, with the package
# alone installed. Prints how long each role takes; a role that takes five minutes or more fails. As root.
# Usage: quickstart_test.sh [PACKAGE]      without one, the package is built first
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "SKIP quickstart: $*"; exit 0; }
[ "$(id -u)" -eq 0 ] || skip "it needs root to make a root directory of its own"
command -v debootstrap >/dev/null || skip "no debootstrap here; on Debian: apt-get install debootstrap"

package=${1:-}
[ -n "$package" ] || package=$(scripts/deb.sh | tail -n 1)
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
debootstrap --variant=minbase bookworm "$root" "${MIRROR:-http://deb.debian.org/debian}" >"$work/log" 2>&1 ||
    skip "debootstrap cannot fetch Debian: $(tail -n 1 "$work/log")"
cp "$package" "$root/nicety.deb"

# play ROLE: writes the page's files and runs its commands, those that the page lets a test run.
failed=0
play() {
    local role=$1 begun=$SECONDS status=0
    awk -v dir="$root/root/$role" '
        /^```toml / { file = dir "/" $2; next }
        /^```console$/ { console = 1; next }
        /^```/ { file = ""; console = 0; next }
        file { print > file }
        console && sub(/^\$ /, "") { print > (dir "/commands") }' "docs/quickstart/$role.md"
    if [ ! -s "$root/root/$role/commands" ]; then
        echo "SKIP quickstart $role: $(sed -n 's/^```console not run: //p' "docs/quickstart/$role.md" | head -n 1)"
        return
    fi
    # A machine that is not quiet may leave a cell without a result: exit code 1.
    timeout 600 unshare --net --mount --pid --fork --kill-child sh -ec '
        mount -t proc proc "$0/proc"; mount -t sysfs sysfs "$0/sys"; mount --rbind /dev "$0/dev"
        exec chroot "$0" sh -c "cd /root/$1 && while read -r command; do
            echo \"\$ \$command\"; \$command </dev/null || [ \$? -eq 1 ] || exit 1; done <commands"' "$root" "$role" \
        >"$work/$role" 2>&1 || status=$?
    local took=$((SECONDS - begun))
    if [ "$status" -ne 0 ] || [ "$took" -ge 300 ]; then
        cat "$work/$role"
        failed=1
    fi
    echo "quickstart $role: $took s, $(wc -l <"$root/root/$role/commands") commands, status $status"
}

for role in tester operator tenant sre contributor; do
    mkdir -p "$root/root/$role"
done
chroot "$root" dpkg --install /nicety.deb >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for role in tester operator tenant sre contributor; do
    play "$role"
done
exit "$failed"
