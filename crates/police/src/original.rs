//! State of the ports before they were changed, as a journal keeps it.

use std::collections::BTreeMap;

use nicety_model::journal::{Event, Journal, Outcome, Phase};
use nicety_model::knob::{Change, Knob, NOQUEUE};
use nicety_model::traffic_control::RecordedLimit;

use crate::policy::PortName;
use crate::received;

/// New value of a limit, by the journal.
const MARK: &str = "police";
/// How the words of a limit end that is not ours.
const FOREIGN: &str = "of somebody else";
/// The words of no limit.
const NONE: &str = "none";
/// The words of no limit where another program had one, or may have one again: whatever it has then is left.
pub const TAKEN_AWAY: &str = "no limit of somebody else";
/// The words of a limit of another program that stays where it is.
pub const THEIRS: &str = "limit of somebody else";

/// State found at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// The limit in the words of its setting.
    pub words: String,
    /// The number of its interface, which stays when it gets another name; none for a function.
    pub index: Option<u32>,
}

impl Original {
    /// The limit of another program that was replaced, and is given back.
    pub fn replaced(&self) -> Option<RecordedLimit> {
        self.words.parse().ok()
    }

    /// Whether what is found now is given back in its place. What nicety finds is its own, but for a limit of another
    /// program, or that this was taken away.
    pub fn gives_way_to(&self, words: &str) -> bool {
        let is_theirs = || words == THEIRS || words.parse::<RecordedLimit>().is_ok();
        let is_nothing = words == TAKEN_AWAY || words == NOQUEUE;
        let taken_away = || is_nothing && self.replaced().is_some();
        self.words != words && (taken_away() || is_theirs())
    }
}

/// The setting of a port by its name: `tap0`, `eth0/vf3`, or as [`received::noted`] says it.
pub fn knob(port: &str) -> Knob {
    match (port.parse(), received::port_of(port)) {
        (Ok(PortName::Vf { pf, vf }), _) => Knob::VfRate { interface: pf, vf },
        (_, Some(interface)) => Knob::ReceiveRate {
            interface: interface.to_owned(),
        },
        _ => Knob::PortRate {
            interface: port.to_owned(),
        },
    }
}

/// The port of a setting that limits one.
fn port(knob: Knob) -> Option<String> {
    match knob {
        Knob::PortRate { interface } => Some(interface),
        Knob::ReceiveRate { interface } => Some(received::noted(&interface)),
        Knob::VfRate { interface, vf } => Some(PortName::Vf { pf: interface, vf }.to_string()),
        _ => None,
    }
}

/// What is noted of a port before it is changed: what was found, by whom it is changed, and the number of its
/// interface.
pub fn change(port: &str, original: &Original) -> Change {
    Change {
        knob: knob(port),
        from: original.words.clone(),
        to: (original.index).map_or(MARK.to_owned(), |index| format!("{MARK} {index}")),
    }
}

/// The number in a mark; none where there is none.
fn marked(to: &str) -> Option<u32> {
    to.strip_prefix(MARK)?.trim().parse().ok()
}

/// Whether a daemon that was killed in this boot and network namespace has left a journal open.
pub fn is_left_open(journal: &Journal, boot_id: &str, netns: u64) -> bool {
    let open = matches!(journal.phase(), Phase::Applying | Phase::Undoing);
    let head = journal.head();
    open && head.is_some_and(|(_, boot, ns)| boot == boot_id && ns == netns)
}

/// What is still to be put back, by port. The first value found is the one from before, but for what another program
/// has set since in the place of what was found; a port that was put back, or went away with its limit, begins anew.
pub fn left(journal: Journal) -> BTreeMap<String, Original> {
    let mut values = BTreeMap::new();
    for event in journal.events {
        match event {
            Event::Intent { change } => {
                if let Some(port) = port(change.knob) {
                    let found = Original {
                        index: marked(&change.to),
                        words: change.from,
                    };
                    let first: &mut Original = values.entry(port).or_insert(found.clone());
                    if first.gives_way_to(&found.words) {
                        *first = found;
                    }
                }
            }
            Event::Undone { knob, .. } => {
                port(knob).map(|port| values.remove(&port));
            }
            _ => {}
        }
    }
    values
}

/// Whether nothing but theirs is at a port where a limit of another program was found, and left: they may have
/// changed it since, or taken it away.
fn is_theirs_again(words: &str, now: &str) -> bool {
    let is_theirs = words.ends_with(FOREIGN) || words.parse::<RecordedLimit>().is_ok();
    is_theirs && (now.ends_with(FOREIGN) || now == NONE)
}

/// What becomes of a port that is to have `words` again and has `now`, none when it is gone; none where they
/// must be written.
pub fn without_writing(words: &str, now: Option<&str>) -> Option<Outcome> {
    match now {
        None => Some(Outcome::Gone),
        Some(now) if now == words => Some(Outcome::Untouched),
        // What is at the port says whether it is to be there again.
        Some(NONE) if words.parse::<RecordedLimit>().is_ok() => None,
        Some(now) if is_theirs_again(words, now) => Some(Outcome::Untouched),
        Some(now) if now.ends_with(FOREIGN) => Some(Outcome::Foreign {
            found: now.to_owned(),
        }),
        Some(_) => None,
    }
}

