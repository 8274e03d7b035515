//! The journal of a transaction of changes on disk, and how to read it after a crash.
//!
//! A journal is a list of events, each synced to disk before the next step. An
//! [`Event::Intent`] stands before its write, so every written value is known. Whether the last
//! intended write happened is not known and does not matter: undoing it is right in both cases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::SCHEMA;
use crate::cpu_list::parse_cpu_list;
use crate::knob::{Change, Knob};

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The transaction starts.
    Begin {
        /// Schema version.
        schema: u32,
        /// Number of the transaction, rising.
        id: u32,
        /// The boot it belongs to: settings do not outlive it.
        boot_id: String,
        /// Inode of the network namespace it changes.
        netns: u64,
        /// Seconds it waits for confirmation.
        confirm_within_s: f64,
        /// Who began it, when, and how; absent in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// A setting is about to be written.
    Intent {
        /// Setting, value before and value after.
        change: Change,
    },
    /// The last intended setting was written and read back.
    Written {
        /// What was read.
        found: String,
    },
    /// All settings are written.
    Applied {
        /// Seconds since boot after which it is undone unless confirmed.
        deadline_s: f64,
    },
    /// It was confirmed.
    Confirmed,
    /// It is being undone.
    Undoing {
        /// Why.
        why: String,
    },
    /// One setting was looked at again.
    Undone {
        /// The setting.
        knob: Knob,
        /// Outcome.
        outcome: Outcome,
    },
    /// Everything was looked at again: the end.
    RolledBack,
}

/// Who began a transaction, when, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Time in UTC, RFC 3339: `2026-11-24T10:02:07Z`.
    pub time: String,
    /// Name of the user; behind sudo, of the one who called it.
    pub user: String,
    /// Arguments of the program: `tune apply --only T04`.
    pub command: String,
}

/// Outcome of undoing a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// It has its old value again.
    Restored,
    /// It had its old value already.
    Untouched,
    /// Another program has changed it since: left alone.
    Foreign {
        /// The value found.
        found: String,
    },
    /// It is not there any more.
    Gone,
    /// The old value could not be written.
    Failed {
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// Whether it needs attention.
    pub fn is_left(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Failed { .. })
    }
}

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase {
    /// Settings are being written, or the program died while it did.
    Applying,
    /// Written; undone after the deadline unless confirmed.
    Unconfirmed {
        /// Seconds since boot.
        deadline_s: f64,
    },
    /// To be kept.
    Confirmed,
    /// Being undone, or the program died while it did.
    Undoing,
    /// Undone.
    RolledBack,
}

impl Phase {
    /// In one word, as reports have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Applying => "applying",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::Confirmed => "confirmed",
            Self::Undoing => "undoing",
            Self::RolledBack => "rolled-back",
        }
    }
}

/// A journal as read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Journal {
    /// Events in their order.
    pub events: Vec<Event>,
}

/// A setting that was written, or may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Setting, value before, value asked for.
    pub change: Change,
    /// Value read back; absent when the program did not get that far.
    pub found: Option<String>,
}

impl Journal {
    /// Reads the lines of a journal. A last line that is cut short was being written when the
    /// program died: nothing had followed from it, so it does not count.
    ///
    /// # Errors
    /// The number of the first line that is not understood.
    pub fn parse(text: &str) -> Result<Self, usize> {
        let mut events = Vec::new();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (index, line) in whole.lines().enumerate() {
            events.push(serde_json::from_str(line).map_err(|_| index + 1)?);
        }
        Ok(Self { events })
    }

    /// Number of the transaction, its boot and its network namespace.
    pub fn head(&self) -> Option<(u32, &str, u64)> {
        match self.events.first()? {
            Event::Begin {
                id, boot_id, netns, ..
            } => Some((*id, boot_id, *netns)),
            _ => None,
        }
    }

