# The two commands: `make bench` measures, `make test` checks everything.
# Both install what is missing when they may, or say what to install.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help bench test test-all fuzz faults faults-cluster faults-adopt faults-bills audit miri mutants check deb static release lab-matrix lab-kernels bench-search bench-repeat bench-tester bench-sockets bench-police bench-cluster bench-paths bench-report bench-inspect bench-fate bench-fleet setup fmt docs book quickstart screenshots api-docs golden

CARGO = . scripts/toolchain.sh && cargo
BENCH = $(CARGO) build --release --locked -p nicety && cargo bench --locked -p nicety-benchmarks --bench

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

bench: ## measure a kernel bridge on this machine; ARGS="--preset std" and the like
	@scripts/setup.sh bench
	@$(CARGO) build --release --locked -p nicety
	@scripts/bench.sh $(ARGS)

test: ## format, lints, licences, layers, and all tests; those for which it matters who runs them as both users
	@scripts/setup.sh test
	@scripts/test.sh

test-all: ## the same with the campaigns and slow machines that are left out there, and every test as both users; two hours
	@scripts/setup.sh test
	@scripts/test.sh all

fuzz: ## any bytes for everything that reads bytes of others, 10 min a target (FUZZ_SECONDS), with nightly Rust; TARGETS="plan run"
	@scripts/setup.sh bench
	@scripts/fuzz.sh $(TARGETS)

faults: ## accidents in everything that changes a machine: kills, failing calls, power loss, little memory; a table
	@scripts/setup.sh test
	@scripts/faults.sh

faults-cluster: ## accidents in one cap over many hosts: daemons, leader, etcd, network, certificates; a table; 15 min
	@scripts/setup.sh test
	@scripts/faults-cluster.sh

faults-adopt: ## limits of other programs, rewritten 1,000 times with kills and restarts; a table; 30 min
	@scripts/setup.sh test
	@scripts/faults-adopt.sh

faults-bills: ## an hour that is billed, with kills, restarts and ports that come and go, beside the uplink's counter
	@scripts/setup.sh test
	@scripts/faults-bills.sh

bench-search: ## presets against simulated paths: trials, seconds, error, spread
	@scripts/setup.sh bench
	@$(CARGO) bench --locked -p nicety-search --bench search

bench-repeat: ## the default run beside compilers, bursts and nobody by turns, five rounds: whether its numbers are true; 100 min
	@scripts/setup.sh bench
	@$(BENCH) repeat

bench-tester: ## the tester alone, beside other generators
	@scripts/setup.sh bench
	@scripts/bench-peers.sh trafgen=netsniff-ng tcpreplay=tcpreplay dpdk-testpmd=dpdk-dev xdp-trafficgen=xdp-tools
	@$(BENCH) tester

bench-sockets: ## socket workloads, beside iperf3 and sockperf
	@scripts/setup.sh bench
	@scripts/bench-peers.sh iperf3=iperf3 sockperf=sockperf
	@$(BENCH) sockets

bench-police: ## shares of a link: simulated beside AIMD and static shares, and with real packets
	@scripts/setup.sh bench
	@scripts/bench-peers.sh tc=iproute2 ip=iproute2
	@$(CARGO) bench --locked -p nicety-police --bench police
	@$(BENCH) police
	@scripts/bench-packets.sh

bench-cluster: ## one cap over 120 hosts with a real etcd: cap, use, time to follow, cost; beside doorman's algorithms; seven minutes
	@scripts/setup.sh bench
	@scripts/bench-peers.sh etcd=etcd-server etcdctl=etcd-client tc=iproute2 ip=iproute2
	@$(CARGO) bench --locked -p nicety-police --bench cluster
	@$(BENCH) cluster

bench-paths: ## how soon each kind of path carries its first trial, time between cells, QEMU's memory
	@scripts/setup.sh bench
	@$(BENCH) paths

lab-matrix: ## three ready plans in the lab, 20 min each (LAB_MATRIX_BOX), with their reports
	@scripts/setup.sh bench
	@$(CARGO) build --release --locked -p nicety
	@scripts/lab-matrix.sh

