//! Live views on a real terminal: what is shown while its size changes, and how it is left.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{NICETY, in_namespaces};
use crate::leftovers::Before;
use crate::runs::TINY;
use crate::tmux::Tmux;

/// Sizes one after the other, in both directions, narrower and lower.
const SIZES: [(u16, u16); 6] = [(40, 10), (160, 50), (80, 8), (24, 24), (160, 50), (80, 24)];

/// A run that goes on until somebody ends it, in `dir`.
fn plan(dir: &Path) {
    let text = format!("{TINY}repeats = 40\n[[path]]\nkind = \"bridge\"\n");
    fs::write(dir.join("tiny.toml"), text).unwrap();
}

/// Words for a shell: `command` between two looks at the settings of the terminal.
fn between(command: &str) -> String {
    format!(
        "trap : INT; stty -g >before; echo first; \
         sh -c 'echo $$ >pid; exec {command}'; \
         echo $? >code; stty -g >after; exec sleep 600"
    )
}

fn bench() -> String {
    between(&format!("{NICETY} bench tiny.toml --out run >table"))
}

/// Lines of a view: those with a meter of the first CPU.
fn views(screen: &str) -> usize {
    let is = |line: &&str| line.starts_with(" CPU0 ") || line.starts_with("CPU0 ");
    screen.lines().filter(is).count()
}

#[test]
fn a_resized_view_leaves_no_stale_lines() {
    if !in_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    plan(dir.path());
    let before = Before::now(dir.path());
    let Some(tmux) = Tmux::start(dir.path(), (80, 24), &bench()) else {
        return;
    };
    let trials = dir.path().join("run/trials.jsonl");
    tmux.until("trial", |screen| trials.exists() && views(screen) == 1);
    for size in SIZES {
        tmux.resize(size);
        // The head is redrawn for the new width, and there is one of it.
        tmux.until(&format!("view at {size:?}"), |screen| {
            let longest = screen.lines().map(|line| line.chars().count()).max();
            views(screen) == 1 && longest.unwrap_or(0) <= size.0.into()
        });
    }
    // On a low screen it may have gone into the scroll-back.
    assert!(tmux.all().contains("first"), "{}", tmux.all());
    let screen = tmux.screen();
    assert!(
        !screen.contains('?') || screen.contains("? keys"),
        "{screen}"
    );
    // As many times as there were sizes, but nothing of it is left in the scroll-back.
    assert_eq!(views(&tmux.all()), 1, "{}", tmux.all());
    tmux.keys(&["C-c"]);
    assert_eq!(tmux.file("code"), "4");
    assert_eq!(tmux.file("after"), tmux.file("before"));
    let all = tmux.all();
    assert_eq!(views(&all), 0, "{all}");
    assert!(all.contains("report: run/report.html"), "{all}");
    // Notes do not fill the screen.
    assert!(!all.contains("note: "), "{all}");
    drop(tmux);
    before.check();
}

