//! What every store must do, whatever it is kept in.

use nicety_history::{Added, History, HistoryError, NewRun};
use nicety_model::bill::{SLOT_SECONDS, UsageRow};
use nicety_model::compare::Metric;
use nicety_model::history::Figure;
use nicety_model::{Fingerprint, Run, Verdict};
use nicety_store::RunFiles;

pub fn run(day: u32) -> Run {
    let text = format!(
        r#"{{"schema":1,"run":{{"name":"nightly","started":"2026-03-{day:02}T01:00:00Z",
        "elapsed_s":1.0,"seed":{day},"preset":"quick","loss_goal":0.0001,"command":"nicety bench",
        "complete":true,"host":{},"notes":[]}},
        "tester_limit_fps":{{}},"visits":[],"cells":[]}}"#,
        host()
    );
    serde_json::from_str(&text).unwrap()
}

fn host() -> String {
    let host = Fingerprint {
        kernel: "6.18.5".to_owned(),
        ..Fingerprint::default()
    };
    serde_json::to_string(&host).unwrap()
}

pub fn files(text: &str) -> RunFiles {
    [("host.json", host()), ("cells.jsonl", text.to_owned())]
        .map(|(name, text)| (name.to_owned(), text.into_bytes()))
        .into()
}

pub fn figure(mean: f64) -> Figure {
    Figure {
        cell: "bridge/64/uni".to_owned(),
        metric: Metric::Throughput,
        mean: Some(mean),
        min: Some(mean - 1.0),
        max: Some(mean + 1.0),
        repeats: 3,
        verdict: Verdict::Ok,
    }
}

pub fn add(store: &mut History, day: u32, text: &str, labels: &[&str]) -> Added {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    store
        .add(
            &NewRun {
                run: &run(day),
                files: &files(text),
                figures: &[figure(f64::from(day) * 1000.0)],
            },
            &labels,
        )
        .unwrap()
}

/// Opens the store under test, anew each time; makes it when asked.
pub type Opens<'a> = &'a dyn Fn(bool) -> Opened;
/// The same, by the name of a store.
pub type OpensNamed<'a> = &'a dyn Fn(&str, bool) -> Opened;
/// A store, or why there is none.
pub type Opened = Result<History, HistoryError>;
type Check = for<'a> fn(Opens<'a>);

