//! What tenants receive, with real frames: the machine on the far side of the uplink sends to them.

use std::fs;

use crate::harness::{Running, skip};
use crate::uplink::{POLICY, Sender, Uplink};

/// The far side has an address, and every tenant one of the link layer that the switch knows.
pub const FAR: &str = "
in=\"nsenter -t $(cat DIR/u.pid) -n\"
$in ip address add 192.0.2.99/24 dev u0
number=1
for name in a b c; do
    nsenter -t $(cat DIR/$name.pid) -n ip link set ${name}0 address 02:00:00:00:00:0$number
    bridge fdb add 02:00:00:00:00:0$number dev ${name}1 master static
    $in ip neighbour add 192.0.2.1$number lladdr 02:00:00:00:00:0$number dev u0
    number=$((number + 1))
done
";

/// What is at the roots of the tenants' ports, without counters.
pub const ROOTS: &str = "for name in a b c; do tc qdisc show dev ${name}1 root; done";

/// Twice as much for b as for a, and c is sure of 4 Mbit/s.
fn shared() -> String {
    POLICY.replace("guarantee", "rx_guarantee")
}

/// Only a is limited.
fn one() -> String {
    POLICY.replace("ports = \"a1\"", "ports = \"a1\"\nrx_max = \"6mbit\"")
}

pub struct Far {
    pub uplink: Uplink,
}

impl Far {
    pub fn new(policy: &str) -> Option<Self> {
        let uplink = Uplink::new()?;
        let dir = uplink.dir.path().to_str().unwrap();
        uplink.lab.sh(&FAR.replace("DIR", dir));
        fs::write(uplink.path("policy.toml"), policy).unwrap();
        Some(Self { uplink })
    }

    /// About 67 Mbit/s to a tenant, by its number.
    pub fn flood(&self, number: usize) -> Sender {
        self.uplink
            .send("u", &format!("192.0.2.1{number}"), 1400, 30)
    }

    /// About 20 Mbit/s to a tenant.
    pub fn paced(&self, number: usize) -> Sender {
        self.uplink
            .send("u", &format!("192.0.2.1{number}"), 1400, 9)
    }

    /// Waits until what tenants received in three periods in a row is as wanted, in Mbit/s.
    pub fn until(&self, daemon: &mut Running, what: &str, wanted: impl Fn(&[f64]) -> bool) {
        let (mut row, mut last, mut seen) = (0, 0, Vec::new());
        daemon.until(what, |_| {
            let status = self.uplink.status();
            let period = status["periods"].as_u64().unwrap();
            if period == last {
                return false;
            }
            last = period;
            let tenants = status["received"]["tenants"].as_array().unwrap();
            let rates = tenants
                .iter()
                .map(|of| of["rate_bps"].as_f64().unwrap() / 1e6);
            let rates: Vec<f64> = rates.collect();
            row = if wanted(&rates) { row + 1 } else { 0 };
            seen.push(rates);
            assert!(seen.len() < 400, "never {what}: {seen:?}");
            row == 3
        });
    }

    pub fn sh(&self, command: &str) -> String {
        self.uplink.lab.sh(command)
    }
}

#[test]
fn what_comes_is_shared_by_weight_above_a_guarantee() {
    let Some(far) = Far::new(&shared()) else {
        return;
    };
    let before = far.uplink.lab.state();
    let mut daemon = far.uplink.daemon(&[]);
    let [a, b] = [1, 2].map(|number| far.flood(number));
    // 38 of 40 Mbit/s in parts of 1 and 2.
    far.until(&mut daemon, "shares by weight", |rates| {
        (11.0..14.0).contains(&rates[0]) && (23.0..27.0).contains(&rates[1])
    });
    let c = far.flood(3);
    far.until(
        &mut daemon,
        "the rest by weight beside a guarantee",
        |rates| {
            let sum: f64 = rates.iter().sum();
            rates[2] > 8.0 && (1.7..2.3).contains(&(rates[1] / rates[0])) && sum < 40.0
        },
    );
    drop((a, b));
    far.until(&mut daemon, "what the others leave", |rates| {
        rates[2] > 34.0
    });
    drop(c);
    let explained = far.uplink.says(&["status", "c"]);
    assert!(explained.contains("may receive "), "{explained}");
    let table = far.uplink.says(&["status"]);
    assert!(table.contains("may receive"), "{table}");
    daemon.stop();
    far.uplink.lab.assert_state(&before);
}

