//! Without a server: a path made by the program.

use serde_json::Value;

use crate::harness::{Call, LONG, in_namespaces, nicety, ordinary_namespaces, root};

fn sock(words: &[&str]) -> Call {
    let all = ["sock"].iter().chain(words);
    nicety(all).limit(LONG)
}

const TESTS: [&str; 6] = [
    "tcp_rr",
    "udp_rr",
    "tcp_crr",
    "tcp_stream",
    "tcp_maerts",
    "udp_stream",
];

/// Runs every test over some paths and both versions of IP.
fn every_test(who: fn(Call) -> Call) {
    for (test, more) in TESTS.iter().zip([
        &["--path", "bridge"][..],
        &["--ipv6"],
        &[],
        &["--parallel", "3"],
        &["--path", "bridge", "--ipv6"],
        &["--no-offload", "--path", "macvlan"],
    ]) {
        let mut words = vec![*test, "--time", "300ms", "--json"];
        words.extend(more);
        let ended = who(sock(&words)).run();
        ended.assert_code(0);
        let result = crate::first(&ended.stdout);
        assert_eq!(result["ending"], "complete", "{test}");
        assert_eq!(result["test"], *test);
        let (client, server) = (&result["client"], &result["server"]);
        if test.ends_with("rr") {
            assert!(client["transactions"].as_u64().unwrap() > 5, "{test}");
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

#[test]
fn every_test_runs() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    every_test(|call| call);
}

#[test]
fn every_test_runs_as_an_ordinary_user() {
    if !root() {
        println!("SKIP every_test_runs_as_an_ordinary_user: the other test is that already");
        return;
    }
    if !ordinary_namespaces("every_test_runs_as_an_ordinary_user") {
        return;
    }
    let Some(_alone) = in_namespaces() else {
        return;
    };
    every_test(Call::by_nobody);
}

#[test]
fn a_path_that_cannot_be_made_is_refused() {
    for (path, line) in [
        (
            "fog",
            "--path: there are no paths of kind \"fog\"; write veth or a path of a plan, as in \
             tunnel,encapsulation=gre",
        ),
        (
            "macvlan,mode=l3",
            "--path: a path of kind macvlan has no mode = \"l3\"; write veth or a path of a plan, as in \
             tunnel,encapsulation=gre",
        ),
        (
            "vm,nic=e1000",
            "--path: a path of kind vm needs a plan; write it with [[sockets]] and run nicety bench",
        ),
    ] {
        let ended = sock(&["tcp_rr", "--path", path]).run();
        assert_eq!(ended.assert_code(2).only_line(), line);
    }
}

#[test]
fn lists_make_one_test_each_and_the_file_has_what_is_printed() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("sock.json");
    let words = "udp_rr --message-bytes 1,64 --parallel 1,2 --time 100ms --out sock.json";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = sock(&words).dir(dir.path()).run();
    ended.assert_code(0);
    let report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let names: Vec<&str> = report["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| series["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "veth/udp_rr/1",
            "veth/udp_rr/1/parallel=2",
            "veth/udp_rr/64",
            "veth/udp_rr/64/parallel=2"
        ]
    );
    for name in names {
        assert!(ended.stdout.contains(name), "{}", ended.stdout);
    }
}

#[test]
fn repeats_and_saturation() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    let words = [
        "tcp_rr",
        "--confidence",
        "90,100",
        "--time",
        "200ms",
        "--json",
    ];
    let ended = sock(&words).run();
    ended.assert_code(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let series = &report["series"][0];
    let repeats = series["results"].as_array().unwrap().len();
    assert!((3..=10).contains(&repeats), "{repeats}");
    assert_eq!(series["headline"]["n"], repeats);
    assert_eq!(series["confidence"]["level_percent"], 90);
    let words = [
        "udp_rr",
        "--saturate",
        "--parallel",
        "4",
        "--time",
        "200ms",
        "--json",
    ];
    let ended = sock(&words).run();
    ended.assert_code(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let curve = report["series"][0]["curve"].as_array().unwrap().clone();
    let pairs: Vec<u64> = curve
        .iter()
        .map(|p| p["parallel"].as_u64().unwrap())
        .collect();
    assert!(pairs == [1, 2, 4] || pairs == [1, 2], "{pairs:?}");
}

#[test]
fn workers_run_where_they_are_put() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    let words = "tcp_rr --pin 0 --server-pin 0 --parallel 2 --time 100ms --json";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = sock(&words).run();
    ended.assert_code(0);
    let result = crate::first(&ended.stdout);
    for end in ["client", "server"] {
        assert_eq!(result[end]["pinned_cpus"], serde_json::json!([0]), "{end}");
        assert_eq!(result[end]["threads"], 1, "{end}");
    }
    let ended = sock(&["tcp_rr", "--time", "100ms", "--json"]).run();
    assert!(crate::first(&ended.stdout)["client"]["pinned_cpus"].is_null());
}

#[test]
fn bad_wishes_are_one_line() {
    for (words, says) in [
        (&["udp_rr", "--message-bytes", "0"][..], "write 1 to 65507"),
        (
            &["udp_stream", "--message-bytes", "65508"],
            "write 1 to 65507",
        ),
        (&["tcp_rr", "--parallel", "100000"], "write 1 to 20000"),
        (&["tcp_stream", "--rate", "5"], "leave the rate out"),
        (&["tcp_rr", "--rate", "0"], "more than 0"),
        (&["tcp_rr", "--confidence", "94,2"], "90, 95 or 99"),
        (&["tcp_rr", "--confidence", "95"], "95,2"),
        (&["tcp_rr", "--time", "1ms"], "100ms to 1h"),
        (&["tcp_rr", "--to", "localhost:1"], "--token"),
        (&["tcp_rr", "--to", "h:1", "--token", "short"], "8 to 128"),
        (&["tcp_rr", "--out", "/nonexistent/x"], "/nonexistent/x"),
        (
            &["tcp_rr", "--pin", "0,9999"],
            "CPU 9999 is not for this process",
        ),
        (&["tcp_rx"], "did you mean tcp_"),
        (&["serve", "--token", "with blank inside"], "8 to 128"),
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
fn too_few_file_descriptors_are_told_before_anything_is_made() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    let shell = "ulimit -n 1024; exec \"$0\" \"$@\"";
    let ended = sock(&["tcp_rr", "--parallel", "5000"])
        .below(["sh", "-c", shell])
        .run();
    ended.assert_code(3);
    assert!(ended.only_line().contains("ulimit -n"), "{}", ended.stderr);
}
