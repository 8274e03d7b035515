//! What a transaction needs next, by what its journal holds: which one is meant, whether it may be
//! confirmed, whether it must be undone.

pub mod undo;
pub mod words;

use std::collections::BTreeSet;

use nicety_model::journal::{Journal, Phase};
use nicety_model::knob::Change;

/// Where and when the question is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Here<'a> {
    /// What the kernel calls this boot.
    pub boot_id: &'a str,
    /// Inode of this network namespace.
    pub netns: u64,
    /// Seconds since boot.
    pub now_s: f64,
}

/// Why a transaction is undone without being asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its time is over.
    NotConfirmed,
    /// Whoever applied it is gone.
    DiedApplying,
    /// Whoever undid it is gone.
    DiedUndoing,
}

impl Cause {
    /// As the journal has it.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotConfirmed => "not confirmed in time",
            Self::DiedApplying => "nicety ended while it applied",
            Self::DiedUndoing => "nicety ended while it undid",
        }
    }
}

/// What a transaction needs that nobody works at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Need {
    /// Nothing: it has come to its end.
    Nothing,
    /// Somebody has so many seconds more to confirm it.
    Wait(f64),
    /// To be undone.
    Undo(Cause),
}

/// What a transaction of this boot needs. To be asked by whoever holds the lock, or has seen nobody hold
/// it since the transaction began.
pub fn need(phase: Phase, now_s: f64) -> Need {
    match phase {
        Phase::Confirmed | Phase::RolledBack => Need::Nothing,
        Phase::Unconfirmed { deadline_s } if now_s < deadline_s => Need::Wait(deadline_s - now_s),
        Phase::Unconfirmed { .. } => Need::Undo(Cause::NotConfirmed),
        Phase::Applying => Need::Undo(Cause::DiedApplying),
        Phase::Undoing => Need::Undo(Cause::DiedUndoing),
    }
}

/// A transaction whose settings are not those seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// Of an earlier boot, with which they went.
    Boot,
    /// Of the network namespace with this inode.
    Namespace(u64),
}

/// Whether the settings of a transaction are those seen from here. Files are, always.
///
/// # Errors
/// Where they are.
pub fn is_here(journal: &Journal, here: Here<'_>) -> Result<(), Elsewhere> {
    match journal.head() {
        _ if journal.outlives_boot() => Ok(()),
        Some((_, boot, _)) if boot != here.boot_id => Err(Elsewhere::Boot),
        Some((_, _, netns)) if netns != here.netns => Err(Elsewhere::Namespace(netns)),
        _ => Ok(()),
    }
}

/// What is to be done about a transaction that is found at a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing.
    None,
    /// Killed before its first line was whole: nothing had been changed, which is to be noted.
    NeverBegan,
    /// Its settings went with the boot, which is to be noted.
    GoneWithBoot,
    /// Somebody has to undo it in the network namespace with this inode.
    InNamespace(u64),
    /// To be undone.
    Undo(Cause),
}

/// What is to be done about a transaction that is found at a start, under the lock.
pub fn recovery(journal: &Journal, here: Here<'_>) -> Recovery {
    let Some((_, boot, _)) = journal.head() else {
        return Recovery::NeverBegan;
    };
    // A deadline of another boot is over.
    let now_s = if boot == here.boot_id {
        here.now_s
    } else {
        f64::INFINITY
    };
    match (need(journal.phase(), now_s), is_here(journal, here)) {
        (Need::Nothing | Need::Wait(_), _) => Recovery::None,
        (Need::Undo(_), Err(Elsewhere::Boot)) => Recovery::GoneWithBoot,
        (Need::Undo(_), Err(Elsewhere::Namespace(netns))) => Recovery::InNamespace(netns),
        (Need::Undo(cause), Ok(())) => Recovery::Undo(cause),
    }
}

/// What somebody wants of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To keep it.
    Confirm,
    /// To undo it; by force also what an earlier attempt left alone.
    Undo {
        /// By force.
        force: bool,
    },
}