#[test]
fn one_tenant_is_limited_and_its_limit_survives_accidents() {
    let Some(far) = Far::new(&one()) else { return };
    let before = far.uplink.lab.state();
    let roots = far.sh(ROOTS);
    let mut daemon = far.uplink.daemon(&[]);
    let flood = far.flood(1);
    let holds = |rates: &[f64]| rates.len() == 1 && (5.0..6.3).contains(&rates[0]);
    far.until(&mut daemon, "the limit", holds);
    let limited = far.sh(ROOTS);
    assert_eq!(limited.matches("tbf 6e63: ").count(), 1, "{limited}");

    // Somebody takes it away.
    far.sh("tc qdisc del dev a1 root");
    let lost = "port a1, receiving: its limit of 6mbit was gone and is set again";
    daemon.until("the loss", |daemon| daemon.stderr().contains(lost));
    far.until(&mut daemon, "the limit again", holds);

    // Somebody has another discipline there, which is left.
    far.sh("tc qdisc replace dev a1 root handle 1: tbf rate 3mbit burst 16kb limit 64kb");
    let why = "port a1, receiving waits: tc limits it to 3mbit";
    daemon.until("theirs", |daemon| daemon.stderr().contains(why));
    far.sh("tc qdisc del dev a1 root");
    far.until(&mut daemon, "the limit once more", holds);

    // It is killed: the limit stays, and the next one knows what was there.
    daemon.kill();
    assert_eq!(far.sh(ROOTS).matches("tbf 6e63: ").count(), 1);
    let mut daemon = far.uplink.daemon(&[]);
    far.until(&mut daemon, "the limit of the next one", holds);

    // A policy without it gives the root back, one with it takes it again.
    far.uplink.reload_with(POLICY);
    daemon.until("no limit", |_| far.sh(ROOTS) == roots);
    let status = far.uplink.status();
    assert!(status.get("received").is_none(), "{status}");
    far.uplink.reload_with(&one());
    daemon.until("a period", |_| {
        far.uplink.status().get("received").is_some()
    });
    far.until(&mut daemon, "the limit after a reload", holds);

    // Killed again, and put back without a daemon.
    daemon.kill();
    drop(flood);
    far.uplink.police(&["restore"]).run().assert_code(0);
    assert_eq!(far.sh(ROOTS), roots);
    far.uplink.lab.assert_state(&before);
}

#[test]
fn a_port_that_goes_and_comes_again_is_limited_again_as_any_user() {
    let Some(far) = Far::new(&one()) else { return };
    let mut daemon = far.uplink.daemon(&[]);
    let limits = || far.sh(ROOTS).matches("tbf 6e63: ").count();
    daemon.until("the limit", |_| limits() == 1);
    far.sh("ip link set a1 down; ip link set a1 name z1; ip link set z1 up");
    daemon.until_err("port a1 is called z1 now");
    let left = far.sh("tc qdisc show dev z1");
    assert!(!left.contains("6e63"), "{left}");
    far.sh("ip link set z1 down; ip link set z1 name a1; ip link set a1 up");
    daemon.until("the limit again", |_| limits() == 1);
    let said = daemon.stderr();
    assert_eq!(said.matches("is back").count(), 1, "{said}");
    daemon.stop();
}

