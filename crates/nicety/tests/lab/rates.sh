# Runs in the lab: rates of an 82576's functions through nicety. Every line printed is asserted.
set -eu
out=$1
. "${0%/*}/common.sh"
state=/tmp/rates

make_functions 4
ip link set eth0 vf 3 vlan 7

tell() {
    rate=$(kernel "$1")
    echo "kernel: vf $1 ${rate:-none}"
}
limit() { nicety vf limit "$@" --state $state 2>&1 || echo "code $?"; }

limit eth0 0 --max 500mbit --verify 0s
limit eth0 2 --max 200mbit --verify 0s
tell 0
tell 2
limit eth0 0 --max 1001mbit
limit eth0 0 --max 100mbit --min 10mbit
limit eth0 9 --max 100mbit
nicety vf list eth0 >"$out/list"
nicety vf list eth0 --json >"$out/list.json"
nicety tune rollback --state $state
tell 2
limit eth0 0 --max none
tell 0

# A function sends more than its limit: the chip of this lab does not shape, and nobody does in its place.
# Its interface is here, so that what it sends is counted.
echo plain >/run/nicety/wire
vf1=$(ls $device/virtfn1/net)
ip address add 192.0.2.1/24 dev $vf1
ip link set $vf1 up
wait_for "link of $vf1" "ip -br link show dev $vf1 | grep -q LOWER_UP"
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:aa dev $vf1
bash -c "timeout 20 dd if=/dev/zero bs=1400 2>/dev/null >/dev/udp/192.0.2.2/9" &
limit eth0 1 --max 1mbit --verify 3s | sed 's/sends [0-9.]* [kMG]bit/sends much/'
kill $! 2>/dev/null || true

# The same of a function that is elsewhere: the NIC's registers count it.
ip netns add a
ip link set "$(ls $device/virtfn2/net)" netns a
limit eth0 2 --max 300mbit --verify 1s
nicety vf stats eth0 --json --over 100ms |
    sed -n '/"vf": 2/,/tx_local/{s/.*"source": "\(.*\)",/\1/p;s/.*"tx_local_bytes": \([0-9]*\),*/\1 local/p}' |
    paste -sd, | sed 's/,/, /'

# A veth on the kernel of a distribution, whose parts are modules.
ip link add p0 type veth peer name g0
limit p0 --max 50mbit --verify 0s
limit p0 --max none --verify 0s

# As it was found.
echo shaped >/run/nicety/wire
ip link del p0
ip netns del a
echo 0 >$device/sriov_numvfs
modprobe -r igbvf
