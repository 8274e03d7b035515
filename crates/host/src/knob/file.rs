//! Files that keep settings for the next boot. Only those that bear nicety's name are touched.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use nicety_model::knob::Knob;

use super::KnobError;
use crate::net_error::NetError;

/// Folders below the root and what the names of their files look like: first and last part.
const KEPT: [(&str, &str, &str); 10] = [
    ("etc/sysctl.d", "99-nicety", ".conf"),
    ("etc/systemd/network", "10-nicety-", ".link"),
    ("etc/udev/rules.d", "90-nicety", ".rules"),
    ("etc/modprobe.d", "nicety", ".conf"),
    ("etc/modules-load.d", "nicety", ".conf"),
    ("etc/systemd/system", "nicety-tune", ".service"),
    ("etc/systemd/system/multi-user.target.d", "nicety", ".conf"),
    ("etc/nicety", "tune", ".json"),
    ("etc/nicety/libvirt", "", ".xml"),
    ("etc/tuned/nicety", "tuned", ".conf"),
];
/// Folders that go when the last file in them is gone.
const OWN_FOLDERS: [&str; 4] = [
    "etc/nicety/libvirt",
    "etc/nicety",
    "etc/tuned/nicety",
    "etc/systemd/system/multi-user.target.d",
];
/// No file that nicety writes comes near it.
const LARGEST: u64 = 16 << 20;

/// The files of settings that are there below `root`, by path.
pub fn kept_below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (folder, first, last) in KEPT {
        let folder = root.join(folder);
        let names = fs::read_dir(&folder).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        found.extend(
            names
                .filter(|name| named(name, first, last))
                .map(|name| folder.join(name)),
        );
    }
    found.sort();
    found.dedup();
    found
}

fn named(name: &str, first: &str, last: &str) -> bool {
    name.len() >= first.len() + last.len() && name.starts_with(first) && name.ends_with(last)
}

pub(super) fn read(knob: &Knob, path: &str) -> Result<String, KnobError> {
    check(knob, path)?;
    let text = File::open(path).and_then(|file| {
        let size = file.metadata()?.len();
        if size > LARGEST {
            return Err(io::Error::other("far larger than what nicety writes"));
        }
        io::read_to_string(file)
    });
    match text {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text.map_err(|error| NetError::new("read", path, error).into()),
    }
}

/// Writes a file by rename, so that it is old or new whatever happens; an empty text removes it.
pub(super) fn write(knob: &Knob, path: &str, text: &str) -> Result<(), KnobError> {
    let root = check(knob, path)?;
    let path = Path::new(path);
    let done = match text.is_empty() {
        true => remove(path, &root),
        false => replace(path, text),
    };
    done.map_err(|error| NetError::new("write", path.display().to_string(), error).into())
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    fs::create_dir_all(folder)?;
    // A name that none of the readers of these folders takes for one of theirs.
    let new = folder.join(format!(".{}.new", name.to_string_lossy()));
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o644)
            .open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(folder)?.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(&new)))
}

fn remove(path: &Path, root: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    }
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    for folder in OWN_FOLDERS {
        // Fails where something is left in it, as it should.
        let _ = fs::remove_dir(root.join(folder));
    }
    Ok(())
}

/// Checks the name; returns the root that the path is below.
fn check(knob: &Knob, path: &str) -> Result<PathBuf, KnobError> {
    let refused = || KnobError::refused(knob, "is no file that keeps settings of nicety");
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
    KEPT.iter()
        .find(|(below, first, last)| folder.ends_with(below) && named(name, first, last))
        .and_then(|(below, _, _)| {
            folder
                .ancestors()
                .nth(Path::new(below).components().count())
        })
        .map(Path::to_owned)
        .ok_or_else(refused)
}

#[cfg(test)]
mod tests {
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
            ("/etc/sysctl.d/10-other.conf", None),
            ("/etc/passwd", None),
            ("etc/modprobe.d/nicety.conf", None),
            ("/etc/nicety/../passwd", None),
            ("/etc/x/../modprobe.d/nicety.conf", None),
            ("", None),
        ] {
            let path = Path::new(path);
            let found = check(&knob(path), path.to_str().unwrap()).ok();
            assert_eq!(found.as_deref(), root.map(Path::new), "{path:?}");
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
        write(&knob, text, "").unwrap();
        write(&knob, text, "").unwrap();
        assert!(kept_below(dir.path()).is_empty());
        assert!(!dir.path().join("etc/nicety").exists());
    }
}
