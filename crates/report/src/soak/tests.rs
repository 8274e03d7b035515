use nicety_model::interval::{Alarm, FlowFrames, GapWhy, LossyInterval};
use nicety_model::{Fingerprint, FrameCounts, LatencySummary, SCHEMA, Validity};
use scraper::{Html, Selector};

use super::*;

const BEGAN: f64 = 1_773_500_966.0;

fn latency() -> LatencySummary {
    LatencySummary {
        load_ratio: None,
        min: 3.0,
        mean: 9.0,
        p50: 8.4,
        p90: 12.0,
        p99: 31.4,
        p999: 90.0,
        max: 4321.0,
        samples: 100_000,
    }
}

fn interval(number: u64, lost: u64) -> Interval {
    Interval {
        schema: SCHEMA,
        number,
        started_unix_s: BEGAN + (number - 1) as f64 * 10.0,
        wall_s: 10.0,
        sending_s: 9.9,
        load_fps: 2e5,
        offered_fps: 199_999.0,
        received_fps: 199_990.0,
        frames: FrameCounts {
            intended: 1_980_000,
            sent: 1_980_000,
            received: 1_980_000 - lost,
            lost,
            ..FrameCounts::default()
        },
        set_apart: 0,
        validity: Validity::Valid,
        losses: Vec::new(),
        loss_ledger: match lost {
            0 => Vec::new(),
            lost => vec![LossEntry::counted("d1 rx_dropped\u{1b}", lost)],
        },
        latency_us: Some(latency()),
        histogram: nicety_model::interval::LatencyHistogram::default(),
        several: None,
        flows: Vec::new(),
    }
}

fn summary(lost: u64) -> LoadSummary {
    LoadSummary {
        schema: SCHEMA,
        started_unix_s: BEGAN,
        ended_unix_s: BEGAN + 30.0,
        intervals: 3,
        sending_s: 29.7,
        wall_s: 30.0,
        complete: true,
        offered_fps: 2e5,
        frames: FrameCounts {
            sent: 5_940_000,
            received: 5_940_000 - lost,
            lost,
            ..FrameCounts::default()
        },
        loss_ratio: lost as f64 / 5_940_000.0,
        lossy_intervals: u64::from(lost > 0),
        losses: (lost > 0)
            .then(|| LossyInterval {
                number: 2,
                at_unix_s: BEGAN + 12.0,
                lost,
                place: "d1 rx_dropped".to_owned(),
            })
            .into_iter()
            .collect(),
        last_loss_unix_s: (lost > 0).then_some(BEGAN + 12.2),
        loss_ledger: interval(2, lost).loss_ledger,
        latency_us: Some(latency()),
        ..LoadSummary::default()
    }
}

