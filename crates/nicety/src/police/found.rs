//! What the daemon found at its ports before it changed them, on disk: so that it can be put
//! back, by this daemon or after it was killed by the next.

mod back;

use std::collections::BTreeMap;

use nicety_host::journal::{JournalFile, StateDir, boot_id};
use nicety_host::topology::ProcRoot;
use nicety_model::SCHEMA;
use nicety_model::journal::{Event, Outcome, Phase};
use nicety_model::knob::{Change, Knob};
use nicety_police::told::PortBack;
use nicety_police::{Policy, PortName};

use super::ports::{Links, Ports};
use crate::exit::{Exit, Failure};
use crate::output;
use back::{at, put_back_all, written};

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
        let netns = ports.namespace();
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
        ports: &mut Ports,
    ) -> Result<(), Failure> {
        if let Some(was) = self.values.get(port) {
            let another = was.index.zip(index).is_some_and(|(was, now)| was != now);
            if !another {
                return Ok(());
            }
            // Of a daemon that was killed: the port has come anew since.
            self.left(port, ports);
            ports.at_links(Links::sweep);
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
    pub fn left(&mut self, port: &str, ports: &mut Ports) -> Option<(String, Outcome)> {
        let was = self.values.get(port)?.clone();
        let name = port.to_owned();
        let moved = match was.index {
            None => None,
            // Where the kernel does not answer it stays noted.
            Some(_) => ports.at_links(move |links| {
                let survey = links.interfaces().ok()?;
                let now = at(&name, &was, &survey).filter(|now| *now != name)?;
                let outcome = written(links, &survey, now, &was.words);
                Some((now.to_owned(), outcome))
            })?,
        };
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
    pub fn release_others(&mut self, ports: &mut Ports, policy: &Policy) {
        let named = |name: &str| policy.ports().any(|(_, port)| port.to_string() == name);
        self.release(ports, named);
    }

    /// Puts back what was found at the ports that `keep` does not name; says what could not be. Those of which
    /// the kernel says nothing stay noted.
    fn release(&mut self, ports: &mut Ports, keep: impl Fn(&str) -> bool) -> Vec<PortBack> {
        let of = self.values.iter().filter(|(name, _)| !keep(name));
        let of: Vec<(String, Original)> =
            of.map(|(name, was)| (name.clone(), was.clone())).collect();
        let mut back = Vec::new();
        let mut silent = Vec::new();
        let outcomes = put_back_all(ports, &of);
        for ((name, was), outcome) in of.into_iter().zip(outcomes) {
            let Some(outcome) = outcome else {
                silent.push(name.clone());
                back.push(PortBack {
                    port: name,
                    value: was.words,
                    outcome: Outcome::Failed {
                        why: "the kernel does not answer".to_owned(),
                    },
                });
                continue;
            };
            if let Some(trouble) = trouble(&name, &outcome) {
                output::say(&trouble);
            }
            // The limit is back; the note of it matters less.
            let _ = self.file.append(&Event::Undone {
                knob: knob(&name),
                outcome: outcome.clone(),
            });
            self.values.remove(&name);
            back.push(PortBack {
                port: name,
                value: was.words,
                outcome,
            });
        }
        if !silent.is_empty() {
            output::say(&format!(
                "the kernel does not answer: {} may have the limits of nicety still; when it answers again, \
                 nicety police restore puts back what was there",
                silent.join(", ")
            ));
        }
        back
    }

    /// Puts everything back and closes the journal, which stays open where the kernel does not answer; tells of
    /// each port.
    pub fn restore(
        &mut self,
        ports: &mut Ports,
        why: &str,
    ) -> Result<(Exit, Vec<PortBack>), Failure> {
        let begun = self.file.append(&Event::Undoing {
            why: why.to_owned(),
        });
        let back = self.release(ports, |_| false);
        let is_bad = |port: &&PortBack| trouble(&port.port, &port.outcome).is_some();
        let bad = back.iter().filter(is_bad).count();
        let swept = ports.at_links(Links::sweep);
        begun.map_err(Failure::environment)?;
        if self.len() == 0 {
            self.file
                .append(&Event::RolledBack)
                .map_err(Failure::environment)?;
        }
        swept.transpose().map_err(Failure::environment)?;
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