    /// Who began it, when, and how.
    pub fn origin(&self) -> Option<&Origin> {
        match self.events.first()? {
            Event::Begin { origin, .. } => origin.as_ref(),
            _ => None,
        }
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        let phase = self.events.iter().rev().find_map(|event| match event {
            Event::RolledBack => Some(Phase::RolledBack),
            Event::Undoing { .. } => Some(Phase::Undoing),
            Event::Confirmed => Some(Phase::Confirmed),
            Event::Applied { deadline_s } => Some(Phase::Unconfirmed {
                deadline_s: *deadline_s,
            }),
            _ => None,
        });
        phase.unwrap_or(Phase::Applying)
    }

    /// What was written, or may have been, in order.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for event in &self.events {
            match event {
                Event::Intent { change } => steps.push(Step {
                    change: change.clone(),
                    found: None,
                }),
                Event::Written { found } => {
                    if let Some(step) = steps.last_mut() {
                        step.found = Some(found.clone());
                    }
                }
                _ => {}
            }
        }
        steps
    }

    /// What is still to be undone, last first.
    pub fn to_undo(&self) -> Vec<Step> {
        let done = |knob: &Knob| {
            self.events.iter().any(|event| match event {
                Event::Undone { knob: undone, .. } => undone == knob,
                _ => false,
            })
        };
        let mut steps = self.steps();
        steps.retain(|step| !done(&step.change.knob));
        steps.reverse();
        steps
    }

    /// Whether all of it is the same after the next boot: files, no running settings.
    pub fn outlives_boot(&self) -> bool {
        let steps = self.steps();
        !steps.is_empty() && steps.iter().all(|step| step.change.knob.outlives_boot())
    }

    /// Whether all it did was to take away files that were kept: to undo it brings them back.
    pub fn removes_files(&self) -> bool {
        let steps = self.steps();
        let removes = |step: &Step| step.change.knob.outlives_boot() && step.change.to.is_empty();
        !steps.is_empty() && steps.iter().all(removes)
    }

    /// Outcome of a setting when it was undone last.
    pub fn outcome(&self, setting: &Knob) -> Option<&Outcome> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Undone { knob, outcome } if knob == setting => Some(outcome),
            _ => None,
        })
    }

    /// Why it was undone last.
    pub fn why_undone(&self) -> Option<&str> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Undoing { why } => Some(why.as_str()),
            _ => None,
        })
    }
}

/// A transaction as `nicety tune` prints it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionReport {
    /// Schema version.
    pub schema: u32,
    /// Number.
    pub transaction: u32,
    /// `applying`, `unconfirmed`, `confirmed`, `undoing` or `rolled-back`.
    pub phase: String,
    /// When it began, in UTC, RFC 3339; absent in journals of older versions, as the next two are.
    #[serde(default)]
    pub time: Option<String>,
    /// Who began it.
    #[serde(default)]
    pub user: Option<String>,
    /// The command that did.
    #[serde(default)]
    pub command: Option<String>,
    /// Why it was undone last.
    #[serde(default)]
    pub why_undone: Option<String>,
    /// Seconds until it is undone unless confirmed, when that was asked.
    #[serde(default)]
    pub rolls_back_in_s: Option<u64>,
    /// Settings in the order they were changed.
    pub settings: Vec<SettingReport>,
}

/// What `nicety tune apply --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ApplyReport {
    /// The transaction that was applied.
    Applied(TransactionReport),
    /// Nothing was to be changed.
    Unchanged(Unchanged),
}

/// There was nothing to change, so there is no transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unchanged {
    /// Schema version.
    pub schema: u32,
    /// Always empty.
    pub settings: [SettingReport; 0],
}

/// One setting of a transaction.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingReport {
    /// The setting.
    pub knob: Knob,
    /// Value before.
    pub from: String,
    /// Value it got.
    pub to: String,
    /// Value it has now, when that was asked.
    pub found: Option<String>,
    /// Outcome of undoing it.
    pub outcome: Option<Outcome>,
}