#[test]
fn what_cannot_be_limited_is_refused_and_nothing_changes() {
    let Some(far) = Far::new(&one()) else { return };
    let refused = |text: &str| {
        let ended = far.uplink.run_with(text);
        ended.assert_code(2).only_line().to_owned()
    };
    far.sh("tc qdisc add dev a1 root handle 1: tbf rate 3mbit burst 16kb limit 64kb");
    let line = refused(&one());
    let wanted = "tenant \"a\": tc limits what a1 receives to 3mbit already; write adopt = \"cap\" to share below that, \
                  or remove it: tc qdisc del dev a1 root";
    assert!(line.ends_with(wanted), "{line}");
    far.sh(
        "tc qdisc del dev a1 root; tc qdisc add dev a1 root handle 1: htb default 2
         tc class add dev a1 parent 1: classid 1:1 htb rate 3mbit
         tc class add dev a1 parent 1:1 classid 1:2 htb rate 1mbit ceil 3mbit",
    );
    let adopting = |adopt: &str| one().replace("period", &format!("adopt = \"{adopt}\"\nperiod"));
    let line = refused(&adopting("cap"));
    assert!(
        line.contains(
            "several classes, and nothing can come below all of them; adopt = \"replace\""
        ),
        "{line}"
    );
    // A discipline below it that nicety could not make anew, where the kernel has one.
    let netem = far.sh("tc qdisc add dev a1 parent 1:2 handle 9: netem limit 9 2>&1 || echo none");
    if netem.is_empty() {
        let line = refused(&adopting("replace"));
        assert!(
            line.contains("a discipline below it is none that nicety can make anew"),
            "{line}"
        );
    }
    far.sh("tc qdisc del dev a1 root; tc qdisc add dev a1 root handle 1: pfifo limit 50");
    let line = refused(&one());
    assert!(
        line.contains("a1 has somebody else's queueing discipline for what it receives: pfifo 1:"),
        "{line}"
    );
    far.sh("tc qdisc del dev a1 root");
    let make = "ip link add v1 type veth peer name v2; ip link add link v1 name mv type macvtap 2>&1 && echo made || true";
    let macvtap = far.sh(make);
    if macvtap.contains("made") {
        let line = refused(&one().replace("\"a1\"", "\"mv\""));
        let wanted =
            "what mv receives cannot be limited: it comes straight from the interface below";
        assert!(line.contains(wanted), "{line}");
        far.sh("ip link del mv");
    } else {
        skip("this kernel has no macvtap");
    }
    for (keys, wanted) in [
        (
            "rx_max = \"0mbit\"",
            "rx_max = \"0mbit\" lets nothing through",
        ),
        ("rx_max = \"-1mbit\"", "rx_max"),
        (
            "rx_max = \"41mbit\"",
            "rx_max = 41mbit is above the link's 40mbit",
        ),
        (
            "rx_max = \"5mbit\"\nrx_guarantee = \"6mbit\"",
            "rx_max = 5mbit is below the rx_guarantee of 6mbit",
        ),
        (
            "rx_guarantee = \"39mbit\"",
            "rx_guarantees up to here are 39mbit, more than the 38mbit",
        ),
        ("rx_maximum = \"5mbit\"", "rx_max"),
    ] {
        let line = refused(&POLICY.replace("ports = \"a1\"", &format!("ports = \"a1\"\n{keys}")));
        assert!(line.contains(wanted), "{line}");
    }
    assert!(!far.sh("tc qdisc show").contains("6e63"));
}

#[test]
fn a_dry_run_tells_what_would_be_received() {
    let Some(far) = Far::new(&one()) else { return };
    let policy = far.uplink.path("policy.toml");
    let words = ["run", policy.to_str().unwrap(), "--dry-run", "--count", "1"];
    let said = far.uplink.says(&words);
    assert!(said.contains("  a1 (a): receives "), "{said}");
    assert!(said.contains("limit none, would be 6mbit\n"), "{said}");
    assert!(!said.contains("b1 (b): receives"), "{said}");
    let words = [&words[..], &["--json"]].concat();
    let line = far.uplink.police(&words).run().json();
    assert_eq!(line["ports"][0]["receives"]["would_be_bps"], 6_000_000.0);
    assert!(line["ports"][1].get("receives").is_none());
    assert!(!far.sh("tc qdisc show").contains("6e63"));
}
