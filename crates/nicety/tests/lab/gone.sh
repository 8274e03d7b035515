# Runs in the lab: an 82576 goes under a daemon that limits its functions, and comes again. Every line
# printed is asserted.
. ./common.sh
state=$own/gone

# Another tenant, who sends more than the limit all the time.
ip netns add g
ip link add p0 type veth peer name g0 netns g
ip link set p0 up
ip -n g address add 192.0.2.1/24 dev g0
ip -n g link set g0 up
ip -n g neighbour add 192.0.2.2 lladdr 02:00:00:00:00:aa dev g0
ip netns exec g bash -c 'exec 3>/dev/udp/192.0.2.2/9
    while sleep 0.05; do for _ in {1..50}; do printf %01400d 0 >&3; done; done' &
flood=$!
cat >$own/gone.toml <<POLICY
[link]
capacity = "1gbit"
period = "500ms"
[[tenant]]
name = "a"
ports = "eth0/vf0"
cap = "500mbit"
[[tenant]]
name = "b"
ports = "eth0/vf2"
guarantee = "100mbit"
cap = "200mbit"
[[tenant]]
name = "c"
ports = "p0"
cap = "1mbit"
POLICY

limited() { wait_for "the limits $1" '[ "$(kernel 0) $(kernel 2)" = "500 200" ]'; }
metrics() {
    bash -c 'exec 3<>/dev/tcp/127.0.0.1/9471
        printf "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" >&3; cat <&3' |
        sed -n 's/^nicety_police_port_present{port="\([^"]*\)".* \([01]\).*/\1 \2/p' | sort | paste -sd,
}
status() { nicety police status --state $state; }
number() { cat /sys/class/net/eth0/ifindex; }
# Of the other tenant: its limiter, which is the one from the beginning, and what is said of it.
other() {
    [ "$(cat /sys/class/net/nicety*/ifindex)" = "$limiter" ] && ! said "port p0" && kill -0 $flood &&
        status | grep -q "p0 .* 1.0 Mbit/s .*holds" && echo "the other: as before"
}
# The NIC is gone: $1 times in all.
gone() {
    wait_for "the NIC to go" '[ "$(grep -c "^NIC eth0 is gone" "$out/log")" = '"$1"' ]'
    wait_for "the ports to go" 'metrics | grep -q "eth0/vf0 0,eth0/vf2 0,p0 1"'
    echo "gone"
}
# It is there again, and has functions.
back() {
    wait_for "the NIC" '[ -e $device/sriov_numvfs ]'
    was=$number
    make_functions 3
    limited "of new functions"
    number=$(number)
    [ "$number" != "$was" ] && echo "another interface: vf 0 $(kernel 0), vf 2 $(kernel 2)"
    wait_for "the ports to come" 'metrics | grep -q "eth0/vf0 1,eth0/vf2 1,p0 1"'
    other
}

make_functions 3
nicety police run $own/gone.toml --state $state --listen 127.0.0.1:9471 2>"$out/log" &
pid=$!
limited "at first"
wait_for "the other's limit" 'status | grep -q "p0 .*holds"'
limiter=$(cat /sys/class/net/nicety*/ifindex)
number=$(number)

# The driver is loaded anew.
modprobe -r igbvf
modprobe -r igb
gone 1
for port in "vf0 *a" "vf2 *b"; do wait_for "the status of $port" 'status | grep -q "eth0/$port *gone"'; done
other
modprobe igb
back

# The driver gives the NIC up.
address=$(basename "$(readlink $device)")
echo "$address" >/sys/bus/pci/drivers/igb/unbind
gone 2
echo "$address" >/sys/bus/pci/drivers/igb/bind
back

# The card is pulled out: its registers, which the daemon reads, go too.
echo 1 >$device/remove
gone 3
echo 1 >/sys/bus/pci/rescan
back

grep -c "^NIC eth0 is back" "$out/log"
! said "not known" || cat "$out/log"
kill $pid
wait $pid
tail -n 1 "$out/log"
echo "stopped: vf 0 $(kernel 0), vf 2 $(kernel 2)"

# As it was found.
kill $flood
ip link del p0
ip netns del g
drop_functions
