//! What others have at the roots of ports where nicety is to limit: what the owner of a tap or veth receives, and what
//! the owner of a macvtap sends.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use nicety_model::traffic_control::RecordedLimit;
use nicety_netdev::shaper::{Face, Survey};
use nicety_netdev::traffic_control::{can_return, control_of};
use nicety_police::adopt::{self, Adopted, Unknown};
use nicety_police::original::{TAKEN_AWAY, THEIRS};
use nicety_police::policy::Adopt;

use super::{Found, MACVTAP, Taken, Theirs, Watch};

/// As it was at the last look at everything.
#[derive(Debug, Default)]
pub(super) struct Roots {
    found: RefCell<BTreeMap<usize, Root>>,
    /// What was there where nicety's bucket is now, and is noted.
    taken: RefCell<BTreeMap<usize, Taken>>,
    /// Ports that nicety has limited there, with the number of the interface.
    ours: RefCell<BTreeMap<usize, u32>>,
    looked: Cell<bool>,
}

/// What another program has at the root of a port.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ports) enum Root {
    /// Nothing, or nothing that could be read.
    Nothing,
    /// A limit that was not there at the last look, or not so: somebody may still be making it, of parts for which
    /// there would be no place any more.
    New(Adopted),
    /// A limit that holds alone until nicety's comes below it, or in its place.
    Adopted(Adopted),
    /// A limit that nicety's is below, or in the place of.
    Held(Adopted),
    /// Nothing at all where a limit was a moment ago: somebody may be making it anew.
    Anew,
    /// No limit any more: nothing is given back.
    Cleared,
    /// A limit, or something else, that is in the way.
    Refused(Box<Result<Adopted, Unknown>>),
}

impl Root {
    pub(in crate::ports) fn adopted(self) -> Option<Adopted> {
        match self {
            Self::Adopted(adopted) | Self::Held(adopted) => Some(adopted),
            Self::Nothing | Self::New(_) | Self::Anew | Self::Cleared | Self::Refused(_) => None,
        }
    }

    /// Of what was found in a place where nicety has no bucket.
    fn alone(adopted: Adopted, had: Option<&Self>, is_first_look: bool) -> Self {
        let settled = match had {
            Some(Self::New(had) | Self::Adopted(had)) => adopted.is_as(had),
            None => is_first_look,
            Some(_) => false,
        };
        if settled {
            Self::Adopted(adopted)
        } else {
            Self::New(adopted)
        }
    }

    /// Where nobody has a discipline, or nicety alone has.
    fn without(ours: bool, had: Option<&Self>, taken: Option<&Taken>) -> Self {
        match (ours, had, taken) {
            // Their place is taken.
            (true, Some(Self::Held(had)), Some(_)) => Self::Held(had.clone()),
            (true, _, Some(taken)) => {
                let held = adopt::held_at_root(control_of(&taken.limit));
                held.map_or(Self::Cleared, Self::Held)
            }
            (true, _, None) => Self::Nothing,
            (false, Some(Self::New(_) | Self::Adopted(_) | Self::Held(_)), _) => Self::Anew,
            (false, Some(Self::Anew | Self::Cleared), _) | (false, _, Some(_)) => Self::Cleared,
            (false, _, None) => Self::Nothing,
        }
    }
}

/// Of what the owner of a macvtap sends.
impl From<Root> for Found {
    fn from(root: Root) -> Self {
        match root {
            Root::Nothing => Self::Nothing,
            Root::New(_) | Root::Anew => Self::Anew,
            Root::Adopted(adopted) => Self::Adopted(adopted),
            Root::Held(adopted) => Self::Held(adopted),
            Root::Cleared => Self::Cleared,
            Root::Refused(what) => Self::Refused(what),
        }
    }
}

/// Why a limit cannot be taken over.
fn refusal(adopted: &Adopted, adopt: Adopt) -> Option<Unknown> {
    let bars = adopted.bars().filter(|_| adopt == Adopt::Cap);
    bars.or_else(|| {
        let why = can_return(&adopted.parts).err()?;
        Some(Unknown::NoWayBack {
            by: adopted.by,
            most: adopted.rate,
            why,
        })
    })
}

