//! `nicety bench` on a terminal: the live view, and a terminal that is as it was afterwards.
//!
//! `script` of util-linux makes the terminal and writes down what is sent to it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{LONG, NICETY, Running, alone, lines, nicety, once};
use crate::leftovers::Before;
use crate::runs::tiny;

/// A run in a terminal of its own.
struct Terminal {
    running: Running,
    /// Types into it.
    keys: File,
    dir: PathBuf,
}

/// Whether `script` is here.
fn can(test: &str) -> bool {
    let there = Command::new("script").arg("--version").output().is_ok();
    if !there {
        println!("SKIP {test}: no script here; on Debian: apt-get install bsdutils");
    }
    there
}

impl Terminal {
    /// Starts a small run in a terminal of `columns`; its settings are kept before and after.
    fn start(dir: &Path, columns: u32) -> Self {
        tiny(dir);
        let pipe = dir.join("keys");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        // Open for reading as well, so that nobody waits for the other end.
        let keys = File::options().read(true).write(true).open(&pipe).unwrap();
        let inside = format!(
            "trap : INT; stty cols {columns} rows 24; stty -g >before; \
             sh -c 'echo $$ >pid; exec {NICETY} bench tiny.toml --out run >table'; \
             echo $? >code; stty -g >after"
        );
        let stdin = keys.try_clone().unwrap();
        let running = nicety::<&str>([])
            .below(["sh", "-c", r#"exec script -qfc "$1" seen"#, "sh", &inside])
            .dir(dir)
            .env("TERM", "xterm")
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .limit(LONG)
            .start_with(|command| {
                command.stdin(stdin);
            });
        Self {
            running,
            keys,
            dir: dir.to_owned(),
        }
    }

    /// Waits for the end of the run and of the terminal.
    fn end(self) -> Files {
        self.running.wait().assert_code(0);
        Files(self.dir)
    }
}

/// What a terminal leaves behind.
struct Files(PathBuf);

impl Files {
    fn seen(&self) -> String {
        let bytes = fs::read(self.0.join("seen")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

/// What a terminal shows of one stretch of text: without escape sequences.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' => drop(rest.find(char::is_ascii_alphabetic)),
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
    shown
}

#[test]
fn the_view_fits_a_narrow_terminal() {
    let _alone = alone();
    let test = "the_view_fits_a_narrow_terminal";
    if !once(test) || !can(test) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = Before::now(dir.path());
    let ended = Terminal::start(dir.path(), 20).end();
    assert!(["0\n", "1\n"].contains(&ended.file("code").as_str()));
    let seen = ended.seen();
    // Every line of the view is padded to the terminal's width, of which the last column stays
    // empty.
    let frames: Vec<String> = seen
        .split("\x1b[2K")
        .map(|piece| visible(piece.rsplit('\n').next().unwrap()))
        // A result that stays above the view is wrapped by the terminal.
        .filter(|frame| frame.contains("of 1 cells") && !frame.contains("bridge/1518/uni: "))
        .collect();
    assert!(!frames.is_empty(), "{seen}");
    for frame in frames {
        let columns: Vec<char> = frame.chars().collect();
        let lines: Vec<String> = columns
            .chunks(20)
            .map(|line| line.iter().collect())
            .collect();
        assert!(lines.iter().all(|line| line.ends_with(' ')), "{lines:?}");
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("0 of 1 cells") || line.starts_with("1 of 1 cells")),
            "{lines:?}"
        );
    }
    for forbidden in ["\x1b[?1049h", "\x1b[?47h", "\x1b[?1000h"] {
        assert!(!seen.contains(forbidden), "{forbidden:?}");
    }
    assert_eq!(ended.file("before"), ended.file("after"));
    before.check();
}

#[test]
fn a_terminal_is_as_before_however_a_run_ends() {
    let _alone = alone();
    let test = "a_terminal_is_as_before_however_a_run_ends";
    if !once(test) || !can(test) {
        return;
    }
    for code in ["4\n", "137\n"] {
        let dir = tempfile::tempdir().unwrap();
        let mut terminal = Terminal::start(dir.path(), 80);
        let trials = dir.path().join("run/trials.jsonl");
        terminal
            .running
            .until("trial", |_| trials.exists() && lines(&trials).len() >= 2);
        if code == "4\n" {
            // Ctrl-C ends a run in good order.
            terminal.keys.write_all(b"\x03").unwrap();
        } else {
            let id: i32 = fs::read_to_string(dir.path().join("pid"))
                .unwrap()
                .trim()
                .parse()
                .unwrap();
            kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
        }
        let ended = terminal.end();
        let seen = ended.seen();
        assert_eq!(ended.file("code"), code, "{seen}");
        assert_eq!(ended.file("before"), ended.file("after"));
        assert_eq!(
            seen.matches("\x1b[?25l").count(),
            seen.matches("\x1b[?25h").count(),
            "a hidden cursor: {seen}"
        );
    }
}
