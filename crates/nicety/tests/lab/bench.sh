# Runs in the lab, whose kernel is another one than this machine's: the engines, a wall clock that
# somebody steps, and pktgen on a NIC. The directory with the plans is the argument; results go there.
set -eu
PATH=$PATH:/usr/sbin:/sbin
out=$1

uname -r
# Slow under emulation: a cell may well end without a result, which is a negative answer.
measure() {
    nicety bench "$out/plan.toml" --engine "$1" --time-box 30s --out "$out/$1" >/dev/null || [ $? -eq 1 ]
    echo "measured $1"
}

measure xdp
(while sleep 0.3; do date -s "@$(($(date +%s) + 100))" >/dev/null; done) &
stepper=$!
measure af_packet
kill $stepper

# The kernel's generator, between the two ports of the NIC, which a cable joins.
modprobe pktgen
sysctl -qw net.ipv6.conf.all.disable_ipv6=1
wait_for() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || { echo "waited in vain: $*"; exit 1; }
        sleep 0.05
    done
}
has_link() { [ "$(cat /sys/class/net/$1/carrier)" = 1 ]; }
for port in eth0 eth1; do ip link set $port up; done
for port in eth0 eth1; do wait_for has_link $port; done
packets() { cat "/sys/class/net/$1/statistics/$2_packets"; }
runs() { grep -qh '^Running: eth0' /proc/net/pktgen/kpktgend_*; }
rests() { ! runs; }
# What pktgen has been given, and ledgers.
left() {
    given=$(grep -h '^Running\|^Stopped' /proc/net/pktgen/kpktgend_* | cut -d: -f2 | tr -d ' \n')
    echo "$1: given <$given>, ledgers $(ls /run/nicety 2>/dev/null | grep -c '^pktgen-[0-9]*$')"
}

tx=$(packets eth0 tx) rx=$(packets eth1 rx)
nicety bench "$out/ports.toml" --engine pktgen --time-box 30s --out "$out/pktgen" >/dev/null || [ $? -eq 1 ]
echo "pktgen $(($(packets eth0 tx) - tx)) $(($(packets eth1 rx) - rx))"
left measured

nicety bench "$out/ports.toml" --engine pktgen --out "$out/killed" >/dev/null 2>&1 &
wait_for runs
kill -9 $!
wait $! || true
wait_for rests
left killed

nicety bench "$out/ports.toml" --engine pktgen --out "$out/interrupted" >/dev/null 2>&1 &
wait_for runs
kill -INT $!
code=0
wait $! || code=$?
echo "code $code"
left interrupted

echo add_device eth1 >/proc/net/pktgen/kpktgend_0
nicety bench "$out/ports.toml" --engine pktgen --out "$out/others" 2>&1 |
    grep -o 'somebody else has given it eth1' | head -n 1
left "somebody else's"
