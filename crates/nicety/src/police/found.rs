//! What the daemon found at its ports before it changed them, on disk: so that it can be put
//! back, by this daemon or after it was killed by the next.

use std::collections::BTreeMap;

use nicety_host::journal::{JournalFile, StateDir, boot_id};
use nicety_host::shaper::Survey;
use nicety_host::topology::ProcRoot;
use nicety_model::SCHEMA;
use nicety_model::journal::{Event, Outcome, Phase};
use nicety_model::knob::{Change, Knob};
use nicety_police::told::PortBack;
use nicety_police::{Policy, PortName};

use super::ports::Ports;
use crate::exit::{Exit, Failure};
use crate::output;

/// How the words of a limit end that is not ours.
const FOREIGN: &str = "of somebody else";
/// What the journal says that a limit was changed to.
const MARK: &str = "police";

/// What was found at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Original {
    /// The limit in the words of its setting.
    words: String,
    /// The number of its interface, which stays when it gets another name; none for a function.
    index: Option<u32>,
}

/// Limits found, by port.
pub struct Originals {
    values: BTreeMap<String, Original>,
    file: JournalFile,
    /// Taken over from a daemon that was killed.
    pub adopted: usize,
}

/// The setting of a port by its name: `tap0`, `eth0/vf3`.
fn knob(port: &str) -> Knob {
    match port.parse() {
        Ok(PortName::Vf { pf, vf }) => Knob::VfRate { interface: pf, vf },
        _ => Knob::PortRate {
            interface: port.to_owned(),
        },
    }
}

/// What the journal says that a port was changed to: by whom, and the number of its interface.
fn mark(index: Option<u32>) -> String {
    index.map_or(MARK.to_owned(), |index| format!("{MARK} {index}"))
}

/// The number in a mark; none where there is none.
fn marked(to: &str) -> Option<u32> {
    to.strip_prefix(MARK)?.trim().parse().ok()
}

/// The port of a setting that limits one.
fn port(knob: Knob) -> Option<String> {
    match knob {
        Knob::PortRate { interface } => Some(interface),
        Knob::VfRate { interface, vf } => Some(PortName::Vf { pf: interface, vf }.to_string()),
        _ => None,
    }
}

/// Tells of a port that has not what was found there.
fn trouble(name: &str, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Foreign { found } => Some(format!(
            "port {name}: there is a {found} now, which is left alone"
        )),
        Outcome::Failed { why } => Some(format!("port {name} could not be restored: {why}")),
        Outcome::Restored | Outcome::Untouched | Outcome::Gone => None,
    }
}

impl Originals {
    /// Goes on with the journal of a daemon that was killed in this boot and namespace, or
    /// begins one.
    pub fn open(state: &StateDir, ports: &Ports) -> Result<Self, Failure> {
        let boot = boot_id(&ProcRoot::live());
        let netns = ports.knobs.namespace();
        let ids = state.ids().map_err(Failure::environment)?;
        for id in ids.iter().rev() {
            let journal = state.read(*id).map_err(Failure::environment)?;
            let open = matches!(journal.phase(), Phase::Applying | Phase::Undoing);
            let here = journal
                .head()
                .is_some_and(|(_, its, ns)| its == boot && ns == netns);
            if !open || !here {
                continue;
            }
            // The first value found is the one from before; a port that was put back, or went
            // away with its limit, begins anew.
            let mut values = BTreeMap::new();
            for event in journal.events {
                match event {
                    Event::Intent { change } => {
                        if let Some(port) = port(change.knob) {
                            values.entry(port).or_insert(Original {
                                index: marked(&change.to),
                                words: change.from,
                            });
                        }
                    }
                    Event::Undone { knob, .. } => {
                        port(knob).map(|port| values.remove(&port));
                    }
                    _ => {}
                }
            }
            return Ok(Self {
                adopted: values.len(),
                values,
                file: state.append_to(*id).map_err(Failure::environment)?,
            });
        }
        let id = ids.last().map_or(1, |last| last + 1);
        let mut file = state.create(id).map_err(Failure::environment)?;
        file.append(&Event::Begin {
            schema: SCHEMA,
            id,
            boot_id: boot,
            netns,
            confirm_within_s: 0.0,
        })
        .map_err(Failure::environment)?;
        Ok(Self {
            values: BTreeMap::new(),
            file,
            adopted: 0,
        })
    }

