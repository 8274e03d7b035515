//! Records of hosts in files and folders.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::facts::name;

/// Folders below each other that are gone through.
const DEPTH: usize = 16;
/// Files that are called after the folder they are in: what guides call a capture, and so says nothing.
const ANY_HOST: [&str; 2] = ["host", "capture"];

/// A file or folder that may be a record of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// What the host is called where the record does not say it: the name of the file without its ending;
    /// of files called `host` or `capture`, that of their folder.
    pub called: String,
    /// When the file was written, since 1970.
    pub written: Option<Duration>,
}

/// Something that cannot be gone through.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct Unreachable {
    /// File or folder.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// What there is at these paths, each once: files as they are named, of folders all files that end in
/// `.json` and all records, in order of their names. Links to folders and hidden names are passed over.
pub fn find(paths: &[PathBuf]) -> (Vec<Found>, Vec<Unreachable>) {
    let mut search = Search::default();
    for path in paths {
        if let Err(source) = search.named(path) {
            search.unreachable.push(Unreachable {
                path: path.clone(),
                source,
            });
        }
    }
    (search.found, search.unreachable)
}

#[derive(Default)]
struct Search {
    found: Vec<Found>,
    seen: BTreeSet<PathBuf>,
    unreachable: Vec<Unreachable>,
}

impl Search {
    /// What the user names is taken as it is.
    fn named(&mut self, path: &Path) -> io::Result<()> {
        let about = fs::metadata(path)?;
        if !about.is_dir() || is_record(path) {
            self.add(path, &about);
            return Ok(());
        }
        let before = self.found.len();
        self.folder(path, DEPTH)?;
        if self.found.len() == before {
            Err(io::Error::other(
                "the folder holds no captures; nicety inspect -o HOST.json makes one",
            ))
        } else {
            Ok(())
        }
    }

    fn folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
        paths.sort();
        for path in paths {
            if let Err(source) = self.entry(&path, depth) {
                self.unreachable.push(Unreachable { path, source });
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            return Ok(());
        }
        let linked = fs::symlink_metadata(path)?.is_symlink();
        let about = fs::metadata(path)?;
        let ends = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        if about.is_dir() && !linked {
            if is_record(path) {
                self.add(path, &about);
            } else if depth > 0 {
                self.folder(path, depth - 1)?;
            }
        } else if about.is_file() && ends {
            self.add(path, &about);
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, about: &fs::Metadata) {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if self.seen.insert(real) {
            let written = about.modified().ok();
            self.found.push(Found {
                path: path.to_owned(),
                called: called(path),
                written: written.and_then(|time| time.duration_since(UNIX_EPOCH).ok()),
            });
        }
    }
}

/// Whether a folder is the record of one host.
pub fn is_record(folder: &Path) -> bool {
    folder.join("proc").is_dir() || folder.join("sys").is_dir()
}

fn called(path: &Path) -> String {
    let stem = |path: &Path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let bare = name.strip_suffix(".json").unwrap_or(&name);
        self::name(bare)
    };
    let own = stem(path).filter(|name| !ANY_HOST.contains(&name.as_str()));
    let folder = || stem(path.parent()?);
    own.or_else(folder)
        .or_else(|| stem(path))
        .unwrap_or_else(|| "unnamed".to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_are_gone_through() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["a/tree/proc", "b", "empty", ".git"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [
            "kvm2.json",
            "b/host.json",
            "b/notes.txt",
            ".git/x.json",
            "a/tree/proc/y.json",
        ] {
            fs::write(root.join(file), "{}").unwrap();
        }
        symlink(root, root.join("b/up")).unwrap();
        symlink(root.join("kvm2.json"), root.join("b/same.json")).unwrap();
        symlink("nowhere", root.join("gone.json")).unwrap();
        let all = [
            root.to_owned(),
            root.join("b/notes.txt"),
            root.join("nothing"),
            root.join("empty"),
        ];
        let (found, unreachable) = find(&all);
        let names: Vec<&str> = found.iter().map(|found| found.called.as_str()).collect();
        // The link and the file it leads to are one.
        assert_eq!(names, ["tree", "b", "same", "notes.txt"]);
        let lines: Vec<String> = unreachable.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].contains("gone.json") && lines[1].contains("nothing"));
        assert!(lines[2].contains("holds no captures"), "{lines:?}");
    }
}
