#!/bin/sh
# Ways to limit packets a second beside each other, on a veth in a namespace of its own: how near they come to a limit,
# and what they cost a packet that they let pass. Each round measures all ways in turn; ratios are to the token bucket
# without a limit of packets, with the least and greatest of the rounds. Needs root, tc, nft, python3 and a C compiler.
set -eu
rounds=${1:-7}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/send.c" <<'END'
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
/* Sends datagrams of 18 bytes for so many seconds: how many the kernel took, processor time in ns for each,
   and how many were tried a second. */
int main(int argc, char **argv) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    inet_aton("192.0.2.2", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (argc < 2 || connect(fd, (void *)&to, sizeof to)) return 1;
    char data[18] = {0};
    unsigned long count = 0, tried = 0;
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += atoi(argv[1]);
    do {
        for (int i = 0; i < 64; i++, tried++) count += send(fd, data, sizeof data, MSG_DONTWAIT) > 0;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double ns = 1e9 * (use.ru_utime.tv_sec + use.ru_stime.tv_sec) + 1e3 * (use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    printf("%lu %.1f %lu\n", count, ns / count, tried / atoi(argv[1]));
}
END
cc -O2 -o "$dir/send" "$dir/send.c"

cat > "$dir/bucket.py" <<'END'
# The bucket as nicety makes it: rate in bit/s, packets a second or 0.
import socket, struct, sys
rate, packets = int(sys.argv[1]) // 8, int(sys.argv[2])
attribute = lambda kind, data: struct.pack("HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)
spec = lambda rate, least: struct.pack("BBHhHI", 0, 1, 24, 0, least, min(rate, 2**32 - 1))
peak = packets * 1538
options = attribute(1, spec(rate, 0) + (spec(peak, 1538) if packets else bytes(12)) + struct.pack("III", 10**6, 0, 0))
options += attribute(6, struct.pack("I", 98304))
if rate >= 2**32:
    options += attribute(4, struct.pack("Q", rate))
if packets:
    options += attribute(7, struct.pack("I", min(max(peak // 250, 98304), 2**32 - 1)))
if peak >= 2**32:
    options += attribute(5, struct.pack("Q", peak))
index = socket.if_nametoindex("v0")
body = struct.pack("BBHiIII", 0, 0, 0, index, 0x6E630000, 0xFFFFFFFF, 0) + attribute(1, b"tbf\0") + attribute(2, options)
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
kernel.send(struct.pack("IHHII", 16 + len(body), 36, 0x505, 1, 0) + body)
error = struct.unpack("i", kernel.recv(65536)[16:20])[0]
sys.exit(f"the kernel refuses the bucket: {error}" if error else 0)
END

cat > "$dir/run" <<'END'
set -eu
dir=$1 rounds=$2
ip link add v0 type veth peer name v1
for port in v0 v1; do ip link set $port up; done
ip address add 192.0.2.1/24 dev v0
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev v0
clear() {
    for what in root clsact; do tc qdisc del dev v0 $what 2>/dev/null || true; done
    nft delete table netdev n 2>/dev/null || true
}
nft_limit() {
    nft "add table netdev n; add chain netdev n c { type filter hook egress device v0 priority 0; };
        add rule netdev n c limit rate over $1/second burst 400 packets drop"
}
police() {
    tc qdisc add dev v0 clsact && tc filter add dev v0 egress protocol all prio 1 u32 match u32 0 0 \
        action police pkts_rate "$1" pkts_burst 400 conform-exceed drop
}
way() {
    clear
    case $1 in
        bucket) python3 "$dir/bucket.py" 500000000000 0 ;;
        peak) python3 "$dir/bucket.py" $(($2 * 12000)) "$2" ;;
        nft) python3 "$dir/bucket.py" 500000000000 0; nft_limit "$2" ;;
        police) python3 "$dir/bucket.py" 500000000000 0; police "$2" ;;
    esac
}
ways="bucket peak nft"
if police 1000 2>/dev/null; then ways="$ways police"; else echo "SKIP police pkts_rate: this kernel has no act_police"; fi
passed() { awk '/v0:/ { print $11 }' /proc/net/dev; }
for rate in 1000 20000 100000; do
    for name in $ways; do
        [ "$name" = bucket ] && continue
        way "$name" "$rate"
        "$dir/send" 7 > "$dir/tried" & sender=$!
        sleep 1
        a=$(passed) t=$(date +%s%N); sleep 5; b=$(passed) u=$(date +%s%N)
        wait $sender
        tried=$(cut -d' ' -f3 "$dir/tried")
        if [ "$tried" -lt $((rate * 3 / 2)) ]; then
            echo "SKIP accuracy $name at $rate/s: the sender came to $tried/s only"
            continue
        fi
        awk "BEGIN { printf \"accuracy %s at %d/s: %+.2f %%\\n\", \"$name\", $rate, 100 * (($b - $a) * 1e9 / ($u - $t) / $rate - 1) }"
    done
done
for round in $(seq "$rounds"); do
    for name in $ways; do
        # Far above what is sent: what passing costs.
        way "$name" 40000000
        echo "cost $name $("$dir/send" 2)"
    done
done
clear
END
unshare -n sh "$dir/run" "$dir" "$rounds" | tee "$dir/all" | grep -v '^cost'

python3 - "$dir/all" <<'END'
import statistics, sys
rounds = {}
for line in open(sys.argv[1]):
    word, *rest = line.split()
    if word == "cost":
        rounds.setdefault(rest[0], []).append(float(rest[2]))
for name, costs in rounds.items():
    ratios = sorted(cost / base for cost, base in zip(costs, rounds["bucket"]))
    print(f"cost {name}: {statistics.median(costs):.0f} ns a packet, {statistics.median(ratios):.3f} "
          f"({ratios[0]:.3f} to {ratios[-1]:.3f}) of the bucket alone")
END
