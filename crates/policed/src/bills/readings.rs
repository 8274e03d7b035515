//! What a kill would take: the book as it is now, in two files that are written in turn. A write that a kill cuts short
//! leaves the other one.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::Crc;
use nicety_police::bill::{Book, Line, Part};
use serde::{Deserialize, Serialize};

/// First bytes of a file, with its version.
const MARK: &str = "nicety-readings-1";
const FILES: [&str; 2] = ["readings.a", "readings.b"];
/// A book of 4,096 tenants has a few megabytes.
const MOST_BYTES: u64 = 64 << 20;

/// What is in a file.
#[derive(Debug, Deserialize)]
pub struct Written {
    /// How often the store had kept the book.
    pub commit: u64,
    /// What is known of every port.
    pub lines: BTreeMap<String, Line>,
    /// What has come together since.
    pub used: Vec<Part>,
}

#[derive(Serialize)]
struct Writing<'b> {
    commit: u64,
    lines: &'b BTreeMap<String, Line>,
    used: Vec<Part>,
}

/// The two files.
#[derive(Debug)]
pub struct Readings {
    directory: PathBuf,
    files: [File; 2],
    /// Counts the writes: the newer file has the greater number.
    number: u64,
    newest: Option<Written>,
}

impl Readings {
    /// Opens them, or makes them, and reads the newest that is whole.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let open = |name| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            options
                .mode(0o600)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
            options.open(directory.join(name))
        };
        let files = [open(FILES[0])?, open(FILES[1])?];
        let mut found: Vec<(u64, Written)> = files.iter().filter_map(read).collect();
        found.sort_by_key(|(number, _)| *number);
        let newest = found.pop();
        Ok(Self {
            directory: directory.to_owned(),
            files,
            number: newest.as_ref().map_or(0, |(number, _)| *number),
            newest: newest.map(|(_, written)| written),
        })
    }

    /// Where they are, for the reader.
    pub fn place(&self) -> String {
        self.directory.join(FILES[0]).display().to_string()
    }

    /// What was found in them at first.
    pub fn newest(&mut self) -> Option<Written> {
        self.newest.take()
    }

    /// Writes the older one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&mut self, commit: u64, book: &Book) -> io::Result<()> {
        self.number += 1;
        let what = Writing {
            commit,
            lines: book.lines(),
            used: book.used().collect(),
        };
        let body = serde_json::to_vec(&what)?;
        let head = format!("{MARK} {} {} {}\n", self.number, body.len(), sum(&body));
        let file = &self.files[(self.number % 2) as usize];
        let whole = [head.as_bytes(), &body].concat();
        file.write_all_at(&whole, 0)
    }
}

fn sum(body: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(body);
    crc.sum()
}

/// The number and content of a file; none when it is not whole.
fn read(file: &File) -> Option<(u64, Written)> {
    let length = file.metadata().ok()?.len().min(MOST_BYTES);
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let [mark, number, length, crc] = head.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let body = bytes.get(end + 1..)?.get(..length.parse().ok()?)?;
    if mark != MARK || crc != sum(body).to_string() {
        return None;
    }
    Some((number.parse().ok()?, serde_json::from_slice(body).ok()?))
}
