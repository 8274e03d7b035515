#!/bin/bash
# Plays the quickstarts on a bare Debian 12: a root made by debootstrap, in namespaces of its own, with the
# package alone installed. Prints how long each role takes; a role that takes five minutes or more fails. As root.
# Usage: quickstart_test.sh [--root DIR] [--role NAME]... [PACKAGE]
#   PACKAGE      the Debian package; without one it is built first
#   --root DIR   a bare root made before, which is copied instead of asking debootstrap
#   --role NAME  this role alone: tester, operator, tenant, sre, contributor
# The contributor builds from source, so that role gets a network, Debian's compiler and this machine's Rust.
set -euo pipefail
cd "$(dirname "$0")/.."

# Longest time for a role, in seconds.
limit=300
all=(tester operator tenant sre contributor)

skip() { echo "SKIP quickstart: $*"; exit 0; }
usage() { sed -n 's/^# \(Usage: \)/\1/p' "$0" >&2; exit 2; }

bare='' package='' roles=()
while [ $# -gt 0 ]; do
    case $1 in
    --root) bare=${2:-}; [ -d "$bare" ] || usage; shift ;;
    --role) [[ " ${all[*]} " == *" ${2:-} "* ]] || usage; roles+=("$2"); shift ;;
    -*) usage ;;
    *) package=$1 ;;
    esac
    shift
done
[ ${#roles[@]} -gt 0 ] || roles=("${all[@]}")
[ "$(id -u)" -eq 0 ] || skip "it needs root to make a root directory of its own"
for tool in "debootstrap debootstrap" "ip iproute2" "unshare util-linux" "chroot coreutils"; do
    read -r program of <<<"$tool"
    [ -n "$bare" ] && [ "$program" = debootstrap ] && continue
    command -v "$program" >/dev/null || skip "no $program here; on Debian: apt-get install $of"
done

work=$(mktemp -d /tmp/nicety-quickstart.XXXXXX)
root=$work/root
inside=''
# Everything runs below one process that is the first of a PID namespace: when it ends, so do all others, and
# with the last of them the mounts, which nobody else sees.
stop() {
    [ -n "$inside" ] || return 0
    kill -KILL "$inside" 2>/dev/null || true
    wait "$inside" 2>/dev/null || true
    inside=''
}
cleanup() {
    stop
    # What was killed may still be writing.
    local attempt
    for attempt in 1 2 3 4 5; do
        rm -rf --one-file-system "$work" 2>/dev/null && return
        sleep 1
    done
    echo "quickstart: cannot remove $work" >&2
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# within LOG OPTIONS… -- COMMAND…: runs it in namespaces of its own; Ctrl-C and the time limit end all of it.
within() {
    local log=$1 begun=$SECONDS status=0 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    unshare --mount --pid --fork --kill-child "${options[@]}" "$@" >"$log" 2>&1 </dev/null &
    inside=$!
    while kill -0 "$inside" 2>/dev/null; do
        if [ $((SECONDS - begun)) -ge $((limit + 60)) ]; then
            echo "stopped after $((SECONDS - begun)) s" >>"$log"
            stop
            return 124
        fi
        sleep 0.5
    done
    wait "$inside" || status=$?
    inside=''
    return "$status"
}

# Mounts what a running system has, then becomes the command in the bare root.
enter='
set -e
mount -t proc proc "$0/proc"; mount -t sysfs sysfs "$0/sys"; mount --rbind /dev "$0/dev"
mount -t tmpfs tmpfs "$0/run"; mount -t tmpfs tmpfs "$0/tmp"
ip link set lo up 2>/dev/null || true
eval "$2"
exec chroot "$0" bash /play.sh "$1"'

# Runs in the bare root: the commands of a page, one a line.
write_player() {
    cat >"$root/play.sh" <<'PLAYER'
export HOME=/root LANG=C.UTF-8 PATH=$PATH:/root/.cargo/bin
cd "/root/$1" || exit 1
daemon=
# ended PID: Ctrl-C, as the page says.
ended() { kill -INT "$1"; wait "$1" || { echo "exit code $? after Ctrl-C"; exit 1; }; }
# until WORDS…: at most 20 s.
until_so() { n=0; until "$@" >/tmp/said 2>&1; do n=$((n + 1)); [ $n -lt 80 ] || { cat /tmp/said; exit 1; }; sleep 0.25; done; }
# A host that polices: the tenant needs one.
if [ -e host.toml ]; then
    nicety police run host.toml --state /var/lib/host &
    daemon=$!
    until_so nicety guest status
fi
while read -r command; do
    echo "\$ $command"
    begun=$(date +%s)
    case $command in
    "nicety police run"*--dry-run*)
        bash -c "exec $command" >/tmp/dry 2>&1 & dry=$!
        until_so grep -q "^period 1: " /tmp/dry
        ended $dry
        cat /tmp/dry
        ;;
    "nicety police run"*)
        bash -c "exec $command" & daemon=$!
        until_so nicety police status
        ;;
    *)
        status=0
        bash -c "$command" </dev/null || status=$?
        # A result that a busy machine leaves doubtful is exit code 1.
        case $status,$command in
        0,* | 1,"nicety bench"* | 1,"nicety compare"*) ;;
        *) echo "exit code $status"; exit 1 ;;
        esac
        ;;
    esac
    echo "[$(($(date +%s) - begun)) s]"
