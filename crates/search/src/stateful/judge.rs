//! What a phase says: whether it succeeded, and if not, what stopped it. The kernel's own counters name it; a full
//! table is none of the path's losses.

use nicety_model::stateful::{Setback, TableCounts};

use super::{Held, Shortfall};

/// A phase in which connections were opened, and what the kernel counted meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Opened {
    /// Connections that were to be opened.
    pub intended: u64,
    /// Connections as everybody counts them now.
    pub counts: TableCounts,
    /// Entries that there may be; 0 is no limit.
    pub most: u64,
    /// Entries that were thrown out for new ones.
    pub early_drop: u64,
    /// Packets that were dropped because no entry could be made for them.
    pub drop: u64,
    /// Entries that found their place taken.
    pub insert_failed: u64,
    /// Entries whose hash chain was too long.
    pub chain_too_long: u64,
    /// Frames with addresses of another connection.
    pub strange: u64,
    /// Frames that the tester's own ring had no room for.
    pub tester_drops: u64,
    /// The tester sent more slowly than it should.
    pub late: bool,
}

impl Opened {
    /// What went wrong; `None` where every connection is open and everybody counts it.
    pub fn setback(&self) -> Option<Setback> {
        let counts = &self.counts;
        // A twentieth below the limit the kernel begins to remove entries that nobody answered
        // (`gc_worker` in net/netfilter/nf_conntrack_core.c).
        let near_full = self.most > 0 && counts.kernel + counts.kernel / 20 >= self.most;
        let causes = [
            (self.early_drop > 0, Setback::TableFull),
            (
                self.drop > self.insert_failed && near_full,
                Setback::TableFull,
            ),
            (self.chain_too_long > 0, Setback::LongChain),
            (self.insert_failed > 0, Setback::NoPort),
            (self.tester_drops > 0, Setback::TesterDropped),
            (self.strange > 0, Setback::Strange),
            (self.late || counts.sent < self.intended, Setback::Late),
            (counts.responder < counts.sent, Setback::Lost),
            (
                counts
                    .answered
                    .is_some_and(|answered| answered < counts.sent),
                Setback::Lost,
            ),
            (!counts.equal(), Setback::Miscounted),
        ];
        causes
            .into_iter()
            .find_map(|(is, cause)| is.then_some(cause))
    }

    /// What is missing, where connections were opened at `rate`.
    pub fn shortfall(&self, rate: f64) -> Shortfall {
        let counts = &self.counts;
        let arrived = counts.answered.unwrap_or(counts.sent).min(counts.responder);
        let lost = counts.sent.saturating_sub(arrived);
        Shortfall {
            frames: lost.max(self.tester_drops),
            fps: rate,
            behind_s: 0.0,
        }
    }

    /// What it says about the table's room.
    pub fn held(&self) -> Held {
        match self.setback() {
            None => Held::All,
            Some(Setback::TableFull | Setback::LongChain | Setback::NoPort) => Held::Part {
                kept: self.counts.kernel,
            },
            // An entry that is gone without a word of the kernel's was removed all the same.
            Some(Setback::Miscounted) if self.counts.kernel < self.counts.sent => Held::Part {
                kept: self.counts.kernel,
            },
            Some(why) => Held::Unknown(why),
        }
    }
}

/// A phase with frames on connections that are open, all directions together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Carried {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that arrived where they belong.
    pub arrived: u64,
    /// Frames with addresses of another connection.
    pub strange: u64,
    /// Frames that the tester's own ring had no room for.
    pub tester_drops: u64,
    /// The tester sent more slowly than it should.
    pub late: bool,
    /// Entries before.
    pub entries: u64,
    /// Entries afterwards.
    pub entries_after: u64,
}

impl Carried {
    /// What is missing, where all sides together sent at `rate`.
    pub fn shortfall(&self, rate: f64) -> Shortfall {
        let lost = self.sent.saturating_sub(self.arrived);
        Shortfall {
            frames: lost.max(self.tester_drops),
            fps: rate,
            behind_s: 0.0,
        }
    }

