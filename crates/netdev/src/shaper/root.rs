//! Buckets at the root of an interface of any kind: they limit what it sends.

use super::message::{self, BUCKET, ROOT};
use super::{BURST, Face, PortLimit, Shape, Shapers, Survey, foreign, shape};
use crate::net_error::NetError;

impl Survey {
    /// What limits what an interface sends.
    pub fn at_root(&self, face: &Face) -> PortLimit {
        match self.foreign_root(face.index) {
            Some(kind) => PortLimit::Foreign(kind.to_owned()),
            None => shape(self.bucket(face.index)),
        }
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
        match survey.at_root(face) {
            PortLimit::Foreign(kind) => Err(foreign(&kind, &face.name)),
            _ => self.bucket(survey, face.index, shape, BURST, &face.name),
        }
    }

    /// Takes such a limit away, if there is one of ours.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn remove_root(&self, face: &Face, survey: &Survey) -> Result<(), NetError> {
        match survey.bucket(face.index) {
            Some(_) => {
                let request = message::remove(face.index, ROOT, BUCKET);
                self.change(request, 0, "remove limit of", &face.name)
            }
            None => Ok(()),
        }
    }
}