done <commands
[ -z "$daemon" ] || ended "$daemon"
PLAYER
}

# What each role has before its first command, made in the role's own network namespace.
declare -A setup=(
    # A setting of this namespace alone that a rule puts right: the page's T04 would move the host's interrupts.
    [operator]='echo 0 >/proc/sys/net/ipv4/tcp_moderate_rcvbuf
sed -i s/T04/T18/ "$0/root/operator/commands"'
    [tenant]='ip tuntap add tap0 mode tap; ip link set tap0 up'
    [sre]='for port in tap0 tap1; do ip tuntap add "$port" mode tap; ip link set "$port" up; done'
)

# The tenant's host: the policy of the guide's page, with the channel where a container has it.
host_policy() {
    awk '/^```toml guests.toml/ { on = 1; next } /^```/ { on = 0 } on' docs/guide/police.md |
        sed 's#/run/nicety/blue.sock#/run/nicety/guest.sock#'
}

# The contributor's machine: what git has, a compiler, and Rust of this machine, which the role does not change.
contributor_root() {
    mkdir -p "$root/root/contributor" "$root/root/.cargo" "$root/root/.rustup"
    git ls-files -z | tar --null --files-from=- -c | tar -x -C "$root/root/contributor"
    setup[contributor]='for of in cargo rustup; do
    [ "$of" = cargo ] && from=${CARGO_HOME:-$HOME/.cargo} || from=${RUSTUP_HOME:-$HOME/.rustup}
    mkdir -p "$0/../over/$of/new" "$0/../over/$of/work"
    mount -t overlay overlay -o "lowerdir=$from,upperdir=$0/../over/$of/new,workdir=$0/../over/$of/work" "$0/root/.$of"
done'
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
    within "$work/log" -- chroot "$root" sh -c \
        'apt-get -q update && apt-get -q install -y --no-install-recommends gcc libc6-dev make git ca-certificates protobuf-compiler libprotobuf-dev' ||
        { echo "SKIP quickstart contributor: Debian's compiler cannot be installed: $(tail -n 1 "$work/log")"; return 1; }
}

# play ROLE: writes the page's files and runs its commands in their order.
failed=0
play() {
    local role=$1 status=0 begun options=(--net)
    local place=$root/root/$role
    mkdir -p "$place"
    if [ "$role" = contributor ]; then
        contributor_root || return 0
        options=()
    fi
    rm -f "$place/commands"
    awk -v dir="$place" '
        /^```toml / { file = dir "/" $2; next }
        /^```console/ { console = !/takes longer/; next }
        /^```/ { file = ""; console = 0; next }
        file { print > file }
        console && sub(/^\$ /, "") { sub(/ +# .*/, ""); print > (dir "/commands") }' "docs/quickstart/$role.md"
    [ -s "$place/commands" ] || { echo "quickstart $role: no commands on its page"; failed=1; return; }
    [ "$role" != tenant ] || host_policy >"$place/host.toml"
    begun=$SECONDS
    within "$work/$role" "${options[@]}" -- sh -c "$enter" "$root" "$role" "${setup[$role]:-}" || status=$?
    local took=$((SECONDS - begun)) verdict=ok
    if [ "$status" -ne 0 ] || [ "$took" -ge "$limit" ]; then
        verdict=FAILED
        failed=1
    fi
    if [ "$verdict" = FAILED ] || [ -n "${VERBOSE:-}" ]; then cat "$work/$role"; fi
    echo "quickstart $role: $verdict, $took s, $(wc -l <"$place/commands") commands, status $status"
}

if [ -z "$package" ]; then package=$(scripts/deb.sh | tail -n 1); fi
echo "quickstart: $(basename "$package")"
if [ -n "$bare" ]; then
    cp -a --reflink=auto "$bare" "$root"
else
    within "$work/log" -- debootstrap --variant=minbase bookworm "$root" "${MIRROR:-http://deb.debian.org/debian}" ||
        skip "debootstrap cannot fetch Debian: $(tail -n 1 "$work/log")"
fi
write_player
cp "$package" "$root/nicety.deb"
within "$work/log" -- chroot "$root" dpkg --install /nicety.deb || { cat "$work/log"; exit 1; }
for role in "${roles[@]}"; do
    play "$role"
done
left=$(grep -c " $work/" /proc/self/mounts || true)
[ "$left" -eq 0 ] || { echo "quickstart: left behind: $left mounts"; failed=1; }
exit "$failed"
