//! `nicety runs`: keeping, finding, reading and forgetting runs.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Ended, each, nicety, refusals, words};
use crate::made::{Made, nights};
use crate::schema;

fn runs(dir: &Path, arguments: &[&str]) -> Ended {
    nicety(std::iter::once(&"runs").chain(arguments))
        .dir(dir)
        .env("NICETY_STORE", "")
        .run()
}

fn report(dir: &Path, run: &str) -> Ended {
    let call = nicety(["report", run]).dir(dir);
    call.env("NICETY_STORE", "").run()
}

#[track_caller]
fn json(dir: &Path, arguments: &[&str], definition: &str) -> Value {
    let ended = runs(dir, &[arguments, &["--json"]].concat());
    schema::read(&ended.assert_code(0).stdout, definition)
}

/// A month of nightly runs that lose a tenth on the 15th, with a new kernel.
fn month(dir: &Path) {
    let names = nights(dir, 24, 15, |day, made| {
        if day >= 15 {
            made.kernel = "6.19.0".to_owned();
        }
        if day == 20 {
            made.verdict = "noisy".to_owned();
        }
    });
    let words: Vec<&str> = ["add"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let added = runs(dir, &words);
    added.assert_code(0);
    assert_eq!(added.stderr.lines().count(), 24);
}

#[test]
fn a_run_is_kept_listed_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made::new(1, &[(64, &[1e5, 1.001e5, 0.999e5])]).write(dir.path(), "mine");
    let added = runs(dir.path(), &["add", "mine", "--label", "first light"]);
    assert_eq!(added.assert_code(0).stderr, "run 1: mine\n");
    let again = runs(dir.path(), &["add", "mine"]);
    assert_eq!(again.stderr, "run 1: mine, was kept already\n");
    assert!(dir.path().join("runs/history.sqlite").exists());
    let list = json(dir.path(), &["list"], "RunList");
    assert_eq!(list["runs"][0]["labels"][0], "first light");
    let table = runs(dir.path(), &["list"]).stdout;
    assert!(
        table.contains("first light") && table.contains("6.18.5"),
        "{table}"
    );
    let call = |words: &[&str]| nicety(words).dir(dir.path()).env("NICETY_STORE", "").run();
    let report = call(&["report", "mine"]);
    // By number, and as the newest run of its name.
    for word in ["1", "made"] {
        let shown = call(&["report", word]);
        assert_eq!(shown.assert_code(0).stdout, report.stdout);
    }
    let page = |word: &str| {
        let page = call(&["report", word, "--html", "-"]);
        page.assert_code(0).stdout.clone()
    };
    assert_eq!(page("1"), page("mine"));
    let compared = call(&["compare", "mine", "1"]);
    assert!(
        compared
            .assert_code(0)
            .stdout
            .starts_with("nothing changed")
    );
    // A directory is nearer than a kept run.
    fs::rename(made, dir.path().join("7")).unwrap();
    call(&["report", "7"]).assert_code(0);
    let again = runs(dir.path(), &["add", "7", "--label", "second"]);
    assert_eq!(again.stderr, "run 1: 7, was kept already\n");
    let list = json(dir.path(), &["list"], "RunList");
    assert_eq!(list["runs"][0]["labels"], json!(["first light", "second"]));
}

#[test]
fn a_trend_marks_the_change_and_what_differs() {
    let dir = tempfile::tempdir().unwrap();
    month(dir.path());
    let trend = json(dir.path(), &["trend", "bridge/64/uni"], "Trend");
    assert_eq!(trend["points"].as_array().unwrap().len(), 24);
    let changes = trend["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["id"], 15);
    assert_eq!(changes[0]["differences"][0]["what"], "kernel");
    let ratio = changes[0]["ratio"].as_f64().unwrap();
    assert!((ratio - 0.9).abs() < 0.005, "{ratio}");
    let text = runs(dir.path(), &["trend", "bridge/64/uni"]).stdout;
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("bridge/64/uni: 1 change over 24 runs, the last with run 15: -10."),
        "{first}"
    );
    assert!(text.contains("kernel 6.18.5, now 6.19.0"), "{text}");
    assert!(
        text.contains("  noisy"),
        "a verdict is never hidden: {text}"
    );
    let p99 = runs(
        dir.path(),
        &["trend", "bridge/64/uni", "--metric", "latency-p99"],
    );
    assert!(p99.assert_code(0).stdout.contains("no change over 24 runs"));
}