impl TransactionReport {
    /// A transaction as it stands.
    pub fn new(id: u32, journal: &Journal) -> Self {
        let settings = journal.steps().into_iter().map(|step| SettingReport {
            outcome: journal.outcome(&step.change.knob).cloned(),
            knob: step.change.knob,
            from: step.change.from,
            to: step.change.to,
            found: None,
        });
        let origin = journal.origin().cloned();
        Self {
            schema: SCHEMA,
            transaction: id,
            phase: journal.phase().word().to_owned(),
            time: origin.as_ref().map(|origin| origin.time.clone()),
            user: origin.as_ref().map(|origin| origin.user.clone()),
            command: origin.map(|origin| origin.command),
            why_undone: journal.why_undone().map(str::to_owned),
            rolls_back_in_s: None,
            settings: settings.collect(),
        }
    }
}

impl SettingReport {
    /// Whether it has the value it got.
    pub fn holds(&self) -> bool {
        let found = self.found.as_deref();
        found.is_some_and(|found| same_value(&self.knob, found, &self.to))
    }
}

/// What `nicety tune status` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TuneStatus {
    /// Schema version.
    pub schema: u32,
    /// Transactions whose settings are changed now, by number, each setting once, with the value it has.
    pub active: Vec<TransactionReport>,
    /// All transactions of the state directory, by number.
    pub history: Vec<TransactionReport>,
}

