#!/bin/busybox sh
# First process of a machine with nothing but BusyBox, nicety and four modules.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root LC_ALL=C
mkdir -p /proc /sys /run /tmp /root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
for module in /modules/*.ko; do insmod "$module"; done
exec >/dev/ttyS1 2>/dev/console

# What a command prints goes between two lines with its name, the second one with its exit
# code and the time since boot.
try() {
    name=$1
    shift
    echo "<<$name"
    "$@"
    echo ">>$name $? $(cut -d ' ' -f 1 /proc/uptime)"
}
# Asks again and again for a port where nobody listens, while a command looks.
asked() {
    while :; do nc -w 1 127.0.0.1 99 </dev/null; sleep 0.2; done >/dev/null 2>&1 &
    asking=$!
    "$@"
    status=$?
    kill $asking
    return $status
}
ip link set lo up
try version nicety --version
try probe nicety probe --json
try inspect nicety inspect --json
try plan nicety tune plan --json
# shellcheck disable=SC2046 # several words
try bench nicety bench /plan.toml --json --out /tmp/run $(cat /arguments)
try drops asked nicety drops --window 4s --json
try follow asked sh -c 'nicety trace --follow-flow tcp,any,127.0.0.1:99 --count 1 --json 2>&1'
# Trials in which frames came through.
try carried grep -c '"received":[1-9]' /tmp/run/trials.jsonl
poweroff -f