#[test]
fn labelled_runs_outlive_the_others() {
    let dir = tempfile::tempdir().unwrap();
    month(dir.path());
    runs(dir.path(), &["add", "night-03", "--label", "release"]).assert_code(0);
    let dry = runs(dir.path(), &["rm", "--keep", "5", "--dry-run"]);
    assert!(
        dry.stderr.ends_with("18 of 24 runs would be forgotten\n"),
        "{dry:?}"
    );
    runs(dir.path(), &["rm", "--keep", "5"]).assert_code(0);
    let left = json(dir.path(), &["list"], "RunList");
    let ids = each(&left["runs"], |run| run["id"].as_i64().unwrap());
    assert_eq!(ids, [24, 23, 22, 21, 20, 3]);
    let by_label = json(dir.path(), &["list", "--label", "release"], "RunList");
    assert_eq!(by_label["runs"].as_array().unwrap().len(), 1);
    runs(
        dir.path(),
        &["rm", "--older-than", "1d", "--force", "--keep", "5"],
    )
    .assert_code(0);
    let left = json(dir.path(), &["list", "made"], "RunList");
    assert_eq!(left["runs"].as_array().unwrap().len(), 5);
    let named = runs(dir.path(), &["rm", "24", "22"]);
    assert!(
        named
            .assert_code(0)
            .stderr
            .ends_with("2 of 5 runs forgotten\n")
    );
    let gone = runs(dir.path(), &["rm", "22"]);
    gone.refused("the store has no run 22; nicety runs list shows those it has");
}

#[test]
fn a_directory_that_is_no_run_keeps_no_other_out() {
    let dir = tempfile::tempdir().unwrap();
    Made::new(1, &[(64, &[1e5])]).write(dir.path(), "good");
    let torn = Made::new(2, &[(64, &[1e5, 1e5])]).write(dir.path(), "torn");
    let cells = fs::read(torn.join("cells.jsonl")).unwrap();
    fs::write(torn.join("cells.jsonl"), &cells[..cells.len() - 9]).unwrap();
    fs::create_dir(dir.path().join("half")).unwrap();
    let newer = Made::new(3, &[(64, &[1e5])]).write(dir.path(), "newer");
    fs::write(newer.join("run.json"), "{\"schema\": 99}").unwrap();
    let ended = runs(dir.path(), &["add", "half", "good", "newer", "torn"]);
    ended.assert_code(2);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines[0], "run 1: good");
    assert_eq!(lines[1], "run 2: torn");
    assert!(lines[2].contains("half has no run.json"), "{lines:?}");
    assert!(lines[3].contains("schema 99 is newer"), "{lines:?}");
    assert!(
        lines[4].contains("2 of 4 directories were not kept"),
        "{lines:?}"
    );
    assert!(report(dir.path(), "2").stdout.contains("is incomplete"));
    // A run that went on is brought up to date.
    fs::write(torn.join("cells.jsonl"), &cells).unwrap();
    let more = runs(dir.path(), &["add", "torn"]);
    assert_eq!(more.stderr, "run 2: torn, brought up to date\n");
}

#[test]
fn a_list_without_runs_says_how_to_keep_one() {
    let dir = tempfile::tempdir().unwrap();
    let says = "no runs kept yet; keep one with: nicety bench --keep\n";
    let list = runs(dir.path(), &["list"]);
    assert_eq!(list.assert_code(0).stderr, says);
    assert!(!dir.path().join("runs").exists(), "to look makes nothing");
    let quiet = runs(dir.path(), &["list", "--quiet"]);
    assert_eq!(quiet.assert_code(0).stderr, "");
    let json = runs(dir.path(), &["list", "--format", "json"]);
    let json = json.json();
    assert_eq!(json["runs"], serde_json::json!([]));
    // A store without runs says the same.
    Made::new(1, &[(64, &[1e5])]).write(dir.path(), "one");
    runs(dir.path(), &["add", "one"]).assert_code(0);
    runs(dir.path(), &["rm", "--keep", "0"]).assert_code(0);
    assert_eq!(runs(dir.path(), &["list"]).assert_code(0).stderr, says);
}

