//! The functions of a real driver: their rates, and how they share a link.

use std::fs;

use serde_json::Value;

use crate::harness::{Ended, skip};
use crate::machine::Machine;

const SAID_OF_RATES: &str = "\
eth0/vf0: none → 500.0 Mbit/s
transaction 1: nicety tune undo 1 undoes it
eth0/vf2: none → 200.0 Mbit/s
transaction 2: nicety tune undo 2 undoes it
kernel: vf 0 500
kernel: vf 2 200
nicety: eth0/vf0: 1.001gbit is above the 1gbit that igb takes on this link; write at most 1gbit
code 2
nicety: eth0/vf0: igb has no minimum; leave --min away; nicety police keeps guarantees on any driver
code 2
nicety: eth0 has no function 9; its 4 are numbered from 0; see nicety port list eth0
code 2
kernel: vf 2 none
eth0/vf0: 500.0 Mbit/s → none
transaction 3: nicety tune undo 3 undoes it
kernel: vf 0 none
eth0/vf1: none → 1.0 Mbit/s
transaction 4: nicety tune undo 4 undoes it
limit not enforced: eth0/vf1 sends much/s despite 1.0 Mbit/s
code 1
eth0/vf2: none → 300.0 Mbit/s
transaction 5: nicety tune undo 5 undoes it
limit not tested: eth0/vf2 sends 0 kbit/s, less than the limit
registers, 0 local
p0: none → 50.0 Mbit/s
transaction 6: nicety tune undo 6 undoes it
p0: 50.0 Mbit/s → none
transaction 7: nicety tune undo 7 undoes it
";

const SAID_OF_SHARES: &str = "\
nicety: wrong.toml: tenant \"b\": eth0 has no function 9; correct the number, see nicety port list eth0, or start with --absent-ok
code 2
nicety: wrong.toml: tenant \"a\": the counters of eth0/vf0 wrap too often for a period of 20s; write at most 8 s
code 2
vf 0 500, vf 2 200
500.0 Mbit/s
nicety: the host refuses: 600mbit is above the hard limit of 500mbit; write at most that, or none
code 1
nicety: the host does not answer through vsock:1: Permission denied (os error 13)
code 3
written again
after the link: vf 0 500, vf 2 200
killed: vf 0 500, vf 2 200
vf 0 500, vf 2 200
taking over 3 ports from a daemon that was killed
restored the original limits of 3 ports
stopped: vf 0 700, vf 2 
vf 0 500, vf 2 200
made anew: vf 0 500, vf 2 200
stopped: vf 0 , vf 2 
";

/// The driver is loaded anew, the NIC given up, the card pulled out; functions are made anew each time.
const SAID_OF_GONE: &str = "\
gone
the other: as before
another interface: vf 0 500, vf 2 200
the other: as before
gone
another interface: vf 0 500, vf 2 200
the other: as before
gone
another interface: vf 0 500, vf 2 200
the other: as before
3
restored the original limits of 3 ports
stopped: vf 0 , vf 2 
";

/// What TCP keeps beside a flood of UDP.
const SAID_OF_SENDERS: &str = "\
no control: TCP has the link
no control: UDP takes it
eth0/vf0: none → 2.0 Mbit/s
eth0/vf1: none → 2.0 Mbit/s
limits: TCP has its half
limits: TCP has its half beside UDP
eth0/vf0: 2.0 Mbit/s → none
eth0/vf1: 2.0 Mbit/s → none
police: TCP has the half of UDP too
police: TCP has its half beside UDP
police: TCP has the half of UDP again
restored the original limits of 2 ports
";

/// Ports of the kernel's Open vSwitch.
const SAID_OF_SWITCHED: &str = "\
system@ovs-system
\"interface\": \"s0\"
\"enforcement\": \"holds\"
nicety: limit s0: somebody else's ingress qdisc is on it; remove that first, see tc qdisc show dev s0
code 1
both hold
limited again
restored the original limits of 2 ports
";

