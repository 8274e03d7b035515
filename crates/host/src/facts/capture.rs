//! A record as one file, to be sent: JSON with the text of every file and the name every link
//! points to.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::source::Source;
use crate::archive::Archive;
use crate::regular;

/// Largest file that is read, in bytes: a hundred times that of a large host.
const LARGEST: u64 = 512 << 20;

/// A capture that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file, or the folder it passes through, cannot be used.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{} is not a captured host ({why}); make one with nicety inspect -o HOST.json", path.display())]
    Malformed {
        /// File.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capture {
    schema: u32,
    files: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
}

/// A record that becomes one file.
#[derive(Debug)]
pub struct Capturing {
    folder: TempDir,
}

impl Capturing {
    /// Begins one. `source` is read through what this returns.
    ///
    /// # Errors
    /// [`CaptureError::Io`] when there is no room for temporary files.
    pub fn begin(source: Source) -> Result<(Self, Source), CaptureError> {
        let folder = temporary()?;
        let record = folder.path().join("host");
        let source = source
            .recording(&record)
            .map_err(|error| CaptureError::Io {
                operation: "write",
                path: error.path,
                source: error.source,
            })?;
        Ok((Self { folder }, source))
    }

    /// Writes what was read.
    ///
    /// # Errors
    /// [`CaptureError::Io`].
    pub fn write(self, file: &Path) -> Result<(), CaptureError> {
        let mut capture = Capture {
            schema: nicety_model::SCHEMA,
            ..Capture::default()
        };
        let error = |source| CaptureError::Io {
            operation: "write",
            path: file.to_owned(),
            source,
        };
        collect(&self.folder.path().join("host"), "", &mut capture).map_err(error)?;
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(std::fs::File::create(file)?);
            serde_json::to_writer(&mut out, &capture)?;
            out.write_all(b"\n")?;
            out.flush()
        };
        write().map_err(error)
    }
}

impl Source {
    /// A host captured in a file. It is held in memory: nothing of it is written to this machine.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn captured(file: &Path) -> Result<Self, CaptureError> {
        Self::captured_within(file, LARGEST)
    }

    /// The same, of a file of at most `largest` bytes.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn captured_within(file: &Path, largest: u64) -> Result<Self, CaptureError> {
        let malformed = |why: String| CaptureError::Malformed {
            path: file.to_owned(),
            why,
        };
        let bytes = regular::read(file, largest).map_err(|source| match source.kind() {
            io::ErrorKind::FileTooLarge => malformed(source.to_string()),
            _ => CaptureError::Io {
                operation: "read",
                path: file.to_owned(),
                source,
            },
        })?;
        let capture: Capture =
            serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))?;
        drop(bytes);
        if capture.schema > nicety_model::SCHEMA {
            return Err(malformed("of a newer nicety".to_owned()));
        }
        let archive = Archive::new(capture.files, capture.links)
            .map_err(|error| malformed(error.to_string()))?;
        Ok(Self::of(archive))
    }
}

fn temporary() -> Result<TempDir, CaptureError> {
    tempfile::Builder::new()
        .prefix("nicety-")
        .tempdir()
        .map_err(|source| CaptureError::Io {
            operation: "make a folder in",
            path: std::env::temp_dir(),
            source,
        })
}

fn collect(root: &Path, below: &str, capture: &mut Capture) -> io::Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        // Names of another encoding are not recorded either.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = match below {
            "" => name,
            _ => format!("{below}/{name}"),
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(root, &path, capture)?;
        } else if kind.is_symlink() {
            let target = std::fs::read_link(entry.path())?;
            capture
                .links
                .insert(path, target.to_string_lossy().into_owned());
        } else {
            let bytes = std::fs::read(entry.path())?;
            capture
                .files
                .insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("host.json");
        std::fs::write(&file, text).unwrap();
        Source::captured(&file).unwrap_err().to_string()
    }

    #[test]
    fn what_leads_out_of_the_folder_is_refused() {
        for (files, links, part) in [
            (r#"{"../x":""}"#, "{}", "leads elsewhere"),
            (r#"{"/etc/x":""}"#, "{}", "leads elsewhere"),
            (r#"{"":""}"#, "{}", "leads elsewhere"),
            ("{}", r#"{"sys/a":"/etc"}"#, "a link to"),
            ("{}", r#"{"sys/a":".."}"#, "a link to"),
            ("{}", r#"{"sys/../../a":"b"}"#, "leads elsewhere"),
        ] {
            let said = refused(&format!(
                r#"{{"schema":1,"files":{files},"links":{links}}}"#
            ));
            assert!(
                said.contains(part) && said.contains("-o HOST.json"),
                "{said}"
            );
        }
        assert!(refused("{").contains("is not a captured host"));
        assert!(refused(r#"{"schema":99,"files":{},"links":{}}"#).contains("newer"));
        // A file below a link is none.
        let twice = r#"{"schema":1,"files":{"a/x":""},"links":{"a":"b"}}"#;
        assert!(refused(twice).contains("\"a\" is two things"));
    }

    #[test]
    fn a_capture_of_this_machine_tells_what_the_machine_told_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("host.json");
        let measurer = crate::fingerprint::Measurer {
            version: "test",
            privileged: false,
        };
        let (capturing, source) = Capturing::begin(Source::live()).unwrap();
        let live = crate::facts::read(&source, measurer);
        capturing.write(&file).unwrap();
        let captured = Source::captured(&file).unwrap();
        assert_eq!(crate::facts::read(&captured, measurer), live);
    }
}
