# Runs in the lab: ports of Open vSwitch with the kernel's datapath. Every line printed is asserted.
#
#   f0 in oa ─ s0 ┐
#                ├ br0 (Open vSwitch) ─ w1 ─ w0 in ou
#   f1 in ob ─ s1 ┘
. ./common.sh
state=$own/ovs-state
OVS_RUNDIR=$own/ovs
export OVS_RUNDIR
quiet

vsctl() { ovs-vsctl --timeout=60 "$@"; }

mkdir $OVS_RUNDIR
ovsdb-tool create $OVS_RUNDIR/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server $OVS_RUNDIR/conf.db --remote=punix:$OVS_RUNDIR/db.sock --pidfile=$OVS_RUNDIR/server.pid \
    --unixctl=$OVS_RUNDIR/server.ctl --log-file=$OVS_RUNDIR/server.log --detach --no-chdir
vsctl --no-wait init
number=0
for name in oa ob ou; do
    [ $name = ou ] && far=w0 near=w1 || { far=f$number; near=s$number; }
    ip netns add $name
    ip link add $near type veth peer name $far netns $name
    ip -n $name link set $far address 02:00:00:00:00:0$number up
    ip -n $name address add 192.0.2.1$number/24 dev $far
    ip link set $near up
    number=$((number + 1))
done
vsctl --no-wait add-br br0 -- set bridge br0 datapath_type=system -- add-port br0 s0 -- add-port br0 s1 -- add-port br0 w1
/usr/lib/openvswitch-switch/ovs-vswitchd unix:$OVS_RUNDIR/db.sock --pidfile=$OVS_RUNDIR/switch.pid \
    --unixctl=$OVS_RUNDIR/switch.ctl --log-file=$OVS_RUNDIR/switch.log --detach --no-chdir 2>/dev/null
wait_for "the switch" "ovs-appctl -t $OVS_RUNDIR/switch.ctl dpif/show | grep -q w1"
for name in oa ob; do ip -n $name neighbour add 192.0.2.99 lladdr 02:00:00:00:00:02 dev "$(ip -n $name -br link | grep -o '^f[01]')"; done
ovs-appctl -t $OVS_RUNDIR/switch.ctl dpif/show | grep -o "^system@ovs-system"

flood() { ip netns exec "$1" bash -c "exec dd if=/dev/zero bs=1400 2>/dev/null >/dev/udp/192.0.2.99/9" & }
# One frame from the receiver makes its place known.
ip netns exec ou bash -c "echo >/dev/udp/192.0.2.10/9" || true
wait_for "frames through the switch" 'ip netns exec oa bash -c "echo >/dev/udp/192.0.2.99/9"; [ "$(ip netns exec ou cat /sys/class/net/w0/statistics/rx_packets)" -gt 3 ]'

limit() { nicety port limit "$@" --state $state 2>&1 || echo "code $?"; }
flood oa
one=$!
received() { cat /sys/class/net/s0/statistics/rx_packets; }
before=$(received)
wait_for "the flood" '[ $(($(received) - before)) -gt 1000 ]'
nicety port list s0 --window 0s --json | grep -o '"interface": "s0"'
limit s0 1mbit --verify 2s --json | grep -o '"enforcement": "[a-z-]*"'
nicety tune undo --state $state 2>/dev/null
tc qdisc show dev s0 ingress
# Open vSwitch limits it itself.
vsctl set interface s0 ingress_policing_rate=50000
wait_for "its policer" 'tc qdisc show dev s0 ingress | grep -q ingress'
limit s0 20mbit --verify 0s
vsctl set interface s0 ingress_policing_rate=0
wait_for "the end of its policer" '[ -z "$(tc qdisc show dev s0 ingress)" ]'

cat >$own/ovs.toml <<POLICY
[link]
capacity = "8mbit"
period = "500ms"
[[tenant]]
name = "a"
ports = "s0"
[[tenant]]
name = "b"
ports = "s1"
POLICY
flood ob
two=$!
nicety police run $own/ovs.toml --state $state 2>"$out/log" &
police=$!
wait_for "limits that hold" '[ "$(nicety police status --state $state | grep -c "s[01].*holds")" = 2 ]'
echo "both hold"
vsctl set interface s0 ingress_policing_rate=50000
wait_for "its policer in the way" "said 'port s0: somebody else.s ingress qdisc is in the way'"
vsctl set interface s0 ingress_policing_rate=0
wait_for "the limit again" 'said "port s0: all right again"'
echo "limited again"
kill $police
wait $police
tail -n 1 "$out/log"
tc qdisc show dev s0 ingress

# As it was found.
kill $one $two 2>/dev/null || true
vsctl del-br br0
ovs-appctl -t $OVS_RUNDIR/switch.ctl exit --cleanup
kill "$(cat $OVS_RUNDIR/server.pid)"
for name in oa ob ou; do ip netns del $name; done