fn rendered(render: impl FnOnce(&mut Vec<u8>) -> Result<(), ReportError>) -> String {
    let mut out = Vec::new();
    render(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_fit_a_terminal_of_80_columns() {
    let mut long = interval(200_000, 0);
    long.frames.lost = 123_456_789;
    long.frames.sent = u64::MAX / 1000;
    for one in [interval(1, 0), interval(2, 17), long] {
        let told = line::interval(&one, BEGAN);
        let width = told.lines().map(|line| line.chars().count()).max();
        assert!(width <= Some(84), "{told}");
        assert!(!told.contains('\u{1b}'));
    }
    assert!(line::HEADER.chars().count() <= 80);
    let told = line::interval(&interval(2, 17), BEGAN);
    assert_eq!(
        told,
        "  10.0–20.0      199,990          17  0.00086 %      8.4       31     4,321"
    );
    assert_eq!(told.chars().count(), line::HEADER.chars().count());
    let mut odd = interval(3, 0);
    odd.set_apart = 4;
    odd.frames.lost = 4;
    odd.validity = Validity::TesterDropped { frames: 4 };
    let told = line::interval(&odd, BEGAN);
    assert_eq!(told.lines().count(), 3, "{told}");
    assert!(told.contains("4 lost more, set apart"), "{told}");
}

#[test]
fn the_result_says_how_many_when_and_where() {
    assert_eq!(
        sentences(&summary(0)),
        ["5,940,000 frames in 29.7 s, none lost"]
    );
    let told = line::summary(&summary(17));
    assert_eq!(
        told.lines().collect::<Vec<_>>()[..3],
        [
            "5,940,000 frames in 29.7 s, 17 lost (0.00029 %).",
            "At 2026-03-14T15:09:38Z.",
            "Lost: 17 at d1 rx_dropped\u{fffd}."
        ],
        "{told}"
    );
    let mut more = summary(17);
    more.last_loss_unix_s = Some(BEGAN + 25.0);
    more.lossy_intervals = 2;
    more.gap_count = 1;
    more.gap_s = 61.0;
    more.lossy_flows = 1;
    more.flows.push(FlowFrames {
        stream: 0,
        flow: 3,
        source: "198.18.0.4:1".to_owned(),
        destination: "198.19.0.4:2".to_owned(),
        sent: 100,
        lost: 17,
    });
    let told = line::summary(&more);
    assert!(
        told.contains(
            "First at 2026-03-14T15:09:38Z, last at 2026-03-14T15:09:51Z, in 2 intervals."
        ),
        "{told}"
    );
    assert!(
        told.contains("1 gap, 61.0 s in all, of which nothing is known."),
        "{told}"
    );
    assert!(
        told.contains("  198.18.0.4:1 -> 198.19.0.4:2  17 of 100"),
        "{told}"
    );
}

#[test]
fn what_was_not_sent_is_said_first() {
    let mut short = summary(0);
    (short.load_fps, short.offered_fps) = (20e3, 6.96e3);
    assert_eq!(
        sentences(&short),
        [
            "sent 35 % of the load: 6.96 k of 20.0 k frames/s",
            "5,940,000 frames in 29.7 s, none lost"
        ]
    );
    short.offered_fps = 19.5e3;
    assert_eq!(
        sentences(&short).len(),
        1,
        "within the tolerance of a trial"
    );
}

#[test]
fn alarms_and_gaps_are_a_line_each() {
    let alarm = Alarm {
        schema: SCHEMA,
        number: 2,
        at_unix_s: BEGAN + 12.0,
        lost: 17,
        sent: 1_980_000,
        loss_ledger: interval(2, 17).loss_ledger,
    };
    assert_eq!(
        line::alarm(&alarm),
        "ALARM: first loss at 2026-03-14T15:09:38Z: 17 of 1,980,000 frames; 17 at d1 rx_dropped\u{fffd}"
    );
    let gap = Gap {
        schema: SCHEMA,
        from_unix_s: BEGAN,
        to_unix_s: BEGAN + 61.0,
        why: GapWhy::Restart,
    };
    assert_eq!(
        line::gap(&gap),
        "gap of 61.0 s from 2026-03-14T15:09:26Z on: the program was not running"
    );
}

#[test]
fn a_page_draws_loss_and_latency_and_has_the_answer() {
    let mut summary = summary(17);
    summary.gaps.push(Gap {
        schema: SCHEMA,
        from_unix_s: BEGAN + 20.0,
        to_unix_s: BEGAN + 25.0,
        why: GapWhy::Broken {
            why: "<script>".to_owned(),
        },
    });
    summary.gap_count = 1;
    let lines =
        (1..=3).map(|n| LoadLine::Interval(Box::new(interval(n, if n == 2 { 17 } else { 0 }))));
    let soaked = Soaked {
        schema: SCHEMA,
        run: SoakHead {
            schema: SCHEMA,
            name: "bridge".to_owned(),
            cell: "bridge/64/uni".to_owned(),
            started: "2026-03-14T15:09:26Z".to_owned(),
            command: "nicety load".to_owned(),
            wish: LoadWish::Throughput { ratio: 0.8 },
            found: Some(nicety_model::soak::FoundLoad {
                whole_fps: 250_000.0,
                trials: 5,
                seconds: 7.0,
            }),
            loss_goal: Some(0.0001),
            load_fps: 200_000.0,
            every_s: 10.0,
            for_s: 60.0,
            engine: "auto".to_owned(),
            engine_name: "af_packet".to_owned(),
            notes: Vec::new(),
        },
        host: Fingerprint::default(),
        summary,
        lines: lines.collect(),
    };
    let text = rendered(|out| crate::html(&soaked, out));
    assert!(!text.contains("<script>,") && text.contains("&lt;script&gt;"));
    let page = Html::parse_document(&text);
    let all = |selector: &str| page.select(&Selector::parse(selector).unwrap()).count();
    assert!(all("svg") >= 2, "{}", all("svg"));
    let told = page.root_element().text().collect::<String>();
    for part in [
        "200 k frames/s: 80 % of the throughput, 250 k frames/s",
        "17 lost",
        "Where frames were lost",
        "Gaps, of which nothing is known",
    ] {
        assert!(told.contains(part), "no {part:?}");
    }
    assert!(rendered(|out| crate::markdown(&soaked, out)).contains("nicety load"));
    let text = rendered(|out| super::csv(&soaked, out));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains(",1980000,1979983,17,0,"), "{text}");
    // Nothing was measured.
    let mut empty = soaked.clone();
    empty.lines.clear();
    empty.summary = LoadSummary::default();
    rendered(|out| crate::html(&empty, out));
}
