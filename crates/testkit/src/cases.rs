//! Tests as data: every folder below `tests/cases/KIND` is a test of its own, with input files and
//! the files that are expected to come of them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub use libtest_mimic::Failed;
use libtest_mimic::{Arguments, Trial};
use similar::TextDiff;

/// What may stand in the root; each folder has its test program.
const KINDS: [&str; 4] = ["advice", "plans", "policies", "runs"];
const README: &str = "README.md";
/// Longest line of a difference that is shown whole, in characters.
const SHOWN: usize = 240;

/// One folder.
#[derive(Debug)]
pub struct Case {
    folder: PathBuf,
    /// Expected files are rewritten, not compared.
    update: bool,
    used: BTreeSet<String>,
    differences: Vec<String>,
}

/// What makes the files of a case.
pub type Check = fn(&mut Case) -> Result<(), Failed>;

/// The folder of all cases.
fn root() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    repository.unwrap_or(Path::new("")).join("tests/cases")
}

/// Runs all cases of some kinds as the main function of a test program: `cargo test -- NAME` picks
/// some, as with other tests.
pub fn run(kinds: &[(&'static str, Check)]) -> ExitCode {
    let update = std::env::var_os("NICETY_UPDATE_GOLDEN").is_some_and(|value| value == "1");
    let trials = kinds.iter().flat_map(|(kind, check)| {
        let (folder, check) = (root().join(kind), *check);
        let mut trials: Vec<Trial> = (names(&folder).unwrap_or_default().into_iter())
            .filter(|name| folder.join(name).is_dir())
            .map(|name| {
                let folder = folder.join(&name);
                Trial::test(format!("{kind}/{name}"), move || {
                    let mut case = Case::new(folder, update);
                    check(&mut case)?;
                    case.end()
                })
            })
            .collect();
        let some = !trials.is_empty();
        let rest = format!("{kind}/nothing-else");
        trials.push(Trial::test(rest, move || nothing_else(&folder, some)));
        trials
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// There are cases, and nothing beside them.
fn nothing_else(folder: &Path, some: bool) -> Result<(), Failed> {
    if !some {
        return Err(format!("{} holds no case", folder.display()).into());
    }
    let stray = |folder: &Path, expected: &dyn Fn(&String) -> bool| {
        let mut found = names(folder)?;
        found.retain(|name| !expected(name));
        if found.is_empty() {
            Ok(())
        } else {
            Err(unread(&found, folder).into())
        }
    };
    let known = |name: &String| name == README || KINDS.contains(&name.as_str());
    stray(&root(), &known)?;
    stray(folder, &|name| folder.join(name).is_dir())
}

fn unread(names: &[String], folder: &Path) -> String {
    let names = names.join(", ");
    format!(
        "Nothing reads {names} in {}: remove it.\n",
        folder.display()
    )
}

impl Case {
    fn new(folder: PathBuf, update: bool) -> Self {
        Self {
            folder,
            update,
            used: BTreeSet::new(),
            differences: Vec::new(),
        }
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Names of its files that end so, in order.
    ///
    /// # Errors
    /// When there is none.
    pub fn inputs(&self, ending: &str) -> Result<Vec<String>, Failed> {
        let mut found = names(&self.folder)?;
        found.retain(|name| name.ends_with(ending));
        if found.is_empty() {
            Err(format!("{} has no *{ending}", self.folder.display()).into())
        } else {
            Ok(found)
        }
    }

    /// Text of an input file.
    ///
    /// # Errors
    /// When it is not there.
    pub fn input(&mut self, name: &str) -> Result<String, Failed> {
        match self.optional(name)? {
            Some(text) => Ok(text),
            None => Err(format!("{} has no {name}", self.folder.display()).into()),
        }
    }

    /// Text of an input file that may be absent.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn optional(&mut self, name: &str) -> Result<Option<String>, Failed> {
        self.reads(name);
        match fs::read_to_string(self.folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", self.folder.join(name).display()).into()),
        }
    }

    /// Says that a file, or a folder with all in it, is input.
    pub fn reads(&mut self, name: &str) {
        self.used.insert(name.to_owned());
    }

    /// Compares a text with an expected file, or writes it.
    ///
    /// # Errors
    /// When the file cannot be written. A difference is an error at the end of the case, beside
    /// those of its other files.
    pub fn expect(&mut self, name: &str, text: &str) -> Result<(), Failed> {
        let file = self.folder.join(name);
        self.used.insert(name.to_owned());
        let there = fs::read_to_string(&file).ok();
        if there.as_deref() == Some(text) {
            return Ok(());
        }
        if self.update {
            return fs::write(&file, text)
                .map_err(|error| format!("{}: {error}", file.display()).into());
        }
        self.differences.push(match there {
            Some(there) => difference(&file, &there, text),
            None => format!("{} is not there\n", file.display()),
        });
        Ok(())
    }

    fn end(self) -> Result<(), Failed> {
        let mut wrong = self.differences.concat();
        if !wrong.is_empty() {
            wrong += "If that is wanted: make golden, read what it changed, commit it.\n";
        }
        let mut unread = names(&self.folder)?;
        unread.retain(|name| !self.used.contains(name));
        if !unread.is_empty() {
            wrong += &self::unread(&unread, &self.folder);
        }
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(wrong.into())
        }
    }
}

/// Names in a folder, in order.
fn names(folder: &Path) -> Result<Vec<String>, Failed> {
    let mut names = Vec::new();
    let failed = |error: io::Error| Failed::from(format!("{}: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(names)
}

/// What differs, line by line.
fn difference(file: &Path, there: &str, text: &str) -> String {
    let name = file.display().to_string();
    let diff = TextDiff::from_lines(there, text);
    let unified = diff.unified_diff().header(&name, "now").to_string();
    let lines = unified.lines().map(|line| match line.chars().count() {
        0..=SHOWN => format!("{line}\n"),
        _ => format!("{}…\n", line.chars().take(SHOWN).collect::<String>()),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn wrong(files: &[(&str, &str)], check: impl FnOnce(&mut Case)) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut case = Case::new(folder.path().to_owned(), false);
        check(&mut case);
        let ended = case.end();
        ended.map_or_else(
            |failed| failed.message().unwrap().to_owned(),
            |()| String::new(),
        )
    }

    #[test]
    fn a_case_fails_for_what_differs_is_missing_or_unread() {
        let files = [("in", "a"), ("out", "one\ntwo\nthree\n")];
        let good = |case: &mut Case| {
            let read = case.input("in").unwrap();
            assert_eq!(read, "a");
            case.expect("out", "one\ntwo\nthree\n").unwrap();
        };
        assert_eq!(wrong(&files, good), "");
        let differs = wrong(&files, |case| {
            case.reads("in");
            case.expect("out", "one\n2\nthree\n").unwrap();
        });
        assert!(differs.contains("-two\n+2\n"), "{differs}");
        assert!(differs.contains("make golden"), "{differs}");
        let missing = wrong(&files[..1], good);
        assert!(missing.contains("out is not there"), "{missing}");
        assert!(missing.contains("make golden"), "{missing}");
        let unread = wrong(&files, |case| case.reads("in"));
        assert!(unread.contains("Nothing reads out in "), "{unread}");
    }

    #[test]
    fn expected_files_are_rewritten_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut case = Case::new(folder.path().to_owned(), true);
        case.expect("out", "text").unwrap();
        assert_eq!(case.input("out").unwrap(), "text");
        case.end().unwrap();
    }
}
