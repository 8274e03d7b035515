//! Ports by the names that people use for them, with libvirtd, Open vSwitch, and recorded files of Proxmox and CNI.

mod stage;
mod total;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{Ends, nicety, ready, skip};
use stage::{Host, Libvirt};

const FIRST: &str = "<interface type='ethernet'><mac address='52:54:00:00:00:01'/><model type='virtio'/></interface>";
const SECOND: &str = "<interface type='ethernet'><mac address='52:54:00:00:00:02'/><target dev='mytap'/>\
    <model type='virtio'/></interface>";

/// A policy with a tenant for each list of ports.
fn policy(tenants: &[&str]) -> String {
    let tenants = tenants
        .iter()
        .enumerate()
        .map(|(number, ports)| format!("[[tenant]]\nname = \"t{number}\"\nports = [{ports}]\n"));
    let tenants: String = tenants.collect();
    format!("[link]\ncapacity = \"100mbit\"\nadopt = \"cap\"\nperiod = \"200ms\"\n{tenants}")
}

#[test]
fn a_machine_of_libvirt_is_followed() {
    let Some(host) = Host::new() else { return };
    let Some(mut libvirt) = Libvirt::new(&host) else {
        return;
    };
    libvirt.define("web 01", &format!("{FIRST}{SECOND}"));
    let policy = policy(&[
        "\"libvirt:web 01/net0\", \"libvirt:web 01/52:54:00:00:00:02\"",
        "\"libvirt:nobody/net0\", \"libvirt:web 01/52:54:00:00:00:03\"",
    ]);
    let file = host.path("policy.toml");
    fs::write(&file, &policy).unwrap();
    let strict = host
        .police(&["run", file.to_str().unwrap(), "--strict"])
        .run();
    strict.assert_code(2);
    assert!(
        strict.only_line().ends_with(
            "tenant \"t0\": libvirt:web 01/net0 does not resolve to an interface: the domain \"web 01\" is shut off; its limit \
             comes when it starts; or start without --strict, which waits for it"
        ),
        "{strict:?}"
    );

    // Shut off, and a name that nobody has: said, and waited for.
    let mut daemon = host.daemon(&policy, |call| call);
    for line in [
        "port libvirt:web 01/net0 waits: the domain \"web 01\" is shut off; its limit comes when it starts\n",
        "port libvirt:nobody/net0 waits: libvirt has no domain \"nobody\"; correct the name, see virsh list --all\n",
    ] {
        daemon.until(line, |daemon| daemon.stderr().contains(line));
    }
    assert_eq!(host.port(0), (String::new(), 0));
    let explained = "t1: none of its ports can be limited now; port libvirt:nobody/net0 waits: libvirt has no domain \"nobody\"; \
         correct the name, see virsh list --all\n";
    daemon.until(explained, |_| {
        host.police(&["status", "t1"]).run().stdout == explained
    });

    libvirt.virsh("start --paused 'web 01'");
    let begin = Instant::now();
    daemon.until("limits of the machine", |_| {
        host.is_limited("vnet0") && host.is_limited("mytap")
    });
    println!("limited {:?} after virsh start", begin.elapsed());
    daemon.until("the interfaces in the status", |_| {
        host.port(0).0 == "vnet0" && host.port(1).0 == "mytap" && host.port(0).1 > 0
    });
    daemon.assert_err("port libvirt:web 01/net0 (vnet0) is back\n");
    for name in ["libvirt:web 01/net0", "vnet0"] {
        let line = host.police(&["status", name]).run();
        let line = &line.assert_code(0).stdout;
        assert!(
            line.starts_with("libvirt:web 01/net0 (vnet0), a port of t0: "),
            "{line}"
        );
    }
    let table = host.police(&["status"]).run();
    let table = &table.assert_code(0).stdout;
    assert!(table.contains("names of libvirt: told "), "{table}");
    let row = table
        .lines()
        .find(|line| line.contains("/net0") && line.contains("vnet0"));
    assert!(row.is_some(), "{table}");

    // Commands take names too.
    let name = "libvirt:web 01/net0";
    let stats = nicety(["port", "list", name, "--window", "100ms"]);
    let stats = host.inside(stats).run();
    assert!(stats.assert_code(0).stdout.contains("vnet0"), "{stats:?}");
    assert_eq!(stats.stderr, "libvirt:web 01/net0 is vnet0\n");
    let none = host.inside(nicety(["port", "list", "libvirt:nobody/net0"]));
    none.run().refused("libvirt:nobody/net0 does not resolve to an interface: libvirt has no domain \"nobody\"; correct the name, see virsh list --all");

    // An interface that is plugged in, and out again.
    let hot = FIRST.replace("01'/>", "03'/><target dev='hot0'/>");
    fs::write(host.path("hot.xml"), hot).unwrap();
    let hot = format!(
        "attach-device 'web 01' {} --live",
        host.path("hot.xml").display()
    );
    libvirt.virsh(&hot);
    daemon.until("the limit of what was plugged in", |_| {
        host.port(3).0 == "hot0" && host.is_limited("hot0")
    });
    libvirt.virsh("detach-interface 'web 01' ethernet --mac 52:54:00:00:00:03 --live");
    daemon.until("what was plugged out", |_| host.port(3).0.is_empty());
    assert_eq!(host.port(0).0, "vnet0");

    // What libvirt limits of what the machine receives is its own affair.
    if tuned(&host, "--inbound 500,500,500") {
        let periods = || host.status()["periods"].as_u64().unwrap();
        let before = periods();
        daemon.until("three periods", |_| periods() > before + 3);
        let explained = host.police(&["status", "vnet0"]).run();
        let line = &explained.assert_code(0).stdout;
        assert!(line.contains("its limit of "), "{line}");
    }
    // What it limits of what the machine sends is shared below.
    if tuned(&host, "--outbound 500,500,500") {
        let limited = "port libvirt:web 01/net0 (vnet0): libvirt limits it to 4mbit";
        daemon.until_err(limited);
        assert!(tuned(&host, "--outbound 0"));
        let gone = "what another program had limited it to is gone";
        daemon.until_err(gone);
    }

    // libvirtd is killed and starts again: the machine runs on, and so does its limit.
    libvirt.signal("KILL");
    host.police(&["poke"]).run().assert_code(0);
    daemon.until_err("names of libvirt: virsh: ");
    assert_eq!(host.port(0).0, "vnet0");
    libvirt.start();
    host.police(&["poke"]).run().assert_code(0);
    daemon.until_err("names of libvirt: told again\n");
    // It hangs: periods go on, and what was told last holds.
    libvirt.signal("STOP");
    host.police(&["poke"]).run().assert_code(0);
    let before = host.status()["periods"].as_u64().unwrap();
    daemon.until_err("names of libvirt: virsh has not answered within 5 s; see systemctl status libvirtd; ports stay as they were told last\n");
    daemon.until("periods while libvirt hangs", |_| {
        let status = host.status();
        let trouble = status["names"][0]["trouble"].as_str();
        status["periods"].as_u64().unwrap() >= before + 5
            && trouble.is_some_and(|trouble| trouble.contains("within 5 s"))
    });
    assert_eq!(host.port(0).0, "vnet0");
    libvirt.signal("CONT");

    // Shut off and started again: another interface, the same tenant.
    libvirt.virsh("destroy 'web 01'");
    daemon.until("a machine that is shut off", |_| host.port(0).0.is_empty());
    libvirt.virsh("start --paused 'web 01'");
    daemon.until("limits of the machine again", |_| {
        let (interface, limit) = host.port(0);
        limit > 0 && interface.starts_with("vnet") && host.is_limited(&interface)
    });
    assert_ne!(host.port(0).0, "vnet0");

    let interface = host.port(0).0;
    daemon.stop();
    assert!(!host.is_limited(&interface) && !host.is_limited("mytap"));
}

