//! Buckets at the root of an interface of any kind: they limit what it sends. At the root of a tap or veth that is what
//! its owner receives.

use std::time::Duration;

use super::message::{self, BUCKET, ROOT};
use super::{
    BURST, Bucket, Face, INSTEAD, LIMIT, PortLimit, REMOVE, Shape, Shapers, Survey, Way, foreign,
    shape,
};
use crate::net_error::NetError;

impl Survey {
    /// What limits what an interface sends. A bucket of nicety's below a discipline of another program counts.
    pub fn at_root(&self, face: &Face) -> PortLimit {
        match (self.foreign_root(face.index), self.bucket(face.index)) {
            (Some(kind), None) => PortLimit::Foreign(kind.to_owned()),
            (_, bucket) => shape(bucket),
        }
    }

    /// Whether somebody has made it so that nothing waits at the root of an interface: `noqueue`, which limits nothing.
    pub fn has_no_queue(&self, face: &Face) -> bool {
        self.is_unqueued(face.index)
    }

    /// Whether another program has a discipline at the root of an interface, with or without a bucket of nicety's.
    pub fn has_foreign_root(&self, face: &Face) -> bool {
        self.foreign_root(face.index).is_some()
    }

    /// The bucket of what an interface sends.
    pub fn root_bucket(&self, face: &Face) -> Option<&Bucket> {
        self.bucket(face.index)
    }

    /// The interface of a device, named as in sysfs: of a PCI function by its address.
    pub fn of_device(&self, device: &str) -> Option<&Face> {
        self.faces().find(|face| face.device == device)
    }
}

impl Shapers {
    /// Limits what an interface sends.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_root(&self, face: &Face, survey: &Survey, shape: Shape) -> Result<(), NetError> {
        self.set_root_for(face, survey, shape, BURST)
    }

    fn set_root_for(
        &self,
        face: &Face,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<(), NetError> {
        match survey.at_root(face) {
            PortLimit::Foreign(kind) => Err(foreign(&kind, &face.name)),
            _ => self.bucket(survey, face, face.index, (shape, burst)),
        }
    }

    /// Takes such a limit away, if there is one of ours.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn remove_root(&self, face: &Face, survey: &Survey) -> Result<(), NetError> {
        match survey.bucket(face.index) {
            Some(_) if survey.has_foreign_root(face) => self.lift(face, survey, &[]),
            Some(_) => {
                let request = message::remove(face.index, ROOT, BUCKET);
                self.change(request, 0, REMOVE, &face.name)
            }
            None => Ok(()),
        }
    }

    /// Takes a limit at a root away, and makes it so that nothing waits there.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn unqueue(&self, port: &str, survey: &Survey) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        if survey.has_foreign_root(face) || survey.has_no_queue(face) {
            return Ok(());
        }
        self.change(message::unqueue(face.index), INSTEAD, REMOVE, port)
    }

    /// What limits what the owner of a tap or veth receives.
    ///
    /// # Errors
    /// [`NetError::NotFound`]; [`NetError::Unsupported`] for an interface of another kind.
    pub fn received(&self, port: &str, survey: &Survey) -> Result<PortLimit, NetError> {
        Ok(survey.at_root(self.receiver(port, survey)?))
    }

    /// Limits what the owner of a tap or veth receives. `burst` is how long that may come at the link's rate before.
    ///
    /// # Errors
    /// As [`Self::received`], and as [`Self::set`].
    pub fn set_received(
        &self,
        port: &str,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<(), NetError> {
        self.set_root_for(self.receiver(port, survey)?, survey, shape, burst)
    }

    /// Takes such a limit away, if there is one of ours.
    ///
    /// # Errors
    /// As [`Self::set_received`].
    pub fn remove_received(&self, port: &str, survey: &Survey) -> Result<(), NetError> {
        self.remove_root(self.receiver(port, survey)?, survey)
    }

    /// Puts a new bucket in the place of one that lets nothing through any more. What waited in it is lost.
    ///
    /// # Errors
    /// As [`Self::set_received`].
    pub fn renew_received(
        &self,
        port: &str,
        survey: &Survey,
        shape: Shape,
        burst: Duration,
    ) -> Result<(), NetError> {
        let face = self.receiver(port, survey)?;
        let place = (face.index, survey.place(face.index));
        match survey.bucket(face.index) {
            Some(_) => self.renew_at(place, (shape, burst), face),
            None => self.bucket(survey, face, face.index, (shape, burst)),
        }
    }

    /// An interface out of whose root its owner receives.
    pub(super) fn receiver<'a>(
        &self,
        port: &str,
        survey: &'a Survey,
    ) -> Result<&'a Face, NetError> {
        let face = self.face(port, survey)?;
        match self.way(face)? {
            Way::Redirected => Ok(face),
            Way::Own => {
                let what =
                    format!("{port} (macvtap): what it receives passes no queueing discipline");
                let error = std::io::Error::from(rustix::io::Errno::OPNOTSUPP);
                Err(NetError::new(LIMIT, what, error))
            }
        }
    }
}
