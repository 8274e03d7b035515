//! What a sender sends, frame by frame: whether it is paced at its limit or sends in bursts.

use std::time::{Duration, Instant};

use nicety_model::{ProblemCode, SCHEMA};
use nicety_netdev::shaper::{Face, Survey};
use nicety_packet::MacAddr;
use nicety_police::pacing::{PacingReport, Unit, pacing};
use nicety_port::capture::{Capture, Captured, Way};

use super::inventory::Inventory;
use crate::Error;

/// So many units are kept at most: more say nothing more.
const MOST: usize = 1 << 21;
/// Units taken at once.
const BATCH: usize = 4096;
/// Between two looks: the ring holds far more.
const NAP: Duration = Duration::from_millis(2);

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub struct PacingRequest<'a> {
    /// Interface that frames arrive at, or whose owner sends.
    pub interface: &'a str,
    /// How long to look.
    pub over: Duration,
    /// Only frames from this hardware address.
    pub from: Option<MacAddr>,
    /// What this host sends through it.
    pub sent: bool,
}

impl Inventory {
    /// Captures for a while, and says how evenly was sent.
    ///
    /// # Errors
    /// When there is no such interface, it is down, or nothing may be captured.
    pub fn pacing(&self, request: PacingRequest<'_>) -> Result<PacingReport, Error> {
        let survey = self.shapers.survey()?;
        let name = request.interface;
        let Some(face) = survey.face(name) else {
            return Err(super::limit::no_interface(name));
        };
        if !face.up {
            return Err(Error::refused(
                ProblemCode::PortDown,
                format!("{name} is down"),
                "set it up first",
            ));
        }
        let (at, way) = place(face, &survey, request.sent);
        let (units, lost) = watch(&at, way, request)?;
        Ok(PacingReport {
            schema: SCHEMA,
            interface: name.to_owned(),
            at,
            way: word(way).to_owned(),
            lost,
            pacing: pacing(&units),
        })
    }
}

/// Where the owner of a port is seen after its limit: at the interface of the limiter, else at the
/// port. What a macvtap's owner sends, the macvtap sends.
fn place(face: &Face, survey: &Survey, sent: bool) -> (String, Way) {
    if let Some(limiter) = survey.limiter_of(face).filter(|_| !sent) {
        return (limiter.name.clone(), Way::Sent);
    }
    let way = if sent || face.kind == "macvtap" {
        Way::Sent
    } else {
        Way::Received
    };
    (face.name.clone(), way)
}

fn word(way: Way) -> &'static str {
    match way {
        Way::Sent => "sent",
        Way::Received => "received",
    }
}

fn watch(at: &str, way: Way, request: PacingRequest<'_>) -> Result<(Vec<Unit>, u64), Error> {
    let source = request.from.map(|mac| mac.0);
    let mut capture = Capture::open(at, way, source)?;
    let mut units = Vec::new();
    let mut first = None;
    let end = Instant::now() + request.over;
    while Instant::now() < end && units.len() < MOST {
        let taken = capture.poll(BATCH, |seen: Captured| {
            let first = *first.get_or_insert(seen.realtime_ns);
            // A clock that is set back during the capture makes a gap of 0.
            let since = u64::try_from(seen.realtime_ns - first).unwrap_or(0);
            units.push(Unit {
                at: Duration::from_nanos(since),
                wire_bytes: seen.wire_bytes,
                frames: seen.frames,
            });
        });
        if taken < BATCH {
            capture.check_up()?;
            std::thread::sleep(NAP);
        }
    }
    // Several CPUs may stamp at the same time and write in another order.
    units.sort_by_key(|unit| unit.at);
    let lost = capture.take_drops()?;
    Ok((units, lost))
}
