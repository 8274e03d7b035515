//! Where facts come from, and where they are recorded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nicety_model::Note;
use nicety_model::facts::LinkFacts;
use nicety_model::note::FactsNote;
use nicety_netdev::netns::NetNs;

use super::{CaptureError, links, sysfs_links};
use crate::archive::Archive;
use crate::roots::{Roots, TopRoot};

const LINKS: &str = "nicety/links.json";
/// There where /sys belonged to another network namespace: a record of it looks like that of a
/// host whose interfaces have nothing in sysfs.
const OTHER_NAMESPACE: &str = "nicety/other-namespace";

/// A record that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the record {}: {source}; give --out an empty folder with room", path.display())]
pub struct RecordError {
    /// File or folder.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: std::io::Error,
}

/// A host that is not recorded there.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file of a captured one cannot be read.
    #[error(transparent)]
    Captured(#[from] CaptureError),
    /// The folder holds nothing of a host.
    #[error(
        "{} holds neither proc nor sys; give a folder that nicety inspect -o DIR made, \
         a copy of both, or a file of nicety inspect -o HOST.json",
        path.display()
    )]
    NoRecord {
        /// Folder.
        path: PathBuf,
    },
}

/// The running host or a recorded one.
#[derive(Debug, Clone)]
pub struct Source {
    /// `/proc`, `/sys` and `/etc`.
    pub roots: Roots,
    /// Everything else.
    pub top: TopRoot,
    /// The kernel may be asked.
    live: bool,
    record: Option<PathBuf>,
}

impl Source {
    /// The running host.
    pub fn live() -> Self {
        Self {
            roots: Roots::live(),
            top: TopRoot::live(),
            live: true,
            record: None,
        }
    }

    /// The running host, or the one recorded below `sysroot`, which may be a captured file.
    ///
    /// # Errors
    /// [`SourceError`].
    pub fn at(sysroot: Option<&Path>) -> Result<Self, SourceError> {
        match sysroot {
            None => Ok(Self::live()),
            // What is neither is named for what it is.
            Some(file) if file.exists() && !file.is_dir() => Ok(Self::captured(file)?),
            Some(dir) if dir.join("proc").is_dir() || dir.join("sys").is_dir() => {
                Ok(Self::under(dir))
            }
            Some(dir) => Err(SourceError::NoRecord {
                path: dir.to_owned(),
            }),
        }
    }

    /// A host recorded below `sysroot`.
    pub fn under(sysroot: &Path) -> Self {
        Self {
            roots: Roots::under(sysroot),
            top: TopRoot::new(sysroot),
            live: false,
            record: None,
        }
    }

    /// A captured host.
    pub(super) fn of(archive: Archive) -> Self {
        let archive = Arc::new(archive);
        Self {
            roots: Roots::of(&archive),
            top: TopRoot::of(archive),
            live: false,
            record: None,
        }
    }

    /// The same; everything read from it is written below `record`, an empty or new folder.
    ///
    /// # Errors
    /// When the folder cannot be made or is not empty.
    pub fn recording(self, record: &Path) -> Result<Self, RecordError> {
        let error = |source| RecordError {
            path: record.to_owned(),
            source,
        };
        std::fs::create_dir_all(record).map_err(error)?;
        if std::fs::read_dir(record).map_err(error)?.next().is_some() {
            return Err(error(std::io::Error::from_raw_os_error(libc::ENOTEMPTY)));
        }
        // One write that must succeed; the readers cannot report one that fails later.
        let folder = record.join("nicety");
        std::fs::create_dir(&folder).map_err(error)?;
        Ok(Self {
            roots: self.roots.recording(record),
            top: self.top.recording(record),
            live: self.live,
            record: Some(record.to_owned()),
        })
    }