/// Has libvirt limit the machine itself; false, and a line that says so, where this kernel has nothing to do it with.
fn tuned(host: &Host, words: &str) -> bool {
    let said = host.sh(&format!(
        "virsh --quiet domiftune 'web 01' vnet0 --live {words} 2>&1 || true"
    ));
    match said.trim() {
        "" => true,
        why if why.contains("Error: ") => {
            let why = why
                .rsplit("Error: ")
                .next()
                .and_then(|why| why.lines().next());
            let why = why.unwrap_or_default();
            skip(format_args!("domiftune {words}: {why}"));
            false
        }
        why => panic!("{why}"),
    }
}

/// Open vSwitch without the kernel's module. Its programs end with the shell, and that with its standard input.
const SWITCH: &str = "
set -e
export PATH=$PATH:/usr/sbin:/usr/share/openvswitch/scripts OVS_RUNDIR=@
ovsdb-tool create @/conf.db /usr/share/openvswitch/vswitch.ovsschema
setpriv --pdeathsig KILL ovsdb-server @/conf.db --remote=punix:@/db.sock --unixctl=@/server.ctl --log-file=@/server.log --no-chdir 2>/dev/null &
ovs-vsctl --retry --timeout=60 --no-wait init
setpriv --pdeathsig KILL ovs-vswitchd unix:@/db.sock --unixctl=@/switch.ctl --log-file=@/switch.log --no-chdir 2>/dev/null &
ovs-vsctl --timeout=60 add-br br0 -- set bridge br0 datapath_type=netdev
for name in v1 v2 v3; do
    ip link add $name type veth peer name ${name}p
    ip link set $name up
    ovs-vsctl --timeout=60 add-port br0 $name
