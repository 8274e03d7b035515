//! `nicety tune apply --measure`: one change that helps for sure, one that cannot.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::Bench;
use crate::harness::{skip, words};

/// Two ports joined by a bridge.
const PORTS: &str = "
set -e
for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
ip link add p0 type veth peer name q0
ip link add p1 type veth peer name q1
ip link add sw type bridge
for port in q0 q1; do ip link set $port master sw; done
for port in sw q0 q1 p0 p1; do ip link set $port up; done
";

/// Bridged frames walk through many rules of a firewall that none of them fits.
const RULES: &str = "
[ ! -e /proc/sys/net/bridge ] || sysctl -qw net.bridge.bridge-nf-call-iptables=1
{
    echo 'table ip many { chain forwarded { type filter hook forward priority 0;'
    for a in $(seq 0 3); do for b in $(seq 1 100); do echo \"ip saddr 203.0.$a.$b tcp dport 9 counter drop\"; done; done
    echo '}'; echo '}'
} | nft -f -
";

/// The bridge sends at 40 Mbit/s, whatever else is set.
const SLOW: &str = "
tc qdisc add dev q1 root tbf rate 40mbit burst 16kb limit 32kb
sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0
";

/// One lost frame of a hundred is allowed, so that a slow path needs no long trials.
const PLAN: &str = "
name = \"measured\"
[traffic]
frame_sizes = [512]
[search]
preset = \"quick\"
confirm = \"0s\"
loss_ratio = 0.01
latency_load = [50]
[[path]]
kind = \"ports\"
a = \"p0\"
b = \"p1\"
";

/// Socket tests over a path of nicety's own, which settings of the namespace do not reach.
const SOCKETS: &str = "
name = \"measured\"
[[path]]
kind = \"bridge\"
[[sockets]]
test = [\"tcp_rr\", \"udp_stream\"]
message_bytes = [64]
time = \"200ms\"
";

fn slow() -> Option<Bench> {
    Bench::with(&format!("{PORTS}{SLOW}"))
}

/// Spread of single measurements above which two pairs tell nothing apart.
const BUSY: f64 = 0.05;

/// Applies one sysctl under measurement: what was decided is what is, and what is said. Returns the numbers.
fn measure(bench: &Bench, asked: &str, name: &str, (from, to): (&str, &str)) -> Value {
    let plan = bench.write_plan(&[(json!({"kind": "sysctl", "name": name}), from, to)]);
    let bench_plan = bench.dir.path().join("bench.toml");
    fs::write(&bench_plan, asked).unwrap();
    let out = bench.dir.path().join("out");
    let line = format!(
        "apply {} --repeats 2 --measure {} --out {}",
        plan.display(),
        bench_plan.display(),
        out.display()
    );
    let ended = bench
        .call(&words(&line))
        .limit(Duration::from_secs(600))
        .run();
    let text = fs::read_to_string(out.join("measured.json"));
    let text = text.unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    let page = fs::read_to_string(out.join("measured.html")).unwrap();
    let sockets = asked.contains("[[sockets]]");
    let title = if sockets {
        "Rate against pairs at once"
    } else {
        "Loss against load"
    };
    assert!(page.contains(title), "no {title}");
    let measured: Value = serde_json::from_str(&text).unwrap();
    let kept = measured["decision"] == "kept";
    assert_eq!(ended.code(), i32::from(!kept), "{}", ended.stderr);
    let now = bench.lab.sh(&format!("sysctl -n {name}"));
    assert_eq!(now.trim(), if kept { to } else { from }, "{}", ended.stderr);
    // A cell that a busy machine lets fail for good ends it: the rest is left out.
    if let Some(said) = said(&measured) {
        assert!(ended.stderr.contains(said), "{said}: {}", ended.stderr);
        for leg in ["before-1", "after-1", "before-2", "after-2"] {
            let page = Path::new(&out.join(leg)).join("report.html");
            assert!(page.is_file(), "{leg}");
        }
        // Kept only as any other change is: until somebody confirms, or not.
        let last = if kept { "unconfirmed" } else { "rolled-back" };
        assert_eq!(bench.phases(), ["rolled-back", last]);
        let history = bench.run(&["status", "-v"]).stdout;
        let why = format!("2 rolled-back ({said}");
        assert!(kept || history.contains(&why), "{history}");
    }
    measured
}

/// How a decision begins in words; none where nothing was measured.
fn said(measured: &Value) -> Option<&'static str> {
    match measured["decision"].as_str().unwrap() {
        "kept" => Some("better here: +"),
        "no-effect" => Some("no effect here: "),
        "worse" => Some("worse here: "),
        "not-measured" => None,
        other => panic!("{other}"),
    }
}

