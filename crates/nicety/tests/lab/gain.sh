# Runs in the lab: a rule's change that is a true gain there and is kept, and one that has no effect there
# and is taken back, each measured before, after, before and after. Every line printed is asserted.
. ./common.sh
state=$own/state

# Two ports joined by a bridge, and a firewall of many rules that no frame fits.
quiet
ip link add p0 type veth peer name q0
ip link add p1 type veth peer name q1
ip link add sw type bridge
for port in q0 q1; do ip link set $port master sw; done
for port in sw q0 q1 p0 p1; do ip link set $port up; done
# The path receives in threads of its own: else it is the sender who walks through the rules.
for port in q0 q1; do
    ethtool -K $port gro on
    echo 1 >/sys/class/net/$port/threaded
done
{
    echo 'table ip many { chain rules {'
    for b in $(seq 1 200); do echo "ip saddr 203.0.0.$b tcp dport 9 counter drop"; done
    # Again and again: the machine may be busy, and the gain has to be far above what that makes.
    echo '}; chain forwarded { type filter hook forward priority 0;'
    for again in $(seq 1 50); do echo 'jump rules'; done
    echo '}; }'
} | nft -f -
modprobe br_netfilter
bridged=net.bridge.bridge-nf-call-iptables
sysctl -qw $bridged=1

# Under emulation no load is offered exactly and searches hardly end: what came through counts.
cat >$out/gain.toml <<'PLAN'
name = "gain"
[traffic]
frame_sizes = [512]
directions = ["uni"]
[search]
preset = "quick"
confirm = "0s"
[[path]]
kind = "ports"
a = "p0"
b = "p1"
PLAN
# apply RULE WORDS MORE...: measures until the machine lets it be seen, three times at the most: of changes without
# effect one in twenty is judged to have one. The exit code, and what was decided.
apply() {
    rule=$1 words=$2
    shift 2
    for try in 1 2 3; do
        code=0
        nicety tune apply --only $rule --repeats 2 --out $out/$rule-$try --state $state --for 600s "$@" \
            >/dev/null 2>$out/$rule-$try.said || code=$?
        grep -q "^$words: " $out/$rule-$try.said && break
    done
    echo "$rule: code $code, $(grep -o '^[a-z ]* here' $out/$rule-$try.said)"
}
apply T21 "better here" --measure $out/gain.toml --metric forwarding-rate
nicety tune apply --confirm --state $state
nicety tune status --state $state --format csv | sed -n 's/^settings,\(net[^,]*\),.*,\([^,]*\),holds,.*/\1: \2 holds/p'
nicety tune undo --state $state
echo "$bridged $(sysctl -n $bridged)"

# The tests' sockets are in namespaces of their own, which this setting does not reach.
cat >$out/none.toml <<'PLAN'
name = "none"
[[path]]
kind = "bridge"
[[sockets]]
test = ["tcp_rr"]
message_bytes = [64]
time = "1s"
PLAN
window=net.ipv4.tcp_moderate_rcvbuf
sysctl -qw $window=0
apply T18 "no effect here" --measure $out/none.toml
echo "$window $(sysctl -n $window)"

# As it was found.
sysctl -qw $window=1
nft delete table ip many
ip link del p0
ip link del p1
ip link del sw
