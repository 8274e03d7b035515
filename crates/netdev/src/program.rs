//! Programs of others that are run: where Debian has them, and nowhere that somebody but root could have written.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::privilege::is_host_root;

/// Where programs of Debian are.
const PLACES: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Why a program is not run.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// It is not there.
    #[error("{0} is not installed")]
    Missing(&'static str),
    /// Somebody else could have written it.
    #[error("{} {why}, so root does not run it", path.display())]
    Untrusted {
        /// The program, or a directory above it.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// It cannot be looked at.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<NotRun> for io::Error {
    fn from(error: NotRun) -> Self {
        match error {
            NotRun::Io(source) => source,
            NotRun::Missing(_) => Self::new(io::ErrorKind::NotFound, error),
            NotRun::Untrusted { .. } => Self::new(io::ErrorKind::PermissionDenied, error),
        }
    }
}

/// A program by its name, with nothing of this process's environment.
///
/// # Errors
/// [`NotRun`].
pub fn command(name: &'static str) -> Result<Command, NotRun> {
    let mut command = Command::new(find(name)?);
    command
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", PLACES.join(":"))
        .current_dir("/");
    Ok(command)
}

fn find(name: &'static str) -> Result<PathBuf, NotRun> {
    let mut places = PLACES.iter().map(|place| Path::new(place).join(name));
    let path = places.find(|path| path.is_file());
    let path = path.ok_or(NotRun::Missing(name))?.canonicalize()?;
    for above in path.ancestors() {
        if let Some(why) = distrust(&above.metadata()?) {
            let path = above.to_owned();
            return Err(NotRun::Untrusted { path, why });
        }
    }
    Ok(path)
}

/// Why root should not believe a file; none when only root could have written it. Others than root believe what they
/// may read: they have no more rights than who wrote it for them.
pub fn distrust(of: &Metadata) -> Option<&'static str> {
    if !is_host_root() {
        return None;
    }
    // A sticky directory lets others add files, and not replace these.
    let sticky = of.is_dir() && of.mode() & 0o1000 != 0;
    match (of.uid(), of.mode() & 0o022) {
        (0, 0) => None,
        (0, _) if sticky => None,
        (0, _) => Some("can be written by others than root"),
        _ => Some("belongs to another user than root"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_program_is_no_other_of_its_name_and_gets_no_environment() {
        let shell = command("sh").unwrap();
        assert!(Path::new(shell.get_program()).is_absolute());
        let script = "echo ${HOME-none} $LC_ALL $PWD";
        let output = command("sh")
            .unwrap()
            .args(["-c", script])
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"none C /\n");
        let missing = io::Error::from(command("no-such-program").unwrap_err());
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!(missing.to_string(), "no-such-program is not installed");
    }

    #[test]
    fn root_believes_only_what_root_alone_may_write() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let judge = |mode| {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            distrust(&file.metadata().unwrap())
        };
        if !is_host_root() {
            assert_eq!(judge(0o666), None);
            return;
        }
        assert_eq!(judge(0o640), None);
        assert_eq!(judge(0o660), Some("can be written by others than root"));
        assert_eq!(judge(0o602), Some("can be written by others than root"));
        assert_eq!(distrust(&Path::new("/tmp").metadata().unwrap()), None);
        if chown(&file, Some(65534), None).is_ok() {
            assert_eq!(judge(0o600), Some("belongs to another user than root"));
        }
    }
}
