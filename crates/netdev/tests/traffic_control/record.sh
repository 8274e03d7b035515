#!/bin/bash
# Records the limits that other programs set: in the lab, whose kernel knows all of them, as root.
#
#     nicety lab run --out out -- crates/netdev/tests/traffic_control/record.sh out
#
# The commands are those of the programs; where a program itself is installed it is called. Each of the interfaces has a
# number of its own, so that the files stay the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath "$1")
import() { "${NICETY:-nicety}" police import "$@" || true; }

for module in sch_htb sch_hfsc sch_tbf sch_sfq sch_fq_codel sch_ingress cls_u32 cls_basic cls_matchall cls_fw act_police act_mirred ifb; do
    modprobe "$module" || echo "no $module"
done
echo "Linux $(uname -r), $(tc -V)"

port() { # NAME NUMBER
    ip link add "$1" index "$2" type veth peer name "p$2"
    ip link set "$1" up
    ip link set "p$2" up
}
recorded() { # FILE INTERFACE...
    python3 "$here/record.py" "$out/$1.nl" "${@:2}"
    echo "== $1"
    import "${@:2}"
}

# libvirt 9.0, virNetDevBandwidthSet: inbound 1000 (peak 2000, burst 512), outbound 750 (burst 64).
port vnet1 201
tc qdisc add dev vnet1 root handle 1: htb default 1
tc class add dev vnet1 parent 1: classid 1:1 htb rate 1000kbps ceil 2000kbps burst 512kb quantum 85
tc qdisc add dev vnet1 parent 1:1 handle 2: sfq perturb 10
tc filter add dev vnet1 parent 1:0 protocol all prio 1 handle 1 fw flowid 1
tc qdisc add dev vnet1 ingress
tc filter add dev vnet1 parent ffff: protocol all u32 match u32 0 0 police rate 750kbps burst 64kb mtu 64kb drop flowid :1
recorded libvirt vnet1

# The same with fq_codel, as later versions and some distributions have it.
port vnet2 202
tc qdisc add dev vnet2 root handle 1: htb default 1
tc class add dev vnet2 parent 1: classid 1:1 htb rate 1000kbps quantum 85
tc qdisc add dev vnet2 parent 1:1 handle 2: fq_codel
tc filter add dev vnet2 parent 1:0 protocol all prio 1 handle 1 fw flowid 1
recorded libvirt-fq_codel vnet2

# Proxmox VE 8, PVE::Network::setup_tc_rate_limit: rate=2.5 (MB/s), burst 1 MiB.
port tap100i0 203
tc qdisc add dev tap100i0 root handle 1: htb default 1
tc class add dev tap100i0 parent 1: classid 1:1 htb rate 2500000bps burst 1048576b
tc qdisc add dev tap100i0 handle ffff: ingress
tc filter add dev tap100i0 parent ffff: prio 50 basic police rate 2500000bps burst 1048576b mtu 64kb drop flowid :1
recorded proxmox tap100i0

# Neutron, TcCommand.set_filters_bw_limit and set_tbf_bw_limit: 8000 kbit/s, burst 6400 kbit; on a bridge.
ip link add brq1 type bridge
port tap4f 204
ip link set tap4f master brq1
tc qdisc add dev tap4f ingress
tc filter add dev tap4f parent ffff: protocol all prio 49 basic police rate 8000kbit burst 6400kbit mtu 65535 drop
tc qdisc add dev tap4f root tbf rate 1024000bps burst 102400b latency 50ms
recorded neutron tap4f

# CNI bandwidth 1.1.1, the plugin itself: egress 8 Mbit/s, ingress 16 Mbit/s.
if [ -x /usr/lib/cni/bandwidth ]; then
    port vethc1 205
    ip netns add pod
    mkdir -p /run/netns
    echo '{"cniVersion":"0.3.1","name":"net","type":"bandwidth",
      "egressRate":8000000,"egressBurst":800000,"ingressRate":16000000,"ingressBurst":1600000,
      "prevResult":{"cniVersion":"0.3.1","interfaces":[
        {"name":"vethc1","mac":"'"$(cat /sys/class/net/vethc1/address)"'"},
        {"name":"eth0","mac":"02:00:00:00:00:01","sandbox":"/run/netns/pod"}],"ips":[]}}' >/tmp/cni.json
    ip link set p205 netns pod name eth0
    CNI_COMMAND=ADD CNI_CONTAINERID=one CNI_NETNS=/run/netns/pod CNI_IFNAME=eth0 CNI_PATH=/usr/lib/cni \
        /usr/lib/cni/bandwidth </tmp/cni.json >/dev/null
    recorded cni vethc1 "$(ip -br link show type ifb | awk '/^bwp/ {print $1}')"
fi

# Open vSwitch 3.1.0 itself, on the kernel's datapath.
if command -v ovs-vswitchd >/dev/null; then
    modprobe openvswitch
    d=$(mktemp -d)
    export OVS_RUNDIR=$d OVS_LOGDIR=$d OVS_DBDIR=$d
    ovsdb-tool create "$d/conf.db" /usr/share/openvswitch/vswitch.ovsschema
    ovsdb-server "$d/conf.db" --remote=punix:"$d/db.sock" --pidfile="$d/db.pid" --detach --no-chdir --log-file="$d/db.log"
    ovs-vsctl --db=unix:"$d/db.sock" --no-wait init
    ovs-vswitchd unix:"$d/db.sock" --pidfile="$d/vs.pid" --detach --no-chdir --log-file="$d/vs.log"
    vsctl() { ovs-vsctl --db=unix:"$d/db.sock" "$@"; }
    vsctl add-br br1
    port ovs1 206
    port ovs2 207
    port ovs3 208
    vsctl add-port br1 ovs1 -- add-port br1 ovs2 -- add-port br1 ovs3
    vsctl set interface ovs1 ingress_policing_rate=8000 ingress_policing_burst=800
    vsctl set port ovs2 qos=@q -- --id=@q create qos type=linux-htb other-config:max-rate=16000000 queues:0=@q0 -- \
        --id=@q0 create queue other-config:max-rate=16000000
    vsctl set port ovs3 qos=@q -- --id=@q create qos type=linux-hfsc other-config:max-rate=16000000
    sleep 2
    recorded openvswitch-policing ovs1
    recorded openvswitch-htb ovs2
    recorded openvswitch-hfsc ovs3
    # Offloaded filters have another shape.
    vsctl set Open_vSwitch . other_config:hw-offload=true
    kill "$(cat "$d/vs.pid")"
    sleep 1
    ovs-vswitchd unix:"$d/db.sock" --pidfile="$d/vs.pid" --detach --no-chdir --log-file="$d/vs.log"
    vsctl set interface ovs1 ingress_policing_rate=9000
    sleep 2
    recorded openvswitch-offload ovs1
    kill "$(cat "$d/vs.pid")" "$(cat "$d/db.pid")"
fi
