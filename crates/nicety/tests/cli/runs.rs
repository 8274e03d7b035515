//! Whole runs: what they print, what they leave behind, and what they leave alone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::Value;

use crate::harness::{
    Call, Ended, LONG, as_root, lines, nicety, open_dir, ordinary_namespaces, skip,
};
use crate::lab::Lab;
use crate::leftovers::Before;

/// One cell, found fast on any machine: much loss is allowed, and nothing is measured twice.
pub const TINY: &str = "name = \"tiny\"
[traffic]
frame_sizes = [1518]
[search]
preset = \"quick\"
loss_ratio = 0.05
confirm = \"0s\"
latency_load = [50]
";

/// The files of a complete run.
const FILES: [&str; 7] = [
    "cells.jsonl",
    "host.json",
    "plan.toml",
    "report.html",
    "run.json",
    "tester.json",
    "trials.jsonl",
];

/// Writes the plan of one cell into `dir`.
pub fn tiny(dir: &Path) {
    fs::write(
        dir.join("tiny.toml"),
        format!("{TINY}[[path]]\nkind = \"bridge\"\n"),
    )
    .unwrap();
}

/// The same plan with an overload and a reset of the path.
fn with_reset() -> String {
    format!("{TINY}recovery = \"1s\"\nreset = true\n[[path]]\nkind = \"bridge\"\n")
}

/// `nicety bench tiny.toml --out run` in `dir`, with more arguments.
pub fn bench(dir: &Path, more: &[&str]) -> Call {
    tiny(dir);
    let words = ["bench", "tiny.toml", "--out", "run"];
    nicety(words.iter().chain(more)).dir(dir).limit(LONG)
}

/// A run on a machine that is not quiet may have no result; the exit code must say so.
#[track_caller]
fn check_ending(ended: &Ended, run: &Path) {
    let cells = lines(&run.join("cells.jsonl"));
    assert!(!cells.is_empty(), "{ended:?}");
    let failed = cells.iter().any(|cell| cell["verdict"] == "failed");
    ended.assert_code(i32::from(failed));
    let mut names: Vec<_> = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, FILES);
    assert!(
        fs::read_to_string(run.join("report.html"))
            .unwrap()
            .contains("</html>")
    );
    let meta: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    assert_eq!(meta["complete"], true);
}

/// Standard error holds progress and notes only.
#[track_caller]
fn check_stderr(text: &str) {
    for line in text.lines() {
        // A machine that others take away may leave no result, which `check_ending` compares.
        let begins = [
            "note: ",
            "the tester alone",
            "report: ",
            "kept in ",
            "exit 1: 1 of 1 result failed",
        ];
        let known = begins.iter().any(|word| line.starts_with(word))
            || line.contains("/1518/uni: ")
            || line.contains("/1518/uni (control): ");
        assert!(known, "{line:?} in {text}");
    }
}

/// What `--json` prints: one object, as the schema has it.
#[track_caller]
fn check_json(text: &str) -> Value {
    let run = crate::schema::read(text, "Run");
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    for key in ["schema", "run", "tester_limit_fps", "visits", "cells"] {
        assert!(keys(&run).contains(&key.to_owned()), "no {key}");
    }
    for key in [
        "schema",
        "cell",
        "repeat",
        "path",
        "frame_size_bytes",
        "direction",
        "loss_goal",
        "trials",
        "search_s",
        "verdict",
    ] {
        assert!(
            keys(&run["visits"][0]).contains(&key.to_owned()),
            "no {key} in a visit"
        );
    }
    run
}

#[test]
fn ports_are_measured_and_left_as_they_were() {
    let Some(lab) = Lab::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let before = lab.state();
    let run = dir.path().join("run");
    fs::write(dir.path().join("reset.toml"), with_reset()).unwrap();
    let words = ["bench", "-v", "reset.toml", "p0", "p1", "--out", "run"];
    let bench = nicety(words).dir(dir.path()).limit(LONG);
    let ended = lab.inside(bench).run();
    lab.assert_state(&before);
    check_ending(&ended, &run);
    check_stderr(&ended.stderr);
    assert!(ended.stdout.contains("verdict"), "{}", ended.stdout);
    assert!(ended.stdout.contains("ports,a=p0,b=p1"), "{}", ended.stdout);
    for text in [&ended.stdout, &ended.stderr] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\r'),
            "control codes: {text:?}"
        );
    }
    let why = "The reset time was not measured: nothing in a path of kind ports can be reset.";
    assert!(ended.stdout.contains(why), "{}", ended.stdout);
    let cell = &lines(&run.join("cells.jsonl"))[0];
    // What other programs have disturbed is no number, and said.
    if cell["verdict"] == "ok" && cell["disturbance"].is_null() {
        // 40 Mbit/s on layer 2 without the FCS; a token bucket has a burst, hence the margin.
        let rate = cell["throughput_l2_mbps"].as_f64().unwrap();
        assert!((38.0..44.0).contains(&rate), "{cell}");
        overloaded(cell);
    }
    no_stamps_on_veths(&lab, dir.path());
    rendered(dir.path());
    closed_output(dir.path());
    // A finished run resumed: nothing is measured again.
    let trials = fs::read(run.join("trials.jsonl")).unwrap();
    let again = lab
        .inside(nicety(["bench", "--resume", "run", "--json"]))
        .dir(dir.path())
        .run();
    check_json(&again.assert_code(ended.code()).stdout);
    assert_eq!(fs::read(run.join("trials.jsonl")).unwrap(), trials);
}

