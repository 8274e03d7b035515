//! `nicety load --out`: constant load over a bridge that loses known frames, killed, resumed and stopped.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, LONG, lines, nicety, refusals, root, words};
use crate::lab::{BRIDGED, Lab};
use crate::leftovers::Before;
use crate::schema::stream;

/// Every hundredth of the frames that the tester sends.
pub const RULE: &str = "nft 'table bridge t { chain f { type filter hook forward priority 0; policy accept; \
                        udp dport 57344-65535 numgen inc mod 100 0 counter drop; }; }'";

fn soak(dir: &Path, line: &str) -> Call {
    let words = ["load"].into_iter().chain(words(line));
    nicety(words).dir(dir).limit(LONG)
}

/// Lines of a kind.
pub fn of<'v>(all: &'v [Value], kind: &str) -> Vec<&'v Value> {
    all.iter().filter(|line| line["kind"] == kind).collect()
}

fn sum(lines: &[&Value], key: &str) -> u64 {
    lines
        .iter()
        .map(|line| line["frames"][key].as_u64().unwrap())
        .sum()
}

#[test]
fn a_soak_counts_every_lost_frame_through_a_kill() {
    let Some(lab) = Lab::with(BRIDGED) else {
        return;
    };
    let state = lab.state();
    let dir = tempfile::tempdir().unwrap();
    let before = Before::now(dir.path());
    lab.sh(RULE);
    let words = "p0 p1 --rate 2k --for 1h --every 1s --out run --json --engine af_packet";
    let mut running = lab.inside(soak(dir.path(), words)).start();
    running.until("two intervals", |running| {
        running.stdout().matches("\"interval\"").count() >= 2
    });
    let killed = running.kill();
    let first = stream(&killed.stdout, "LoadLine");
    let alarm = of(&first, "alarm");
    assert_eq!(alarm.len(), 1, "{}", killed.stdout);
    assert_eq!(alarm[0]["number"], 1);
    // The first loss is on disk at once, whatever comes then.
    let kept = lines(&dir.path().join("run/intervals.jsonl"));
    assert_eq!(of(&kept, "interval").len(), 1, "{kept:?}");

    // It goes on for three seconds in all: what was kept, a gap, and the rest.
    let words = "--resume run --for 3s --json --fail-on loss";
    let ended = lab.inside(soak(dir.path(), words)).run();
    ended.assert_code(1);
    let told = stream(&ended.stdout, "LoadLine");
    assert_eq!(
        of(&told, "alarm").len(),
        0,
        "the first loss was told before: {}",
        ended.stdout
    );
    assert_eq!(told[0]["kind"], "gap");
    assert_eq!(told[0]["why"]["is"], "restart");
    let summary = told.last().unwrap();
    assert_eq!(
        (&summary["kind"], &summary["complete"]),
        (&"summary".into(), &true.into())
    );
    assert_eq!(summary["gap_count"], 1);
    let all = lines(&dir.path().join("run/intervals.jsonl"));
    let intervals = of(&all, "interval");
    for key in ["sent", "received", "lost"] {
        assert_eq!(
            sum(&intervals, key),
            summary["frames"][key].as_u64().unwrap(),
            "{key}"
        );
    }
    let (sent, lost) = (sum(&intervals, "sent"), sum(&intervals, "lost"));
    // Each session has a part of a hundred that the rule had counted already.
    let every = sent / 100;
    assert!(
        (every - 3..=every + 3).contains(&lost),
        "{lost} of {sent} lost"
    );
    assert!(summary["latency_us"]["p99"].as_f64().unwrap() > 0.0);
    if root() {
        let place = summary["loss_ledger"][0]["where"].as_str().unwrap();
        assert!(place.contains("nft_do_chain"), "{place}");
    }
    ended.assert_err("frames were lost (--fail-on loss)");
    let page = fs::read_to_string(dir.path().join("run/report.html")).unwrap();
    assert!(page.contains("Loss over time"));
    // The same from the directory, for people.
    let report = nicety(["report", "run"]).dir(dir.path()).run();
    assert!(
        report
            .assert_code(0)
            .stdout
            .contains("ports,a=p0,b=p1/64/uni")
            || report.stdout.contains("lost")
    );
    lab.sh("nft delete table bridge t");
    lab.assert_state(&state);
    before.check();
}

