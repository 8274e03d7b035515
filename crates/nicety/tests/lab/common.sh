# What scripts that run in the lab have in common; $out is their directory for results, $own one in memory, $cache the lab's.
set -eu
PATH=$PATH:/usr/sbin:/sbin
device=/sys/class/net/eth0/device

# What a script changes of the machine it puts back at its end, the last change first.
undo=
later() { undo="$1; $undo"; }
trap 'set +e; eval "$undo"' EXIT

# wait_for WHAT CONDITION: for minutes.
wait_for() {
    tries=0
    until eval "$2" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || { echo "never: $1"; cat "$out/log" 2>/dev/null; exit 1; }
        sleep 0.1
    done
}

# links PORT…: up, and with a carrier.
links() {
    for port; do
        ip link set "$port" up
        later "ip link set $port down"
    done
    for port; do wait_for "link of $port" "[ \"\$(cat /sys/class/net/$port/carrier)\" = 1 ]"; done
}

# Nobody speaks by himself.
quiet() {
    for all in all default; do
        echo 1 >/proc/sys/net/ipv6/conf/$all/disable_ipv6
        later "echo 0 >/proc/sys/net/ipv6/conf/$all/disable_ipv6"
    done
}

# Whether the daemon has said so.
said() { grep -q "$1" "$out/log"; }

# The rate of a function that the kernel tells.
kernel() { ip link show eth0 | sed -n "s/.* vf $1 .*max_tx_rate \([0-9]*\)Mbps.*/\1/p"; }

# make_functions HOW_MANY [SETTINGS]: of eth0, with what a command sets of them beside their addresses.
# Functions probed before the physical one has been reset get no link: probing waits.
make_functions() {
    ip link set eth0 up
    echo 0 >$device/sriov_drivers_autoprobe
    echo "$1" >$device/sriov_numvfs
    for vf in $(seq 0 $(($1 - 1))); do ip link set eth0 vf "$vf" mac "02:00:00:00:00:0$vf"; done
    ${2:-true}
    ip link set eth0 down
    ip link set eth0 up
    echo 1 >$device/sriov_drivers_autoprobe
    modprobe igbvf
    wait_for "link of eth0" '[ "$(cat /sys/class/net/eth0/speed)" = 1000 ]'
}
# As they were found.
drop_functions() {
    echo 0 >$device/sriov_numvfs
    ip link set eth0 down
}

# carried RUN CELL ARGUMENTS…: `nicety bench ARGUMENTS… --engine af_packet`, which writes to the directory RUN, until a
# trial of a cell whose name begins with CELL has carried frames; then it is asked to stop. A whole search takes minutes
# here. A run that goes on needs one more such trial.
carried() {
    into=$1
    cell=$2
    shift 2
    had=$(wc -l 2>/dev/null <"$into/trials.jsonl" || echo 0)
    nicety bench "$@" --engine af_packet >/dev/null &
    bench=$!
    until tail -n "+$((had + 1))" "$into/trials.jsonl" 2>/dev/null |
        grep -F "\"cell\":\"$cell" | grep -q '"received":[1-9]'; do
        kill -0 $bench 2>/dev/null || break
        sleep 0.3
    done
    kill -TERM $bench 2>/dev/null || true
    code=0
    wait $bench || code=$?
    echo "ended $code"
}
