//! The place of a socket that others connect to. Root makes it and may give it to somebody else, so nobody
//! else may write the directory it is in: a link in the socket's place would give away another file.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nicety_netdev::runtime_dir::not_only_ours;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// Connections that wait to be taken.
const BACKLOG: i32 = 16;

/// A directory that only this user writes, and a name in it.
#[derive(Debug)]
pub struct Place {
    dir: OwnedFd,
    name: OsString,
    path: PathBuf,
}

impl Place {
    /// The place that a path names.
    ///
    /// # Errors
    /// When its directory is missing, a link, another user's, or one that others can write.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let shown = parent.display();
        let dir = match rustix::fs::open(parent, flags, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("{shown} is a link or no directory"),
            )),
            opened => opened.map_err(io::Error::from),
        }?;
        let dir = File::from(dir);
        if let Some(why) = not_only_ours(&dir.metadata()?) {
            let what = format!(
                "{shown} {why}, who could swap the socket for a link; use /run/nicety, or a directory that \
                 only the user of the daemon writes"
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(Self {
            dir: dir.into(),
            name: name.to_owned(),
            path: path.to_owned(),
        })
    }

    /// Whether a socket is there.
    ///
    /// # Errors
    /// When something else is.
    pub fn has_socket(&self) -> io::Result<bool> {
        match rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Socket => Ok(true),
            Ok(_) => Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "there is something else in its place",
            )),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// A socket that user `uid` and this one can open, and its group with `for_group`; one that a killed daemon
    /// has left is replaced.
    ///
    /// # Errors
    /// When somebody serves it already, or the kernel refuses.
    pub fn listen(&self, uid: u32, for_group: bool) -> io::Result<UnixListener> {
        if self.has_socket()? {
            if UnixStream::connect(&self.path).is_ok() {
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    "somebody serves it already",
                ));
            }
            self.remove();
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let socket = rustix::net::socket_with(family, kind, flags, None)?;
        // The name gets the socket's own mode, less the umask (unix_bind in net/unix/af_unix.c). So it
        // is never open to others, and no other thread sees another umask.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(&self.path)?)?;
        let begun = self
            .give(uid)
            .and_then(|()| self.open_to_group(for_group))
            .and_then(|()| Ok(rustix::net::listen(&socket, BACKLOG)?));
        if let Err(error) = begun {
            self.remove();
            return Err(error);
        }
        Ok(socket.into())
    }

    /// Gives what is there to a user: itself, never what a link names.
    fn give(&self, uid: u32) -> io::Result<()> {
        if uid == 0 {
            return Ok(());
        }
        let (owner, links) = (Some(Uid::from_raw(uid)), AtFlags::SYMLINK_NOFOLLOW);
        Ok(rustix::fs::chownat(
            &self.dir, &self.name, owner, None, links,
        )?)
    }

    fn open_to_group(&self, wanted: bool) -> io::Result<()> {
        if !wanted {
            return Ok(());
        }
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP;
        // Nobody else writes this directory, so the name is still that of the socket.
        Ok(rustix::fs::chmodat(
            &self.dir,
            &self.name,
            mode,
            AtFlags::empty(),
        )?)
    }

    /// Removes what is there.
    pub fn remove(&self) {
        // Gone already, then.
        let _ = rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_socket_is_closed_to_others_from_the_begin_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let place = Place::open(&path).unwrap();
        assert!(!place.has_socket().unwrap());
        let listener = place.listen(0, false).unwrap();
        assert_eq!(path.symlink_metadata().unwrap().mode() & 0o777, 0o600);
        let busy = place.listen(0, false).unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::AddrInUse);
        UnixStream::connect(&path).unwrap();
        listener.accept().unwrap();
        // Left by a daemon that was killed.
        drop(listener);
        assert!(place.has_socket().unwrap());
        drop(place.listen(0, true).unwrap());
        assert_eq!(path.symlink_metadata().unwrap().mode() & 0o777, 0o660);
        place.remove();
        assert!(!path.exists());
        std::fs::write(&path, "").unwrap();
        let taken = place.listen(0, false).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_link_in_the_place_gives_nothing_away_as_any_user() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIP a_link_in_the_place_gives_nothing_away: only root gives files away");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (path, precious) = (dir.path().join("a.sock"), dir.path().join("precious"));
        std::fs::write(&precious, "").unwrap();
        let place = Place::open(&path).unwrap();
        symlink(&precious, &path).unwrap();
        if place.give(65534).is_err() {
            println!("SKIP a_link_in_the_place_gives_nothing_away: this root knows no other user");
            return;
        }
        assert_eq!(precious.metadata().unwrap().uid(), 0);
        assert_eq!(path.symlink_metadata().unwrap().uid(), 65534);
    }

    #[test]
    fn a_directory_that_others_write_is_refused_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let ours = dir.path().join("ours");
        std::fs::create_dir(&ours).unwrap();
        let refused = |dir: &Path| Place::open(&dir.join("a.sock")).unwrap_err().to_string();
        for mode in [0o770, 0o702, 0o1777] {
            set_permissions(&ours, Permissions::from_mode(mode)).unwrap();
            let said = refused(&ours);
            assert!(said.contains("can be written by others"), "{mode:o} {said}");
            assert!(said.contains("use /run/nicety"), "{said}");
        }
        set_permissions(&ours, Permissions::from_mode(0o711)).unwrap();
        Place::open(&ours.join("a.sock")).unwrap();
        let link = dir.path().join("link");
        symlink(&ours, &link).unwrap();
        assert!(refused(&link).ends_with("is a link or no directory"));
        let missing = Place::open(&dir.path().join("missing/a.sock")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        // Only a root that knows more than one user can make it.
        if rustix::process::geteuid().is_root() && chown(&ours, Some(65534), None).is_ok() {
            assert!(refused(&ours).contains("belongs to another user"));
        }
    }
}
