# What scripts that run in the lab have in common; $out is their directory for results.
PATH=$PATH:/usr/sbin:/sbin
device=/sys/class/net/eth0/device

# wait_for WHAT CONDITION: for a minute.
wait_for() {
    tries=0
    until eval "$2" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { echo "never: $1"; cat "$out/log" 2>/dev/null; exit 1; }
        sleep 0.1
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
