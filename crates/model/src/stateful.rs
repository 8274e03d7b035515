//! Tables of connections: what `nicety stateful` measures and prints (RFC 9693).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::keywords::keywords;
use crate::note::Note;
use crate::run::Fingerprint;
use crate::sock::Family;
use crate::traffic::Transport;

keywords! {
    /// What is measured of a table.
    TableStage {
        /// The rate at which connections are opened.
        Setup = "setup",
        /// How many it holds.
        Capacity = "capacity",
        /// The rate at which they are removed.
        Teardown = "teardown",
        /// What passes on connections that are open.
        Goodput = "goodput",
    }
}

keywords! {
    /// How far to trust a figure of a table.
    TableVerdict {
        /// Measured, and every count equals the kernel's.
        Ok = "ok",
        /// At least this much: the tester, or what it was told to do at most, gave out first.
        AtLeast = "at-least",
        /// The tester and the kernel count differently: the figure is not valid.
        NotValid = "not-valid",
        /// No figure.
        Failed = "failed",
    }
}

keywords! {
    /// What keeps a table or a path from doing more.
    Setback {
        /// The table is full: entries were thrown out for new ones, or new ones were refused.
        TableFull = "table-full",
        /// Translation found no free port for a connection.
        NoPort = "no-port",
        /// A hash chain of the table was too long for one more entry.
        LongChain = "long-chain",
        /// Frames were lost on the path.
        Lost = "lost",
        /// Frames arrived with addresses or ports of another connection.
        Strange = "strange",
        /// All frames arrived, and the kernel has another number of entries.
        Miscounted = "miscounted",
        /// The tester sent later than it should.
        Late = "late",
        /// The tester's own receive ring had no room.
        TesterDropped = "tester-dropped",
        /// CPUs of the tester or the path stood still, or other programs had them, in every trial.
        Stalled = "stalled",
    }
}

keywords! {
    /// What the kernel has seen of a connection.
    EntryState {
        /// Packets of the side that opened it only.
        Unreplied = "unreplied",
        /// Packets both ways.
        Replied = "replied",
    }
}

/// A number of several repeats.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Median.
    pub median: f64,
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
    /// Repeats it rests on.
    pub n: u32,
    /// Probability, `0.0..1.0`, with which the interval covers the median of all repeats that might have been made
    /// (order statistics of independent repeats); absent of one repeat.
    pub confidence: Option<f64>,
}

/// Connection counts by source, after a fill.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableCounts {
    /// Connections that the initiator opened.
    pub sent: u64,
    /// Connections of which a frame reached the responder.
    pub responder: u64,
    /// Entries that the kernel counts, as `conntrack -C` does.
    pub kernel: u64,
    /// Entries that the kernel lists one by one (ctnetlink); absent where they were not listed.
    pub listed: Option<u64>,
    /// Connections whose answer came back translated to the initiator; absent where none were sent.
    pub answered: Option<u64>,
}

impl TableCounts {
    /// Whether all counts are the same.
    pub fn equal(&self) -> bool {
        let all = [
            Some(self.responder),
            Some(self.kernel),
            self.listed,
            self.answered,
        ];
        all.into_iter().flatten().all(|count| count == self.sent)
    }
}

/// The rate at which connections are opened.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupRate {
    /// Connections per second that were all opened, and answered.
    pub per_s: Option<Figure>,
    /// Verdict.
    pub verdict: TableVerdict,
    /// What happened at the lowest rate that failed.
    pub stopped_by: Option<Setback>,
    /// Connections of the last trial that passed, or of the last one where none did.
    pub counts: TableCounts,
    /// Trials.
    pub trials: u32,
    /// Of these, trials that say nothing, because a CPU stood still or another program had it; absent where nobody
    /// watched.
    pub spoiled: Option<u32>,
}

/// What the table holds.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Most connections that all stayed in the table.
    pub entries: Option<u64>,
    /// Fewest that did not; one more than `entries` where the capacity is known exactly.
    pub overflowed: Option<u64>,
    /// Verdict.
    pub verdict: TableVerdict,
    /// What happened at `overflowed`.
    pub stopped_by: Option<Setback>,
    /// Entries that were thrown out for new ones at `overflowed` (`early_drop`).
    pub thrown_out: Option<u64>,
    /// Connections of the fill with `entries`.
    pub counts: TableCounts,
    /// Times that the table was filled.
    pub fills: u32,
}