/// A tenth more than what the bucket lets through is lost to more than a twentieth, until half of it comes: the bucket's
/// queue of 6.5 ms is empty before the next frame is lost.
#[track_caller]
fn overloaded(cell: &Value) {
    let recovery = &cell["recovery"];
    let count = |of: &str| recovery[of].as_u64().unwrap();
    assert!(count("overloaded") > 0, "{cell}");
    assert!(count("not_recovered") < count("overloaded"), "{cell}");
    assert!(recovery["recovery_s"].as_f64() < Some(0.4), "{cell}");
}

/// The bridge was overloaded and reset, where its throughput was found.
#[track_caller]
fn recovered_and_reset(ended: &Ended, run: &Path) {
    let cell = &lines(&run.join("cells.jsonl"))[0];
    let Some(throughput) = cell["throughput_fps"].as_f64() else {
        return;
    };
    let plan = fs::read_to_string(run.join("plan.toml")).unwrap();
    assert!(plan.contains("recovery = \"1s\"\nreset = true"), "{plan}");
    let recovery = &cell["recovery"];
    if recovery.is_null() {
        // A load that others on the CPUs did not let be sent says so.
        let notes = cell["notes"].as_array().unwrap();
        assert!(notes.iter().any(|note| note["code"] == "N076"), "{cell}");
        skip("not tried: the load of the recovery was missed, the CPUs worked for others");
        return;
    }
    assert_eq!(recovery["overload_s"], 1.0, "{cell}");
    let ratio = recovery["overload_fps"].as_f64().unwrap() / throughput;
    assert!(ratio < 1.1001, "{cell}");
    let overloaded = recovery["overloaded"].as_u64().unwrap() > 0;
    assert_eq!(overloaded, !recovery["recovery_s"].is_null(), "{cell}");
    let reset = &cell["reset"];
    assert_eq!(reset["by"], "bridge_down_up", "{cell}");
    assert_eq!(
        (&reset["trials"], &reset["not_back"]),
        (&3.into(), &0.into())
    );
    assert!(reset["outage_s"].as_f64().unwrap() < 10.0, "{cell}");
    let shown = ["recovery, µs", "reset time, ms", "bridge down and up"];
    for text in shown {
        assert!(ended.stdout.contains(text), "{}", ended.stdout);
    }
}

/// Why the ports' hardware does not stamp is said, and a run that insists on it has no result.
fn no_stamps_on_veths(lab: &Lab, dir: &Path) {
    let meta = |run: &str| -> Value {
        serde_json::from_slice(&fs::read(dir.join(run).join("run.json")).unwrap()).unwrap()
    };
    let why = "p0: its driver stamps in software only";
    let notes = meta("run")["notes"].to_string();
    let said = format!("Hardware time stamps are not used: {why}");
    assert!(notes.contains(&said), "{notes}");
    let words = ["bench", "reset.toml", "p0", "p1", "--stamps", "hardware"];
    let asked = nicety(words.iter().chain(&["--out", "stamped"]))
        .dir(dir)
        .limit(LONG);
    let ended = lab.inside(asked).run();
    ended.assert_code(3);
    let skipped = &meta("stamped")["skipped"][0];
    let reason = format!("no hardware time stamps, which --stamps hardware asks for: {why}");
    assert_eq!(skipped["reason"], reason.as_str(), "{ended:?}");
    fs::remove_dir_all(dir.join("stamped")).unwrap();
}

