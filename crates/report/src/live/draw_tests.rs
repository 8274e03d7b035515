use std::time::Duration;

use nicety_model::{CoreUse, Purpose, SearchBounds, Verdict};

use super::*;
use crate::live::board::{Goal, Square};
use crate::live::drawn::{ASCII_LOOK, text};
use crate::live::keys::Key;

const UNICODE: Look = Look {
    colour: true,
    unicode: true,
};
/// The sizes that are looked at.
const SIZES: [(u16, u16); 3] = [(80, 24), (160, 50), (40, 10)];

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
                fps: (at < 2).then_some(685_200.0),
                ..Square::default()
            };
        }
        row.cells[3].1 = Square {
            done: 1,
            worst: Some(Verdict::Ok),
            fps: Some(412_345.0),
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
    board.left(Duration::ZERO, Duration::from_secs(300));
    board.log("bridge/64/uni: 685 k frames/s (ok)");
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

fn frame(board: &Board, look: Look) -> Frame<'_> {
    Frame {
        board,
        elapsed: Duration::from_secs(28),
        look,
        keys: true,
        stopping: false,
    }
}

fn drawn(frame: Frame<'_>, view: &View, size: (u16, u16)) -> String {
    let height = height(frame, size);
    assert!(
        height < size.1.max(2),
        "{height} lines of a terminal of {size:?}"
    );
    let mut buf = Buffer::empty(Rect::new(0, 0, size.0, height));
    inline(frame, view, size, &mut buf);
    let text = text(&buf);
    for line in text.lines().filter(|_| size.0 > 2) {
        // The first column is the cursor's, the last one stays empty.
        assert!(line.is_empty() || line.starts_with(' '), "{line:?}");
        assert!(
            line.chars().count() < size.0.into(),
            "{line:?} in {}",
            size.0
        );
    }
    text
}

fn drawn_full(frame: Frame<'_>, view: &mut View, size: (u16, u16)) -> String {
    let mut buf = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    full(frame, view, &mut buf);
    text(&buf)
}

#[test]
fn views() {
    let board = board();
    for size in SIZES {
        let name = format!("inline-{}x{}", size.0, size.1);
        let frame = frame(&board, UNICODE);
        insta::assert_snapshot!(name, drawn(frame, &View::default(), size));
        let name = format!("full-{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, drawn_full(frame, &mut View::default(), size));
    }
    let ascii = frame(&board, ASCII_LOOK);
    insta::assert_snapshot!("inline-ascii", drawn(ascii, &View::default(), (60, 24)));
    insta::assert_snapshot!("inline-low", drawn(ascii, &View::default(), (60, 6)));
}

#[test]
fn every_loss_goal_has_its_number() {
    let mut board = board();
    let goal = |goal: &str, fps| Goal {
        goal: goal.to_owned(),
        loss_goal: 0.0,
        fps,
        interval_fps: None,
        verdict: Verdict::Ok,
    };
    let goals = vec![goal("NDR", Some(685_200.0)), goal("PDR", None)];
    board.rows[0].cells[0].1.goals = goals;
    let text = drawn_full(frame(&board, UNICODE), &mut View::default(), (120, 24));
    let row = text.lines().find(|line| line.starts_with("bridge/64/uni"));
    let row = row.unwrap();
    assert!(row.contains("NDR 685 k, PDR -"), "{text}");
    assert!(text.contains("by loss goal"), "{text}");
}

#[test]
fn keys_are_explained() {
    let board = board();
    let mut view = View::default();
    view.press(Key::Char('?'));
    let frame = frame(&board, UNICODE);
    insta::assert_snapshot!("inline-help", drawn(frame, &view, (80, 24)));
    insta::assert_snapshot!("full-help", drawn_full(frame, &mut view, (80, 24)));
}

#[test]
fn whoever_cannot_type_is_told_of_no_keys() {
    let board = board();
    let mut frame = frame(&board, ASCII_LOOK);
    frame.keys = false;
    let text = drawn(frame, &View::default(), (120, 24));
    assert!(!text.contains("quit"), "{text}");
    frame.stopping = true;
    let text = drawn(frame, &View::default(), (120, 24));
    assert!(
        text.contains("stopping; Ctrl-C again ends at once"),
        "{text}"
    );
}

#[test]
fn before_the_first_cell_the_stage_is_told() {
    let mut board = board();
    board.stage("the tester alone, 64 bytes uni");
    let frame = frame(&board, ASCII_LOOK);
    let size = (60, 24);
    let text = drawn(frame, &View::default(), size);
    assert!(
        text.starts_with(" the tester alone, 64 bytes uni\n"),
        "{text}"
    );
}

#[test]
fn nothing_jumps_between_stages_and_trials() {
    let mut board = board();
    for size in SIZES {
        board.cell("bridge/1024/uni", false);
        let of_cell = height(frame(&board, UNICODE), size);
        board.stage("booting a guest");
        assert_eq!(height(frame(&board, UNICODE), size), of_cell);
    }
}

#[test]
fn rows_are_filtered_and_what_is_typed_is_shown() {
    let board = board();
    let mut view = View::default();
    for key in "/unst".chars() {
        view.press(Key::Char(key));
    }
    let text = drawn_full(frame(&board, ASCII_LOOK), &mut view, (80, 24));
    assert_eq!(text.matches("unstable").count(), 2, "{text}");
    assert!(!text.contains("to come"), "{text}");
    assert!(text.contains("filter: unst_"), "{text}");
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
        for width in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 79, 80, 81, 129] {
            for height in [0, 1, 2, 5, 24] {
                for help in [false, true] {
                    let view = View {
                        help,
                        ..View::default()
                    };
                    drawn(frame(&board, UNICODE), &view, (width, height));
                    drawn_full(frame(&board, UNICODE), &mut view.clone(), (width, height));
                }
            }
        }
    }
}

#[test]
fn control_visits_are_no_results() {
    let mut board = board();
    board.cell("bridge/64/uni", true);
    let before = board.squares().count();
    let text = drawn(frame(&board, ASCII_LOOK), &View::default(), (60, 24));
    assert!(text.starts_with(" bridge/64/uni (control)\n"), "{text}");
    assert_eq!(board.squares().count(), before);
}
