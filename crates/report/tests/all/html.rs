//! The HTML page is well-formed, whole in itself and safe for any run.

use nicety_model::path::{VmNic, VmParams};
use nicety_model::{PathSpec, Run, Verdict};
use scraper::{ElementRef, Html, Selector};

use crate::common::{self, all, page, texts};

fn text(element: &ElementRef<'_>) -> String {
    element.text().collect()
}

fn every_run() -> Vec<(&'static str, Run)> {
    vec![
        ("rich", common::rich()),
        ("empty", common::empty()),
        ("failures", common::failures()),
        ("not finite", common::not_finite()),
        ("visits", common::visits()),
        ("visits, not finite", common::not_finite_visits()),
        ("one", common::many(1)),
        ("many", common::many(100)),
    ]
}

#[test]
fn pages_are_well_formed() {
    for (name, run) in every_run() {
        let document = Html::parse_document(&page(&run));
        assert!(document.errors.is_empty(), "{name}: {:?}", document.errors);
    }
}

#[test]
fn the_parser_would_notice_broken_pages() {
    let broken = page(&common::empty()).replace("</main>", "");
    assert!(!Html::parse_document(&broken).errors.is_empty());
}

/// Limits of both directions, and of an engine that some cells have, are lines of their own.
#[test]
fn every_limit_of_the_tester_is_drawn() {
    let dashed = |limits: &[(&str, f64)]| {
        let mut run = common::many(7);
        let limits = limits.iter().map(|(key, fps)| (key.parse().unwrap(), *fps));
        run.tester_limit_fps = limits.collect();
        let page = page(&run);
        let document = Html::parse_document(&page);
        all(
            &document,
            "path[stroke-dasharray='6 4'][stroke='var(--muted)']",
        )
        .len()
    };
    let others = dashed(&[]);
    // Two units, each in three widths.
    let dashed = |limits: &[(&str, f64)]| (dashed(limits) - others) / 6;
    assert_eq!(dashed(&[("64", 9e5), ("128", 8e5)]), 1);
    assert_eq!(dashed(&[("64/bi", 5e5), ("128/bi", 4e5)]), 1);
    let all = [
        ("64", 9e5),
        ("128", 8e5),
        ("64/bi", 5e5),
        ("64/af_packet", 3e5),
    ];
    assert_eq!(dashed(&all), 3);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    for (name, run) in every_run() {
        let page = page(&run);
        for forbidden in ["http://", "https://", " src=", "@import", "url("] {
            assert!(!page.contains(forbidden), "{name}: {forbidden}");
        }
        let document = Html::parse_document(&page);
        for link in all(&document, "[href]") {
            let target = link.value().attr("href").unwrap();
            let id = target.strip_prefix('#').expect("links stay in the page");
            assert!(page.contains(&format!("id=\"{id}\"")), "{name}: {target}");
        }
    }
}

#[test]
fn names_stay_text() {
    let document = Html::parse_document(&page(&common::rich()));
    let scripts = all(&document, "script");
    assert_eq!(scripts.len(), 2, "only the page's own scripts");
    let headings = texts(&document, "tbody th");
    assert!(headings.iter().any(|h| h.contains(common::NASTY)));
    assert!(all(&document, "td d9, p d9, li d9, td b b").is_empty());
}

#[test]
fn embedded_data_is_the_run() {
    let run = common::rich();
    let document = Html::parse_document(&page(&run));
    let data = all(&document, "script#run-data");
    let back: Run = serde_json::from_str(&text(&data[0])).expect("JSON");
    assert_eq!(back.visits, run.visits);
    assert!(back.trials.is_empty());
}

#[test]
fn numbers_that_are_not_finite_never_reach_a_figure() {
    for run in [common::not_finite(), common::not_finite_visits()] {
        let page = page(&run);
        let document = Html::parse_document(&page);
        for svg in all(&document, "svg") {
            let drawn = svg.html();
            for bad in ["NaN", "inf", "2147483647", "-2147483648"] {
                assert!(!drawn.contains(bad), "{bad} in {drawn}");
            }
        }
        assert!(
            all(
                &document,
                "#throughput [data-v=NaN], #throughput [data-v=inf]"
            )
            .is_empty()
        );
    }
}

