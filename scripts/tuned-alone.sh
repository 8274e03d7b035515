#!/bin/bash
# Runs tuned with one profile, nicety, without touching this host: bus, folders and process ids are its
# own, /etc and /sys cannot be written, and everything ends with this script.
# Usage: tuned-alone.sh look|set PROFILE.conf [COMMAND...]
# look: no setting can be changed; set: those below /proc/sys can. COMMAND runs beside it; without one
# the address of its bus is printed, and it stays until standard input ends.
# Exit 3: something is missing, said in one line.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin

missing() {
    echo "tuned-alone: $*" >&2
    exit 3
}

if [ "${1:-}" != inside ]; then
    [ $# -ge 2 ] || missing "usage: tuned-alone.sh look|set PROFILE.conf [COMMAND...]"
    [ "$(id -u)" -eq 0 ] || missing "this needs root"
    for program in tuned tuned-adm dbus-daemon; do
        command -v $program >/dev/null 2>&1 || missing "the program $program is not installed"
    done
    unshare --mount --pid --fork --mount-proc true 2>/dev/null ||
        missing "unshare cannot make namespaces of mounts and processes here"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    status=0
    unshare --mount --pid --fork --kill-child --mount-proc "$0" inside "$work" "$@" || status=$?
    exit $status
fi

work=$2 mode=$3 profile=$4
shift 4
cp "$profile" "$work/profile"
unwritable() {
    mount --bind "$1" "$1"
    mount -o remount,bind,ro "$1"
}
unwritable /etc
unwritable /sys
[ "$mode" = set ] || unwritable /proc/sys
profiles=/etc/tuned
[ ! -d $profiles/profiles ] || profiles=$profiles/profiles
mount -t tmpfs tuned /run
mount -t tmpfs tuned /etc/tuned
mkdir -p /run/tuned $profiles/nicety
cp "$work/profile" $profiles/nicety/tuned.conf
# Nothing but the profile: no values that change by themselves, no files of sysctl.d after it.
printf '%s\n' 'daemon = 1' 'dynamic_tuning = 0' 'reapply_sysctl = 0' 'recommend_command = 0' \
    >/etc/tuned/tuned-main.conf
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus
cat >"$work/bus.conf" <<BUS
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>$DBUS_SYSTEM_BUS_ADDRESS</listen>
  <policy context="default">
    <allow user="root"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
  </policy>
</busconfig>
BUS
dbus-daemon --config-file="$work/bus.conf" --nofork --nopidfile >"$work/bus.said" 2>&1 &
tries=0
until [ -S "$work/bus" ]; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || missing "the bus does not start: $(tail -n 1 "$work/bus.said")"
    sleep 0.1
done
tuned --log="$work/log" --pid="$work/pid" --profile nicety >"$work/said" 2>&1 &
tries=0
until [[ $(tuned-adm active 2>/dev/null) == *"Current active profile: nicety"* ]]; do
    tries=$((tries + 1))
    if [ $tries -ge 600 ]; then
        echo "tuned-alone: tuned does not take the profile: $(grep "ERROR *tuned\.daemon" "$work/log" | head -n 1)" >&2
        exit 1
    fi
    sleep 0.1
done
if [ $# -gt 0 ]; then
    status=0
    "$@" || status=$?
    exit $status
fi
echo "$DBUS_SYSTEM_BUS_ADDRESS"
cat >/dev/null
