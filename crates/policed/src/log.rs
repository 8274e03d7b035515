//! The log: events for the journal of systemd, with fields that journalctl(1) can select by; lines for
//! whoever started the daemon where standard error is not the journal, and for what has no name there.
//!
//! The protocol is a datagram of fields (systemd, "Native Journal Protocol"); a client library for it
//! would bring more code than it is.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;

use nicety_model::visible::escaped;
use nicety_police::event::Event;

const SOCKET: &str = "/run/systemd/journal/socket";

/// Where events are written.
#[derive(Debug, Clone)]
pub struct Log {
    line: fn(&str),
    journal: Option<Arc<UnixDatagram>>,
}

impl Log {
    /// To the journal when standard error is it, else to `line`, which writes one.
    pub fn open(line: fn(&str)) -> Self {
        let journal = || {
            let stream = std::env::var("JOURNAL_STREAM").ok()?;
            let own = std::fs::metadata("/proc/self/fd/2").ok()?;
            is_stream(&stream, own.dev(), own.ino()).then(|| open(Path::new(SOCKET)))?
        };
        Self {
            line,
            journal: journal().map(Arc::new),
        }
    }

    /// Writes an event.
    pub fn report(&self, event: &Event) {
        let sent = self.journal.as_ref().zip(event.name());
        let sent = sent.is_some_and(|(socket, name)| {
            // A journal that does not get on must not keep the loop waiting.
            socket.send(&fields(event, name)).is_ok()
        });
        if !sent {
            (self.line)(&event.to_string());
        }
    }
}

/// Whether `JOURNAL_STREAM` (systemd.exec(5)) names the file that standard error is.
fn is_stream(named: &str, device: u64, inode: u64) -> bool {
    let named = named.split_once(':');
    named.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))) == Some((device, inode))
}

fn open(path: &Path) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect(path).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

fn fields(event: &Event, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |bps: Option<f64>| bps.map(|bps| format!("{bps:.0}"));
    let (rate, limit) = event.rates();
    let (rate, limit) = (number(rate), number(limit));
    let priority = (event.priority() as u8).to_string();
    let message = escaped(&event.to_string());
    for (name, value) in [
        ("MESSAGE", Some(message.as_str())),
        ("PRIORITY", Some(priority.as_str())),
        ("SYSLOG_IDENTIFIER", Some("nicety")),
        ("NICETY_EVENT", Some(name)),
        ("NICETY_PORT", event.port()),
        ("NICETY_INTERFACE", event.interface()),
        ("NICETY_TENANT", event.tenant()),
        ("NICETY_DIRECTION", event.direction()),
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
    use nicety_police::event::PortEvent;

    use super::*;

    #[test]
    fn an_event_reaches_a_journal_with_its_fields() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let journal = UnixDatagram::bind(&path).unwrap();
        let event = Event::Port {
            port: "tap0\x1b[2J".to_owned(),
            interface: None,
            tenant: Some("two\nlines".to_owned()),
            event: PortEvent::NotEnforced {
                rate_bps: None,
                limit_bps: 5e8,
            },
        };
        let sent = fields(&event, event.name().unwrap());
        open(&path).unwrap().send(&sent).unwrap();
        let mut buffer = [0; 1024];
        let count = journal.recv(&mut buffer).unwrap();
        let wanted = b"MESSAGE=port tap0\\u{1b}[2J: limit not enforced\nPRIORITY=4\n\
            SYSLOG_IDENTIFIER=nicety\nNICETY_EVENT=not-enforced\nNICETY_PORT=tap0\x1b[2J\n\
            NICETY_TENANT\n\x09\0\0\0\0\0\0\0two\nlines\nNICETY_LIMIT_BPS=500000000\n";
        assert_eq!(&buffer[..count], &wanted[..]);
    }

    #[test]
    fn only_the_own_standard_error_is_the_journal() {
        assert!(is_stream("9:123", 9, 123));
        for named in ["9:124", "8:123", "", "9", "a:b", "9:123:1"] {
            assert!(!is_stream(named, 9, 123), "{named}");
        }
    }
}
