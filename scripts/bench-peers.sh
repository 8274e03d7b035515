#!/bin/bash
# Installs programs that a benchmark compares with: as root on a machine with apt; elsewhere it
# says what to install. None of them is needed: the benchmark prints and counts what it leaves
# out, so this never fails.
# Usage: bench-peers.sh PROGRAM=PACKAGE...
set -uo pipefail
. "$(dirname "$0")/apt.sh"

say() { echo "setup: $*" >&2; }

packages=()
for peer in "$@"; do
    PATH=$PATH:/usr/sbin:/sbin command -v "${peer%%=*}" >/dev/null 2>&1 || packages+=("${peer#*=}")
done
[ ${#packages[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing ${packages[*]}"
    apt_install "${packages[@]}" ||
        say "could not install ${packages[*]}; the benchmark goes on without"
else
    say "to compare with other programs, on Debian: sudo apt-get install ${packages[*]}"
fi
exit 0
