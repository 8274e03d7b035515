# Runs in the lab: TCP from one function all the time, UDP at full speed from another in the middle.
# What stands in for the chip's limiters is the lab's own, on the functions' interfaces; behind the cable
# comes a link of 4 Mbit/s, first come first served.
#
#   a: VF 0 ─ limiter ─┐
#                      ├ eth0 ═══ eth1 ─ sw ─ u1 (4 Mbit/s) ─── u0 in u
#   b: VF 1 ─ limiter ─┘
. ./common.sh
state=$own/share
quiet

make_functions 2

# The receiver, behind the link.
ip netns add u
ip link add sw type bridge
ip link set sw up
ip link add u1 type veth peer name u0 netns u
ip link set u1 master sw up
ip link set eth1 master sw up
tc qdisc add dev u1 root tbf rate 4mbit burst 8kb limit 40kb
ip -n u address add 192.0.2.99/24 dev u0
ip -n u link set u0 address 02:00:00:00:00:99 up
tc -n u qdisc add dev u0 ingress
for protocol in 6 17; do
    tc -n u filter add dev u0 parent ffff: protocol ip prio $protocol u32 match ip protocol $protocol 0xff action ok
done

number=1
for name in a b; do
    vf=$(ls $device/virtfn$((number - 1))/net)
    ip netns add $name
    ip link set "$vf" netns $name
    ip -n $name address add 192.0.2.$number/24 dev "$vf"
    ip -n $name link set "$vf" up
    wait_for "link of $vf" "ip -n $name -br link show dev $vf | grep -q LOWER_UP"
    ip -n $name neighbour add 192.0.2.99 lladdr 02:00:00:00:00:99 dev "$vf"
    ip -n u neighbour add 192.0.2.$number lladdr 02:00:00:00:00:0$((number - 1)) dev u0
    number=$((number + 1))
done

bridge fdb replace 02:00:00:00:00:99 dev u1 master static

ip netns exec u perl -MIO::Socket::INET -e '
    $none = IO::Socket::INET->new(Proto => "udp", LocalPort => 9) or die $!;
    $all = IO::Socket::INET->new(LocalPort => 5001, Listen => 5, ReuseAddr => 1) or die $!;
    while ($one = $all->accept) { 1 while sysread $one, $bytes, 1 << 18 }' &
sink=$!
wait_for "the receiver" "ip netns exec u ss -ltn | grep -q 5001"
tcp() { exec ip netns exec a bash -c 'exec dd if=/dev/zero bs=64k 2>/dev/null >/dev/tcp/192.0.2.99/5001'; }
udp() { exec ip netns exec b bash -c "exec dd if=/dev/zero bs=1400 2>/dev/null >/dev/udp/192.0.2.99/9"; }
received() { tc -n u -s filter show dev u0 parent ffff: prio "$1" | sed -n 's/.*Sent \([0-9]*\) bytes.*/\1/p'; }
# Waits for a second in which TCP and UDP have between so many kbit/s; a machine that is busy elsewhere
# has others.
until_rates() {
    tries=0
    while :; do
        t=$(received 6) u=$(received 17) begin=$(date +%s%N)
        sleep 1
        t=$(($(received 6) - t)) u=$(($(received 17) - u)) time=$(($(date +%s%N) - begin))
        t=$((t * 8000000 / time)) u=$((u * 8000000 / time))
        [ $t -ge "$2" ] && [ $t -le "$3" ] && [ $u -ge "$4" ] && [ $u -le "$5" ] && break
        tries=$((tries + 1))
        [ $tries -lt 60 ] || { echo "never: $1: TCP has $t, UDP $u kbit/s"; cat "$out/log"; exit 1; }
    done
    echo "$1"
}
start() { tcp & tcp=$!; }
flood() { udp & udp=$!; sleep 1; }
end() { kill $tcp $udp 2>/dev/null || true; wait $tcp $udp 2>/dev/null || true; }
# Buckets of the lab, where the functions' interfaces are.
buckets() { for name in a b; do tc -n $name qdisc show; done | grep -c "^qdisc tbf .* root"; }
limits() { for vf in 0 1; do nicety port limit eth0/vf$vf $1 --verify 0s --state $state 2>/dev/null; done; }

start
until_rates "no control: TCP has the link" 2400 4200 0 0
flood
until_rates "no control: UDP takes it" 0 800 2000 4200
end
limits 2mbit
wait_for "the lab's limiters" '[ "$(buckets)" = 2 ]'
start
until_rates "limits: TCP has its half" 1500 2200 0 0
flood
until_rates "limits: TCP has its half beside UDP" 1500 2200 1200 2200
end
limits none
wait_for "the lab's limiters to go" '[ "$(buckets)" = 0 ]'
cat >$own/share.toml <<POLICY
[link]
capacity = "4400kbit"
headroom = 0.05
period = "500ms"
[[tenant]]
name = "a"
ports = "eth0/vf0"
[[tenant]]
name = "b"
ports = "eth0/vf1"
POLICY
nicety police run $own/share.toml --state $state 2>"$out/log" &
police=$!
wait_for "the first limits" '[ -n "$(kernel 0)" ]'
start
until_rates "police: TCP has the half of UDP too" 2400 4200 0 0
flood
until_rates "police: TCP has its half beside UDP" 1300 2800 800 2300
kill $udp
until_rates "police: TCP has the half of UDP again" 2400 4200 0 0
kill $tcp
kill $police
wait $police
tail -n 1 "$out/log"
kill $sink

# As it was found.
for name in a b u; do ip netns del $name; done
ip link del sw
ip link set eth1 down
drop_functions
