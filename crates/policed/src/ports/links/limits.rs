//! Limits of ports, set and given back.

use std::collections::BTreeMap;

use nicety_host::knob::port_shape;
use nicety_model::knob::NOQUEUE;
use nicety_model::traffic_control::RecordedLimit;
use nicety_netdev::net_error::NetError;
use nicety_netdev::shaper::{BURST, GivenBack, Shapers, Survey};
use nicety_police::adopt::Way;
use nicety_police::received;

use super::super::theirs::{Found, MACVTAP, Root};

use super::{How, Limit, Links};

impl Links {
    /// Sets a limit of what a port receives.
    pub(in crate::ports) fn set_received(
        &self,
        (port, name): (usize, &str),
        survey: &Survey,
        limit: Limit,
        how: How,
    ) -> Result<(), NetError> {
        let (shape, burst) = (limit.shape(), limit.burst);
        match how {
            How::Renew => self.shapers.renew_received(name, survey, shape, burst),
            How::Change => self.set_at_root((port, name), survey, limit, |shapers| {
                shapers.set_received(name, survey, shape, burst)
            }),
        }
    }

    /// Sets a limit at a root: below another program's there or in its place, and as `otherwise` does where there is
    /// none.
    fn set_at_root(
        &self,
        (port, name): (usize, &str),
        survey: &Survey,
        limit: Limit,
        otherwise: impl FnOnce(&Shapers) -> Result<(), NetError>,
    ) -> Result<(), NetError> {
        let to = (limit.shape(), limit.burst);
        match self.theirs.root(port) {
            Root::Adopted(adopted) => {
                let theirs = adopted.record();
                match adopted.under.filter(|_| !self.theirs.replaces(port)) {
                    Some(under) => {
                        self.shapers
                            .set_root_below(name, survey, to, (&theirs, under))?
                    }
                    None => self.shapers.set_root_replacing(name, survey, to, &theirs)?,
                }
            }
            _ => otherwise(&self.shapers)?,
        }
        if let Some(face) = survey.face(name) {
            self.theirs.limited_at_root(port, face.index);
        }
        Ok(())
    }

    /// Sets a limit; `how` is what to do with one that is there.
    pub(in crate::ports) fn set(
        &self,
        (port, name): (usize, &str),
        survey: &Survey,
        limit: Limit,
        how: How,
    ) -> Result<(), NetError> {
        let shape = limit.shape();
        let burst = limit.burst;
        let shapers = &self.shapers;
        let is_rooted = (survey.face(name)).is_some_and(|face| face.kind == MACVTAP);
        if is_rooted && how == How::Change {
            return self.set_at_root((port, name), survey, limit, |shapers| {
                shapers.set_in(name, survey, shape, burst)
            });
        }
        match (how, self.theirs.at(port)) {
            (How::Renew, _) => return shapers.renew(name, survey, shape, burst),
            (How::Change, Found::Adopted(adopted)) if self.theirs.replaces(port) => {
                shapers.set_replacing(name, survey, (shape, burst), &adopted.record())?;
            }
            (How::Change, Found::Adopted(_)) => shapers.set_beside(name, survey, shape, burst)?,
            (How::Change, _) => shapers.set_in(name, survey, shape, burst)?,
        }
        if let Some(face) = survey.face(name) {
            self.theirs.limited(port, face.index);
        }
        Ok(())
    }

    /// Makes limits deep enough for the longest frames of these ports.
    pub(in crate::ports) fn deepen(&self, ports: &[String], survey: &Survey) {
        for port in ports {
            // The next look tries again.
            let _ = self.shapers.deepen(port, survey);
        }
    }

    /// Goes on with limits of others that were replaced, by the names of ports and the numbers of their interfaces.
    pub fn resume(&self, mut replaced: BTreeMap<String, (u32, RecordedLimit)>) {
        for (port, name) in self.names.iter().enumerate() {
            let name = name.to_string();
            for noted in [received::noted(&name), name] {
                match replaced.remove(&noted) {
                    Some((index, limit)) if limit.is_at_root() => {
                        self.theirs.resume_at_root(port, index, limit);
                    }
                    Some((index, limit)) => self.theirs.resume(port, index, limit),
                    None => {}
                }
            }
        }
    }

    /// Gives an interface back the limit that was replaced.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn give_back(
        &self,
        name: &str,
        survey: &Survey,
        limit: &RecordedLimit,
    ) -> Result<GivenBack, NetError> {
        self.shapers.give_back(name, survey, limit)
    }

    /// Sets the limit of an interface in such words.
    pub fn put(
        &self,
        (name, way): (&str, Way),
        survey: &Survey,
        words: &str,
    ) -> Result<(), NetError> {
        if words == NOQUEUE {
            return self.shapers.unqueue(name, survey);
        }
        match (way, port_shape(words)) {
            (Way::Sends, Some(shape)) => self.shapers.set_in(name, survey, shape, BURST),
            (Way::Sends, None) => self.shapers.remove_in(name, survey),
            (Way::Receives, Some(shape)) => self.shapers.set_received(name, survey, shape, BURST),
            (Way::Receives, None) => self.shapers.remove_received(name, survey),
        }
    }
}