#[test]
fn cells_are_named_by_number_or_start() {
    let dir = tempfile::tempdir().unwrap();
    Made::new(1, &[(64, &[1e5]), (1518, &[2e4])]).write(dir.path(), "one");
    runs(dir.path(), &["add", "one"]).assert_code(0);
    let list = runs(dir.path(), &["trend"]);
    let cells: Vec<&str> = list.assert_code(0).stdout.lines().collect();
    assert_eq!(cells.len(), 2, "{cells:?}");
    assert!(cells[1].starts_with("2  bridge/"), "{cells:?}");
    let name = cells[1].trim_start_matches("2  ");
    let whole = runs(dir.path(), &["trend", name]);
    let whole = &whole.assert_code(0).stdout;
    assert!(whole.contains(name), "{whole}");
    let start = name.strip_suffix("/uni").unwrap();
    for typed in ["2", start] {
        let same = runs(dir.path(), &["trend", typed]);
        assert_eq!(&same.assert_code(0).stdout, whole, "{typed}");
    }
    let both = runs(dir.path(), &["trend", "bridge"]);
    let line = both.assert_code(2).only_line();
    assert!(
        line.starts_with("\"bridge\" is the start of several names;"),
        "{line}"
    );
    assert!(line.contains("1 (bridge/"), "{line}");
    // A report shows one cell of a run in the same way.
    let report = |cell: &str| {
        let line = format!("report one --cell {cell} --format csv --no-header");
        nicety(words(&line)).dir(dir.path()).run()
    };
    let rows = report("1");
    let rows: Vec<&str> = rows.assert_code(0).stdout.lines().collect();
    assert!(
        rows.len() == 1 && rows[0].starts_with("1,bridge/64/uni,"),
        "{rows:?}"
    );
    let line = report("9").assert_code(2).only_line().to_owned();
    assert!(
        line.starts_with("--cell: no cell is called \"9\""),
        "{line}"
    );
}

#[test]
fn lists_and_trends_have_formats() {
    let dir = tempfile::tempdir().unwrap();
    Made::new(1, &[(64, &[1e5])]).write(dir.path(), "one");
    runs(dir.path(), &["add", "one", "--label", "a b"]).assert_code(0);
    let csv = runs(dir.path(), &["list", "--format", "csv"]);
    let lines: Vec<&str> = csv.assert_code(0).stdout.lines().collect();
    assert!(lines[0].starts_with("run,started,name,"), "{lines:?}");
    let bare = runs(dir.path(), &["list", "--format", "csv", "--no-header"]);
    assert_eq!(bare.assert_code(0).stdout.trim_end(), lines[1]);
    let rows = runs(dir.path(), &["list", "--no-header"]);
    let rows: Vec<&str> = rows.assert_code(0).stdout.lines().collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let markdown = runs(dir.path(), &["trend", "1", "--format", "md"]);
    markdown.assert_code(0).assert_out("\n| run |");
    let trend = runs(dir.path(), &["trend", "1", "--format", "csv"]);
    let lines: Vec<&str> = trend.assert_code(0).stdout.lines().collect();
    assert_eq!(
        lines[0],
        "run,started,value,min,max,repeats,verdict,labels,goal,loss_goal"
    );
    let [json, synonym] = [["--format", "json"].as_slice(), &["-j"]]
        .map(|format| runs(dir.path(), &[&["trend", "1"], format].concat()).stdout);
    assert_eq!(json, synonym);
    let both = runs(dir.path(), &["list", "--format", "csv", "--json"]);
    both.refused("--format and --json exclude each other; remove one of them");
}

/// A run of one cell whose second loss goal has `factor` times its throughput.
fn with_goals(dir: &Path, seed: u64, factor: f64) {
    let mut made = Made::new(seed, &[(64, &[1e5])]);
    made.goals = vec![("NDR", 0.0001, 1.0), ("PDR", 0.005, factor)];
    made.write(dir, &format!("goals{seed}"));
}

