use super::*;

fn outline(repeats: u32) -> Outline {
    Outline {
        repeats,
        seed: 7,
        time_box_s: None,
        cell_s: 25.0,
        visit_s: 10.0,
        brief: false,
    }
}

/// `paths` times seven frame sizes.
fn matrix(paths: u32) -> Vec<Marks> {
    let sizes = nicety_model::frame::RFC2544_SIZES;
    (0..paths)
        .flat_map(|path| sizes.map(|frame_size| Marks { path, frame_size }))
        .collect()
}

/// Runs to the end, each task taking `cost` seconds.
fn run(schedule: &mut Schedule, cost: impl Fn(Task) -> f64) -> (Vec<Task>, f64, Next) {
    let (mut order, mut elapsed) = (Vec::new(), 0.0);
    loop {
        match schedule.next(elapsed) {
            Next::Run(task, _) => {
                let wall = cost(task);
                elapsed += wall;
                order.push(task);
                schedule.finish(task, wall);
            }
            end => return (order, elapsed, end),
        }
    }
}

#[test]
fn every_task_once_in_rounds_with_the_control_cell_at_start_middle_and_end() {
    let mut schedule = Schedule::new(outline(3), matrix(1), []);
    assert_eq!(schedule.eta_s(0.0), 21.0 * 25.0 + 2.0 * 10.0);
    let (order, _, end) = run(&mut schedule, |_| 20.0);
    assert_eq!(end, Next::Done);
    let ordinary: Vec<Task> = order
        .iter()
        .copied()
        .filter(|t| t.control.is_none())
        .collect();
    assert_eq!(ordinary.len(), 21);
    assert_eq!(ordinary.iter().collect::<HashSet<_>>().len(), 21);
    assert!(
        ordinary
            .windows(2)
            .all(|pair| pair[0].repeat <= pair[1].repeat),
        "{ordinary:?}"
    );
    assert_eq!(
        order[0],
        Task {
            cell: 0,
            repeat: 1,
            control: None
        }
    );
    let visits: Vec<usize> = order
        .iter()
        .enumerate()
        .filter(|(_, t)| t.control.is_some())
        .map(|(i, _)| i)
        .collect();
    assert_eq!(visits, [11, 22]);
    assert_eq!((schedule.left_out().count(), schedule.eta_s(0.0)), (0, 0.0));
}

