//! Socket tests of a plan: in the run directory, in every report, resumed after a kill.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{
    Call, LONG, in_namespaces, lines, nicety, privileged_namespaces, skip, words,
};

fn bench(dir: &Path, plan: &str, words: &[&str]) -> Call {
    std::fs::write(dir.join("plan.toml"), plan).unwrap();
    let mut all = vec!["bench", "plan.toml", "--out", "run"];
    all.extend(words);
    nicety(all).dir(dir).limit(LONG)
}

fn results(dir: &Path) -> Vec<Value> {
    lines(&dir.join("run/sockets.jsonl"))
}

const MATRIX: &str = r#"
[[path]]
kind = "bridge"
[[sockets]]
test = ["tcp_rr", "udp_stream"]
message_bytes = [64, 1024]
parallel = [1, 2]
time = "150ms"
"#;

#[test]
fn a_matrix_is_in_every_report() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let ended = bench(dir.path(), MATRIX, &["--json"]).run();
    ended.assert_code(0);
    let run = crate::schema::read(&ended.stdout, "Run");
    let series = run["sockets"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    assert_eq!(names[0], "bridge/tcp_rr/64");
    assert_eq!(names[7], "bridge/udp_stream/1024/parallel=2");
    assert_eq!(run["cells"], serde_json::json!([]));
    assert_eq!(run["run"]["complete"], true);
    let line = "report run --html p.html --csv cells=c.csv --csv sockets=s.csv --junit j.xml";
    let files = nicety(words(line)).dir(dir.path()).run();
    files.assert_code(0);
    let read = |name| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("s.csv").lines().count(), 9);
    assert_eq!(read("c.csv").lines().count(), 1);
    let text = nicety(["report", "run", "--format", "md"])
        .dir(dir.path())
        .run();
    assert!(text.stdout.contains("## Socket workloads"));
    let cases = read("j.xml");
    for counted in ["tests=\"8\"", "failures=\"0\""] {
        assert!(cases.contains(counted), "{cases}");
    }
    assert_eq!(cases.matches("classname=\"bridge\"").count(), 8);
    assert!(cases.contains(" transactions/s, p99 "), "{cases}");
    let page = read("p.html");
    assert!(page.contains("message size, bytes") && page.contains("parallel flows"));
    let table = nicety(["report", "run"]).dir(dir.path()).run();
    for name in &names {
        assert!(table.stdout.contains(name), "{}", table.stdout);
    }
    let line = "compare run run --metric throughput,latency-p99,cpu --json";
    let found = nicety(words(line)).dir(dir.path()).run().json();
    let of = |unit: &str| {
        let rows = found["cells"].as_array().unwrap().iter();
        rows.filter(|row| row["unit"] == unit).count()
    };
    assert_eq!((of("transactions/s"), of("Mbit/s")), (4, 4), "{found}");
    assert_eq!((of("µs"), of("µs/transaction"), of("µs/KB")), (4, 4, 4));
    let store = ["--store", "kept.sqlite"];
    let kept = |words: &[&str]| nicety(words.iter().chain(&store)).dir(dir.path()).run();
    kept(&["runs", "add", "run"]).assert_code(0);
    let trend = kept(&["runs", "trend", names[0]]);
    trend.assert_code(0);
    trend.assert_out("throughput in transactions/s");
}

#[test]
fn a_killed_run_goes_on_with_the_tests_that_are_missing() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = MATRIX.replace("150ms", "300ms") + "repeats = 2\n";
    let mut running = bench(dir.path(), &plan, &["--seed", "7"]).start();
    running.until("results", |_| results(dir.path()).len() >= 3);
    running.kill();
    let kept = results(dir.path());
    // What a kill leaves of a line that was being written.
    let file = dir.path().join("run/sockets.jsonl");
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    std::fs::write(&file, text + "{\"schema\":1,\"ce").unwrap();
    let resume = nicety(["bench", "--resume", "run"])
        .dir(dir.path())
        .limit(LONG);
    resume.run().assert_code(0);
    let all = results(dir.path());
    assert_eq!(all.len(), 16);
    assert_eq!(all[..kept.len()], kept, "an earlier result was changed");
    let ids: BTreeSet<String> = all
        .iter()
        .map(|result| format!("{} {}", result["cell"], result["repeat"]))
        .collect();
    assert_eq!(ids.len(), 16, "a test was repeated");
}

