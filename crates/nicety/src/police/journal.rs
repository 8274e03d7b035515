//! Events for the journal of systemd, with fields that journalctl(1) can select by; lines on standard
//! error where that is not the journal.
//!
//! The protocol is a datagram of fields (systemd, "Native Journal Protocol"); a client library for it
//! would bring more code than it is.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::OnceLock;

use crate::output;

const SOCKET: &str = "/run/systemd/journal/socket";

/// How much an event matters (syslog(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Warning = 4,
    Notice = 5,
    Info = 6,
}

/// The events: every [`Event::name`] is one of them.
pub const EVENTS: [&str; 17] = [
    "port-gone",
    "port-back",
    "port-renamed",
    "nic-gone",
    "nic-stuck",
    "nic-back",
    "interfaces-stuck",
    "interfaces-back",
    "trouble",
    "trouble-over",
    "limiter-stuck",
    "not-enforced",
    "enforced-again",
    "software-only",
    "guest-refused",
    "policy-taken",
    "policy-refused",
];

/// What an event is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Event<'a> {
    /// NICETY_EVENT.
    pub name: &'a str,
    /// NICETY_PORT.
    pub port: Option<&'a str>,
    /// NICETY_TENANT.
    pub tenant: Option<&'a str>,
    /// NICETY_RATE_BPS and NICETY_LIMIT_BPS, whole bits per second.
    pub rate_bps: Option<f64>,
    pub limit_bps: Option<f64>,
}

/// Tells of an event.
pub fn tell(priority: Priority, event: Event<'_>, message: &str) {
    debug_assert!(EVENTS.contains(&event.name), "{} is not listed", event.name);
    static SINK: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    let sink = SINK.get_or_init(|| {
        let stream = std::env::var("JOURNAL_STREAM").ok()?;
        let own = std::fs::metadata("/proc/self/fd/2").ok()?;
        is_stream(&stream, own.dev(), own.ino()).then(|| open(Path::new(SOCKET)))?
    });
    let sent = sink.as_ref().is_some_and(|socket| {
        let fields = fields(priority, event, message);
        // A journal that does not get on must not keep the loop waiting.
        socket.send(&fields).is_ok()
    });
    if !sent {
        output::say(message);
    }
}

/// Whether `JOURNAL_STREAM` (systemd.exec(5)) names the file that standard error is.
fn is_stream(told: &str, device: u64, inode: u64) -> bool {
    let told = told.split_once(':');
    told.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))) == Some((device, inode))
}

fn open(path: &Path) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect(path).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

fn fields(priority: Priority, event: Event<'_>, message: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |bps: Option<f64>| bps.map(|bps| format!("{bps:.0}"));
    let (rate, limit) = (number(event.rate_bps), number(event.limit_bps));
    let priority = (priority as u8).to_string();
    for (name, value) in [
        ("MESSAGE", Some(message)),
        ("PRIORITY", Some(priority.as_str())),
        ("SYSLOG_IDENTIFIER", Some("nicety")),
        ("NICETY_EVENT", Some(event.name)),
        ("NICETY_PORT", event.port),
        ("NICETY_TENANT", event.tenant),
        ("NICETY_RATE_BPS", rate.as_deref()),
        ("NICETY_LIMIT_BPS", limit.as_deref()),
    ] {
        if let Some(value) = value {
            put(&mut bytes, name, value);
        }
    }
    bytes
}

/// `NAME=value`, or where the value has a line end its length in 64 bits, little end first.
fn put(bytes: &mut Vec<u8>, name: &str, value: &str) {
    bytes.extend_from_slice(name.as_bytes());
    if value.contains('\n') {
        bytes.push(b'\n');
        bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    } else {
        bytes.push(b'=');
    }
    bytes.extend_from_slice(value.as_bytes());
    bytes.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reaches_a_journal_with_its_fields() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let journal = UnixDatagram::bind(&path).unwrap();
        let event = Event {
            name: "not-enforced",
            port: Some("tap0"),
            tenant: Some("two\nlines"),
            limit_bps: Some(5e8),
            ..Event::default()
        };
        let sent = fields(Priority::Warning, event, "port tap0: limit not enforced");
        open(&path).unwrap().send(&sent).unwrap();
        let mut buffer = [0; 1024];
        let count = journal.recv(&mut buffer).unwrap();
        let wanted = b"MESSAGE=port tap0: limit not enforced\nPRIORITY=4\n\
            SYSLOG_IDENTIFIER=nicety\nNICETY_EVENT=not-enforced\nNICETY_PORT=tap0\n\
            NICETY_TENANT\n\x09\0\0\0\0\0\0\0two\nlines\nNICETY_LIMIT_BPS=500000000\n";
        assert_eq!(&buffer[..count], &wanted[..]);
    }

    #[test]
    fn the_guide_names_every_event() {
        let guide = include_str!("../../../../docs/guide/police.md");
        let (_, list) = guide.split_once("`NICETY_EVENT` (").unwrap();
        let (list, _) = list.split_once("),").unwrap();
        let named: Vec<_> = list
            .split(',')
            .map(|name| name.trim().trim_matches('`'))
            .collect();
        assert_eq!(named, EVENTS);
    }

    #[test]
    fn only_the_own_standard_error_is_the_journal() {
        assert!(is_stream("9:123", 9, 123));
        for told in ["9:124", "8:123", "", "9", "a:b", "9:123:1"] {
            assert!(!is_stream(told, 9, 123), "{told}");
        }
    }
}
