//! A tree of files that may be somebody else's: whatever links it holds, no lookup leaves it.
//!
//! Root reads recorded hosts and writes settings into mounted images. A link in such a tree may point to
//! a file of this machine, and a FIFO would make a reader wait for ever.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::regular::read_opened;

/// Links that one lookup may follow, as in the kernel (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: u32 = 40;

/// A directory that is the root of every lookup in it: `..` stops there and absolute links begin there.
#[derive(Debug)]
pub struct Tree(OwnedFd);

impl Tree {
    /// The tree at `root`. Links on the way to it are followed: its path is the caller's own.
    ///
    /// # Errors
    /// When it is no directory or may not be passed.
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(root, flags, Mode::empty())?))
    }

    /// Bytes of a regular file, at most `largest`.
    ///
    /// # Errors
    /// When it is missing, no regular file, larger, or unreadable.
    pub fn read(&self, path: &Path, largest: u64) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        read_opened(self.lookup(path, flags)?.into(), largest)
    }

    /// Names in a directory, in no order; `.` and `..` are left out.
    ///
    /// # Errors
    /// When it is missing, no directory, or unreadable.
    pub fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = Dir::new(self.lookup(path, flags)?)?;
        let mut names = Vec::new();
        for entry in dir {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// What a symbolic link holds.
    ///
    /// # Errors
    /// When it is missing or no link.
    pub fn link(&self, path: &Path) -> io::Result<PathBuf> {
        let link = self.lookup(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        target(link.as_fd())
    }

    /// Replaces a file by rename, so that readers see the old text or the new one, and the disk has it
    /// when this returns. Missing directories are made. A link in the file's place is replaced, not
    /// followed.
    ///
    /// # Errors
    /// When a directory cannot be made or written.
    pub fn replace(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        let (dir, name) = self.parent(path, true)?;
        let (new, mut file) = create_beside(dir.as_fd(), name)?;
        let done = file
            .write_all(text)
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(rustix::fs::renameat(&dir, &new, &dir, name)?));
        if done.is_err() {
            let _ = rustix::fs::unlinkat(&dir, &new, AtFlags::empty());
        }
        done?;
        Ok(rustix::fs::fsync(&dir)?)
    }

    /// Removes a file or a link and tells whether there was one.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn remove(&self, path: &Path) -> io::Result<bool> {
        let removed = self.parent(path, false).and_then(|(dir, name)| {
            rustix::fs::unlinkat(&dir, name, AtFlags::empty())?;
            Ok(rustix::fs::fsync(&dir)?)
        });
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Removes what [`replace`](Self::replace) has left beside a file when it was killed, or the power went.
    ///
    /// # Errors
    /// When the directory cannot be read or written.
    pub fn sweep(&self, path: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let names = match self.names(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names?,
        };
        for left in names.iter().filter(|left| is_beside(left, name)) {
            self.remove(&parent.join(left))?;
        }
        Ok(())
    }

    /// Removes a directory where it is empty.
    ///
    /// # Errors
    /// When it is missing or something is left in it.
    pub fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let (dir, name) = self.parent(path, false)?;
        Ok(rustix::fs::unlinkat(&dir, name, AtFlags::REMOVEDIR)?)
    }

    /// The directory a path lies in, opened for work below it, and the path's last name.
    fn parent<'p>(&self, path: &'p Path, make: bool) -> io::Result<(OwnedFd, &'p OsStr)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if make {
            let mut so_far = PathBuf::new();
            for part in parent.components() {
                let above = self.directory(&so_far)?;
                if let Component::Normal(name) = part {
                    match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
                        // A file that is synced in a directory whose name is lost is lost as well.
                        Ok(()) => rustix::fs::fsync(&above)?,
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                so_far.push(part);
            }
        }
        Ok((self.directory(parent)?, name))
    }

    fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        self.lookup(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Opens what is there; nothing is made.
    fn lookup(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        // A rename beside the lookup makes the kernel give up on `..` (openat2(2), EAGAIN).
        for _ in 0..MOST_LINKS {
            match rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                // Linux before 5.6, or a filter of system calls that does not know it.
                Err(Errno::NOSYS | Errno::PERM) => return self.walk(path, flags),
                result => return Ok(result?),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// The same by steps, for kernels without `openat2`: no step follows a link by itself.
    fn walk(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let here = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Directories below the root on the way.
        let mut below: Vec<OwnedFd> = Vec::new();
        let mut rest = parts(path);
        let mut links = 0;
        while let Some(name) = rest.pop() {
            if name == "/" {
                below.clear();
                continue;
            }
            if name == ".." {
                below.pop();
                continue;
            }
            let above = below.last().map_or(self.0.as_fd(), AsFd::as_fd);
            let step = rustix::fs::openat(above, &name, here, Mode::empty())?;
            let is_last = rest.is_empty();
            let is_link =
                FileType::from_raw_mode(rustix::fs::fstat(&step)?.st_mode) == FileType::Symlink;
            if is_link && !(is_last && flags.contains(OFlags::NOFOLLOW)) {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                rest.extend(parts(&target(step.as_fd())?));
            } else if is_last {
                let flags = flags | OFlags::NOFOLLOW;
                return Ok(rustix::fs::openat(above, &name, flags, Mode::empty())?);
            } else {
                below.push(step);
            }
        }
        let top = below.last().map_or(self.0.as_fd(), AsFd::as_fd);
        Ok(rustix::fs::openat(top, ".", flags, Mode::empty())?)
    }
}

/// A new file in the directory of `name`, under a name that nobody can guess.
fn create_beside(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<(OsString, File)> {
    loop {
        // The dot keeps readers of directories like sysctl.d from taking it for one of theirs.
        let mut new = OsString::from(".");
        new.push(name);
        new.push(format!(".{:016x}.new", random()?));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(dir, &new, flags, Mode::from_raw_mode(0o644)) {
            Err(Errno::EXIST) => {}
            file => return Ok((new, file?.into())),
        }
    }
}

/// Whether [`create_beside`] gives such a name for a file called `name`.
fn is_beside(left: &OsStr, name: &OsStr) -> bool {
    let random = left
        .as_bytes()
        .strip_prefix(b".")
        .and_then(|rest| rest.strip_prefix(name.as_bytes()))
        .and_then(|rest| rest.strip_prefix(b"."))
        .and_then(|rest| rest.strip_suffix(b".new"));
    random.is_some_and(|random| random.len() == 16 && random.iter().all(u8::is_ascii_hexdigit))
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

fn target(link: BorrowedFd<'_>) -> io::Result<PathBuf> {
    let target = rustix::fs::readlinkat(link, "", Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
}

/// Names of a path, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let mut parts: Vec<OsString> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree with a secret beside it, and links of every kind to the secret.
    fn hostile() -> (tempfile::TempDir, Tree) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        fs::create_dir_all(root.join("etc/sysctl.d")).unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        fs::write(root.join("etc/mine"), "mine").unwrap();
        symlink(dir.path().join("secret"), root.join("absolute")).unwrap();
        symlink("../secret", root.join("relative")).unwrap();
        symlink("../../../../../secret", root.join("etc/far")).unwrap();
        symlink("/etc/mine", root.join("inside")).unwrap();
        symlink("..", root.join("etc/up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink(dir.path(), root.join("outside")).unwrap();
        let tree = Tree::open(&root).unwrap();
        (dir, tree)
    }

    /// Both ways to look a path up.
    fn read(tree: &Tree, path: &str) -> [io::Result<Vec<u8>>; 2] {
        let path = Path::new(path);
        let walked = tree
            .walk(path, OFlags::RDONLY | OFlags::NONBLOCK)
            .and_then(|file| read_opened(file.into(), 100));
        [tree.read(path, 100), walked]
    }

    #[test]
    fn no_link_leads_out() {
        let (_dir, tree) = hostile();
        for path in [
            "absolute",
            "relative",
            "etc/far",
            "../secret",
            "etc/up/up/../../secret",
            "outside/secret",
            "loop",
            "etc",
        ] {
            for read in read(&tree, path) {
                assert!(read.is_err(), "{path}: {read:?}");
            }
        }
        for path in [
            "inside",
            "etc/mine",
            "etc/up/etc/mine",
            "/etc/mine",
            "../etc/mine",
        ] {
            for read in read(&tree, path) {
                assert_eq!(read.unwrap(), b"mine", "{path}");
            }
        }
        assert_eq!(
            tree.link(Path::new("relative")).unwrap(),
            Path::new("../secret")
        );
        assert!(tree.link(Path::new("etc/mine")).is_err());
    }

    #[test]
    fn a_fifo_and_a_file_without_end_are_refused() {
        let (dir, tree) = hostile();
        let fifo = dir.path().join("tree/fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(tree.read(Path::new("fifo"), 100).is_err());
        fs::write(dir.path().join("tree/large"), vec![b'x'; 101]).unwrap();
        let error = tree.read(Path::new("large"), 100).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(tree.read(Path::new("large"), 101).unwrap().len(), 101);
    }

    #[test]
    fn files_are_replaced_and_removed_inside_only() {
        let (dir, tree) = hostile();
        let root = dir.path().join("tree");
        // What an attacker leaves where a predictable name would be opened, or the file itself.
        for name in [".a.conf.new", "a.conf"] {
            symlink(
                dir.path().join("secret"),
                root.join("etc/sysctl.d").join(name),
            )
            .unwrap();
        }
        let path = Path::new("etc/sysctl.d/a.conf");
        tree.replace(path, b"one").unwrap();
        assert_eq!(fs::read(root.join(path)).unwrap(), b"one");
        assert!(!root.join(path).symlink_metadata().unwrap().is_symlink());
        tree.replace(Path::new("outside/a/b.conf"), b"two")
            .unwrap_err();
        tree.replace(Path::new("new/deep/c.conf"), b"three")
            .unwrap();
        assert!(tree.remove(Path::new("new/deep/c.conf")).unwrap());
        assert!(!tree.remove(Path::new("new/deep/c.conf")).unwrap());
        tree.remove_dir(Path::new("new/deep")).unwrap();
        assert!(tree.remove_dir(Path::new("etc")).is_err());
        assert!(!tree.remove(Path::new("outside/secret")).unwrap_or(false));
        assert_eq!(fs::read(dir.path().join("secret")).unwrap(), b"secret");
        assert_eq!(tree.names(Path::new("new")).unwrap().len(), 0);
    }
}
