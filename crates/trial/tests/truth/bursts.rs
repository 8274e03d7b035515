//! The longest burst without loss over a path whose buffer is known: a token bucket with so many tokens
//! and so many places to wait.

use std::time::Duration;

use nicety_model::{BackToBack, Direction, Fps, Purpose, Validity};
use nicety_port::Stop;
use nicety_search::burst::{BurstSearch, Shot};
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::calm::tried;
use crate::shaped::{BURST, QUEUE, RATE, shaped};
use crate::stage::{Tester, first, spec, traffic};

/// Rate of the bursts: twenty times that of the bucket.
const BURSTS: Fps = Fps(200_000.0);
const REPEATS: u32 = 3;
/// Searches of which one has to find it.
const SEARCHES: usize = 3;
/// How far from the known buffer the interval may begin: frames that are with the bucket's two neighbours.
const BESIDE: f64 = 5.0;
/// A sender that stands still for longer has its burst cut in two.
const ROOM: Duration = Duration::from_micros(700);

fn search(trials: &mut Trials<'_>) -> Option<BackToBack> {
    let mut search = BurstSearch::new(BURSTS, REPEATS);
    while let Some(frames) = search.next() {
        let spec = TrialSpec {
            purpose: Purpose::Burst,
            duration: Duration::from_secs_f64(frames as f64 / BURSTS.0),
            ..spec(BURSTS, frames)
        };
        let record = trials.run(&spec, &Stop::default()).unwrap();
        let counted = matches!(
            record.validity,
            Validity::Valid | Validity::LoadMissed { .. }
        );
        search.observe(counted.then_some(Shot {
            frames: record.frames.sent,
            lost: record.frames.lost > 0,
            rate: Fps(record.pacing.offered_fps),
        }));
    }
    search.outcome(Some(Fps(RATE)))
}

/// Tokens and places of the bucket are what is found, within the interval that is told.
pub fn known_buffer(tester: Tester) -> Result<(), Skip> {
    let path = shaped()?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let known = (BURST + QUEUE) as f64;
    tried(SEARCHES, ROOM, || {
        let Some(found) = search(&mut trials) else {
            return Err("no burst was found".to_owned());
        };
        println!("{found:?}");
        let (low, high) = found.buffer_interval_frames.unwrap_or((0.0, f64::MAX));
        let is_found = low - BESIDE <= known && known <= high + BESIDE && high - low < known / 2.0;
        if is_found {
            Ok(Some(()))
        } else {
            Err(format!("a buffer of {known} frames: {found:?}"))
        }
    })
}
