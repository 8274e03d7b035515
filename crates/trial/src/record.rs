//! From what the engine says to the record of a trial.

use std::time::Duration;

use nicety_host::cpu_load::{CpuSnapshot, CpuWindow, PathLabels, TESTER, ThreadUse, Watch};
use nicety_host::cpu_load::{STEAL, us_per_frame};
use nicety_host::stat::StatSample;
use nicety_model::note::TrialNote;
use nicety_model::number::{plural, short};
use nicety_model::{
    CpuUse, FrameCounts, GuestFrames, GuestUse, LOAD_TOLERANCE, LossRatio, Note, PacingReport,
    PollUse, Purpose, SCHEMA, SizeFrames, StallReport, StreamCounts, TrialRecord, Validity,
};
use nicety_paths::Polling;
use nicety_port::{EngineReport, SenderReport};

use crate::TrialSpec;
use crate::stalls;

/// Largest share of the intended frames that may be missing in a valid trial.
pub const FRAMES_TOLERANCE: f64 = 0.001;

/// The record of a trial that ran; counters and CPU are filled in by the caller.
pub(crate) fn of(spec: &TrialSpec, report: &EngineReport) -> TrialRecord {
    let mut frames = FrameCounts::default();
    for stream in &report.streams {
        frames.add(&stream.frames);
    }
    let pacing = slowest(report);
    let directions = report.senders.len().max(1) as f64;
    let mut record = empty(spec);
    record.validity = validity(spec, report);
    record.loss_ratio = frames.loss_ratio();
    record.frames = frames;
    record.forwarding_fps = if pacing.sending_s > 0.0 {
        frames.received as f64 / pacing.sending_s / directions
    } else {
        0.0
    };
    record.guests = guest_frames(&report.streams, &pacing);
    record.sizes = size_frames(&report.streams);
    record.streams = report.streams.clone();
    record.pacing = pacing;
    record.latency_us = report.latency;
    record.notes = notes(spec, report);
    record
}

/// What every guest carried, over all streams: each is behind a pair of stations of its own.
fn guest_frames(streams: &[StreamCounts], pacing: &PacingReport) -> Vec<GuestFrames> {
    let guests = streams.iter().map(|s| s.stations.len()).max().unwrap_or(0);
    let frames = |guest: usize| {
        let counts = streams.iter().filter_map(|s| s.stations.get(guest));
        let (sent, received) = counts.fold((0, 0), |(sent, received), counts| {
            (sent + counts.sent, received + counts.received)
        });
        let lost = sent - received;
        let seconds = pacing.sending_s * streams.len() as f64;
        GuestFrames {
            guest: format!("guest{guest}"),
            sent,
            received,
            lost,
            loss_ratio: LossRatio::of(lost, sent),
            forwarding_fps: if seconds > 0.0 {
                received as f64 / seconds
            } else {
                0.0
            },
        }
    };
    (0..guests).map(frames).collect()
}

/// What became of the frames of every size of a mix, over all streams.
fn size_frames(streams: &[StreamCounts]) -> Vec<SizeFrames> {
    let sizes = streams.iter().map(|s| s.sizes.len()).max().unwrap_or(0);
    let frames = |place: usize| {
        let counts = || streams.iter().filter_map(|s| s.sizes.get(place));
        let sent = counts().map(|size| size.sent).sum();
        let received = counts().map(|size| size.received).sum();
        let lost = u64::saturating_sub(sent, received);
        Some(SizeFrames {
            frame_size_bytes: counts().next()?.frame_size_bytes,
            sent,
            received,
            lost,
            loss_ratio: LossRatio::of(lost, sent),
        })
    };
    (0..sizes).filter_map(frames).collect()
}

/// The record of a trial that could not be run.
pub(crate) fn broken(
    spec: &TrialSpec,
    started: Duration,
    start: Duration,
    why: String,
) -> TrialRecord {
    let mut record = empty(spec);
    record.started_unix_s = started.as_secs_f64();
    record.wall_s = (nicety_host::clock::monotonic() - start).as_secs_f64();
    record.validity = Validity::Broken { why };
    record
}

/// Sets apart the frames that stalls concern: the loss ratio is that of the others.
pub(crate) fn set_apart(record: &mut TrialRecord, stalls: StallReport) {
    let frames = &record.frames;
    let others = FrameCounts {
        sent: frames.sent.saturating_sub(stalls.frames),
        lost: frames.lost.saturating_sub(stalls.lost),
        ..*frames
    };
    record.loss_ratio = others.loss_ratio();
    if let Some(why) = stalls::too_many(&stalls, frames.sent, &record.pacing)
        && record.validity.is_valid()
    {
        record.validity = Validity::Stalled { why };
    }
    record.stalls = Some(stalls);
}

