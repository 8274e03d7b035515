#!/bin/bash
# Takes the place of limits of five programs and gives them back, stopped and killed: in the lab, as root. Open vSwitch and
# the plugin of CNI are the programs themselves. Ends with 1 when something is not as it was.
#
#     nicety lab run -- crates/netdev/tests/traffic_control/replace.sh
set -u
nicety=${NICETY:-nicety}
dir=$(mktemp -d)
for module in sch_ingress sch_tbf cls_u32 cls_basic cls_matchall act_police act_mirred ifb openvswitch; do modprobe "$module"; done

port() { # NAME NUMBER
    ip link add "$1" index "$2" type veth peer name "p$2"
    ip link set "$1" up
    ip link set "p$2" up
}
ports="vnet1 tap100i0 tap4f vethc1 ovs1"
port vnet1 201
tc qdisc add dev vnet1 ingress
tc filter add dev vnet1 parent ffff: protocol all u32 match u32 0 0 police rate 750kbps burst 64kb mtu 64kb drop flowid :1
port tap100i0 203
tc qdisc add dev tap100i0 handle ffff: ingress
tc filter add dev tap100i0 parent ffff: prio 50 basic police rate 2500000bps burst 1048576b mtu 64kb drop flowid :1
ip link add brq1 type bridge
port tap4f 204
ip link set tap4f master brq1
tc qdisc add dev tap4f ingress
tc filter add dev tap4f parent ffff: protocol all prio 49 basic police rate 8000kbit burst 6400kbit mtu 65535 drop
port vethc1 205
ip netns add pod
ip link set p205 netns pod name eth0
CNI_COMMAND=ADD CNI_CONTAINERID=one CNI_NETNS=/run/netns/pod CNI_IFNAME=eth0 CNI_PATH=/usr/lib/cni /usr/lib/cni/bandwidth >/dev/null <<CNI
{"cniVersion":"0.3.1","name":"net","type":"bandwidth","egressRate":8000000,"egressBurst":800000,
 "prevResult":{"cniVersion":"0.3.1","ips":[],"interfaces":[
   {"name":"vethc1","mac":"$(cat /sys/class/net/vethc1/address)"},
   {"name":"eth0","mac":"02:00:00:00:00:01","sandbox":"/run/netns/pod"}]}}
CNI
export OVS_RUNDIR=$dir OVS_LOGDIR=$dir OVS_DBDIR=$dir
ovsdb-tool create "$dir/conf.db" /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server "$dir/conf.db" --remote=punix:"$dir/db.sock" --pidfile="$dir/db.pid" --detach --no-chdir --log-file="$dir/db.log" 2>/dev/null
vsctl() { ovs-vsctl --db=unix:"$dir/db.sock" "$@"; }
vsctl --no-wait init
ovs-vswitchd unix:"$dir/db.sock" --pidfile="$dir/vs.pid" --detach --no-chdir --log-file="$dir/vs.log" 2>/dev/null
trap 'kill "$(cat "$dir/vs.pid")" "$(cat "$dir/db.pid")"' EXIT
vsctl add-br br1
port ovs1 206
vsctl add-port br1 ovs1
vsctl set interface ovs1 ingress_policing_rate=8000 ingress_policing_burst=800
sleep 2

# Without what the kernel counts, and the numbers that it gives actions.
state() {
    for port in $ports; do
        echo "== $port"
        tc qdisc show dev "$port" ingress
        tc filter show dev "$port" ingress |
            sed 's/index [0-9]* //; s/ref [0-9]* bind [0-9]*//; s/police 0x[0-9a-f]* /police /; s/installed.*//'
    done
    ip -o link show type ifb | cut -d: -f2
}
same() { # WHEN
    state >"$dir/after"
    if diff "$dir/before" "$dir/after"; then echo "as before: $1"; else exit 1; fi
}
held() {
    for _ in $(seq 60); do
        sleep 0.5
        for port in $ports; do tc filter show dev "$port" ingress | grep -q 'device nicety' || continue 2; done
        return
    done
    echo "not all are held"
    exit 1
}
state >"$dir/before"
"$nicety" police import --rate 100mbit >"$dir/policy.toml"
sed -i 's/^adopt = "cap".*/adopt = "replace"\nperiod = "500ms"/' "$dir/policy.toml"
"$nicety" police run "$dir/policy.toml" --state "$dir/state" 2>"$dir/log" &
held
# They change theirs meanwhile, and back.
vsctl set interface ovs1 ingress_policing_rate=6000
sleep 4
held
grep 'ovs1: Open vSwitch limited it to 6mbit' "$dir/log" || exit 1
vsctl set interface ovs1 ingress_policing_rate=8000
sleep 4
held
kill -TERM $!
wait $! || exit 1
same "stopped"
"$nicety" police run "$dir/policy.toml" --state "$dir/state" 2>"$dir/log" &
held
kill -KILL $!
wait $! 2>/dev/null
"$nicety" police restore --state "$dir/state" || exit 1
same "killed and restored"