bench-inspect: ## facts of a large recorded host and of this one, beside ethtool, ip and lscpu
	@scripts/setup.sh bench
	@scripts/bench-peers.sh ethtool=ethtool ip=iproute2 lscpu=util-linux tuned-adm=tuned dbus-daemon=dbus
	@$(BENCH) inspect

lab-kernels: ## fates of frames on kernels of Debian 12 and 13, three minutes each; after make static
	@$(CARGO) test --locked -p nicety --test lab -- old_kernel --ignored --test-threads=1 --show-output

bench-fate: ## what following lost frames costs, in a guest too, and counting drops: with and without by turns, a dozen pairs, six minutes; ARGS=guest measures one part; fails above 2 % of the rate, 0.5 % of a CPU
	@scripts/setup.sh bench
	@scripts/bench-peers.sh tc=iproute2 ip=iproute2
	@$(BENCH) fate -- $(ARGS)

bench-fleet: ## a thousand captured hosts compared, 30 s: seconds, memory, and whether every planted difference is found
	@scripts/setup.sh bench
	@$(BENCH) fleet

bench-report: ## report, page, comparison and trend of runs as large as they get
	@scripts/setup.sh bench
	@$(BENCH) report

static: ## one file without libraries, for any x86-64 Linux from 5.10 on; target/static/nicety
	@scripts/setup.sh static
	@scripts/static.sh $(ARGS)

check: ## format, lints, layers, cases and the tests of crates that only decide, in a minute and a half; ARGS=NAME picks tests
	@scripts/setup.sh check
	@scripts/check.sh $(ARGS)

audit: ## known weaknesses in what is built in, from the RustSec database; NICETY_ADVISORIES=DIRECTORY names a clone of it
	@scripts/setup.sh test
	@scripts/audit.sh

miri: ## undefined behaviour in what counts frames and reads rings, with nightly Rust and Miri
	@scripts/setup.sh bench
	@scripts/miri.sh $(ARGS)

mutants: ## 400 small faults in the crates that only decide, always the same: which of them a test notices; a table, two hours; ARGS=--continue
	@scripts/setup.sh bench
	@scripts/mutants.sh $(ARGS)

deb: ## a Debian package of program, manual pages, completions, unit, plans; in target/debian
	@scripts/setup.sh bench
	@scripts/deb.sh $(ARGS)

release: ## all that is handed out, for x86-64 and arm64, with checksums and a bill of materials; in target/release-VERSION
	@scripts/setup.sh release
	@scripts/release.sh $(ARGS)

setup: ## install what bench and test need (Debian 12 as root; elsewhere it says what is missing)
	@scripts/setup.sh test

fmt: ## format the code
	@$(CARGO) fmt --all

docs: ## README's first table and pictures from a real run of four minutes, or from RUN=DIRECTORY
	@scripts/setup.sh bench
	@$(CARGO) build --release --locked -p nicety
	@scripts/pictures.sh $(RUN)

book: ## the documentation as pages with a search, in target/book
	@scripts/setup.sh book
	@scripts/book.sh

quickstart: ## play each role's quickstart on a bare Debian with the package alone, as root; PACKAGE=FILE or it is built
	@docs/quickstart_test.sh $(PACKAGE)

screenshots: ## pictures of every kind of page, wide and narrow, light and dark, in target/screenshots
	@scripts/screenshots.sh

api-docs: ## build the API documentation
	@$(CARGO) doc --workspace --no-deps --locked

golden: ## rewrite schemas, golden files and what tests/cases expects after a wanted change
	@export NICETY_UPDATE_GOLDEN=1; $(CARGO) test --quiet --locked -p nicety-model -p nicety-police -p nicety --test cases
	@export NICETY_UPDATE_GOLDEN=1; $(CARGO) test --quiet --locked -p nicety-store --test all -- schema::
	@export NICETY_UPDATE_GOLDEN=1; $(CARGO) test --quiet --locked -p nicety-report --test all -- golden:: compare:: fleet:: history:: host:: policed::
	@export INSTA_UPDATE=always; $(CARGO) test --quiet --locked -p nicety --bin nicety --test cli -- bench::live::draw probe::text help::
	@export NICETY_UPDATE_GOLDEN=1; $(CARGO) test --quiet --locked -p nicety --bin nicety --test docs -- reference:: rules::