#[test]
fn sizes_without_a_number_stay_on_the_axis_and_visits_are_listed() {
    let document = Html::parse_document(&page(&common::visits()));
    let figure = all(&document, "main > figure").remove(0);
    let svg = figure
        .select(&Selector::parse("svg").unwrap())
        .next()
        .unwrap();
    assert!(svg.text().any(|tick| tick.trim() == "1518"));
    assert!(svg.html().contains("var(--bad)"));
    assert!(
        svg.value()
            .attr("aria-label")
            .unwrap()
            .ends_with("No number at 1518 bytes")
    );
    let tiles = texts(&document, ".tile");
    assert!(tiles[0].starts_with("Capacity"), "{tiles:?}");
    assert!(tiles[1].starts_with("On the wire, 1024 bytes"), "{tiles:?}");
    let how = text(&all(&document, "#throughput details")[0]);
    for told in [
        "How this was measured",
        "Estimator: edge/1",
        "779,800; 762,100; 811,400; 790,250; 785,123",
        "± 16 %",
        "rustc (PID 812) 0.91",
    ] {
        assert!(how.contains(told), "{told}: {how}");
    }
    // Runs without intervals have none of it.
    let older = Html::parse_document(&page(&common::rich()));
    assert!(all(&older, "#throughput details").is_empty());
}

#[test]
fn drawings_stay_within_their_frame() {
    for (name, run) in every_run() {
        let document = Html::parse_document(&page(&run));
        for svg in all(&document, "svg") {
            let view = svg.value().attr("viewBox").expect("viewBox");
            let size: Vec<f64> = view.split(' ').map(|n| n.parse().unwrap()).collect();
            let selector = Selector::parse("path.pt").unwrap();
            for mark in svg.select(&selector) {
                // Where its outline begins: `M12.0 34.5…`.
                let at = mark.value().attr("d").unwrap().trim_start_matches('M');
                let mut at = at.split(|c: char| c != '.' && c != '-' && !c.is_ascii_digit());
                for limit in [size[2], size[3]] {
                    let at: f64 = at.next().unwrap().parse().unwrap();
                    assert!((0.0..=limit).contains(&at), "{name}: {at}");
                }
            }
        }
    }
}

#[test]
fn figures_and_tables_speak_to_screen_readers() {
    for (name, run) in every_run() {
        let document = Html::parse_document(&page(&run));
        for svg in all(&document, "svg") {
            assert_eq!(svg.value().attr("role"), Some("img"), "{name}");
            assert!(!svg.value().attr("aria-label").unwrap_or("").is_empty());
        }
        let tables = all(&document, "table").len();
        assert_eq!(all(&document, "table > caption").len(), tables, "{name}");
        assert!(all(&document, "th:not([scope])").is_empty(), "{name}");
        assert_eq!(all(&document, "h1").len(), 1, "{name}");
    }
}

#[test]
fn figures_use_the_style_sheets_colours_only() {
    let document = Html::parse_document(&page(&common::rich()));
    let svgs = all(&document, "svg");
    assert!(svgs.len() > 20);
    for svg in svgs {
        let drawn = svg.html();
        assert!(!drawn.contains("=\"#"), "a fixed colour is left: {drawn}");
        for variable in drawn.split("var(--").skip(1) {
            let name = variable.split(')').next().unwrap();
            assert!(
                include_str!("../../src/document/page.css").contains(&format!("--{name}:")),
                "{name} is not in the style sheet"
            );
        }
    }
}

#[test]
fn drawings_are_capped_and_tables_are_not() {
    let document = Html::parse_document(&page(&common::many(100)));
    assert_eq!(all(&document, "#loss figure").len(), 24);
    assert_eq!(all(&document, "#latency .grid > figure").len(), 2 * 24);
    assert_eq!(all(&document, "#cpu figure").len(), 24);
    assert_eq!(all(&document, "#cpu tbody tr").len(), 100);
    assert_eq!(all(&document, "#throughput tbody tr").len(), 100);
    let told = all(&document, "#loss p.muted");
    assert!(text(&told[0]).contains("first 24 of 100 cells"));
}

#[test]
fn every_cell_shows_its_verdict() {
    let run = common::rich();
    let document = Html::parse_document(&page(&run));
    for row in all(&document, "#throughput tbody tr") {
        let badge = Selector::parse(".badge").unwrap();
        assert_eq!(row.select(&badge).count(), 1);
    }
    let meanings = text(&all(&document, "#verdicts dl")[0]);
    for verdict in [Verdict::Ok, Verdict::Coupled, Verdict::Failed] {
        assert!(meanings.contains(verdict.meaning()));
    }
}

#[test]
fn a_link_of_unknown_speed_is_left_out_and_said_so() {
    let mut run = common::rich();
    for (i, facts) in run.run.host.interfaces.values_mut().enumerate() {
        // Drivers write "unknown" in these two ways.
        facts.speed_mbps = [Some(u32::MAX), Some(0)][i % 2];
    }
    let page = page(&run);
    assert!(page.contains("No interface reports its speed"));
    assert!(!page.contains("line rate, "));
    let with = self::page(&common::rich());
    assert!(with.contains("line rate, 10.0 Gbit/s"));
}