/// A run comes back as it was.
pub fn comes_back(open: Opens<'_>) {
    let mut store = open(true).unwrap();
    assert_eq!(add(&mut store, 2, "two", &["b", "a"]), Added::New(1));
    assert_eq!(add(&mut store, 1, "one", &[]), Added::New(2));
    drop(store);
    let store = open(false).unwrap();
    assert_eq!(store.files(1).unwrap(), files("two"));
    let kept = store.list().unwrap();
    assert_eq!(kept.iter().map(|run| run.id).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(kept[0].labels, ["a", "b"]);
    assert_eq!((kept[0].cells, kept[0].cells_ok), (1, 1));
    let points = store.points("bridge/64/uni", Metric::Throughput).unwrap();
    let values: Vec<_> = points.iter().map(|p| p.point.value).collect();
    assert_eq!(values, [Some(1000.0), Some(2000.0)], "oldest first");
    assert!(
        store
            .points("bridge/64/uni", Metric::Cpu)
            .unwrap()
            .is_empty()
    );
    assert_eq!(store.cells().unwrap(), ["bridge/64/uni"]);
}

/// What tenants have used is kept once a slot, and found by time and tenant.
pub fn usage(open: Opens<'_>) {
    let row = |host: &str, tenant: &str, slot: i64, bytes| {
        let mut row = UsageRow {
            host: host.to_owned(),
            tenant: tenant.to_owned(),
            start: slot * SLOT_SECONDS,
            usage: Default::default(),
        };
        row.usage.sent.bytes = bytes;
        row.usage.received.most = u64::MAX >> 1;
        row.usage.watched_ms = 300_000;
        row
    };
    let mut store = open(true).unwrap();
    store.keep_usage(&[]).unwrap();
    let rows = [
        row("a", "blue", 1, 7),
        row("a", "blue", 2, 8),
        row("b", "blue", 1, 9),
        row("a", "grün", 1, 1),
    ];
    store.keep_usage(&rows).unwrap();
    store.keep_usage(&[row("a", "blue", 2, 80)]).unwrap();
    drop(store);
    let store = open(false).unwrap();
    let all = store.usage(0..i64::MAX, None).unwrap();
    assert_eq!(all.len(), 4);
    assert_eq!(
        all.last(),
        Some(&row("a", "blue", 2, 80)),
        "the newer one counts"
    );
    let blue = store
        .usage(SLOT_SECONDS..2 * SLOT_SECONDS, Some("blue"))
        .unwrap();
    assert_eq!(blue, [row("a", "blue", 1, 7), row("b", "blue", 1, 9)]);
    assert!(store.usage(0..SLOT_SECONDS, None).unwrap().is_empty());
}

/// A run is kept once.
pub fn kept_once(open: Opens<'_>) {
    let mut store = open(true).unwrap();
    assert_eq!(add(&mut store, 1, "half", &["x"]), Added::New(1));
    assert_eq!(add(&mut store, 1, "half", &["y"]), Added::Same(1));
    assert_eq!(add(&mut store, 1, "whole", &[]), Added::Replaced(1));
    assert_eq!(store.files(1).unwrap(), files("whole"));
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(store.list().unwrap()[0].labels, ["x", "y"]);
}

/// Runs are forgotten whole.
pub fn removal(open: Opens<'_>) {
    let mut store = open(true).unwrap();
    for day in 1..=3 {
        add(&mut store, day, "x", &[]);
    }
    assert!(matches!(
        store.remove(&[1, 9]),
        Err(HistoryError::NoRun { id: 9 })
    ));
    store.remove(&[1, 3]).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    assert!(matches!(store.files(1), Err(HistoryError::NoRun { id: 1 })));
    // A number is never given twice: what a script wrote down stays true.
    assert_eq!(add(&mut store, 9, "x", &[]), Added::New(4));
}

/// Many runs answer a trend.
pub fn trend(open: Opens<'_>) {
    let mut store = open(true).unwrap();
    let mut base = run(1);
    for n in 0..100 {
        base.run.seed = n;
        // The last is one of the goals of a cell, and no cell.
        let names = (0..7).map(|cell| format!("bridge/{cell}/uni"));
        let names = names.chain(["bridge/3/uni/goal=PDR:0.005".to_owned()]);
        let cells: Vec<Figure> = names
            .map(|cell| Figure {
                cell,
                ..figure(1000.0)
            })
            .collect();
        let new = NewRun {
            run: &base,
            files: &files("x"),
            figures: &cells,
        };
        store.add(&new, &[]).unwrap();
    }
    let points = store.points("bridge/3/uni", Metric::Throughput).unwrap();
    assert_eq!(points.len(), 100);
    let of_goal = "bridge/3/uni/goal=PDR:0.005";
    let points = store.points(of_goal, Metric::Throughput).unwrap();
    assert_eq!(points.len(), 100);
    let newest = &store.list().unwrap()[0];
    assert_eq!((newest.cells, newest.cells_ok), (7, 7));
}

/// All of it, on stores that are each opened by a name of their own.
pub fn all(open: OpensNamed<'_>) {
    let checks: [(&str, Check); 5] = [
        ("comes_back", comes_back),
        ("kept_once", kept_once),
        ("removal", removal),
        ("trend", trend),
        ("usage", usage),
    ];
    for (name, check) in checks {
        println!("{name}");
        assert!(matches!(
            open(name, false),
            Err(HistoryError::Missing { .. })
        ));
        check(&|make| open(name, make));
    }
}
