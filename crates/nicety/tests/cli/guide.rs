//! The commands of the guide do what the page says.

use std::fs;
use std::path::Path;

use crate::harness::{LONG, in_namespaces, nicety, once, open_dir};
use crate::leftovers::Before;
use crate::page;

/// Writes the files of a page and runs its commands, in order. Returns the number of commands.
fn follow(page: &str, dir: &Path) -> usize {
    let mut commands = 0;
    for block in page::blocks(page) {
        if let Some(file) = block.file() {
            fs::write(dir.join(file), &block.text).unwrap();
        }
        if !block.is_console() || block.not_run().is_some() {
            continue;
        }
        for shown in block.commands() {
            let line = &shown.command;
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words[0], "nicety", "{line}");
            let ended = nicety(&words[1..]).dir(dir).limit(LONG).run();
            // A machine that is not quiet may leave a cell without a result: exit code 1.
            assert!(
                matches!(ended.status.code(), Some(0 | 1)),
                "{line}: {ended:?}"
            );
            let silent = ["--html", "--junit", "--prometheus", "runs add", "--capture"];
            assert!(
                !ended.stdout.is_empty() || silent.iter().any(|word| line.contains(word)),
                "{line}"
            );
            assert!(
                page::shows(&shown.output, &ended.stdout),
                "{line} shows something else than the page: {ended:?}"
            );
            commands += 1;
        }
    }
    commands
}

#[test]
fn the_page_about_measuring() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    if !once("the_page_about_measuring") {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/bench.md");
    assert_eq!(follow(page, dir.path()), 15);
    for file in ["first.html", "first.csv", "first.md", "trend.html"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}

#[test]
fn the_page_about_sockets() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    if !once("the_page_about_sockets") {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/sockets.md");
    assert_eq!(follow(page, dir.path()), 11);
    for file in ["sockets.html", "sockets.csv", "sockets/sockets.jsonl"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}

#[test]
fn the_page_about_probing() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/probe.md");
    assert_eq!(follow(page, dir.path()), 2);
    before.check();
}

#[test]
fn the_page_about_paths() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    if !once("the_page_about_paths") {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/paths.md");
    assert_eq!(follow(page, dir.path()), 1);
    before.check();
}

#[test]
fn the_page_about_tuning() {
    // The page shows interfaces. /sys may be of another network namespace; two lines are the heading.
    let all = fs::read_to_string("/proc/net/dev").unwrap();
    let mut names = all.lines().skip(2).map(str::trim_start);
    if names.all(|line| line.starts_with("lo:")) {
        println!("SKIP the_page_about_tuning: there is no interface but lo here");
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/tune.md");
    assert_eq!(follow(page, dir.path()), 11);
    for file in ["host.html", "host.json"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}

/// Ready plans can be read, and each of their cells can be built or says why not.
#[test]
fn the_ready_plans() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let plan = nicety_model::Plan::parse(&file, &fs::read_to_string(&path).unwrap());
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        let (there, missing) = (plan.buildable_cells().count(), plan.unavailable_cells());
        for cell in missing {
            assert!(
                !cell.reason.is_empty() && !cell.remedy.is_empty(),
                "{file}: {cell:?}"
            );
        }
        assert!(there > 0 || plan.sock_cells().count() > 0, "{file}");
        names.push(file);
    }
    // Those that `make lab-matrix` runs.
    for name in ["guest-drivers", "bridge-vs-dpdk", "vnic-backends"] {
        let file = format!("{name}.toml");
        assert!(names.contains(&file), "{names:?}");
    }
}

#[test]
fn the_quickstarts_of_testers_and_operators() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    if !once("the_quickstarts_of_testers_and_operators") {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/quickstart/tester.md");
    assert_eq!(follow(page, dir.path()), 5);
    let page = include_str!("../../../../docs/quickstart/operator.md");
    assert_eq!(follow(page, dir.path()), 4);
    for file in ["first.html", "host.html", "host.json"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}