done
ovs-vsctl set Interface v2 external_ids:iface-id=4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5b
echo ready
read end
";

#[test]
fn ports_of_open_vswitch_proxmox_and_pods_are_found() {
    let Some(host) = Host::new() else { return };
    for program in ["/usr/sbin/ovs-vswitchd", "/usr/bin/ovs-vsctl"] {
        if !Path::new(program).exists() {
            skip(format_args!(
                "there is no {program}; apt install openvswitch-switch"
            ));
            return;
        }
    }
    let dir = host.dir.path().to_str().unwrap().to_owned();
    let _switch = switch(&host, &dir);
    // What a host of Proxmox and a node of Kubernetes have.
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../police/tests");
    let recorded = recorded.display();
    host.sh(&format!(
        "umask 022; cp -r {recorded}/pve/* /etc/pve/; cp {recorded}/cni/* /var/lib/cni/results/
         chown -R 0:0 /etc/pve /var/lib/cni; chmod -R go-w /etc/pve /var/lib/cni
         ip link add tap101i1 type veth peer name in101
         ip link add veth5d2a91c7 type veth peer name in-web"
    ));
    let policy = policy(&[
        "\"ovs:v1\", \"neutron:4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5b\"",
        "\"pve:101/net1\", \"pve:102/net0\"",
        "\"pod:shop/web-0/eth0\", \"pod:shop/old-0/eth0\", \"pci:ffff:ff:1f.7\"",
    ]);
    let with_switch = |call: crate::harness::Call| call.env("OVS_RUNDIR", &dir);

    // Two names of one port are refused with both.
    let file = host.path("policy.toml");
    fs::write(&file, policy.replace("\"ovs:v1\"", "\"ovs:v2\"")).unwrap();
    let twice = with_switch(host.police(&["run", file.to_str().unwrap()])).run();
    twice.assert_code(2);
    assert!(
        twice.only_line().ends_with(
            "tenant \"t0\": neutron:4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5b is v2, which is ovs:v2 too; remove one of them"
        ),
        "{twice:?}"
    );

    let mut daemon = host.daemon(&policy, with_switch);
    let ports = || (0..7).map(|at| host.port(at).0).collect::<Vec<_>>();
    daemon.until("all ports", |_| {
        ports() == ["v1", "v2", "tap101i1", "", "veth5d2a91c7", "", ""]
    });
    daemon.until("their limits", |_| {
        ["v1", "v2", "tap101i1", "veth5d2a91c7"]
            .iter()
            .all(|port| host.is_limited(port))
    });
    let said = daemon.stderr();
    for line in [
        "port pve:102/net0 waits: the guest 102 has no interface veth102i0 now; its limit comes when it starts\n",
        "port pod:shop/old-0/eth0 waits: the CNI plugin has not told the pod's interface on this host; ",
        "port pci:ffff:ff:1f.7 waits: there is no PCI device ffff:ff:1f.7; see lspci -D\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    // A container starts.
    host.sh("ip link add veth102i0 type veth peer name in102");
    daemon.until("the limit of the container", |_| {
        host.is_limited("veth102i0")
    });
    // A reload keeps them, and refuses two names of one port.
    fs::write(&file, policy.replace("\"100mbit\"", "\"80mbit\"")).unwrap();
    host.police(&["reload"]).run().assert_code(0);
    daemon.until("the ports of the new policy", |_| {
        host.status()["capacity_bps"] == 80e6
            && ports() == ["v1", "v2", "tap101i1", "veth102i0", "veth5d2a91c7", "", ""]
    });
    assert!(!daemon.stderr().contains("is gone"), "{}", daemon.stderr());
    fs::write(&file, policy.replace("\"ovs:v1\"", "\"v2\"")).unwrap();
    let twice = host.police(&["reload"]).run();
    twice.assert_code(1);
    assert!(
        twice
            .only_line()
            .ends_with("is v2, which is v2 too; remove one of them"),
        "{twice:?}"
    );
    assert!(host.is_limited("v1") && host.is_limited("v2"));
    fs::write(&file, &policy).unwrap();
    // Neutron moves its port to another interface; the old one gets back what was found there.
    let vsctl = format!("OVS_RUNDIR={dir} ovs-vsctl --timeout=60");
    let id = "external_ids:iface-id=4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5b";
    host.sh(&format!(
        "{vsctl} remove Interface v2 external_ids iface-id -- set Interface v3 {id}"
    ));
    host.police(&["poke"]).run().assert_code(0);
    daemon.until("the port at its new interface", |_| {
        host.port(1).0 == "v3" && host.is_limited("v3") && !host.is_limited("v2")
    });
    // Another tenant's name for the same port: the first one keeps it.
    host.sh(&format!(
        "{vsctl} set Interface v1 {id} -- remove Interface v3 external_ids iface-id"
    ));
    host.police(&["poke"]).run().assert_code(0);
    daemon.until_err("waits: it is v1, which is ovs:v1 too; remove one of them from the policy\n");

    // Killed: the next one, with a smaller policy, puts back what was found at the others.
    daemon.kill();
    assert!(host.is_limited("tap101i1"));
    host.sh(&format!(
        "{vsctl} remove Interface v1 external_ids iface-id"
    ));
    let smaller = policy.replace("\"pve:101/net1\", ", "");
    let _ = fs::remove_file(host.path("state/state.json"));
    let daemon = host.daemon(&smaller, with_switch);
    assert!(!host.is_limited("tap101i1") && host.is_limited("veth102i0"));
    daemon.stop();
    for port in ["v1", "v2", "v3", "veth102i0", "veth5d2a91c7"] {
        assert!(!host.is_limited(port), "{port}");
    }
}

/// The switch, which ends with its input, or when it is dropped.
fn switch(host: &Host, dir: &str) -> Ends {
    let script = host.path("switch.sh");
    fs::write(&script, SWITCH.replace('@', dir)).unwrap();
    let enter = host.enter();
    let mut command = Command::new(&enter[0]);
    command
        .args(&enter[1..])
        .arg("sh")
        .arg(&script)
        .stdin(Stdio::piped());
    ready(command)
}

#[test]
fn a_hook_ends_soon_whatever_the_daemon_does() {
    let Some(host) = Host::new() else { return };
    let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/libvirt/qemu.d/nicety");
    // Its program is found where the package has it.
    let program = env!("CARGO_BIN_EXE_nicety");
    let state = host.path("state");
    let hook = fs::read_to_string(hook).unwrap();
    assert!(hook.contains("\n/usr/bin/nicety police poke "), "{hook}");
    let hook = hook.replace(
        "/usr/bin/nicety police poke",
        &format!("{program} police poke --state {}", state.display()),
    );
    fs::write(host.path("hook"), hook).unwrap();
    let run = |what: &str| {
        let begin = Instant::now();
        // As libvirt calls it, which waits for the end of its output.
        let call = format!(
            "echo '<domain/>' | sh {} web01 started begin - 2>&1",
            host.path("hook").display()
        );
        assert_eq!(host.sh(&call), "", "{what}");
        println!("{what}: {:?}", begin.elapsed());
        assert!(begin.elapsed() < Duration::from_secs(10), "{what}");
    };
    run("no daemon");
    host.sh("ip link add tap101i1 type veth peer name in101");
    let mut daemon = host.daemon(&policy(&["\"pve:101/net1\""]), |call| call);
    let said = "port pve:101/net1 waits: Proxmox has no guest 101 on this host; see qm list and pct list\n";
    daemon.until_err(said);
    host.sh("mkdir -p /etc/pve/qemu-server; echo net1: virtio >/etc/pve/qemu-server/101.conf");
    run("a daemon");
    daemon.until("the port", |_| host.is_limited("tap101i1"));
    daemon.signal(Signal::STOP);
    run("a daemon that stands still");
    daemon.kill();
    run("a daemon that was killed");
    // A daemon without names does not know the signal as others do: none is sent.
    host.police(&["restore"]).run().assert_code(0);
    let _ = fs::remove_file(host.path("state/state.json"));
    let daemon = host.daemon(&policy(&["\"tap101i1\""]), |call| call);
    let poked = host.police(&["poke"]).run();
    assert_eq!(
        poked.assert_code(0).stderr,
        "the policy has no names; nothing to ask\n"
    );
    daemon.stop();
}
