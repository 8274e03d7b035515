//! What daemons were fed with is recorded, and their machines give the same outputs again.

use super::super::log::{Beginning, Line, replay};
use super::super::{Input, Output};
use super::machine::{Stage, TTL};
use super::world::{Action, Link, Setup, World};

/// Two hosts that lead, a daemon that starts anew, a lease that ends, and messages that are late.
fn recorded() -> Vec<(Beginning, Vec<Line>)> {
    let mut world = World::new(&Setup {
        rates: vec![900, 1000, 1100],
        store_rate: 1000,
        fixed: false,
        tenants: vec![(1_000_000, 300_000), (50_000, 0)],
    });
    for host in &mut world.hosts {
        host.kill();
        host.records = true;
        host.start();
    }
    let run = Action::Run(3_000);
    let actions = [
        Action::Elect(0, true),
        Action::Demand(0, 0, 900_000),
        run.clone(),
        Action::Elect(1, true),
        Action::Link(1, Link::Slow(1_200)),
        Action::Demand(1, 0, 2_000_000),
        run.clone(),
        run.clone(),
        Action::Restart(2, Stage::Done),
        Action::Demand(2, 1, 40_000),
        run.clone(),
        Action::Link(0, Link::Down),
        Action::Run(2 * TTL),
        Action::Link(0, Link::Up),
        run,
    ];
    for action in &actions {
        world.take(action).unwrap();
    }
    let hosts = world.hosts.into_iter();
    hosts.flat_map(|host| host.recorded).collect()
}

#[test]
fn a_recorded_log_replays_to_the_same_outputs() {
    let logs = recorded();
    // One of each host, and one of the daemon that was started anew.
    assert_eq!(logs.len(), 4);
    let lines = || logs.iter().flat_map(|(_, lines)| lines);
    let some = |what: fn(&Output) -> bool| lines().any(|line| what(&line.output));
    assert!(some(|output| !output.batches.is_empty()));
    assert!(some(|output| output.report.is_some()));
    assert!(some(|output| output.register.is_some()));
    assert!(some(|output| output.remember.is_some()));
    assert!(lines().any(|line| matches!(line.input, Input::Applied(_))));
    for log in &logs {
        let text = serde_json::to_string(log).unwrap();
        let (beginning, lines): (Beginning, Vec<Line>) = serde_json::from_str(&text).unwrap();
        assert_eq!(replay(&beginning, &lines), None);
    }
}

#[test]
fn a_replay_names_the_first_line_that_differs() {
    let (beginning, mut lines) = recorded().swap_remove(0);
    let mut with_orders = (0..lines.len()).filter(|at| lines[*at].output.orders.is_some());
    let at = with_orders.nth(3).unwrap();
    let right = std::mem::take(&mut lines[at].output);
    assert_eq!(replay(&beginning, &lines), Some((at, right)));
    // An input that is missing shows in what comes after.
    let (beginning, mut lines) = recorded().swap_remove(0);
    let renewed = |line: &Line| matches!(line.input, Input::Lease(_));
    lines.remove(lines.iter().position(renewed).unwrap());
    assert!(replay(&beginning, &lines).is_some());
}