/// A machine of libvirt's whose interface `virsh domiftune` limits.
const SAID_OF_MACHINES: &str = "\
tuned: port libvirt:web01/net0 (vnet0), receiving: libvirt limits it to 4mbit; it shares below that
tuned: port libvirt:web01/net0 (vnet0): libvirt limits it to 8mbit; it shares below that
tuned: port libvirt:web01/net0 (vnet0), receiving: libvirt limits it to 2mbit; it shares below that
both: tbf 6e63: parent 1:1
killed: tbf 6e63: parent 1:1
restored: sfq 2: parent 1:1
again: tbf 6e63: parent 1:1
gone: tbf 6e63: root
restored the original limits of 2 ports
stopped
0
theirs is as it was
";

/// Whether this machine, whose files are the lab's too, has the programs that a script needs; says `SKIP` where not.
fn has(files: &[&str], packages: &str) -> bool {
    let all = files.iter().all(|file| fs::exists(file).unwrap_or(false));
    if !all {
        skip(format_args!("apt install {packages}"));
    }
    all
}

/// Plays a script, which says what is expected.
fn play(script: &str, said: &str) -> Option<(Machine, Ended)> {
    let machine = Machine::enter()?;
    let ended = machine.play(script);
    // What rollback says is on standard error.
    assert_eq!(ended.assert_code(0).stdout, said, "{}", ended.stderr);
    Some((machine, ended))
}

#[test]
fn functions_of_an_82576_have_rates() {
    let Some((machine, _)) = play(include_str!("rates.sh"), SAID_OF_RATES) else {
        return;
    };
    let out = machine.out();
    let report: Value =
        serde_json::from_str(&fs::read_to_string(out.join("list.json")).unwrap()).unwrap();
    let nic = &report["nics"][0];
    assert_eq!(nic["driver"], "igb");
    assert_eq!((&nic["enabled"], &nic["total"]), (&4.into(), &7.into()));
    assert_eq!(nic["link_mbit"], 1000);
    assert_eq!(nic["can"]["max_rate"], "1..link Mbit/s");
    assert_eq!(nic["can"]["min_rate"], "refused");
    assert_eq!(nic["can"]["counters"], "registers");
    let functions = nic["functions"].as_array().unwrap();
    let rates: Vec<_> = functions
        .iter()
        .map(|f| f["max_mbit"].as_u64().unwrap())
        .collect();
    assert_eq!(rates, [500, 0, 200, 0]);
    assert_eq!(functions[1]["mac"], "02:00:00:00:00:01");
    assert_eq!(functions[3]["vlan"], 7);
    assert_eq!(functions[0]["driver"], "igbvf");
    // Not supported is not 0.
    assert_eq!(functions[0]["min_mbit"], Value::Null);
    let list = fs::read_to_string(out.join("list")).unwrap();
    assert!(list.contains("counters registers"), "{list}");
    assert!(list.contains("500 Mbit/s"), "{list}");
}

#[test]
fn functions_of_an_82576_share_a_link() {
    play(include_str!("police.sh"), SAID_OF_SHARES);
}

#[test]
fn an_82576_goes_and_comes_again() {
    play(include_str!("gone.sh"), SAID_OF_GONE);
}

#[test]
#[ignore = "TCP finds its share anew six times under emulation: make test-all"]
fn tcp_keeps_its_share_beside_a_flood() {
    play(include_str!("share.sh"), SAID_OF_SENDERS);
}

#[test]
fn ports_of_open_vswitch() {
    let files = [
        "/usr/lib/openvswitch-switch/ovs-vswitchd",
        "/usr/share/openvswitch/vswitch.ovsschema",
    ];
    if has(&files, "openvswitch-switch") {
        play(include_str!("ovs.sh"), SAID_OF_SWITCHED);
    }
}

#[test]
#[ignore = "libvirt starts and ends machines for two minutes under emulation: make test-all"]
fn limits_of_libvirt() {
    let files = [
        "/usr/sbin/libvirtd",
        "/usr/bin/virsh",
        "/usr/bin/qemu-system-x86_64",
    ];
    let packages = "libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients qemu-system-x86";
    if has(&files, packages)
        && let Some((machine, _)) = play(include_str!("libvirt.sh"), SAID_OF_MACHINES)
    {
        print!(
            "{}",
            fs::read_to_string(machine.out().join("followed")).unwrap()
        );
    }
}
