#!/bin/bash
# Makes sure that a target of the Makefile can work here: bench, static, check, test, book or release. Silent when
# everything is there. As root on a machine with apt it installs what is missing; otherwise it says what to install.
# Usage: setup.sh PURPOSE
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/apt.sh

purpose=${1:-test}
tools=${CARGO_TARGET_DIR:-target}/tools

say() { echo "setup: $*" >&2; }
have() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1; }
there() { compgen -G "$1" >/dev/null; }
may_install() { [ "$(id -u)" -eq 0 ] && have apt-get; }
# stop REASON…: the last line of a set-up that ends early.
stop() {
    say "$*"
    exit 3
}
# Functions too: most of what needs the network is called in one.
set -E
trap 'stop "stopped at line $LINENO, see the lines above; check the network and start again"' ERR

# install PACKAGE…: tests start programs of their own, so Debian's instances are kept from starting,
# now and at boot: policy-rc.d is what invoke-rc.d and deb-systemd-invoke ask. What was installed
# before is left as it is.
install() (
    say "installing $*"
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap 'rm -f $policy' EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
    fi
    apt_install "$@" || exit 1
    have systemctl || exit 0
    # Packages whose service has another name.
    declare -A units=([etcd-server]=etcd [openssh-server]="ssh ssh.socket" [ovn-central]="ovn-central ovn-ovsdb-server-nb ovn-ovsdb-server-sb")
    for package in openvswitch-switch ovn-central ovn-host irqbalance prometheus prometheus-alertmanager \
        prometheus-node-exporter postgresql tuned etcd-server openssh-server; do
        [[ " $* " == *" $package "* ]] || continue
        for unit in ${units[$package]:-$package}; do systemctl disable --quiet "$unit" >&2 || true; done
    done
)

packages=() wishes=() losses=()
# need PACKAGE CHECK…: without it nothing goes on.
need() {
    local package=$1
    shift
    "$@" || packages+=("$package")
}
# wish PACKAGE LOSS CHECK…: without it something is left out, which is said.
wish() {
    local package=$1 loss=$2
    shift 2
    "$@" || { wishes+=("$package") && losses+=("$loss"); }
}

need gcc have cc
# curl is only for fetching rustup.
have cargo || have rustup || need curl have curl
# gcc alone does not bring the C library's start files.
need libc6-dev there /usr/include/stdlib.h
need protobuf-compiler have "${PROTOC:-protoc}"
# The client of etcd is made of descriptions that include protobuf's own. Without them its build stops.
protoc=$(command -v "${PROTOC:-protoc}" || echo /usr/bin/protoc)
descriptions=google/protobuf/descriptor.proto
there "${PROTOC_INCLUDE:-${protoc%/bin/*}/include}/$descriptions" || need libprotobuf-dev there "/usr/include/$descriptions"
# Without these neither rustup nor cargo can trust its server.
need ca-certificates there /etc/ssl/certs/ca-certificates.crt
# The xdp engine's programs are compiled when nicety is built.
wish clang "the xdp engine will not be built in" have "${CLANG:-clang}"
wish libbpf-dev "the xdp engine will not be built in" there /usr/include/bpf/bpf_helpers.h
wish linux-libc-dev "the xdp engine will not be built in" there /usr/include/linux/bpf.h
case $purpose in
check | test | static | release)
    need musl-tools have musl-gcc
    need binutils have readelf
    ;;
esac
case $purpose in
test)
    # Whose CPU a path takes is asked of the kernel's own threads.
    [ "$(cat /proc/2/comm 2>/dev/null || true)" = kthreadd ] ||
        stop "the kernel's threads are out of sight here, and paths cannot be tried without: start the container with --pid=host"
    for pair in "ip iproute2" "tc iproute2" "openssl openssl" "nft nftables" "ethtool ethtool" "sysctl procps" "unshare util-linux" \
        "setpriv util-linux" "flock util-linux" "timeout coreutils"; do
        need "${pair#* }" have "${pair% *}"
    done
    some="some tests will be skipped"
    there '/usr/lib/openvswitch-switch/ovs-vswitchd' || wish openvswitch-switch "$some" have ovs-vswitchd
    wish openvswitch-switch-dpdk "$some" there '/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk'
    # A virtual environment of Python, of which Debian's python3 makes none without this package.
    wish python3-venv "schemas will not be tried" /usr/bin/python3 -c 'import ensurepip'
    for row in "ovn-northd ovn-central" "ovn-controller ovn-host" "dpdk-testpmd dpdk-dev" "irqbalance irqbalance" \
        "tuned-adm tuned" "dbus-daemon dbus" "strace strace" "tmux tmux" "tcpdump tcpdump" "prometheus prometheus" \
        "prometheus-alertmanager prometheus-alertmanager" "amtool prometheus-alertmanager" \
        "prometheus-node-exporter prometheus-node-exporter" "sshd openssh-server" "ssh openssh-client" \
        "buildah buildah" "libvirtd libvirt-daemon" \
        "virsh libvirt-clients" "qemu-system-x86_64 qemu-system-x86" "etcd etcd-server" "etcdctl etcd-client"; do
        wish "${row#* }" "$some" have "${row% *}"
    done
    have chromium-browser || have google-chrome || wish chromium "pages will not be tried in a browser" have chromium
    wish libvirt-daemon-driver-qemu "$some" there '/usr/lib/*/libvirt/connection-driver/libvirt_driver_qemu.so'
    # Debian 13's buildah does not begin without it.
    wish netavark "$some" there /usr/lib/podman/netavark
    wish postgresql "runs will not be kept on a server" there '/usr/lib/postgresql/*/bin/initdb'
    ;;