    /// Whether this is the running host.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// What netlink and ethtool tell; where that was not recorded, what sysfs tells instead.
    pub(super) fn links(&self, notes: &mut Vec<Note>) -> Vec<LinkFacts> {
        if !self.live {
            let recorded = self.top.text(LINKS);
            return match recorded.as_deref().map(serde_json::from_str) {
                Some(Ok(links)) => links,
                Some(Err(error)) => {
                    let (file, error) = (LINKS.to_owned(), error.to_string());
                    notes.push(FactsNote::RecordUnreadable { file, error }.into());
                    sysfs_links::read(&self.roots.sys)
                }
                None => {
                    let file = LINKS.to_owned();
                    notes.push(FactsNote::RecordMissing { file }.into());
                    sysfs_links::read(&self.roots.sys)
                }
            };
        }
        let links = NetNs::current().and_then(|ns| links::read(&ns));
        let links = match links {
            Ok(links) => links,
            Err(error) => {
                let error = error.to_string();
                notes.push(FactsNote::SysfsOnly { error }.into());
                sysfs_links::read(&self.roots.sys)
            }
        };
        self.keep(LINKS, || {
            serde_json::to_string_pretty(&links).unwrap_or_default()
        });
        links
    }

    /// Whether an interface that sysfs does not know is one of another network namespace: of the running host
    /// it is, of a recorded one if it was so when it was recorded.
    pub(super) fn lacks_namespace(&self) -> bool {
        if self.live {
            self.keep(OTHER_NAMESPACE, || "yes\n".to_owned());
            true
        } else {
            self.top.text(OTHER_NAMESPACE).is_some()
        }
    }

    /// Output of a command of the host; of a recorded one, what was recorded as `file`.
    pub(super) fn command(&self, file: &str, words: &[&str]) -> Option<String> {
        self.command_as(file, words, str::to_owned)
    }

    /// The same, passed through `public` before it is returned or recorded.
    pub(super) fn command_as(
        &self,
        file: &str,
        words: &[&str],
        public: impl FnOnce(&str) -> String,
    ) -> Option<String> {
        if !self.live {
            return self.top.text(file);
        }
        let (text, done) = output(words)?;
        let text = public(&text);
        self.keep(file, || text.clone());
        done.then_some(text)
    }

    /// Output of a command of the running host that says it has done its work, not recorded: for
    /// what is recorded in another form.
    pub(super) fn run(&self, words: &[&str]) -> Option<String> {
        let (text, done) = self.live.then(|| output(words))??;
        done.then_some(text)
    }

    pub(super) fn keep(&self, file: &str, text: impl FnOnce() -> String) {
        if let Some(record) = &self.record {
            // `recording` has tried the folder; a full disk shows as a note of its reader.
            let _ = std::fs::write(record.join(file), text());
        }
    }
}

/// What a program writes, and whether it ended well. Administrators' programs are found too where an
/// ordinary user's path has none of them.
fn output(words: &[&str]) -> Option<(String, bool)> {
    let (program, arguments) = words.split_first()?;
    let path = std::env::var("PATH").unwrap_or_default();
    let output = std::process::Command::new(program)
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some((text, output.status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_of_sys_is_in_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let live = Source::live().recording(dir.path()).unwrap();
        assert!(!Source::under(dir.path()).lacks_namespace());
        assert!(live.lacks_namespace());
        assert!(Source::under(dir.path()).lacks_namespace());
    }

    #[test]
    fn programs_are_asked_of_the_running_host_only() {
        let live = Source::live();
        assert_eq!(live.run(&["echo", "here"]).as_deref(), Some("here\n"));
        assert_eq!(live.run(&["false"]), None);
        assert_eq!(live.run(&["no-such-program-of-nicety"]), None);
        assert_eq!(live.run(&[]), None);
        let path = live.run(&["sh", "-c", "echo $PATH"]).unwrap_or_default();
        assert!(path.trim_end().ends_with(":/usr/sbin:/sbin"), "{path}");
        let recorded = Source::under(Path::new("/nowhere"));
        assert!(!recorded.is_live());
        assert_eq!(recorded.run(&["echo", "here"]), None);
    }
}
