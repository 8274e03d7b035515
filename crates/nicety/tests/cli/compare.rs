//! `nicety compare`: answers, formats, exit codes and what it refuses.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Ended, nicety, refusals, words};
use crate::made::Made;

const STEADY: [f64; 3] = [100_000.0, 100_400.0, 99_700.0];
const SLOWER: [f64; 3] = [90_000.0, 90_400.0, 89_700.0];

/// `before` and `after`, the latter slower at 64 bytes and on another kernel.
fn runs(dir: &Path) {
    Made::new(1, &[(64, &STEADY), (1518, &STEADY)]).write(dir, "before");
    let mut after = Made::new(2, &[(64, &SLOWER), (1518, &STEADY)]);
    after.kernel = "6.19.0".to_owned();
    after.write(dir, "after");
}

fn compare(dir: &Path, arguments: &[&str]) -> Ended {
    nicety(std::iter::once(&"compare").chain(arguments))
        .dir(dir)
        .run()
}

#[test]
fn a_slower_run_is_a_negative_answer() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path());
    let ended = compare(dir.path(), &["before", "after"]);
    ended.assert_code(1);
    assert_eq!(ended.stderr, "");
    let first = ended.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("1 of 2 cells is worse, bridge/64/uni most: -10.0 % ("),
        "{first}"
    );
    assert!(ended.stdout.contains("the sides also differ in kernel"));
    compare(dir.path(), &["after", "before"]).assert_code(0);
    compare(dir.path(), &["before", "before"]).assert_code(0);
    // What a wider margin allows is no regression, but not the same for sure either.
    let wide = ["before", "after", "--margin", "12%"];
    compare(dir.path(), &wide).assert_code(0);
    compare(
        dir.path(),
        &["before", "after", "--margin", "12%", "--strict"],
    )
    .assert_code(1);
}

#[test]
fn every_format_holds_the_same_comparison() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path());
    let files = ["--html", "c.html", "--json"];
    let ended = compare(dir.path(), &[&["before", "after"], &files[..]].concat());
    ended.assert_code(1);
    let found = crate::schema::read(&ended.stdout, "Comparison");
    assert_eq!(found["counts"]["worse"], 1);
    assert_eq!(found["differences"][0]["what"], "kernel");
    let page = fs::read_to_string(dir.path().join("c.html")).unwrap();
    assert!(page.contains("1 of 2 cells is worse"));
    let text = compare(dir.path(), &["before", "after", "--format", "md"]);
    assert!(text.stdout.contains("| **worse** |"));
}

#[test]
fn files_that_json_wrote_compare_as_well() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path());
    for name in ["before", "after"] {
        let printed = nicety(["report", name, "--json"]).dir(dir.path()).run();
        fs::write(dir.path().join(format!("{name}.json")), &printed.stdout).unwrap();
    }
    let a = compare(dir.path(), &["before.json", "after.json", "--json"]);
    let b = compare(dir.path(), &["before", "after", "--json"]);
    let cells = |ended: &Ended| -> Value {
        let found: Value = serde_json::from_str(&ended.stdout).unwrap();
        found["cells"].clone()
    };
    assert_eq!(cells(&a), cells(&b));
}

#[test]
fn several_runs_make_a_side() {
    let dir = tempfile::tempdir().unwrap();
    for (seed, name) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
        Made::new(seed, &[(64, &STEADY)]).write(dir.path(), name);
    }
    let ended = compare(
        dir.path(),
        &["a", "b", "--old", "c", "--new", "d", "--json"],
    );
    let found = ended.json();
    assert_eq!(found["cells"][0]["ratio"]["spread_of"], "runs");
    assert_eq!(found["cells"][0]["old"]["runs"], 2);
    let twice = compare(dir.path(), &["a", "b", "--old", "./a"]);
    twice.refused("./a is given twice on the old side; name every run once");
}

const REFUSED: &str = r#"
other-size
    not comparable: no cell is in both, the frame sizes are 1518, 64 before and 512 now; measure both with the same plan
std
    not comparable: before was searched with preset quick, std with std; measure both alike
half
    half has no run.json: not a run directory, or its run was killed before it began; start a new run
none
    there is no run directory none; check the path
newer.json
    newer.json:1: schema 99 is newer than 1, the newest this version reads; use a newer nicety
"#;

#[test]
fn what_cannot_be_compared_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path());
    Made::new(3, &[(512, &STEADY)]).write(dir.path(), "other-size");
    Made::new(4, &[]).write(dir.path(), "nothing");
    let mut strict = Made::new(5, &[(64, &STEADY)]);
    strict.preset = "std".to_owned();
    strict.write(dir.path(), "std");
    fs::create_dir(dir.path().join("half")).unwrap();
    fs::write(dir.path().join("half/plan.toml"), "").unwrap();
    fs::write(dir.path().join("not.json"), "{}").unwrap();
    fs::write(dir.path().join("newer.json"), "{\"schema\": 99}").unwrap();
    for (other, line) in refusals(REFUSED) {
        compare(dir.path(), &["before", other]).refused(line);
    }
    let broken = compare(dir.path(), &["before", "not.json"]);
    assert!(broken.assert_code(2).only_line().starts_with("not.json:1:"));
    let unwritable = compare(dir.path(), &["before", "after", "--html", "no/such/c.html"]);
    unwritable.cannot("no/such/c.html");
}

const NUMBERS: &str = r#"
before after --metric speed
    --metric: unknown number "speed"; write one of throughput, latency-p50, latency-p99, cpu
before after --margin 3
    --margin: "3" is not a share; write a number between 0 and 1, as in 0.03, or per cent, as in 3%
before after --confidence 0.2
    confidence 0.2 is out of range; write a share above 0.5 and below 1, such as 0.95
"#;

#[test]
fn wrong_numbers_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    runs(dir.path());
    for (arguments, line) in refusals(NUMBERS) {
        compare(dir.path(), &words(arguments)).refused(line);
    }
}