impl Theirs {
    /// Looks at the roots of ports that nicety is to limit there. What cannot be read is as it was;
    /// where nothing was known it is somebody else's, and not touched.
    pub(super) fn look_at_roots(&self, ports: &[(usize, &Face)], survey: &Survey) -> Watch {
        let limited = |(port, face): &&(usize, &Face)| face.kind == MACVTAP || self.receives(*port);
        let limited: Vec<&(usize, &Face)> = ports.iter().filter(limited).collect();
        let roots = &self.roots;
        let mut taken = roots.taken.borrow_mut();
        // An interface that has come anew brings nothing along.
        taken.retain(|port, taken| {
            let is_it =
                |(other, face): &&(usize, &Face)| other == port && face.index == taken.index;
            limited.iter().any(is_it)
        });
        let theirs = limited
            .iter()
            .filter(|(_, face)| survey.has_foreign_root(face));
        let theirs: BTreeSet<u32> = theirs.map(|(_, face)| face.index).collect();
        let host = if theirs.is_empty() {
            Ok(BTreeMap::new())
        } else {
            self.host.read(&theirs)
        };
        let Ok(host) = host else {
            return Watch::default();
        };
        let is_first_look = !roots.looked.replace(true);
        let before = roots.found.take();
        let (mut found, mut watch) = (BTreeMap::new(), Watch::default());
        for (port, face) in limited {
            let had = before.get(port);
            let ours = survey.root_bucket(face).is_some();
            let look = || adopt::look(face.index, &host).receives;
            let now = match look().filter(|_| theirs.contains(&face.index)) {
                Some(what) => self.with_theirs(*port, what, ours, (had, is_first_look)),
                None if self.says(*port).adopt == Adopt::Refuse => Root::Nothing,
                None if !ours && roots.ours.borrow_mut().remove(port) == Some(face.index) => {
                    Root::Anew
                }
                None => Root::without(ours, had, taken.get(port)),
            };
            watch.anew |= matches!(now, Root::New(_) | Root::Anew);
            watch.waits |= matches!(now, Root::Adopted(_));
            if now != Root::Nothing {
                found.insert(*port, now);
            }
        }
        roots.found.replace(found);
        watch
    }

    fn with_theirs(
        &self,
        port: usize,
        what: Result<Adopted, Unknown>,
        ours: bool,
        (had, is_first_look): (Option<&Root>, bool),
    ) -> Root {
        let adopt = self.says(port).adopt;
        let adopted = match what {
            Ok(adopted) if adopt != Adopt::Refuse => adopted,
            // One that is half made has no classes yet, or not all.
            Err(_) if matches!(had, Some(Root::New(_) | Root::Adopted(_) | Root::Held(_))) => {
                return Root::Anew;
            }
            what => return Root::Refused(Box::new(what)),
        };
        if ours {
            return Root::Held(adopted);
        }
        match refusal(&adopted, adopt) {
            Some(why) => Root::Refused(Box::new(Err(why))),
            None => Root::alone(adopted, had, is_first_look),
        }
    }

    /// What another program has at the root of a port.
    pub(in crate::ports) fn root(&self, port: usize) -> Root {
        let found = self.roots.found.borrow();
        found.get(&port).cloned().unwrap_or(Root::Nothing)
    }

    /// Goes on with what was at the root of a port.
    pub(in crate::ports) fn resume_at_root(&self, port: usize, index: u32, limit: RecordedLimit) {
        let taken = Taken {
            index,
            text: limit.to_string(),
            limit,
        };
        self.roots.taken.borrow_mut().insert(port, taken);
    }

    /// A port is limited at its root now.
    pub(in crate::ports) fn limited_at_root(&self, port: usize, index: u32) {
        self.roots.ours.borrow_mut().insert(port, index);
        let mut found = self.roots.found.borrow_mut();
        match found.get(&port).cloned() {
            Some(Root::Adopted(adopted)) => {
                self.resume_at_root(port, index, adopted.record());
                found.insert(port, Root::Held(adopted));
            }
            Some(Root::Cleared) => {
                self.roots.taken.borrow_mut().remove(&port);
                found.remove(&port);
            }
            _ => {}
        }
    }

    /// What is given back to the root of a port in the words of its setting; none where that is what is found there.
    /// `open` is what says that nothing limits it, where nothing does.
    pub(in crate::ports) fn original_at_root(
        &self,
        port: usize,
        root: &Root,
        open: Option<&str>,
    ) -> Option<String> {
        if self.says(port).adopt == Adopt::Refuse {
            return None;
        }
        let taken = self.roots.taken.borrow();
        let taken = || taken.get(&port).map(|taken| taken.text.clone());
        match root {
            Root::Adopted(adopted) => Some(adopted.record().to_string()),
            // Of a daemon whose journal is lost: theirs is there, and stays.
            Root::Held(_) => taken().or_else(|| Some(THEIRS.to_owned())),
            Root::Cleared => Some(open.unwrap_or(TAKEN_AWAY).to_owned()),
            Root::Nothing | Root::New(_) | Root::Anew | Root::Refused(_) => {
                taken().or_else(|| open.map(str::to_owned))
            }
        }
    }
}
