#!/bin/bash
# Makes sure that `make bench`, `make static`, `make test`, `make book` or `make release` can work here. Silent when
# everything is there. As root on a machine with apt it installs what is missing; otherwise it says what to install.
# Usage: setup.sh bench|static|test|book|release
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/apt.sh

purpose=${1:-test}
# One place for the version; a prebuilt cargo-deny of this version on PATH is used as it is.
deny_version=0.20.2
# The same for mdbook, which `make book` alone needs.
book_version=0.5.4
# For `make release`: the bill of materials, and zig's C compiler and linker, which build for another machine.
cyclonedx_version=0.5.9
zigbuild_version=0.24.1
zig_version=0.16.0
# Plays the collection of packaging/ansible against hosts in namespaces.
ansible_version=2.19.14
# Classes made of Grafana's schema, by which a test reads the dashboard.
grafana_version='1769699998!10.1.0'
# Schemas of GitLab's and GitHub's files, by which a test reads the recipes.
schemas_version=0.39.0
# Schemas of Kubernetes' resources, by which a test reads the manifest.
kubernetes_version=1.37.0
# Sees change points too; a test shows both.
otava_version=0.8.0
tools=${CARGO_TARGET_DIR:-target}/tools

say() { echo "setup: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
may_install() { [ "$(id -u)" -eq 0 ] && have apt-get; }

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
    for package in openvswitch-switch ovn-central ovn-host irqbalance prometheus prometheus-alertmanager prometheus-node-exporter \
        postgresql tuned etcd-server; do
        if [[ " $* " == *" $package "* ]]; then
            systemctl disable --quiet "${package/%etcd-server/etcd}.service" >&2 || true
        fi
    done
    if [[ " $* " == *" nfdump "* ]]; then systemctl disable --quiet nfdump.service >&2 || true; fi
    if [[ " $* " == *" ovn-central "* ]]; then
        systemctl disable --quiet ovn-ovsdb-server-{nb,sb}.service >&2 || true
    fi
    # Its package has another name.
    if [[ " $* " == *" openssh-server "* ]]; then systemctl disable --quiet ssh.service ssh.socket >&2 || true; fi
)

# wish LOSS PACKAGE…: installed where that may be done and never insisted on.
wish() {
    local loss=$1
    shift
    [ $# -gt 0 ] || return 0
    if may_install && install "$@"; then return 0; fi
    say "$loss, missing here: $* (on Debian: sudo apt-get install $*)"
}

# Program and the Debian package that has it.
needs=("cc gcc" "curl curl" "${PROTOC:-protoc} protobuf-compiler")
if [ "$purpose" = test ]; then
    needs+=("ip iproute2" "tc iproute2" "nft nftables" "ethtool ethtool" "sysctl procps" "unshare util-linux"
        "setpriv util-linux" "flock util-linux" "timeout coreutils")
fi
# The compiler for the C that is built in, SQLite.
case $purpose in
static | release | sysext) needs+=("musl-gcc musl-tools" "readelf binutils") ;;
esac
case $purpose in
release | sysext) needs+=("mksquashfs squashfs-tools") ;;
esac
if [ "$purpose" = release ]; then
    needs+=("qemu-aarch64-static qemu-user-static" "dpkg-deb dpkg" "xz xz-utils" "python3 python3")
fi

packages=()
for need in "${needs[@]}"; do
    read -r program package <<<"$need"
    # curl is only for fetching rustup.
    if [ "$program" = curl ] && { have cargo || have rustup; }; then continue; fi
    PATH=$PATH:/usr/sbin:/sbin have "$program" || packages+=("$package")
done
# gcc alone does not bring the C library's start files.
if [ ! -e /usr/include/stdlib.h ]; then packages+=(libc6-dev); fi
# The client of etcd is made of descriptions that include protobuf's own. Without them its build stops.
protoc=$(command -v "${PROTOC:-protoc}" || echo /usr/bin/protoc)
descriptions=google/protobuf/descriptor.proto
if [ ! -e "${PROTOC_INCLUDE:-${protoc%/bin/*}/include}/$descriptions" ] && [ ! -e "/usr/include/$descriptions" ]; then
    packages+=(libprotobuf-dev)
