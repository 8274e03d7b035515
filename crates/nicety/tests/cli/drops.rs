//! `nicety drops` on guests and containers that are made for it, with real packets.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{
    NICETY, NOBODY, Running, as_root, becomes_nobody, call, each, nicety, root, skip,
};
use crate::lab::Lab;

/// A guest, which never reads its tap, and a container whose packets a rule drops where they come in.
const SETUP: &str = r#"
set -e
quiet='for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done'
eval "$quiet"
ip link set lo up
setpriv --pdeathsig KILL DIR/qemu-system-x86_64 DIR/guest.py -name guest=@WEB >/dev/null &
setpriv --pdeathsig KILL unshare -n sh -c "$quiet; echo > DIR/ready; exec sleep 3600" >/dev/null &
echo $! > DIR/pid
until [ -e DIR/ready ] && [ -e DIR/tap ]; do sleep 0.01; done
ip link set @TAP txqueuelen 10
ip address add 192.0.2.1/24 dev @TAP
ip link set @TAP up
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev @TAP
ip link add @VETH type veth peer name c0 netns $(cat DIR/pid)
ip link set @VETH up
in="nsenter -t $(cat DIR/pid) -n"
$in ip address add 198.51.100.1/24 dev c0
$in ip link set c0 up
$in ip neighbour add 198.51.100.2 lladdr 02:00:00:00:00:03 dev c0
nft 'table netdev t { chain c { type filter hook ingress device @VETH priority 0; policy drop; }; }'
"#;

/// TUNSETIFF of a tap without headers (linux/if_tun.h).
const GUEST: &str = "
import fcntl, struct, time
tap = open('/dev/net/tun', 'r+b', buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH', b'@TAP', 0x1002))
open('DIR/tap', 'w').close()
time.sleep(3600)
";

struct Host {
    lab: Lab,
    dir: TempDir,
    names: Names,
}

/// Of the guest, its tap and the container's interface: another test may look at the same machine, which shows both.
struct Names {
    guest: String,
    tap: String,
    veth: String,
}

impl Names {
    fn new() -> Self {
        let id = std::process::id();
        Self {
            guest: format!("web{id}"),
            tap: format!("tap{id}"),
            veth: format!("ve{id}"),
        }
    }

    fn written(&self, text: &str, dir: &str) -> String {
        text.replace("DIR", dir)
            .replace("@WEB", &self.guest)
            .replace("@TAP", &self.tap)
            .replace("@VETH", &self.veth)
    }
}

impl Host {
    fn new() -> Option<Self> {
        if !as_root("only root may load the program") {
            return None;
        }
        for program in ["/usr/bin/python3", "/usr/sbin/nft", "/dev/net/tun"] {
            if fs::metadata(program).is_err() {
                skip(format_args!("there is no {program}"));
                return None;
            }
        }
        let dir = tempfile::tempdir().unwrap();
        symlink("/usr/bin/python3", dir.path().join("qemu-system-x86_64")).unwrap();
        let at = dir.path().to_str().unwrap();
        let names = Names::new();
        fs::write(dir.path().join("guest.py"), names.written(GUEST, at)).unwrap();
        let lab = Lab::with(&names.written(SETUP, at))?;
        Some(Self { lab, dir, names })
    }

    /// The command, once it counts.
    fn start(&self, words: &[&str]) -> Running {
        let call = nicety(["drops"].iter().chain(words));
        let mut running = self
            .lab
            .inside(call.limit(Duration::from_secs(240)))
            .start();
        running.until_err("watching");
        running
    }

    /// 500 datagrams to the guest, 300 from the container.
    fn send(&self) {
        let send = |address: &str, count: u32| {
            format!(
                "bash -c 'exec 3>/dev/udp/{address}/9; for n in $(seq {count}); do echo x >&3; done'"
            )
        };
        self.lab.sh(&send("192.0.2.2", 500));
        let pid = fs::read_to_string(self.dir.path().join("pid")).unwrap();
        let inside = format!("nsenter -t {} -n ", pid.trim());
        self.lab.sh(&(inside + &send("198.51.100.2", 300)));
    }
}

/// Packets of an owner's place with one of these reasons, and that place.
fn place<'v>(
    report: &'v Value,
    (kind, interface): (&str, &str),
    reasons: &[&str],
) -> (String, &'v Value, u64) {
    let owners = report["owners"].as_array().unwrap();
    // Others of this kind may be on the machine.
    let is = |of: &&Value| of["owner"]["kind"] == kind && of["owner"]["interface"] == interface;
    let owner = owners.iter().find(is);
    let owner = owner.unwrap_or_else(|| panic!("no {kind} in {report:#}"));
    let places = owner["places"].as_array().unwrap();
    let fits = |place: &&Value| reasons.contains(&place["reason"].as_str().unwrap_or(""));
    let these: Vec<&Value> = places.iter().filter(fits).collect();
    let packets = these
        .iter()
        .map(|place| place["packets"].as_u64().unwrap())
        .sum();
    let name = owner["owner"]["name"].as_str().unwrap().to_owned();
    (
        name,
        these.first().unwrap_or_else(|| panic!("{report:#}")),
        packets,
    )
}

