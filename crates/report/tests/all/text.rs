//! Terminal table, Markdown, CSV, JSON and the summary in words at their edges.

use std::collections::HashMap;
use std::io::{self, Write};

use nicety_model::run::StoppedBy;
use nicety_model::visible::visible;
use nicety_model::{Run, Verdict, WhoUse};
use nicety_report::{Brief, Options, ReportError, answer, csv, html, json, markdown, remedy};
use serde_json::json as value;

use crate::common::{self, rendered};

fn table(run: &Run, width: u16, colour: bool) -> String {
    rendered(|out| nicety_report::table(run, out, Options { width, colour }))
}

fn every_run() -> [Run; 7] {
    [
        common::rich(),
        common::visits(),
        common::not_finite_visits(),
        common::empty(),
        common::failures(),
        common::not_finite(),
        common::many(40),
    ]
}

#[test]
fn tables_fit_their_width() {
    for run in every_run() {
        for width in (20..=200).step_by(9) {
            for line in table(&run, width, false).lines() {
                let columns = line.chars().count();
                assert!(columns <= usize::from(width), "{width}: {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_terminal_without_width_gets_twenty_columns() {
    let run = common::rich();
    assert_eq!(table(&run, 0, false), table(&run, 20, false));
}

#[test]
fn no_throughput_goes_without_its_verdict_at_any_width() {
    let run = common::rich();
    for width in [20, 30, 40, 60, 80, 160] {
        let page = table(&run, width, false);
        let mut lines = page.lines().skip_while(|line| !line.contains("131 k"));
        // In the table on the same line, in the list on the next.
        let near: String = lines.by_ref().take(2).collect();
        assert!(near.contains("tester-limited"), "{width}: {near}");
    }
}

#[test]
fn colours_only_where_allowed_and_escapes_of_others_never() {
    let run = common::rich();
    assert!(!table(&run, 80, false).contains('\u{1b}'));
    let coloured = table(&run, 80, true);
    assert!(coloured.contains("\u{1b}[32mok\u{1b}[0m"));
    assert!(coloured.contains("\u{1b}[31mfailed\u{1b}[0m"));
    let foreign = coloured.split('\u{1b}').skip(1).filter(|code| {
        !["[0m", "[1m", "[2m", "[32m", "[31m", "[33m"]
            .iter()
            .any(|ours| code.starts_with(ours))
    });
    assert_eq!(foreign.count(), 0);
    // The name's own escape asked for red; its remains are plain text.
    assert!(coloured.contains("\u{fffd}[31m`"));
}

#[test]
fn markdown_rows_have_as_many_fields_as_the_head() {
    for run in every_run() {
        let page = rendered(|out| markdown(&run, out));
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let tables = page.split("\n\n").filter(|part| part.starts_with('|'));
        for table in tables {
            let rows: Vec<&str> = table.lines().collect();
            for row in &rows {
                assert_eq!(bars(row), bars(rows[0]), "{row}");
            }
        }
        assert!(!page.contains("<script"));
        assert!(!page.contains('\u{1b}'));
    }
}

type Rows = Vec<HashMap<String, String>>;

fn rows(render: impl FnOnce(&mut Vec<u8>) -> Result<(), ReportError>) -> Rows {
    let page = rendered(render);
    let mut reader = ::csv::Reader::from_reader(page.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

#[test]
fn csv_has_a_row_per_cell_with_its_result() {
    let run = common::rich();
    let rows = rows(|out| csv::render(&run, out));
    let cells = nicety_report::cells(&run);
    assert_eq!(rows.len(), cells.len());
    // The number that a cell is asked for by.
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row["cell_number"], (number + 1).to_string());
        assert_eq!(row["cell"], visible(&cells[number]));
        let cell = run.cells.iter().find(|cell| cell.cell == cells[number]);
        let number = cell.unwrap().throughput_fps.map(|fps| fps.to_string());
        assert_eq!(row["throughput_fps"], number.unwrap_or_default());
    }
    let failed = rows.iter().find(|row| row["verdict"] == "failed").unwrap();
    assert_eq!(failed["frames_lost"], "");
    assert!(failed["cell"].contains(&visible(common::NASTY)));
    assert_eq!(rows[0]["latency_90pct_p50_us"], "14");
}

#[test]
fn csv_of_visits_has_a_row_for_each() {
    let run = common::rich();
    let rows = rows(|out| csv::visits(&run, out));
    assert_eq!(rows.len(), run.visits.len());
    assert_eq!(rows[0]["throughput_fps"], "245000");
    let control = rows.iter().filter(|row| !row["control_visit"].is_empty());
    assert_eq!(control.count(), 1);
}

#[test]
fn csv_of_bad_numbers_has_empty_fields() {
    for run in [common::not_finite(), common::not_finite_visits()] {
        let page = rendered(|out| csv::render(&run, out));
        assert!(!page.contains("NaN") && !page.contains(",inf") && !page.contains(",-inf"));
    }
}

#[test]
fn json_reads_back_without_trials() {
    let run = common::rich();
    for style in [json::Style::Pretty, json::Style::Compact] {
        let page = rendered(|out| json::render(&run, out, style));
        let back: Run = serde_json::from_str(&page).unwrap();
        let mut light = run.clone();
        light.trials.clear();
        light.remedies = remedy::of(&run);
        assert_eq!(back, light);
        assert!(page.ends_with('\n'));
    }
    let compact = rendered(|out| json::render(&run, out, json::Style::Compact));
    assert_eq!(compact.lines().count(), 1);
}

/// The busiest CPU of the first cell.
fn busiest(run: &mut Run) -> &mut WhoUse {
    let cpu = run.visits[0].cpu.as_mut().unwrap();
    cpu.busiest.as_mut().unwrap()
}

#[test]
fn the_summary_says_what_the_limit_was() {
    let mut run = common::many(1);
    let say = |run: &Run| answer::summary(run).join("\n");
    assert_eq!(
        say(&run),
        "64 B: 100 k frames/s, 67.2 Mbit/s, 100 k held for 10 s (ok)\nThe limit was CPU 0 (napi/d0)."
    );
    busiest(&mut run).busy_ratio = 0.62;
    assert!(
        say(&run)
            .ends_with("\nLoss began at the receive side of d0 (rx_dropped). CPU 0 was busiest at 62 % (thread napi/d0).")
    );
    // One of many users of that CPU; then one that shares it with a thread that polls.
    let users = serde_json::json!({"napi/d0": 0.25, "lcore-worker": 0.2});
    busiest(&mut run).users = serde_json::from_value(users).unwrap();
    assert!(say(&run).ends_with("CPU 0 was busiest at 62 % (thread napi/d0: 25 %)."));
    busiest(&mut run).who = "softirq".to_owned();
    assert!(say(&run).ends_with("CPU 0 was busiest at 62 % (softirq)."));
    busiest(&mut run).who = "napi/d0".to_owned();
    let alone = run.visits[0].cpu.clone();
    let polls = serde_json::json!([{"who": "lcore-worker"}]);
    run.visits[0].cpu.as_mut().unwrap().polling = serde_json::from_value(polls).unwrap();
    assert!(say(&run).ends_with(
        "Loss began at the receive side of d0 (rx_dropped). lcore-worker on CPU 0 polls; how much of it with frames is not counted."
    ));
    run.visits[0].cpu = alone;
    busiest(&mut run).users.clear();
    run.visits[0].overload_ledger.clear();
    assert!(say(&run).ends_with("No CPU was full. CPU 0 was busiest at 62 % (thread napi/d0)."));
    run.visits[0].cpu = None;
    assert!(say(&run).ends_with("What limited it was not measured."));
    for facts in run.run.host.interfaces.values_mut() {
        facts.speed_mbps = Some(67);
    }
    assert!(say(&run).ends_with("The limit was the link."));
    run.cells[0].verdict = Verdict::TesterLimited;
    assert!(say(&run).starts_with("64 B: ≥ 100 k frames/s"));
    assert!(say(&run).contains("\nThe limit was the tester, not the path."));
    run.cells[0].verdict = Verdict::Bound;
    assert!(say(&run).starts_with("64 B: ≥ 100 k frames/s"));
    assert!(say(&run).contains("\nThe limit was not the path: its CPUs were taken away."));
}

#[test]
fn the_summary_of_nothing_says_so() {
    assert_eq!(answer::summary(&common::empty()), ["Nothing was measured."]);
    let mut run = common::empty();
    let says = |run: &Run, text: &str| assert_eq!(answer::summary(run), [text]);
    run.skipped = common::rich().skipped;
    let cannot = "This machine cannot build 1 cell.";
    says(&run, &format!("Nothing was measured. {cannot}"));
    run.left_out = vec!["bridge/64/uni".to_owned()];
    for (stopped_by, text) in [
        (
            None,
            "The run was interrupted, or its time box ended, before the first result.",
        ),
        (
            Some(StoppedBy::Interruption),
            "Interrupted before the first result.",
        ),
        (
            Some(StoppedBy::TimeBox),
            "The time box ended before the first result.",
        ),
    ] {
        run.run.stopped_by = stopped_by;
        says(&run, &format!("{text} {cannot}"));
        let skipped = std::mem::take(&mut run.skipped);
        says(&run, text);
        run.skipped = skipped;
    }
}

struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::BrokenPipe))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_went_away_is_told_from_other_faults() {
    let run = common::rich();
    let options = Options {
        width: 80,
        colour: false,
    };
    for result in [
        nicety_report::table(&run, &mut Gone, options),
        markdown(&run, &mut Gone),
        csv::render(&run, &mut Gone),
        json::render(&run, &mut Gone, json::Style::Compact),
        html(&run, &mut Gone),
    ] {
        assert!(result.unwrap_err().is_broken_pipe());
    }
}

#[test]
fn the_first_screen_has_room_for_the_answer_the_cells_and_remedies() {
    let run = common::visits();
    let screen = |more| {
        let options = Options {
            width: 80,
            colour: false,
        };
        rendered(|out| nicety_report::table(&Brief { run: &run, more }, out, options))
    };
    let usual = screen(Some("More: nicety report runs/x, or -v"));
    assert!(usual.lines().count() <= 24, "{usual}");
    assert!(usual.starts_with("64 B: 785 k frames/s"), "{usual}");
    assert!(usual.contains("To get a better number\n  1. "), "{usual}");
    assert!(
        usual.ends_with("\nMore: nicety report runs/x, or -v\n"),
        "{usual}"
    );
    for cell in nicety_report::cells(&run) {
        let size = cell.split('/').nth(1).unwrap();
        assert!(usual.contains(&format!(" {size} ")), "{size}: {usual}");
    }
    let quiet = screen(None);
    assert!(
        !quiet.contains("better") && !quiet.contains("More"),
        "{quiet}"
    );
}

#[test]
fn a_second_path_is_told_beside_the_first() {
    let mut run = common::many(14);
    for cell in run.visits.iter_mut().skip(7) {
        cell.throughput_fps = cell.throughput_fps.map(|fps| fps * 3.0);
    }
    for summary in run.cells.iter_mut().skip(7) {
        summary.throughput_fps = summary.throughput_fps.map(|fps| fps * 3.0);
    }
    let page = table(&run, 200, false);
    assert!(
        page.starts_with("vm,vcpus=0, 64 B: 100 k frames/s"),
        "{page}"
    );
    assert!(
        page.contains("\nthe other paths\n  vm,vcpus=1 carries 300 k frames/s of 64 bytes"),
        "{page}"
    );
    assert!(
        page.contains(" That is 3.0 times what vm,vcpus=0 carries at 64 bytes.\n"),
        "{page}"
    );
}

/// A guest, a thread that polls, and places behind which something else stands.
#[test]
fn guests_and_polling_threads_are_told_of() {
    let mut run = common::rich();
    let cpu = serde_json::json!({
        "busy_ratio": [1.0, 0.4],
        "cores": [],
        "busiest": {"cpu": 1, "busy_ratio": 1.0, "who": "ovs pmd-c01"},
        "who": {"ovs pmd-c01": 1.0, "guest/vcpu0": 0.4, "guest/vhost0": 0.31, "guest/qemu": 0.02},
        "guests": [{"guest": "guest", "cores": [{"cpu": 0, "user": 0.0, "system": 0.1, "irq": 0.0,
                    "softirq": 0.85, "steal": 0.0, "idle": 0.05}]}],
        "polling": [{"who": "ovs pmd-c01", "useful_ratio": 0.62}],
    });
    for cell in &mut run.visits {
        cell.cpu = Some(serde_json::from_value(cpu.clone()).expect("CPU use"));
        cell.overload_ledger =
            serde_json::from_value(serde_json::json!([{"where": "t0 tx_dropped", "frames": 9}]))
                .expect("ledger");
    }
    let wide = table(&run, 220, false);
    for told in [
        "guest CPU",
        "0: 95 % softirq",
        "1: ovs pmd-c01 polls, 62 % useful",
        "ovs pmd-c01 1.00 (polls, 62 % of it with frames), guest/vcpu0 0.40, guest/vhost0 0.31",
        "by the count of guest: CPU 0 95 % (softirq)",
        "Loss began at the transmit queue of t0 (tx_dropped). ovs pmd-c01 on CPU 1 polls",
    ] {
        assert!(wide.contains(told), "{told}: {wide}");
    }
    assert!(!wide.contains("The limit was CPU 1"), "{wide}");
    let page = rendered(|out| html(&run, out));
    for told in [
        "guests, by their own count",
        "guest: CPU 0 95 % (softirq)",
        "guest/vhost0 0.31",
        "polls, 62 % of it with frames",
        "the tap’s queue to the guest was full",
    ] {
        assert!(page.contains(told), "{told}");
    }
}

#[test]
fn stamps_of_nics_stand_beside_the_kernels_and_only_where_there_are_any() {
    let mut run = common::rich();
    let bare = rendered(|out| csv::render(&run, out));
    assert!(!bare.contains("hardware_latency"));
    assert!(!rendered(|out| html(&run, out)).contains("stamped by the NICs"));
    let cell = run
        .visits
        .iter_mut()
        .find(|cell| !cell.latency_by_load_us.is_empty());
    let cell = cell.expect("one with latency");
    let kernel = cell.latency_by_load_us[0];
    let mut latency = kernel;
    latency.p50 = 4.125;
    cell.hardware_latency.push(nicety_model::HardwareLatency {
        latency_us: Some(latency),
        drivers: vec!["igb".to_owned(), "igb".to_owned()],
        clocks: vec!["ptp0".to_owned(), "ptp1".to_owned()],
        offset_error_ns: 320.0,
        drift_ppb: 12.0,
        probes: nicety_model::HardwareProbes {
            sent: 80,
            stamped: 77,
            lost: 1,
            not_stamped: 2,
            clock_errors: 0,
        },
        load_share: 0.01,
    });
    let name = cell.cell.clone();
    let share = kernel.load_ratio.expect("at a share") * 100.0;
    let columns = [
        "p50_us",
        "offset_error_ns",
        "probes_sent",
        "probes_stamped",
        "probes_lost",
    ]
    .map(|column| format!("hardware_latency_{share}pct_{column}"));
    let rows = rows(|out| csv::render(&run, out));
    let has = |row: &&HashMap<String, String>| row["cell"] == name && !row[&columns[0]].is_empty();
    assert_eq!(rows.iter().filter(has).count(), 1);
    for row in &rows {
        let expected = if has(&row) {
            ["4.125", "320", "80", "77", "1"]
        } else {
            [""; 5]
        };
        assert_eq!(
            columns.each_ref().map(|column| row[column].as_str()),
            expected
        );
    }
    let named = "hardware stamps of igb, PHC ptp0 and ptp1, offset error ± 320 ns, 80 probes, 1 lost, 2 not stamped";
    assert!(rendered(|out| html(&run, out)).contains(named));
    assert!(
        rendered(|out| json::render(&run, out, json::Style::Compact))
            .contains("\"offset_error_ns\"")
    );
}

#[test]
fn numbers_stand_with_their_intervals() {
    let run = common::visits();
    let lines = answer::summary(&run);
    assert_eq!(
        lines[..3],
        [
            "64 B: 785 k frames/s (760–810 k), 528 Mbit/s, 785 k held for 10 s (ok)",
            "Loss began at the receive side of d0 (rx_dropped). CPU 1 was busiest at 62 % (thread napi/d0: 41 %).",
            "1 of 4 intervals is wide: other programs used the CPUs.",
        ]
    );
    let wide = table(&run, 400, false);
    for told in [
        "785 k  660–910 k",
        "94 %, range of 5 visits",
        "A load passes if most windows of 59 to 67 ms lose at most 0.010 %",
        "0.36 %, 92 % in stalls",
        "10 s is the load that held for 10 s",
    ] {
        assert!(wide.contains(told), "{told}: {wide}");
    }
    assert!(
        !wide.contains("min to max") && !wide.contains("  cv"),
        "{wide}"
    );
}

#[test]
fn the_interval_outlives_latency_bits_and_cpus() {
    let run = common::visits();
    for width in 20..200 {
        let page = table(&run, width, false);
        let head = page.lines().find(|line| line.contains("bytes  frames/s"));
        let Some(head) = head else {
            // No table at all: a list, still with the interval.
            assert!(page.contains("  785 k (660–910 k)\n"), "{width}: {page}");
            continue;
        };
        assert!(head.contains("verdict"));
        if !head.contains("interval") {
            for gone in ["p50", "p99", "Mbit/s", "CPU", "10 s"] {
                assert!(!head.contains(gone), "{width}: {head}");
            }
        }
    }
}

#[test]
fn a_single_visit_states_no_confidence() {
    let mut run = common::visits();
    run.visits.retain(|cell| cell.repeat == 5);
    for (summary, cell) in run.cells.iter_mut().zip(&run.visits) {
        summary.estimate = cell.estimate;
    }
    let page = table(&run, 400, false);
    assert!(
        page.contains("(from one visit: no confidence stated)."),
        "{page}"
    );
    assert!(page.contains("776–794 k"), "{page}");
    // Of three visits the interval is wider than their range.
    let mut run = common::visits();
    run.visits.retain(|cell| cell.repeat < 4);
    for estimate in run
        .cells
        .iter_mut()
        .filter_map(|summary| summary.estimate.as_mut())
    {
        estimate.visits = 3;
        estimate.low_fps -= 40_000.0;
    }
    let page = table(&run, 400, false);
    assert!(page.contains("(94 %, from 3 visits)."), "{page}");
}

#[test]
fn details_are_those_of_a_visit_that_has_them() {
    let mut run = common::visits();
    // The visit with the details is not the one in the middle.
    let cell = run
        .visits
        .iter_mut()
        .find(|c| c.confirm.is_some() && c.cell.contains("/64/"));
    cell.unwrap().throughput_fps = Some(812_000.0);
    let page = table(&run, 200, false);
    assert!(page.contains("0.36 %, 92 % in stalls"), "{page}");
    let cells = rows(|out| csv::render(&run, out));
    let wide = cells.iter().find(|row| row["verdict"] == "wide").unwrap();
    assert_eq!(wide["low_fps"], "661300");
    assert_eq!(wide["high_fps"], "905700");
    assert_eq!(wide["confidence"], "0.9375");
    assert_eq!(wide["visits"], "5");
    assert_eq!(wide["window_s"], "0.058720256");
    let visits = rows(|out| csv::visits(&run, out));
    let confirmed = visits.iter().find(|row| row["confirm_lost"] == "86339");
    let confirmed = confirmed.unwrap();
    assert_eq!(confirmed["confirm_lost_in_stalls"], "52666");
    assert_eq!(confirmed["confirm_bad_windows"], "0.62");
    assert_eq!(confirmed["held_fps"], "690700");
    // Runs without any of it have none of the columns.
    assert!(!rendered(|out| csv::render(&common::rich(), out)).contains("low_fps"));
}

#[test]
fn every_rendering_names_the_host_unless_it_must_not() {
    let mut run = common::rich();
    let all = |run: &Run| {
        [
            table(run, 80, false),
            rendered(|out| markdown(run, out)),
            rendered(|out| html(run, out)),
        ]
    };
    for rendered in all(&run) {
        assert!(!rendered.contains("web01"));
    }
    run.run.host.hostname = Some("web01".to_owned());
    run.run.host.label = Some("nightly".to_owned());
    for rendered in all(&run) {
        assert!(rendered.contains("web01 · nightly"), "{rendered}");
    }
}

/// A run of which one cell knows what became of its lost frames.
fn followed() -> Run {
    let mut run = common::rich();
    let ledger = value!([
        {"where": "b veth_xmit", "frames": 4211, "cause":
            {"kind": "dropped", "device": "b", "function": "veth_xmit", "reason": "NOT_SPECIFIED"}},
        {"where": "x thing", "frames": 9, "cause":
            {"kind": "dropped", "device": common::NASTY, "function": "thing", "reason": "QDISC_DROP"}},
        {"where": "unexplained", "frames": 3},
    ]);
    let fates = value!([{
        "of": "overload", "load_fps": 600_000.0, "duration_s": 0.5, "sent": 300_000, "lost": 4223,
        "ledger": ledger, "events": 5000, "unexplained": 3,
    }]);
    for cell in run
        .visits
        .iter_mut()
        .filter(|cell| cell.cell == "bridge/64/uni")
    {
        cell.fates = serde_json::from_value(fates.clone()).unwrap();
        cell.overload_ledger = serde_json::from_value(ledger.clone()).unwrap();
    }
    run
}

#[test]
fn what_became_of_lost_frames_is_told_everywhere() {
    let run = followed();
    let plain = "4,211 lost in veth_xmit at b (NOT_SPECIFIED): the ring of b was full";
    let wide = table(&run, 400, false);
    assert!(
        wide.contains("bridge/64/uni, just above the throughput"),
        "{wide}"
    );
    assert!(
        wide.contains(plain) && wide.contains("3 lost without a trace"),
        "{wide}"
    );
    for width in [20, 80] {
        for line in table(&run, width, false).lines() {
            assert!(
                line.chars().count() <= usize::from(width),
                "{width}: {line}"
            );
        }
    }
    assert!(!wide.contains('\u{1b}'));
    let page = rendered(|out| html(&run, out));
    assert!(
        page.contains("What became of lost frames") && page.contains("4,211 lost in veth_xmit")
    );
    assert!(!page.contains("br<script>"));
    assert!(rendered(|out| markdown(&run, out)).contains("4,211 lost in veth"));
    let told: serde_json::Value = serde_json::from_str(&rendered(|out| {
        json::render(&run, out, json::Style::Compact)
    }))
    .unwrap();
    let cell = told["visits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["fates"].is_array());
    assert_eq!(
        cell.unwrap()["fates"][0]["ledger"][0]["cause"]["function"],
        "veth_xmit"
    );
    assert!(!table(&common::rich(), 400, false).contains("became of lost"));
}

/// The way of the frames stands in every rendering, and names cannot do harm there.
#[test]
fn a_waterfall_is_told_everywhere() {
    let mut run = followed();
    let time =
        value!({"mean_ns": 900, "p50_ns": 800, "p99_ns": 2100, "p999_ns": 3000, "max_ns": 9000});
    let hop = value!({"from": "sent at a", "to": "received at d0", "cpus": [0], "mean_ns": 900,
        "p50_ns": 800, "p99_ns": 2100, "p999_ns": 3000, "max_ns": 9000});
    let cause = value!({"kind": "dropped", "device": "d1", "function": "nft_do_chain", "reason": "NETFILTER_DROP"});
    let waterfall = value!({
        "cell": "bridge/64/uni", "repeat": 1, "of": "overload", "load_fps": 600_000.0, "duration_s": 0.5,
        "sent": 300_000, "received": 295_000, "off": 0, "sampled": 20_000, "end_to_end": time,
        "stations": [
            {"station": "a", "kind": "tester", "in": 300_000, "out": 300_000, "lost": 0, "cpus": [1], "cpus_seen": false},
            {"station": "d0", "kind": "veth", "in": 300_000, "out": 300_000, "lost": 0, "cpus": [0], "cpus_seen": true,
                "hops": [hop], "off": {"frames": 2, "why": "other_frames"}},
            {"station": common::NASTY, "kind": "veth", "in": 300_000, "out": 295_000, "lost": 5000, "cpus_seen": false,
                "causes": [{"where": "d1 nft_do_chain", "frames": 5000, "cause": cause}], "no_time": "not_seen"},
        ],
    });
    let repeat = run.visits.iter().find(|cell| cell.cell == "bridge/64/uni");
    assert!(repeat.is_some_and(|cell| cell.repeat == 1));
    run.waterfalls = vec![serde_json::from_value(waterfall.clone()).unwrap()];
    // Repeats of a cell are one group, of which one is shown.
    for repeat in [2, 3] {
        let mut other = run.waterfalls[0].clone();
        other.repeat = repeat;
        run.waterfalls.push(other);
    }
    for width in [20, 40, 80, 160] {
        let text = table(&run, width, false);
        for line in text.lines() {
            assert!(
                line.chars().count() <= usize::from(width),
                "{width}: {line}"
            );
        }
        assert!(!text.contains('\u{1b}'));
    }
    let text80 = table(&run, 80, false);
    for part in [
        "frames from station to station",
        "300,000",
        "2.1",
        "its counter saw 2 more",
        "5,000 lost in nft_do_chain",
    ] {
        assert!(text80.contains(part), "{part}: {text80}");
    }
    // It takes the place of the list.
    assert!(!text80.contains("became of lost frames"));
    let marked = rendered(|out| markdown(&run, out));
    assert!(
        marked.contains("| d0 | 300,000 | 300,000 | 0 | 0.8 | 2.1 | 0 |"),
        "{marked}"
    );
    let page = rendered(|out| html(&run, out));
    assert!(page.contains("300,000 on") && page.contains("295,000 on, 5,000 lost"));
    assert!(!page.contains("br<script>"));
    let told: serde_json::Value = serde_json::from_str(&rendered(|out| {
        json::render(&run, out, json::Style::Compact)
    }))
    .unwrap();
    assert_eq!(
        told["waterfalls"][0]["stations"][1],
        waterfall["stations"][1]
    );
}

#[test]
fn tables_begin_with_the_number_that_a_cell_is_asked_for_by() {
    let run = common::rich();
    let cells = nicety_report::cells(&run);
    let page = rendered(|out| markdown(&run, out));
    let rows: Vec<Vec<&str>> = page
        .lines()
        .skip_while(|line| !line.starts_with("| cell | path |"))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split(" | ").collect())
        .collect();
    // Below the head and its rule, in the order of the table.
    for row in &rows[2..] {
        let number: usize = row[0].trim_start_matches("| ").parse().unwrap();
        let size = row[3];
        assert!(cells[number - 1].contains(&format!("/{size}/")), "{row:?}");
    }
    assert_eq!(rows.len() - 2, cells.len());
    // A terminal keeps it as long as there is room for anything.
    for width in [80, 160] {
        let table = table(&run, width, false);
        let head = table
            .lines()
            .find(|line| line.contains("frames/s  "))
            .unwrap();
        assert!(head.starts_with("cell  bytes"), "{width}: {table}");
    }
}
