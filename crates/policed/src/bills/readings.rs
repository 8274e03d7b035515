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

/// First bytes of a file, with its version. A book of hundreds of ports is written ten times a second: as text that was
/// most of what a daemon costs.
const MARK: &str = "nicety-readings-2";
/// Of files with JSON, which are read after an upgrade.
const TEXT: &str = "nicety-readings-1";
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
        let body = rmp_serde::to_vec(&what).map_err(io::Error::other)?;
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
    if crc != sum(body).to_string() {
        return None;
    }
    let written = match mark {
        MARK => rmp_serde::from_slice(body).ok()?,
        TEXT => serde_json::from_slice(body).ok()?,
        _ => return None,
    };
    Some((number.parse().ok()?, written))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use nicety_police::bill::{Mark, Moment, Passed, Sighting};
    use nicety_police::totals::{Counts, Held, Total};

    use super::*;

    fn book() -> Book {
        let mut book = Book::default();
        for second in 1..4 {
            let at = Moment {
                boot: Duration::from_millis(second * 1_000 + 1),
                wall: Duration::from_secs(second + 299),
            };
            let total = Total {
                tx_bytes: second << 40,
                ..Total::default()
            };
            let mark = Mark {
                whose: "boot/1/7".to_owned(),
                counters: Counts {
                    source: "limiter".into(),
                    now: total,
                    byte_bits: 64,
                    frame_bits: 64,
                    interface: Some(total),
                    held: (second == 2).then(Held::default),
                },
                most_bps: 1e9 / 3.0,
            };
            book.look("blue", "tap0", at, Sighting::There(mark));
            book.look("red", "tap1", at, Sighting::Gone);
            let tenants = ["blue", "red"];
            let passed = tenants.map(|tenant| Passed {
                tenant,
                limited: second == 3,
            });
            book.pass(at, passed);
        }
        book
    }

    fn same(written: Written, book: Book) {
        assert_eq!(written.commit, 9);
        let (lines, used) = (book.lines().clone(), book.used());
        assert_eq!(
            Book::open(written.lines, written.used),
            Book::open(lines, used)
        );
    }

    #[test]
    fn the_newest_whole_file_is_read_of_this_version_and_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut readings = Readings::open(dir.path()).unwrap();
        assert!(readings.newest().is_none());
        readings.write(8, &Book::default()).unwrap();
        readings.write(9, &book()).unwrap();
        same(
            Readings::open(dir.path()).unwrap().newest().unwrap(),
            book(),
        );
        // A kill in the middle of the next write leaves this one.
        std::fs::write(dir.path().join(FILES[1]), "nicety-readings-2 3 9").unwrap();
        let mut readings = Readings::open(dir.path()).unwrap();
        same(readings.newest().unwrap(), book());

        let book = book();
        let text = serde_json::to_vec(&Writing {
            commit: 9,
            lines: book.lines(),
            used: book.used().collect(),
        })
        .unwrap();
        let mut file = File::create(dir.path().join(FILES[1])).unwrap();
        writeln!(file, "{TEXT} 7 {} {}", text.len(), sum(&text)).unwrap();
        file.write_all(&text).unwrap();
        let mut readings = Readings::open(dir.path()).unwrap();
        assert_eq!(readings.number, 7);
        same(readings.newest().unwrap(), book);
    }
}