#[test]
fn a_time_box_and_an_interruption_name_what_they_left_out() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = MATRIX.replace("150ms", "1s");
    let ended = bench(dir.path(), &plan, &["--for", "4s", "--json"]).run();
    let run = ended.json();
    let (done, left) = (&run["sockets"], &run["left_out"]);
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    assert!((1..=4).contains(&count(done)), "{done}");
    assert_eq!(count(done) + count(left), 8, "{left}");
    assert_eq!(run["run"]["complete"], false);
    let dir = tempfile::tempdir().unwrap();
    let mut running = bench(dir.path(), &plan, &[]).start();
    running.until("a result", |_| !results(dir.path()).is_empty());
    running.signal(Signal::INT);
    let ended = running.wait();
    ended.assert_code(4);
    ended.assert_err("Resume with: nicety bench --resume run");
    let all = results(dir.path());
    assert!(all.iter().all(|result| result["ending"] == "complete"));
}

#[test]
fn neighbours_flood_beside_a_test_as_any_user() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = r#"
[[path]]
kind = "bridge"
[[sockets]]
test = "udp_rr"
message_bytes = 64
neighbours = [0, 2]
family = ["ipv4", "ipv6"]
time = "500ms"
"#;
    // An ordinary user's rights are enough.
    bench(dir.path(), plan, &["--json"]).run().assert_code(0);
    let all = results(dir.path());
    assert_eq!(all.len(), 4);
    for result in &all {
        let beside = &result["neighbours"];
        if result["cell"].as_str().unwrap().ends_with("/neighbours=2") {
            assert_eq!(beside["pairs"], 2, "{beside}");
            assert!(beside["goodput_mbps"].as_f64().unwrap() > 0.0, "{beside}");
            let offered = beside["offered_mbps"].as_f64().unwrap();
            assert!(offered > 0.0, "{beside}");
        } else {
            assert!(beside.is_null(), "{beside}");
        }
        assert!(result["transactions_per_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn neighbours_join_switches_and_share_the_wire_of_a_namespace() {
    if !privileged_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = r#"
[[path]]
kind = "vm"
guest = "netns"
[[path]]
kind = "ovs"
[[path]]
kind = "ovs-dpdk"
[[path]]
kind = "testpmd"
[[path]]
kind = "macvlan"
[[sockets]]
test = "udp_rr"
neighbours = [0, 1]
family = ["ipv4", "ipv6"]
time = "1s"
"#;
    let run = bench(dir.path(), plan, &["--json"]).run().json();
    for cell in run["skipped"].as_array().unwrap() {
        let (name, reason) = (cell["cell"].as_str().unwrap(), &cell["reason"]);
        if name.starts_with("testpmd/") && name.ends_with("/neighbours=1") {
            assert_eq!(
                *reason,
                "testpmd joins two ports with each other: neighbours have no place on it"
            );
            continue;
        }
        if name.starts_with("macvlan/") && name.ends_with("/neighbours=1") {
            assert_eq!(*reason, "neighbours have no place on macvlan");
            continue;
        }
        let remedy = cell["remedy"].as_str().unwrap();
        let missing = ["apt install ", "modprobe macvlan", "modprobe tun"];
        assert!(missing.iter().any(|m| remedy.starts_with(m)), "{cell}");
        skip(format_args!("{name}: {reason}; {remedy}"));
    }
    for result in results(dir.path()) {
        let beside = &result["neighbours"];
        let floods = result["cell"].as_str().unwrap().ends_with("/neighbours=1");
        assert_eq!(beside.is_null(), !floods, "{result}");
        assert!(
            !floods || beside["goodput_mbps"].as_f64() > Some(0.0),
            "{result}"
        );
        assert!(
            result["transactions_per_s"].as_f64() > Some(0.0),
            "{result}"
        );
    }
}

/// Paths that are made for frames, as far as this machine has what they need: TCP in large segments over IPv4, and
/// requests over IPv6.
#[test]
fn paths_for_frames_carry_sockets() {
    if !privileged_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = r#"
[[path]]
kind = "routed"
nat = ["none", "snat"]
[[path]]
kind = "routed"
rules = 10
flowtable = "on"
[[path]]
kind = "tunnel"
encapsulation = ["vxlan", "geneve", "gre", "wireguard"]
[[path]]
kind = "macvlan"
mode = ["bridge", "private", "vepa", "passthru"]
[[path]]
kind = "ipvlan"
mode = ["l2", "l3"]
[[path]]
kind = "tc-redirect"
filter = ["u32", "flower"]
[[path]]
kind = "xdp-redirect"
[[path]]
kind = "bond"
[[path]]
kind = "team"
[[path]]
kind = "netkit"
mode = ["l2", "l3"]
[[path]]
kind = "ovn"
datapath = "userspace"
acl = ["none", "allow-related"]
[[sockets]]
test = "tcp_stream"
time = "1s"
[[sockets]]
test = "udp_rr"
family = "ipv6"
time = "1s"
"#;
    let run = bench(dir.path(), plan, &["--json"]).run().json();
    let skipped = run["skipped"].as_array().unwrap();
    for cell in skipped {
        let (name, reason) = (cell["cell"].as_str().unwrap(), &cell["reason"]);
        let remedy = cell["remedy"].as_str().unwrap();
        let missing = ["apt install ", "modprobe ", "build nicety with clang"];
        let kernel = remedy.starts_with("measure on a kernel with ");
        assert!(
            kernel || missing.iter().any(|m| remedy.starts_with(m)),
            "{cell}"
        );
        skip(format_args!("{name}: {reason}; {remedy}"));
    }
    let all = results(dir.path());
    assert_eq!(all.len() + skipped.len(), 2 * 22, "{skipped:?}");
    for result in all {
        assert_eq!(result["ending"], "complete", "{result}");
        let name = result["cell"].as_str().unwrap();
        if name.ends_with("/ipv6") {
            let answered = result["server"]["transactions"].as_u64();
            assert!(answered > Some(10), "{result}");
            assert_eq!(result["family"], "ipv6");
        } else {
            assert!(result["goodput_mbps"].as_f64() > Some(1.0), "{result}");
        }
    }
}

#[test]
fn tests_run_on_the_cpus_that_a_plan_asks_for_or_are_skipped() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = r#"
[[path]]
kind = "bridge"
[[sockets]]
test = "tcp_rr"
pin = [[0], [8000]]
server_pin = [[0]]
time = "100ms"
"#;
    let run = bench(dir.path(), plan, &["--json"]).run().json();
    let name = "bridge/tcp_rr/1/pin=0/server_pin=0";
    assert_eq!(run["sockets"][0]["name"], name);
    let result = &results(dir.path())[0];
    for end in ["client", "server"] {
        assert_eq!(result[end]["pinned_cpus"], serde_json::json!([0]), "{end}");
    }
    let skipped = &run["skipped"][0];
    assert_eq!(skipped["cell"], "bridge/tcp_rr/1/pin=8000/server_pin=0");
    assert_eq!(skipped["reason"], "CPU 8000 is not for this process");
}

#[test]
fn paths_that_cannot_carry_sockets_are_skipped_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let plan = r#"
[[path]]
kind = "ports"
a = "nicety-none0"
b = "nicety-none1"
[[sockets]]
test = "tcp_rr"
"#;
    let ended = bench(dir.path(), plan, &["--json"]).run();
    ended.assert_code(3);
    let run: Value = serde_json::from_str(&ended.stdout).unwrap();
    let skipped = &run["skipped"][0];
    assert!(
        skipped["reason"].as_str().unwrap().contains("this host's"),
        "{skipped}"
    );
    assert!(
        skipped["remedy"].as_str().unwrap().contains("sock serve"),
        "{skipped}"
    );
}
