//! Commands on the pages: each is run by a test or says why not, and each exists with its options.

use std::collections::BTreeMap;
use std::process::Command;

use crate::page;

/// Pages whose commands a test runs in their order, and the test.
const FOLLOWED: [(&str, &str); 9] = [
    ("docs/guide/bench.md", "cli guide"),
    ("docs/guide/lab.md", "lab left"),
    ("docs/guide/paths.md", "cli guide"),
    ("docs/guide/police.md", "police guide"),
    ("docs/guide/probe.md", "cli guide"),
    ("docs/guide/sockets.md", "cli guide"),
    ("docs/guide/tune.md", "cli guide"),
    ("docs/quickstart/operator.md", "cli guide"),
    ("docs/quickstart/tester.md", "cli guide"),
];

#[test]
fn commands_are_run_by_a_test_or_say_why_not() {
    let pages = page::all();
    let mut run = BTreeMap::new();
    // The program prints the first two as they are; the third is what it prints as help.
    let printed = [
        "docs/reference/notes.md",
        "docs/reference/problems.md",
        "docs/reference/cli.md",
    ];
    for (name, text) in pages
        .iter()
        .filter(|(name, _)| !printed.contains(&name.as_str()))
    {
        for block in page::blocks(text) {
            let at = format!("{name}:{}", block.line);
            assert!(
                !block.info.is_empty(),
                "{at}: write the language behind the fence: console, toml, json, text"
            );
            if !block.is_console() {
                let command = block
                    .text
                    .lines()
                    .find(|line| line.starts_with("nicety ") || line.starts_with("$ "));
                assert!(
                    command.is_none(),
                    "{at}: {command:?} belongs into a console block"
                );
                continue;
            }
            let commands = block.commands();
            assert!(
                !commands.is_empty(),
                "{at}: commands stand behind a prompt, `$ `"
            );
            match block.not_run() {
                Some(reason) => assert!(reason.split_whitespace().count() >= 3, "{at}: {reason}"),
                None => *run.entry(name.as_str()).or_insert(0) += commands.len(),
            }
        }
    }
    let followed: Vec<_> = FOLLOWED.iter().map(|(name, _)| *name).collect();
    let marked: Vec<_> = run.keys().copied().collect();
    assert_eq!(
        marked, followed,
        "{run:?}: a page whose commands are run has its test, and the other way round"
    );
}

/// `nicety` and its words, of every command on a page; behind `--` they are another program's.
fn ours(command: &str) -> Vec<Vec<&str>> {
    command
        .split([';', '|'])
        .map(|part| {
            let words = part.split_whitespace().skip_while(|word| *word == "sudo");
            words.take_while(|word| *word != "--").collect::<Vec<_>>()
        })
        .filter(|words| words.len() > 1 && words[0] == "nicety")
        .collect()
}

#[test]
fn commands_exist_with_their_options() {
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut known = 0;
    for (name, text) in page::all() {
        let commands = page::blocks(&text)
            .into_iter()
            .filter(page::Block::is_console);
        for shown in commands.flat_map(|block| block.commands()) {
            for words in ours(&shown.command) {
                let option = |word: &&&str| word.starts_with('-');
                let names: Vec<String> = words[1..]
                    .iter()
                    .take_while(|word| !option(word))
                    .map(|w| (*w).to_owned())
                    .collect();
                let help = helps.entry(names.clone()).or_insert_with(|| {
                    let help = Command::new(env!("CARGO_BIN_EXE_nicety"))
                        .args(&names)
                        .arg("--help")
                        .output()
                        .unwrap();
                    assert!(help.status.success(), "{name}: {words:?}: {help:?}");
                    String::from_utf8(help.stdout).unwrap()
                });
                for option in words[1..].iter().filter(option) {
                    let option = option.split('=').next().unwrap();
                    let there = help
                        .split(|c: char| c.is_whitespace() || ",=[".contains(c))
                        .any(|word| word == option);
                    assert!(there, "{name}: {words:?}: no {option}");
                }
                known += 1;
            }
        }
    }
    assert!(known > 60, "{known}");
}
