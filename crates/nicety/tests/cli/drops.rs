//! `nicety drops` on guests and containers that are made for it, with real packets.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{
    Call, NICETY, NOBODY, Running, SHORT, alone, becomes_nobody, call, nicety, root,
};
use crate::lab::Lab;

/// A guest, which never reads its tap, and a container whose packets a rule drops where they come in.
const SETUP: &str = r#"
set -e
quiet='for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done'
eval "$quiet"
ip link set lo up
setpriv --pdeathsig KILL DIR/qemu-system-x86_64 DIR/guest.py -name guest=web01 >/dev/null &
setpriv --pdeathsig KILL unshare -n sh -c "$quiet; echo > DIR/ready; exec sleep 3600" >/dev/null &
echo $! > DIR/pid
until [ -e DIR/ready ] && [ -e DIR/tap ]; do sleep 0.01; done
ip link set tap0 txqueuelen 10
ip address add 192.0.2.1/24 dev tap0
ip link set tap0 up
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap0
ip link add c1 type veth peer name c0 netns $(cat DIR/pid)
ip link set c1 up
in="nsenter -t $(cat DIR/pid) -n"
$in ip address add 198.51.100.1/24 dev c0
$in ip link set c0 up
$in ip neighbour add 198.51.100.2 lladdr 02:00:00:00:00:03 dev c0
nft 'table netdev t { chain c { type filter hook ingress device c1 priority 0; policy drop; }; }'
"#;

