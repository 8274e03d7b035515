//! The user's directory for what lives as long as a program: where it is, and that nobody else can write
//! in it. What is found there is believed: files of a killed nicety say what root is to put back.

use std::ffi::OsString;
use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// Root's.
pub const ROOTS: &str = "/run/nicety";

/// The user's directory, made or not.
pub fn place() -> PathBuf {
    let mut places = places();
    places.swap_remove(0)
}

/// Where such a directory may have been made, in another session too; the first is [`place`]:
/// `nicety` below `XDG_RUNTIME_DIR`, `/run/nicety`, `/tmp/nicety-UID`. A runtime directory that is not this
/// user's own is passed over (sudo keeps another user's, where that is set up), and `/run` by all but root.
pub fn places() -> Vec<PathBuf> {
    places_of(std::env::var_os("XDG_RUNTIME_DIR"), Path::new("/run"))
}

fn places_of(runtime: Option<OsString>, run: &Path) -> Vec<PathBuf> {
    let runtime = runtime.map(PathBuf::from);
    let runtime = runtime.filter(|dir| dir.is_absolute() && is_writable(dir));
    // In a user namespace of his own the user looks like root, and /run belongs to nobody he knows.
    let root = rustix::process::geteuid().is_root() && is_writable(run);
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let user = outer_user(&map, rustix::process::geteuid().as_raw());
    let places = [
        runtime.map(|dir| dir.join("nicety")),
        root.then(|| run.join("nicety")),
        Some(PathBuf::from(format!("/tmp/nicety-{user}"))),
    ];
    places.into_iter().flatten().collect()
}

/// A directory of this user alone, on a file system that takes files.
fn is_writable(dir: &Path) -> bool {
    check(dir).is_ok() && rustix::fs::access(dir, Access::WRITE_OK).is_ok()
}

/// The user's number outside of a user namespace of his own: each line of the map has the first number inside, the
/// first outside and how many there are (user_namespaces(7)). A user without a line keeps his number.
fn outer_user(map: &str, user: u32) -> u32 {
    let outside = |line: &str| {
        let numbers: Option<Vec<u32>> = line
            .split_ascii_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        let [inside, outside, count] = numbers?.try_into().ok()?;
        let offset = user.checked_sub(inside).filter(|offset| *offset < count)?;
        outside.checked_add(offset)
    };
    map.lines().find_map(outside).unwrap_or(user)
}

/// Makes a directory with this mode where it is missing, and those above it.
///
/// # Errors
/// When it cannot be made, and those of [`check`].
pub fn make(dir: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(dir)?;
    check(dir)
}

/// Whether a directory is one that only this user can write.
///
/// # Errors
/// When it is missing, a link or a file, another user's, or can be written by others; with what to do.
pub fn check(dir: &Path) -> io::Result<()> {
    let of = dir.symlink_metadata()?;
    let why = if of.is_dir() {
        not_only_ours(&of)
    } else {
        Some("is not a directory")
    };
    why.map_or(Ok(()), |why| {
        let what = format!("it {why}; remove it, or set XDG_RUNTIME_DIR to a directory of yours");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
    })
}

/// Why somebody else may have written a file or directory; `None` when only this user can.
pub fn not_only_ours(of: &Metadata) -> Option<&'static str> {
    not_only_of(of, rustix::process::geteuid().as_raw())
}

/// The same of another user.
pub fn not_only_of(of: &Metadata, user: u32) -> Option<&'static str> {
    if of.uid() != user {
        return Some("belongs to another user");
    }
    (of.mode() & 0o022 != 0).then_some("can be written by others")
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_directory_that_is_not_only_ours_is_refused_with_what_to_do_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |dir: &Path, why: &str| {
            let error = make(dir, 0o700).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            let line =
                format!("it {why}; remove it, or set XDG_RUNTIME_DIR to a directory of yours");
            assert_eq!(error.to_string(), line);
        };
        let ours = dir.path().join("ours");
        make(&ours, 0o700).unwrap();
        make(&ours, 0o700).unwrap();
        assert_eq!(ours.metadata().unwrap().mode() & 0o777, 0o700);
        let link = dir.path().join("link");
        symlink(&ours, &link).unwrap();
        refused(&link, "is not a directory");
        for mode in [0o720, 0o702, 0o1777] {
            set_permissions(&ours, Permissions::from_mode(mode)).unwrap();
            refused(&ours, "can be written by others");
        }
        let missing = check(&dir.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        // Only root can make one of somebody else, who must not be this user.
        let theirs = dir.path().join("theirs");
        make(&theirs, 0o700).unwrap();
        if rustix::process::geteuid().is_root() && chown(&theirs, Some(65534), None).is_ok() {
            refused(&theirs, "belongs to another user");
        }
    }

    #[test]
    fn users_have_directories_of_their_own() {
        let initial = "         0          0 4294967295\n";
        let numbers = [0, 1000, 64999, 65534];
        assert_eq!(numbers.map(|user| outer_user(initial, user)), numbers);
        // Root of a namespace of the user 1000, and of a container with more users.
        assert_eq!(outer_user("0 1000 1\n", 0), 1000);
        let container = "0 100000 65536\n65536 300000 10\n";
        assert_eq!(outer_user(container, 1000), 101_000);
        assert_eq!(outer_user(container, 65537), 300_001);
        for odd in ["", "0 1000\n", "x y z\n", "5 1000 1\n", "0 4294967295 9\n"] {
            assert_eq!(outer_user(odd, 3), 3, "{odd}");
        }
    }

    #[test]
    fn a_runtime_directory_of_somebody_else_is_passed_over_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let [runtime, run] = ["runtime", "run"].map(|name| dir.path().join(name));
        let places = || places_of(Some(runtime.clone().into()), &run);
        let begins = |with: &Path| places()[0] == with.join("nicety");
        assert!(!begins(&runtime), "it is not there");
        make(&runtime, 0o700).unwrap();
        assert!(begins(&runtime));
        make(&run, 0o755).unwrap();
        let root = rustix::process::geteuid().is_root();
        assert_eq!(places().len(), 2 + usize::from(root));
        set_permissions(&runtime, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(begins(&run), root);
        set_permissions(&runtime, Permissions::from_mode(0o700)).unwrap();
        if root && chown(&runtime, Some(65534), None).is_ok() {
            assert_eq!(begins(&run), root);
        }
        let relative = places_of(Some("runtime".into()), Path::new("/nonexistent"));
        assert_eq!(relative.len(), 1);
        assert!(relative[0].starts_with("/tmp"));
    }
}
