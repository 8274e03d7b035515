//! `nicety police` with real traffic, and what it leaves.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{nicety, words};
use crate::uplink::{POLICY, Uplink};

fn near(rate: f64, wanted: f64) -> bool {
    (rate - wanted).abs() <= 0.1 * wanted
}

#[test]
fn three_tenants_share_an_uplink() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    let out = uplink.path("record");
    let mut daemon = uplink.daemon(&["--out", out.to_str().unwrap()]);
    let small = uplink.trickle("c");
    let a = uplink.flood("a");
    let b = uplink.flood("b");
    // 38 Mbit/s without head-room: c has what it sends, b twice what a has.
    uplink.until(&mut daemon, "a fair share", |[a, b, c]| {
        let rest = 38.0 - 1.05 * c;
        (1.0..3.0).contains(&c) && near(a, rest / 3.0) && near(b, rest * 2.0 / 3.0)
    });
    // A period in which the machine was elsewhere may look otherwise.
    let says = |tenant: &str, part: &str| {
        let line = uplink.police(&["status", tenant]).run();
        line.assert_code(0).stdout.contains(part)
    };
    daemon.until("the bottleneck of a", |_| {
        says("a", "held by the link, shared with b; fair share ")
    });
    daemon.until("the demand of c", |_| {
        says("c", "; nothing holds it back\n")
    });
    let nobody = uplink.police(&["status", "d"]).run();
    nobody.assert_code(2);
    assert!(
        nobody
            .only_line()
            .ends_with("has no tenant or port \"d\"; write one of a, b, c, a1, b1, c1")
    );
    let table = uplink.police(&["status"]).run();
    table.assert_code(0);
    assert!(table.stdout.contains("tenants") && table.stdout.contains("ports"));

    // What b does not use is lent, and comes back.
    drop(b);
    uplink.until(&mut daemon, "the share of b for a", |[a, _, c]| {
        a > 0.9 * (38.0 - c)
    });
    let b = uplink.flood("b");
    uplink.until(&mut daemon, "the share of b for b", |[a, b, _]| {
        near(b, 2.0 * a) && b > 20.0
    });

    drop((a, b, small));
    let ended = daemon.stop();
    let report = out.join("report.html");
    let last = format!(
        "restored the original limits of 3 ports\nreport: {}\n",
        report.display()
    );
    assert!(ended.stderr.ends_with(&last), "{}", ended.stderr);
    uplink.lab.assert_state(&before);
    uplink.police(&["status"]).run().assert_code(3);
    recorded(&out);
}

/// What was recorded is what happened, and can be drawn, saved and told.
fn recorded(out: &Path) {
    let name = out.to_str().unwrap();
    let report = |words: &[&str]| {
        let ended = nicety(["report", name].iter().chain(words)).run();
        ended.assert_code(0);
        ended.stdout
    };
    let record: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    let periods = record["periods"].as_array().unwrap();
    assert!(periods.len() > 10, "{} periods", periods.len());
    assert_eq!(record["run"]["capacity_bps"], 40e6);
    assert_eq!(record["run"]["ports"][1]["name"], "b1");
    // The limit of each period holds the tenant that wants more.
    let full = |period: &&Value| {
        let of = |tenant: usize, key: &str| period["tenants"][tenant][key].as_f64();
        of(0, "rate_bps") > Some(5e6)
            && near(
                of(1, "limit_bps").unwrap(),
                2.0 * of(0, "limit_bps").unwrap(),
            )
    };
    assert!(periods.iter().filter(full).count() >= 3, "{record}");
    assert!(
        record["summary"][0]["held_ratio"].as_f64() > Some(0.1),
        "{record}"
    );
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("3 tenants shared 40.0 Mbit/s for "), "{page}");
    assert_eq!(report(&["--html", "-"]), page);
    assert!(report(&[]).contains("3 tenants shared 40"));
    assert!(report(&["--format", "md"]).contains("| tenant |"));
    let rows = report(&["--format", "csv"]).lines().count();
    assert_eq!(rows, 1 + 6 * periods.len());
    let refused = nicety(["report", name, "--junit", "-"]).run();
    refused.refused_for("has nothing for --junit");
    // A line of another record, and one that is torn.
    let file = out.join("periods.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{whole}{{\"schema\":1,\"at_s\":")).unwrap();
    let torn = nicety(["report", name]).run();
    torn.assert_code(0);
    assert!(torn.stderr.contains("is incomplete"), "{}", torn.stderr);
    let odd = "{\"schema\":1,\"at_s\":1.0,\"total_bps\":0.0,\"tenants\":[],\"ports\":[]}\n";
    fs::write(&file, format!("{odd}{whole}")).unwrap();
    let edited = nicety(["report", name]).run();
    edited.refused_for("periods.jsonl:1: it has other tenants or ports");
}

