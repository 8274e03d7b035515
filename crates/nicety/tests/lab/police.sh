# Runs in the lab: the functions of an 82576 share its link. Every line printed is asserted.
. ./common.sh
state=$own/police

make_functions 4

daemon() {
    nicety police run $own/policy.toml --state $state 2>"$out/log" &
    pid=$!
    wait_for "the first limits" '[ "$(kernel 0) $(kernel 2)" = "500 200" ]'
    echo "vf 0 $(kernel 0), vf 2 $(kernel 2)"
}

cat >$own/policy.toml <<POLICY
[link]
capacity = "1gbit"
period = "500ms"
[[tenant]]
name = "a"
ports = "eth0/vf0"
cap = "500mbit"
guest = "vsock:1"
[[tenant]]
name = "b"
ports = "eth0/vf2"
cap = "200mbit"
[[tenant]]
name = "c"
ports = "eth0/vf1"
cap = "2mbit"
POLICY
modprobe vsock_loopback
wrong() { (cd "$own" && nicety police run wrong.toml --state $state 2>&1) || echo "code $?"; }
ip link set eth0 vf 0 max_tx_rate 700
sed 's/vf2/vf9/' $own/policy.toml >$own/wrong.toml
wrong
sed 's/500ms/20s/' $own/policy.toml >$own/wrong.toml
wrong

daemon
# A guest by its vsock: here the machine itself, whose number is 1.
guest() { "$@" --channel vsock:1 2>&1 || echo "code $?"; }
guest nicety guest status | sed -n 's/hard limit *//p'
guest nicety guest limit 600mbit
guest setpriv --reuid 65534 --clear-groups "$(command -v nicety)" guest status
# As a driver does when the link gets another speed.
ip link set eth0 vf 0 max_tx_rate 0
wait_for "the limit again" '[ "$(kernel 0)" = 500 ]'
echo "written again"
ip link set eth0 down
wait_for "the link to go" 'said "port eth0/vf0 waits: eth0 has no link"'
ip link set eth0 up
wait_for "the link to come back" 'said "port eth0/vf0: all right again"'
echo "after the link: vf 0 $(kernel 0), vf 2 $(kernel 2)"

# A function sends what this chip, which does not shape, does not stop, and nobody in its place. It is in a
# namespace of its own: the registers count it.
echo plain >/run/nicety/wire
ip netns add a
vf1=$(ls $device/virtfn1/net)
ip link set "$vf1" netns a
ip -n a address add 192.0.2.1/24 dev "$vf1"
ip -n a link set "$vf1" up
wait_for "the function's link" "ip -n a -br link show dev $vf1 | grep -q LOWER_UP"
ip -n a neighbour add 192.0.2.2 lladdr 02:00:00:00:00:aa dev "$vf1"
ip netns exec a bash -c "exec dd if=/dev/zero bs=1400 2>/dev/null >/dev/udp/192.0.2.2/9" &
flood=$!
wait_for "what does not hold" 'said "port eth0/vf1: limit not enforced"'
wait_for "the status to say so" 'nicety police status --state $state | grep -q "eth0/vf1.*not enforced"'
kill $flood

kill -9 $pid
wait $pid 2>/dev/null || true
echo "killed: vf 0 $(kernel 0), vf 2 $(kernel 2)"
daemon
head -n 1 "$out/log"
kill $pid
wait $pid
tail -n 1 "$out/log"
echo "stopped: vf 0 $(kernel 0), vf 2 $(kernel 2)"

# Functions made anew have no limits.
daemon
echo 0 >$device/sriov_numvfs
wait_for "the functions to go" 'said "port eth0/vf2 is gone"'
echo 3 >$device/sriov_numvfs
wait_for "the limits of new functions" '[ "$(kernel 0) $(kernel 2)" = "500 200" ]'
echo "made anew: vf 0 $(kernel 0), vf 2 $(kernel 2)"
kill $pid
wait $pid
echo "stopped: vf 0 $(kernel 0), vf 2 $(kernel 2)"

# As it was found.
echo shaped >/run/nicety/wire
ip netns del a
drop_functions
