//! What the daemon found at its ports before it changed them, on disk: so that it can be put
//! back, by this daemon or after it was killed by the next.

mod restore;

use std::collections::BTreeMap;

use nicety_host::journal::{JournalError, JournalFile, StateDir, boot_id};
use nicety_host::roots::ProcRoot;
use nicety_model::SCHEMA;
use nicety_model::journal::{self, Outcome};
use nicety_model::traffic_control::RecordedLimit;
use nicety_police::adopt::Way;
use nicety_police::event::Event;
use nicety_police::original::{self, Original, is_bad, knob};
use nicety_police::policy::Adopt;
use nicety_police::report::PortBack;
use nicety_police::{Policy, PortName};

use crate::Error;
use crate::log::Log;
use crate::ports::{Links, Ports};
use restore::{current_name, meant, put_back_all, write};

/// Limits found, by port.
#[derive(Debug)]
pub struct Originals {
    values: BTreeMap<String, Original>,
    file: JournalFile,
    log: Log,
    /// Taken over from a daemon that was killed.
    pub adopted: usize,
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    /// What became of each port.
    pub ports: Vec<PortBack>,
    /// How many have not what was found there.
    pub bad: usize,
}

impl Originals {
    /// Goes on with the journal of a daemon that was killed in this boot and namespace, or
    /// begins one.
    ///
    /// # Errors
    /// Those of the journal.
    pub fn open(state: &StateDir, ports: &Ports, log: &Log) -> Result<Self, Error> {
        let boot = boot_id(&ProcRoot::live());
        let netns = ports.namespace();
        // One that a newer nicety wrote keeps no host without its limits.
        let journals = state.journals()?;
        for error in &journals.unreadable {
            log.report(&Event::JournalSkipped(error.to_string()));
        }
        for (id, journal) in journals.readable.into_iter().rev() {
            if !original::is_left_open(&journal, &boot, netns) {
                continue;
            }
            let values = original::left(journal);
            return Ok(Self {
                adopted: values.len(),
                values,
                file: state.append_to(id)?,
                log: log.clone(),
            });
        }
        let id = state.ids()?.last().map_or(1, |last| last + 1);
        let mut file = state.create(id)?;
        file.append(&journal::Event::Begin {
            schema: SCHEMA,
            id,
            boot_id: boot,
            netns,
            confirm_within_s: 0.0,
            origin: None,
        })?;
        Ok(Self {
            values: BTreeMap::new(),
            file,
            log: log.clone(),
            adopted: 0,
        })
    }

    /// There is nothing to put back.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Limits of other programs that were replaced, by port, with the number of the interface.
    pub fn replaced(&self) -> BTreeMap<String, (u32, RecordedLimit)> {
        let all = self.values.iter();
        let replaced =
            |(port, was): (&String, &Original)| Some((port.clone(), (was.index?, was.replaced()?)));
        all.filter_map(replaced).collect()
    }

    /// What is given back to a port in the place of nicety's limit, in words; none where that is nobody's.
    pub fn replaced_at(&self, port: &str) -> Option<String> {
        Some(self.values.get(port)?.replaced()?.words)
    }

