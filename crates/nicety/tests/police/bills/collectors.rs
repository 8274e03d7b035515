//! Samples as flows, in the words of those who collect flows: nfdump and pmacct.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child;
use nicety_report::ipfix::tenant_number;
use rustix::process::{Pid, Signal, kill_process};

use super::{bill, periods};
use crate::harness::alone;
use crate::uplink::{POLICY, Uplink, lacks};

/// A collector; ended when dropped.
struct Collector(Child);

impl Collector {
    fn start(uplink: &Uplink, words: &[&str]) -> Self {
        let enter = uplink.lab.enter();
        let mut command = Command::new(&enter[0]);
        command.args(&enter[1..]).args(words);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(child::spawn(command).unwrap())
    }

    /// Ends it as its operator does, so that it writes what it has.
    fn end(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // Fails only when it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The daemon has kept samples of a flood of a; what a and b are billed: bytes sent.
fn kept(uplink: &Uplink) -> [u64; 2] {
    let policy = POLICY.replacen("[[tenant]]", "[bills]\n\n[[tenant]]", 1);
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    uplink.lab.sh("ip link set lo up");
    let mut daemon = uplink.daemon(&[]);
    let sender = uplink.trickle("a");
    periods(uplink, &mut daemon, 3);
    drop(sender);
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    let bill = bill(uplink, &[]);
    [0, 1].map(|tenant| bill["tenants"][tenant]["sent"]["bytes"].as_u64().unwrap())
}

/// Sends until the collector has what is wanted: it may not listen yet.
fn send(uplink: &Uplink, port: u16, mut there: impl FnMut() -> bool) {
    let to = format!("udp://127.0.0.1:{port}");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < deadline, "the collector has nothing");
        // A port that nobody listens at refuses the second datagram.
        uplink.police(&["bill", "--ipfix", &to, "--quiet"]).run();
        std::thread::sleep(Duration::from_millis(500));
        if there() {
            return;
        }
    }
}

#[test]
fn nfdump_reads_what_every_tenant_has_used() {
    let _alone = alone();
    let test = "nfdump_reads_what_every_tenant_has_used";
    if lacks(test, &["nfcapd", "nfdump"]) {
        return;
    }
    let Some(uplink) = Uplink::new(test) else {
        return;
    };
    let [a, b] = kept(&uplink);
    assert!(a > 100_000);
    let flows = uplink.path("flows");
    fs::create_dir(&flows).unwrap();
    let words = [
        "nfcapd",
        "-w",
        flows.to_str().unwrap(),
        "-b",
        "127.0.0.1",
        "-p",
        "4739",
        "-t",
        "3600",
    ];
    let collector = Collector::start(&uplink, &words);
    let socket = || uplink.lab.sh("ss -Hlun 'sport = :4739'");
    let deadline = Instant::now() + Duration::from_secs(30);
    while socket().is_empty() {
        assert!(Instant::now() < deadline, "nfcapd does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut sent = 0;
    send(&uplink, 4739, || {
        sent += 1;
        sent > 0
    });
    collector.end();
    let mut lines = String::new();
    for file in fs::read_dir(&flows).unwrap() {
        let file = file.unwrap().path();
        let words = [
            "-r",
            file.to_str().unwrap(),
            "-q",
            "-N",
            "-o",
            "fmt:%ivrf %dir %byt",
        ];
        let output = Command::new("nfdump").args(words).output().unwrap();
        lines += &String::from_utf8_lossy(&output.stdout);
    }
    let bytes = |tenant: &str, direction: &str| -> u64 {
        let number = tenant_number(tenant).to_string();
        let rows = lines
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let of = rows.filter(|row| row.len() == 3 && row[0] == number && row[1] == direction);
        of.map(|row| row[2].parse::<u64>().unwrap()).sum()
    };
    assert_eq!([bytes("a", "I"), bytes("b", "I")], [a, b], "{lines}");
}

#[test]
fn pmacct_reads_what_every_tenant_has_used() {
    let _alone = alone();
    let test = "pmacct_reads_what_every_tenant_has_used";
    if lacks(test, &["nfacctd"]) {
        return;
    }
    let Some(uplink) = Uplink::new(test) else {
        return;
    };
    let [a, _] = kept(&uplink);
    let (names, config, out) = (
        uplink.path("names"),
        uplink.path("nfacctd"),
        uplink.path("flows.csv"),
    );
    fs::write(&names, "name=tenant field_type=371 len=64 semantics=str\n").unwrap();
    let text = format!(
        "daemonize: false\nnfacctd_port: 4740\nnfacctd_ip: 127.0.0.1\nplugins: print\nprint_output: csv\n\
         print_output_file: {}\nprint_refresh_time: 2\naggregate: tenant\naggregate_primitives: {}\n",
        out.display(),
        names.display()
    );
    fs::write(&config, text).unwrap();
    // It does not end when it is asked to, and its parts outlive it.
    let words = [
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "nfacctd",
        "-f",
        config.to_str().unwrap(),
    ];
    let collector = Collector::start(&uplink, &words);
    let mut said = String::new();
    send(&uplink, 4740, || {
        said = fs::read_to_string(&out).unwrap_or_default();
        said.lines().count() > 1
    });
    drop(collector);
    let mut lines = said.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| {
        head.iter()
            .position(|column| column.eq_ignore_ascii_case(name))
            .unwrap()
    };
    let rows = lines.map(|line| line.split(',').collect::<Vec<_>>());
    let mut of = rows.filter(|row| row[at("tenant")] == "a");
    let bytes: u64 = of.next().unwrap()[at("bytes")].parse().unwrap();
    // Both ways, as often as it was sent.
    assert!(bytes >= a, "{said}");
}
