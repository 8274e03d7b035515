//! The ports of a policy as they are bound to ports of the host, and kept so.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nicety_netdev::netns::NetNs;
use nicety_police::admission::{Refusal, Unusable};
use nicety_police::binding::{Binding, bind};
use nicety_police::event::Event;
use nicety_police::names::{Name, Resolution};
use nicety_police::report::NameSource;
use nicety_police::{Policy, PortName};

use super::{Answers, Follower};
use crate::Error;
use crate::log::Log;
use crate::ports::Ports;

/// When a port that could not be bound is tried again.
const AGAIN: Duration = Duration::from_secs(60);

/// The names of a policy, and what they are.
#[derive(Debug, Default)]
pub struct Bound {
    /// None where the policy has no names.
    follower: Option<Follower>,
    names: Vec<PortName>,
    bindings: Vec<Binding>,
    answers: Answers,
    /// Ports that could not be bound, and when that is tried again.
    failed: BTreeMap<usize, Instant>,
}

/// What a start needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// File of the policy.
    pub file: &'a str,
    /// A name that is no port now is refused.
    pub strict: bool,
    /// How long answers are waited for.
    pub wait: Duration,
}

impl Bound {
    /// Follows the names of a policy, beginning with what was known `before`, and binds `ports` to what they are.
    ///
    /// # Errors
    /// When two ports of the policy are the same one, and with `strict` when a name is none.
    pub fn start(
        policy: &Policy,
        ports: &mut Ports,
        start: Start<'_>,
        before: Option<&Self>,
    ) -> Result<Self, Error> {
        let names: Vec<PortName> = policy.ports().map(|(_, port)| port.clone()).collect();
        let named = names.iter().filter_map(|port| match port {
            PortName::Named(name) => Some(Name::clone(name)),
            _ => None,
        });
        let named: Vec<Name> = named.collect();
        let known = before.map(|before| before.answers.names.clone());
        let follower = if named.is_empty() {
            None
        } else {
            let known = known.unwrap_or_default();
            Some(Follower::start(
                &NetNs::current()?,
                named.into_iter(),
                known,
            )?)
        };
        let answers = follower
            .as_ref()
            .map(|follower| follower.answers(start.wait));
        let answers = answers.unwrap_or_default();
        let bindings = bind(&names, |name| answers.names.get(name));
        for (at, (tenant, port)) in policy.ports().enumerate() {
            let why = refusal(&names, &bindings, at, start.strict);
            if let (Some(why), PortName::Named(_)) = (why, port) {
                let tenant = policy.tenants[tenant].name.clone();
                return Err(Error::Refused {
                    policy: start.file.to_owned(),
                    refusal: Refusal::Tenant { tenant, why },
                });
            }
        }
        for (at, binding) in bindings.iter().enumerate() {
            if let (PortName::Named(_), Some(to)) = (&names[at], &binding.to) {
                ports.bind(at, to.clone())?;
            }
        }
        Ok(Self {
            follower,
            names,
            bindings,
            answers,
            failed: BTreeMap::new(),
        })
    }

    /// Has everybody asked again.
    pub fn look_again(&self) {
        if let Some(follower) = &self.follower {
            follower.look_again();
        }
    }

    /// Ports whose binding is another one now: their numbers, and what they are. Reports who begins or ends to be
    /// silent.
    pub fn turns(&mut self, wait: Duration, log: &Log) -> Vec<(usize, Binding)> {
        let Some(follower) = &self.follower else {
            return Vec::new();
        };
        let answers = follower.answers(wait);
        report(&self.answers.sources, &answers.sources, log);
        let names: &BTreeMap<Name, Resolution> = &answers.names;
        let now = bind(&self.names, |name| names.get(name));
        self.answers = answers;
        self.failed.retain(|_, again| *again > Instant::now());
        let turned = now.into_iter().enumerate().filter(|(at, now)| {
            if self.failed.contains_key(at) {
                return false;
            }
            let was = &self.bindings[*at];
            (&was.to, was.index, &was.why) != (&now.to, now.index, &now.why)
        });
        turned.collect()
    }

    /// What a port is bound to from now on.
    pub fn take(&mut self, port: usize, now: Binding) {
        if let Some(binding) = self.bindings.get_mut(port) {
            *binding = now;
        }
    }

    /// A port could not be bound: why. It is tried again later, because that may have taken long.
    pub fn fail(&mut self, port: usize, why: String) {
        self.failed.insert(port, Instant::now() + AGAIN);
        let why = Some(why);
        self.take(
            port,
            Binding {
                why,
                ..Binding::default()
            },
        );
    }

    /// What a port with a name is; none for one without.
    pub fn of(&self, port: usize) -> Option<&Binding> {
        matches!(self.names.get(port)?, PortName::Named(_)).then(|| self.bindings.get(port))?
    }

    /// Who was asked; none where the policy has no names.
    pub fn sources(&self) -> Option<Vec<NameSource>> {
        self.follower.as_ref()?;
        Some(self.answers.sources.clone())
    }
}

fn refusal(names: &[PortName], bindings: &[Binding], at: usize, strict: bool) -> Option<Unusable> {
    let binding = bindings.get(at)?;
    let name = names.get(at)?.to_string();
    if let Some(same) = binding.same {
        let on = bindings.get(same).and_then(|of| of.to.as_ref());
        return Some(Unusable::Same {
            name,
            other: names.get(same)?.to_string(),
            on: on.map(ToString::to_string).unwrap_or_default(),
        });
    }
    let why = binding.why.clone().unwrap_or_default();
    (strict && binding.to.is_none()).then_some(Unusable::NotNow { name, why })
}

fn report(before: &[NameSource], now: &[NameSource], log: &Log) {
    for source in now {
        let was = before.iter().find(|was| was.source == source.source);
        let troubled = was.is_some_and(|was| was.trouble.is_some());
        let name = source.source.clone();
        match (&source.trouble, troubled) {
            (Some(why), false) => log.report(&Event::NamesSilent {
                source: name,
                why: why.clone(),
            }),
            (None, true) => log.report(&Event::NamesAnswer(name)),
            _ => {}
        }
    }
}
