//! Cases drawn at random, shrunk when they exceed the cap.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::super::mutant::Mutant;
use super::machine::Stage;
use super::progress;
use super::world::{Action, Link, REMEMBERED, Setup, World};

/// Number of cases: `NICETY_MODEL_CASES`, or else a few.
#[allow(clippy::disallowed_methods, reason = "a test is told how long to run")]
pub fn cases(usual: u32) -> u32 {
    let asked = std::env::var("NICETY_MODEL_CASES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Where the cases begin: `NICETY_MODEL_SEED`, or else anywhere.
#[allow(clippy::disallowed_methods, reason = "a test is told where to begin")]
pub fn seed() -> u64 {
    let asked = std::env::var("NICETY_MODEL_SEED").ok();
    let anywhere = || RandomState::new().hash_one(());
    (asked.and_then(|text| text.parse().ok())).unwrap_or_else(anywhere)
}

fn setups() -> impl Strategy<Value = Setup> {
    let clock = || prop_oneof![Just(900u64), Just(1000), Just(1100), 900u64..=1100];
    let tenant = (100u64..100_000, prop_oneof![Just(0u64), 1u64..100_000]);
    let hosts = vec(clock(), 2..=5);
    (hosts, clock(), any::<bool>(), vec(tenant, 1..=2)).prop_map(
        |(rates, store_rate, fixed, tenants)| Setup {
            rates,
            store_rate,
            fixed,
            tenants,
        },
    )
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let host = || 0usize..5;
    let link = prop_oneof![
        3 => Just(Link::Up),
        2 => prop_oneof![100u64..3_000, 1_000u64..20_000].prop_map(Link::Slow),
        2 => Just(Link::Down),
        1 => Just(Link::Deaf),
    ];
    let stage = || {
        prop_oneof![
            3 => Just(Stage::Done),
            1 => Just(Stage::Disk),
            1 => Just(Stage::Guard),
            1 => Just(Stage::Kernel),
            1 => Just(Stage::Told),
        ]
    };
    let demand = prop_oneof![Just(0u64), Just(1_000_000), 0u64..200_000];
    let action = prop_oneof![
        8 => (250u64..3_000).prop_map(Action::Run),
        2 => (3_000u64..30_000).prop_map(Action::Run),
        3 => (host(), link).prop_map(|(host, link)| Action::Link(host, link)),
        2 => (host(), any::<bool>()).prop_map(|(host, on)| Action::Daemon(host, on)),
        1 => (host(), any::<bool>()).prop_map(|(host, on)| Action::Machine(host, on)),
        1 => host().prop_map(Action::Kill),
        2 => host().prop_map(Action::Start),
        2 => (host(), stage()).prop_map(|(host, stage)| Action::Stall(host, stage)),
        2 => (host(), stage()).prop_map(|(host, stage)| Action::FreezeAt(host, stage)),
        1 => (host(), stage()).prop_map(|(host, stage)| Action::Restart(host, stage)),
        2 => (host(), any::<bool>()).prop_map(|(host, on)| Action::Elect(host, on)),
        5 => (host(), 1u8..8).prop_map(|(host, which)| Action::Lose(host, which)),
        4 => (host(), 0usize..2, demand).prop_map(|(h, t, d)| Action::Demand(h, t, d)),
        4 => (0usize..REMEMBERED).prop_map(Action::Again),
        1 => host().prop_map(Action::Reread),
    ];
    vec(action, 1..60)
}

/// Draws cases until one fails. Gives how many were drawn, and of a failure the case, shrunk, and what
/// went wrong. Without a rule only the cap is looked at.
pub fn run_cases(
    cases: u32,
    missing: Option<Mutant>,
    seed: u64,
) -> (u32, Result<(), (String, String)>) {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: if missing.is_some() { 0 } else { 2_000 },
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let drawn = Cell::new(0);
    let result = runner.run(&(setups(), actions()), |(setup, actions)| {
        drawn.set(drawn.get() + 1);
        let mut world = World::new(&setup);
        for action in &actions {
            world.take(action).map_err(TestCaseError::fail)?;
        }
        match progress::check(&mut world) {
            Err(why) if missing.is_none() || world.check().is_err() => {
                Err(TestCaseError::fail(why))
            }
            _ => Ok(()),
        }
    });
    let result = match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, case)) => Err((format!("{case:#?}"), why.to_string())),
        Err(TestError::Abort(why)) => Err((String::new(), why.to_string())),
    };
    (drawn.get(), result)
}
