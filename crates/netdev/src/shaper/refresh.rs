//! How limits are looked at: in few messages for all ports.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::counters::Counters;
use super::{ChangeListener, Shapers, Survey, message, survey};
use crate::net_error::NetError;
use crate::netlink::{Channel, Part};

/// What is asked for anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurveyRequest {
    /// The counters of all interfaces, also where nobody needs them to know what has happened.
    pub interfaces: bool,
    /// The counters of all but those that were made here: who limits nothing has none of these.
    pub ports: bool,
    /// Which limits.
    pub limits: Limits,
}

/// Limits that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// None.
    None,
    /// Those of ports that have something to do.
    Stirred,
    /// All.
    All,
}

impl Shapers {
    /// All interfaces, buckets and their counters; filters are looked at for each port asked for.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn survey(&self) -> Result<Survey, NetError> {
        let faces = self
            .channel
            .dump(message::dump_links(), Vec::new, |faces, part| {
                faces.extend(survey::face(part.body));
            })
            .map_err(|e| NetError::new("list interfaces of namespace", &self.ns, e))?;
        self.qdiscs(&Survey::new(faces))
    }

    /// What changes of interfaces, qdiscs and filters others make from now on.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn listen(&self) -> Result<ChangeListener, NetError> {
        ChangeListener::open(&self.ns, self.channel.port())
    }

    /// Counters and limits. Interfaces and filters are believed to be as they were, see [`ChangeListener`].
    ///
    /// To list a qdisc takes the kernel several times as long as to tell an interface's counters.
    /// Buckets are therefore asked for one by one, and only those that something came to or went from,
    /// as their interfaces tell, or where something waits: all others are what they were. (The
    /// interfaces' counters cannot take the buckets' place: they count a segmented packet as one frame.)
    /// Where most of them have something to do, all are listed. What the interfaces of the buckets count is
    /// not needed for this: what they have to do has come to a port.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn survey_again(&self, mut before: Survey, ask: SurveyRequest) -> Result<Survey, NetError> {
        let by_counters = ask.limits == Limits::Stirred && !before.busy;
        let stirred = if ask.interfaces || ask.ports || by_counters {
            before.recount(&self.counters(&before, ask.interfaces)?)
        } else {
            BTreeSet::new()
        };
        if by_counters {
            let busy = before.many(stirred.len());
            let mut survey = self.ask(before, &stirred)?;
            survey.busy = busy;
            return Ok(survey);
        }
        if ask.limits == Limits::None {
            before.moved = None;
            return Ok(before);
        }
        let mut survey = self.qdiscs(&before.again())?;
        survey.busy = survey.many(survey.stirred_since(&before));
        Ok(survey)
    }

    /// The limits of some ports of a survey, after they were written.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn reread<'a>(
        &self,
        before: Survey,
        ports: impl Iterator<Item = &'a str>,
    ) -> Result<Survey, NetError> {
        let holder = |port| self.holder(before.face(port)?, &before).ok()?;
        // Of both directions, where there are two.
        let root = |port| {
            let index = before.face(port)?.index;
            before.bucket(index).is_some().then_some(index)
        };
        let holders = ports.flat_map(|port| [holder(port), root(port)]);
        let written: BTreeSet<u32> = holders.flatten().collect();
        self.ask(before, &written)
    }

    /// Asks for some buckets; for everything when they are many, and when one is not what it was.
    fn ask(&self, before: Survey, holders: &BTreeSet<u32>) -> Result<Survey, NetError> {
        if before.many(holders.len()) {
            return self.qdiscs(&before.again());
        }
        let mut survey = before;
        survey.deep = false;
        for index in holders {
            let request = message::get_qdisc(*index, survey.place(*index));
            let ours = self
                .channel
                .one(request, |part| part.body.to_vec())
                .is_ok_and(|body| survey.renew(*index, &body));
            if !ours {
                return self.qdiscs(&survey.again());
            }
        }
        Ok(survey)
    }

    /// Of all interfaces, or of all but those made for ports.
    fn counters(&self, before: &Survey, all: bool) -> Result<Vec<(u32, [u64; 4])>, NetError> {
        let of =
            |channel: &Channel, all| {
                let begin = || Counters::of(before, all);
                channel.dump_until(message::dump_stats(), begin, |counters, part| {
                    match survey::stats(part.body) {
                        Some(one) => counters.take(one),
                        None => ControlFlow::Continue(()),
                    }
                })
            };
        let told = if all {
            of(&self.channel, true)
        } else {
            // A kernel that cannot be left in the middle tells everything.
            of(&self.counting, false).or_else(|_| of(&self.channel, true))
        };
        told.map(Counters::into_vec)
            .map_err(|e| NetError::new("read counters of namespace", &self.ns, e))
    }

    fn qdiscs(&self, begin: &Survey) -> Result<Survey, NetError> {
        let fill = |survey: &mut Survey, part: Part<'_>| {
            if part.kind == libc::RTM_NEWQDISC {
                // One that is cut off says nothing.
                let _ = survey.add(part.body);
            }
        };
        self.channel
            .dump(message::dump_qdiscs(), || begin.clone(), fill)
            .map_err(|e| NetError::new("list queueing disciplines of namespace", &self.ns, e))
    }
}
