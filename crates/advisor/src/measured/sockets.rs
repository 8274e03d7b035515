//! Socket tests of a plan, before and after.

use nicety_model::Run;
use nicety_model::measured::{MeasuredCell, MeasuredTarget, MeasuredUnit, RatePoint};
use nicety_model::sock::{Ending, SockResult, SockSeries};

use super::mean;

/// The tests that have the target's number in every run.
pub(super) fn cells(target: MeasuredTarget, before: &[Run], after: &[Run]) -> Vec<MeasuredCell> {
    let tests = before.first().map(|run| run.sockets.as_slice());
    let tests = tests.unwrap_or_default().iter();
    tests
        .filter_map(|test| {
            Some(MeasuredCell {
                before: values(target, before, &test.name)?,
                after: values(target, after, &test.name)?,
                unit: unit(target, test)?,
                curve_before: Vec::new(),
                curve_after: Vec::new(),
                rates_before: rates(before, &test.name),
                rates_after: rates(after, &test.name),
                cell: test.name.clone(),
            })
        })
        .collect()
}

fn unit(target: MeasuredTarget, test: &SockSeries) -> Option<MeasuredUnit> {
    let transactions = complete(test).next()?.transactions_per_s.is_some();
    Some(match target {
        MeasuredTarget::LatencyP99 => MeasuredUnit::P99Us,
        _ if transactions => MeasuredUnit::TransactionsPerS,
        _ => MeasuredUnit::GoodputMbps,
    })
}

fn complete(test: &SockSeries) -> impl Iterator<Item = &SockResult> {
    let results = test.results.iter();
    results.filter(|result| result.ending == Ending::Complete)
}

/// One number per run; `None` when a run has none. A stream has no latency.
fn values(target: MeasuredTarget, runs: &[Run], name: &str) -> Option<Vec<f64>> {
    let one = |run: &Run| {
        let test = run.sockets.iter().find(|test| test.name == name)?;
        value(target, test)
    };
    runs.iter().map(one).collect()
}

/// The target's number of a test.
pub(super) fn value(target: MeasuredTarget, test: &SockSeries) -> Option<f64> {
    let number = |result: &SockResult| match target {
        MeasuredTarget::LatencyP99 => result.latency_us.as_ref().map(|latency| latency.p99),
        _ => result.headline(),
    };
    let numbers: Vec<f64> = complete(test)
        .filter_map(number)
        .filter(|number| number.is_finite() && *number > 0.0)
        .collect();
    match (numbers.as_slice(), test.curve.is_empty(), target) {
        ([], _, _) => None,
        (repeats, true, _) => Some(mean(repeats)),
        // More and more pairs: the most that came through, or the latency of the fewest.
        (steps, false, MeasuredTarget::LatencyP99) => steps.first().copied(),
        (steps, false, _) => steps.iter().copied().reduce(f64::max),
    }
}

/// Whether it has transactions, and so a latency.
pub(super) fn has_transactions(test: &SockSeries) -> bool {
    let mut results = test.results.iter();
    results.any(|result| result.spec.test.has_transactions())
}

