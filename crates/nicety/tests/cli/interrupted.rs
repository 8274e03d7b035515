//! Runs that are stopped, killed, started twice, or run out of disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::harness::{Ended, LONG, Running, call, in_namespaces, lines, nicety, root, skip};
use crate::lab::Lab;
use crate::leftovers::Before;
use crate::runs::{bench, tiny};

fn trials(run: &Path) -> usize {
    lines(&run.join("trials.jsonl")).len()
}

/// Waits until `count` trials are on disk.
fn until_trials(running: &mut Running, run: &Path, count: usize) {
    running.until("trial", |_| trials(run) >= count);
}

#[test]
fn a_signal_ends_a_run_and_keeps_its_trials_as_any_user() {
    if !in_namespaces() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let dir = tempfile::tempdir().unwrap();
        let before = Before::now(dir.path());
        let mut running = bench(dir.path(), &["--json"]).start();
        let run = dir.path().join("run");
        until_trials(&mut running, &run, 2);
        let begun = trials(&run);
        running.signal(signal);
        let ended = running.wait();
        ended.assert_code(4);
        assert!(
            ended
                .stderr
                .ends_with(" Resume with: nicety bench --resume run\n"),
            "{}",
            ended.stderr
        );
        // One may have ended just before the signal; the one under way is the last.
        assert!((begun..=begun + 2).contains(&trials(&run)), "{begun}");
        assert!(run.join("report.html").exists());
        let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(json["left_out"][0], "bridge/1518/uni", "{}", ended.stdout);
        before.check();
    }
}

#[test]
fn a_killed_run_is_resumed_without_repeating_trials() {
    let Some(lab) = Lab::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let before = Before::now(dir.path());
    let state = lab.state();
    let mut kept = String::new();
    let resume = || {
        nicety(["bench", "--resume", "run"])
            .dir(dir.path())
            .limit(LONG)
    };
    for (number, count) in [0, 1, 3].into_iter().enumerate() {
        let call = match number {
            0 => bench(dir.path(), &["p0", "p1"]),
            _ => resume(),
        };
        let mut running = lab.inside(call).start();
        running.until("run directory", |_| run.join("run.json").exists());
        until_trials(&mut running, &run, count);
        running.signal(Signal::KILL);
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&running.wait().status),
            Some(9)
        );
        let now = fs::read_to_string(run.join("trials.jsonl")).unwrap();
        assert!(now.starts_with(&kept), "an earlier trial was changed");
        // A line that was being written is cut off by the next session.
        kept = now[..now.rfind('\n').map_or(0, |end| end + 1)].to_owned();
    }
    assert!(kept.lines().count() >= 3);
    let ended = lab.inside(resume()).run();
    // On a busy machine the cell may end without a result, which is a negative answer.
    assert!(matches!(ended.code(), 0 | 1), "{}", ended.stderr);
    assert!(ended.stdout.contains("ports,a=p0,b=p1"), "{}", ended.stdout);
    let all = fs::read_to_string(run.join("trials.jsonl")).unwrap();
    assert!(all.starts_with(&kept), "an earlier trial was changed");
    let records = lines(&run.join("trials.jsonl"));
    let indices: BTreeSet<u64> = records
        .iter()
        .map(|t| t["index"].as_u64().unwrap())
        .collect();
    assert_eq!(indices.len(), records.len(), "a trial was repeated: {all}");
    let cells = lines(&run.join("cells.jsonl"));
    assert_eq!(cells.len(), 1);
    let searched = records.iter().filter(|t| t["purpose"]["kind"] == "search");
    assert_eq!(cells[0]["trials"].as_u64(), Some(searched.count() as u64));
    lab.assert_state(&state);
    before.check();
}

#[test]
fn two_runs_at_once() {
    if !in_namespaces() {
        return;
    }
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut running: Vec<Running> = dirs
        .iter()
        .map(|dir| {
            let call = bench(dir.path(), &[]);
            // Each is what disturbs the other, so a single cell may fail before this has ended.
            let plan = dir.path().join("tiny.toml");
            let text = fs::read_to_string(&plan).unwrap();
            fs::write(&plan, text.replace("[search]", "[search]\nrepeats = 20")).unwrap();
            call.start()
        })
        .collect();
    for (one, dir) in running.iter_mut().zip(&dirs) {
        until_trials(one, &dir.path().join("run"), 1);
    }
    let line = "run directory run is in use by another nicety; wait for it to end or name another directory";
    for words in [
        &["bench", "tiny.toml", "--out", "run"][..],
        &["bench", "--resume", "run"],
    ] {
        let second = nicety(words).dir(dirs[0].path()).run();
        assert_eq!(second.assert_code(3).only_line(), line);
    }
    // A report may be made while the run goes on.
    nicety(["report", "run"])
        .dir(dirs[0].path())
        .run()
        .assert_code(0);
    for one in running {
        one.signal(Signal::INT);
        one.wait().assert_code(4);
    }
}

#[test]
fn a_large_plan_starts_at_once() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = |flows: u32| {
        let flows: Vec<String> = (1..=flows).map(|n| n.to_string()).collect();
        let text = format!(
            "[traffic]\nframe_sizes = 1518\nflows = [{}]\n[[path]]\nkind = \"bridge\"\n",
            flows.join(",")
        );
        fs::write(dir.path().join("plan.toml"), text).unwrap();
        nicety(["bench", "plan.toml", "--out", "run"])
            .dir(dir.path())
            .limit(LONG)
    };
    assert_eq!(
        plan(100_001).run().assert_code(2).only_line(),
        "plan.toml:3: the plan has 100,001 cells (1 path setting x 1 frame size x 1 direction x 100,001 flow counts), more than 100,000; shorten a list or split the plan"
    );
    assert!(!dir.path().join("run").exists());
    let mut running = plan(100_000).start();
    let begun = dir.path().join("run/run.json");
    running.until("its directory", |_| begun.exists());
    running.signal(Signal::INT);
    running.wait().assert_code(4);
}

/// How a run ends in a directory that is a file system of its own; none where that cannot be had.
fn bench_on_tmpfs(options: &str) -> Option<Ended> {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("full")).unwrap();
    tiny(dir.path());
    let script = format!("mount -t tmpfs -o {options} tmpfs full && exec \"$@\"");
    let unshare = if root() { "-m" } else { "-Urm" };
    let below = ["unshare", unshare, "sh", "-c", &script, "sh"];
    let tried = call(Path::new("true"), [""; 0]).dir(dir.path());
    if !tried.below(below).run().status.success() {
        skip("cannot mount a tmpfs in a namespace of its own");
        return None;
    }
    let call = nicety(["bench", "tiny.toml", "--out", "full/run"]).dir(dir.path());
    Some(call.below(below).limit(LONG).run())
}

#[test]
fn a_full_disk_ends_a_run() {
    let Some(ended) = bench_on_tmpfs("size=24k") else {
        return;
    };
    ended.assert_code(3);
    assert_eq!(ended.stdout, "");
    let last = ended.stderr.lines().last().unwrap();
    let why = "No space left on device (os error 28); make room, then continue with --resume";
    assert!(last.starts_with("nicety: cannot "), "{last}");
    assert!(last.ends_with(why), "{last}");
    assert_eq!(ended.stderr.matches("nicety: ").count(), 1, "{ended:?}");
}

#[test]
fn a_directory_that_cannot_be_written_as_any_user() {
    let Some(ended) = bench_on_tmpfs("ro") else {
        return;
    };
    let line = "cannot create full/run: Read-only file system (os error 30); choose a directory you may write to";
    assert_eq!(ended.assert_code(3).only_line(), line);
}