#[test]
fn a_stopped_soak_has_a_result_and_can_go_on_as_any_user() {
    let Some(lab) = Lab::with(BRIDGED) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    // The interval is much longer than the test waits.
    let words = "p0 p1 --rate 2k --for 8h --every 60s -o run --engine af_packet";
    let mut running = lab.inside(soak(dir.path(), words)).start();
    running.until_err("Ctrl-C ends it");
    // The first thousand find out, as root, where the kernel drops what the tester has counted.
    running.until("frames", |_| {
        let told: Value = serde_json::from_str(&lab.sh("ip -s -j link show p1")).unwrap();
        told[0]["stats64"]["rx"]["packets"].as_u64().unwrap() > 2000
    });
    running.signal(Signal::INT);
    let ended = running.wait();
    ended.assert_code(4);
    assert!(
        ended
            .stderr
            .ends_with("Resume with: nicety load --resume run\n"),
        "{}",
        ended.stderr
    );
    let told: Vec<&str> = ended.stdout.lines().collect();
    assert!(
        told[0].trim_start().starts_with("seconds"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains(" frames in "), "{}", ended.stdout);
    let kept = lines(&dir.path().join("run/intervals.jsonl"));
    let sent = sum(&of(&kept, "interval"), "sent");
    assert!((400..=100_000).contains(&sent), "{sent}");
    // A second one does not write into it.
    let other = soak(dir.path(), "--for 1s --out run --rate 1k").run();
    other.refused_for("is not empty");
}

const REFUSED: &str = r#"
--out x
    --for is missing; see nicety load --help
--for 1ms
    --for: "1ms" is not between 100ms and 365d, as in 30s, 8h or 7d
--for 1s --rate 80%line
    --rate: "80%line" is not a load; write 80% of the throughput, 80%max of the highest load, or frames per second, as in 200k or 1.5M
--for 1s --every 2m
    --every: "2m" is not between 100ms and 60s
--for 1s --fail-on los
    --fail-on: "los" is nothing that happens; write loss, gap or invalid
two.toml --for 1s --out x
    the plan has 2 cells, and nicety load loads one; name it with --cell: 1 (bridge/64/uni), 2 (bridge/128/uni)
--for 1s --every 200ms --out x
    --every is at least 1s with --out; write a longer time
--rate 80%
    --rate 80% is searched first; add --for and --out, or write frames per second, as in 200k
two.toml --size 64
    --size is for loads without a plan; write it in two.toml
p0 p1 --rate 0
    --rate: "0" is not a load; write 80% of the throughput, 80%max of the highest load, or frames per second, as in 200k or 1.5M
p0 p1 --every 1ms
    --every: "1ms" is not between 100ms and 60s
p0 p1 --lost-pcap /nowhere/x
    --lost-pcap: cannot create /nowhere/x: No such file or directory (os error 2); choose a file you may write
p0 p0
    p0 p0: a path needs two different interfaces; name another one
two.toml --for 1s --cell x
    --cell: no cell is called "x" or begins so; there are 1 (bridge/64/uni), 2 (bridge/128/uni)
--resume empty
    empty has no soak.json: not the directory of a soak, or killed before its load was known; start a new one
--resume none
    there is no run directory none; check the path
"#;

#[test]
fn wrong_words_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("two.toml"),
        "[traffic]\nframe_sizes = [64, 128]\n[[path]]\nkind = \"bridge\"\n",
    )
    .unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    for (words, line) in refusals(REFUSED) {
        soak(dir.path(), words).run().refused(line);
    }
    let ended = soak(dir.path(), "no1 no2 --rate 5 --for 1s --out x").run();
    assert!(
        [2, 3].contains(&ended.code()) && ended.only_line().contains("no1"),
        "{ended:?}"
    );
    assert!(
        !dir.path().join("x").exists(),
        "nothing is left of what did not begin"
    );
}
