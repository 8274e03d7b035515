//! A captured host in memory. Somebody else may have written it: no path and no link in it leads out of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Links that one lookup may follow, as in the kernel (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: u32 = 40;

/// Files by path below the root with their text, and links with the name they hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Archive {
    files: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
}

/// Why files and links are no tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// A path is absolute, empty, or goes up.
    #[error("{0:?} leads elsewhere")]
    LeadsElsewhere(String),
    /// A link holds more than the name of a neighbour.
    #[error("a link to {0:?}")]
    LinkTo(String),
    /// A file or link has something below it, or two things have one path.
    #[error("{0:?} is two things")]
    Twice(String),
}

impl Archive {
    /// A tree of these files and links.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub fn new(
        files: BTreeMap<String, String>,
        links: BTreeMap<String, String>,
    ) -> Result<Self, ArchiveError> {
        if let Some(target) = links.values().find(|target| !is_name(target)) {
            return Err(ArchiveError::LinkTo(target.clone()));
        }
        let archive = Self {
            files: plain(files)?,
            links: plain(links)?,
        };
        for path in archive.files.keys().chain(archive.links.keys()) {
            let both = archive.files.contains_key(path) && archive.links.contains_key(path);
            if both || archive.is_folder(path) {
                return Err(ArchiveError::Twice(path.clone()));
            }
        }
        Ok(archive)
    }

    /// Text of a file.
    ///
    /// # Errors
    /// When it is missing or no file.
    pub fn read(&self, path: &Path) -> io::Result<&str> {
        let path = self.resolve(path, true)?;
        match self.files.get(&path) {
            Some(text) => Ok(text),
            None if self.is_folder(&path) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Names in a folder, in no order.
    ///
    /// # Errors
    /// When it is missing or no folder.
    pub fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let path = self.resolve(path, true)?;
        if self.files.contains_key(&path) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut names = BTreeSet::new();
        for entries in [&self.files, &self.links] {
            names_below(entries, &path, &mut names);
        }
        if names.is_empty() {
            Err(io::ErrorKind::NotFound.into())
        } else {
            Ok(names.into_iter().map(OsString::from).collect())
        }
    }

    /// What a link holds.
    ///
    /// # Errors
    /// When it is missing or no link.
    pub fn link(&self, path: &Path) -> io::Result<PathBuf> {
        let path = self.resolve(path, false)?;
        let target = self.links.get(&path);
        target
            .map(PathBuf::from)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_folder(&self, path: &str) -> bool {
        let begin = below(path);
        let entries = [&self.files, &self.links];
        entries.iter().any(|entries| {
            let next = entries.range(begin.clone()..).next();
            next.is_some_and(|(path, _)| path.starts_with(&begin))
        })
    }

    /// The path with links on the way followed, the last one only if asked for.
    fn resolve(&self, path: &Path, last: bool) -> io::Result<String> {
        let mut rest = names_of(path)?;
        let mut here = String::new();
        let mut followed = 0;
        while let Some(name) = rest.pop() {
            match name.as_str() {
                "/" => here.clear(),
                ".." => here.truncate(here.rfind('/').unwrap_or(0)),
                name => {
                    let next = below(&here) + name;
                    match self.links.get(&next) {
                        Some(target) if last || !rest.is_empty() => {
                            followed += 1;
                            if followed > MOST_LINKS {
                                return Err(io::Error::from_raw_os_error(libc::ELOOP));
                            }
                            rest.push(target.clone());
                        }
                        _ => here = next,
                    }
                }
            }
        }
        Ok(here)
    }
}

/// What all paths below a folder begin with.
fn below(folder: &str) -> String {
    match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    }
}

/// Adds the names in a folder. What lies below a name is passed over: CPUs have many files.
fn names_below(entries: &BTreeMap<String, String>, folder: &str, names: &mut BTreeSet<String>) {
    let prefix = below(folder);
    let mut from = prefix.clone();
    while let Some((path, _)) = entries.range(from.clone()..).next() {
        let Some(rest) = path.strip_prefix(&prefix) else {
            return;
        };
        from = match rest.split_once('/') {
            Some((name, _)) => {
                names.insert(name.to_owned());
                // The character after the slash.
                format!("{prefix}{name}0")
            }
            None => {
                names.insert(rest.to_owned());
                format!("{path}\0")
            }
        };
    }
}