#[test]
fn the_seed_decides_the_order() {
    let order = |seed| {
        let mut schedule = Schedule::new(Outline { seed, ..outline(2) }, matrix(3), []);
        run(&mut schedule, |_| 1.0).0
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let mut cells: Vec<u32> = order(1)
        .iter()
        .filter(|t| t.control.is_none())
        .map(|t| t.cell)
        .take(21)
        .collect();
    assert!(!cells.is_sorted());
    cells.sort_unstable();
    assert_eq!(cells, (0..21).collect::<Vec<_>>());
}

#[test]
fn a_resumed_run_goes_on_in_the_same_order() {
    let whole = run(&mut Schedule::new(outline(3), matrix(2), []), |_| 1.0).0;
    for done in [0, 1, 5, 14, 15, 22, 23, 40] {
        let mut schedule = Schedule::new(outline(3), matrix(2), whole[..done].iter().copied());
        assert_eq!(run(&mut schedule, |_| 1.0).0, whole[done..], "after {done}");
    }
}

#[test]
fn a_time_box_shows_every_path_and_size_first_and_is_kept() {
    let limit = 16.0 * 25.0;
    let boxed = Outline {
        time_box_s: Some(limit),
        ..outline(3)
    };
    let mut schedule = Schedule::new(boxed, matrix(10), []);
    assert_eq!(schedule.eta_s(0.0), limit);
    let (order, elapsed, end) = run(
        &mut schedule,
        |t| if t.control.is_some() { 10.0 } else { 24.0 },
    );
    assert_eq!(end, Next::OutOfTime);
    assert!(elapsed <= limit, "{elapsed}");
    let marks = matrix(10);
    let seen = |of: fn(&Marks) -> u32| -> usize {
        order
            .iter()
            .map(|t| of(&marks[t.cell as usize]))
            .collect::<HashSet<_>>()
            .len()
    };
    assert_eq!(
        (seen(|m| m.path), seen(|m| u32::from(m.frame_size))),
        (10, 7)
    );
    assert!(order.iter().all(|task| task.repeat == 1));
    let begin = order.iter().filter(|task| task.control.is_none());
    let paths: Vec<u32> = begin.map(|task| marks[task.cell as usize].path).collect();
    assert!(paths[..10].is_sorted(), "{paths:?}");
    // Cut short, the run still ends with a look at the control cell.
    assert!(order.last().unwrap().control.is_some());
    assert_eq!(schedule.left_out().count(), 210 - schedule.progress().0);
}

#[test]
fn cells_that_do_not_fit_are_not_begun() {
    let boxed = Outline {
        time_box_s: Some(20.0),
        ..outline(1)
    };
    assert_eq!(
        Schedule::new(boxed, matrix(1), []).next(0.0),
        Next::OutOfTime
    );
    let schedule = Schedule::new(boxed, matrix(1), []);
    let needed = schedule.next_needs_s().unwrap();
    assert!((needed - 25.0 * MARGIN).abs() < 1e-9, "{needed}");
    let longer = Outline {
        time_box_s: Some(needed),
        ..boxed
    };
    let fits = Schedule::new(longer, matrix(1), []).next(0.0);
    assert!(matches!(fits, Next::Run(..)), "{fits:?}");
    let boxed = Outline {
        time_box_s: Some(60.0),
        ..outline(1)
    };
    let mut schedule = Schedule::new(boxed, matrix(1), []);
    assert!(matches!(schedule.next(0.0), Next::Run(..)));
    schedule.finish(
        Task {
            cell: 0,
            repeat: 1,
            control: None,
        },
        40.0,
    );
    // It took longer than expected: what is left is too little for another.
    assert_eq!(schedule.next(40.0), Next::OutOfTime);
}

#[test]
fn impossible_cells_are_passed_over() {
    let mut schedule = Schedule::new(outline(2), matrix(1), []);
    schedule.skip(3);
    let (order, _, _) = run(&mut schedule, |_| 1.0);
    assert!(order.iter().all(|task| task.cell != 3));
    assert_eq!(schedule.progress(), (14, 14));
}

#[test]
fn a_hundred_thousand_cells() {
    let cells = (0..100_000u32).map(|n| Marks {
        path: n / 7,
        frame_size: 64 + (n % 7) as u16,
    });
    let mut schedule = Schedule::new(outline(1), cells, []);
    let (order, _, end) = run(&mut schedule, |_| 1.0);
    assert_eq!(
        (order.len(), end),
        (100_000 + schedule.visits.len(), Next::Done)
    );
    assert_eq!(schedule.visits.len(), 5_000);
}

#[test]
fn short_runs_have_no_visits() {
    let mut schedule = Schedule::new(outline(2), matrix(1).into_iter().take(1), []);
    assert_eq!(run(&mut schedule, |_| 1.0).0.len(), 2);
    assert_eq!(Schedule::new(outline(2), [], []).next(0.0), Next::Done);
}

#[test]
fn where_time_is_short_cells_come_before_visits_and_share_what_is_left() {
    // Seven cells of 25 s and two visits of 10 s, with the margin, fit only near the end.
    let boxed = Outline {
        time_box_s: Some(205.0),
        ..outline(1)
    };
    let mut schedule = Schedule::new(boxed, matrix(1), []);
    let (order, _, end) = run(
        &mut schedule,
        |t| if t.control.is_some() { 10.0 } else { 25.0 },
    );
    let visits: Vec<usize> = (0..order.len())
        .filter(|n| order[*n].control.is_some())
        .collect();
    assert_eq!((visits, end), (vec![6, 8], Next::Done));
    let schedule = Schedule::new(boxed, matrix(1), []);
    let next = Task {
        cell: 0,
        repeat: 1,
        control: None,
    };
    let share = schedule.share_s(next, 30.0).unwrap();
    assert!((share - 175.0 / 7.0 / MARGIN).abs() < 1e-9, "{share}");
    assert_eq!(
        Schedule::new(outline(1), matrix(1), []).share_s(next, 0.0),
        None
    );
}

fn brief(time_box_s: Option<f64>) -> Outline {
    Outline {
        time_box_s,
        cell_s: 12.0,
        visit_s: 3.0,
        brief: true,
        ..outline(5)
    }
}

fn cost(task: Task) -> f64 {
    if task.repeat == 5 { 12.0 } else { 3.0 }
}

#[test]
fn brief_visits_come_in_rounds_and_the_last_has_its_time() {
    let mut schedule = Schedule::new(brief(None), matrix(1), []);
    assert_eq!(schedule.eta_s(0.0), 7.0 * (4.0 * 3.0 + 12.0));
    let (order, elapsed, end) = run(&mut schedule, cost);
    assert_eq!((order.len(), elapsed, end), (35, 168.0, Next::Done));
    assert!(order.is_sorted_by_key(|task| task.repeat));
    // Too short for all: every cell once, brief ones while the last fit, all of these.
    let mut schedule = Schedule::new(brief(Some(150.0)), matrix(1), []);
    let (order, elapsed, end) = run(&mut schedule, cost);
    let count = |repeat: u32| order.iter().filter(|task| task.repeat == repeat).count();
    assert_eq!(
        (count(1), count(5), end),
        (7, 7, Next::OutOfTime),
        "{order:?}"
    );
    assert!(count(2) == 7 && elapsed > 120.0, "{elapsed}");
    // Shorter still.
    let mut schedule = Schedule::new(brief(Some(60.0)), matrix(1), []);
    let (order, _, _) = run(&mut schedule, cost);
    let last = order.iter().filter(|task| task.repeat == 5).count();
    assert_eq!((order.len(), last), (7 + 3, 3), "{order:?}");
}

#[test]
fn further_visits_take_what_is_left_and_a_resumed_run_knows_them() {
    let mut schedule = Schedule::new(brief(Some(200.0)), matrix(1), []);
    let (mut order, elapsed, _) = run(&mut schedule, cost);
    assert_eq!(elapsed, 168.0);
    let Next::Run(task, expected) = schedule.further(3, 6, elapsed) else {
        panic!("no further visit");
    };
    assert_eq!((task.cell, task.repeat, expected), (3, 6, 3.0));
    schedule.finish(task, 3.0);
    order.push(task);
    assert_eq!(schedule.next(171.0), Next::Done);
    assert_eq!(schedule.further(3, 7, 198.0), Next::OutOfTime);
    let resumed = Schedule::new(brief(Some(200.0)), matrix(1), order);
    assert_eq!(
        (resumed.next(171.0), resumed.progress()),
        (Next::Done, (35, 35))
    );
}

#[test]
fn what_is_left_over_goes_to_the_visit_that_needs_it() {
    let schedule = Schedule::new(brief(Some(200.0)), matrix(1), []);
    let last = Task {
        cell: 0,
        repeat: 5,
        control: None,
    };
    // All others take 168 - 12 s, with their margin.
    let share = schedule.share_s(last, 0.0).unwrap();
    assert!((share - (200.0 - MARGIN * 156.0)).abs() < 1e-9, "{share}");
    assert_eq!(schedule.share_s(last, 190.0), Some(12.0));
}
