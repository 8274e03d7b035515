# Runs in the lab: settings of an 82576 under a transaction. Every line printed is asserted.
. ./common.sh
state=$own/state

link_up() {
    wait_for "link of $1" '[ "$(cat /sys/class/net/'"$1"'/speed)" = 1000 ]'
}
links eth0 eth1
modprobe br_netfilter

# A plan as nicety tune plan --json writes it; its changes are the lines on standard input.
plan() {
    printf '{"schema":1,"goal":"throughput","boot_id":"%s","waiting":[],"findings":[{"id":"T00",
        "rule":"test","subject":"x","is":"","should":"","why":"","source":"","cost":"","risk":"low",
        "certainty":"certain","effect":"now","advice":[],"changes":[' \
        "$(cat /proc/sys/kernel/random/boot_id)"
    paste -sd,
    echo ']}]}'
}
change() { echo "{\"knob\":{\"kind\":$1},\"from\":\"$2\",\"to\":\"$3\"}"; }
irq() { sed -n "s/^ *\([0-9]*\):.* $1\$/\1/p" /proc/interrupts; }

# What other programs see.
show() {
    ethtool -g eth0 | tail -n +7 | sed -n 's/^\([RT]X\):[[:blank:]]*/ring \1 /p' | paste -sd' '
    ethtool -c eth0 | sed -n 's/^\([rt]x-usecs\):[[:blank:]]*/\1 /p' | paste -sd' '
    ethtool -k eth0 | grep -E '^(generic-receive-offload|	tx-tcp-segmentation):' | tr -d '\t' | paste -sd' '
    ip -o link show eth0 | grep -o 'mtu [0-9]*'
    echo "rps $(cat /sys/class/net/eth0/queues/rx-0/rps_cpus) xps $(cat /sys/class/net/eth0/queues/tx-1/xps_cpus)"
    echo "netfilter $(sysctl -n net.bridge.bridge-nf-call-iptables)"
    for name in eth0-rx-0 eth0-rx-1; do echo "$name $(cat /proc/irq/$(irq $name)/smp_affinity_list)"; done
}
{
    change '"ring","interface":"eth0","side":"rx"' 256 512
    change '"ring","interface":"eth0","side":"tx"' 256 1024
    change '"coalesce","interface":"eth0","parameter":"rx-usecs"' 3 10
    change '"coalesce","interface":"eth0","parameter":"tx-usecs"' 3 10
    change '"feature","interface":"eth0","feature":"rx-gro"' on off
    change '"feature","interface":"eth0","feature":"tx-tcp-segmentation"' on off
    change '"mtu","interface":"eth0"' 1500 9000
    change '"sys-file","path":"class/net/eth0/queues/rx-0/rps_cpus"' 0 3
    change '"sys-file","path":"class/net/eth0/queues/tx-1/xps_cpus"' 0 2
    change '"sysctl","name":"net.bridge.bridge-nf-call-iptables"' 1 0
} | plan >$out/plan.json
change "\"irq-affinity\",\"irq\":$(irq eth0-rx-0)" 0-1 1 | plan >$out/irq.json
show >$out/before
cat $out/before

echo "apply"
nicety tune apply $out/plan.json --state $state --for 300s >$out/said
link_up eth0
nicety tune apply --confirm --state $state
nicety tune status --state $state --format csv >$out/status && grep -c ',holds,' $out/status
show

echo "interrupts"
nicety tune apply $out/irq.json --state $state >>$out/said
nicety tune apply --confirm --state $state
show | tail -2
# Kept by name, found again under whatever number it has.
mkdir -p $out/root/proc
nicety tune persist --dry-run --transaction 2 --state $state | grep -A3 '"what": "interrupt"' | tr -d ' '
nicety tune undo --state $state
nicety tune undo --state $state
link_up eth0
show | diff $out/before - && echo "as before"

# The driver takes no such ring, and says so after the MTU was changed: all is as it was.
{
    change '"mtu","interface":"eth0"' 1500 9000
    change '"coalesce","interface":"eth0","parameter":"rx-usecs"' 3 100000
} | plan >$out/bad.json
nicety tune apply $out/bad.json --state $state 2>&1 | sed 's/ (namespace [^)]*)//' || true
link_up eth0
show | diff $out/before - && echo "as before"

# Fewer channels: the driver makes queues and interrupts anew.
{
    change '"channels","interface":"eth0","side":"combined"' 2 1
} | plan >$out/channels.json
nicety tune apply $out/channels.json --state $state >>$out/said
nicety tune apply --confirm --state $state
ethtool -l eth0 | sed -n 's/^Combined:[[:blank:]]*/channels /p' | tail -1
nicety tune undo --state $state
ethtool -l eth0 | sed -n 's/^Combined:[[:blank:]]*/channels /p' | tail -1
link_up eth0

# Nobody confirms a change of the ring.
change '"ring","interface":"eth0","side":"rx"' 256 512 | plan >$out/ring.json
nicety tune apply $out/ring.json --state $state --for 1s >>$out/said
wait_for "the way back" "nicety tune status -v --state $state | grep -q '^5 rolled-back (not confirmed in time)'"
link_up eth0
show | head -1

[ -x /usr/sbin/irqbalance ] || exit 0
# Beside irqbalance, told to leave the interrupt alone as the rules advise.
echo "irqbalance"
line=$(irq eth0-rx-0)
change "\"irq-affinity\",\"irq\":$line" "$(cat /proc/irq/$line/smp_affinity_list)" 1 | plan >$out/irq.json
stdbuf -oL irqbalance --debug --interval=1 --banirq=$line >$out/irqbalance 2>&1 &
balancer=$!
wait_for "irqbalance" "nicety inspect --json | grep -q '\"irqbalance\": true'"
nicety tune apply $out/irq.json --state $state >>$out/said
nicety tune apply --confirm --state $state
rounds() { grep -c '^Package ' $out/irqbalance || true; }
had=$(rounds)
wait_for "several of its rounds" '[ "$(rounds)" -ge $((had + 3)) ]'
kill -0 $balancer && echo "it runs"
nicety tune status --state $state --format csv | sed -n "s/^settings,IRQ $line CPUs,.*,\([^,]*\),holds,.*/IRQ N CPUs: \1 holds/p"
kill $balancer
wait $balancer 2>/dev/null || true
nicety tune undo --state $state
