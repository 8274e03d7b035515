# Three hosts with sshd in namespaces of their own, joined to the calling namespace, which is the controller's.
# Usage: ansible.sh DIR. Writes DIR/inventory and prints "ready"; ends, and all hosts with it, when its input ends.
set -eu
dir=$1
ip link set lo up
ip link add sw type bridge
ip address add 192.0.2.254/24 dev sw
ip link set sw up
ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
cp "$dir/key.pub" "$dir/authorized"

# host NUMBER: what runs inside, as the first process of a PID namespace. Its end is that of all others.
cat >"$dir/host.sh" <<'HOST'
set -eu
n=$1 dir=$2
mount -t tmpfs none /run
mkdir -m 755 /run/sshd
mount -t proc proc /proc
mount -t sysfs sysfs /sys
until ip link show "e$n" >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip address add "192.0.2.$n/24" dev "e$n"
ip link set "e$n" up
echo 0 >/proc/sys/net/ipv4/tcp_moderate_rcvbuf
# The third is a host whose way out does not stand the change.
[ "$n" != 3 ] || (
    up=0
    while sleep 0.1; do
        now=$(cat /proc/sys/net/ipv4/tcp_moderate_rcvbuf)
        [ "$now" = "$up" ] && continue
        up=$now
        case $now in 1) ip link set "e$n" down ;; 0) ip link set "e$n" up ;; esac
    done
) &
/usr/sbin/sshd -D -f "$dir/sshd$n" -E "$dir/sshd$n.log" &
wait
HOST

printf '[fleet]\n' >"$dir/inventory"
for n in 1 2 3; do
    ssh-keygen -q -t ed25519 -N '' -f "$dir/hostkey$n"
    # A shell that is not the first one does not read what root's own shells do at their start.
    cat >"$dir/sshd$n" <<SSHD
ListenAddress 192.0.2.$n
HostKey $dir/hostkey$n
AuthorizedKeysFile $dir/authorized
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
Subsystem sftp internal-sftp
SetEnv SHLVL=2
SSHD
    mkdir "$dir/state$n"
    setpriv --pdeathsig KILL unshare -n -m -p --fork --kill-child sh "$dir/host.sh" "$n" "$dir" </dev/null >"$dir/host$n.log" 2>&1 &
    holder=$!
    ip link add "p$n" type veth peer name "e$n"
    # Once it has a namespace of its own.
    until [ "$(readlink "/proc/$holder/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
    ip link set "e$n" netns "$holder"
    ip link set "p$n" master sw up
    echo "host$n ansible_host=192.0.2.$n nicety_state_dir=$dir/state$n" >>"$dir/inventory"
done
for n in 1 2 3; do
    for _ in $(seq 200); do
        ! ssh-keyscan -T 1 "192.0.2.$n" 2>/dev/null | grep -q ed25519 || break
        sleep 0.05
    done
done
echo ready
read -r _ || true
