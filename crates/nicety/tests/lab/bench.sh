# Runs in the lab, whose kernel is another one than this machine's: the engines, a wall clock that
# somebody steps, pktgen on a NIC, and the NIC's time stamps. The directory with the plans, where results
# go, and the program with the tests of stamps.rs are the arguments.
set -eu
out=$1
tests=$2
. "${0%/*}/common.sh"

uname -r
# Slow under emulation: a cell may well end without a result, which is a negative answer.
measure() {
    nicety bench "$out/plan.toml" --engine "$1" --time-box 40s --out "$out/$1" >/dev/null || [ $? -eq 1 ]
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
for port in eth0 eth1; do ip link set $port up; done
for port in eth0 eth1; do wait_for "link of $port" '[ "$(cat /sys/class/net/$port/carrier)" = 1 ]'; done
packets() { cat "/sys/class/net/$1/statistics/$2_packets"; }
runs() { grep -qh '^Running: eth0' /proc/net/pktgen/kpktgend_*; }
rests() { ! runs; }
# Probes that the NIC stamps; a nicety that is killed meanwhile.
inside() { "$tests" --ignored --exact --nocapture --test-threads 1 "stamps::$1"; }
inside probes_between_two_ports >"$out/stamps.txt" 2>&1 || { cat "$out/stamps.txt"; exit 1; }
inside somebody_elses_stamps_stay >"$out/others.txt" 2>&1 || { cat "$out/others.txt"; exit 1; }
! inside killed_while_nics_stamp >/dev/null 2>&1
echo "stamps, killed: ledgers $(ls /run/nicety | grep -c '^hwtstamp-[0-9]*$')"

# What pktgen has been given, and ledgers.
left() {
    given=$(grep -h '^Running\|^Stopped' /proc/net/pktgen/kpktgend_* | cut -d: -f2 | tr -d ' \n')
    echo "$1: given <$given>, ledgers $(ls /run/nicety 2>/dev/null | grep -c '^pktgen-[0-9]*$')"
}

both() { echo $(($(packets eth0 $1) + $(packets eth1 $1))); }
tx=$(both tx) rx=$(both rx)
nicety bench "$out/ports.toml" --engine pktgen --time-box 30s --out "$out/pktgen" >"$out/log" 2>&1 ||
    [ $? -eq 1 ] || { cat "$out/log"; exit 1; }
grep -o 'eth[01]: stamps again.*' "$out/log" || { cat "$out/log"; exit 1; }
echo "stamps: ledgers $(ls /run/nicety | grep -c '^hwtstamp-')"
echo "pktgen $(($(both tx) - tx)) $(($(both rx) - rx))"
left measured

nicety bench "$out/ports.toml" --engine pktgen --out "$out/killed" >"$out/log" 2>&1 &
wait_for "pktgen that sends" runs
kill -9 $!
wait $! || true
wait_for "pktgen that rests" rests
left killed

nicety bench "$out/ports.toml" --engine pktgen --out "$out/interrupted" >"$out/log" 2>&1 &
wait_for "pktgen that sends" runs
kill -INT $!
code=0
wait $! || code=$?
echo "code $code"
left interrupted

echo add_device eth1 >/proc/net/pktgen/kpktgend_0
nicety bench "$out/ports.toml" --engine pktgen --out "$out/others" 2>&1 |
    grep -o 'somebody else has given it eth1' | head -n 1
left "somebody else's"