/// Nothing can be said of a trial whose CPUs were taken away so often that no window is left.
pub(crate) fn without_window(record: &mut TrialRecord) {
    let windows = record.windows.as_ref();
    if windows.is_some_and(|windows| windows.disturbed) && record.validity.is_valid() {
        let why = "CPUs of the path were taken away too often for one window".to_owned();
        record.validity = Validity::Stalled { why };
    }
}

/// CPU use between two snapshots, with the engine's own threads, which do not outlive a trial.
pub(crate) fn cpu(
    watch: &Watch,
    before: &CpuSnapshot,
    after: &CpuSnapshot,
    report: &EngineReport,
) -> CpuUse {
    let elapsed = after.at.saturating_sub(before.at);
    let seconds = elapsed.as_secs_f64();
    let workers = report.workers.iter().map(|worker| ThreadUse {
        label: TESTER.to_owned(),
        cpus: if seconds > 0.0 {
            worker.cpu_s / seconds
        } else {
            0.0
        },
        home: worker.cpu,
    });
    let window = CpuWindow::between(watch, before, after, workers);
    let received = report
        .streams
        .iter()
        .map(|stream| stream.frames.received)
        .sum();
    let mut cpu = window.cpu;
    cpu.us_per_frame = us_per_frame(
        &cpu,
        elapsed,
        received,
        PathLabels::AllBut(&[TESTER, STEAL, OTHER]),
    );
    cpu
}

/// CPU use of the path's guests between two readings of their counters.
pub(crate) fn guests(
    before: &[(String, StatSample)],
    after: &[(String, StatSample)],
) -> Vec<GuestUse> {
    let shares = |(guest, new): &(String, StatSample)| {
        let (_, old) = before.iter().find(|(name, _)| name == guest)?;
        let cores = new.shares_since(old);
        (!cores.is_empty()).then(|| GuestUse {
            guest: guest.clone(),
            cores,
        })
    };
    after.iter().filter_map(shares).collect()
}

/// How much of their time the path's polling threads had frames, between two readings.
pub(crate) fn polling(before: &[Polling], after: &[Polling]) -> Vec<PollUse> {
    let useful = |thread: &Polling| {
        let new = thread.cycles?;
        let old = before.iter().find(|old| old.who == thread.who)?.cycles?;
        let busy = new.busy.checked_sub(old.busy)? as f64;
        let all = busy + new.idle.checked_sub(old.idle)? as f64;
        (all > 0.0).then(|| busy / all)
    };
    let one = |thread: &Polling| PollUse {
        who: thread.who.clone(),
        useful_ratio: useful(thread),
    };
    after.iter().map(one).collect()
}

/// Time of other programs does not belong to the path.
const OTHER: &str = nicety_host::cpu_load::OTHER;

fn empty(spec: &TrialSpec) -> TrialRecord {
    TrialRecord {
        schema: SCHEMA,
        cell: spec.cell.clone(),
        repeat: spec.repeat,
        control: spec.control,
        index: spec.index,
        purpose: spec.purpose,
        load_fps: spec.load.0,
        duration_s: spec.total_s(),
        wall_s: 0.0,
        started_unix_s: 0.0,
        validity: Validity::Valid,
        frames: FrameCounts::default(),
        loss_ratio: LossRatio::default(),
        stalls: None,
        windows: None,
        cache_line_ns: None,
        hardware_latency: None,
        forwarding_fps: 0.0,
        guests: Vec::new(),
        sizes: Vec::new(),
        streams: Vec::new(),
        pacing: PacingReport::default(),
        latency_us: None,
        cpu: None,
        loss_ledger: Vec::new(),
        fate: None,
        step: None,
        outage: None,
        passed: Vec::new(),
        notes: Vec::new(),
    }
}

/// The schedule of the sender that did worst: a trial is as good as its worst direction.
fn slowest(report: &EngineReport) -> PacingReport {
    report
        .senders
        .iter()
        .map(|sender| sender.pacing)
        .min_by(|a, b| a.offered_fps.total_cmp(&b.offered_fps))
        .unwrap_or_default()
}

