//! The pages of the documentation, taken apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page by its path in the repository, and its text.
pub fn all() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ] {
        pages.insert(name.to_owned(), read(name));
    }
    below("docs", &mut pages);
    pages
}

/// The text of a file of the repository.
pub fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn below(dir: &str, pages: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(root().join(dir)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{dir}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            below(&name, pages);
        } else if name.ends_with(".md") {
            pages.insert(name.clone(), read(&name));
        }
    }
}

/// A fenced block: what stands behind the fence, its text, and the line of the fence.
pub struct Block<'a> {
    pub info: &'a str,
    pub text: String,
    pub line: usize,
}

/// A command of a block, with the output that the page shows below it.
#[derive(Debug)]
pub struct Shown {
    pub command: String,
    pub output: String,
}

impl Block<'_> {
    /// Commands for a terminal, run by a test or not.
    pub fn is_console(&self) -> bool {
        self.info == "console" || self.info.starts_with("console ")
    }

    /// Why no test runs the commands.
    pub fn not_run(&self) -> Option<&str> {
        self.info.strip_prefix("console not run: ")
    }

    /// The file that a reader writes: what stands behind the language.
    pub fn file(&self) -> Option<&str> {
        self.info.strip_prefix("toml ")
    }

    /// The commands, each behind a prompt.
    pub fn commands(&self) -> Vec<Shown> {
        let mut all: Vec<Shown> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => all.push(Shown {
                    command: command
                        .split(" # ")
                        .next()
                        .unwrap_or(command)
                        .trim()
                        .to_owned(),
                    output: String::new(),
                }),
                (None, Some(last)) => {
                    last.output.push_str(line);
                    last.output.push('\n');
                }
                (None, None) => {}
            }
        }
        all
    }
}

/// The fenced blocks of a page, in their order.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (at, line) in page.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block {
                    info: info.trim(),
                    text: String::new(),
                    line: at + 1,
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// The lines outside of fenced blocks and comments, with their numbers from 1.
pub fn prose(page: &str) -> Vec<(usize, &str)> {
    let (mut fenced, mut comment) = (false, false);
    let mut lines = Vec::new();
    for (at, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            comment |= line.starts_with("<!--");
            if !comment {
                lines.push((at + 1, line));
            }
            comment &= !line.contains("-->");
        }
    }
    lines
}

/// Whether a command printed what a page shows: the same lines in the same order, numbers and
/// their units aside. A line `…` stands for any others.
pub fn shows(wanted: &str, told: &str) -> bool {
    let told: Vec<String> = told.lines().map(masked).collect();
    let mut rest = told.as_slice();
    let mut anywhere = false;
    for line in wanted.lines().filter(|line| !line.trim().is_empty()) {
        if line.trim() == "…" {
            anywhere = true;
            continue;
        }
        let line = masked(line);
        let at = if anywhere {
            rest.iter().position(|one| *one == line)
        } else {
            rest.iter()
                .position(|one| !one.is_empty())
                .filter(|at| rest[*at] == line)
        };
        let Some(at) = at else {
            return false;
        };
        rest = &rest[at + 1..];
        anywhere = false;
    }
    true
}

/// Numbers and their units differ from run to run.
pub fn masked(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        if word.starts_with(|c: char| c.is_ascii_digit()) || word.contains("bit/s") {
            "N"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