    /// How many ports there is something to put back at.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Notes on disk what was found at a port, and the number of its interface; must stand there
    /// before the port is changed.
    pub fn note(
        &mut self,
        port: &str,
        found: &str,
        index: Option<u32>,
        ports: &Ports,
    ) -> Result<(), Failure> {
        if let Some(was) = self.values.get(port) {
            let another = was.index.zip(index).is_some_and(|(was, now)| was != now);
            if !another {
                return Ok(());
            }
            // Of a daemon that was killed: the port has come anew since.
            self.left(port, ports);
            let _ = ports.sweep();
        }
        let change = Change {
            knob: knob(port),
            from: found.to_owned(),
            to: mark(index),
        };
        self.file
            .append(&Event::Intent { change })
            .map_err(Failure::environment)?;
        let words = found.to_owned();
        self.values
            .insert(port.to_owned(), Original { words, index });
        Ok(())
    }

    /// A port that has gone took its limit along, or has another name now, and what was found is put
    /// back there: returns that name and what came of it. When it comes back, what is found then counts.
    pub fn left(&mut self, port: &str, ports: &Ports) -> Option<(String, Outcome)> {
        let was = self.values.get(port)?;
        let survey = was.index.and_then(|_| ports.interfaces().ok());
        let now = survey.and_then(|survey| {
            let name = at(port, was, &survey)
                .filter(|now| *now != port)?
                .to_owned();
            Some((name, survey))
        });
        let moved = now.map(|(name, survey)| {
            let outcome = written(ports, &survey, &name, &was.words);
            (name, outcome)
        });
        self.values.remove(port);
        let outcome = moved.as_ref().map(|(_, outcome)| outcome.clone());
        // When the disk is full the old value is put back later, which is no worse.
        let _ = self.file.append(&Event::Undone {
            knob: knob(port),
            outcome: outcome.unwrap_or(Outcome::Gone),
        });
        moved
    }

    /// Puts back what was found at the ports that the policy does not name, and says what could
    /// not be.
    pub fn release_others(&mut self, ports: &Ports, policy: &Policy) {
        let named = |name: &str| policy.ports().any(|(_, port)| port.to_string() == name);
        self.release(ports, named);
    }

    /// Puts back what was found at the ports that `keep` does not name; says what could not be.
    fn release(&mut self, ports: &Ports, keep: impl Fn(&str) -> bool) -> Vec<PortBack> {
        let names: Vec<String> = self
            .values
            .keys()
            .filter(|name| !keep(name))
            .cloned()
            .collect();
        let mut back = Vec::new();
        let outcomes = self.put_back_all(ports, &names);
        for (name, outcome) in names.into_iter().zip(outcomes) {
            if let Some(trouble) = trouble(&name, &outcome) {
                output::say(&trouble);
            }
            // The limit is back; the note of it matters less.
            let _ = self.file.append(&Event::Undone {
                knob: knob(&name),
                outcome: outcome.clone(),
            });
            let value = self.value(&name).to_owned();
            self.values.remove(&name);
            back.push(PortBack {
                port: name,
                value,
                outcome,
            });
        }
        back
    }