impl Purpose {
    /// Whether a transaction at this point is one for it.
    pub fn fits(self, phase: Phase) -> bool {
        match self {
            Self::Confirm => matches!(phase, Phase::Unconfirmed { .. }),
            Self::Undo { force } => phase != Phase::RolledBack || force,
        }
    }
}

/// Why a transaction is passed over when none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedOver {
    /// Its settings are those of the network namespace with this inode.
    Namespace(u64),
    /// It took kept files away, which would come back.
    Removal,
}

/// The transactions meant when none is named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meant {
    /// Their numbers, the newest first.
    pub ids: Vec<u32>,
    /// Those that would fit but are passed over, the newest first.
    pub passed_over: Vec<(u32, PassedOver)>,
}

impl Meant {
    /// The newest one alone, with what is passed over on the way to it.
    pub fn newest(mut self) -> Self {
        self.ids.truncate(1);
        let chosen = self.ids.first().copied().unwrap_or(0);
        self.passed_over.retain(|(id, _)| *id > chosen);
        self
    }
}

/// The transactions that `purpose` means when none is named. Settings of an earlier boot went with it,
/// so that nothing is meant by those.
pub fn meant(all: &[(u32, Journal)], purpose: Purpose, here: Here<'_>) -> Meant {
    let mut meant = Meant::default();
    let mut gone = BTreeSet::new();
    for (id, journal) in all.iter().rev() {
        if !purpose.fits(journal.phase()) {
            continue;
        }
        let undoes = matches!(purpose, Purpose::Undo { .. });
        match is_here(journal, here) {
            // Who confirms needs no settings.
            _ if purpose == Purpose::Confirm => meant.ids.push(*id),
            Err(Elsewhere::Boot) => {}
            Err(Elsewhere::Namespace(netns)) => {
                meant.passed_over.push((*id, PassedOver::Namespace(netns)));
            }
            Ok(()) if undoes && journal.removes_files() => {
                gone.extend(changes(journal).map(|change| change.knob));
                meant.passed_over.push((*id, PassedOver::Removal));
            }
            // A later removal, which is passed over, has taken all of its files away already.
            Ok(()) if undoes && changes(journal).all(|change| gone.contains(&change.knob)) => {}
            Ok(()) => meant.ids.push(*id),
        }
    }
    meant
}

/// What is changed here now: confirmed, or waiting for its confirmation.
pub fn is_active(journal: &Journal, here: Here<'_>) -> bool {
    matches!(
        journal.phase(),
        Phase::Confirmed | Phase::Unconfirmed { .. }
    ) && is_here(journal, here).is_ok()
        && !journal.removes_files()
}

/// Seconds until a transaction is undone unless it is confirmed.
pub fn rolls_back_in(journal: &Journal, now_s: f64) -> Option<f64> {
    match need(journal.phase(), now_s) {
        Need::Wait(left_s) => Some(left_s),
        Need::Nothing | Need::Undo(_) => None,
    }
}

/// One that is not finished: the next one's old values would be its new ones.
pub fn unfinished(all: &[(u32, Phase)]) -> Option<u32> {
    let done = |phase: &Phase| matches!(phase, Phase::Confirmed | Phase::RolledBack);
    let open = all.iter().find(|(_, phase)| !done(phase));
    open.map(|(id, _)| *id)
}

/// What becomes of the wish to keep a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Confirmation {
    /// It is kept from now on.
    Kept,
    /// It was kept before.
    KeptBefore,
    /// It is too late.
    TooLate(Phase),
}

/// Whether a transaction may be kept.
pub fn confirmation(phase: Phase, now_s: f64) -> Confirmation {
    match need(phase, now_s) {
        Need::Wait(_) => Confirmation::Kept,
        Need::Nothing if phase == Phase::Confirmed => Confirmation::KeptBefore,
        Need::Nothing | Need::Undo(_) => Confirmation::TooLate(phase),
    }
}