#[test]
fn a_trend_follows_the_goal_that_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 1..=10 {
        with_goals(dir.path(), seed, if seed < 6 { 1.5 } else { 1.2 });
        runs(dir.path(), &["add", &format!("goals{seed}")]).assert_code(0);
    }
    let trend = |more: &[&str]| -> Value {
        let words = [&["trend", "bridge/64/uni", "-j"], more].concat();
        let ended = runs(dir.path(), &words);
        ended.json()
    };
    let strictest = trend(&[]);
    assert_eq!(
        (
            &strictest["goal"],
            &strictest["loss_goal"],
            &strictest["changes"]
        ),
        (&json!("NDR"), &json!(0.0001), &json!([]))
    );
    assert_eq!(strictest, trend(&["--goal", "NDR"]));
    let second = trend(&["--goal", "PDR"]);
    assert_eq!(
        (&second["cell"], &second["goal"], &second["loss_goal"]),
        (&json!("bridge/64/uni"), &json!("PDR"), &json!(0.005))
    );
    let value = |trend: &Value, at: usize| trend["points"][at]["value"].as_f64().unwrap().round();
    assert_eq!((value(&strictest, 0), value(&strictest, 9)), (1e5, 1e5));
    assert_eq!((value(&second, 0), value(&second, 9)), (1.5e5, 1.2e5));
    assert_eq!(second["changes"][0]["id"], 6, "{second}");
    // The goal's own name, as compare shows it, means the same.
    let words = ["trend", "bridge/64/uni/goal=PDR:0.005", "-j"];
    let named: Value = serde_json::from_str(&runs(dir.path(), &words).stdout).unwrap();
    assert_eq!(named, second);
    let table = runs(dir.path(), &["trend", "bridge/64/uni", "--goal", "PDR"]);
    let table = &table.assert_code(0).stdout;
    for part in ["bridge/64/uni, goal PDR: 1 change", "loss goal PDR (0.5"] {
        assert!(table.contains(part), "no {part} in {table}");
    }
    let csv = ["trend", "bridge/64/uni", "--goal", "PDR", "--format", "csv"];
    let csv = runs(dir.path(), &csv);
    let row = csv.assert_code(0).stdout.lines().nth(1).unwrap().to_owned();
    assert!(row.ends_with(",PDR,0.005"), "{row}");
    // A cell is one, whatever its goals.
    let list = runs(dir.path(), &["trend"]);
    assert_eq!(list.assert_code(0).stdout, "1  bridge/64/uni\n");
    let list = runs(dir.path(), &["list", "-j"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let run = &list["runs"][0];
    assert_eq!((&run["cells"], &run["cells_ok"]), (&json!(1), &json!(1)));
    let wrong = runs(dir.path(), &["trend", "1", "--goal", "MDR"]);
    wrong.refused("run 10 has no goal \"MDR\" for bridge/64/uni; name one of NDR, PDR");
    Made::new(11, &[(64, &[1e5])]).write(dir.path(), "one");
    runs(dir.path(), &["add", "one"]).assert_code(0);
    let wrong = runs(dir.path(), &["trend", "1", "--goal", "PDR"]);
    wrong.refused("run 11 has one loss goal for bridge/64/uni; leave --goal out");
}

const BAD: &str = r#"
rm x
    RUN: "x" is not a run; write its number as nicety runs list shows it
rm
    RUN is missing; see nicety runs rm --help
trend bridge/65/uni
    no cell is called "bridge/65/uni" or begins so; there are 1 (bridge/64/uni)
list --store text
    text is not a store of nicety (it is not an SQLite database); name another with --store or NICETY_STORE
list --store mysql://db/nicety
    --store mysql://db/nicety: no store of this kind is known; write postgres://USER@HOST/DATABASE
rm --older-than soon
    --older-than: "soon" is not an age; write a number and h or d, as in 90d
"#;

#[test]
fn bad_stores_and_numbers_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        report(dir.path(), "1").assert_code(2).only_line(),
        "there is no store runs/history.sqlite; keep a first run with nicety runs add DIR, or name another with --store or NICETY_STORE"
    );
    Made::new(1, &[(64, &[1e5])]).write(dir.path(), "good");
    runs(dir.path(), &["add", "good"]).assert_code(0);
    fs::write(
        dir.path().join("text"),
        "no database at all, but long enough".repeat(90),
    )
    .unwrap();
    for (arguments, line) in refusals(BAD) {
        runs(dir.path(), &words(arguments)).refused(line);
    }
    assert_eq!(
        report(dir.path(), "7").assert_code(2).only_line(),
        "the store has no run 7; nicety runs list shows those it has"
    );
    let nowhere = runs(
        dir.path(),
        &["add", "good", "--store", "good/run.json/x.sqlite"],
    );
    nowhere.cannot("good/run.json/x.sqlite");
}
