use nicety_model::{CellKey, Direction, FrameSize, PathSpec, SearchBounds};

use super::*;

pub(crate) fn cell(name: &str, throughput_fps: Option<f64>, verdict: Verdict) -> CellResult {
    CellResult {
        schema: 1,
        cell: name.to_owned(),
        repeat: 1,
        control: None,
        key: CellKey {
            path: PathSpec::Bridge,
            frame_size_bytes: FrameSize::new(64).unwrap(),
            direction: Direction::Uni,
            flows: 1,
            shape: nicety_model::Shape::default(),
        },
        engine: String::new(),
        loss_goal: 0.0001,
        throughput_fps,
        goals: Vec::new(),
        bounds: SearchBounds::default(),
        estimate: None,
        capacity_fps: None,
        window_s: None,
        throughput_l1_mbps: None,
        throughput_l2_mbps: None,
        tester_limit_fps: None,
        confirm: None,
        held: None,
        latency_us: None,
        latency_by_load_us: Vec::new(),
        curve: Vec::new(),
        back_to_back: None,
        recovery: None,
        reset: None,
        hardware_latency: Vec::new(),
        cpu: None,
        loss_ledger: Vec::new(),
        overload_ledger: Vec::new(),
        fates: Vec::new(),
        built: None,
        frames: None,
        guests: Vec::new(),
        sizes: Vec::new(),
        disturbance: None,
        cache_line_ns: None,
        trials: 1,
        search_s: 1.0,
        verdict,
        notes: Vec::new(),
    }
}

#[test]
fn repeats_are_summed_up_in_the_plans_order_with_their_worst_verdict() {
    let mut visit = cell("a", Some(50.0), Verdict::Failed);
    visit.control = Some(1);
    let cells = [
        cell("b", Some(10.0), Verdict::Ok),
        cell("a", Some(90.0), Verdict::Noisy),
        visit,
        cell("a", Some(110.0), Verdict::Unstable),
        cell("b", None, Verdict::Failed),
    ];
    let summary = summarise(["a", "b", "never run"], &results(&cells));
    assert_eq!(summary.len(), 2);
    assert_eq!(
        (summary[0].cell.as_str(), summary[0].verdict),
        ("a", Verdict::Unstable)
    );
    let spread = summary[0].spread_fps.unwrap();
    assert_eq!((spread.ave, spread.n), (100.0, 2));
    assert_eq!(
        (summary[1].spread_fps.unwrap().n, summary[1].verdict),
        (1, Verdict::Failed)
    );
}

#[test]
fn drift_is_the_largest_over_the_smallest() {
    let mut cells = vec![cell("a", Some(100.0), Verdict::Ok)];
    assert_eq!(control("a", &cells, DRIFT_LIMIT), None);
    for (visit, value) in [(1, Some(95.0)), (2, None), (3, Some(104.5))] {
        let mut result = cell("a", value, Verdict::Ok);
        result.control = Some(visit);
        cells.push(result);
    }
    cells.push(cell("b", Some(1.0), Verdict::Ok));
    let summary = control("a", &cells, DRIFT_LIMIT).unwrap();
    assert_eq!(summary.throughput_fps, [100.0, 95.0, 104.5]);
    assert_eq!(summary.failed, 1);
    assert!((summary.drift - 0.1).abs() < 1e-12);
    assert!(summary.drift > summary.drift_limit);
}

#[test]
fn a_visit_of_the_control_cell_stands_in_where_no_repeat_found_a_throughput() {
    let mut visit = cell("a", Some(74.0), Verdict::Ok);
    visit.control = Some(1);
    let failed = || cell("a", None, Verdict::Failed);
    let mut second = failed();
    second.control = Some(2);
    let cells = results(&[failed(), visit.clone(), second, failed()]);
    assert_eq!(cells.len(), 3);
    assert_eq!(cells[1].notes, [SearchNote::StandIn.into()]);
    let summary = summarise(["a"], &cells);
    let spread = summary[0].spread_fps.unwrap();
    assert_eq!((spread.ave, spread.n), (74.0, 1));
    assert_eq!(summary[0].verdict, Verdict::Failed);
    // It does not where one has.
    let cells = results(&[cell("a", Some(80.0), Verdict::Ok), visit, failed()]);
    assert_eq!(cells.len(), 2);
    assert!(cells.iter().all(|cell| cell.notes.is_empty()));
}
