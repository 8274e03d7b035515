//! Three loss goals in one search, beside the strictest alone: the time of both, and what each found.

use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{Fps, LossGoal};
use nicety_search::{Cell, CellPlan, Settings};
use nicety_testkit::sut::{Path, REFERENCE_MAX, Sut, busy_paths, reference_paths};
use serde_json::{Map, Value, json};

use super::{MIN, SEEDS, mean, spread, visit_all};

/// No loss, 0.01 %, 0.5 %.
const LOSSES: [f64; 3] = [0.0, 0.0001, 0.005];
/// Time between two visits of a cell.
const APART_S: f64 = 25.0;

/// Wall seconds of the searches of all visits of a cell, and the mean of what they found per goal.
fn cell(preset: Preset, losses: &[f64], path: Path, seed: u64) -> (f64, Vec<f64>) {
    let settings = Settings::of(preset, losses[0]);
    let mut plan = CellPlan::new(settings, REFERENCE_MAX).brief();
    plan.min = MIN;
    plan.warm_up = Duration::from_millis(400);
    let goal = |loss: &f64| LossGoal {
        name: None,
        loss_ratio: *loss,
    };
    plan.goals = losses.iter().map(goal).collect();
    let (mut wall, mut found) = (0.0, vec![Vec::new(); losses.len()]);
    let expected = |found: &Vec<f64>| (!found.is_empty()).then(|| Fps(mean(found)));
    let mut sut = Sut::new(path, seed);
    for _ in 0..settings.visits(1) {
        plan.expect = expected(&found[0]);
        plan.expect_further = found[1..].iter().map(expected).collect();
        let mut visit = Cell::new(plan.clone()).unwrap();
        wall += visit_all(&mut visit, &mut sut).0;
        for (goal, found) in found.iter_mut().enumerate() {
            found.extend(visit.outcome_of(goal).throughput.map(|fps| fps.0));
        }
        sut.wait(APART_S);
    }
    (wall, found.iter().map(|found| mean(found)).collect())
}

/// Prints and writes down a row per preset and path, and below it the peer's.
pub fn compare(
    peer: Option<&Map<String, Value>>,
    figures: &mut Map<String, Value>,
    ratios: &mut Map<String, Value>,
) {
    println!("\nthree goals (no loss, 0.01 %, 0.5 %) in one search, beside the strictest alone");
    println!(
        "{:<10} {:<8} {:>8} {:>8} {:>6}   Mpps for each goal",
        "preset", "path", "wall s", "alone", "ratio"
    );
    for (preset, name) in [
        (Preset::Robust, "robust"),
        (Preset::Std, "std"),
        (Preset::Csit, "csit"),
    ] {
        for (path_name, path) in reference_paths().into_iter().chain(busy_paths()) {
            // Whole trials on the other paths are not what they are for, and take minutes.
            let known = reference_paths().iter().any(|one| one.0 == path_name);
            if preset != Preset::Robust && !known {
                continue;
            }
            let three: Vec<_> = (0..SEEDS)
                .map(|seed| cell(preset, &LOSSES, path, seed))
                .collect();
            let alone = (0..SEEDS).map(|seed| cell(preset, &LOSSES[..1], path, seed).0);
            let alone: Vec<f64> = alone.collect();
            let walls: Vec<f64> = three.iter().map(|(wall, _)| *wall).collect();
            let of = |goal: usize| -> Vec<f64> {
                let found = three.iter().map(|(_, found)| found[goal]);
                found.filter(|fps| *fps > 0.0).collect()
            };
            let found = [0, 1, 2].map(|goal| mean(&of(goal)) / 1e6);
            let ratio = mean(&walls) / mean(&alone);
            println!(
                "{name:<10} {path_name:<8} {:>8.1} {:>8.1} {ratio:>6.2}   {:.4} {:.4} {:.4}",
                mean(&walls),
                mean(&alone),
                found[0],
                found[1],
                found[2],
            );
            let key = format!("{name} 3 goals/{path_name}");
            figures.insert(format!("{key} wall_s"), json!(mean(&walls)));
            figures.insert(format!("{key} strictest alone wall_s"), json!(mean(&alone)));
            let mut each: Vec<f64> = walls.iter().zip(&alone).map(|(a, b)| a / b).collect();
            ratios.insert(format!("{key} wall to strictest alone"), spread(&mut each));
            let wall = |goals: usize| {
                peer?.get(&format!("{name} {goals} goals/{path_name}"))?["wall_s"].as_f64()
            };
            if let (Some(three), Some(alone)) = (wall(3), wall(1)) {
                let ratio = three / alone;
                println!(
                    "{:<10} {path_name:<8} {three:>8.1} {alone:>8.1} {ratio:>6.2}",
                    "  peer"
                );
                figures.insert(format!("{key} wall_s of MLRsearch"), json!(three));
            }
        }
    }
}
