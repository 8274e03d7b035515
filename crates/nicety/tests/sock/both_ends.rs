//! Without a server: a path made by the program.

use serde_json::Value;

use crate::harness::{Call, LONG, each, in_namespaces, nicety, refusals, words};

fn sock(words: &[&str]) -> Call {
    let all = ["sock"].iter().chain(words);
    nicety(all).limit(LONG)
}

pub const TESTS: [&str; 6] = [
    "tcp_rr",
    "udp_rr",
    "tcp_crr",
    "tcp_stream",
    "tcp_maerts",
    "udp_stream",
];

/// Over some paths and both versions of IP.
#[test]
fn every_test_runs_as_any_user() {
    if !in_namespaces() {
        return;
    }
    for (test, more) in TESTS.iter().zip([
        &["--path", "bridge"][..],
        &["--ipv6"],
        &[],
        &["--parallel", "3"],
        &["--path", "bridge", "--ipv6"],
        &["--no-offload", "--path", "macvlan"],
    ]) {
        let mut words = vec![*test, "--for", "300ms", "--json"];
        words.extend(more);
        let ended = sock(&words).run();
        ended.assert_code(0);
        let result = crate::first(&ended.stdout);
        assert_eq!(result["ending"], "complete", "{test}");
        assert_eq!(result["test"], *test);
        let (client, server) = (&result["client"], &result["server"]);
        if test.ends_with("rr") {
            assert!(client["transactions"].as_u64().unwrap() > 0, "{test}");
            assert!(result["latency_us"]["p99"].as_f64().unwrap() > 0.0);
            assert_eq!(client["transactions"], server["transactions"], "{test}");
        } else {
            assert!(result["goodput_mbps"].as_f64().unwrap() > 0.0, "{test}");
        }
        if test.starts_with("tcp_") && !test.ends_with("crr") {
            assert_eq!(client["sent_bytes"], server["received_bytes"], "{test}");
            assert_eq!(client["received_bytes"], server["sent_bytes"], "{test}");
        }
    }
}

const PATHS: &str = r#"
fog
    --path: there are no paths of kind "fog"; write veth or a path of a plan, as in tunnel,encapsulation=gre
macvlan,mode=l3
    --path: a path of kind macvlan has no mode = "l3"; write veth or a path of a plan, as in tunnel,encapsulation=gre
vm,nic=e1000
    --path: a path of kind vm needs a plan; write it with [[sockets]] and run nicety bench
"#;

#[test]
fn a_path_that_cannot_be_made_is_refused() {
    for (path, line) in refusals(PATHS) {
        sock(&["tcp_rr", "--path", path]).run().refused(line);
    }
}

#[test]
fn lists_make_one_test_each_and_the_file_has_what_is_printed() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("sock.json");
    let line = "udp_rr,tcp_crr --size 1,64 --parallel 1,2 --for 100ms --out sock.json";
    let ended = sock(&words(line)).dir(dir.path()).run();
    ended.assert_code(0);
    let report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let names = each(&report["series"], |series| series["name"].as_str().unwrap());
    assert_eq!(
        names,
        [
            "veth/udp_rr/1",
            "veth/udp_rr/1/parallel=2",
            "veth/udp_rr/64",
            "veth/udp_rr/64/parallel=2",
            "veth/tcp_crr/1",
            "veth/tcp_crr/1/parallel=2",
            "veth/tcp_crr/64",
            "veth/tcp_crr/64/parallel=2"
        ]
    );
    for name in names {
        assert!(ended.stdout.contains(name), "{}", ended.stdout);
    }
}

#[test]
fn repeats_and_saturation() {
    if !in_namespaces() {
        return;
    }
    let line = "tcp_rr --confidence 90,100 --for 200ms --json";
    let report = sock(&words(line)).run().json();
    let series = &report["series"][0];
    let repeats = series["results"].as_array().unwrap().len();
    assert!((3..=10).contains(&repeats), "{repeats}");
    assert_eq!(series["headline"]["n"], repeats);
    assert_eq!(series["confidence"]["level_percent"], 90);
    let line = "udp_rr --saturate --parallel 4 --for 200ms --json";
    let report = sock(&words(line)).run().json();
    let curve = report["series"][0]["curve"].as_array().unwrap().clone();
    let pairs: Vec<u64> = curve
        .iter()
        .map(|p| p["parallel"].as_u64().unwrap())
        .collect();
    assert!(pairs == [1, 2, 4] || pairs == [1, 2], "{pairs:?}");
}

#[test]
fn workers_run_where_they_are_put() {
    if !in_namespaces() {
        return;
    }
    let line = "tcp_rr --pin 0 --server-pin 0 --parallel 2 --for 100ms --json";
    let ended = sock(&words(line)).run();
    ended.assert_code(0);
    let result = crate::first(&ended.stdout);
    for end in ["client", "server"] {
        assert_eq!(result[end]["pinned_cpus"], serde_json::json!([0]), "{end}");
        assert_eq!(result[end]["threads"], 1, "{end}");
    }
    let ended = sock(&["tcp_rr", "--for", "100ms", "--json"]).run();
    assert!(crate::first(&ended.stdout)["client"]["pinned_cpus"].is_null());
}

#[test]
fn bad_wishes_are_one_line() {
    for (words, says) in [
        (&["udp_rr", "--size", "0"][..], "write 1 to 65507"),
        (&["udp_stream", "--size", "65508"], "write 1 to 65507"),
        (&["tcp_rr", "--parallel", "100000"], "write 1 to 20000"),
        (&["tcp_stream", "--rate", "5"], "leave the rate out"),
        (&["tcp_rr", "--rate", "0"], "more than 0"),
        (&["tcp_rr", "--confidence", "94,2"], "90, 95 or 99"),
        (&["tcp_rr", "--confidence", "95"], "95,2"),
        (&["tcp_rr", "--for", "1ms"], "100ms to 1h"),
        (&["tcp_rr", "localhost:1"], "set NICETY_TOKEN"),
        (&["tcp_rr", "udp_rr"], "write several tests with commas"),
        (&["tcp_rr", "serve"], "exclude each other"),
        (
            &["tcp_rr,tcp_stream", "--rate", "5"],
            "tcp_stream has no rate",
        ),
        (
            &["tcp_stream,tcp_rr", "--zerocopy"],
            "--zerocopy does nothing for tcp_rr",
        ),
        (
            &["udp_rr", "--no-offload"],
            "--no-offload does nothing for udp_rr",
        ),
        (&["tcp_rr", "--out", "/nonexistent/x"], "/nonexistent/x"),
        (
            &["tcp_rr", "--pin", "0,9999"],
            "CPU 9999 is not for this process",
        ),
        (&["tcp_rr,tcp_rx"], "did you mean \"tcp_"),
        (&["serve", "--listen", "here"], "as in 192.0.2.7"),
    ] {
        let ended = sock(words).run();
        ended.assert_code(2);
        assert!(
            ended.only_line().contains(says),
            "{words:?}: {}",
            ended.stderr
        );
    }
}

#[test]
fn too_few_file_descriptors_are_told_before_anything_is_made_as_any_user() {
    if !in_namespaces() {
        return;
    }
    let shell = "ulimit -n 1024; exec \"$0\" \"$@\"";
    let ended = sock(&["tcp_rr", "--parallel", "5000"])
        .below(["sh", "-c", shell])
        .run();
    ended.cannot("ulimit -n");
}