/// Names of a path, the last first.
fn names_of(path: &Path) -> io::Result<Vec<String>> {
    let parts = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_str().map(str::to_owned));
    let mut names = parts
        .collect::<Option<Vec<String>>>()
        .ok_or(io::ErrorKind::NotFound)?;
    names.reverse();
    Ok(names)
}

/// Paths as they are looked up: without `.` and double slashes.
fn plain(entries: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ArchiveError> {
    let mut plain = BTreeMap::new();
    for (path, text) in entries {
        let mut names = Vec::new();
        for part in Path::new(&path).components() {
            match part {
                Component::Normal(name) => names.push(name.to_string_lossy()),
                _ => return Err(ArchiveError::LeadsElsewhere(path.clone())),
            }
        }
        let name = names.join("/");
        drop(names);
        if name.is_empty() {
            return Err(ArchiveError::LeadsElsewhere(path));
        }
        if plain.insert(name, text).is_some() {
            return Err(ArchiveError::Twice(path));
        }
    }
    Ok(plain)
}

fn is_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    !text.contains('/')
        && matches!(parts.next(), Some(Component::Normal(_)))
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &str)], links: &[(&str, &str)]) -> Result<Archive, ArchiveError> {
        let owned = |entries: &[(&str, &str)]| {
            let owned = entries
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            owned.collect()
        };
        Archive::new(owned(files), owned(links))
    }

    fn names(archive: &Archive, path: &str) -> Option<Vec<String>> {
        let names = archive.names(Path::new(path)).ok()?;
        Some(
            names
                .into_iter()
                .map(|name| name.into_string().unwrap())
                .collect(),
        )
    }

    #[test]
    fn folders_have_their_names_and_files_their_text() {
        let files = [
            ("sys/cpu/cpu1/online", "1"),
            ("sys/cpu/cpu1-old/online", "2"),
            ("sys/cpu/cpu1.x", "3"),
            ("sys/cpu/cpu10/a/b", "4"),
            ("sys//net/./eth0/mtu", "1500"),
            ("sys/cpu/cpu1/zz", "5"),
        ];
        let links = [("sys/net/eth1", "eth0"), ("sys/net/eth0/driver", "ixgbe")];
        let archive = archive(&files, &links).unwrap();
        let cpus = ["cpu1", "cpu1-old", "cpu1.x", "cpu10"].map(str::to_owned);
        assert_eq!(names(&archive, "sys/cpu"), Some(cpus.into()));
        assert_eq!(names(&archive, ""), Some(vec!["sys".to_owned()]));
        assert_eq!(names(&archive, "sys/net/eth0").unwrap().len(), 2);
        assert_eq!(names(&archive, "sys/cp"), None);
        assert_eq!(names(&archive, "sys/cpu/cpu1.x"), None);
        let read = |path: &str| archive.read(Path::new(path)).ok();
        assert_eq!(read("sys/net/eth0/mtu"), Some("1500"));
        assert_eq!(read("/sys/cpu/../net/eth1/mtu"), Some("1500"));
        assert_eq!(read("../../sys/cpu/cpu1.x"), Some("3"));
        assert_eq!(read("sys/net/eth0"), None);
        assert_eq!(read("sys/net/eth0/driver"), None);
        let link = |path: &str| archive.link(Path::new(path)).ok();
        assert_eq!(link("sys/net/eth1"), Some(PathBuf::from("eth0")));
        assert_eq!(link("sys/net/eth1/driver"), Some(PathBuf::from("ixgbe")));
        assert_eq!(link("sys/net/eth0/mtu"), None);
    }

    #[test]
    fn links_in_a_circle_end() {
        let archive = archive(&[], &[("a", "b"), ("b", "a")]).unwrap();
        assert!(archive.read(Path::new("a/x")).is_err());
        assert!(archive.names(Path::new("a")).is_err());
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        for (files, links) in [
            (&[("../x", "")][..], &[][..]),
            (&[("/etc/x", "")], &[]),
            (&[("", "")], &[]),
            (&[("a", ""), ("a/b", "")], &[]),
            (&[("a/./b", ""), ("a/b", "")], &[]),
            (&[("a", "")], &[("a", "b")]),
            (&[("a/b", "")], &[("a", "b")]),
            (&[], &[("a", "b/c")]),
            (&[], &[("a", "..")]),
            (&[], &[("a", "")]),
        ] {
            assert!(archive(files, links).is_err(), "{files:?} {links:?}");
        }
    }
}