/// The rate at which connections are removed.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Teardown {
    /// Entries that were there.
    pub entries: u64,
    /// Entries per second that were removed; what an empty table takes is subtracted.
    pub per_s: Option<Figure>,
    /// Seconds that it took.
    pub seconds: Option<Figure>,
    /// Most entries that were left afterwards.
    pub left: u64,
    /// Verdict.
    pub verdict: TableVerdict,
    /// Why the table could not be filled.
    pub stopped_by: Option<Setback>,
}

/// What passes on connections that are open.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goodput {
    /// Entries in the table, each of which gets frames.
    pub entries: u64,
    /// What the kernel has seen of them.
    pub state: EntryState,
    /// Frames per second, all directions together.
    pub fps: Option<Figure>,
    /// Payload of UDP or TCP in Mbit/s, all directions together, at the median.
    pub payload_mbps: Option<f64>,
    /// Verdict.
    pub verdict: TableVerdict,
    /// What happened at the lowest rate that failed.
    pub stopped_by: Option<Setback>,
    /// Connections before the frames.
    pub counts: TableCounts,
    /// Entries that the kernel counts after the frames: no frame may open one.
    pub kernel_after: u64,
    /// Trials.
    pub trials: u32,
    /// Of these, trials that say nothing, because a CPU stood still or another program had it; absent where nobody
    /// watched.
    pub spoiled: Option<u32>,
}

/// Entries at a time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FillPoint {
    /// Seconds since the first connection.
    pub s: f64,
    /// Entries that the kernel counts.
    pub entries: u64,
}

/// How a table filled.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Filling {
    /// Connections that were opened.
    pub connections: u64,
    /// Whether all stayed.
    pub held: bool,
    /// Entries over time, at most [`Self::POINTS`].
    pub points: Vec<FillPoint>,
}

impl Filling {
    /// Points that are kept of a fill.
    pub const POINTS: usize = 120;
}

/// What the table is like.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TableFacts {
    /// Entries that a namespace may have (`nf_conntrack_max`); 0 is no limit.
    pub max: u64,
    /// Hash buckets, of all namespaces together (`nf_conntrack_buckets`).
    pub buckets: u64,
    /// Bytes of an entry without its extensions; absent where only root is told.
    pub entry_bytes: Option<u64>,
    /// Seconds after which an entry without an answer is forgotten.
    pub timeout_s: u32,
    /// Hosts that open connections.
    pub hosts: u32,
    /// Addresses that their sources are translated to; 0 without translation.
    pub addresses: u32,
    /// Ports that translation has of each address, where that was asked for.
    pub ports: Option<u16>,
    /// Ports of the destination.
    pub destination_ports: u32,
}

/// What `nicety stateful` prints.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatefulReport {
    /// Schema version.
    pub schema: u32,
    /// When it began.
    pub started: String,
    /// The path, as cells are called.
    pub path: String,
    /// Frame size in bytes, FCS included.
    pub frame_size_bytes: u16,
    /// IP version of connections; IPv4 when absent.
    pub family: Option<Family>,
    /// Header behind IP's; UDP when absent.
    pub protocol: Option<Transport>,
    /// Length of a trial in seconds.
    pub trial_s: f64,
    /// The machine.
    pub host: Fingerprint,
    /// The table.
    pub table: TableFacts,
    /// The rate at which connections are opened.
    pub setup: Option<SetupRate>,
    /// What the table holds.
    pub capacity: Option<Capacity>,
    /// How it filled: the largest fill that stayed, and the smallest that did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filling: Vec<Filling>,
    /// The rate at which connections are removed, by entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<Teardown>,
    /// What passes on open connections, by entries and state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goodput: Vec<Goodput>,
    /// What to know about the machine and the path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// All that was asked for was measured.
    pub complete: bool,
}

impl StatefulReport {
    /// The verdicts of all figures.
    pub fn verdicts(&self) -> impl Iterator<Item = TableVerdict> + '_ {
        let setup = self.setup.iter().map(|c| c.verdict);
        let capacity = self.capacity.iter().map(|c| c.verdict);
        let teardown = self.teardown.iter().map(|c| c.verdict);
        let goodput = self.goodput.iter().map(|c| c.verdict);
        setup.chain(capacity).chain(teardown).chain(goodput)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_equal_only_where_everybody_agrees() {
        let counts = TableCounts {
            sent: 5,
            responder: 5,
            kernel: 5,
            ..TableCounts::default()
        };
        assert!(counts.equal());
        let others: [fn(&mut TableCounts); 5] = [
            |c| c.sent = 6,
            |c| c.responder = 4,
            |c| c.kernel = 6,
            |c| c.listed = Some(4),
            |c| c.answered = Some(4),
        ];
        for change in others {
            let mut wrong = counts;
            change(&mut wrong);
            assert!(!wrong.equal(), "{wrong:?}");
        }
    }
}