#[test]
fn a_terminal_is_as_before_however_a_run_ends() {
    if !in_namespaces() {
        return;
    }
    for (what, code) in [
        ("C-c", "4"),
        ("q", "4"),
        ("C-c C-c", "4"),
        ("q q", "4"),
        ("TERM", "4"),
        ("HUP", "129"),
        ("QUIT", "131"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        plan(dir.path());
        let Some(tmux) = Tmux::start(dir.path(), (100, 24), &bench()) else {
            return;
        };
        tmux.until("keys", |screen| screen.contains("? keys"));
        let line = tmux.flags();
        assert_eq!(line, "cursor 1, alternate 0", "{what}");
        // The full screen has more to put back.
        tmux.keys(&["f"]);
        tmux.until("full screen", |screen| screen.contains("test point"));
        tmux.until("full screen", |_| tmux.flags() == "cursor 0, alternate 1");
        let id: i32 = tmux.file("pid").parse().unwrap();
        let id = Pid::from_raw(id).unwrap();
        match what {
            "TERM" => kill_process(id, Signal::TERM).unwrap(),
            "HUP" => kill_process(id, Signal::HUP).unwrap(),
            "QUIT" => kill_process(id, Signal::QUIT).unwrap(),
            keys => keys.split(' ').for_each(|key| tmux.keys(&[key])),
        }
        assert_eq!(tmux.file("code"), code, "{what}: {}", tmux.all());
        assert_eq!(tmux.file("after"), tmux.file("before"), "{what}");
        assert_eq!(tmux.flags(), "cursor 1, alternate 0", "{what}");
        let all = tmux.all();
        assert_eq!(views(&all), 0, "{what}: {all}");
        assert!(all.starts_with("first\n"), "{what}: {all}");
    }
}

#[test]
fn a_stopped_view_gives_the_terminal_back_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    // Looking at oneself takes no rights, and there may be nothing to see.
    let Some(tmux) = Tmux::start(dir.path(), (80, 24), "PS1='$ ' exec sh -i") else {
        return;
    };
    let watch = format!("{NICETY} port list --watch=200ms");
    tmux.keys(&["stty -g >before; clear; echo first", "Enter"]);
    let before = tmux.file("before");
    tmux.keys(&[&watch, "Enter"]);
    tmux.until("view", |screen| screen.contains("q quit"));
    tmux.keys(&["C-z"]);
    tmux.until("shell", |screen| screen.contains("first"));
    assert_eq!(tmux.flags(), "cursor 1, alternate 0");
    tmux.keys(&["stty -g >stopped", "Enter"]);
    // A shell for people has settings of its own while a line is typed; what it had before, it has again.
    assert_eq!(tmux.file("stopped"), before);
    tmux.keys(&["fg", "Enter"]);
    tmux.until("view", |screen| screen.contains("q quit"));
    // Keys are heard again.
    tmux.keys(&["?"]);
    tmux.until("help", |screen| screen.contains("Keys"));
    tmux.keys(&["q"]);
    tmux.until("end", |screen| screen.contains("first"));
    tmux.keys(&["stty -g >after", "Enter"]);
    assert_eq!(tmux.file("after"), before);
    assert_eq!(tmux.flags(), "cursor 1, alternate 0");
}

#[test]
fn a_watch_follows_the_size_of_its_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let command = between(&format!("{NICETY} port list --watch=200ms"));
    let Some(tmux) = Tmux::start(dir.path(), (80, 24), &command) else {
        return;
    };
    for size in SIZES {
        tmux.resize(size);
        tmux.until(&format!("view at {size:?}"), |screen| {
            let lines: Vec<&str> = screen.lines().collect();
            let foot = |line: &&&str| line.contains(" of ") || line.contains("no virtual");
            // The head is in the first line, the foot in the last one, and neither anywhere else.
            lines.len() == usize::from(size.1)
                && lines[0].contains("sent and")
                && screen.matches("sent and").count() == 1
                && lines.last().is_some_and(|line| foot(&line))
                && lines.iter().filter(foot).count() == 1
        });
    }
    tmux.keys(&["q"]);
    assert_eq!(tmux.file("code"), "0");
    assert_eq!(tmux.file("after"), tmux.file("before"));
    assert_eq!(tmux.flags(), "cursor 1, alternate 0");
}

#[test]
fn a_key_that_comes_with_a_new_size_is_heard() {
    let dir = tempfile::tempdir().unwrap();
    let command = between(&format!("{NICETY} port list --watch=200ms"));
    let Some(tmux) = Tmux::start(dir.path(), (80, 24), &command) else {
        return;
    };
    tmux.until("view", |screen| screen.contains("q quit"));
    for turn in 1..=60 {
        let odd = turn % 2 == 1;
        tmux.resize_and_press((80 + u16::from(odd), 24), "?");
        tmux.until("the key's effect", |screen| screen.contains("Keys") == odd);
    }
    tmux.keys(&["q"]);
    assert_eq!(tmux.file("code"), "0");
}

#[test]
fn nobody_types_without_a_terminal_on_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let command = between(&format!("{NICETY} port list --watch=200ms </dev/null"));
    let Some(tmux) = Tmux::start(dir.path(), (80, 24), &command) else {
        return;
    };
    let screen = tmux.until("view", |screen| screen.contains("sent and received"));
    assert!(!screen.contains("q quit"), "{screen}");
    tmux.keys(&["C-c"]);
    assert_eq!(tmux.file("code"), "0");
    assert_eq!(tmux.flags(), "cursor 1, alternate 0");
}
