#!/bin/bash
# Runs a command as an ordinary user (nobody) who can read the repository, also where a folder
# above it is closed to others, as /root is: then in a mount namespace that shows that folder
# with nothing but the repository in it. Needs root.
# Usage: as-user.sh REPOSITORY COMMAND…
set -euo pipefail

user_id=65534
repository=$1
shift
drop=(setpriv --reuid="$user_id" --regid="$user_id" --clear-groups env HOME=/nonexistent)

if "${drop[@]}" test -r "$repository/Cargo.toml"; then
    exec "${drop[@]}" "$@"
fi
if [ "${NICETY_REPOSITORY_SHOWN:-}" = 1 ]; then
    echo "as-user.sh: $repository itself is closed to others; chmod -R o+rX it or clone it anew" >&2
    exit 126
fi
if [ "${NICETY_REPOSITORY_SHOWN:-}" != inside ]; then
    NICETY_REPOSITORY_SHOWN=inside exec unshare --mount --propagation private \
        "$0" "$repository" "$@"
fi
top=/$(cut -d / -f 2 <<<"$repository")
hold=/mnt
[ "$top" != /mnt ] || hold=/srv
here=$PWD
mount --bind "$repository" "$hold"
mount -t tmpfs -o mode=1777 tmpfs "$top"
mkdir -p "$repository"
mount --bind "$hold" "$repository"
umount "$hold"
cd "$here"
# Not exec: this shell keeps the mount namespace, for a command that moves to one of its own
# and then asks for its path.
status=0
NICETY_REPOSITORY_SHOWN=1 "$0" "$repository" "$@" || status=$?
exit "$status"