/// Whether the changes of a transaction are ones that can be kept over the next boot: confirmed, of this
/// boot and network namespace, and not files that are kept already.
pub fn can_be_kept(journal: &Journal, here: Here<'_>) -> bool {
    journal.phase() == Phase::Confirmed
        && is_here(journal, here).is_ok()
        && !journal.outlives_boot()
}

/// The changes of a journal, in the order they were made.
pub fn changes(journal: &Journal) -> impl Iterator<Item = Change> {
    journal.steps().into_iter().map(|step| step.change)
}

#[cfg(test)]
mod tests {
    use nicety_model::journal::Event;
    use nicety_model::knob::Knob;

    use super::*;

    const HERE: Here<'static> = Here {
        boot_id: "b",
        netns: 4,
        now_s: 10.0,
    };

    fn journal(boot_id: &str, netns: u64, file: bool, rest: Vec<Event>) -> Journal {
        let knob = if file {
            Knob::File {
                path: "/etc/x".to_owned(),
            }
        } else {
            Knob::sysctl("a")
        };
        let mut events = vec![
            Event::Begin {
                schema: 1,
                id: 7,
                boot_id: boot_id.to_owned(),
                netns,
                confirm_within_s: 60.0,
                origin: None,
            },
            Event::Intent {
                change: crate::draft::change(knob, "1", "2"),
            },
        ];
        events.extend(rest);
        Journal { events }
    }

    fn applied(deadline_s: f64) -> Vec<Event> {
        vec![Event::Applied { deadline_s }]
    }

    fn undoing() -> Vec<Event> {
        let why = "x".to_owned();
        vec![Event::Undoing { why }]
    }

    #[test]
    fn a_transaction_waits_until_its_time_is_over() {
        use Phase::{Applying, Confirmed, RolledBack, Unconfirmed, Undoing};
        for (phase, needed, confirmation_) in [
            (Confirmed, Need::Nothing, Confirmation::KeptBefore),
            (RolledBack, Need::Nothing, Confirmation::TooLate(RolledBack)),
            (
                Unconfirmed { deadline_s: 12.0 },
                Need::Wait(2.0),
                Confirmation::Kept,
            ),
            (
                Unconfirmed { deadline_s: 10.0 },
                Need::Undo(Cause::NotConfirmed),
                Confirmation::TooLate(Unconfirmed { deadline_s: 10.0 }),
            ),
            (
                Applying,
                Need::Undo(Cause::DiedApplying),
                Confirmation::TooLate(Applying),
            ),
            (
                Undoing,
                Need::Undo(Cause::DiedUndoing),
                Confirmation::TooLate(Undoing),
            ),
        ] {
            assert_eq!(need(phase, 10.0), needed, "{phase:?}");
            assert_eq!(confirmation(phase, 10.0), confirmation_, "{phase:?}");
        }
    }

    #[test]
    fn what_was_left_behind_is_undone_where_it_belongs() {
        let undo = Recovery::Undo;
        for (boot, netns, file, rest, expected) in [
            ("b", 4, false, applied(12.0), Recovery::None),
            ("b", 4, false, applied(9.0), undo(Cause::NotConfirmed)),
            ("b", 4, false, vec![Event::Confirmed], Recovery::None),
            ("b", 4, false, vec![], undo(Cause::DiedApplying)),
            ("b", 4, false, undoing(), undo(Cause::DiedUndoing)),
            ("a", 4, false, vec![], Recovery::GoneWithBoot),
            ("a", 4, false, applied(12.0), Recovery::GoneWithBoot),
            ("a", 4, false, vec![Event::RolledBack], Recovery::None),
            ("b", 5, false, vec![], Recovery::InNamespace(5)),
            ("b", 5, false, applied(12.0), Recovery::None),
            // Files are the same in every boot and namespace.
            ("a", 5, true, vec![], undo(Cause::DiedApplying)),
            ("a", 5, true, applied(12.0), undo(Cause::NotConfirmed)),
        ] {
            let decided = recovery(&journal(boot, netns, file, rest.clone()), HERE);
            assert_eq!(decided, expected, "{boot} {netns} {file} {rest:?}");
        }
        assert_eq!(recovery(&Journal::default(), HERE), Recovery::NeverBegan);
    }

    #[test]
    fn a_transaction_is_meant_by_what_is_wanted() {
        let confirmed = || vec![Event::Confirmed];
        let of = |rest| journal("b", 4, false, rest);
        let all = [
            (1, of(confirmed())),
            (2, of(applied(1.0))),
            (3, of(vec![Event::RolledBack])),
        ];
        let undo = |force| Purpose::Undo { force };
        for (purpose, expected) in [
            (Purpose::Confirm, &[2][..]),
            (undo(false), &[2, 1]),
            (undo(true), &[3, 2, 1]),
        ] {
            assert_eq!(meant(&all, purpose, HERE).ids, expected, "{purpose:?}");
        }
        assert_eq!(meant(&all[2..], undo(false), HERE), Meant::default());
        let all = all.map(|(id, journal)| (id, journal.phase()));
        assert_eq!(unfinished(&all), Some(2));
        assert_eq!(unfinished(&[all[0], all[2]]), None);
        assert_eq!(unfinished(&[(1, Phase::Undoing)]), Some(1));
    }

    #[test]
    fn what_does_not_fit_here_is_passed_over() {
        let confirmed = || vec![Event::Confirmed];
        let mut removal = journal("b", 4, true, confirmed());
        if let Some(Event::Intent { change }) = removal.events.get_mut(1) {
            change.to.clear();
        }
        let all = [
            // Its file is the one that went with the fourth.
            (0, journal("a", 5, true, confirmed())),
            (1, journal("b", 4, false, confirmed())),
            (2, journal("b", 5, false, confirmed())),
            (3, journal("b", 4, false, confirmed())),
            (4, removal),
            (5, journal("b", 5, false, confirmed())),
            (6, journal("a", 4, false, confirmed())),
        ];
        let undo = Purpose::Undo { force: false };
        let meant = meant(&all, undo, HERE);
        assert_eq!(meant.ids, [3, 1]);
        let elsewhere = PassedOver::Namespace(5);
        let passed = [(5, elsewhere), (4, PassedOver::Removal), (2, elsewhere)];
        assert_eq!(meant.passed_over, passed);
        let newest = meant.newest();
        assert_eq!(newest.ids, [3]);
        assert_eq!(newest.passed_over, passed[..2]);
        let active: Vec<u32> = (all.iter().filter(|(_, journal)| is_active(journal, HERE)))
            .map(|(id, _)| *id)
            .collect();
        assert_eq!(active, [0, 1, 3]);
    }

    #[test]
    fn what_waits_is_undone_in_time() {
        let waiting = journal("b", 4, false, applied(50.0));
        assert_eq!(rolls_back_in(&waiting, 10.0), Some(40.0));
        assert_eq!(rolls_back_in(&waiting, 60.0), None);
        let kept = journal("b", 4, false, vec![Event::Confirmed]);
        assert_eq!(rolls_back_in(&kept, 10.0), None);
    }

    #[test]
    fn only_what_is_confirmed_here_is_kept() {
        for (boot, netns, file, rest, expected) in [
            ("b", 4, false, vec![Event::Confirmed], true),
            ("b", 4, true, vec![Event::Confirmed], false),
            ("a", 4, false, vec![Event::Confirmed], false),
            ("b", 5, false, vec![Event::Confirmed], false),
            ("b", 4, false, applied(12.0), false),
        ] {
            let journal = journal(boot, netns, file, rest);
            assert_eq!(can_be_kept(&journal, HERE), expected, "{boot} {netns}");
        }
    }
}