fi
# Without these neither rustup nor cargo can trust its server.
if [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then packages+=(ca-certificates); fi

if [ ${#packages[@]} -gt 0 ]; then
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
    if may_install; then
        install "${packages[@]}"
    else
        say "missing here: ${packages[*]}"
        say "install them, on Debian: sudo apt-get install ${packages[*]}"
        have cargo || [ -x "$HOME/.cargo/bin/cargo" ] || say "and rustup from https://rustup.rs, it reads rust-toolchain.toml"
        exit 3
    fi
fi

# The xdp engine's programs are compiled when nicety is built. Without these the build works and
# the engine is left out.
bpf=()
have "${CLANG:-clang}" || bpf+=(clang)
[ -e /usr/include/bpf/bpf_helpers.h ] || bpf+=(libbpf-dev)
[ -e /usr/include/linux/bpf.h ] || bpf+=(linux-libc-dev)
wish "the xdp engine will not be built in" "${bpf[@]}"

# Without these, tests say what they skip.
if [ "$purpose" = test ]; then
    # The switches that paths are made of, and irqbalance, beside which tuning is tried in the lab.
    switches=()
    [ -x /usr/lib/openvswitch-switch/ovs-vswitchd ] || PATH=$PATH:/usr/sbin have ovs-vswitchd ||
        switches+=(openvswitch-switch)
    PATH=$PATH:/usr/sbin have ovn-northd || switches+=(ovn-central)
    have ovn-controller || switches+=(ovn-host)
    [ -x /usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk ] || switches+=(openvswitch-switch-dpdk)
    have dpdk-testpmd || switches+=(dpdk-dev)
    PATH=$PATH:/usr/sbin have irqbalance || switches+=(irqbalance)
    # Loads the profile that persist writes, in a mount namespace and with a bus of its own.
    PATH=$PATH:/usr/sbin have tuned-adm || switches+=(tuned)
    have dbus-daemon || switches+=(dbus)
    # Kills an apply before each of its system calls.
    have strace || switches+=(strace)
    wish "some tests will be skipped" "${switches[@]}"
    # The compiler for the C in the static binary, which is tried on another kernel.
    if ! have musl-gcc || ! have readelf; then
        wish "the static binary will not be tried" musl-tools binutils
    fi
    have chromium || have chromium-browser || have google-chrome ||
        wish "pages will not be tried in a browser" chromium
    have tmux || wish "live views will not be tried on a terminal" tmux
    have tcpdump || wish "captures of lost frames will not be read by tcpdump" tcpdump
    have prometheus || wish "metrics will not be scraped" prometheus
    { have prometheus-alertmanager && have amtool; } || wish "alerts will not be sent" prometheus-alertmanager
    have prometheus-node-exporter || wish "metrics of a run will not be read by node_exporter" prometheus-node-exporter
    { [ -x /usr/sbin/sshd ] && have ssh; } ||
        wish "the Ansible collection will not be played" openssh-server openssh-client
    { have nfdump && have nfcapd; } || wish "flows of bills will not be read by nfdump" nfdump
    have nfacctd || PATH=$PATH:/usr/sbin have nfacctd || wish "flows of bills will not be read by pmacct" pmacct
    have buildah || wish "the container will not be built" buildah
    have mksquashfs || wish "the image for systemd-sysext will not be built" squashfs-tools
    # Machines of libvirt are started in namespaces of the test; its services are not installed.
    libvirt=()
    [ -x /usr/sbin/libvirtd ] || libvirt+=(libvirt-daemon)
    compgen -G "/usr/lib/*/libvirt/connection-driver/libvirt_driver_qemu.so" >/dev/null ||
        libvirt+=(libvirt-daemon-driver-qemu)
    have virsh || libvirt+=(libvirt-clients)
    have qemu-system-x86_64 || libvirt+=(qemu-system-x86)
    wish "names of libvirt will not be tried" "${libvirt[@]}"
    have etcd || wish "a cluster will not be tried with etcd" etcd-server
    have etcdctl || wish "a cluster will not be tried with etcd" etcd-client
    compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null ||
        wish "runs will not be kept on a server" postgresql
fi

if ! have cargo && [ ! -x "$HOME/.cargo/bin/cargo" ]; then
    if [ "$(id -u)" -eq 0 ] || [ "${CI:-}" = true ]; then
        say "installing rustup for the toolchain in rust-toolchain.toml"
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
            sh -s -- -y --no-modify-path --profile minimal --default-toolchain none >&2
    else
        say "missing here: cargo; install rustup from https://rustup.rs, it reads rust-toolchain.toml"
        exit 3
    fi
fi
source scripts/toolchain.sh
# rustup fetches the pinned toolchain and its components on first use.
cargo --version >/dev/null || { say "cargo cannot start, see the lines above"; exit 3; }

# Without its server and its watcher mdbook builds in a third of the time. `make book` opens files, nothing listens.
if [ "$purpose" = book ]; then
    export PATH=$PWD/$tools/bin:$tools/bin:$PATH
    if [ "$(mdbook --version 2>/dev/null)" != "mdbook v$book_version" ]; then
        say "building mdbook $book_version into $tools, once; this takes a few minutes"
        cargo install mdbook --version "$book_version" --locked --debug --no-default-features --features search \
            --root "$tools" --target-dir "$tools/build" --quiet >&2
        rm -rf "$tools/build"
    fi
fi

# Part of the tests runs as an ordinary user, who may not start an interpreter in root's home, as pyenv's is: Debian's first.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

# python_tools NAME [--with-deps] PACKAGE…: a virtual environment of Python with these packages, and with what they need
# where that is said; once.
python_tools() {
    local place=$tools/$1 deps=(--no-deps)
    if [ "$2" = --with-deps ]; then
        deps=()
        set -- "$1" "${@:3}"
    fi
    # Its programs name their interpreter by path, so it does not move with the checkout.
    local wanted="${*:2} with $python in $PWD"
    [ "$(cat "$place/has" 2>/dev/null)" != "$wanted" ] || return 0
    # Debian's python3 makes none without this package.
    "$python" -c 'import ensurepip' 2>/dev/null || { may_install && install python3-venv; } || return 1
    say "fetching ${*:2} into $place, once"
    rm -rf "$place"
    "$python" -m venv "$place" >&2 && "$place/bin/pip" install --quiet "${deps[@]}" "${@:2}" >&2 || return 1
    echo "$wanted" >"$place/has"
}

if [ "$purpose" = release ]; then
    python_tools cross "ziglang==$zig_version" "cargo-zigbuild==$zigbuild_version" || {
        say "missing here: zig and cargo-zigbuild, which build for arm64; check the network, and python3-venv"
        exit 3
    }
    export PATH=$PWD/$tools/bin:$tools/bin:$PATH
    if [ "$(cargo-cyclonedx cyclonedx --version 2>/dev/null)" != "cargo-cyclonedx-cyclonedx $cyclonedx_version" ]; then
        say "building cargo-cyclonedx $cyclonedx_version into $tools, once; this takes a few minutes"
        cargo install cargo-cyclonedx --version "$cyclonedx_version" --locked --debug --root "$tools" \
            --target-dir "$tools/build" --quiet >&2
        rm -rf "$tools/build"
    fi
fi

if [ "$purpose" = test ] && ! python_tools ansible --with-deps "ansible-core==$ansible_version"; then
    say "the Ansible collection will not be played: no ansible-core"
fi
if [ "$purpose" = test ] && ! python_tools grafana "grafana-foundation-sdk==$grafana_version"; then
    say "the dashboard will not be read by Grafana's schema: no grafana-foundation-sdk"
fi
if [ "$purpose" = test ] && ! python_tools ci --with-deps "check-jsonschema==$schemas_version"; then
    say "the recipes for build servers will not be read by their schemas: no check-jsonschema"
fi
if [ "$purpose" = test ] && ! python_tools kubernetes --with-deps "kubernetes-validate==$kubernetes_version"; then
    say "the manifest for Kubernetes will not be read by its schemas: no kubernetes-validate"
fi
if [ "$purpose" = test ] && ! python_tools otava --with-deps "apache-otava==$otava_version"; then
    say "change points will not be shown beside Otava's: no apache-otava"
fi

if [ "$purpose" = test ]; then
    for component in fmt clippy; do
        if ! cargo "$component" --version >/dev/null 2>&1; then
            have rustup || { say "missing here: cargo $component; install your toolchain's package of it"; exit 3; }
            rustup component add "${component/fmt/rustfmt}" >&2
        fi
    done
    export PATH=$PWD/$tools/bin:$tools/bin:$PATH
    if [ "$(cargo-deny --version 2>/dev/null)" != "cargo-deny $deny_version" ]; then
        say "building cargo-deny $deny_version into $tools, once; this takes a few minutes"
        # Without optimisation it builds in less than half the time and checks as well.
        cargo install cargo-deny --version "$deny_version" --locked --debug --root "$tools" \
            --target-dir "$tools/build" --quiet >&2
        rm -rf "$tools/build"
    fi
fi