/// Whether two values of a setting are the same to the kernel: white space, leading zeros of CPU
/// masks and the form of CPU lists do not matter. Texts of files are compared byte by byte.
pub fn same_value(knob: &Knob, a: &str, b: &str) -> bool {
    if let Knob::File { .. } = knob {
        return a == b;
    }
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if words(a) == words(b) {
        return true;
    }
    match knob {
        Knob::SysFile { path } if path.ends_with("_cpus") => {
            let bits = |text: &str| {
                let digits = text.trim().replace(',', "");
                let hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
                hex.then(|| digits.trim_start_matches('0').to_ascii_lowercase())
            };
            bits(a).is_some() && bits(a) == bits(b)
        }
        Knob::IrqAffinity { .. } | Knob::ThreadCpus { .. } => {
            let cpus = parse_cpu_list(a);
            cpus.is_some() && cpus == parse_cpu_list(b)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str) -> Change {
        Change {
            knob: Knob::sysctl(name),
            from: "1".to_owned(),
            to: "2".to_owned(),
        }
    }

    fn events() -> Vec<Event> {
        let written = || Event::Written {
            found: "2".to_owned(),
        };
        let undone = |name| Event::Undone {
            knob: Knob::sysctl(name),
            outcome: Outcome::Restored,
        };
        vec![
            Event::Begin {
                schema: 1,
                id: 7,
                boot_id: "b".to_owned(),
                netns: 4,
                confirm_within_s: 60.0,
                origin: None,
            },
            Event::Intent {
                change: change("a"),
            },
            written(),
            Event::Intent {
                change: change("b"),
            },
            written(),
            Event::Applied { deadline_s: 9.0 },
            Event::Undoing {
                why: "x".to_owned(),
            },
            undone("b"),
            undone("a"),
            Event::RolledBack,
        ]
    }

    fn text(events: &[Event]) -> String {
        let lines = events
            .iter()
            .map(|event| serde_json::to_string(event).unwrap() + "\n");
        lines.collect()
    }

    #[test]
    fn a_journal_cut_anywhere_says_what_may_have_been_written() {
        let events = events();
        for (count, phase, undo) in [
            (0, Phase::Applying, &[][..]),
            (1, Phase::Applying, &[]),
            (2, Phase::Applying, &["a"]),
            (3, Phase::Applying, &["a"]),
            (4, Phase::Applying, &["b", "a"]),
            (5, Phase::Applying, &["b", "a"]),
            (6, Phase::Unconfirmed { deadline_s: 9.0 }, &["b", "a"]),
            (7, Phase::Undoing, &["b", "a"]),
            (8, Phase::Undoing, &["a"]),
            (9, Phase::Undoing, &[]),
            (10, Phase::RolledBack, &[]),
        ] {
            let text = text(&events[..count]);
            let journal = Journal::parse(&text).unwrap();
            assert_eq!(journal.phase(), phase, "{count}");
            let steps = journal.to_undo();
            let names: Vec<String> = steps.iter().map(|s| s.change.knob.to_string()).collect();
            assert_eq!(names, undo, "{count}");
            // The same with half of the next line.
            if let Some(next) = events.get(count) {
                let next = serde_json::to_string(next).unwrap();
                let torn = format!("{text}{}", &next[..next.len() / 2]);
                assert_eq!(Journal::parse(&torn).unwrap(), journal, "{count} torn");
            }
        }
    }

    #[test]
    fn who_began_it_is_optional() {
        let old = Journal::parse(&text(&events()[..1])).unwrap();
        assert_eq!(old.origin(), None);
        let report = TransactionReport::new(7, &old);
        assert_eq!((report.time, report.user), (None, None));
        let origin = Origin {
            time: "2026-11-24T10:02:07Z".to_owned(),
            user: "ada".to_owned(),
            command: "tune apply".to_owned(),
        };
        let mut events = events();
        let Event::Begin { origin: new, .. } = &mut events[0] else {
            panic!("the first event is no begin");
        };
        *new = Some(origin.clone());
        let journal = Journal::parse(&text(&events)).unwrap();
        assert_eq!(journal.origin(), Some(&origin));
        let report = TransactionReport::new(7, &journal);
        assert_eq!(report.user.as_deref(), Some("ada"));
        assert_eq!(report.why_undone.as_deref(), Some("x"));
    }

    #[test]
    fn only_files_that_went_make_a_removal() {
        let file = |to: &str| Event::Intent {
            change: Change {
                knob: Knob::File {
                    path: "/etc/x".to_owned(),
                },
                from: "1".to_owned(),
                to: to.to_owned(),
            },
        };
        let removes = |events: Vec<Event>| Journal { events }.removes_files();
        assert!(removes(vec![file("")]));
        assert!(!removes(vec![file(""), file("2")]));
        assert!(!removes(vec![Event::Intent {
            change: change("a")
        }]));
        assert!(!removes(Vec::new()));
    }

    #[test]
    fn a_confirmed_journal_stays_confirmed() {
        let mut events = events();
        events.truncate(6);
        events.push(Event::Confirmed);
        let journal = Journal { events };
        assert_eq!(journal.phase(), Phase::Confirmed);
        assert_eq!(journal.head(), Some((7, "b", 4)));
    }

    #[test]
    fn nonsense_is_told_by_line() {
        let text = text(&events()[..2]) + "{\"event\":\"intent\"}\nmore\n";
        assert_eq!(Journal::parse(&text), Err(3));
    }

    #[test]
    fn values_are_compared_as_the_kernel_prints_them() {
        let mask = Knob::sys_file("class/net/eth0/queues/rx-0/rps_cpus");
        let list = Knob::IrqAffinity { irq: 1 };
        let plain = Knob::sysctl("net.ipv4.tcp_rmem");
        for (knob, a, b, same) in [
            (&plain, "4096\t1\t2", "4096 1 2", true),
            (&plain, "01", "1", false),
            (&mask, "00000000,0000000f", "f", true),
            (&mask, "f", "1f", false),
            (&mask, "", "0", false),
            (&list, "0-3", "0,1,2,3", true),
            (&list, "0-3", "0-2", false),
            (&list, "x", "y", false),
        ] {
            assert_eq!(same_value(knob, a, b), same, "{a:?} {b:?}");
        }
    }
}
