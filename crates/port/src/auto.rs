//! Whether an engine works on the very ports.

use std::time::Duration;

use nicety_model::counted::plural;
use nicety_model::{Coded, Fps, ProblemCode};

use crate::engine::{Engine, EngineReport, Stop, TrialOrder};
use crate::error::PortError;

/// Why an engine is not to be trusted on two ports.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Its counts are not those of the frames sent.
    #[error("its self-check failed: {0}")]
    Counts(String),
}

impl Coded for CheckError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Port(error) => error.code(),
            Self::Counts(_) => ProblemCode::EngineUnavailable,
        }
    }
}

/// Frames of one burst, and the rate of the first: slow enough for any path that is worth measuring.
const FRAMES: u32 = 100;
const RATE: Fps = Fps(10_000.0);
/// How much slower each burst after it is: a machine that is busy, or emulated, may not wake the
/// sender within the 10 ms that the first one takes.
const SLOWER: f64 = 5.0;
/// Bursts before giving up: other traffic, or a pause of the machine, may cost a frame.
const BURSTS: u8 = 3;
/// Share of the last burst that has to be sent: a machine so busy that it lets the sender run now and
/// then only is no reason to distrust what the engine counts.
const LAST_SENT: f64 = 0.5;
/// Longest wait for the frames of a burst.
const DRAIN: Duration = Duration::from_millis(500);

/// Sends a burst of known length and sees whether what was sent arrives, all of it and undamaged: frames
/// that the receiver counts have the right size and a stamp.
///
/// # Errors
/// What is wrong with the last of three bursts.
pub fn self_check(engine: &mut dyn Engine, stop: &Stop) -> Result<(), CheckError> {
    engine.learn()?;
    let mut verdict = Ok(());
    for trial in 0..BURSTS {
        let load = Fps(RATE.0 / SLOWER.powi(trial.into()));
        let order = TrialOrder {
            load,
            duration: Duration::from_secs_f64(f64::from(FRAMES) / load.0),
            then: None,
            drain_max: DRAIN,
            drain_quiet: DRAIN / 10,
            trial,
            rest: None,
            catch_up: false,
            numbers: false,
        };
        let report = engine.trial(&order, stop)?;
        if report.interrupted {
            return Ok(());
        }
        let needed = if trial + 1 < BURSTS { 1.0 } else { LAST_SENT };
        verdict = judge(&report, needed);
        if verdict.is_ok() {
            break;
        }
    }
    verdict.map_err(CheckError::Counts)
}

/// What is wrong with a burst of which a share, 0 to 1, had to be sent.
fn judge(report: &EngineReport, needed: f64) -> Result<(), String> {
    for stream in &report.streams {
        let frames = &stream.frames;
        let least = (frames.intended as f64 * needed).ceil() as u64;
        if frames.intended == 0 || frames.sent < least {
            return Err(format!(
                "{} of {} frames could be sent",
                frames.sent, frames.intended
            ));
        }
        if frames.received != frames.sent {
            return Err(format!(
                "{} of {} frames arrived",
                frames.received, frames.sent
            ));
        }
        if frames.corrupt > 0 {
            return Err(format!(
                "{} of {} frames arrived damaged",
                frames.corrupt, frames.sent
            ));
        }
    }
    match report.tester_drops {
        0 => Ok(()),
        drops => Err(format!("the tester dropped {}", plural(drops, "frame"))),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::StreamCounts;

    use super::*;
    use crate::engine::XdpCounts;

    /// An engine that answers with one list of counts after the other: sent, received, damaged.
    struct Scripted(Vec<(u64, u64, u64)>);

    impl Engine for Scripted {
        fn name(&self) -> String {
            "scripted".to_owned()
        }

        fn learn(&mut self) -> Result<(), PortError> {
            Ok(())
        }

        fn trial(&mut self, order: &TrialOrder, _: &Stop) -> Result<EngineReport, PortError> {
            assert_eq!(order.frames(), u64::from(FRAMES));
            let (sent, received, corrupt) = self.0.remove(0);
            let mut stream = StreamCounts::default();
            stream.frames.intended = order.frames();
            stream.frames.sent = sent;
            stream.frames.received = received;
            stream.frames.corrupt = corrupt;
            Ok(EngineReport {
                senders: Vec::new(),
                streams: vec![stream],
                latency: None,
                histogram: Default::default(),
                clock_stepped: false,
                tester_drops: 0,
                xdp: XdpCounts::default(),
                interrupted: false,
                start_spread_s: 0.0,
                workers: Vec::new(),
            })
        }
    }

    fn check(script: &[(u64, u64, u64)]) -> (Result<(), String>, usize) {
        let mut engine = Scripted(script.to_vec());
        let result = self_check(&mut engine, &Stop::default());
        (result.map_err(|error| error.to_string()), engine.0.len())
    }

    #[test]
    fn a_complete_burst_passes_at_once() {
        assert_eq!(check(&[(100, 100, 0), (0, 0, 0)]), (Ok(()), 1));
    }

    #[test]
    fn one_bad_burst_is_forgiven_three_are_not() {
        assert_eq!(check(&[(100, 99, 0), (100, 100, 0)]), (Ok(()), 0));
        for (bad, words) in [
            ((100, 99, 0), "99 of 100 frames arrived"),
            ((100, 0, 0), "0 of 100 frames arrived"),
            ((49, 49, 0), "49 of 100 frames could be sent"),
            ((98, 97, 0), "97 of 98 frames arrived"),
            ((100, 100, 2), "2 of 100 frames arrived damaged"),
        ] {
            let expected = Err(format!("its self-check failed: {words}"));
            assert_eq!(check(&[bad; 3]), (expected, 0));
        }
    }

    #[test]
    fn a_busy_machine_is_forgiven_at_last() {
        let slow = (50, 50, 0);
        assert_eq!(check(&[slow; 3]), (Ok(()), 0));
    }
}
