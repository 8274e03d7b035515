//! `nicety runs` with a PostgreSQL server: what a team does with it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::dashboards::queries_of_runs;
use crate::harness::{Call, LONG, Running, me, nicety};
use crate::made::{Made, nights};
use crate::server::Server;

fn runs(dir: &Path, store: &str, words: &[&str]) -> Call {
    nicety(std::iter::once(&"runs").chain(words))
        .dir(dir)
        .env("NICETY_STORE", store)
}

#[test]
fn a_team_keeps_runs_on_a_server() {
    let Some(mut server) = Server::start(&me()) else {
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
    let empty = runs(dir, store, &["trend"]).run();
    let line = empty.assert_code(2).only_line();
    assert!(
        line.starts_with(&format!("there is no store {told}; ")),
        "{line}"
    );

    let names = nights(dir, 20, 11, |_, _| ());
    let mut words = vec!["add", "--label", "nightly"];
    words.extend(names.iter().map(String::as_str));
    let added = runs(dir, store, &words).run();
    assert_eq!(added.assert_code(0).stderr.lines().count(), 20);
    let again = runs(dir, store, &["add", "night-07"]).run();
    assert_eq!(again.stderr, "run 7: night-07, was kept already\n");

    // The same as from a file, but for where it is kept.
    runs(dir, "own.sqlite", &words).run().assert_code(0);
    for words in [
        &["list", "--json"][..],
        &["list", "--label", "nightly"],
        &["trend", "bridge/64/uni", "--json"],
        &["rm", "--keep", "5", "--force", "--dry-run"],
    ] {
        let theirs = runs(dir, store, words).run();
        let own = runs(dir, "own.sqlite", words).run();
        let theirs_out = theirs.assert_code(0).stdout.replace(&told, "own.sqlite");
        assert_eq!(theirs_out, own.stdout, "{words:?}");
        assert_eq!(theirs.stderr, own.stderr, "{words:?}");
    }
    let report = |store: &str, run: &str| {
        let call = nicety(["report", run]).dir(dir).env("NICETY_STORE", store);
        call.run().assert_code(0).stdout.clone()
    };
    assert_eq!(report(store, "12"), report("", "night-12"));

    dashboard(&server);
    server.crash();
    let secret = store.replace("tester@", "tester:secret@");
    let away = runs(dir, &secret, &["list"]).run();
    let line = away.assert_code(3).only_line();
    assert!(
        line.starts_with(&format!("cannot reach the store {told}: ")),
        "{line}"
    );
    let bad = format!("{secret}&sslmode=tls");
    let refused = runs(dir, &bad, &["list"]).run();
    let line = refused.assert_code(2).only_line();
    assert!(
        line.starts_with("sslmode=tls: no such mode; ") && !line.contains("secret"),
        "{line}"
    );
}

/// Every query of the dashboard finds rows in the store, and the one change that there is.
fn dashboard(server: &Server) {
    let queries = queries_of_runs("bridge/64/uni");
    assert!(queries.len() > 10, "{queries:?}");
    for (title, sql) in &queries {
        let rows = server.sql("team", sql);
        println!("{title}: {} rows", rows.lines().count());
        assert!(!rows.trim().is_empty(), "{title}: {sql}");
        if title.starts_with("Losses of throughput") {
            assert_eq!(rows, "1\n", "{sql}");
        }
        if title.starts_with("Change points") {
            let fields: Vec<&str> = rows.trim_end().split('\t').collect();
            assert!(
                fields.contains(&"11") || rows.contains("with run 11"),
                "{rows}"
            );
            assert!(
                rows.contains("-10.0") && rows.lines().count() == 1,
                "{rows}"
            );
        }
    }
}

/// Many jobs end at once: each adds a run of its own, and one that all have.
fn all_at_once(dir: &Path, store: &str) {
    const JOBS: u64 = 16;
    Made::new(102, &[(64, &[1e5])]).write(dir, "shared");
    let jobs = (1..=JOBS).map(|job| {
        let name = format!("job-{job}");
        Made::new(job, &[(64, &[1e5]), (128, &[2e5])]).write(dir, &name);
        let words = ["add", &name, "shared", "--label", "ci"];
        runs(dir, store, &words).limit(LONG).start()
    });
    let jobs: Vec<Running> = jobs.collect();
    let mut new = 0;
    for (job, running) in jobs.into_iter().enumerate() {
        let ended = running.wait();
        let lines: Vec<&str> = ended.assert_code(0).stderr.lines().collect();
        let own = format!(": job-{}", job + 1);
        assert!(lines.len() == 2 && lines[0].ends_with(&own), "{lines:?}");
        if lines[1].ends_with(": shared") {
            new += 1;
        } else {
            assert!(
                lines[1].ends_with(": shared, was kept already"),
                "{lines:?}"
            );
        }
    }
    assert_eq!(new, 1, "one of them was first");
    let list = runs(dir, store, &["list", "--label", "ci", "--json"]).run();
    let list = list.json();
    let starts = list["runs"].as_array().unwrap().iter();
    let starts: BTreeSet<String> = starts.map(|run| run["started"].to_string()).collect();
    assert_eq!(list["runs"].as_array().unwrap().len() as u64, JOBS + 1);
    assert_eq!(starts.len() as u64, JOBS + 1, "none is there twice");
    let points = runs(dir, store, &["trend", "bridge/128/uni", "--json"]).run();
    let points = points.json();
    assert_eq!(points["points"].as_array().unwrap().len() as u64, JOBS);
}

#[test]
fn no_job_loses_a_run_when_many_end_at_once() {
    let dir = tempfile::tempdir().unwrap();
    all_at_once(dir.path(), "own.sqlite");
    let Some(server) = Server::start(&me()) else {
        return;
    };
    // The least that a server may give: few connections, and transactions that are told to try again.
    server.database("many");
    server.sql(
        "many",
        "CREATE ROLE ci LOGIN CONNECTION LIMIT 4; GRANT CREATE ON DATABASE many TO ci; \
         ALTER DATABASE many SET default_transaction_isolation = 'serializable'",
    );
    let store = server.url("many").replace("tester@", "ci@");
    all_at_once(dir.path(), &store);
}
