//! Files that keep settings for the next boot. Only those that bear nicety's name are touched.

use std::io;
use std::path::{Component, Path, PathBuf};

use nicety_model::kept::TUNED_PROFILES;
use nicety_model::knob::Knob;
use nicety_netdev::net_error::NetError;

use super::KnobError;
use crate::tree::Tree;

/// Folders below the root and what the names of their files look like: first and last part.
const KEPT: [(&str, &str, &str); 9] = [
    ("etc/sysctl.d", "99-nicety", ".conf"),
    ("etc/systemd/network", "10-nicety-", ".link"),
    ("etc/udev/rules.d", "90-nicety", ".rules"),
    ("etc/modprobe.d", "nicety", ".conf"),
    ("etc/modules-load.d", "nicety", ".conf"),
    ("etc/systemd/system", "nicety-tune", ".service"),
    ("etc/systemd/system/multi-user.target.d", "nicety", ".conf"),
    ("etc/nicety", "tune", ".json"),
    ("etc/nicety/libvirt", "", ".xml"),
];
/// Folders that go when the last file in them is gone.
const OWN_FOLDERS: [&str; 3] = [
    "etc/nicety/libvirt",
    "etc/nicety",
    "etc/systemd/system/multi-user.target.d",
];
/// No file that nicety writes comes near it.
const LARGEST: u64 = 16 << 20;

/// [`KEPT`], and the profile for tuned wherever its versions look.
fn kept() -> impl Iterator<Item = (String, &'static str, &'static str)> {
    let fixed = KEPT.into_iter();
    let fixed = fixed.map(|(folder, first, last)| (folder.to_owned(), first, last));
    fixed.chain(profiles().map(|folder| (folder, "tuned", ".conf")))
}

/// Folders of nicety's profile for tuned.
fn profiles() -> impl Iterator<Item = String> {
    TUNED_PROFILES
        .into_iter()
        .map(|folder| format!("{folder}/nicety"))
}

/// The files of settings that are there below `root`, by path.
pub fn kept_below(root: &Path) -> Vec<PathBuf> {
    let mut knobs = Vec::new();
    let Ok(tree) = Tree::open(root) else {
        return knobs;
    };
    for (folder, first, last) in kept() {
        let names = tree.names(Path::new(&folder)).unwrap_or_default();
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        knobs.extend(
            names
                .filter(|name| named(name, first, last))
                .map(|name| root.join(&folder).join(name)),
        );
    }
    knobs.sort();
    knobs.dedup();
    knobs
}

fn named(name: &str, first: &str, last: &str) -> bool {
    name.len() >= first.len() + last.len() && name.starts_with(first) && name.ends_with(last)
}

pub(super) fn read(knob: &Knob, path: &str) -> Result<String, KnobError> {
    let (root, below) = check(knob, path)?;
    let text = Tree::open(&root)
        .and_then(|tree| tree.read(&below, LARGEST))
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    match text {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text.map_err(|error| NetError::new("read", path, error).into()),
    }
}

/// Writes a file by rename, so that it is old or new whatever happens; an empty text removes it. No link
/// below the root leads out of it.
pub(super) fn write(knob: &Knob, path: &str, text: &str) -> Result<(), KnobError> {
    let (root, below) = check(knob, path)?;
    let done = Tree::open(&root).and_then(|tree| {
        if text.is_empty() {
            remove(&tree, &below)
        } else {
            tree.replace(&below, text.as_bytes())
        }
    });
    let swept = Tree::open(&root).and_then(|tree| tree.sweep(&below));
    done.and(swept)
        .map_err(|error| NetError::new("write", path, error).into())
}

/// Removes what a writer that was killed, or lost its power, has left beside a file, and the folders made for it.
pub(super) fn tidy(knob: &Knob, path: &str) -> Result<(), KnobError> {
    let (root, below) = check(knob, path)?;
    let tidied = Tree::open(&root).and_then(|tree| {
        tree.sweep(&below)?;
        own_folders(&tree);
        Ok(())
    });
    tidied.map_err(|error| NetError::new("tidy", path, error).into())
}

fn own_folders(tree: &Tree) {
    for folder in OWN_FOLDERS.into_iter().map(str::to_owned).chain(profiles()) {
        // Fails where something is left in it, as it should.
        let _ = tree.remove_dir(Path::new(&folder));
    }
}

fn remove(tree: &Tree, path: &Path) -> io::Result<()> {
    if tree.remove(path)? {
        own_folders(tree);
    }
    Ok(())
}

/// Checks the name; returns the root that the path is below, and the path from there.
fn check(knob: &Knob, path: &str) -> Result<(PathBuf, PathBuf), KnobError> {
    let refused = || KnobError::refused(knob, "is not a file that keeps settings of nicety");
    let path = Path::new(path);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
    else {
        return Err(refused());
    };
    if !path.is_absolute() || !plain {
        return Err(refused());
    }
    kept()
        .find(|(below, first, last)| folder.ends_with(below) && named(name, first, last))
        .and_then(|(below, _, _)| {
            let below = Path::new(&below);
            let root = folder.ancestors().nth(below.components().count())?;
            Some((root.to_owned(), below.join(name)))
        })
        .ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn knob(path: &Path) -> Knob {
        Knob::File {
            path: path.display().to_string(),
        }
    }

    #[test]
    fn only_own_files_are_touched() {
        for (path, root) in [
            ("/etc/sysctl.d/99-nicety.conf", Some("/")),
            ("/a/b/etc/nicety/libvirt/web.xml", Some("/a/b")),
            ("/etc/systemd/network/10-nicety-eth0.link", Some("/")),
            ("/etc/tuned/nicety/tuned.conf", Some("/")),
            ("/a/etc/tuned/profiles/nicety/tuned.conf", Some("/a")),
            ("/etc/tuned/profiles/other/tuned.conf", None),
            ("/etc/sysctl.d/10-other.conf", None),
            ("/etc/passwd", None),
            ("etc/modprobe.d/nicety.conf", None),
            ("/etc/nicety/../passwd", None),
            ("/etc/x/../modprobe.d/nicety.conf", None),
            ("", None),
        ] {
            let path = Path::new(path);
            let checked = check(&knob(path), path.to_str().unwrap()).ok();
            let (knobs, below) = checked.unzip();
            assert_eq!(knobs.as_deref(), root.map(Path::new), "{path:?}");
            if let (Some(knobs), Some(below)) = (knobs, below) {
                assert_eq!(knobs.join(below), path);
            }
        }
    }

    #[test]
    fn files_come_and_go_with_their_folders() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("etc/nicety/libvirt/a.xml");
        let text = path.to_str().unwrap();
        let knob = knob(&path);
        assert_eq!(read(&knob, text).unwrap(), "");
        write(&knob, text, "one\n").unwrap();
        write(&knob, text, "two\n").unwrap();
        assert_eq!(read(&knob, text).unwrap(), "two\n");
        assert_eq!(kept_below(dir.path()), std::slice::from_ref(&path));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        // Of a writer that lost its power.
        let torn = path.with_file_name(".a.xml.0123456789abcdef.new");
        fs::write(&torn, "tw").unwrap();
        fs::write(
            path.with_file_name(".b.xml.0123456789abcdef.new"),
            "another's",
        )
        .unwrap();
        tidy(&knob, text).unwrap();
        assert!(!torn.exists());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
        fs::remove_file(path.with_file_name(".b.xml.0123456789abcdef.new")).unwrap();
        write(&knob, text, "").unwrap();
        write(&knob, text, "").unwrap();
        assert!(kept_below(dir.path()).is_empty());
        assert!(!dir.path().join("etc/nicety").exists());
    }
}
