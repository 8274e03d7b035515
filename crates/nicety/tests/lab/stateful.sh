# Runs in the lab: tables of connections. Their limit is one of the whole machine, which here is the test's own.
. ./common.sh
limit=/proc/sys/net/netfilter/nf_conntrack_max
modprobe nf_conntrack
had=$(cat $limit)
echo 600 >$limit
small="--for 200ms --repeats 1 --connections 300 --rate 1k --loss 10% --nat hosts=2 --json"
nicety stateful snat.toml --only capacity $small >out/snat.json || echo "snat code $?"
nicety stateful flow.toml --only goodput $small >out/flow.json || echo "flow code $?"
echo "$had" >$limit

# Takes this CPU for 20 ms of every 40, before whoever else wants it.
hog() {
    while :; do
        end=$((${EPOCHREALTIME/[.,]/} + 20000))
        while [ ${EPOCHREALTIME/[.,]/} -lt $end ]; do :; done
        read -rt 0.02 -u 9 || true
    done
}
export -f hog
mkfifo "$own/nothing"
exec 9<>"$own/nothing"
hogs=
for cpu in $(seq 0 $(($(nproc) - 1))); do
    taskset -c "$cpu" chrt -f 50 bash -c hog &
    hogs="$hogs $!"
done
nicety stateful snat.toml --only setup $small >out/hogs.json || echo "hogs code $?"
kill $hogs
wait $hogs || true
exec 9>&-
