//! Probes beside a latency trial, and what their stamps add to its record.

use std::sync::atomic::{AtomicBool, Ordering};

use nicety_model::note::TrialNote;
use nicety_model::{HardwareLatency, TrialRecord};
use nicety_port::TrialOrder;
use nicety_port::probes::{ProbeError, Prober};

/// What the stamps say, and how many probes arrived at port A and at port B.
type ProbeResult = Result<(HardwareLatency, [u64; 2]), ProbeError>;

/// Runs `trial` with the probes of `prober` beside it. NICs are told to stamp before it begins, and
/// stamp what they did before when this returns.
pub(crate) fn beside<T>(
    prober: Option<&Prober>,
    order: &TrialOrder,
    trial: impl FnOnce() -> T,
) -> (T, Option<ProbeResult>) {
    let armed = match prober.map(Prober::arm) {
        None => return (trial(), None),
        Some(Err(error)) => return (trial(), Some(Err(error))),
        Some(Ok(armed)) => armed,
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let probes = scope.spawn(|| armed.run(order, &done));
        let report = trial();
        done.store(true, Ordering::Relaxed);
        let probed = probes.join().unwrap_or(Err(ProbeError::Ended));
        (report, Some(probed))
    })
}

/// Adds what the stamps say, or why they say nothing. Probes are not the path's frames: they are
/// taken out of the foreign ones that the receivers counted.
pub(crate) fn add(record: &mut TrialRecord, probed: ProbeResult) {
    let (mut hardware, arrived) = match probed {
        Ok(probed) => probed,
        Err(error) => {
            let why = error.to_string();
            record.notes.push(TrialNote::StampsUnused { why }.into());
            return;
        }
    };
    let all = record.frames.sent + hardware.probes.sent;
    hardware.load_share = if all > 0 {
        hardware.probes.sent as f64 / all as f64
    } else {
        0.0
    };
    // Stream 0 arrives at port B, stream 1 at port A.
    for (stream, arrived) in record.streams.iter_mut().zip(arrived.into_iter().rev()) {
        let theirs = stream.frames.foreign.min(arrived);
        stream.frames.foreign -= theirs;
        record.frames.foreign = record.frames.foreign.saturating_sub(theirs);
    }
    record.hardware_latency = Some(hardware);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nicety_model::{Fps, FrameCounts, HardwareProbes, Note, StreamCounts};

    use super::*;
    use crate::record;

    fn trial() -> TrialRecord {
        let spec = record::tests::spec(Fps(990.0));
        let mut record = record::broken(&spec, Duration::ZERO, Duration::ZERO, String::new());
        let stream = |foreign| StreamCounts {
            frames: FrameCounts {
                foreign,
                ..FrameCounts::default()
            },
            ..StreamCounts::default()
        };
        record.streams = vec![stream(9), stream(3)];
        record.frames = FrameCounts {
            sent: 990,
            foreign: 12,
            ..FrameCounts::default()
        };
        record
    }

    #[test]
    fn probes_are_no_foreign_frames_and_their_share_is_said() {
        let mut record = trial();
        let hardware = HardwareLatency {
            latency_us: None,
            drivers: Vec::new(),
            clocks: Vec::new(),
            offset_error_ns: 0.0,
            drift_ppb: 0.0,
            probes: HardwareProbes {
                sent: 10,
                ..HardwareProbes::default()
            },
            load_share: 0.0,
        };
        // Four arrived at port A, of which its receiver saw three, and five at port B.
        add(&mut record, Ok((hardware, [4, 5])));
        let foreign: Vec<_> = record.streams.iter().map(|s| s.frames.foreign).collect();
        assert_eq!((foreign, record.frames.foreign), (vec![4, 0], 4));
        let hardware = record.hardware_latency.unwrap();
        assert!((hardware.load_share - 0.01).abs() < 1e-12);
    }

    #[test]
    fn why_there_are_none_is_noted() {
        let mut record = trial();
        add(&mut record, Err(ProbeError::Stepped));
        assert_eq!(record.hardware_latency, None);
        assert_eq!(
            Note::texts(&record.notes),
            [
                "Hardware time stamps were not used: the NICs' clocks cannot be compared: the system's \
              clock was stepped meanwhile."
            ]
        );
        let order = TrialOrder {
            load: Fps(1.0),
            duration: Duration::ZERO,
            then: None,
            drain_max: Duration::ZERO,
            drain_quiet: Duration::ZERO,
            trial: 0,
            rest: None,
            catch_up: false,
            numbers: false,
        };
        let (ran, probed) = beside(None, &order, || 7);
        assert!(probed.is_none());
        assert_eq!(ran, 7);
    }
}
