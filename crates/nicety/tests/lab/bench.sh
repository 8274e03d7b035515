# Runs in the lab, whose kernel is another one than this machine's: the engines, and a wall clock
# that somebody steps. The directory with the plan is the argument; results go there.
set -eu
PATH=$PATH:/usr/sbin:/sbin
out=$1

uname -r
# Slow under emulation: a cell may well end without a result, which is a negative answer.
measure() {
    nicety bench "$out/plan.toml" --engine "$1" --time-box 35s --out "$out/$1" >/dev/null || [ $? -eq 1 ]
    echo "measured $1"
}

measure xdp
(while sleep 0.3; do date -s "@$(($(date +%s) + 100))" >/dev/null; done) &
stepper=$!
measure af_packet
kill $stepper
