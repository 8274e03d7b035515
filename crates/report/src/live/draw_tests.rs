use nicety_model::SearchBounds;

use super::*;
use crate::live::span::text;

/// Two paths of seven sizes in the middle of a run.
fn board() -> Board {
    let sizes = [64, 128, 256, 512, 1024, 1280, 1518];
    let cells = ["bridge", "vm,nic=virtio-net"]
        .into_iter()
        .flat_map(|path| sizes.map(|size| (path.to_owned(), format!("{path}/{size}/uni"))));
    let mut board = Board::new(cells, 2);
    for (number, row) in board.rows.iter_mut().enumerate() {
        for (at, verdict) in [
            (0, Verdict::Ok),
            (1, Verdict::Unstable),
            (2, Verdict::Failed),
        ] {
            row.cells[at].1 = Square {
                done: 2,
                worst: Some(verdict),
                skipped: false,
                ..Square::default()
            };
        }
        row.cells[3].1 = Square {
            done: 1,
            worst: Some(Verdict::Ok),
            skipped: false,
            ..Square::default()
        };
        row.cells[6].1.skipped = number == 1;
    }
    board.cell("bridge/1024/uni", false);
    let bounds = |lower, upper| SearchBounds {
        lower_fps: lower,
        upper_fps: upper,
    };
    board.trial(1, Purpose::Search, 600_000.0, bounds(None, None));
    board.trial(
        7,
        Purpose::Search,
        412_345.0,
        bounds(Some(380_100.0), Some(430_200.0)),
    );
    board.end = Some(Duration::from_secs(300));
    let core = |cpu, user, softirq, steal| CoreUse {
        cpu,
        user,
        softirq,
        steal,
        idle: 1.0 - user - softirq - steal,
        ..CoreUse::default()
    };
    board.cores = vec![core(0, 0.31, 0.5, 0.02), core(1, 0.95, 0.0, 0.0)];
    board
}

fn drawn(board: &Board, width: usize, height: usize, marks: Marks) -> String {
    let lines = draw(
        board,
        Duration::from_secs(28),
        Canvas {
            width,
            height,
            marks,
        },
    );
    for line in &lines {
        let columns: usize = line.iter().map(|(text, _)| width_of(text)).sum();
        assert!(
            columns < width.max(2),
            "{columns} columns in {width}: {line:?}"
        );
    }
    assert!(
        lines.len() < height.max(2),
        "{} lines in {height}",
        lines.len()
    );
    text(&lines, false)
}

#[test]
fn views() {
    let board = board();
    for width in [100, 60, 20] {
        insta::assert_snapshot!(
            format!("live-{width}"),
            drawn(&board, width, 24, Marks::UNICODE)
        );
    }
    insta::assert_snapshot!("live-ascii", drawn(&board, 60, 24, Marks::ASCII));
    insta::assert_snapshot!("live-low", drawn(&board, 60, 6, Marks::UNICODE));
}

#[test]
fn before_the_first_cell_the_stage_is_told() {
    let mut board = board();
    board.stage("the tester alone, 64 bytes uni");
    let text = drawn(&board, 60, 24, Marks::ASCII);
    assert!(
        text.starts_with("the tester alone, 64 bytes uni\n"),
        "{text}"
    );
}

#[test]
fn no_size_breaks_the_view() {
    let many = (0..3780).map(|n| (format!("p{}", n % 40), format!("cell{n}")));
    for mut board in [Board::default(), board(), Board::new(many, 3)] {
        board.cores.extend((2..160).map(|cpu| CoreUse {
            cpu,
            user: 0.4,
            idle: 0.6,
            ..CoreUse::default()
        }));
        for width in 0..130 {
            for height in [0, 1, 5, 24] {
                drawn(&board, width, height, Marks::UNICODE);
            }
        }
    }
}

#[test]
fn the_known_interval_narrows_on_the_scale() {
    let columns = |lower, upper| {
        let mut board = Board::new(std::iter::once(("p".to_owned(), "c".to_owned())), 1);
        board.cell("c", false);
        let bounds = SearchBounds {
            lower_fps: lower,
            upper_fps: upper,
        };
        board.trial(1, Purpose::Search, 1000.0, SearchBounds::default());
        board.trial(2, Purpose::Search, 1.0, bounds);
        drawn(&board, 60, 24, Marks::ASCII).matches('#').count()
    };
    let (wide, narrow) = (
        columns(Some(100.0), Some(900.0)),
        columns(Some(400.0), Some(600.0)),
    );
    assert!(wide > narrow && narrow > 1, "{wide} {narrow}");
}

#[test]
fn control_visits_are_no_results() {
    let mut board = board();
    board.cell("bridge/64/uni", true);
    let before = board.squares().count();
    let text = drawn(&board, 60, 24, Marks::ASCII);
    assert!(text.starts_with("bridge/64/uni (control)\n"), "{text}");
    assert_eq!(board.squares().count(), before);
}

#[test]
fn rates_are_short() {
    assert_eq!(thousands(999.4), "999");
    assert_eq!(thousands(412_345.0), "412.3k");
    assert_eq!(thousands(14_880_952.0), "14.88M");
}
