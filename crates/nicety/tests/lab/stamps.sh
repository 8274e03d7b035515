# Runs in the lab: time stamps of the NIC, whose two ports a cable joins, and a nicety that is killed while it has them.
# The program with the tests of stamps.rs is the argument. Every line printed is asserted.
. ./common.sh
tests=$1
quiet
links eth0 eth1
inside() { "$tests" --ignored --exact --nocapture --test-threads 1 "stamps::$1"; }
inside probes_between_two_ports >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
inside somebody_elses_stamps_stay >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
! inside killed_while_nics_stamp >/dev/null 2>&1
ledgers() { ls /run/nicety | grep -c '^hwtstamp-[0-9]*$' || true; }
echo "killed: ledgers $(ledgers)"
nicety bench plan.toml --engine af_packet --for 1s --out out/next >"$out/log" 2>&1 || [ $? -eq 1 ]
grep -o 'eth[01]: stamps again.*' "$out/log" || { cat "$out/log"; exit 1; }
echo "next: ledgers $(ledgers)"
