//! `nicety runs` with a PostgreSQL server: what a team does with it.

use std::fs;
use std::path::Path;

use crate::harness::{Call, nicety};
use crate::made::Made;
use crate::server::Server;

fn runs(dir: &Path, store: &str, words: &[&str]) -> Call {
    nicety(std::iter::once(&"runs").chain(words))
        .dir(dir)
        .env("NICETY_STORE", store)
}

#[test]
fn a_team_keeps_runs_on_a_server() {
    let Some(mut server) = Server::start("a_team_keeps_runs_on_a_server") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    server.database("team");
    let store = &server.url("team");
    let told = store.replace("/team?host=", "") + "/team";
    let empty = runs(dir, store, &["list"]).run();
    assert!(
        empty.assert_code(0).stderr.starts_with("no runs kept yet"),
        "{empty:?}"
    );
    let empty = runs(dir, store, &["show", "1"]).run();
    let line = empty.assert_code(2).only_line();
    assert!(
        line.starts_with(&format!("there is no store {told}; ")),
        "{line}"
    );

    let mut words = vec!["add".to_owned(), "--label".to_owned(), "nightly".to_owned()];
    for day in 1..=20_u64 {
        let level = if day < 11 { 100_000.0 } else { 90_000.0 };
        let wobble = f64::from(u32::try_from(day * 7 % 5).unwrap()) * 200.0;
        let mut made = Made::new(day, &[(64, &[level + wobble, level - wobble])]);
        made.started = format!("2026-03-{day:02}T01:00:00Z");
        let name = format!("night-{day:02}");
        made.write(dir, &name);
        words.push(name);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let added = runs(dir, store, &words).run();
    assert_eq!(added.assert_code(0).stderr.lines().count(), 20);
    let again = runs(dir, store, &["add", "night-07"]).run();
    assert_eq!(again.stderr, "run 7: night-07, was kept already\n");

    // The same as from a file, but for where it is kept.
    runs(dir, "own.sqlite", &words).run().assert_code(0);
    for words in [
        &["list", "--json"][..],
        &["list", "--label", "nightly"],
        &["show", "3"],
        &["trend", "bridge/64/uni", "--json"],
        &["prune", "--keep", "5", "--labelled", "--dry-run"],
    ] {
        let theirs = runs(dir, store, words).run();
        let own = runs(dir, "own.sqlite", words).run();
        let theirs_out = theirs.assert_code(0).stdout.replace(&told, "own.sqlite");
        assert_eq!(theirs_out, own.stdout, "{words:?}");
        assert_eq!(theirs.stderr, own.stderr, "{words:?}");
    }
    runs(dir, store, &["export", "12", "back"])
        .run()
        .assert_code(0);
    for entry in fs::read_dir(dir.join("night-12")).unwrap() {
        let name = entry.unwrap().file_name();
        let [made, back] = ["night-12", "back"].map(|run| fs::read(dir.join(run).join(&name)));
        assert_eq!(made.unwrap(), back.unwrap(), "{name:?}");
    }

    server.crash();
    let secret = store.replace("tester@", "tester:secret@");
    let away = runs(dir, &secret, &["list"]).run();
    let line = away.assert_code(3).only_line();
    assert!(
        line.starts_with(&format!("cannot reach the store {told}: ")),
        "{line}"
    );
    let bad = format!("{secret}&sslmode=require");
    let refused = runs(dir, &bad, &["list"]).run();
    let line = refused.assert_code(2).only_line();
    assert!(
        line.contains("speaks no TLS") && !line.contains("secret"),
        "{line}"
    );
}
