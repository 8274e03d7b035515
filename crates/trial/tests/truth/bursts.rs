//! The longest burst without loss over a path whose buffer is known: a token bucket with so many tokens
//! and so many places to wait.

use std::time::Duration;

use nicety_model::{BackToBack, Direction, Fps, Purpose, Validity};
use nicety_port::Stop;
use nicety_search::burst::{BurstSearch, Shot};
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::shaped::{BURST, QUEUE, RATE, shaped};
use crate::stage::{PathCpu, Tester, first, spec, traffic};

/// Rate of the bursts: twenty times that of the bucket.
const BURSTS: Fps = Fps(200_000.0);
const REPEATS: u32 = 3;
/// Searches of which one has to find it.
const SEARCHES: usize = 3;
/// How far from the known buffer the interval may begin: frames that are with the bucket's two neighbours.
const BESIDE: f64 = 5.0;

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
    let cpu = PathCpu::watch();
    let mut seen = Vec::new();
    for _ in 0..SEARCHES {
        let Some(found) = search(&mut trials) else {
            continue;
        };
        println!("{found:?}");
        if let Some((low, high)) = found.buffer_interval_frames
            && low - BESIDE <= known
            && known <= high + BESIDE
            && high - low < known / 2.0
        {
            return Ok(());
        }
        seen.push((
            found.burst_frames,
            found.rate_fps,
            found.buffer_interval_frames,
        ));
    }
    cpu.calm()?;
    // A sender whose CPU was taken sends no burst.
    if seen.iter().all(|(_, rate, _)| *rate < BURSTS.0 / 2.0) {
        return Err(Skip(format!("the machine sent no bursts: {seen:?}")));
    }
    panic!("a buffer of {known} frames was not found: {seen:?}");
}
