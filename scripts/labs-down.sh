#!/bin/bash
# Ends the machines of the lab that tests have left running for the next ones: those of who calls this, and of nobody.
# Where NICETY_TEST_RUN is set, those of that run alone.
set -u
for uid in "$(id -u)" 65534; do
    dir=/tmp/nicety-lab-test-$uid${NICETY_TEST_RUN:-}
    # Everybody may make a name in /tmp.
    [ ! -L "$dir" ] && [ "$(stat -c %u "$dir" 2>/dev/null)" = "$uid" ] || continue
    for file in "$dir"/*/nicety/lab/qemu.pid; do
        pid=$(cat "$file" 2>/dev/null) || continue
        # The number may be somebody else's by now.
        if tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "$file"; then
            kill "$pid" && tail --pid="$pid" -f /dev/null
        fi
    done
    rm -rf "$dir"
done
exit 0
