use nicety_model::plan::Preset;
use nicety_model::{Plan, Verdict};

use super::*;
use crate::preset::DEFAULT_LOSS_RATIO;
use crate::summary::tests::cell;

fn keys() -> Vec<CellKey> {
    let paths =
        "[[path]]\nkind = \"bridge\"\n[[path]]\nkind = \"ports\"\na = \"eth1\"\nb = \"eth2\"\n";
    let text = format!("[traffic]\nframe_sizes = [64, 1518]\n{paths}");
    Plan::parse("plan.toml", &text).unwrap().cells().collect()
}

fn view<'a>(preset: Preset, cells: &'a [CellKey], results: &'a [CellResult]) -> RunView<'a> {
    let settings = Settings::of(preset, DEFAULT_LOSS_RATIO);
    RunView {
        settings,
        goals: &[],
        latency_load: &[],
        bursts: false,
        recovery: Duration::ZERO,
        reset: false,
        visits: settings.visits(1),
        cells,
        results,
    }
}

fn task(cell: u32, repeat: u32) -> Task {
    Task {
        cell,
        repeat,
        control: None,
    }
}

fn visit(key: &CellKey, repeat: u32, fps: f64) -> CellResult {
    CellResult {
        repeat,
        window_s: Some(0.01),
        ..cell(&key.name(), Some(fps), Verdict::Ok)
    }
}

#[test]
fn what_was_measured_is_not_scheduled_again() {
    let keys = keys();
    let results = [visit(&keys[2], 1, 1e6)];
    let view = view(Preset::Std, &keys, &results);
    let schedule = view.schedule(7, None);
    let left: Vec<Task> = schedule.left_out().collect();
    assert_eq!(left, [0, 1, 3].map(|cell| task(cell, 1)));
    assert_eq!(view.left_out(&schedule)[0], keys[0].name());
}

#[test]
fn very_much_that_is_left_out_is_counted() {
    let keys: Vec<CellKey> = keys().into_iter().cycle().take(52).collect();
    let view = view(Preset::Std, &keys, &[]);
    let left_out = view.left_out(&view.schedule(7, None));
    assert_eq!((left_out.len(), left_out[50].as_str()), (51, "and 2 more"));
}

#[test]
fn a_wide_cell_is_visited_again_where_there_is_time() {
    let keys = &keys()[..1];
    // The fifth visit is far off.
    let visits = |last: f64| -> Vec<CellResult> {
        let fps = [1e6, 1e6, 1e6, 1e6, last];
        (1..)
            .zip(fps)
            .map(|(n, fps)| visit(&keys[0], n, fps))
            .collect()
    };
    for (preset, last, time_box, further) in [
        (Preset::Robust, 0.8e6, None, true),
        (Preset::Robust, 0.8e6, Some(Duration::from_secs(60)), false),
        (Preset::Robust, 1e6, None, false),
        (Preset::Std, 0.8e6, None, false),
    ] {
        let results = visits(last);
        let view = view(preset, keys, &results);
        let next = view.next(&view.schedule(7, time_box), 59.0);
        let expected = matches!(next, Next::Run(task, _) if task.repeat == 6);
        assert_eq!(
            expected, further,
            "{preset:?} {last} {time_box:?}: {next:?}"
        );
        assert!(further || next == Next::Done);
    }
}

#[test]
fn the_highest_load_is_the_least_of_what_is_known() {
    let keys = keys();
    let (bridge, ports) = (&keys[0], &keys[2]);
    let view = view(Preset::Std, &keys, &[]);
    // 64 bytes at 1 Gbit/s are 1.488 million frames per second.
    for (key, limit, mbps, max, line) in [
        (bridge, None, None, 2e6, false),
        (bridge, Some(Fps(1e6)), Some(1000.0), 1.05e6, false),
        (ports, Some(Fps(3e6)), Some(1000.0), 1e9 / 672.0, true),
        (ports, Some(Fps(1e6)), Some(1000.0), 1.05e6, false),
        (ports, Some(Fps(3e6)), None, 3.15e6, false),
    ] {
        let before = Before {
            tester_limit: limit,
            line_mbps: mbps,
            share_s: None,
        };
        let (plan, line_rate) = view.visit(task(0, 1), key, before);
        assert!((plan.max.0 - max).abs() < 1.0, "{:?} {max}", plan.max);
        assert_eq!(line_rate.is_some(), line);
    }
}

#[test]
fn only_the_last_of_several_visits_is_confirmed_and_all_know_the_earlier() {
    let keys = keys();
    let results: Vec<CellResult> = (1..=2).map(|n| visit(&keys[0], n, 1e6)).collect();
    let before = Before {
        tester_limit: None,
        line_mbps: None,
        share_s: None,
    };
    for (preset, repeat, control, brief) in [
        (Preset::Robust, 1, None, true),
        (Preset::Robust, 3, None, false),
        (Preset::Std, 1, None, false),
        (Preset::Std, 1, Some(1), true),
    ] {
        let view = view(preset, &keys, &results);
        let task = Task {
            control,
            ..task(0, repeat)
        };
        let (plan, _) = view.visit(task, &keys[0], before);
        assert_eq!(plan.latency_shares.is_empty(), brief, "{preset:?} {repeat}");
        assert_eq!(plan.earlier, [Fps(1e6); 2]);
        let (other, _) = view.visit(task, &keys[1], before);
        assert!(other.earlier.is_empty());
        let boxed = Before {
            share_s: Some(20.0),
            ..before
        };
        assert!(view.visit(task, &keys[0], boxed).0.budget.is_some());
    }
}