#[test]
fn a_killed_daemon_is_taken_over_and_everything_put_back_as_any_user() {
    let Some(uplink) = Uplink::new() else { return };
    // One port has a limit of its own already.
    let state = uplink.path("tune");
    let line = format!(
        "port limit a1 30mbit --verify 0s --state {}",
        state.display()
    );
    uplink.lab.inside(nicety(words(&line))).run().assert_code(0);
    let before = uplink.lab.state();
    let daemon = uplink.daemon(&[]);

    // A second one is kept out, whatever its state directory.
    let policy = uplink.path("policy.toml");
    let other = uplink.path("other");
    let line = format!(
        "police run {} --state {}",
        policy.display(),
        other.display()
    );
    let second = uplink.lab.inside(nicety(words(&line))).run();
    second.assert_code(3);
    assert!(
        second
            .only_line()
            .starts_with("another nicety police runs in this network namespace")
    );

    daemon.signal(Signal::KILL);
    assert!(!daemon.wait().status.success());
    assert_eq!(uplink.limits(), 3, "the limits outlive the daemon");
    uplink.police(&["status"]).run().assert_code(3);

    // The next one has a smaller policy: c is put back at once.
    let smaller = POLICY.split("\n[[tenant]]\nname = \"c\"").next().unwrap();
    fs::write(&policy, smaller).unwrap();
    let daemon = uplink.daemon(&[]);
    assert!(
        daemon
            .stderr()
            .starts_with("taking over 3 ports from a daemon that was killed\n")
    );
    assert_eq!(uplink.limits(), 2);
    daemon.signal(Signal::INT);
    daemon.wait().assert_code(0);
    uplink.lab.assert_state(&before);

    // Killed and not started again: put back by hand, one that is half made too.
    let daemon = uplink.daemon(&[]);
    daemon.kill();
    uplink.lab.sh("tc filter del dev b1 ingress");
    uplink.police(&["restore"]).run().assert_code(0);
    uplink.lab.assert_state(&before);
    let again = uplink.police(&["restore"]).run();
    assert_eq!(again.assert_code(0).stderr, "nothing to put back\n");

    // Or kept.
    let daemon = uplink.daemon(&["--keep", "--count", "2"]);
    let kept = daemon.wait();
    kept.assert_code(0);
    assert!(
        kept.stderr.ends_with("the limits of 2 ports stay\n"),
        "{}",
        kept.stderr
    );
    assert_eq!(uplink.limits(), 2);
}

#[test]
fn ports_come_and_go_and_others_meddle() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink
        .lab
        .sh("ip -br link | cut -d' ' -f1 | cut -d@ -f1 | sort");
    let mut daemon = uplink.daemon(&[]);
    // Somebody removes a limit: written again.
    uplink.lab.sh("tc qdisc del dev b1 ingress");
    daemon.until("the limit again", |_| {
        uplink
            .lab
            .sh("tc qdisc show dev b1 ingress")
            .contains("ingress")
    });
    // And the interface of one, or sets it down: nothing would pass any more.
    for meddling in ["del NAME", "set NAME down"] {
        let index = uplink.lab.sh("ip -o link show b1 | cut -d: -f1");
        let ifb = format!("nicety{}", index.trim());
        uplink
            .lab
            .sh(&format!("ip link {}", meddling.replace("NAME", &ifb)));
        let whole = format!(
            "ip -br link show up | grep -w {ifb}; tc filter show dev b1 ingress | grep 'device {ifb}'"
        );
        daemon.until("a limiter that is up", |_| {
            uplink
                .lab
                .sh(&format!("{{ {whole}; }} || true"))
                .lines()
                .count()
                == 2
        });
    }
    // A limit set by hand is the daemon's again soon, and whoever set it is told.
    let tune = uplink.path("tune");
    let limit = |port: &str, more: &str| {
        let tune = tune.display();
        let line = format!("port limit {port} 5mbit {more} --state {tune}");
        uplink.lab.inside(nicety(words(&line))).run()
    };
    let undone = limit("b1", "--verify 3s");
    undone.assert_code(1);
    for part in [
        "b1: another program has set ",
        "wire: counts 24 bytes more per frame",
    ] {
        assert!(undone.stderr.contains(part), "{}", undone.stderr);
    }
    // Also when nobody waits for what comes of it; other ports are whoever's.
    uplink.lab.sh("ip link add free0 type veth peer name free1");
    for (port, code) in [("b1", 1), ("free0", 0)] {
        let told = limit(port, "--verify 0s --json");
        let report: Value = serde_json::from_str(&told.assert_code(code).stdout).unwrap();
        assert_eq!(report["policed"] == true, code == 1, "{report}");
        assert_eq!(
            told.stderr.contains("nicety police limits this port"),
            code == 1
        );
    }
    let undo = ["tune", "undo", "--state", tune.to_str().unwrap()];
    uplink.lab.inside(nicety(undo)).run().assert_code(0);
    uplink.lab.sh("ip link del free0");
    // A machine ends and starts again.
    uplink.lab.sh("ip link del a1");
    daemon.until("the port to go", |d| d.stderr().contains("port a1 is gone"));
    let pid = uplink.pid("a");
    uplink.lab.sh(&format!(
        "ip link add a1 type veth peer name a0 netns {pid}; ip link set a1 up"
    ));
    daemon.until_err("port a1 is back");
    daemon.until("its limit", |_| {
        uplink
            .lab
            .sh("tc qdisc show dev a1 ingress")
            .contains("ingress")
    });
    // Stopped in the middle, as by a call of the kernel that takes long: limits stay, and it goes on.
    daemon.signal(Signal::STOP);
    let stat = format!("/proc/{}/stat", daemon.id());
    daemon.until("its stop", |_| {
        fs::read_to_string(&stat).unwrap().contains(") T ")
    });
    assert_eq!(uplink.limits(), 3);
    daemon.signal(Signal::CONT);
    uplink.periods(&mut daemon, 4);
    assert_eq!(uplink.limits(), 3);
    daemon.stop();
    assert_eq!(
        uplink
            .lab
            .sh("ip -br link | cut -d' ' -f1 | cut -d@ -f1 | sort"),
        before
    );
}