/// Outcome at a port where `words` were written, by reading back.
pub fn read_back(words: &str, now: Option<&str>) -> Outcome {
    match now {
        None => Outcome::Gone,
        Some(now) if now == words => Outcome::Restored,
        Some(now) if is_theirs_again(words, now) => Outcome::Restored,
        Some(now) => Outcome::Failed {
            why: format!("{words} was written, the kernel says {now}"),
        },
    }
}

/// Whether a port exists but could not be put back.
pub fn is_bad(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Foreign { .. } | Outcome::Failed { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tap(words: &str, index: Option<u32>) -> Event {
        let original = Original {
            words: words.to_owned(),
            index,
        };
        Event::Intent {
            change: change("tap0", &original),
        }
    }

    fn journal(netns: u64, rest: Vec<Event>) -> Journal {
        let begin = Event::Begin {
            schema: 1,
            id: 1,
            boot_id: "boot".to_owned(),
            netns,
            confirm_within_s: 0.0,
            origin: None,
        };
        Journal {
            events: std::iter::once(begin).chain(rest).collect(),
        }
    }

    #[test]
    fn the_journal_keeps_the_number_of_an_interface() {
        let kept = |index| {
            let words = "none".to_owned();
            marked(&change("tap0", &Original { words, index }).to)
        };
        assert_eq!(kept(Some(17)), Some(17));
        assert_eq!(kept(None), None);
        for old in ["police", "police 1x", "none", ""] {
            assert_eq!(marked(old), None, "{old}");
        }
    }

    #[test]
    fn the_first_value_found_is_the_one_from_before() {
        let undone = || Event::Undone {
            knob: knob("tap0"),
            outcome: Outcome::Gone,
        };
        for (events, wanted) in [
            (vec![], None),
            (vec![tap("none", Some(7))], Some(("none", Some(7)))),
            (
                vec![tap("none", Some(7)), tap("5mbit wire", Some(7))],
                Some(("none", Some(7))),
            ),
            (vec![tap("none", Some(7)), undone()], None),
            (
                vec![tap("none", Some(7)), undone(), tap("9mbit", None)],
                Some(("9mbit", None)),
            ),
        ] {
            let left = left(journal(1, events));
            let left = left.get("tap0").map(|was| (was.words.as_str(), was.index));
            assert_eq!(left, wanted);
        }
    }

    #[test]
    fn what_another_program_has_set_last_is_given_back() {
        let (six, three) = ("6mbit of tc raw q:00,f:01", "3mbit of tc raw q:00,f:02");
        for (events, wanted) in [
            // A limit that came later, another one, and nicety's own words, which are found in its place.
            (vec!["none", six], six),
            (vec![six, three, "3mbit wire"], three),
            (vec![six, "none"], six),
            (vec![six, TAKEN_AWAY], TAKEN_AWAY),
            (vec![six, TAKEN_AWAY, "40mbit wire"], TAKEN_AWAY),
            (vec![six, TAKEN_AWAY, three], three),
            (vec!["5mbit", TAKEN_AWAY], "5mbit"),
            // Below a limit that stays, and comes and goes.
            (vec![TAKEN_AWAY, THEIRS, "3mbit wire"], THEIRS),
            (vec![THEIRS, TAKEN_AWAY], THEIRS),
        ] {
            let events: Vec<Event> = events.iter().map(|words| tap(words, Some(7))).collect();
            let left = left(journal(1, events));
            assert_eq!(left["tap0"].words, wanted);
        }
        // They may have set it anew, or nicety's is there: the port itself tells.
        for (now, outcome) in [
            ("ingress of somebody else", Some(Outcome::Untouched)),
            ("none", None),
            ("3mbit wire", None),
        ] {
            assert_eq!(without_writing(six, Some(now)), outcome, "{now}");
        }
        for words in [six, TAKEN_AWAY] {
            let now = Some("ingress of somebody else");
            assert_eq!(read_back(words, now), Outcome::Restored);
        }
    }

    #[test]
    fn a_journal_is_gone_on_with_in_its_boot_and_namespace_until_it_is_closed() {
        for (netns, rest, goes_on) in [
            (7, vec![tap("none", None)], true),
            (8, vec![tap("none", None)], false),
            (7, vec![Event::Confirmed], false),
            (7, vec![Event::RolledBack], false),
        ] {
            let journal = journal(netns, rest);
            assert_eq!(is_left_open(&journal, "boot", 7), goes_on, "{journal:?}");
            assert!(!is_left_open(&journal, "another", 7));
        }
        assert!(!is_left_open(&Journal::default(), "boot", 7));
    }

    #[test]
    fn what_is_somebody_elses_is_left_and_what_is_there_is_not_written() {
        let foreign = "htb of somebody else";
        for (now, wanted) in [
            (None, Some(Outcome::Gone)),
            (Some("none"), Some(Outcome::Untouched)),
            (
                Some(foreign),
                Some(Outcome::Foreign {
                    found: foreign.to_owned(),
                }),
            ),
            (Some("5mbit wire"), None),
        ] {
            assert_eq!(without_writing("none", now), wanted, "{now:?}");
        }
        assert_eq!(read_back("none", Some("none")), Outcome::Restored);
        assert!(is_bad(&read_back("none", Some("5mbit"))));
        assert!(!is_bad(&read_back("none", None)));
    }
}
