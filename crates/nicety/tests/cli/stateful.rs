//! `nicety stateful`: small tables of connections with real frames, and paths that have none.

use std::fs;

use serde_json::Value;

use crate::harness::{Call, Ended, LONG, in_namespaces, nicety, refusals, skip, words};

fn stateful(line: &str) -> Call {
    nicety(["stateful"].into_iter().chain(words(line))).limit(LONG)
}

/// Without nft nothing translates; says `SKIP` then.
fn nft() -> bool {
    let there = ["/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft"]
        .iter()
        .any(|file| fs::exists(file).unwrap_or(false));
    if !there {
        skip("nft is not installed");
    }
    there
}

/// What keeps a router from being built here that is not nicety's fault.
const LACKS: [&str; 2] = [
    "read-only, as in a container",
    "the kernel has no flowtables",
];

/// What a run says in JSON. Says `SKIP` and why where this machine cannot build the router.
fn reported(ended: &Ended) -> Option<Value> {
    let why = ended.stderr.lines().last().unwrap_or_default();
    if ended.code() == 3 && LACKS.iter().any(|lack| why.contains(lack)) {
        skip(format_args!("{why}"));
        return None;
    }
    let report = serde_json::from_str(&ended.stdout);
    Some(report.unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr)))
}

fn counts_are_equal(counts: &Value) {
    let sent = counts["sent"].as_u64().unwrap();
    assert!(sent > 0, "{counts}");
    for who in ["responder", "kernel", "listed"] {
        assert_eq!(counts[who].as_u64(), Some(sent), "{who}: {counts}");
    }
}

