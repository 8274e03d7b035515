//! One test after another of the same series: how often, with how many pairs, and when it is
//! enough. A pure machine, so that results of an earlier session can be fed to it again.

use nicety_model::Note;
use nicety_model::plan::HowOften;
use nicety_model::sock::{CurvePoint, SockResult, SockSeries};

use crate::workload::confidence::{Repeats, RepeatsError};
use crate::workload::saturation::Saturation;

/// What to measure next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Repeat, from 1.
    pub repeat: u32,
    /// Pairs at once, where the series looks for their number.
    pub parallel: Option<u32>,
}

/// A series under way.
#[derive(Debug, Clone)]
pub struct Steps {
    how: How,
    results: Vec<SockResult>,
}

#[derive(Debug, Clone)]
enum How {
    Times(u32),
    Until(Repeats),
    Saturate(Saturation),
}

impl Steps {
    /// Nothing measured yet.
    ///
    /// # Errors
    /// When level, width or number of repeats are out of range.
    pub fn new(how_often: HowOften) -> Result<Self, RepeatsError> {
        let how = match how_often {
            HowOften::Times(times) => How::Times(times),
            HowOften::Until {
                level_percent,
                width_percent,
                most,
            } => How::Until(Repeats::new(level_percent, width_percent, most)?),
            HowOften::Saturate(most) => How::Saturate(Saturation::new(most)),
        };
        Ok(Self {
            how,
            results: Vec::new(),
        })
    }

    /// What to measure next; `None` when it is enough.
    pub fn next(&self) -> Option<Step> {
        let repeat = self.results.len() as u32 + 1;
        match &self.how {
            How::Times(times) => (repeat <= *times).then_some(Step {
                repeat,
                parallel: None,
            }),
            How::Until(repeats) => repeats.again().then_some(Step {
                repeat,
                parallel: None,
            }),
            How::Saturate(search) => search.next().map(|parallel| Step {
                repeat: 1,
                parallel: Some(parallel),
            }),
        }
    }

    /// What came out of the last step asked for.
    pub fn observe(&mut self, result: SockResult) {
        match (&mut self.how, result.headline()) {
            (How::Times(_), _) => {}
            (How::Until(repeats), Some(figure)) => repeats.observe(figure),
            // Without a figure no interval ever closes.
            (How::Until(_), None) => self.how = How::Times(0),
            (How::Saturate(search), figure) => search.observe(CurvePoint {
                parallel: result.spec.parallel,
                rate: figure.unwrap_or(0.0),
                p99_us: result.latency_us.map(|latency| latency.p99),
                client_busy_cpus: result.client.cpu.map(|cpu| cpu.host_busy_cpus),
                server_busy_cpus: own_host(&result)
                    .then(|| Some(result.server.as_ref()?.cpu?.host_busy_cpus))
                    .flatten(),
            }),
        }
        self.results.push(result);
    }

    /// Everything measured so far as one series, without the spread of its figures.
    pub fn finish(self, name: String) -> SockSeries {
        let mut series = SockSeries {
            name,
            results: self.results,
            headline: None,
            confidence: None,
            curve: Vec::new(),
            saturated_at: None,
        };
        let mut leap = None;
        match self.how {
            How::Times(_) => {}
            How::Until(repeats) => series.confidence = Some(repeats.outcome()),
            How::Saturate(search) => {
                series.curve = search.curve().to_vec();
                series.saturated_at = search.saturated_at();
                leap = search.note();
            }
        }
        // The row of the table is that of the saturated path.
        if let Some(pairs) = series.saturated_at
            && let Some(at) = series.results.iter().position(|r| r.spec.parallel == pairs)
        {
            let result = series.results.remove(at);
            series.results.push(result);
        }
        if let Some(result) = series.results.last_mut() {
            result.notes.extend(leap.map(Note::from));
        }
        series
    }
}

/// Whether the server's host is not the client's.
fn own_host(result: &SockResult) -> bool {
    let demand = result.service_demand.as_ref();
    demand.is_some_and(|demand| !demand.shared_host)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nicety_model::sock::{EndReport, Ending, Family, SockSpec, SockTest};

    use super::*;
    use crate::workload::figures::{Ends, result};

    fn measured(rate: u64, step: Step) -> SockResult {
        let spec = SockSpec {
            parallel: step.parallel.unwrap_or(1),
            ..SockSpec::new(SockTest::TcpRr, Duration::from_secs(1))
        };
        let client = EndReport {
            active_s: 1.0,
            transactions: rate,
            ..EndReport::default()
        };
        let ends = Ends {
            path: "veth".to_owned(),
            family: Family::Ipv4,
            shared_host: true,
            ending: Ending::Complete,
            client,
            server: None,
        };
        result(&spec, step.repeat, ends)
    }

    #[test]
    fn a_series_goes_on_where_another_sitting_stopped() {
        let rate = |step: Step| u64::from(step.parallel.unwrap_or(1).min(4)) * 100;
        for how in [
            HowOften::Times(3),
            HowOften::Until {
                level_percent: 95,
                width_percent: 5.0,
                most: 10,
            },
            HowOften::Saturate(64),
        ] {
            let mut whole = Steps::new(how).unwrap();
            while let Some(step) = whole.next() {
                whole.observe(measured(rate(step), step));
            }
            let whole = whole.finish("x".to_owned());
            assert!(whole.results.len() >= 3, "{how:?}");
            for stop in 0..3 {
                let mut first = Steps::new(how).unwrap();
                let mut kept = Vec::new();
                for _ in 0..stop {
                    let step = first.next().unwrap();
                    kept.push(measured(rate(step), step));
                    first.observe(measured(rate(step), step));
                }
                let mut second = Steps::new(how).unwrap();
                kept.into_iter().for_each(|result| second.observe(result));
                while let Some(step) = second.next() {
                    second.observe(measured(rate(step), step));
                }
                assert_eq!(second.finish("x".to_owned()), whole, "{how:?}");
            }
        }
    }

    #[test]
    fn the_saturated_number_of_pairs_is_the_last_result() {
        let mut steps = Steps::new(HowOften::Saturate(64)).unwrap();
        while let Some(step) = steps.next() {
            let pairs = u64::from(step.parallel.unwrap());
            steps.observe(measured(pairs.min(4) * 100, step));
        }
        let series = steps.finish("x".to_owned());
        assert_eq!(series.saturated_at, Some(4));
        assert_eq!(series.results.last().unwrap().spec.parallel, 4);
        assert_eq!(series.curve.len(), series.results.len());
    }

    #[test]
    fn without_a_figure_repeating_ends() {
        let how = HowOften::Until {
            level_percent: 95,
            width_percent: 5.0,
            most: 10,
        };
        let mut steps = Steps::new(how).unwrap();
        let step = steps.next().unwrap();
        let mut nothing = measured(0, step);
        nothing.transactions_per_s = None;
        steps.observe(nothing);
        assert_eq!(steps.next(), None);
    }
}
