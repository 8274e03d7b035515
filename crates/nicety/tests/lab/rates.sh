# Runs in the lab: rates of an 82576's functions through nicety. Every line printed is asserted.
. ./common.sh
state=$own/rates

make_functions 4
ip link set eth0 vf 3 vlan 7

tell() {
    rate=$(kernel "$1")
    echo "kernel: vf $1 ${rate:-none}"
}
limit() { nicety port limit "$@" --state $state 2>&1 || echo "code $?"; }

limit eth0/vf0 500mbit --verify 0s
limit eth0/vf2 200mbit --verify 0s
tell 0
tell 2
limit eth0/vf0 1001mbit
limit eth0/vf0 100mbit --min 10mbit
limit eth0/vf9 100mbit
nicety port list eth0 -v >"$out/list"
nicety port list eth0 --json >"$out/list.json"
nicety tune undo --state $state
tell 2
limit eth0/vf0 none
tell 0

# A function sends more than its limit: the chip of this lab does not shape, and nobody does in its place.
# Its interface is here, so that what it sends is counted.
echo plain >/run/nicety/wire
vf1=$(ls $device/virtfn1/net)
ip address add 192.0.2.1/24 dev $vf1
ip link set $vf1 up
wait_for "link of $vf1" "ip -br link show dev $vf1 | grep -q LOWER_UP"
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:aa dev $vf1
bash -c "exec dd if=/dev/zero bs=1400 2>/dev/null >/dev/udp/192.0.2.2/9" &
limit eth0/vf1 1mbit --verify 3s | sed 's/sends [0-9.]* [kMG]bit/sends much/'
kill $! 2>/dev/null || true

# The same of a function that is elsewhere: the NIC's registers count it.
ip netns add a
ip link set "$(ls $device/virtfn2/net)" netns a
limit eth0/vf2 300mbit --verify 1s
nicety port list eth0 --json --window 100ms |
    sed -n '/"vf": 2/,/tx_local/{s/.*"source": "\(.*\)",/\1/p;s/.*"tx_local_bytes": \([0-9]*\),*/\1 local/p}' |
    paste -sd, | sed 's/,/, /'

# A veth on the kernel of a distribution, whose parts are modules.
ip link add p0 type veth peer name g0
limit p0 50mbit --verify 0s
limit p0 none --verify 0s

# As it was found.
echo shaped >/run/nicety/wire
ip link del p0
ip netns del a
drop_functions