#[test]
fn every_stage_of_a_small_table_has_figures_that_agree_with_the_kernel() {
    if !nft() || !in_namespaces() {
        return;
    }
    let words = "--for 50ms --repeats 1 --most 2000 --connections 1000 --rate 8k --nat hosts=3 --loss 10% --json";
    let ended = stateful(words).run();
    let code = ended.code();
    let Some(report) = reported(&ended) else {
        return;
    };
    assert!(code <= 1 && report["complete"] == true, "{report}");
    // The kernel's table has room for so few, so it is the tester's limit that is reached.
    let fill = &report["filling"][0];
    assert_eq!(fill["connections"], 2000, "{fill}");
    let points = fill["points"].as_array().unwrap();
    assert!((1..=120).contains(&points.len()), "{fill}");
    assert_eq!(points.last().unwrap()["entries"], 2000, "{fill}");
    let capacity = &report["capacity"];
    assert_eq!(capacity["entries"], 2000, "{capacity}");
    assert_eq!(capacity["verdict"], "at-least", "{capacity}");
    counts_are_equal(&capacity["counts"]);
    assert_eq!(capacity["counts"]["answered"], 2000, "{capacity}");
    let setup = &report["setup"];
    // On a machine that does other things too the tester may be late at any rate, and nothing else may happen.
    match setup["per_s"]["median"].as_f64() {
        Some(rate) => assert!(rate >= 1000.0, "{setup}"),
        None => assert!(
            ["late", "lost", "stalled"].contains(&setup["stopped_by"].as_str().unwrap()),
            "{setup}"
        ),
    }
    if setup["per_s"].is_object() {
        counts_are_equal(&setup["counts"]);
    }
    for teardown in report["teardown"].as_array().unwrap() {
        assert_eq!(teardown["left"], 0, "{teardown}");
    }
    let goodput = report["goodput"].as_array().unwrap();
    let states: Vec<(&str, u64)> = goodput
        .iter()
        .map(|of| {
            (
                of["state"].as_str().unwrap(),
                of["entries"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("unreplied", 1),
            ("unreplied", 1000),
            ("replied", 1),
            ("replied", 1000)
        ]
    );
    for of in goodput {
        counts_are_equal(&of["counts"]);
        assert_eq!(of["kernel_after"], of["counts"]["kernel"], "{of}");
    }
}

#[test]
fn a_want_of_ports_for_translation_is_named() {
    if !nft() || !in_namespaces() {
        return;
    }
    // Three hosts open more connections than one address has ports.
    let words = "--only capacity --most 1500 --nat hosts=3,addresses=1,ports=500 --rate 8k --json";
    let ended = stateful(words).run();
    let Some(report) = reported(&ended) else {
        return;
    };
    let capacity = &report["capacity"];
    assert_eq!(capacity["stopped_by"], "no-port", "{capacity}");
    let entries = capacity["entries"].as_u64().unwrap();
    // Ports are looked for at random: near the end not every search finds a free one.
    assert!((1..=500).contains(&entries), "{capacity}");
    counts_are_equal(&capacity["counts"]);
    assert_eq!(report["table"]["ports"], 500);
    // Both the largest fill that stayed and the smallest that did not are drawn.
    let filling = report["filling"].as_array().unwrap();
    let held: Vec<&Value> = filling.iter().map(|fill| &fill["held"]).collect();
    assert_eq!(held, [true, false], "{filling:?}");
    for fill in filling {
        let last = fill["points"].as_array().unwrap().last().unwrap();
        assert!(
            (1..=500).contains(&last["entries"].as_u64().unwrap()),
            "{fill}"
        );
    }
}

/// A thousand connections of a plan; nothing where the machine cannot build the path.
fn thousand(only: &str, traffic: &str, path: &str) -> Option<(Value, String)> {
    if !nft() || !in_namespaces() {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan =
        format!("[traffic]\nframe_sizes = [128]\n{traffic}[[path]]\nkind = \"routed\"\n{path}\n");
    fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let words = format!(
        "plan.toml --only {only} --for 50ms --repeats 1 --most 1000 --connections 300 --rate 4k --loss 10% \
         --nat hosts=2 --html page.html --json"
    );
    let ended = stateful(&words).dir(dir.path()).run();
    let report = reported(&ended)?;
    assert_eq!(report["capacity"]["entries"], 1000, "{report}");
    counts_are_equal(&report["capacity"]["counts"]);
    assert_eq!(report["capacity"]["counts"]["answered"], 1000, "{report}");
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    Some((report, page))
}

#[test]
fn a_short_cut_keeps_a_table_that_is_measured_and_drawn() {
    let Some((report, page)) = thousand("capacity,goodput", "", "flowtable = \"on\"") else {
        return;
    };
    assert_eq!(report["path"], "routed,flowtable=on");
    // Nothing is translated.
    assert_eq!(report["table"]["addresses"], 0);
    let goodput = report["goodput"].as_array().unwrap();
    assert_eq!(goodput.len(), 4, "{report}");
    for of in goodput {
        counts_are_equal(&of["counts"]);
        assert_eq!(of["kernel_after"], of["counts"]["kernel"], "{of}");
    }
    assert!(page.contains("How the table fills"));
    assert!(page.contains("1,000 opened, and all stay"));
}

#[test]
fn connections_of_ipv6_are_translated_and_counted() {
    let Some((report, _)) = thousand("capacity", "family = \"ipv6\"\n", "nat = \"snat\"") else {
        return;
    };
    assert_eq!(report["family"], "ipv6");
    assert_eq!(report["table"]["addresses"], 1);
}

#[test]
fn connections_of_tcp_are_picked_up_and_counted_as_any_user() {
    let Some((report, page)) = thousand("capacity", "protocol = \"tcp\"\n", "nat = \"snat\"")
    else {
        return;
    };
    assert_eq!(report["protocol"], "tcp");
    assert!(page.contains("ipv4, tcp"));
}

const REFUSED: &str = r#"
bridge.toml
    bridge keeps no table of connections; write a path with kind = "routed" and nat = "snat" or flowtable = "on", or leave the plan out
plain.toml
    routed,rules=10 keeps no table of connections; write a path with kind = "routed" and nat = "snat" or flowtable = "on", or leave the plan out
dscp.toml
    routed,nat=snat/128/uni/dscp=46: frames of connections have one size and no tags; leave imix, dscp, vlan, popularity and new_flows_per_s out of [traffic]
--rate 10
    --rate: "10" is not a rate from 1k to 100M per second, as in 200k or 1.5M
--connections 0
    --connections: "0" is not a number of connections from 1 to 16777215, as in 50000, 200k or 1M
--only latency
    --only: "latency" is nothing to measure; write setup, capacity, teardown, goodput
--for 1ms
    --for: "1ms" is not between 50ms and 60s
--loss 50%
    --loss: "50%" is not a share of frames; write 0% to 10%, as in 0.1%
"#;

#[test]
fn a_path_without_a_table_and_nonsense_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let plan = |name: &str, path: &str| {
        let text = format!("[traffic]\nframe_sizes = [64]\n{path}");
        fs::write(dir.path().join(name), text).unwrap();
    };
    plan("bridge.toml", "[[path]]\nkind = \"bridge\"\n");
    plan("plain.toml", "[[path]]\nkind = \"routed\"\nrules = 10\n");
    let dscp =
        "[traffic]\nframe_sizes = [128]\ndscp = 46\n[[path]]\nkind = \"routed\"\nnat = \"snat\"\n";
    fs::write(dir.path().join("dscp.toml"), dscp).unwrap();
    for (words, line) in refusals(REFUSED) {
        stateful(words).dir(dir.path()).run().refused(line);
    }
}
