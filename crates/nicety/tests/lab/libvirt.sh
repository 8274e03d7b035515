# Runs in the lab, whose kernel has all that libvirt limits with: a machine of libvirtd's, whose limits `virsh domiftune`
# sets, changes and takes away while a daemon adopts them. Every line printed is asserted.
. ./common.sh
state=$own/state
# Everything that libvirtd keeps is in memory.
[ -n "${NICETY_INSIDE:-}" ] || NICETY_INSIDE=1 exec unshare -m bash "$0"
mount --make-rprivate /
# Where the lab has the program is hidden below.
mkdir $own/bin
touch $own/bin/nicety
mount --bind "$(readlink -f "$(command -v nicety)")" $own/bin/nicety
PATH=$own/bin:$PATH
cp -a /etc $own/etc
mount --bind $own/etc /etc
for place in /run /var/lib /var/cache /var/log; do mount -t tmpfs none $place; done
mkdir -p /run/libvirt /etc/libvirt
grep -q ^libvirt-qemu: /etc/passwd || echo libvirt-qemu:x:64055:64055::/:/bin/false >>/etc/passwd
grep -q ^libvirt-qemu: /etc/group || echo libvirt-qemu:x:64055: >>/etc/group
cat >/etc/libvirt/qemu.conf <<END
security_driver = "none"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
END
printf 'auth_unix_ro = "none"\nauth_unix_rw = "none"\n' >/etc/libvirt/libvirtd.conf
modprobe -a tun sch_htb sch_sfq sch_tbf sch_ingress cls_u32 cls_fw act_police act_mirred ifb
quiet
/usr/sbin/libvirtd --config /etc/libvirt/libvirtd.conf --pid-file /run/libvirtd.pid >"$out/libvirtd" 2>&1 &
libvirtd=$!
wait_for "libvirtd" "virsh -r list"
cat >$own/web01.xml <<END
<domain type='qemu'><name>web01</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc-q35-6.0'>hvm</type></os>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator><controller type='usb' model='none'/>
<interface type='ethernet'><mac address='52:54:00:00:00:01'/><model type='virtio'/></interface>
<memballoon model='none'/></devices></domain>
END
virsh --quiet define $own/web01.xml
virsh --quiet start --paused web01

cat >$own/libvirt.toml <<POLICY
[link]
capacity = "1gbit"
period = "4s"
adopt = "cap"
[[tenant]]
name = "a"
ports = "libvirt:web01/net0"
rx_max = "50mbit"
POLICY
daemon() {
    nicety police run $own/libvirt.toml --state $state 2>"$out/log" &
    police=$!
    wait_for "a limit of nicety's" 'tc qdisc show dev vnet0 | grep -q "tbf 6e63: "'
}
below() { tc qdisc show dev vnet0 | grep -o "$1" || { tc qdisc show dev vnet0; exit 1; }; }
periods() { nicety police status --json --state $state | grep -o '"periods": [0-9]*' | grep -o '[0-9]*' | head -n 1; }
# tune WORDS LINE: until the daemon has said so.
tune() {
    before=$(periods)
    # shellcheck disable=SC2086
    virsh --quiet domiftune web01 vnet0 --live $1
    wait_for "$2" "said '$2'"
    echo "domiftune $1: followed within $(($(periods) - before)) periods of 4 s" >>"$out/followed"
    echo "tuned: $(grep "$2" "$out/log" | tail -n 1)"
}

daemon
tune "--inbound 500,500,500" "(vnet0), receiving: libvirt limits it to 4mbit"
tune "--outbound 1000,1000,1000" "(vnet0): libvirt limits it to 8mbit"
tune "--inbound 250,250,250" "(vnet0), receiving: libvirt limits it to 2mbit"
wait_for "a bucket below libvirt's" 'tc qdisc show dev vnet0 | grep -q "tbf 6e63: parent 1:1"'
echo "both: $(below 'tbf 6e63: parent 1:1')"

kill -9 $police
wait $police 2>/dev/null || true
echo "killed: $(below 'tbf 6e63: parent 1:1')"
nicety police restore --state $state 2>/dev/null
echo "restored: $(below 'sfq 2: parent 1:1')"
daemon
wait_for "a bucket below libvirt's" 'tc qdisc show dev vnet0 | grep -q "tbf 6e63: parent 1:1"'
echo "again: $(below 'tbf 6e63: parent 1:1')"
virsh --quiet domiftune web01 vnet0 --live --inbound 0
wait_for "no limit of libvirt's" 'tc qdisc show dev vnet0 | grep -q "tbf 6e63: root"'
echo "gone: $(below 'tbf 6e63: root')"
kill $police
wait $police
tail -n 1 "$out/log"
tc qdisc show dev vnet0 | grep 6e63 || echo "stopped"

# In the place of theirs, which comes back as it was.
shown() { tc qdisc show dev vnet0 | sed 's/direct_packets_stat [0-9]*//'; tc class show dev vnet0; tc filter show dev vnet0; }
virsh --quiet domiftune web01 vnet0 --live --inbound 500,1000,500
shown >"$out/shown"
sed -i 's/"cap"/"replace"/' $own/libvirt.toml
daemon
tc qdisc show dev vnet0 | grep -c htb || true
kill -9 $police
wait $police 2>/dev/null || true
nicety police restore --state $state 2>/dev/null
shown | diff "$out/shown" - && echo "theirs is as it was"

virsh --quiet destroy web01
kill $libvirtd
wait $libvirtd || true