/// `nicety report` in all its forms.
fn rendered(dir: &Path) {
    let report = |more: &[&str]| {
        let ended = nicety(["report", "run"].iter().chain(more)).dir(dir).run();
        ended.assert_code(0);
        assert_eq!(ended.stderr, "", "{more:?}");
        ended.stdout
    };
    assert!(report(&[]).contains("verdict"));
    let csv = report(&["--csv", "cells=-"]);
    assert_eq!(csv.lines().count(), 2, "a head and a row: {csv}");
    let columns = |line: &str| line.split(',').count();
    assert!(columns(csv.lines().next().unwrap()) > 10);
    assert!(report(&["--format", "md"]).contains("| ---"), "a table");
    assert!(report(&["--html", "-"]).contains("</html>"));
    check_json(&report(&["--json"]));
    let both = ["--html", "x.html", "--csv", "cells=x.csv"];
    assert_eq!(report(&both), "");
    assert_eq!(fs::read_to_string(dir.join("x.csv")).unwrap(), csv);
    assert_eq!(
        fs::read_to_string(dir.join("x.html")).unwrap(),
        report(&["--html", "-"])
    );
    let ended = nicety(["report", "run", "--html", "none/x.html"])
        .dir(dir)
        .run();
    assert_eq!(
        ended.assert_code(3).only_line(),
        "cannot write none/x.html: No such file or directory (os error 2); name a file in a directory you may write to"
    );
    let ended = nicety(["report", "run", "run", "--json"]).dir(dir).run();
    ended.refused("files and formats hold one run; give one run directory at a time");
}

/// A reader that goes away early.
fn closed_output(dir: &Path) {
    for arguments in [
        &["report", "run"][..],
        &["report", "run", "--html", "-"],
        &["report", "run", "--csv", "cells=-"],
        &["report", "run", "--format", "md"],
        &["report", "run", "--json"],
        &["bench", "--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = nicety(arguments)
            .dir(dir)
            .start_with(|c| {
                c.stdout(writer);
            })
            .wait();
        ended.assert_code(0);
        assert_eq!(ended.stderr, "", "{arguments:?}");
    }
}

#[test]
fn names_of_the_path_may_be_in_use() {
    const SETUP: &str = "set -e
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add name br0 type bridge
ip link add name a type veth peer name b
ip link add name d0 type veth peer name d1
for port in br0 a b d0 d1; do ip link set dev $port up; done";
    let Some(lab) = Lab::with(SETUP) else { return };
    let dir = tempfile::tempdir().unwrap();
    let state = lab.state();
    let before = Before::now(dir.path());
    let keep = ["--json", "--keep", "nightly"];
    let store = dir.path().join("kept/runs.sqlite");
    let store = store.to_str().unwrap();
    let call = bench(dir.path(), &keep).env("NICETY_STORE", store);
    let ended = lab.inside(call).run();
    check_ending(&ended, &dir.path().join("run"));
    check_stderr(&ended.stderr);
    let kept = format!("kept in {store}: run 1: run\n");
    assert!(ended.stderr.contains(&kept), "{}", ended.stderr);
    let list = nicety(["runs", "list", "--store", store, "--format", "csv"]).run();
    let row = list.assert_code(0).stdout.lines().nth(1).unwrap();
    assert!(row.starts_with("1,") && row.ends_with(",nightly"), "{row}");
    let run = check_json(&ended.stdout);
    assert_eq!(run["cells"][0]["cell"], "bridge/1518/uni");
    lab.assert_state(&state);
    before.check();
}

#[test]
fn an_ordinary_user_measures_a_bridge() {
    if !as_root("only root can become nobody; names_of_the_path_may_be_in_use is the same run")
        || !ordinary_namespaces()
    {
        return;
    }
    let dir = open_dir();
    tiny(dir.path());
    let mine = dir.path().join("mine");
    fs::create_dir(&mine).unwrap();
    std::os::unix::fs::chown(&mine, Some(65534), Some(65534)).unwrap();
    let before = Before::now(dir.path());
    fs::write(mine.join("reset.toml"), with_reset()).unwrap();
    let call = nicety(["bench", "reset.toml", "-o", "run", "--keep"])
        .dir(&mine)
        .env("NICETY_STORE", "kept.sqlite")
        .limit(LONG);
    let ended = call.by_nobody().run();
    let run = mine.join("run");
    check_ending(&ended, &run);
    check_stderr(&ended.stderr);
    assert_eq!(
        ended
            .stderr
            .matches("nicety runs as an ordinary user.")
            .count(),
        1,
        "{}",
        ended.stderr
    );
    recovered_and_reset(&ended, &run);
    // The store was opened before the user's own namespaces were entered.
    let kept = "kept in kept.sqlite: run 1: run\n";
    assert!(ended.stderr.contains(kept), "{}", ended.stderr);
    for file in FILES {
        assert_eq!(fs::metadata(run.join(file)).unwrap().uid(), 65534, "{file}");
    }
    before.check();
}
