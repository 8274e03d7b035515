//! Taps that a process has open: whose frames it reads and writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::roots::ProcRoot;

/// Most open files of a process that are looked at.
const MOST_FILES: usize = 4096;

/// A tap behind an open file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenTap {
    /// A tun or tap by name (`iff:` of fdinfo; drivers/net/tun.c, `tun_chr_show_fdinfo`).
    Named(String),
    /// A macvtap or ipvtap by its interface's number (`/dev/tapN`; drivers/net/tap.c).
    Numbered(u32),
}

/// Taps of a process by the number of their open file. Names and numbers are those of the network namespace
/// that the taps are in. Nothing where this user may not look, or the process is gone.
pub fn open_taps(proc: &ProcRoot, pid: u32) -> BTreeMap<u32, OpenTap> {
    let files = proc.numbers(format!("{pid}/fd"));
    // A record holds the details of taps only.
    let described = proc.numbers(format!("{pid}/fdinfo"));
    let files: BTreeSet<u32> = files.into_iter().chain(described).collect();
    let taps = files.into_iter().take(MOST_FILES);
    taps.filter_map(|file| Some((file, one(proc, pid, file)?)))
        .collect()
}

/// A device file that makes taps, or that of a macvtap.
enum Device {
    Tun,
    Macvtap(u32),
}

fn one(proc: &ProcRoot, pid: u32, file: u32) -> Option<OpenTap> {
    let mut other = false;
    let device = proc.link_if(format!("{pid}/fd/{file}"), |target| {
        let device = device(target);
        other = device.is_none();
        device
    });
    match device {
        Some(Device::Macvtap(number)) => Some(OpenTap::Numbered(number)),
        None if other => None,
        _ => named(proc, pid, file),
    }
}

/// A record keeps the last name of a link.
fn device(target: &Path) -> Option<Device> {
    let target = target.to_str()?;
    if ["/dev/net/tun", "tun"].contains(&target) {
        return Some(Device::Tun);
    }
    let name = target.strip_prefix("/dev/").unwrap_or(target);
    let number = name.strip_prefix("tap")?.parse().ok()?;
    Some(Device::Macvtap(number))
}

fn named(proc: &ProcRoot, pid: u32, file: u32) -> Option<OpenTap> {
    let path = format!("{pid}/fdinfo/{file}");
    let mut name = None;
    proc.text_if(path, |text| {
        let (_, rest) = text.split_once("iff:")?;
        let word = rest.lines().next()?.split_whitespace().next();
        name = word.map(str::to_owned);
        name.is_some().then(|| text.to_owned())
    })?;
    name.map(OpenTap::Named)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn taps_are_known_by_their_files_live_and_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let (live, record) = (dir.path().join("proc"), dir.path().join("record"));
        for folder in ["7/fd", "7/fdinfo"] {
            fs::create_dir_all(live.join(folder)).unwrap();
        }
        for (file, target, info) in [
            (3, "/dev/null", "pos:\t0\niff:\tno\n"),
            (
                30,
                "/dev/net/tun",
                "pos:\t0\nflags:\t0104002\niff:\tvnet0\n",
            ),
            (31, "/dev/net/tun", "iff:\t\n"),
            (9, "/dev/tap12", "pos:\t0\n"),
            (10, "/home/x/tap13", ""),
        ] {
            symlink(target, live.join(format!("7/fd/{file}"))).unwrap();
            fs::write(live.join(format!("7/fdinfo/{file}")), info).unwrap();
        }
        let found: BTreeMap<u32, OpenTap> = [
            (9, OpenTap::Numbered(12)),
            (30, OpenTap::Named("vnet0".to_owned())),
        ]
        .into();
        assert_eq!(
            open_taps(&ProcRoot::new(&live).recording(&record), 7),
            found
        );
        assert_eq!(open_taps(&ProcRoot::new(&record), 7), found);
        for kept in ["7/fd/3", "7/fdinfo/3", "7/fd/10"] {
            assert!(record.join(kept).symlink_metadata().is_err(), "{kept}");
        }
        // One that tells of the files alone.
        fs::remove_dir_all(record.join("7/fd")).unwrap();
        let told = open_taps(&ProcRoot::new(&record), 7);
        assert_eq!(
            told.into_iter().collect::<Vec<_>>(),
            [(30, OpenTap::Named("vnet0".to_owned()))]
        );
        assert!(open_taps(&ProcRoot::new(&live), 8).is_empty());
    }
}
