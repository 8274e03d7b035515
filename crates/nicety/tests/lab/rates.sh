# Runs in the lab: rates of an 82576's functions through nicety. Every line printed is asserted.
set -eu
PATH=$PATH:/usr/sbin:/sbin
out=$1
state=/tmp/rates

# Functions probed before the physical one has been reset get no link: probing waits.
device=/sys/class/net/eth0/device
ip link set eth0 up
echo 0 >$device/sriov_drivers_autoprobe
echo 4 >$device/sriov_numvfs
for vf in 0 1 2 3; do ip link set eth0 vf $vf mac 02:00:00:00:00:0$vf; done
ip link set eth0 vf 3 vlan 7
ip link set eth0 down
ip link set eth0 up
echo 1 >$device/sriov_drivers_autoprobe
modprobe igbvf
tries=0
until [ "$(cat /sys/class/net/eth0/speed)" = 1000 ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "no link of eth0"; exit 1; }
    sleep 0.1
done

limit() { nicety vf limit "$@" --state $state 2>&1 || echo "code $?"; }
kernel() { ip link show eth0 | sed -n "s/.* vf $1 .*max_tx_rate \([0-9]*\).*/kernel: vf $1 \1/p"; }

limit eth0 0 --max 500mbit --verify 0s
limit eth0 2 --max 200mbit --verify 0s
kernel 0
kernel 2
limit eth0 0 --max 1001mbit
limit eth0 0 --max 100mbit --min 10mbit
limit eth0 9 --max 100mbit
nicety vf list eth0 >"$out/list"
nicety vf list eth0 --json >"$out/list.json"
nicety tune rollback --state $state
kernel 2
limit eth0 0 --max none
[ -z "$(kernel 0)" ] && echo "kernel: vf 0 none"

# A function sends more than its limit: the chip of this lab does not shape. Its interface is
# here, so that what it sends is counted.
vf1=$(ls $device/virtfn1/net)
ip address add 192.0.2.1/24 dev $vf1
ip link set $vf1 up
tries=0
until ip -br link show dev $vf1 | grep -q LOWER_UP; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "no link of $vf1"; exit 1; }
    sleep 0.1
done
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
ip link del p0
ip netns del a
echo 0 >$device/sriov_numvfs
modprobe -r igbvf