release)
    for pair in "qemu-aarch64-static qemu-user-static" "dpkg-deb dpkg" "xz xz-utils" \
        "python3 python3"; do
        need "${pair#* }" have "${pair% *}"
    done
    ;;
esac
mapfile -t packages < <([ ${#packages[@]} -eq 0 ] || printf '%s\n' "${packages[@]}" | sort -u)
mapfile -t wishes < <([ ${#wishes[@]} -eq 0 ] || printf '%s\n' "${wishes[@]}" | sort -u)
missing="${packages[*]} ${wishes[*]}"
if [ "$missing" != " " ] && may_install; then
    # One package that this Debian does not have is no reason to do without the others.
    install "${packages[@]}" "${wishes[@]}" || {
        [ ${#packages[@]} -eq 0 ] || install "${packages[@]}" || stop "apt-get cannot install ${packages[*]}, see above; check the network and apt's sources"
        for package in "${wishes[@]}"; do install "$package" || say "missing here: $package"; done
    }
elif [ ${#packages[@]} -gt 0 ]; then
    have cargo || [ -x "$HOME/.cargo/bin/cargo" ] || say "missing here: rustup, from https://rustup.rs; it reads rust-toolchain.toml"
    stop "missing here: ${packages[*]}; on Debian: sudo apt-get install $missing"
elif [ ${#wishes[@]} -gt 0 ]; then
    loss=$(printf '%s\n' "${losses[@]}" | sort -u | paste -sd ';' | sed 's/;/; /g')
    say "$loss, for want of: ${wishes[*]} (on Debian: sudo apt-get install ${wishes[*]})"
fi

if ! have cargo && [ ! -x "$HOME/.cargo/bin/cargo" ]; then
    [ "$(id -u)" -eq 0 ] || [ "${CI:-}" = true ] ||
        stop "missing here: cargo; install rustup from https://rustup.rs, it reads rust-toolchain.toml"
    say "installing rustup for the toolchain in rust-toolchain.toml"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
        sh -s -- -y --no-modify-path --profile minimal --default-toolchain none >&2
fi
source scripts/toolchain.sh
# rustup fetches the pinned toolchain and its components on first use.
cargo --version >/dev/null
export PATH=$PWD/$tools/bin:$tools/bin:$PATH

# cargo_tool NAME VERSION OPTION…: a program of crates.io of this version, built once without optimisation, which takes
# less than half the time. The same program on PATH is used as it is.
cargo_tool() {
    local name=$1 version=$2
    shift 2
    [[ "$("$name" "${name#cargo-}" --version 2>/dev/null || "$name" --version 2>/dev/null)" != *"$name $version"* ]] || return 0
    say "building $name $version into $tools, once; this takes a few minutes"
    CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false cargo install "$name" --version "$version" --locked --debug "$@" \
        --root "$tools" --target-dir "$tools/build" --quiet >&2
}

# python_tools NAME [--with-deps] PACKAGE…: a virtual environment of Python with these packages, and with what they need
# where that is said; once. Part of the tests runs as an ordinary user, who may not start an interpreter in root's home,
# as pyenv's is: Debian's first.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
python_tools() {
    local place=$tools/$1 deps=(--no-deps)
    if [ "$2" = --with-deps ]; then
        deps=()
        set -- "$1" "${@:3}"
    fi
    # Its programs name their interpreter by path, so it does not move with the checkout.
    local wanted="${*:2} with $python in $PWD"
    [ "$(cat "$place/has" 2>/dev/null)" != "$wanted" ] || return 0
    say "fetching ${*:2} into $place, once"
    rm -rf "$place"
    "$python" -m venv "$place" >&2 && "$place/bin/pip" install --quiet "${deps[@]}" "${@:2}" >&2 || return 1
    echo "$wanted" >"$place/has"
}

case $purpose in
# Without its server and its watcher mdbook builds in a third of the time. `make book` opens files, nothing listens.
book) cargo_tool mdbook 0.5.4 --no-default-features --features search ;;
release)
    # zig's C compiler and linker build for another machine.
    python_tools cross ziglang==0.16.0 cargo-zigbuild==0.24.1 ||
        stop "missing here: zig and cargo-zigbuild, which build for arm64; check the network, and python3-venv"
    cargo_tool cargo-cyclonedx 0.5.9
    ;;
check | test)
    for component in fmt clippy; do
        if ! cargo "$component" --version >/dev/null 2>&1; then
            have rustup || stop "missing here: cargo $component; install your toolchain's package of it"
            rustup component add "${component/fmt/rustfmt}" >&2
        fi
    done
    . scripts/musl.sh
    cargo_tool cargo-nextest 0.9.151 --no-default-features
    ;;&
test)
    cargo_tool cargo-deny 0.20.2
    # Plays the collection of packaging/ansible against hosts in namespaces.
    python_tools ansible --with-deps ansible-core==2.19.14 || say "the Ansible collection will not be played"
    # Classes made of Grafana's schema, by which a test reads the dashboard.
    python_tools grafana 'grafana-foundation-sdk==1769699998!10.1.0' || say "the dashboard will not be read by Grafana's schema"
    # Schemas of GitLab's and GitHub's files, by which a test reads the recipes.
    python_tools ci --with-deps check-jsonschema==0.39.0 || say "the recipes for build servers will not be read by their schemas"
    # Schemas of Kubernetes' resources, by which a test reads the manifest.
    python_tools kubernetes --with-deps kubernetes-validate==1.37.0 || say "the manifest for Kubernetes will not be read by its schemas"
    # Sees change points too; a test shows both.
    python_tools otava --with-deps apache-otava==0.8.0 || say "change points will not be shown beside Otava's"
    ;;
esac
rm -rf "$tools/build"