#[test]
fn packets_are_of_the_guest_and_the_container_whose_they_were() {
    let Some(host) = Host::new() else { return };
    let Names { guest, tap, veth } = &host.names;
    let running = host.start(&["--window", "4s", "--json"]);
    host.send();
    let ended = running.wait();
    let report = crate::schema::read(&ended.assert_code(0).stdout, "DropsReport");
    // Its queue holds ten, and the queueing discipline before it ten more at most.
    let (name, line, packets) = place(
        &report,
        ("guest", tap.as_str()),
        &["FULL_RING", "QDISC_DROP"],
    );
    assert_eq!(
        (name.as_str(), line["towards"].as_str()),
        (guest.as_str(), Some("to"))
    );
    assert_eq!(line["device"], tap.as_str());
    assert!((475..=490).contains(&packets), "{report:#}");
    let (name, line, packets) = place(&report, ("container", veth.as_str()), &["NETFILTER_DROP"]);
    assert!(name.starts_with("sleep (pid "), "{name}");
    assert_eq!((line["towards"].as_str(), packets), (Some("from"), 300));
    assert_eq!(line["device"], veth.as_str());
    assert!(line["function"].as_str().is_some());

    // One of them, as text; the answer is the first line.
    let running = host.start(&[veth, "--window", "3s", "--no-header"]);
    host.send();
    let text = running.wait().assert_code(0).stdout.clone();
    assert!(
        text.contains("300") && !text.contains(tap.as_str()),
        "{text}"
    );
    let wrong = host.lab.inside(nicety(["drops", "web02"])).run();
    let line = "no interface and no owner of one here is called web02; nicety drops without a name shows them";
    assert_eq!(wrong.assert_code(2).only_line(), line);
    let running = host.start(&[guest, "--window", "3s"]);
    host.send();
    let text = running.wait().assert_code(0).stdout.clone();
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(&format!("all of {guest} ({tap}), mostly because the queue")),
        "{text}"
    );
}

#[test]
fn a_user_who_has_enough_gets_what_was_seen() {
    let Some(host) = Host::new() else { return };
    let running = host.start(&["--window", "1h"]);
    host.send();
    running.signal(Signal::INT);
    let ended = running.wait();
    let name = format!("{} ({})", host.names.guest, host.names.tap);
    ended.assert_code(4).assert_out(&name);

    let call = nicety(["drops", "--watch", "--window", "200ms", "--json"]);
    let mut running = host.lab.inside(call).start();
    running.until("three windows", |running| {
        running.stdout().lines().count() >= 3
    });
    running.signal(Signal::INT);
    for line in running.wait().assert_code(0).stdout.lines() {
        crate::schema::read(line, "DropsReport");
    }
}

#[test]
fn rights_are_asked_for_in_one_line_and_the_named_ones_suffice() {
    if !root() || !becomes_nobody() {
        skip("only root becomes another user");
        return;
    }
    let ended = nicety(["drops", "--window", "1s"]).by_nobody().run();
    let line = ended.assert_code(3).only_line().to_owned();
    assert!(line.contains("docs/guide/drops.md"), "{line}");
    let guide = include_str!("../../../../docs/guide/drops.md");
    let command = guide
        .lines()
        .find_map(|line| line.strip_prefix("$ setcap "));
    let capabilities = command.unwrap().split(' ').next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let program = dir.path().join("nicety");
    fs::copy(NICETY, &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let set = Command::new("/usr/sbin/setcap")
        .arg(capabilities)
        .arg(&program)
        .output();
    if !set.as_ref().is_ok_and(|set| set.status.success()) {
        skip(format_args!("setcap: {set:?}"));
        return;
    }
    // What is not in the bounding set, as in a container, nobody gets from a file.
    let words = [&NOBODY[..], &["--", program.to_str().unwrap(), "--version"]].concat();
    let tried = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let said = String::from_utf8_lossy(&tried.stderr);
    if said.contains("Operation not permitted") {
        skip(format_args!("{}", said.trim()));
        return;
    }
    let words = ["drops", "--window", "500ms", "--json"];
    let ended = call(&program, words).below(NOBODY).run();
    let report = crate::schema::read(&ended.assert_code(0).stdout, "DropsReport");
    let kinds = each(&report["unseen"], |of| of["kind"].as_str());
    assert!(kinds.contains(&Some("owners")), "{report:#}");
    assert!(!kinds.contains(&Some("functions")), "{report:#}");
}

#[test]
fn wrong_words_are_refused_in_one_line() {
    for window in ["1ms", "2h"] {
        let line = format!("--window: \"{window}\" is not between 100ms and 1h");
        nicety(["drops", "--window", window]).run().refused(&line);
    }
}