/// Every repeat, fewest pairs first.
fn rates(runs: &[Run], name: &str) -> Vec<RatePoint> {
    let tests = runs.iter().flat_map(|run| &run.sockets);
    let results = tests.filter(|test| test.name == name).flat_map(complete);
    let mut points: Vec<RatePoint> = results
        .filter_map(|result| {
            let rate = result.headline()?;
            let parallel = result.spec.parallel;
            Some(RatePoint { parallel, rate })
        })
        .collect();
    points.sort_by(|a, b| a.parallel.cmp(&b.parallel).then(a.rate.total_cmp(&b.rate)));
    points
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nicety_model::finding::Goal;
    use nicety_model::measured::MeasuredDecision;
    use nicety_model::sock::{Family, SockSpec, SockTest};

    use super::*;
    use crate::measured::{failed, judge, mend, target};

    fn result(test: SockTest, rate: f64) -> SockResult {
        let mut result = SockResult {
            schema: 1,
            cell: String::new(),
            path: "veth".to_owned(),
            family: Family::Ipv4,
            spec: SockSpec::new(test, Duration::from_secs(1)),
            repeat: 1,
            neighbours: None,
            ending: Ending::Complete,
            elapsed_s: 1.0,
            transactions_per_s: None,
            goodput_mbps: None,
            offered_mbps: None,
            latency_us: None,
            requests: None,
            datagrams: None,
            loss_ratio: None,
            service_demand: None,
            tcp_efficiency_ratio: None,
            buffer_delay_ratio: None,
            client: Default::default(),
            server: None,
            notes: Vec::new(),
        };
        if test.has_transactions() {
            result.transactions_per_s = Some(rate);
            result.latency_us = Some(nicety_model::LatencySummary {
                p99: 1e6 / rate,
                ..Default::default()
            });
        } else {
            result.goodput_mbps = Some(rate);
        }
        result
    }

    /// A run of a request/response test and a stream, two repeats each.
    fn run(rate: f64) -> Run {
        let series = |test: SockTest, name: &str| SockSeries {
            name: name.to_owned(),
            results: vec![result(test, rate * 0.99), result(test, rate * 1.01)],
            headline: None,
            confidence: None,
            curve: Vec::new(),
            saturated_at: None,
        };
        Run {
            waterfalls: Vec::new(),
            schema: 1,
            run: nicety_model::run::RunHead {
                name: "made".to_owned(),
                started: String::new(),
                elapsed_s: 1.0,
                seed: 1,
                preset: "quick".to_owned(),
                estimator: None,
                loss_goal: 0.0,
                command: String::new(),
                complete: true,
                stopped_by: None,
                host: Default::default(),
                notes: Vec::new(),
            },
            tester_limit_fps: Default::default(),
            visits: Vec::new(),
            control: None,
            cells: Vec::new(),
            remedies: Vec::new(),
            sockets: vec![
                series(SockTest::TcpRr, "veth/tcp_rr/64"),
                series(SockTest::TcpStream, "veth/tcp_stream/65536"),
            ],
            skipped: Vec::new(),
            left_out: Vec::new(),
            trials: Vec::new(),
        }
    }

    #[test]
    fn both_kinds_of_test_are_judged_by_what_they_have() {
        let before = [run(1000.0), run(1001.0)];
        let after = [run(1100.0), run(1101.0)];
        let judgement = judge(target(Goal::Throughput), Vec::new(), &before, &after);
        assert_eq!(judgement.decision, MeasuredDecision::Kept);
        let units: Vec<MeasuredUnit> = judgement.cells.iter().map(|cell| cell.unit).collect();
        assert_eq!(
            units,
            [MeasuredUnit::TransactionsPerS, MeasuredUnit::GoodputMbps]
        );
        assert_eq!(judgement.cells[0].rates_before.len(), 4);
        assert!((judgement.gain.unwrap().gain - 0.1).abs() < 0.001);

        let latency = judge(target(Goal::Latency), Vec::new(), &before, &after);
        assert_eq!(latency.decision, MeasuredDecision::Kept);
        assert_eq!(latency.cells.len(), 1, "a stream has no latency");
        let same = judge(target(Goal::Throughput), Vec::new(), &before, &before);
        assert_eq!(same.decision, MeasuredDecision::NoEffect);
    }

    #[test]
    fn an_interrupted_test_has_no_number() {
        let mut broken = run(1990.0);
        for result in &mut broken.sockets[0].results {
            result.ending = Ending::PeerLost;
        }
        let before = [run(1000.0), run(1000.0)];
        let judged = |goal, last: &Run| {
            let after = [run(2000.0), last.clone()];
            judge(target(goal), Vec::new(), &before, &after)
        };
        // The other test gains, but nothing is kept that may have broken one.
        for goal in [Goal::Latency, Goal::Throughput] {
            let judgement = judged(goal, &broken);
            assert_eq!(judgement.decision, MeasuredDecision::NotMeasured, "{goal}");
            assert_eq!(judgement.failed, ["veth/tcp_rr/64"]);
        }
        // It has a number when it is repeated.
        let wanted = target(Goal::Throughput);
        mend(wanted, &mut broken, &run(2000.0));
        assert!(failed(wanted, &broken).is_empty());
        let judgement = judged(Goal::Throughput, &broken);
        assert_eq!(judgement.decision, MeasuredDecision::Kept);
        // Not even there, in one of them.
        broken.sockets.pop();
        let judgement = judged(Goal::Throughput, &broken);
        assert_eq!(judgement.failed, ["veth/tcp_stream/65536"]);
        assert_eq!(judgement.decision, MeasuredDecision::NotMeasured);
    }
}
