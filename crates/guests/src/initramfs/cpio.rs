//! The `newc` format of cpio, which the kernel unpacks
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_000;
const TRAILER: &str = "TRAILER!!!";

/// An archive in memory. Everything belongs to root and was made at the start of 1970, so that
/// equal contents give equal bytes.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    made: BTreeSet<String>,
    inodes: u32,
}

impl Archive {
    /// Adds a file, and the directories above it. `path` starts with `/`; a second file of the
    /// same path is left out.
    pub fn file(&mut self, path: &str, permissions: u32, contents: &[u8]) {
        self.add(path, REGULAR | permissions, contents, (0, 0));
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, permissions: u32, major: u32, minor: u32) {
        self.add(path, CHARACTER | permissions, &[], (major, minor));
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, &[], (0, 0));
        self.bytes
    }

    fn add(&mut self, path: &str, mode: u32, contents: &[u8], device: (u32, u32)) {
        let path = path.trim_start_matches('/');
        for (end, _) in path.match_indices('/') {
            if self.made.insert(path[..end].to_owned()) {
                self.entry(&path[..end], DIRECTORY | 0o755, &[], (0, 0));
            }
        }
        if self.made.insert(path.to_owned()) {
            self.entry(path, mode, contents, device);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8], device: (u32, u32)) {
        self.inodes += 1;
        // A file above 4 GiB cannot be told; no program or module comes near it.
        let size = u32::try_from(contents.len()).unwrap_or(u32::MAX);
        let name_size = u32::try_from(path.len() + 1).unwrap_or(u32::MAX);
        let links = if mode & DIRECTORY == DIRECTORY { 2 } else { 1 };
        let (owner, time, own_device, check) = (0, 0, 0, 0);
        let fields = [
            self.inodes,
            mode,
            owner,
            owner,
            links,
            time,
            size,
            own_device,
            own_device,
            device.0,
            device.1,
            name_size,
            check,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
    }

    /// Headers and contents start at multiples of 4.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path, mode, device, contents.
    type Entry = (String, u32, (u32, u32), Vec<u8>);

    /// Reads an archive back.
    fn read(mut bytes: &[u8]) -> Vec<Entry> {
        let mut entries = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let field = |n: usize| {
                let digits = std::str::from_utf8(&bytes[6 + 8 * n..14 + 8 * n]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            let (mode, size, device, name_size) = (
                field(1),
                field(6) as usize,
                (field(9), field(10)),
                field(11) as usize,
            );
            let name_end = (110 + name_size).next_multiple_of(4);
            let name = std::str::from_utf8(&bytes[110..110 + name_size - 1])
                .unwrap()
                .to_owned();
            assert_eq!(bytes[110 + name_size - 1], 0);
            if name == TRAILER {
                assert_eq!(bytes.len(), name_end);
                return entries;
            }
            entries.push((
                name,
                mode,
                device,
                bytes[name_end..name_end + size].to_vec(),
            ));
            bytes = &bytes[(name_end + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn entries_come_back_with_the_directories_above_them() {
        let mut archive = Archive::default();
        archive.device("/dev/console", 0o600, 5, 1);
        archive.file("/nicety/bin/nicety", 0o755, b"program");
        archive.file("/nicety/bin/nicety", 0o755, b"twice");
        archive.file("/nicety/empty", 0o644, b"");
        let entries = read(&archive.finish());
        let names: Vec<&str> = entries.iter().map(|entry| entry.0.as_str()).collect();
        assert_eq!(
            names.join(" "),
            "dev dev/console nicety nicety/bin nicety/bin/nicety nicety/empty"
        );
        assert_eq!((entries[0].1, entries[3].1), (0o040_755, 0o040_755));
        assert_eq!((entries[1].1, entries[1].2), (0o020_600, (5, 1)));
        assert_eq!(
            (entries[4].1, entries[4].3.as_slice()),
            (0o100_755, b"program".as_slice())
        );
        assert_eq!(entries[5].3, b"");
    }

    #[test]
    fn an_empty_archive_is_its_trailer() {
        assert_eq!(read(&Archive::default().finish()), []);
        assert_eq!(Archive::default().finish().len(), 124);
    }
}