    /// What went wrong; `loss` is the share of frames that may be lost.
    pub fn setback(&self, loss: f64) -> Option<Setback> {
        let lost = self.sent.saturating_sub(self.arrived);
        let causes = [
            (self.tester_drops > 0, Setback::TesterDropped),
            (self.strange > 0, Setback::Strange),
            (self.entries != self.entries_after, Setback::Miscounted),
            (self.late || self.sent < self.intended, Setback::Late),
            (lost as f64 > self.sent as f64 * loss, Setback::Lost),
        ];
        causes
            .into_iter()
            .find_map(|(is, cause)| is.then_some(cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Opened {
        Opened {
            intended: 1000,
            counts: TableCounts {
                sent: 1000,
                responder: 1000,
                kernel: 1000,
                listed: Some(1000),
                answered: Some(1000),
            },
            most: 262_144,
            ..Opened::default()
        }
    }

    fn with(change: impl FnOnce(&mut Opened)) -> Opened {
        let mut opened = whole();
        change(&mut opened);
        opened
    }

    #[test]
    fn a_full_table_is_named_and_no_loss() {
        let evicted = with(|of| {
            of.early_drop = 7;
            of.counts.kernel = 993;
        });
        assert_eq!(evicted.setback(), Some(Setback::TableFull));
        assert_eq!(evicted.held(), Held::Part { kept: 993 });
        let refused = with(|of| {
            (of.most, of.drop) = (900, 100);
            (of.counts.kernel, of.counts.responder) = (900, 900);
        });
        assert_eq!(refused.setback(), Some(Setback::TableFull));
        assert_eq!(refused.held(), Held::Part { kept: 900 });
    }

    #[test]
    fn other_causes_have_names_too() {
        let lost = |of: &mut Opened| of.counts.responder = 990;
        let table: [(Opened, Option<Setback>); 8] = [
            (whole(), None),
            (with(lost), Some(Setback::Lost)),
            (
                with(|of| {
                    (of.insert_failed, of.drop) = (10, 10);
                    lost(of);
                }),
                Some(Setback::NoPort),
            ),
            (
                with(|of| {
                    (of.chain_too_long, of.drop) = (10, 10);
                    lost(of);
                }),
                Some(Setback::LongChain),
            ),
            (
                with(|of| of.counts.kernel = 1001),
                Some(Setback::Miscounted),
            ),
            (
                with(|of| of.counts.answered = Some(999)),
                Some(Setback::Lost),
            ),
            (with(|of| of.intended = 1100), Some(Setback::Late)),
            (with(|of| of.tester_drops = 1), Some(Setback::TesterDropped)),
        ];
        for (opened, cause) in table {
            assert_eq!(opened.setback(), cause, "{opened:?}");
        }
    }

    #[test]
    fn losses_say_nothing_about_the_tables_room() {
        let lost = with(|of| of.counts.responder = 990);
        assert_eq!(lost.held(), Held::Unknown(Setback::Lost));
        let gone = with(|of| {
            of.counts.kernel = 900;
            of.counts.listed = Some(900);
        });
        assert_eq!(gone.held(), Held::Part { kept: 900 });
        let more = with(|of| of.counts.kernel = 1001);
        assert_eq!(more.held(), Held::Unknown(Setback::Miscounted));
    }

    #[test]
    fn what_is_missing_is_what_did_not_come_back() {
        let frames = |change: fn(&mut Opened)| with(change).shortfall(500.0).frames;
        assert_eq!(frames(|_| {}), 0);
        assert_eq!(frames(|of| of.counts.responder = 990), 10);
        assert_eq!(frames(|of| of.counts.answered = Some(985)), 15);
        assert_eq!(frames(|of| of.counts.answered = None), 0);
        assert_eq!(frames(|of| of.tester_drops = 7), 7);
        let carried = Carried {
            sent: 1000,
            arrived: 940,
            tester_drops: 20,
            ..Carried::default()
        };
        assert_eq!(carried.shortfall(500.0).frames, 60);
        assert_eq!(carried.shortfall(500.0).fps, 500.0);
    }

    #[test]
    fn frames_on_open_connections_open_none() {
        let carried = Carried {
            intended: 1000,
            sent: 1000,
            arrived: 999,
            entries: 50,
            entries_after: 50,
            ..Carried::default()
        };
        assert_eq!(carried.setback(0.0), Some(Setback::Lost));
        assert_eq!(carried.setback(0.001), None);
        let opened = Carried {
            entries_after: 51,
            ..carried
        };
        assert_eq!(opened.setback(0.001), Some(Setback::Miscounted));
    }
}
