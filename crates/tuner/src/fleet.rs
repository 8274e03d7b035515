//! A fleet of recorded hosts: each is read, judged and reduced to what is compared, one at a time for each
//! CPU, so that memory does not grow with their size.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nicety_advisor::fleet::{Fleet, HostRecord, profile};
use nicety_host::captures::{self, Found};
use nicety_host::clock::rfc3339;
use nicety_host::facts::{Source, SourceError, read_after};
use nicety_model::fleet::{FleetReport, GroupBy, UnreadCapture};
use nicety_model::visible::visible;

use crate::advice::{AdviceRequest, of_facts};

/// Largest capture that is read, in bytes. That of a host with 160 CPUs, 64 ports and 200 guests has 12 MB.
const LARGEST: u64 = 64 << 20;
/// Threads that read at once; more would wait for each other's memory.
const MOST_THREADS: usize = 16;
/// Longest reason why something is no host, in characters: it may quote what a file holds.
const LONGEST: usize = 300;

/// Something that happened.
#[derive(Debug)]
pub enum FleetEvent<'a> {
    /// There are so many captures to read.
    Found(usize),
    /// One more has been read.
    Read,
    /// Something is no captured host, or cannot be read.
    Unread(&'a UnreadCapture),
}

/// Is told what happens.
pub type FleetListener<'a> = &'a mut dyn FnMut(FleetEvent<'_>);

/// Reads the captures at these paths and compares their hosts. What cannot be read is in the report.
pub fn compare(
    paths: &[PathBuf],
    request: &AdviceRequest,
    by: &[GroupBy],
    listener: FleetListener<'_>,
) -> FleetReport {
    let (found, unreachable) = captures::find(paths);
    let mut fleet = Fleet::default();
    listener(FleetEvent::Found(found.len()));
    for error in unreachable {
        let unread = UnreadCapture {
            file: error.path.display().to_string(),
            why: plain(&error.source.to_string()),
        };
        listener(FleetEvent::Unread(&unread));
        fleet.add_unread(unread);
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        // What is read waits for the one that collects, and is not heaped up.
        let (sender, receiver) = mpsc::sync_channel(1);
        for _ in 0..threads.min(MOST_THREADS).min(found.len()) {
            let (sender, found, next) = (sender.clone(), &found, &next);
            scope.spawn(move || {
                while let Some(one) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send(read(one, request)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for read in receiver {
            match read {
                Ok(record) => fleet.add(record),
                Err(unread) => {
                    listener(FleetEvent::Unread(&unread));
                    fleet.add_unread(unread);
                }
            }
            listener(FleetEvent::Read);
        }
    });
    fleet.report(request.goal, by)
}

/// One host; its facts are gone when this returns.
fn read(found: &Found, request: &AdviceRequest) -> Result<HostRecord, UnreadCapture> {
    let source = source(&found.path).map_err(|error| UnreadCapture {
        file: found.path.display().to_string(),
        why: why(&found.path, &error),
    })?;
    let identity = source.identity();
    let facts = read_after(&source, None);
    let captured = identity.captured().or(found.written);
    Ok(HostRecord {
        name: identity.called().unwrap_or(&found.called).to_owned(),
        file: found.path.display().to_string(),
        captured: captured.map(|time| rfc3339(Duration::from_secs(time.as_secs()))),
        profile: profile(&facts),
        advice: of_facts(&facts, request, None),
    })
}

fn source(path: &Path) -> Result<Source, SourceError> {
    if path.is_dir() {
        Source::at(Some(path))
    } else {
        // May be a pipe.
        Ok(Source::captured_within(path, LARGEST)?)
    }
}

/// The error without the path, which stands beside it.
fn why(path: &Path, error: &SourceError) -> String {
    let text = plain(&error.to_string());
    let path = path.display().to_string();
    let rest = text
        .strip_prefix(&format!("cannot read {path}: "))
        .or_else(|| text.strip_prefix(&format!("{path} ")));
    rest.map_or_else(|| text.clone(), str::to_owned)
}

/// On one line and not too long.
fn plain(text: &str) -> String {
    let shown: String = text.chars().take(LONGEST).collect();
    visible(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(kernel: &str, name: &str, time: u64) -> String {
        let identity = format!(r#"{{\"host\":\"{name}\",\"captured_unix_s\":{time}}}"#);
        format!(
            r#"{{"schema":1,"files":{{"proc/sys/kernel/osrelease":"{kernel}","nicety/identity.json":"{identity}"}},"links":{{}}}}"#
        )
    }

    #[test]
    fn captures_of_a_folder_are_a_fleet() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
        for host in 1..=5 {
            let name = format!("kvm{host}");
            write(&format!("{name}.json"), &capture("6.1", &name, 7));
        }
        write("new.json", &capture("6.12", "kvm5", 8));
        write("other.json", "{}");
        write("newer.json", r#"{"schema":99,"files":{},"links":{}}"#);
        write("nobody.json", &capture("6.1", "", 7));
        let mut events = Vec::new();
        let report = compare(
            &[dir.path().to_owned(), dir.path().join("gone")],
            &AdviceRequest::default(),
            &[],
            &mut |event| events.push(format!("{event:?}")),
        );
        let names: Vec<&str> = report.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["kvm1", "kvm2", "kvm3", "kvm4", "kvm5", "nobody"]);
        let captured = report.hosts[0].captured.as_deref();
        assert_eq!(captured, Some("1970-01-01T00:00:07Z"));
        assert_eq!(report.differences.len(), 1);
        assert_eq!(report.differences[0].others[0].hosts, ["kvm5"]);
        assert_eq!(report.older.len(), 1);
        let whys: Vec<&str> = report.unread.iter().map(|of| of.why.as_str()).collect();
        assert_eq!(whys.len(), 3, "{whys:?}");
        assert!(whys.iter().all(|why| !why.contains("cannot read")));
        assert!(whys.iter().any(|why| why.contains("newer nicety")));
        assert_eq!(events[0], "Found(9)");
        assert_eq!(events.iter().filter(|event| *event == "Read").count(), 9);
    }

    #[test]
    fn a_large_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.json");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(LARGEST + 1).unwrap();
        let report = compare(&[path], &AdviceRequest::default(), &[], &mut |_| ());
        assert!(report.unread[0].why.contains("larger than"), "{report:?}");
    }
}
