//! Regular files that others may have named or made: none is waited for, and none is larger than expected.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading. A FIFO that nobody writes to is not waited for. Links are followed: the path is the
/// caller's own.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] when it is no regular file; those of open(2).
pub fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC).bits() as i32;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    check(&file)?;
    Ok(file)
}

/// Bytes of a regular file, at most `largest`.
///
/// # Errors
/// As [`open`], and those of [`read_at_most`].
pub fn read(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    read_at_most(open(path)?, largest)
}

/// Text of a regular file, at most `largest` bytes.
///
/// # Errors
/// As [`read`], and [`io::ErrorKind::InvalidData`] when it is not UTF-8.
pub fn text(path: &Path, largest: u64) -> io::Result<String> {
    let invalid = |_| {
        let what = "stream did not contain valid UTF-8";
        io::Error::new(io::ErrorKind::InvalidData, what)
    };
    String::from_utf8(read(path, largest)?).map_err(invalid)
}

/// Opens a regular file for appending, made where it is missing. No link is followed: in a directory of others it may
/// lead to a file of the caller's.
///
/// # Errors
/// As [`open`].
pub fn append(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut options = OpenOptions::new();
    options
        .create(true)
        .append(true)
        .custom_flags(flags.bits() as i32);
    let file = options.open(path)?;
    check(&file)?;
    Ok(file)
}

/// Makes a file with this mode in the place of what has its name now. No link is followed.
///
/// # Errors
/// Those of unlink(2) and open(2).
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    match remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode).open(path)
}

/// Bytes of a regular file that is already open, at most `largest`.
///
/// # Errors
/// When it is no regular file, larger, or unreadable.
pub fn read_opened(file: File, largest: u64) -> io::Result<Vec<u8>> {
    check(&file)?;
    read_at_most(file, largest)
}

/// Everything that comes from a reader. The size that a file states is not trusted: it is 0 for a
/// device or a pipe.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] beyond `largest`; those of the reader.
pub fn read_at_most(reader: impl Read, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader
        .take(largest.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {largest} bytes"),
        ))
    } else {
        Ok(bytes)
    }
}

/// Bytes of a file of the user's own, or root's, that nobody else can read. A pipe is not waited for.
///
/// # Errors
/// Why it is not read, and what to do.
pub fn secret(path: &Path, longest: u64) -> Result<Vec<u8>, String> {
    let file = open(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            "it is not a regular file; name the file that holds the secret".to_owned()
        }
        _ => error.to_string(),
    })?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own && found.uid() != 0 {
        return Err("it belongs to another user; make one of your own".to_owned());
    }
    if found.mode() & 0o077 != 0 {
        return Err("others can read or write it; run chmod 600 on it".to_owned());
    }
    read_at_most(file, longest).map_err(|error| error.to_string())
}

fn check(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        mknodat(
            CWD,
            at("fifo"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        symlink("fifo", at("link")).unwrap();
        for path in [at("fifo"), at("link"), at(""), "/dev/null".into()] {
            let error = read(&path, 10).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path:?}");
            assert_eq!(error.to_string(), "not a regular file", "{path:?}");
        }
        let missing = read(&at("missing"), 10).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("theirs"), "kept").unwrap();
        symlink("theirs", at("link")).unwrap();
        append(&at("link")).unwrap_err();
        create(&at("link"), 0o600)
            .unwrap()
            .write_all(b"new")
            .unwrap();
        append(&at("link")).unwrap().write_all(b" end").unwrap();
        assert_eq!(text(&at("theirs"), 9).unwrap(), "kept");
        assert_eq!(text(&at("link"), 9).unwrap(), "new end");
    }

    #[test]
    fn a_secret_is_nobody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        std::fs::write(&path, "secret\n").unwrap();
        for mode in [0o666, 0o644, 0o640, 0o604, 0o602] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let why = secret(&path, 10).unwrap_err();
            assert!(why.contains("run chmod 600"), "{mode:o}: {why}");
        }
        for mode in [0o600, 0o400] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(secret(&path, 10).unwrap(), b"secret\n");
        }
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        assert_eq!(read(&dir.path().join("link"), 10).unwrap(), b"0123456789");
        let error = read(&path, 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "larger than 9 bytes");
    }
}
