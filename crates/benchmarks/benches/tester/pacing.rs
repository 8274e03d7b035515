//! How exactly rates are kept, by nicety and by others.

use std::sync::atomic::Ordering;

use anyhow::Result;
use nicety_model::Fps;
use nicety_port::EngineReport;

use super::stage::Kind;
use super::{Bench, Sender};

impl Bench<'_> {
    /// Offered over intended and the intervals at the far end; for nicety its own account of the
    /// schedule too.
    pub fn pacing(&mut self, sender: Sender, rate: u32) -> Result<()> {
        if matches!(sender, Sender::Other(peer) if !peer.has_rate()) {
            return Ok(());
        }
        let prefix = format!("pacing {rate}/{}", sender.name());
        let seen = match sender {
            Sender::Other(peer) => self.with_peer(&self.direct, peer, Some(rate)),
            Sender::Own(kind) => {
                let load = Fps(f64::from(rate));
                let seen = self.with_own(kind, true, load, true);
                seen.map(|(seen, report)| {
                    self.schedule(&prefix, rate, &report);
                    seen
                })
            }
        };
        match seen {
            Err(error) if self.interrupted.load(Ordering::Relaxed) => return Err(error),
            Err(error) => self.figures.skip(prefix, error),
            Ok(seen) => {
                let ratio = seen.offered_fps / f64::from(rate);
                self.figures
                    .put(format!("{prefix} offered_to_intended"), ratio);
                match seen.arrivals {
                    Some(Ok(arrivals)) => self.intervals(&prefix, rate, &arrivals.take()?),
                    Some(Err(why)) => self
                        .figures
                        .skip(format!("{prefix} interval"), format!("{why:#}")),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// A whole trial at a rate: all its frames, from the first slot to the last. A window opens and
    /// closes anywhere between two frames, which at the lowest rate is a part in a thousand.
    pub fn whole_trial(&mut self, kind: Kind, rate: u32) -> Result<()> {
        let mut engine = self.engine(kind, true, 1)?;
        let report = self.trial(&mut engine, Fps(f64::from(rate)), self.window)?;
        let prefix = format!("pacing {rate}/{} whole trial", kind.name());
        for sender in &report.senders {
            let sent = sender.sent as f64 / sender.intended.max(1) as f64;
            let offered = sender.pacing.offered_fps / f64::from(rate);
            self.figures.put(format!("{prefix} sent_to_intended"), sent);
            let figure = format!("{prefix} offered_to_intended");
            self.figures.put(figure, offered);
        }
        Ok(())
    }

    fn schedule(&mut self, prefix: &str, rate: u32, report: &EngineReport) {
        for sender in &report.senders {
            let pacing = sender.pacing;
            let offered = pacing.offered_fps / f64::from(rate);
            self.figures.put_all(
                prefix,
                [
                    ("late_p99_us", pacing.late_p99_us),
                    ("schedule_offered_to_intended", offered),
                    ("late_max_us", pacing.late_max_us),
                    ("slips", f64::from(pacing.slips)),
                    ("slipped_ms", pacing.slipped_s * 1e3),
                ],
            );
        }
    }

    fn intervals(&mut self, prefix: &str, rate: u32, times: &[i64]) {
        let mut gaps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let Some(last) = gaps.len().checked_sub(1) else {
            self.figures
                .skip(format!("{prefix} interval"), "nothing arrived");
            return;
        };
        for (what, share) in [("p1", 0.01), ("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
            let gap = gaps[(last as f64 * share).round() as usize];
            self.figures
                .put(format!("{prefix} interval_{what}_us"), gap as f64 / 1e3);
        }
        let ideal = 1e9 / f64::from(rate);
        let mut errors: Vec<f64> = gaps.iter().map(|gap| (*gap as f64 - ideal).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let error = errors[(last as f64 * 0.99).round() as usize];
        self.figures
            .put(format!("{prefix} interval_error_p99_us"), error / 1e3);
    }
}
