//! The commands of the guide do what the page says.

use std::fs;
use std::path::Path;

use crate::harness::{LONG, alone, nicety, once, open_dir};
use crate::leftovers::Before;

/// A fenced block: what stands behind the fence, and its text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut rest = page;
    let mut found = Vec::new();
    while let Some((_, after)) = rest.split_once("\n```") {
        let Some((info, after)) = after.split_once('\n') else {
            break;
        };
        let Some((text, after)) = after.split_once("\n```") else {
            break;
        };
        found.push((info, text));
        rest = after;
    }
    found
}

/// Writes the files of a page and runs its commands, in order. Returns the number of commands.
fn follow(page: &str, dir: &Path) -> usize {
    let mut commands = 0;
    for (info, text) in blocks(page) {
        if let Some(file) = info.strip_prefix("toml ") {
            fs::write(dir.join(file), text).unwrap();
        }
        for line in text.lines().filter(|_| info == "sh") {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [program, arguments @ ..] = words.as_slice() else {
                continue;
            };
            assert_eq!(*program, "nicety", "{line}");
            let ended = nicety(arguments).dir(dir).limit(LONG).run();
            // A machine that is not quiet may leave a cell without a result: exit code 1.
            assert!(
                matches!(ended.status.code(), Some(0 | 1)),
                "{line}: {ended:?}"
            );
            assert!(
                !ended.stdout.is_empty()
                    || line.contains("--html")
                    || line.contains("--junit")
                    || line.contains("runs add"),
                "{line}"
            );
            commands += 1;
        }
    }
    commands
}

#[test]
fn the_page_about_measuring() {
    let _alone = alone();
    if !once("the_page_about_measuring") {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/bench.md");
    assert_eq!(follow(page, dir.path()), 12);
    for file in ["first.html", "first.csv", "first.md", "trend.html"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}

#[test]
fn the_page_about_sockets() {
    let _alone = alone();
    if !once("the_page_about_sockets") {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/sockets.md");
    assert_eq!(follow(page, dir.path()), 10);
    for file in ["sockets.html", "sockets.csv", "sockets/sockets.jsonl"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}

#[test]
fn the_page_about_probing() {
    let _alone = alone();
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/probe.md");
    assert_eq!(follow(page, dir.path()), 2);
    before.check();
}

#[test]
fn the_page_about_paths() {
    let _alone = alone();
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
    let dir = open_dir();
    let before = Before::now(dir.path());
    let page = include_str!("../../../../docs/guide/tune.md");
    assert_eq!(follow(page, dir.path()), 8);
    for file in ["host.html", "host.json"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    before.check();
}

/// Files that a page links to are there, and every ready plan of a publication has its place.
#[test]
fn the_page_about_published_experiments() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let page = fs::read_to_string(guide.join("experiments.md")).unwrap();
    let linked = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let linked: Vec<_> = linked.collect();
    assert!(linked.len() >= 10, "{linked:?}");
    for file in linked {
        assert!(guide.join(file).exists(), "{file}");
    }
    for words in commands(&page) {
        let plans = words
            .iter()
            .filter(|w| w.starts_with("plans/") || w.starts_with("policies/"));
        for plan in plans {
            assert!(guide.join("../..").join(plan).exists(), "{plan}");
        }
    }
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

/// Commands of the documentation, without what only a reader understands.
fn commands(page: &str) -> Vec<Vec<&str>> {
    blocks(page)
        .iter()
        .flat_map(|(_, text)| text.lines())
        .flat_map(|line| line.split(['#', ';']))
        .map(|command| command.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() > 1 && words[0] == "nicety")
        .collect()
}

#[test]
fn every_page_is_followed_and_every_command_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = fs::read_dir(root.join("docs/guide")).unwrap();
    let mut pages: Vec<_> = guide.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    // Those below and that of guests, which is followed where guests boot.
    let followed = [
        "bench.md",
        "paths.md",
        "probe.md",
        "sockets.md",
        "tune.md",
        "vm.md",
    ];
    let mut known = 0;
    for page in pages.iter().chain([&root.join("README.md")]) {
        let name = page.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(page).unwrap();
        let runs = blocks(&text).iter().any(|(info, _)| *info == "sh");
        assert!(
            !runs || followed.contains(&name),
            "{name} is followed by no test"
        );
        for words in commands(&text) {
            let own = words.iter().position(|word| *word == "--");
            let words = &words[1..own.unwrap_or(words.len())];
            let option = |word: &&&str| word.starts_with("--");
            let names = words.iter().take_while(|word| !option(word));
            let help = nicety(names.chain(&["--help"])).run();
            help.assert_code(0);
            for option in words.iter().filter(option) {
                let option = option.split('=').next().unwrap();
                assert!(
                    help.stdout.contains(option),
                    "{name}: {words:?}: no {option}"
                );
            }
            known += 1;
        }
    }
    assert!(known > 30, "{known}");
}

/// Pictures of Markdown: what is said in their place, and the file.
fn pictures(page: &str) -> Vec<(&str, &str)> {
    page.split("![")
        .skip(1)
        .filter_map(|rest| rest.split_once("]("))
        .filter_map(|(said, rest)| Some((said, rest.split_once(')')?.0)))
        .collect()
}

#[test]
fn pictures_are_there_and_say_what_they_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("README.md")).unwrap();
    let all = pictures(&page);
    assert!(all.len() >= 3, "{all:?}");
    let mut bytes = 0;
    for (said, file) in &all {
        let picture = fs::read(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(picture[..8], *b"\x89PNG\r\n\x1a\n", "{file}");
        // More than a name: somebody who cannot see it learns what it shows.
        assert!(said.split_whitespace().count() >= 8, "{file}: {said}");
        bytes += picture.len();
    }
    assert!(bytes < 200_000, "{bytes} bytes of pictures");
    // None that no page shows.
    let files = fs::read_dir(root.join("docs/pictures")).unwrap();
    assert_eq!(files.count(), all.len(), "{all:?}");
}
