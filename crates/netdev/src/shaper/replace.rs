//! Limits in the place of those of other programs, which are put back at the end.
//!
//! Theirs goes and ours comes in one datagram, and the other way round: however a program ends, one of both holds.

use std::time::Duration;

use netlink_packet_core::NLM_F_ECHO;
use nicety_model::traffic_control::RecordedLimit;

use super::message::{self, FIRST, Redirect, Target, redirect_of};
use super::{Face, LIMIT, NEW, PLACES, Shape, Shapers, Survey, Way, changing, ifb_name, is_ours};
use crate::net_error::NetError;
use crate::netlink::Done;
use crate::raw::RawMessage;
use crate::traffic_control::replay;

pub(super) const GIVE_BACK: &str = "give back limit of";

/// What came of giving a limit back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenBack {
    /// It is there again, as it was.
    Back,
    /// Its owner has set another one meanwhile, which is left.
    Theirs,
    /// Its owner, or somebody, has taken everything away: nothing is put back.
    Nothing,
}

/// Filters at the ingress of a port.
pub(super) struct There {
    pub(super) ours: Vec<(Redirect, RawMessage)>,
    pub(super) others: Vec<(Redirect, RawMessage)>,
}

impl Shapers {
    /// Limits a port in the place of another program's limit: `theirs` goes.
    ///
    /// # Errors
    /// As [`Self::set`]; [`NetError::Kernel`] when what others have at the port is not `theirs` any more, which is
    /// left as it is.
    pub fn set_replacing(
        &self,
        port: &str,
        survey: &Survey,
        (shape, burst): (Shape, Duration),
        theirs: &RecordedLimit,
    ) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        let error = |why: String| NetError::new(LIMIT, port, std::io::Error::other(why));
        if self.way(face)? == Way::Own {
            return Err(error("a limit at a root cannot be replaced".to_owned()));
        }
        let ifb = self.limiter(face, survey, shape, burst)?;
        let at = survey.filters_at(face.index);
        let there = self.there(face, survey, Some(ifb))?;
        let mut recorded = theirs.filters();
        let (Some(recorded), None) = (recorded.next(), recorded.next()) else {
            return Err(error(
                "what is to be replaced is not a single filter".to_owned(),
            ));
        };
        let is_recorded = |body: &[u8]| same(body, recorded);
        let [(_, other)] = &there.others[..] else {
            return Err(changing(port));
        };
        if !is_recorded(&other.body) {
            return Err(changing(port));
        }
        let remove = replay::remove(&other.body).map_err(|why| error(why.to_string()))?;
        let mut batch = remove_ours(at, &there);
        let removed = batch.len();
        batch.push((remove, NLM_F_ECHO));
        batch.push((message::redirect(at, ifb), NEW));
        let mut done = self.batch(batch, LIMIT, port)?;
        let [gone, made] = [removed, removed + 1].map(|at| match done.get_mut(at) {
            Some(done) => std::mem::replace(done, Ok(None)),
            None => Ok(None),
        });
        let gone = match gone {
            Ok(Some(gone)) => gone,
            Ok(None) => other.clone(),
            // They were faster. What is ours may be there by now, and comes to nothing without theirs.
            Err(_) => return Err(changing(port)),
        };
        if made.is_ok() && is_recorded(&gone.body) {
            return Ok(());
        }
        // Nobody has noted what went, or ours did not come: as before.
        let mut batch = Vec::new();
        if made.is_ok() {
            batch.push((message::remove_redirect(at), 0));
        }
        let back = replay::filter(&gone.body).map_err(|why| error(why.to_string()))?;
        batch.push((back, NEW));
        self.batch(batch, LIMIT, port)?;
        made.map_err(|e| NetError::new(LIMIT, port, e))?;
        Err(changing(port))
    }

    /// Gives a port back the limit that was replaced, unless its owner has changed it since.
    ///
    /// # Errors
    /// As [`Self::set`], and when the kernel does not make the limit as it was: then the port keeps the one it has.
    pub fn give_back(
        &self,
        port: &str,
        survey: &Survey,
        theirs: &RecordedLimit,
    ) -> Result<GivenBack, NetError> {
        let face = self.face(port, survey)?;
        if theirs.is_at_root() {
            return self.give_back_root(port, survey, theirs);
        }
        let made = survey.made_for(face.index);
        let there = match survey.ingress(face.index) {
            Some(kind) if PLACES.contains(&kind) => self.there(face, survey, made)?,
            _ => There {
                ours: Vec::new(),
                others: Vec::new(),
            },
        };
        let outcome = match (there.ours.is_empty(), there.others.is_empty()) {
            (true, true) => GivenBack::Nothing,
            (ours, false) => {
                if !ours {
                    let at = survey.filters_at(face.index);
                    for done in self.batch(remove_ours(at, &there), GIVE_BACK, port)? {
                        done.map_err(|e| NetError::new(GIVE_BACK, port, e))?;
                    }
                }
                GivenBack::Theirs
            }
            (false, true) => {
                self.swap_back((face, survey), &there, theirs)?;
                GivenBack::Back
            }
        };
        if made.is_some() {
            self.links.delete(&ifb_name(face.index))?;
        }
        Ok(outcome)
    }

    fn swap_back(
        &self,
        (face, survey): (&Face, &Survey),
        there: &There,
        theirs: &RecordedLimit,
    ) -> Result<(), NetError> {
        let port = face.name.as_str();
        let error = |why: String| NetError::new(GIVE_BACK, port, std::io::Error::other(why));
        let anew: Result<Vec<RawMessage>, _> = theirs.filters().map(replay::filter).collect();
        let mut anew = anew.map_err(|why| error(why.to_string()))?;
        for filter in &mut anew {
            filter.body[4..8].copy_from_slice(&face.index.to_ne_bytes());
        }
        let at = survey.filters_at(face.index);
        let mut batch = remove_ours(at, there);
        let removed = batch.len();
        batch.extend(anew.into_iter().map(|filter| (filter, NEW)));
        let mut done = self.batch(batch, GIVE_BACK, port)?;
        let made: std::io::Result<Vec<_>> = done.drain(removed..).collect();
        if let Err(why) = made {
            // Unlimited meanwhile: ours holds on.
            if let Some((
                Redirect {
                    target: Target::To(ifb),
                    ..
                },
                _,
            )) = there.ours.first()
            {
                self.change(message::redirect(at, *ifb), NEW, GIVE_BACK, port)?;
            }
            return Err(NetError::new(GIVE_BACK, port, why));
        }
        let now = self.there(face, survey, None)?;
        let is_back = |recorded: &[u8]| now.others.iter().any(|(_, now)| same(&now.body, recorded));
        if theirs.filters().all(is_back) {
            Ok(())
        } else {
            Err(error("the kernel has made something else of it".to_owned()))
        }
    }

    pub(super) fn there(
        &self,
        face: &Face,
        survey: &Survey,
        ifb: Option<u32>,
    ) -> Result<There, NetError> {
        let filters = self.filters(face, survey)?;
        let all = filters
            .into_iter()
            .filter_map(|filter| Some((redirect_of(&filter)?, filter)));
        let (ours, others) = all.partition(|(redirect, _)| is_ours(redirect, ifb));
        Ok(There { ours, others })
    }

    pub(super) fn batch(
        &self,
        changes: Vec<(RawMessage, u16)>,
        operation: &'static str,
        port: &str,
    ) -> Result<Vec<Done>, NetError> {
        self.channel
            .batch(changes)
            .map_err(|e| NetError::new(operation, port, e))
    }
}

/// Whether two filters are the same but for what the kernel counts or chooses.
fn same(one: &[u8], other: &[u8]) -> bool {
    replay::filter(one).is_ok_and(|one| replay::filter(other) == Ok(one))
}

/// Removes our filters; with all of their priority where no other has it, so that no empty table is left.
pub(super) fn remove_ours(at: (u32, u32), there: &There) -> Vec<(RawMessage, u16)> {
    if there.ours.is_empty() {
        return Vec::new();
    }
    let beside = there
        .others
        .iter()
        .any(|(other, _)| other.priority == FIRST);
    if beside {
        let each = there
            .ours
            .iter()
            .filter_map(|(_, ours)| replay::remove(&ours.body).ok());
        each.map(|request| (request, 0)).collect()
    } else {
        vec![(message::remove_redirect(at), 0)]
    }
}