#[test]
fn wrong_policies_and_dry_runs_change_nothing() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    let policy = uplink.path("policy.toml");
    let name = policy.to_str().unwrap();
    let dry = uplink
        .police(&["run", name, "--dry-run", "--count", "1"])
        .run();
    dry.assert_code(0);
    assert!(dry.stdout.starts_with("period 1: "), "{}", dry.stdout);
    assert!(dry.stdout.contains("  b1 (b): sends "), "{}", dry.stdout);
    let dry = ["run", name, "--dry-run", "--count", "2", "--json"];
    let dry = uplink.police(&dry).run();
    let lines: Vec<Value> = (dry.assert_code(0).stdout.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{}", dry.stdout);
    assert_eq!(
        (&lines[1]["schema"], &lines[1]["period"]),
        (&1.into(), &2.into())
    );
    let b = &lines[1]["ports"][1];
    assert_eq!((&b["port"], &b["tenant"]), (&"b1".into(), &"b".into()));
    assert_eq!(
        (&b["present"], &b["limit_bps"]),
        (&true.into(), &Value::Null)
    );
    assert!(b["would_be_bps"].as_f64() > Some(1e6), "{b}");
    // What a guest has asked for counts, and its socket must have a place.
    let socket = uplink.path("a.sock");
    let guest = |path: &Path| {
        let with = format!("\"a1\"\nguest = \"{}\"", path.display());
        fs::write(&policy, POLICY.replacen("\"a1\"", &with, 1)).unwrap();
        let dry = ["run", name, "--dry-run", "--count", "1"];
        uplink.police(&dry).run()
    };
    fs::create_dir_all(uplink.path("state")).unwrap();
    fs::write(uplink.path("state/soft.json"), "{\"a\":5000000}").unwrap();
    let dry = guest(&socket);
    let line = dry.assert_code(0).stdout.lines().nth(1).unwrap_or_default();
    assert!(
        line.starts_with("  a1 (a): ") && line.ends_with("would be 5mbit"),
        "{line}"
    );
    let dry = guest(&uplink.path("none/a.sock"));
    dry.assert_code(3);
    assert!(
        dry.only_line().starts_with("cannot make the socket "),
        "{}",
        dry.stderr
    );
    fs::create_dir(&socket).unwrap();
    guest(&socket).assert_code(3);
    fs::remove_dir(&socket).unwrap();
    for (old, new, part) in [
        (
            "\"a1\"",
            "\"zz\"",
            "tenant \"a\": there is no interface zz in this network namespace; correct the name, or start with --absent-ok",
        ),
        (
            "\"a1\"",
            "\"sw\"",
            "tenant \"a\": sw is not a tap, veth or macvtap; see nicety port list",
        ),
        (
            "\"a1\"",
            "\"eth0/vf1\"",
            "tenant \"a\": there is no interface eth0 in this network namespace; correct the name, ",
        ),
        (
            "weight = 2",
            "weight = -2",
            "policy.toml:13: weight = -2 is not above 0; write a number above 0, as in weight = 2",
        ),
        (
            "\"4mbit\"",
            "\"41mbit\"",
            "more than the 38mbit of the link without its head-room; lower a guarantee",
        ),
    ] {
        let ended = uplink.run_with(&POLICY.replacen(old, new, 1));
        ended.refused_for(part);
    }
    for endless in ["/dev/zero", "/"] {
        let refused = uplink.police(&["run", endless]).run();
        refused.assert_code(2);
        let line = format!("{endless} is not a policy: no file");
        assert_eq!(refused.only_line(), line);
    }
    let missing = uplink.police(&["run", "/nowhere.toml"]).run();
    missing.assert_code(2);
    assert!(
        missing
            .only_line()
            .starts_with("cannot read /nowhere.toml: ")
    );
    uplink.lab.assert_state(&before);
}