#[test]
fn bridged_frames_out_of_the_firewall_is_a_gain() {
    const SETTING: &str = "net.bridge.bridge-nf-call-iptables";
    let Some(bench) = Bench::with(&format!("{PORTS}{RULES}")) else {
        return;
    };
    let read = || {
        bench
            .lab
            .sh(&format!("sysctl -n {SETTING} 2>/dev/null || true"))
    };
    if read().trim() != "1" {
        skip(format_args!("this namespace has no {SETTING}"));
        return;
    }
    let measured = measure(&bench, PLAN, SETTING, ("1", "0"));
    assert_ne!(measured["decision"], "worse", "{measured:#}");
    if measured["gain"]["sigma"].as_f64() < Some(BUSY) && said(&measured).is_some() {
        assert_eq!(measured["decision"], "kept", "{measured:#}");
        assert_eq!(measured["cells"][0]["after"].as_array().unwrap().len(), 2);
    }
    bench.run(&["undo"]).assert_code(0);
    assert_eq!(read().trim(), "1");
}

#[test]
fn socket_tests_are_judged_too() {
    let Some(bench) = slow() else { return };
    let setting = "net.ipv4.tcp_moderate_rcvbuf";
    let measured = measure(&bench, SOCKETS, setting, ("0", "1"));
    let cells = measured["cells"].as_array().unwrap();
    let units: Vec<&str> = cells.iter().map(|c| c["unit"].as_str().unwrap()).collect();
    assert_eq!(
        units,
        ["transactions-per-s", "goodput-mbps"],
        "{measured:#}"
    );
    for cell in cells {
        assert_eq!(cell["before"].as_array().unwrap().len(), 2, "{cell:#}");
        assert_eq!(cell["rates_after"].as_array().unwrap().len(), 2, "{cell:#}");
    }
}

/// A path that loses everything: the search finds no load within the goal.
const CUT: &str = "
ip link set q1 nomaster
";

#[test]
fn a_cell_that_fails_for_good_cannot_tell() {
    let Some(bench) = Bench::with(&format!(
        "{PORTS}{CUT}sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0"
    )) else {
        return;
    };
    let setting = "net.ipv4.tcp_moderate_rcvbuf";
    let measured = measure(&bench, PLAN, setting, ("0", "1"));
    let out = bench.dir.path().join("out");
    assert_eq!(measured["decision"], "not-measured", "{measured:#}");
    assert_eq!(measured["failed"].as_array().unwrap().len(), 1);
    // Repeated, then given up before anything was changed.
    for leg in ["before-1", "before-1-again-1", "before-1-again-2"] {
        assert!(out.join(leg).is_dir(), "{leg}");
    }
    assert!(!out.join("after-1").exists());
    assert!(bench.phases().is_empty());
}

#[test]
fn a_measurement_that_cannot_be_leaves_the_host_as_it_was() {
    let Some(bench) = slow() else { return };
    let change = (
        json!({"kind": "sysctl", "name": "net.ipv4.tcp_moderate_rcvbuf"}),
        "0",
        "1",
    );
    let plan = bench.write_plan(&[change]);
    let missing = bench.dir.path().join("missing.toml");
    let line = format!(
        "apply {} --repeats 2 --measure {} --out out",
        plan.display(),
        missing.display()
    );
    let ended = bench.call(&words(&line)).dir(bench.dir.path()).run();
    ended.assert_code(2);
    assert!(ended.stderr.contains("missing.toml"), "{}", ended.stderr);
    assert_eq!(
        bench
            .lab
            .sh("sysctl -n net.ipv4.tcp_moderate_rcvbuf")
            .trim(),
        "0"
    );
    assert!(bench.phases().is_empty());
}
