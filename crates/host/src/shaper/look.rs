//! How limits are looked at: in few dumps for all ports.

use super::{Shapers, Survey, message, survey};
use crate::net_error::NetError;
use crate::netlink::Part;

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

    /// All buckets and their counters, in one dump: interfaces and filters are believed to be as
    /// they were, see [`News`](super::News).
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn survey_again(&self, before: &Survey) -> Result<Survey, NetError> {
        self.qdiscs(&before.again())
    }

    /// As [`Self::survey_again`], with the counters of the interfaces.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn recount(&self, before: &Survey) -> Result<Survey, NetError> {
        let counters = self
            .channel
            .dump(message::dump_stats(), Vec::new, |counters, part| {
                counters.extend(survey::stats(part.body));
            })
            .map_err(|e| NetError::new("read counters of namespace", &self.ns, e))?;
        let mut survey = self.survey_again(before)?;
        survey.recount(&counters);
        Ok(survey)
    }

    fn qdiscs(&self, begin: &Survey) -> Result<Survey, NetError> {
        let fill = |survey: &mut Survey, part: Part<'_>| {
            if part.kind == message::RTM_NEWQDISC {
                // One that is cut off says nothing.
                let _ = survey.add(part.body);
            }
        };
        self.channel
            .dump(message::dump_qdiscs(), || begin.clone(), fill)
            .map_err(|e| NetError::new("list queueing disciplines of namespace", &self.ns, e))
    }
}