    /// Notes on disk what was found at a port, and the number of its interface; must stand there
    /// before the port is changed.
    ///
    /// # Errors
    /// Those of the journal.
    pub fn note(
        &mut self,
        port: &str,
        found: &str,
        index: Option<u32>,
        ports: &mut Ports,
    ) -> Result<(), JournalError> {
        if let Some(was) = self.values.get(port) {
            let another = was.index.zip(index).is_some_and(|(was, now)| was != now);
            if another {
                // Of a daemon that was killed: the port has come anew since.
                self.left(port, ports);
                ports.at_links(Links::sweep);
            } else if !was.gives_way_to(found) {
                return Ok(());
            }
        }
        let original = Original {
            words: found.to_owned(),
            index,
        };
        self.file.append(&journal::Event::Intent {
            change: original::change(port, &original),
        })?;
        self.values.insert(port.to_owned(), original);
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
                let (interface, way) = meant(&name);
                let now = current_name(interface, &was, &survey).filter(|now| *now != interface)?;
                let outcome = write(links, &survey, (now, way), &was.words);
                Some((now.to_owned(), outcome))
            })?,
        };
        self.values.remove(port);
        let outcome = moved.as_ref().map(|(_, outcome)| outcome.clone());
        self.undone(port, outcome.unwrap_or(Outcome::Gone));
        moved
    }

    /// Notes that a port was looked at again. When the disk is full the old value is put back later, which is no
    /// worse.
    fn undone(&mut self, port: &str, outcome: Outcome) {
        let knob = knob(port);
        let _ = self.file.append(&journal::Event::Undone { knob, outcome });
    }

    /// Puts back what was found at the ports that are not among `names`, and limits of others that the policy does not
    /// replace there; reports what could not be. The names are in the policy's order.
    pub fn release_others(&mut self, ports: &mut Ports, names: &[PortName], policy: &Policy) {
        let adopt = |name: &str| {
            let (name, way) = meant(name);
            let mut named = names.iter().zip(policy.ports());
            let (_, (tenant, _)) = named.find(|(port, _)| port.to_string() == name)?;
            let limits = way == Way::Sends || policy.limits_received(tenant);
            let tenant = policy.tenants.get(tenant).filter(|_| limits);
            tenant.map(|tenant| tenant.adopt)
        };
        self.release(ports, |name, was| {
            let replaces = |adopt| adopt == Adopt::Replace || was.replaced().is_none();
            adopt(name).is_some_and(replaces)
        });
    }

    /// Puts back what was found at one port, in both directions.
    pub fn give_back(&mut self, port: &str, ports: &mut Ports) {
        self.release(ports, |name, _| meant(name).0 != port);
    }

    /// Puts back what was found at the ports that `keep` does not name; reports what could not be. Those of
    /// which the kernel says nothing stay noted.
    fn release(
        &mut self,
        ports: &mut Ports,
        keep: impl Fn(&str, &Original) -> bool,
    ) -> Vec<PortBack> {
        let of = self.values.iter().filter(|(name, was)| !keep(name, was));
        let of: Vec<(String, Original)> =
            of.map(|(name, was)| (name.clone(), was.clone())).collect();
        let mut back = Vec::new();
        let mut silent = Vec::new();
        let outcomes = put_back_all(ports, &of);
        for ((port, was), outcome) in of.into_iter().zip(outcomes) {
            let outcome = match outcome {
                Some(outcome) => {
                    if is_bad(&outcome) {
                        self.log.report(&Event::NotRestored {
                            port: port.clone(),
                            outcome: outcome.clone(),
                        });
                    }
                    self.undone(&port, outcome.clone());
                    self.values.remove(&port);
                    outcome
                }
                None => {
                    silent.push(port.clone());
                    Outcome::Failed {
                        why: "the kernel does not answer".to_owned(),
                    }
                }
            };
            back.push(PortBack {
                port,
                value: RecordedLimit::words_of(&was.words).to_owned(),
                outcome,
            });
        }
        if !silent.is_empty() {
            self.log.report(&Event::NotAnswered(silent));
        }
        back
    }

    /// Puts everything back and closes the journal, which stays open where the kernel does not answer.
    ///
    /// # Errors
    /// Those of the journal, and what the kernel says when the interfaces made here are removed.
    pub fn restore(&mut self, ports: &mut Ports, why: &str) -> Result<Restored, Error> {
        let begun = self.file.append(&journal::Event::Undoing {
            why: why.to_owned(),
        });
        let back = self.release(ports, |_, _| false);
        let bad = back.iter().filter(|port| is_bad(&port.outcome)).count();
        let swept = ports.at_links(Links::sweep_all);
        begun?;
        if self.is_empty() {
            self.file.append(&journal::Event::RolledBack)?;
        }
        swept.transpose()?;
        self.log.report(&Event::Restored(back.len() - bad));
        Ok(Restored { ports: back, bad })
    }

    /// Leaves everything as it is, gives back what is others', and closes the journal. Returns how many ports have not
    /// what was found there although they should.
    ///
    /// # Errors
    /// Those of the journal.
    pub fn keep(&mut self, ports: &mut Ports) -> Result<usize, Error> {
        let back = self.release(ports, |_, was| was.replaced().is_none());
        let bad = back.iter().filter(|port| is_bad(&port.outcome)).count();
        self.file.append(&journal::Event::Confirmed)?;
        self.log.report(&Event::Kept(self.values.len()));
        Ok(bad)
    }
}