#[test]
fn both_directions_stand_beside_one() {
    let run = common::rich();
    let text = page(&run);
    let document = Html::parse_document(&text);
    let tables = all(&document, "#directions table");
    assert_eq!(tables.len(), 2, "over the frame sizes and for each");
    let fps = |name: &str| {
        let summary = run.cells.iter().find(|s| s.cell == name).unwrap();
        summary.spread_fps.unwrap().ave
    };
    let selector = Selector::parse("tbody tr").unwrap();
    let mut sizes = Vec::new();
    for row in tables[1].select(&selector) {
        let cells: Vec<_> = row.child_elements().collect();
        if self::text(&cells[1]) == "bi" {
            let size = self::text(&cells[2]);
            let ratio: f64 = cells[6].value().attr("data-v").unwrap().parse().unwrap();
            let wanted =
                2.0 * fps(&format!("bridge/{size}/bi")) / fps(&format!("bridge/{size}/uni"));
            assert!((ratio - wanted).abs() < 1e-6, "{size}: {ratio}");
            assert!(self::text(&cells[6]).ends_with('*'), "none of them is ok");
            sizes.push(size);
        }
    }
    assert_eq!(sizes, ["64", "256", "1024", "1518"]);
    // One direction alone has nothing to be compared with.
    let page = page(&common::many(20));
    assert!(!page.contains("id=\"directions\""));
}

/// Lost frames and loss agree once it is told which frames the loss leaves out.
#[test]
fn frames_set_apart_stand_beside_the_lost_ones() {
    let mut run = common::rich();
    assert!(!page(&run).contains("set apart"), "nothing was");
    let trial = run.trials.first_mut().unwrap();
    trial.frames.sent = 847_961;
    trial.frames.lost = 15_694;
    trial.stalls = Some(nicety_model::StallReport {
        stalls: 3,
        frames: 40_000,
        lost: 3_149,
        ..Default::default()
    });
    let text = page(&run);
    let document = Html::parse_document(&text);
    let heads = texts(&document, "#trials thead th");
    let at = heads
        .iter()
        .position(|head| head == "set apart")
        .expect("a column");
    let row = all(&document, "#trials tbody tr").remove(0);
    let cells: Vec<String> = row.child_elements().map(|cell| self::text(&cell)).collect();
    assert_eq!(cells[at - 1..=at], ["15,694of 847,961", "40,0003,149 lost"]);
    assert!(text.contains("loss is that of the others"));
}

#[test]
fn parameters_that_vary_have_a_map() {
    let mut run = common::many(21);
    for (number, cell) in run.visits.iter_mut().enumerate() {
        cell.key.path = PathSpec::Vm(VmParams {
            nic: Some([VmNic::E1000, VmNic::VirtioNet][number / 7 % 2]),
            queues: Some(1 + number as u32 / 14),
            ..VmParams::default()
        });
        cell.cell = cell.key.name();
    }
    run.cells.clear();
    let text = page(&run);
    let document = Html::parse_document(&text);
    let heads = texts(&document, "#parameters thead th");
    assert_eq!(heads, ["nic", "queues 1", "queues 2"]);
    let rows = texts(&document, "#parameters tbody tr");
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(
        rows[0].starts_with("e1000") && !rows[0].contains('–'),
        "{rows:?}"
    );
    assert!(
        rows[1].starts_with("virtio-net") && rows[1].ends_with('–'),
        "{rows:?}"
    );
    assert!(
        !page(&common::many(20)).contains("id=\"parameters\""),
        "only one varies"
    );
}

#[test]
fn missing_trials_are_said() {
    let mut run = common::rich();
    run.trials.clear();
    assert!(page(&run).contains("The trials are not at hand"));
}

#[test]
fn a_run_of_many_cells_has_a_page_that_opens_fast() {
    let run = common::many(900);
    let text = page(&run);
    assert!(text.len() < 2_500_000, "{} bytes", text.len());
    let document = Html::parse_document(&text);
    let rows = |of: &str| common::count(&document, &format!("{of} tbody tr"));
    // The results are whole: a browser without scripts shows the second part as it stands.
    assert_eq!(rows("#throughput"), 100);
    let rest = texts(&document, "#throughput noscript.rest").remove(0);
    let rest = Html::parse_document(&rest);
    assert_eq!(common::count(&rest, "tbody tr"), 800);
    for section in ["#latency", "#cpu", "#ledger", "#trials"] {
        assert_eq!(rows(section), 100, "{section}");
    }
    assert!(text.contains("The first 500 of 2,700 rows"));
    let data = all(&document, "#run-data").remove(0);
    assert_eq!(data.value().attr("type"), Some("application/gzip"));
    let back: nicety_model::Run = serde_json::from_value(common::embedded(data)).unwrap();
    assert_eq!(back.visits.len(), 900);
    for (back, cell) in back.visits.iter().zip(&run.visits) {
        let (back, fps) = (back.throughput_fps.unwrap(), cell.throughput_fps.unwrap());
        assert!((back / fps - 1.0).abs() < 1e-5, "{back} {fps}");
    }
}
