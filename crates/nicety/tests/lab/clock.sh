# Runs in the lab, whose clock may be set: by ten seconds and by an hour, both ways, under a daemon, under a guard and
# under a run. Every line printed is asserted.
. ./common.sh
state=$own/state
steps="10 -10 0 3600 -3600 0"
# Hundredths of a second since the machine booted.
uptime_cs() { read -r up _ </proc/uptime && echo "$((10#${up/./}))"; }
booted_cs=$(($(date +%s%N) / 10000000 - $(uptime_cs)))
# Counted from the boot, so that the moments that setting takes do not add up.
set_clock() {
    local cs=$((booted_cs + $(uptime_cs) + $1 * 100))
    date -s "@$((cs / 100)).$(printf %02d $((cs % 100)))" >/dev/null
}
later "set_clock 0"
quiet
ip link add v0 type veth peer name v1
later "ip link del v0"
for port in v0 v1; do ip link set $port up; done
shown() {
    ip -o link show dev v0 | grep -o 'mtu [0-9]*'
    ethtool -k v0 | grep tx-tcp-segmentation:
    tc qdisc show dev v0
    tc qdisc show dev v1
    sysctl net.ipv4.tcp_rmem
}
shown >"$own/shown"
as_before() { shown | diff "$own/shown" -; }

cat >"$own/policy.toml" <<POLICY
[link]
capacity = "40mbit"
period = "500ms"
[[tenant]]
name = "a"
ports = "v0"
[[tenant]]
name = "b"
ports = "v1"
POLICY
status() { nicety police status --json --state "$state" | sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" | head -n 1; }
nicety police run "$own/policy.toml" --state "$state" 2>"$out/police" &
police=$!
wait_for "periods" '[ "$(status periods)" -ge 1 ]'
for step in $steps; do
    set_clock "$step"
    begun=$(status periods)
    wait_for "two more periods" '[ "$(status periods)" -ge $((begun + 2)) ]'
done
# On a machine that is busy elsewhere the kernel may take its time: that is told, and no error of the clock's.
silent=$(grep -c "the kernel has not answered" "$out/police" || true)
echo "limits: $(tc qdisc show | grep -c 'tbf 6e63'), other errors: $(($(status errors) - silent))"
kill $police
wait $police
echo "police: code $?"
as_before

plan() {
    printf '{"schema":1,"goal":"throughput","boot_id":"%s","waiting":[],"findings":[{"id":"T00",
        "rule":"test","subject":"x","is":"","should":"","why":"","source":"","cost":"","risk":"low",
        "certainty":"certain","effect":"now","advice":[],"changes":[%s,%s,%s]}]}' \
        "$(cat /proc/sys/kernel/random/boot_id)" "$@"
}
change() { echo "{\"knob\":{\"kind\":$1},\"from\":\"$2\",\"to\":\"$3\"}"; }
memory=$(tr '\t' ' ' </proc/sys/net/ipv4/tcp_rmem)
plan "$(change '"mtu","interface":"v0"' 1500 9000)" \
    "$(change '"feature","interface":"v0","feature":"tx-tcp-segmentation"' on off)" \
    "$(change '"sysctl","name":"net.ipv4.tcp_rmem"' "$memory" "4096 131072 8388608")" >"$own/plan.json"
apply() { nicety tune apply "$own/plan.json" --state "$state" --for "$1" >/dev/null; }
# Ahead: it is not undone early, and can still be confirmed.
apply 600s
for step in $steps 3600; do
    set_clock "$step"
    sleep 0.15
done
! as_before >/dev/null
nicety tune apply --confirm --state "$state"
nicety tune undo --all --state "$state" 2>/dev/null
as_before
echo "confirmed"
# Behind: it is undone all the same.
apply 2s
set_clock -3600
wait_for "the guard" as_before
echo "undone"
set_clock 0

# No two moments of a run have the same clock.
nicety bench plan.toml --engine af_packet --for 3m --out out/clock >"$out/log" 2>&1 &
bench=$!
number=1
while kill -0 $bench 2>/dev/null; do
    for step in 10 -10 3600 -3600; do
        set_clock $((step * number))
        sleep 0.3
    done
    number=$((number + 1))
done
code=0
wait $bench || code=$?
[ $code -le 1 ] || { cat "$out/log"; exit 1; }
echo "measured"
