//! Limits at a root where another program has a discipline: below it, or in its place until it is given back. They are of
//! what the owner of a tap or veth receives, and of what the owner of a macvtap sends.
//!
//! Below means at its only class: what it lets pass has passed nicety's bucket, and it stays whatever becomes of
//! nicety. Whatever changes, changes in one datagram: however a program ends, one of both holds. Only `htb` that is given
//! back lets frames pass as they come until its classes follow in the same datagram, for about a millisecond.

use std::time::Duration;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use nicety_model::traffic_control::{Handle, OURS, Recorded, RecordedLimit};

use super::message::{self, BUCKET, ROOT};
use super::replace::{GIVE_BACK, LIMIT};
use super::{BURST, Face, GivenBack, Shape, Shapers, Survey};
use crate::net_error::NetError;
use crate::raw::{RawMessage, u32_at};
use crate::traffic_control::replay;

/// In the place of what is there.
const INSTEAD: u16 = NLM_F_CREATE | NLM_F_REPLACE;
const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;

impl Shapers {
    /// Limits a port at its root below another program's limit, at the class `under`.
    ///
    /// # Errors
    /// As [`Self::received`]; [`NetError::Kernel`] when that class is gone.
    pub fn set_root_below(
        &self,
        port: &str,
        survey: &Survey,
        (shape, burst): (Shape, Duration),
        under: Handle,
    ) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        self.bucket_at((face.index, under.0), shape, burst, port)
    }

    /// The same in the place of another program's limit: `theirs` goes.
    ///
    /// # Errors
    /// As [`Self::received`]; [`NetError::Kernel`] when what is at the root is not `theirs` any more, which is left.
    pub fn set_root_replacing(
        &self,
        port: &str,
        survey: &Survey,
        (shape, burst): (Shape, Duration),
        theirs: &RecordedLimit,
    ) -> Result<(), NetError> {
        let face = self.face(port, survey)?;
        let recorded = theirs.parts.first().map(Recorded::body).unwrap_or_default();
        if !same(&self.at_parent(face, ROOT, LIMIT)?.body, recorded) {
            let why = "another program is changing its limit".to_owned();
            return Err(NetError::new(LIMIT, port, std::io::Error::other(why)));
        }
        self.bucket_at((face.index, ROOT), shape, burst, port)
    }

    /// Gives a port back what another program had at its root, or takes nicety's away below it.
    ///
    /// # Errors
    /// As [`Self::received`], and when the kernel does not make the limit as it was: then the port keeps the one it
    /// has.
    pub fn give_back_root(
        &self,
        port: &str,
        survey: &Survey,
        theirs: &RecordedLimit,
    ) -> Result<GivenBack, NetError> {
        let face = self.face(port, survey)?;
        let ours = survey.bucket(face.index);
        match (survey.has_foreign_root(face), ours) {
            (false, None) => Ok(GivenBack::Nothing),
            (true, None) => Ok(GivenBack::Theirs),
            (true, Some(_)) => {
                self.lift(face, survey, &theirs.parts)?;
                Ok(GivenBack::Back)
            }
            (false, Some(bucket)) => {
                self.root_back(face, &theirs.parts, bucket.shape)?;
                Ok(GivenBack::Back)
            }
        }
    }

    /// Takes nicety's bucket from below another program's discipline, and puts in its place what was there.
    pub(super) fn lift(
        &self,
        face: &Face,
        survey: &Survey,
        theirs: &[Recorded],
    ) -> Result<(), NetError> {
        let place = survey.place(face.index);
        let leaf = theirs.iter().find(|part| {
            let ours = u32_at(part.body(), 8).is_some_and(|it| Handle(it).major() == OURS);
            let is_leaf = u32_at(part.body(), 12) == Some(place);
            matches!(part, Recorded::Qdisc(_)) && is_leaf && !ours
        });
        let remove = message::remove(face.index, place, BUCKET);
        let root = self.at_parent(face, ROOT, GIVE_BACK)?;
        let batch = match (leaf, survey.foreign_root(face.index)) {
            (Some(leaf), _) => {
                let mut leaf = anew(replay::root::qdisc(leaf.body()), face)?;
                at_interface(&mut leaf, face);
                vec![(leaf, INSTEAD)]
            }
            // Without a discipline below it lets nothing pass, and makes one when it is told its rate
            // (net/sched/sch_tbf.c, `tbf_graft` and `tbf_change`).
            (None, Some("tbf")) => {
                let again = anew(replay::root::qdisc(&root.body), face)?;
                vec![(remove, 0), (again, 0)]
            }
            // The kernel makes one by itself (net/sched/sch_htb.c, `htb_graft`).
            (None, _) => vec![(remove, 0)],
        };
        self.all_done(batch, face)
    }

    fn root_back(&self, face: &Face, theirs: &[Recorded], had: Shape) -> Result<(), NetError> {
        let requests = anew(replay::root::requests(theirs), face)?;
        let batch = requests.into_iter().enumerate().map(|(at, mut request)| {
            at_interface(&mut request, face);
            (request, if at == 0 { INSTEAD } else { NEW })
        });
        let made = self.all_done(batch.collect(), face).and_then(|()| {
            let recorded = theirs.first().map(Recorded::body).unwrap_or_default();
            match same(&self.at_parent(face, ROOT, GIVE_BACK)?.body, recorded) {
                true => Ok(()),
                false => Err(other(face, "the kernel has made something else of it")),
            }
        });
        if made.is_err() {
            // Unlimited meanwhile: ours holds on.
            self.bucket_at((face.index, ROOT), had, BURST, &face.name)?;
        }
        made
    }

    fn all_done(&self, batch: Vec<(RawMessage, u16)>, face: &Face) -> Result<(), NetError> {
        for done in self.batch(batch, GIVE_BACK, &face.name)? {
            done.map_err(|e| NetError::new(GIVE_BACK, &face.name, e))?;
        }
        Ok(())
    }

    /// The discipline at a parent of an interface.
    fn at_parent(
        &self,
        face: &Face,
        parent: u32,
        operation: &'static str,
    ) -> Result<RawMessage, NetError> {
        let request = message::get_qdisc(face.index, parent);
        let body = self
            .channel
            .one(request, |part| part.body.to_vec())
            .map_err(|e| NetError::new(operation, &face.name, e))?;
        Ok(RawMessage::new(libc::RTM_NEWQDISC, &body))
    }
}

fn anew<T>(
    made: Result<T, nicety_model::traffic_control::NoWayBack>,
    face: &Face,
) -> Result<T, NetError> {
    made.map_err(|why| other(face, &why.to_string()))
}

fn other(face: &Face, why: &str) -> NetError {
    NetError::new(GIVE_BACK, &face.name, std::io::Error::other(why.to_owned()))
}

/// The interface may have another number in another boot or namespace than where it was recorded.
fn at_interface(request: &mut RawMessage, face: &Face) {
    request.body[4..8].copy_from_slice(&face.index.to_ne_bytes());
}

/// Whether two disciplines are the same but for what the kernel counts.
fn same(one: &[u8], other: &[u8]) -> bool {
    replay::root::qdisc(one).is_ok_and(|one| replay::root::qdisc(other) == Ok(one))
}
