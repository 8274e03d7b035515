# Runs in the lab: DPDK drives two functions of the NIC itself, between the tester's two. The NIC's own
# switch is the cable: the functions of either half are on a VLAN, and what one sends to the other has its
# address.
. ./common.sh
into_place() {
    for vf in 0 2; do ip link set eth0 vf $vf mac 02:00:00:00:01:0a; done
    for vf in 1 3; do ip link set eth0 vf $vf mac 02:00:00:00:01:0b; done
    for vf in 0 1; do ip link set eth0 vf $vf vlan 101; done
    for vf in 2 3; do ip link set eth0 vf $vf vlan 102; done
}
address() { basename "$(readlink -f $device/virtfn$1)"; }
driver() { basename "$(readlink $device/virtfn$1/driver)"; }
# state: of the two functions that are taken: driver, driver_override, interface, whether it is up.
state() {
    for vf in 1 2; do
        name=$(ls $device/virtfn$vf/net 2>/dev/null || true)
        up=$([ -z "$name" ] || ip -o link show "$name" | grep -o '[<,]UP[,>]' | tr -d '<,>' || true)
        echo "$1: vf$vf $(driver $vf) $(cat $device/virtfn$vf/driver_override) <$name $up>"
    done
    echo "$1: ledgers $(ls -d /run/nicety/path-* 2>/dev/null | wc -l)"
}
running() { ps -e -o comm= | grep -c '^dpdk-testpmd$' || true; }

make_functions 4 into_place
wait_for "interfaces" '[ -e $device/virtfn3/net ]'
a=$(ls $device/virtfn0/net)
b=$(ls $device/virtfn3/net)
# A name that the kernel does not give by itself, and one interface that is up.
ip link set "$(ls $device/virtfn2/net)" name dut1
ip link set dut1 up
for port in $a $b; do ip link set "$port" up; done
for port in $a $b; do wait_for "link of $port" '[ "$(cat /sys/class/net/$port/carrier)" = 1 ]'; done
state before

# path PAIRS…: a plan.
path() {
    cat plan.toml
    printf '[[path]]\nkind = "testpmd"\na = "%s"\nb = "%s"\nqueues = 2\n' "$a" "$b"
    printf 'pci = [%s]\n' "$(printf '["%s", "%s"], ' "$@")"
}
dut="$(address 1) $(address 2)"
bridge=$(basename "$(dirname "$(readlink -f $device)")")
path $dut "$(address 0)" "$(address 1)" 0000:ff:1f.0 "$(address 1)" "$bridge" "$(address 2)" \
    "$(basename "$(readlink -f $device)")" "$(address 2)" >nics.toml

# Killed in the middle, after another run beside it had to leave the NICs alone.
nicety bench nics.toml --out "$out/run" --engine af_packet >/dev/null 2>&1 &
run=$!
until grep -q '"received":[1-9]' "$out/run/trials.jsonl" 2>/dev/null; do kill -0 $run; sleep 0.1; done
nicety bench nics.toml --out "$out/taken" --engine af_packet >/dev/null 2>&1 || echo "taken code $?"
kill -9 $run
wait $run || true
state killed
path 0000:ff:1f.0 0000:ff:1f.1 >gone.toml
nicety bench gone.toml --out "$out/gone" >/dev/null 2>&1 || echo "gone code $?"
state next
echo "programs $(running)"

# The run goes on, and ends by itself.
carried "$out/run" "testpmd,a=$a,b=$b,pci=$(address 1)+$(address 2),queues=2" --resume "$out/run"
state after
echo "programs $(running)"
drop_functions
