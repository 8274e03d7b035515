# Runs in the lab: the kernel's generator, between the two ports of the NIC, which a cable joins. Every line printed is
# asserted.
. ./common.sh
modprobe pktgen
quiet
links eth0 eth1
both() { echo $(($(cat /sys/class/net/eth0/statistics/$1_packets) + $(cat /sys/class/net/eth1/statistics/$1_packets))); }
runs() { grep -qh '^Running: eth0' /proc/net/pktgen/kpktgend_*; }
rests() { ! runs; }
# What pktgen has been given, and ledgers.
left() {
    given=$(grep -h '^Running\|^Stopped' /proc/net/pktgen/kpktgend_* | cut -d: -f2 | tr -d ' \n')
    echo "$1: given <$given>, ledgers $(ls /run/nicety 2>/dev/null | grep -c '^pktgen-[0-9]*$')"
}
start() {
    nicety bench plan.toml --engine pktgen --out "out/$1" >"$out/log" 2>&1 &
    bench=$!
    wait_for "pktgen that sends" runs
}

tx=$(both tx) rx=$(both rx)
nicety bench plan.toml --engine pktgen --for 15s --out out/pktgen >"$out/log" 2>&1 ||
    [ $? -eq 1 ] || { cat "$out/log"; exit 1; }
echo "pktgen $(($(both tx) - tx)) $(($(both rx) - rx))"
left measured

start killed
kill -9 $bench
wait $bench || true
wait_for "pktgen that rests" rests
left killed

start interrupted
kill -INT $bench
code=0
wait $bench || code=$?
echo "code $code"
left interrupted

echo add_device eth1 >/proc/net/pktgen/kpktgend_0
nicety bench plan.toml --engine pktgen --out out/others 2>&1 |
    grep -o 'somebody else has given it eth1' | head -n 1
left "somebody else's"
echo rem_device_all >/proc/net/pktgen/kpktgend_0
