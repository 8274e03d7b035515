//! Limits at a root where another program has a discipline: below it, or in its place until it is given back. They are of
//! what the owner of a tap or veth receives, and of what the owner of a macvtap sends.
//!
//! Below means at its only class: what it lets pass has passed nicety's bucket, and it stays whatever becomes of
//! nicety. Whatever changes, changes in one datagram: however a program ends, one of both holds. Only `htb` that is given
//! back lets frames pass as they come until its classes follow in the same datagram, for about a millisecond.

use std::time::Duration;

use nicety_model::traffic_control::{Handle, OURS, Recorded, RecordedLimit};

use super::message::{self, BUCKET, ROOT};
use super::replace::GIVE_BACK;
use super::{BURST, Face, GivenBack, INSTEAD, LIMIT, NEW, Shape, Shapers, Survey, changing};
use crate::net_error::NetError;
use crate::raw::{RawMessage, u32_at};
use crate::traffic_control::replay;

impl Shapers {
    /// Limits a port at its root below another program's limit `theirs`, at its class `under`.
    ///
    /// # Errors
    /// As [`Self::received`]; [`NetError::Kernel`] when what is at the root is not `theirs` any more.
    pub fn set_root_below(
        &self,
        port: &str,
        survey: &Survey,
        limit: (Shape, Duration),
        (theirs, under): (&RecordedLimit, Handle),
    ) -> Result<(), NetError> {
        self.recorded(port, survey, theirs)
            .and_then(|face| self.bucket_at((face.index, under.0), limit, face, INSTEAD))
    }

    /// The same in the place of another program's limit: `theirs` goes.
    ///
    /// # Errors
    /// As [`Self::received`]; [`NetError::Kernel`] when what is at the root is not `theirs` any more, which is left.
    pub fn set_root_replacing(
        &self,
        port: &str,
        survey: &Survey,
        limit: (Shape, Duration),
        theirs: &RecordedLimit,
    ) -> Result<(), NetError> {
        self.recorded(port, survey, theirs)
            .and_then(|face| self.bucket_at((face.index, ROOT), limit, face, INSTEAD))
    }

    /// The interface, if what is at its root still is `theirs`.
    fn recorded<'a>(
        &self,
        port: &str,
        survey: &'a Survey,
        theirs: &RecordedLimit,
    ) -> Result<&'a Face, NetError> {
        let face = self.face(port, survey)?;
        if is_root_of(&theirs.parts, &self.at_parent(face, ROOT, LIMIT)?) {
            Ok(face)
        } else {
            Err(changing(port))
        }
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
            (false, Some(bucket)) => self.root_back(face, &theirs.parts, bucket.shape),
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

    fn root_back(
        &self,
        face: &Face,
        theirs: &[Recorded],
        had: Shape,
    ) -> Result<GivenBack, NetError> {
        let root = self.at_parent(face, ROOT, GIVE_BACK)?;
        if u32_at(&root.body, 8) != Some(BUCKET) {
            return Ok(GivenBack::Theirs);
        }
        let requests = anew(replay::root::requests(theirs), face)?;
        let batch = requests.into_iter().enumerate().map(|(at, mut request)| {
            at_interface(&mut request, face);
            (request, if at == 0 { INSTEAD } else { NEW })
        });
        let made = self.all_done(batch.collect(), face).and_then(|()| {
            if is_root_of(theirs, &self.at_parent(face, ROOT, GIVE_BACK)?) {
                Ok(GivenBack::Back)
            } else {
                Err(other(face, "the kernel has made something else of it"))
            }
        });
        if made.is_err() {
            // Unlimited meanwhile: ours holds on.
            self.bucket_at((face.index, ROOT), (had, BURST), face, INSTEAD)?;
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

/// Whether a discipline is the first of those recorded, but for what the kernel counts.
fn is_root_of(recorded: &[Recorded], root: &RawMessage) -> bool {
    let recorded = recorded.first().map(Recorded::body).unwrap_or_default();
    replay::root::qdisc(recorded).is_ok_and(|one| replay::root::qdisc(&root.body) == Ok(one))
}
