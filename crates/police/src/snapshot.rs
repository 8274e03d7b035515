//! A port at one moment.

use crate::adopt::{Adopted, Unknown};
use crate::controller::{PortSetup, Seen};
use crate::totals::Counts;

/// A port at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Input of the controller.
    pub seen: Seen,
    /// Number of its interface, where it is one that can be limited.
    pub index: Option<u32>,
    /// The interface or function found under its name.
    pub place: Place,
    /// Its properties, where they may change.
    pub setup: Option<PortSetup>,
    /// Its counters both ways, where there are any.
    pub counts: Option<Counts>,
    /// What another program has set, below which it is limited.
    pub adopted: Option<Adopted>,
    /// That is replaced, and given back at the end.
    pub replaces: bool,
    /// Packets a second that it is limited to.
    pub packets: Option<u64>,
}

/// What stands under a port's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Gone,
    /// It is there and cannot be limited now: why.
    Waits(String),
    /// The kernel has not answered: for how long, where that is long.
    Silent(Option<String>),
    /// It can never be limited: why.
    Unfit(String),
    /// Kind of another program's object in the limit's place.
    Foreign(String),
    /// Another program limits it, or does something else there.
    Theirs(Box<Result<Adopted, Unknown>>),
    /// Its limit, in the words of its setting.
    There(String),
}

impl Snapshot {
    /// A port that has no sample and no limit now.
    pub fn without(place: Place) -> Self {
        Self {
            seen: Seen::default(),
            index: None,
            place,
            setup: None,
            counts: None,
            adopted: None,
            replaces: false,
            packets: None,
        }
    }

    /// A port of which the kernel says nothing.
    pub fn silent(why: Option<String>) -> Self {
        Self {
            seen: Seen::silent(),
            ..Self::without(Place::Silent(why))
        }
    }
}