    /// What was found at a port, in the words of its setting.
    fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("none", |was| &was.words)
    }

    /// Interfaces in two looks at all of them, functions one after the other.
    fn put_back_all(&self, ports: &Ports, names: &[String]) -> Vec<Outcome> {
        let is_interface = |name: &str| matches!(name.parse(), Ok(PortName::Interface(_)));
        let before = ports.interfaces().ok();
        // By the names that they have now; none for those that are gone.
        let places = names.iter().map(|name| {
            let survey = before.as_ref().filter(|_| is_interface(name))?;
            Some(at(name, self.values.get(name)?, survey).map(|now| (now, survey)))
        });
        let places: Vec<_> = places.collect();
        let done = names.iter().zip(&places).map(|(name, place)| {
            Some(match (*place)? {
                Some((now, survey)) => written(ports, survey, now, self.value(name)),
                None => Outcome::Gone,
            })
        });
        let done: Vec<Option<Outcome>> = done.collect();
        let after = ports.interfaces().ok();
        let all = names.iter().zip(places).zip(done);
        let outcomes = all.map(|((name, place), outcome)| {
            let (Some(outcome), Some(survey)) = (outcome, after.as_ref()) else {
                return self.put_back(ports, name);
            };
            let now = place.flatten().map_or(name.as_str(), |(now, _)| now);
            match (outcome, ports.words(now, survey)) {
                (Outcome::Restored, None) => Outcome::Gone,
                (Outcome::Restored, Some(found)) if found != self.value(name) => {
                    let value = self.value(name);
                    Outcome::Failed {
                        why: format!("{value} was written, the kernel says {found}"),
                    }
                }
                (outcome, _) => outcome,
            }
        });
        outcomes.collect()
    }

    fn put_back(&self, ports: &Ports, name: &str) -> Outcome {
        let value = self.value(name);
        let knob = knob(name);
        let failed = |error: nicety_host::knob::KnobError| match error.is_gone() {
            true => Outcome::Gone,
            false => Outcome::Failed {
                why: error.to_string(),
            },
        };
        match ports.knobs.read(&knob) {
            Ok(found) if found == value => {
                // What cannot be tidied up limits nothing.
                let _ = ports.knobs.tidy(&knob);
                return Outcome::Untouched;
            }
            Ok(found) if found.ends_with(FOREIGN) => return Outcome::Foreign { found },
            Ok(_) => {}
            Err(error) => return failed(error),
        }
        if let Err(error) = ports.knobs.write(&knob, value) {
            return failed(error);
        }
        match ports.knobs.read(&knob) {
            Ok(found) if found == value => Outcome::Restored,
            Ok(found) => Outcome::Failed {
                why: format!("{value} was written, the kernel says {found}"),
            },
            Err(error) => failed(error),
        }
    }

    /// Puts everything back and closes the journal; tells of each port.
    pub fn restore(&mut self, ports: &Ports, why: &str) -> Result<(Exit, Vec<PortBack>), Failure> {
        let begun = self.file.append(&Event::Undoing {
            why: why.to_owned(),
        });
        let back = self.release(ports, |_| false);
        let is_bad = |port: &&PortBack| trouble(&port.port, &port.outcome).is_some();
        let bad = back.iter().filter(is_bad).count();
        let swept = ports.sweep();
        begun
            .and_then(|()| self.file.append(&Event::RolledBack))
            .map_err(Failure::environment)?;
        swept.map_err(Failure::environment)?;
        output::say(&format!(
            "the limits of {} ports are as they were found",
            back.len() - bad
        ));
        let exit = match bad {
            0 => Exit::Done,
            _ => Exit::Negative,
        };
        Ok((exit, back))
    }

    /// Leaves everything as it is and closes the journal.
    pub fn keep(&mut self) -> Result<Exit, Failure> {
        self.file
            .append(&Event::Confirmed)
            .map_err(Failure::environment)?;
        output::say(&format!("the limits of {} ports stay", self.len()));
        Ok(Exit::Done)
    }
}

/// The name that the interface of a port has now; none when it is gone.
fn at<'a>(port: &'a str, was: &Original, survey: &'a Survey) -> Option<&'a str> {
    match was.index {
        Some(index) => survey.face_at(index).map(|face| face.name.as_str()),
        None => Some(port),
    }
}

/// Writes `value` to an interface, unless it is there already or somebody else's limit is.
fn written(ports: &Ports, survey: &Survey, name: &str, value: &str) -> Outcome {
    match ports.words(name, survey) {
        None => Outcome::Gone,
        Some(found) if found == value => {
            if found == "none" {
                // What was left half made limits nothing.
                let _ = ports.put(name, survey, &found);
            }
            Outcome::Untouched
        }
        Some(found) if found.ends_with(FOREIGN) => Outcome::Foreign { found },
        Some(_) => match ports.put(name, survey, value) {
            Ok(()) => Outcome::Restored,
            Err(error) if error.is_not_found() => Outcome::Gone,
            Err(error) => Outcome::Failed {
                why: error.to_string(),
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_keeps_the_number_of_an_interface() {
        assert_eq!(marked(&mark(Some(17))), Some(17));
        assert_eq!(marked(&mark(None)), None);
        for old in ["police", "police 1x", "none", ""] {
            assert_eq!(marked(old), None, "{old}");
        }
    }
}
