//! Files of JSON lines: appended one line at a time, read back after any crash.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use nicety_host::regular;
use nicety_model::note::RunNote;
use nicety_model::{Note, SCHEMA};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// Bytes read at a time.
const READ: usize = 1 << 18;
/// Longest line in bytes. A trial of thousands of streams has a few megabytes.
const LONGEST: u64 = 64 << 20;
/// Largest file in bytes: ten times the longest run there was.
const LARGEST: u64 = 16 << 30;
/// How every line of this schema begins.
const OURS: &str = "{\"schema\":1,";
const _: () = assert!(SCHEMA == 1, "OURS names the schema");

/// A file of lines open for appending. Its length is known, so that a line that could not be
/// written whole is taken back.
#[derive(Debug)]
pub(crate) struct LineFile {
    path: PathBuf,
    file: File,
    len: u64,
}

/// Lines read from a file, and what its end looked like.
#[derive(Debug)]
pub(crate) struct Lines<T> {
    /// The records.
    pub(crate) records: Vec<T>,
    /// The end.
    pub(crate) end: End,
}

/// What the end of a file of lines looked like.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// Bytes of whole lines.
    complete: u64,
    /// Bytes of a torn line after them.
    pub(crate) torn: u64,
    /// Whether the last line is whole but for its newline.
    unfinished: bool,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            end: End::default(),
        }
    }
}

impl End {
    /// What a reader should know of the end of the file `name`.
    pub(crate) fn note(&self, name: &str) -> Option<Note> {
        let note = || RunNote::TornLine {
            file: name.to_owned(),
            bytes: self.torn,
        };
        (self.torn > 0).then(note).map(Note::from)
    }
}

/// The part of every object that says how to read the rest.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Option<u32>,
}

impl LineFile {
    /// Opens the file for appending, creating it if need be.
    pub(crate) fn open(path: PathBuf) -> Result<Self, StoreError> {
        let failed = |source| StoreError::io("open", &path, source);
        let file = regular::append(&path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        Ok(Self { path, file, len })
    }

    /// Cuts off a torn line and ends an unfinished one.
    pub(crate) fn repair(&mut self, end: &End) -> Result<(), StoreError> {
        if end.torn > 0 {
            self.file
                .set_len(end.complete)
                .and_then(|()| self.file.sync_data())
                .map_err(|source| StoreError::io("cut off a torn line of", &self.path, source))?;
            self.len = end.complete;
        }
        if end.unfinished {
            self.write(b"\n")?;
        }
        Ok(())
    }

    /// Appends one record: one write, one `fdatasync`.
    pub(crate) fn append<T: Serialize>(&mut self, record: &T) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(record).map_err(|source| StoreError::Encode {
            path: self.path.clone(),
            source,
        })?;
        line.push(b'\n');
        self.write(&line)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self
            .file
            .write_all(bytes)
            .and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => {
                self.len += bytes.len() as u64;
                Ok(())
            }
            Err(source) => {
                // A part of the line may be there. Best effort: should this fail too, the next
                // open finds a torn line and cuts it off.
                let _ = self.file.set_len(self.len);
                Err(StoreError::io("append to", &self.path, source))
            }
        }
    }
}

/// Reads all lines. The last one may lack its newline: it counts if it is a whole record, and
/// is torn otherwise. A file that is not there has no lines. `keep` takes away from each record
/// what is not wanted, so that a large file need not fit into memory.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    mut keep: impl FnMut(&mut T),
) -> Result<Lines<T>, StoreError> {
    let mut records = Vec::new();
    let end = each(path, |mut record| {
        keep(&mut record);
        records.push(record);
    })?;
    Ok(Lines { records, end })
}

/// As [`read`], one record after the other, so that a file of any length is read in little memory.
pub(crate) fn each<T: DeserializeOwned>(
    path: &Path,
    mut each: impl FnMut(T),
) -> Result<End, StoreError> {
    let mut lines = Lines::default();
    let file = match regular::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(lines.end),
        Err(source) => return Err(StoreError::unread(path, source)),
    };
    let mut reader = BufReader::with_capacity(READ, file);
    let mut line = Vec::new();
    let mut left = LARGEST;
    for number in 1.. {
        let length = next(&mut reader, &mut line, LONGEST.min(left))
            .map_err(|source| StoreError::unread(path, source))?;
        if length == 0 {
            break;
        }
        left -= length;
        take(&mut lines, path, number, &line, &mut |_| ())?;
        lines.records.drain(..).for_each(&mut each);
    }
    Ok(lines.end)
}

/// Reads a line of at most `longest` bytes in the place of the last one, and returns its length; 0 at the end.
fn next(reader: &mut impl BufRead, line: &mut Vec<u8>, longest: u64) -> io::Result<u64> {
    line.clear();
    let limit = longest.saturating_add(1);
    let length = reader.by_ref().take(limit).read_until(b'\n', line)? as u64;
    if length > longest {
        let what = format!("a line is longer than {longest} bytes");
        Err(io::Error::new(ErrorKind::FileTooLarge, what))
    } else {
        Ok(length)
    }
}

/// As [`read`], of bytes at hand; `path` is for messages.
pub(crate) fn parse<T: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
) -> Result<Lines<T>, StoreError> {
    let mut lines = Lines::default();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        take(&mut lines, path, index + 1, line, &mut |_| ())?;
    }
    Ok(lines)
}

/// One line, its newline included if it has one.
fn take<T: DeserializeOwned>(
    lines: &mut Lines<T>,
    path: &Path,
    number: usize,
    line: &[u8],
    keep: &mut impl FnMut(&mut T),
) -> Result<(), StoreError> {
    let ended = line.last() == Some(&b'\n');
    match decode(path, number, line.strip_suffix(b"\n").unwrap_or(line)) {
        Ok(mut record) => {
            keep(&mut record);
            lines.records.push(record);
            lines.end.complete += line.len() as u64;
            lines.end.unfinished = !ended;
        }
        Err(StoreError::Broken { .. }) if !ended => lines.end.torn = line.len() as u64,
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Reads one object, refusing a newer schema before anything else can be misread.
pub(crate) fn decode<T: DeserializeOwned>(
    path: &Path,
    line: usize,
    bytes: &[u8],
) -> Result<T, StoreError> {
    let broken = |source: serde_json::Error| {
        let place = format!(" at line {} column {}", source.line(), source.column());
        StoreError::Broken {
            path: path.to_owned(),
            // The parser counts lines within `bytes`.
            line: line + source.line().saturating_sub(1),
            column: source.column(),
            what: source.to_string().replace(&place, ""),
        }
    };
    // What this version writes begins so, and need not be read twice.
    if bytes.starts_with(OURS.as_bytes()) {
        return serde_json::from_slice(bytes).map_err(broken);
    }
    let head: Head = serde_json::from_slice(bytes).map_err(broken)?;
    match head.schema {
        Some(version) if version > SCHEMA => Err(StoreError::Newer {
            path: path.to_owned(),
            line,
            version,
            known: SCHEMA,
        }),
        _ => serde_json::from_slice(bytes).map_err(broken),
    }
}