/// TUNSETIFF of a tap without headers (linux/if_tun.h).
const GUEST: &str = "
import fcntl, struct, time
tap = open('/dev/net/tun', 'r+b', buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH', b'tap0', 0x1002))
open('DIR/tap', 'w').close()
time.sleep(3600)
";

struct Host {
    lab: Lab,
    dir: TempDir,
}

impl Host {
    fn new(test: &str) -> Option<Self> {
        if !root() {
            println!("SKIP {test}: only root may load the program");
            return None;
        }
        for program in ["/usr/bin/python3", "/usr/sbin/nft", "/dev/net/tun"] {
            if fs::metadata(program).is_err() {
                println!("SKIP {test}: there is no {program}");
                return None;
            }
        }
        let dir = tempfile::tempdir().unwrap();
        symlink("/usr/bin/python3", dir.path().join("qemu-system-x86_64")).unwrap();
        let at = dir.path().to_str().unwrap();
        fs::write(dir.path().join("guest.py"), GUEST.replace("DIR", at)).unwrap();
        let lab = Lab::with(test, &SETUP.replace("DIR", at))?;
        Some(Self { lab, dir })
    }

    /// The command, once it counts.
    fn start(&self, words: &[&str]) -> Running {
        let call = nicety(["drops"].iter().chain(words));
        let mut running = self.lab.inside(call.limit(Duration::from_secs(60))).start();
        running.until("the beginning", |running| {
            running.stderr().contains("watching")
        });
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

fn json(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schema/drops.schema.json"
    );
    let schema = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    value
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
    let _alone = alone();
    let Some(host) = Host::new("packets_are_of_the_guest_and_the_container_whose_they_were") else {
        return;
    };
    let running = host.start(&["--window", "4s", "--json"]);
    host.send();
    let ended = running.wait();
    let report = json(&ended.assert_code(0).stdout);
    // Its queue holds ten, and the queueing discipline before it ten more at most.
    let (name, line, packets) = place(&report, ("guest", "tap0"), &["FULL_RING", "QDISC_DROP"]);
    assert_eq!(
        (name.as_str(), line["towards"].as_str()),
        ("web01", Some("to"))
    );
    assert_eq!(line["device"], "tap0");
    assert!((475..=490).contains(&packets), "{report:#}");
    let (name, line, packets) = place(&report, ("container", "c1"), &["NETFILTER_DROP"]);
    assert!(name.starts_with("sleep (pid "), "{name}");
    assert_eq!((line["towards"].as_str(), packets), (Some("from"), 300));
    assert_eq!(line["device"], "c1");
    assert!(line["function"].as_str().is_some());

    // One of them, as text; the answer is the first line.
    let running = host.start(&["c1", "--window", "3s", "--no-header"]);
    host.send();
    let text = running.wait().assert_code(0).stdout.clone();
    assert!(text.contains("300") && !text.contains("tap0"), "{text}");
    let wrong = host.lab.inside(nicety(["drops", "web02"])).run();
    let line = "no interface and no owner of one here is called web02; nicety drops without a name shows them";
    assert_eq!(wrong.assert_code(2).only_line(), line);
    let running = host.start(&["web01", "--window", "3s"]);
    host.send();
    let text = running.wait().assert_code(0).stdout.clone();
    let first = text.lines().next().unwrap();
    assert!(
        first.contains("all of web01 (tap0), mostly because the queue"),
        "{text}"
    );
}

#[test]
fn a_user_who_has_enough_gets_what_was_seen() {
    let _alone = alone();
    let Some(host) = Host::new("a_user_who_has_enough_gets_what_was_seen") else {
        return;
    };
    let running = host.start(&["--window", "1h"]);
    host.send();
    running.signal(Signal::INT);
    let ended = running.wait();
    assert!(
        ended.assert_code(4).stdout.contains("web01 (tap0)"),
        "{}",
        ended.stdout
    );

    let call = nicety(["drops", "--follow", "--window", "200ms", "--json"]);
    let mut running = host.lab.inside(call).start();
    running.until("three windows", |running| {
        running.stdout().lines().count() >= 3
    });
    running.signal(Signal::INT);
    for line in running.wait().assert_code(0).stdout.lines() {
        json(line);
    }
}

#[test]
fn rights_are_asked_for_in_one_line_and_the_named_ones_suffice() {
    let test = "rights_are_asked_for_in_one_line_and_the_named_ones_suffice";
    if !root() || !becomes_nobody(test) {
        println!("SKIP {test}: only root becomes another user");
        return;
    }
    let ended = nicety(["drops", "--window", "1s"]).by_nobody().run();
    let line = ended.assert_code(3).only_line().to_owned();
    let command = line.split_once("once: ").unwrap().1;
    let capabilities = command.split(' ').nth(1).unwrap();
    assert_eq!(capabilities, "cap_bpf,cap_perfmon,cap_syslog+ep");
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
        println!("SKIP {test}: setcap: {set:?}");
        return;
    }
    // What is not in the bounding set, as in a container, nobody gets from a file.
    let words = [&NOBODY[..], &["--", program.to_str().unwrap(), "--version"]].concat();
    let tried = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let said = String::from_utf8_lossy(&tried.stderr);
    if said.contains("Operation not permitted") {
        println!("SKIP {test}: {}", said.trim());
        return;
    }
    let ended = as_nobody(program).run();
    let report = json(&ended.assert_code(0).stdout);
    let kinds: Vec<&str> = report["unseen"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|of| of["kind"].as_str())
        .collect();
    assert!(
        kinds.contains(&"owners") && !kinds.contains(&"functions"),
        "{report:#}"
    );
}

fn as_nobody(program: PathBuf) -> Call {
    let words = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    call(&program, ["drops", "--window", "500ms", "--json"])
        .limit(SHORT)
        .below(words)
}

#[test]
fn wrong_words_are_refused_in_one_line() {
    for (words, line) in [
        (
            &["--window", "1ms"][..],
            "--window: \"1ms\" is not between 100ms and 1h",
        ),
        (
            &["--window", "2h"],
            "--window: \"2h\" is not between 100ms and 1h",
        ),
    ] {
        let ended = nicety(["drops"].iter().chain(words)).run();
        assert_eq!(ended.assert_code(2).only_line(), line);
    }
}
