# Runs in the lab: what a KVM host with an Intel 82576 can do. Every line printed is asserted.
set -eu
out=$1
. "${0%/*}/common.sh"

nicety --version
for module in igb vhost_net macvtap openvswitch 8021q bridge tun kvm_amd kvm_intel; do
    [ ! -d /sys/module/$module ] || echo "loaded $module"
done
modprobe -a pktgen vfio-pci sch_tbf sch_htb cls_flower act_police
[ -d /sys/module/pktgen ] && echo "loaded pktgen"
modprobe nosuchmodule 2>/dev/null || echo "no module nosuchmodule"
for file in /dev/kvm /dev/vhost-net /dev/net/tun; do
    [ -c $file ] && echo "device $file"
done
[ -n "$(ls /sys/kernel/iommu_groups)" ] && echo "iommu"
echo "physical functions $(ls -d /sys/bus/pci/drivers/igb/0000:* | wc -l)"

make_functions 7
echo "virtual functions $(ls -d $device/virtfn*/net/* | wc -l)"

# Three namespaces: two functions of one port, and the port at the other end of the cable.
join() {
    ip netns add $1
    ip link set $2 netns $1
    ip -n $1 address add $3/24 dev $2
    ip -n $1 link set $2 up
    wait_for "link of $2" "ip -n $1 -br link show dev $2 | grep LOWER_UP"
}
join a "$(ls $device/virtfn0/net)" 192.0.2.1
join b "$(ls $device/virtfn1/net)" 192.0.2.2
join c eth1 192.0.2.3
# A closed port answers: frames went both ways.
for peer in 192.0.2.2 192.0.2.3; do
    ip netns exec a bash -c "exec 3<>/dev/tcp/$peer/9" 2>&1 | sed -n "s/.*connect: /$peer /p"
done

ip link set eth0 vf 0 max_tx_rate 500
ip link show eth0 | sed -n 's/.* vf 0 .*max_tx_rate \([0-9A-Za-z]*\).*/rate \1/p'
ip link set eth0 vf 0 max_tx_rate 2000 2>/dev/null || echo "rate 2000 refused"

echo "this goes to standard error" >&2
echo kept >"$out/result"
echo lost >"$2/lost"
cat
exit 7
