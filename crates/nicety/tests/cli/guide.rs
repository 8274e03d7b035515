//! The commands of the guide do what the page says.

use std::fs;
use std::path::Path;

use crate::harness::{LONG, in_namespaces, nicety, open_dir, skip};
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
            let mut words: Vec<&str> = line.split_whitespace().collect();
            // How much of a plan fits into a time is not what is tried.
            if let Some(at) = words.iter().position(|word| *word == "--for") {
                words[at + 1] = "6s";
            }
            assert_eq!(words[0], "nicety", "{line}");
            let ended = nicety(&words[1..]).dir(dir).limit(LONG).run();
            // A machine that is not quiet may leave a cell without a result: exit code 1.
            assert!(
                matches!(ended.status.code(), Some(0 | 1)),
                "{line}: {ended:?}"
            );
            let silent = ["--html", "--junit", "--prometheus", "runs add"];
            assert!(
                !ended.stdout.is_empty() || silent.iter().any(|word| line.contains(word)),
                "{line}"
            );
            // A busy machine has too few transactions for a column.
            let [wanted, told] =
                [&shown.output, &ended.stdout].map(|text| text.replace("p99.9", ""));
            assert!(
                page::shows(&wanted, &told),
                "{line} shows something else than the page: {ended:?}"
            );
            commands += 1;
        }
    }
    commands
}

/// Follows pages that are run one after the other, each with its number of commands, which make these files and leave
/// nothing else behind.
#[track_caller]
fn followed(pages: &[(&str, usize)], files: &[&str]) {
    let dir = open_dir();
    let before = Before::now(dir.path());
    for (page, commands) in pages {
        assert_eq!(follow(page, dir.path()), *commands);
    }
    for file in files {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}

#[test]
fn the_page_about_measuring() {
    if in_namespaces() {
        let page = include_str!("../../../../docs/guide/bench.md");
        followed(&[(page, 18)], &["first.html", "first.csv", "trend.html"]);
    }
}

#[test]
fn the_page_about_sockets() {
    if in_namespaces() {
        let page = include_str!("../../../../docs/guide/sockets.md");
        let files = ["sockets.html", "sockets.csv", "sockets/sockets.jsonl"];
        followed(&[(page, 11)], &files);
    }
}

#[test]
fn the_page_about_probing() {
    if in_namespaces() {
        let page = include_str!("../../../../docs/guide/probe.md");
        followed(&[(page, 2)], &[]);
    }
}

#[test]
fn the_page_about_paths() {
    if in_namespaces() {
        let page = include_str!("../../../../docs/guide/paths.md");
        followed(&[(page, 1)], &[]);
    }
}

#[test]
fn the_page_about_tuning_as_any_user() {
    // The page shows interfaces. /sys may be of another network namespace; two lines are the heading.
    let all = fs::read_to_string("/proc/net/dev").unwrap();
    let mut names = all.lines().skip(2).map(str::trim_start);
    if names.all(|line| line.starts_with("lo:")) {
        skip("there is no interface but lo here");
        return;
    }
    let page = include_str!("../../../../docs/guide/tune.md");
    followed(&[(page, 11)], &["host.html", "host.json"]);
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
    if in_namespaces() {
        let tester = include_str!("../../../../docs/quickstart/tester.md");
        let operator = include_str!("../../../../docs/quickstart/operator.md");
        let files = ["first.html", "host.html", "host.json"];
        followed(&[(tester, 5), (operator, 4)], &files);
    }
}
