# Runs a command in the machine that tests share, and writes to the file `left` what is not as before. Modules that
# nobody uses any more go: whether nicety loads what it needs shows in each test anew.
set -u
PATH=$PATH:/usr/sbin:/sbin
own=$(mktemp -d) out=$PWD/out cache=$NICETY_TEST_LAB_CACHE
export own out cache NICETY_CACHE=$cache

modules() { cut -d ' ' -f 1 /proc/modules | sort; }
boot_time() { sed -n 's/^btime //p' /proc/stat; }
tell() { printf '%s\t%s\n' "$1" "$2"; }

# Few programs are started here: each takes a while on an emulated CPU.
links() {
    ip -o link show | awk '{ name = $2; sub(/[:@].*/, "", name); print "link " name "\t" ($3 ~ /[<,]UP[,>]/ ? "up" : "down") " mtu " $5 }'
    # What the kernel puts there by itself has no handle.
    tc qdisc show | sed '/ 0: /d; s/ refcnt.*//; s/.*/qdisc &\t/'
    ip netns list | sed 's/.*/namespace &\t/'
}
devices() {
    find /sys/bus/pci/devices/*/ -maxdepth 1 -name driver -printf 'driver of %h\t%l\n'
    grep -s . /sys/bus/pci/devices/*/{driver_override,sriov_numvfs,sriov_drivers_autoprobe} | sed 's/:\([^:]*\)$/\t\1/'
}
processes() {
    for process in /proc/[0-9]*; do
        mapfile -d '' words <"$process/cmdline" || continue
        case ${words[*]} in
        "" | *around.sh*) ;;
        *) tell "process ${process#/proc/}" "${words[*]}" ;;
        esac
    done 2>/dev/null
}
files() {
    # A lock is what processes wait at.
    find /run/nicety /var/lib/nicety /sys/fs/bpf /sys/fs/cgroup -not -path '/run/nicety/bin*' -not -name '*.lock' \
        \( -type d -o -not -path '/sys/fs/cgroup/*' \) -printf 'file %p\t\n' 2>/dev/null
    # Made by `ip netns`, and by looking there.
    sed -n '/ \/run\/netns\| tracefs /!s/^[^ ]* \([^ ]*\) \([^ ]*\).*/mount \1 \2\t/p' /proc/self/mounts
}
settings() {
    {
        grep -rs . /proc/sys/net | grep -vE '/(conf|neigh)/|_count:|rss_key:'
        grep -s . /proc/sys/net/ipv6/conf/{all,default}/disable_ipv6
    } | sed 's/^\([^:]*\):\(.*\)/setting \1\t\2/'
}
state() {
    links
    devices
    processes
    files
    settings
}
# A module's settings come and go with it.
differences() {
    awk -F '\t' '
        NR == FNR { was[$1] = $2; next }
        { is[$1] = $2 }
        END {
            for (key in was)
                if (key in is) { if (was[key] != is[key]) print key ": was " was[key] ", is " is[key] }
                else if (key !~ /^setting/) print "gone: " key " " was[key]
            for (key in is) if (!(key in was) && key !~ /^setting/) print "new: " key " " is[key]
        }' "$own/before" "$own/after"
}
unload() {
    unused=$(awk '$3 == 0 { print $1 }' /proc/modules | sort | comm -23 - "$own/modules")
    [ -n "$unused" ] || return 1
    before=$(wc -l </proc/modules)
    for module in $unused; do modprobe -r "$module"; done 2>/dev/null
    [ "$(wc -l </proc/modules)" -lt "$before" ]
}

rm -f left
begun=$(boot_time)
modules >"$own/modules"
state >"$own/before"
"$@"
code=$?
# The kernel takes namespaces and what is in them apart in its own time, and daemons take a moment to end.
for try in $(seq 60); do
    while unload; do :; done
    # Those that were loaded for another went with it.
    modules | comm -23 "$own/modules" - | while read -r module; do modprobe "$module"; done
    state >"$own/after"
    differences >"$own/left"
    [ -s "$own/left" ] || break
    sleep 0.5
done
moved=$(($(boot_time) - begun))
[ "${moved#-}" -le 2 ] || echo "the clock was set by $moved s" >>"$own/left"
cp "$own/left" left
rm -rf "$own"
exit $code