fn validity(spec: &TrialSpec, report: &EngineReport) -> Validity {
    if report.tester_drops > 0 {
        return Validity::TesterDropped {
            frames: report.tester_drops,
        };
    }
    for sender in &report.senders {
        let pacing = &sender.pacing;
        if (sender.sent as f64) < sender.intended as f64 * (1.0 - FRAMES_TOLERANCE) {
            return Validity::LoadMissed {
                why: format!(
                    "sent {} of {} frames in time, {} of {} frames/s",
                    sender.sent,
                    sender.intended,
                    short(pacing.offered_fps),
                    short(spec.load.0)
                ),
            };
        }
        // What lacks is the sender's pauses: between them it sends at the intended rate. Rests are not among
        // them, and in between the sender must reach as much. A burst is as fast as it can be.
        let burst = spec.purpose == Purpose::Burst;
        if !burst && between_rests(sender) < spec.mean().0 * (1.0 - LOAD_TOLERANCE) {
            return Validity::LoadMissed {
                why: format!(
                    "offered {} of {} frames/s; the schedule slipped {}, by {:.1} ms in all",
                    short(pacing.offered_fps),
                    short(spec.mean().0),
                    plural(pacing.slips, "time"),
                    pacing.slipped_s * 1e3
                ),
            };
        }
    }
    Validity::Valid
}

/// Frames per second of the time in which the sender did not rest. It is faster then, so a rest does
/// not excuse a pause of another kind.
fn between_rests(sender: &SenderReport) -> f64 {
    let pacing = &sender.pacing;
    let awake_s = pacing.sending_s - pacing.rested_s;
    if awake_s > 0.0 {
        sender.sent as f64 / awake_s
    } else {
        pacing.offered_fps
    }
}

fn notes(spec: &TrialSpec, report: &EngineReport) -> Vec<Note> {
    let mut notes = Vec::new();
    if report.clock_stepped {
        notes.push(TrialNote::ClockStepped.into());
    }
    // RFC 2889 §5.1.3.
    if report.start_spread_s > 0.01 * spec.duration.as_secs_f64() {
        let apart_ms = report.start_spread_s * 1e3;
        notes.push(TrialNote::StartsApart { apart_ms }.into());
    }
    notes
}

#[cfg(test)]
pub(crate) mod tests {
    use nicety_model::{Fps, FrameSize, SizeCounts, StationCounts};

    use super::*;

    /// A trial of a second, whose kind matters to nobody.
    pub(crate) fn spec(load: Fps) -> TrialSpec {
        TrialSpec {
            cell: "bridge/64/uni".to_owned(),
            repeat: 1,
            control: None,
            index: 1,
            purpose: Purpose::Search,
            load,
            duration: Duration::from_secs(1),
            then: None,
            window: None,
        }
    }

    #[test]
    fn guests_carry_both_directions() {
        let stream = |pairs: [(u64, u64); 2]| StreamCounts {
            stations: pairs
                .map(|(sent, received)| StationCounts { sent, received })
                .to_vec(),
            ..StreamCounts::default()
        };
        let pacing = PacingReport {
            sending_s: 2.0,
            ..PacingReport::default()
        };
        let streams = [stream([(50, 50), (50, 40)]), stream([(50, 48), (50, 50)])];
        let guests = guest_frames(&streams, &pacing);
        let said: Vec<_> = guests
            .iter()
            .map(|g| (g.guest.as_str(), g.sent, g.lost, g.forwarding_fps))
            .collect();
        assert_eq!(said, [("guest0", 100, 2, 24.5), ("guest1", 100, 10, 22.5)]);
        assert_eq!(guests[1].loss_ratio, LossRatio(0.1));
        assert_eq!(guest_frames(&[StreamCounts::default()], &pacing), []);
    }

    #[test]
    fn sizes_are_counted_over_both_directions() {
        let stream = |counts: [(u16, u64, u64); 2]| StreamCounts {
            sizes: counts
                .map(|(size, sent, received)| SizeCounts {
                    frame_size_bytes: FrameSize::new(size).unwrap(),
                    sent,
                    received,
                })
                .to_vec(),
            ..StreamCounts::default()
        };
        let streams = [
            stream([(64, 7, 7), (1518, 1, 0)]),
            stream([(64, 14, 13), (1518, 2, 2)]),
        ];
        let sizes = size_frames(&streams);
        let told: Vec<_> = sizes
            .iter()
            .map(|s| (s.frame_size_bytes.bytes(), s.sent, s.received, s.lost))
            .collect();
        assert_eq!(told, [(64, 21, 20, 1), (1518, 3, 2, 1)]);
        assert_eq!(size_frames(&[StreamCounts::default()]), []);
    }
}
