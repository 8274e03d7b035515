//! What side B knows of connections.

use std::net::Ipv4Addr;

use nicety_packet::Flow;

/// Where a connection seems to come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Entry {
    address: u32,
    /// 0 is none: no translation makes a source of it.
    port: u16,
}

impl Entry {
    pub(super) fn of(flow: &Flow) -> Self {
        Self {
            address: flow.source.into(),
            port: flow.source_port,
        }
    }

    pub(super) fn is_known(self) -> bool {
        self.port != 0
    }

    /// The first frame as it arrived at its destination.
    pub(super) fn seen(self, sent: Flow) -> Flow {
        Flow {
            source: Ipv4Addr::from(self.address),
            source_port: self.port,
            ..sent
        }
    }
}

/// Every connection by its number.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Entry>);

/// The table in a phase.
#[derive(Debug)]
pub(super) enum Access<'a> {
    /// Connections are being opened.
    Note(&'a mut [Entry]),
    /// They are open.
    Know(&'a [Entry]),
}

impl Table {
    /// Forgets all, and makes room for so many.
    pub(super) fn begin(&mut self, connections: u32) {
        self.0.clear();
        self.0.resize(connections as usize, Entry::default());
    }

    pub(super) fn known(&self) -> u64 {
        self.0.iter().filter(|entry| entry.is_known()).count() as u64
    }

    pub(super) fn access(&mut self, note: bool) -> Access<'_> {
        if note {
            Access::Note(&mut self.0)
        } else {
            Access::Know(&self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_where_a_connection_seems_to_come_from() {
        let sent = Flow {
            source: Ipv4Addr::new(198, 18, 0, 1),
            destination: Ipv4Addr::new(198, 19, 0, 1),
            source_port: 4000,
            destination_port: 10_000,
        };
        let seen = Flow {
            source: Ipv4Addr::new(198, 18, 255, 1),
            source_port: 5000,
            ..sent
        };
        let mut table = Table::default();
        table.begin(3);
        if let Access::Note(entries) = table.access(true) {
            entries[1] = Entry::of(&seen);
        }
        assert_eq!(table.known(), 1);
        let Access::Know(entries) = table.access(false) else {
            panic!("open connections are only read");
        };
        assert_eq!(entries[1].seen(sent), seen);
        assert!(!entries[0].is_known() && entries[1].is_known());
    }
}
