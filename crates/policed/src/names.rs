//! Names that people use for ports: who is asked for them, and how they are followed. `nicety_police::names` reads the answers.

mod ask;
mod bound;
mod follow;
mod program;

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::ProblemCode;
use nicety_netdev::netns::NetNs;
use nicety_police::PortName;
use nicety_police::names::{Name, Resolution, Target};

use crate::Error;

pub use bound::{Bound, Start};
pub use follow::{Answers, Follower};

/// The port that a name is now, for a command.
///
/// # Errors
/// When it is none, or several, or nobody can tell.
pub fn now(name: &Name) -> Result<PortName, Error> {
    let asker = ask::Asker::open(&NetNs::current()?)?;
    let asked = asker.ask(name.source(), &BTreeSet::from([name.clone()]));
    let refused = |why: String| {
        let what = format!("{name} does not resolve to an interface: {why}");
        Error::Problem(nicety_model::Problem::new(ProblemCode::NoSuchPort, what))
    };
    let found = asked.map_err(|trouble| refused(trouble.to_string()))?;
    match found.get(name) {
        Some(Resolution::Resolved(target)) => Ok(port(target)),
        Some(other) => Err(refused(other.why().unwrap_or_default())),
        None => Err(refused("nobody has told".to_owned())),
    }
}

/// Names of interfaces of this network namespace, by interface, as far as somebody knows one. Who is not there or does
/// not answer is passed by.
pub fn of_interfaces(ns: &NetNs) -> BTreeMap<String, Name> {
    let asker = ask::Asker::open(ns);
    asker.map_or_else(|_| BTreeMap::new(), |asker| asker.all())
}

fn port(target: &Target) -> PortName {
    match target.clone() {
        Target::Interface { name, .. } => PortName::Interface(name),
        Target::Function { pf, vf } => PortName::Vf { pf, vf },
    }
}
