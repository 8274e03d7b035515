//! Charts of pages: what stands inside them, what they say when they are pointed at, and what they
//! leave out.

use nicety_model::{FrameSize, Run, Verdict};
use nicety_report::Report;
use scraper::{ElementRef, Html, Selector};

use crate::common::{self, all, texts};

fn document(report: &impl Report) -> Html {
    Html::parse_document(&common::page(report))
}

/// The narrowest drawing of the throughput.
const THROUGHPUT: &str = "#chart-Throughput .off svg:first-child";

/// A page of every kind that has charts.
fn every_page() -> Vec<(&'static str, Html)> {
    let compared: nicety_model::compare::Comparison =
        serde_json::from_str(include_str!("../golden/compare-rich.json")).unwrap();
    vec![
        ("rich", document(&common::rich())),
        ("visits", document(&common::visits())),
        ("policed", document(&common::policed(240))),
        ("trend", document(&common::trend())),
        ("compared", document(&compared)),
    ]
}

/// A size at which nothing has a number keeps its tick, with a cross that says why.
#[test]
fn a_size_that_failed_stays_on_the_axis() {
    let mut run = common::rich();
    // The path that has no number at all is the only one with this size.
    let size = FrameSize::new(9000).unwrap();
    for cell in &mut run.visits {
        if cell.verdict == Verdict::Failed {
            cell.key.frame_size_bytes = size;
        }
    }
    let page = document(&run);
    let ticks = texts(&page, &format!("{THROUGHPUT} > g text"));
    assert!(ticks.contains(&"9000".to_owned()), "{ticks:?}");
    let crosses = texts(
        &page,
        &format!("{THROUGHPUT} path[stroke='var(--bad)'] title"),
    );
    assert_eq!(crosses.len(), 1);
    assert!(
        crosses[0].contains("no number, failed: port <d9> went down"),
        "{crosses:?}"
    );
}

/// What is copied out of a page keeps the names of its axes and their units.
#[test]
fn axes_have_names_inside() {
    for (name, page) in every_page() {
        let figures = all(&page, ".forms svg");
        assert!(name == "compared" || !figures.is_empty(), "{name}");
        for svg in figures {
            let starts = Selector::parse("g text:first-child").unwrap();
            let end = Selector::parse("g text[text-anchor=end]").unwrap();
            let label = svg.value().attr("aria-label").unwrap();
            let named: String = svg.select(&starts).flat_map(|t| t.text()).collect();
            let below: Vec<String> = svg.select(&end).map(|t| t.text().collect()).collect();
            let words = |text: &str| text.chars().any(char::is_alphabetic);
            // Bars of CPUs have their names on the ticks.
            assert!(
                words(&named) || label.starts_with("CPU time"),
                "{name}: {label}"
            );
            assert!(below.iter().any(|text| words(text)), "{name}: {label}");
        }
    }
    let page = document(&common::visits());
    let inside = texts(&page, &format!("{THROUGHPUT} > g text"));
    for axis in ["frames/s per direction", "frame size, bytes"] {
        assert!(inside.contains(&axis.to_owned()), "{inside:?}");
    }
}

/// Every point and bar says its value.
#[test]
fn points_say_their_values() {
    let page = document(&common::visits());
    let told = texts(&page, &format!("{THROUGHPUT} .pt title"));
    let wanted = "bridge, one direction: 64 bytes, 785 k frames/s (762 k to 811 k), ok";
    assert!(told.iter().any(|text| text == wanted), "{told:?}");
    let page = document(&common::rich());
    for (selector, wanted) in [
        (
            "#loss .pt title",
            "trial 5, search: 259,700 frames/s, loss 5.2 %",
        ),
        ("#latency .pt title", "p99 at 90 % load: 48 µs"),
        ("#cpu .pt title", "CPU 0, system, kernel threads: 93 %"),
        ("#control .pt title", "visit 2: 243 k frames/s"),
    ] {
        let told = texts(&page, selector);
        assert!(
            told.iter().any(|text| text == wanted),
            "{selector}: {told:?}"
        );
    }
    let policed = texts(&document(&common::policed(240)), "main > figure .pt title");
    let at = |text: &&String| text.contains("a 320 Mbit/s") && text.contains("all together");
    assert!(policed.iter().any(|text| at(&text)), "{policed:?}");
    let trend = texts(&document(&common::trend()), ".pt title");
    assert!(
        trend.iter().any(|text| text.starts_with("run ")),
        "{trend:?}"
    );
}

/// No digits that say nothing, no prefix before a prefix.
#[test]
fn ticks_are_round() {
    for (name, page) in every_page() {
        for tick in texts(&page, ".forms svg > g text") {
            let number = tick.split(' ').next().unwrap();
            let trailing = number.contains('.') && number.ends_with('0');
            assert!(!trailing, "{name}: {tick}");
            assert!(!tick.contains("k Mbit"), "{name}: {tick}");
        }
    }
    let ticks = texts(
        &document(&common::policed(240)),
        "main > figure svg:first-child > g text",
    );
    for wanted in ["1 Gbit/s", "200 Mbit/s", "0 s", "100 s"] {
        assert!(ticks.contains(&wanted.to_owned()), "{ticks:?}");
    }
}

/// The tester's own limit squeezes what was measured: it is there on request only.
#[test]
fn limits_that_squeeze_the_results_are_behind_a_switch() {
    let mut run = common::rich();
    let top = |page: &Html, which: &str| {
        let drawn = format!("#chart-Throughput {which} svg:first-child > g text");
        texts(page, &drawn)
    };
    let page = document(&run);
    assert_eq!(
        texts(&page, "#chart-Throughput label"),
        ["Show the tester’s own limit and line rate"]
    );
    let (off, on) = (top(&page, ".off"), top(&page, ".on"));
    assert!(off.contains(&"300 k".to_owned()), "{off:?}");
    assert!(on.iter().any(|tick| tick.ends_with(" M")), "{on:?}");
    let input = all(&page, "#chart-Throughput input.toggle");
    assert_eq!(input[0].value().attr("checked"), None);
    // A link that the results come near is drawn at once; without a tester's limit there is no switch.
    run.tester_limit_fps.clear();
    for facts in run.run.host.interfaces.values_mut() {
        facts.speed_mbps = Some(200);
    }
    let page = document(&run);
    assert!(all(&page, "#chart-Throughput input").is_empty());
    assert!(
        texts(&page, "#chart-Throughput .legend")
            .concat()
            .contains("line rate, 200 Mbit/s")
    );
}

/// Trials carry their numbers, and a line joins those that count in order of load.
#[test]
fn loss_is_joined_by_load_and_numbered() {
    let page = document(&common::rich());
    let svg = "#loss figure:first-child svg";
    let numbers = texts(&page, &format!("{svg} > text"));
    for trial in ["1", "3", "4", "13"] {
        assert!(numbers.contains(&trial.to_owned()), "{trial}: {numbers:?}");
    }
    assert!(
        numbers.iter().any(|text| text == "goal 0.01 %"),
        "{numbers:?}"
    );
    let line = all(&page, &format!("{svg} > path[stroke='var(--rule)']"));
    assert_eq!(line.len(), 1);
    let places = line[0]
        .value()
        .attr("d")
        .unwrap()
        .trim_start_matches('M')
        .split('L');
    let x: Vec<f64> = places
        .map(|place| place.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(
        x.len(),
        11,
        "the late trial and the confirm trial are no part of it"
    );
    assert!(x.is_sorted(), "{x:?}");
}

/// Over the load there is a line for each percentile; with one load there is none, and how to get one.
#[test]
fn latency_grows_with_the_load() {
    let page = document(&common::rich());
    let lines = all(
        &page,
        "figure[id='latency-bridge/64/uni'] svg > path:not(.pt)",
    );
    assert_eq!(lines.len(), 3);
    let mut one = common::rich();
    for cell in &mut one.visits {
        cell.latency_by_load_us.truncate(1);
    }
    let page = document(&one);
    assert!(all(&page, "figure[id='latency-bridge/64/uni']").is_empty());
    assert!(!all(&page, "figure[id='percentiles-bridge/64/uni']").is_empty());
    assert!(
        texts(&page, "#latency p")
            .concat()
            .contains("measured at one load")
    );
}

/// p99.9 of less than ten thousand frames is the chance of ten of them.
#[test]
fn percentiles_of_too_few_frames_are_not_shown() {
    let told = |samples: u64| {
        let mut run: Run = common::rich();
        for cell in &mut run.visits {
            for latency in cell
                .latency_us
                .iter_mut()
                .chain(&mut cell.latency_by_load_us)
            {
                latency.samples = samples;
            }
        }
        let page = document(&run);
        let drawn = texts(&page, "#latency .pt title").concat();
        let ticks = texts(&page, "figure[id='percentiles-bridge/64/uni'] g text");
        let shown = ticks
            .into_iter()
            .filter(|tick| tick.ends_with(" %"))
            .collect::<Vec<_>>();
        (
            drawn.contains("p99.9 at"),
            drawn.contains("p99 at"),
            shown.join(" "),
        )
    };
    assert_eq!(
        told(10_000),
        (true, true, "50 % 90 % 99 % 99.9 %".to_owned())
    );
    assert_eq!(told(9_999), (false, true, "50 % 90 % 99 %".to_owned()));
    assert_eq!(told(999), (false, false, "50 % 90 %".to_owned()));
}

/// Each result, and each chart, has an address of its own and a link to it.
#[test]
fn results_can_be_linked_to() {
    let page = document(&common::rich());
    let rows = all(&page, "#throughput tbody th[id^='result-']");
    assert_eq!(rows.len(), all(&page, "#throughput tbody tr").len());
    assert!(
        !all(
            &page,
            "a[href='#result-bridge/64/uni'][aria-label='Link to bridge/64/uni']"
        )
        .is_empty()
    );
    for (name, page) in every_page() {
        let ids: Vec<&str> = all(&page, "[id]")
            .iter()
            .map(|e| e.value().id().unwrap())
            .collect();
        let mut once = ids.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ids.len(), "{name}: an address twice");
        assert!(
            ids.iter().all(|id| !id.contains(char::is_whitespace)),
            "{name}: {ids:?}"
        );
        for figure in all(&page, "figure") {
            assert!(figure.value().id().is_some(), "{name}");
        }
    }
}

/// Figures share a row evenly, and one alone has all of it.
#[test]
fn figures_fill_their_row() {
    let widths = |run: &Run| -> Vec<String> {
        let page = document(run);
        let svgs = all(&page, "#loss figure:first-child svg");
        let view = |svg: &ElementRef<'_>| svg.value().attr("viewBox").unwrap().to_owned();
        svgs.iter()
            .map(view)
            .map(|v| v.split(' ').nth(2).unwrap().to_owned())
            .collect()
    };
    assert_eq!(widths(&common::many(1)), ["360", "640", "1060"]);
    assert_eq!(widths(&common::many(2)), ["360", "520"]);
    assert_eq!(widths(&common::many(7)), ["360"]);
}

/// WCAG 2.2, 1.4.3 and 1.4.11: lines and marks stand out three to one, words in a colour four and a half.
#[test]
fn colours_stand_out_in_light_and_dark() {
    let style = include_str!("../../src/document/page.css");
    let (light, rest) = style
        .split_once("@media screen and (prefers-color-scheme:dark){")
        .unwrap();
    let (dark, _) = rest.split_once("*{box-sizing").unwrap();
    for (scheme, style) in [("light", light), ("dark", dark)] {
        let luminance = |name: &str| {
            let (_, value) = style.split_once(&format!("--{name}:#")).unwrap();
            let digits: String = value.chars().take_while(char::is_ascii_hexdigit).collect();
            let digits = match digits.len() {
                3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
                _ => digits,
            };
            let linear = |at: usize| {
                let part = u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
                let part = f64::from(part) / 255.0;
                if part <= 0.040_45 {
                    part / 12.92
                } else {
                    ((part + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * linear(0) + 0.7152 * linear(2) + 0.0722 * linear(4)
        };
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(a), luminance(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for n in 0..8 {
            let ratio = contrast(&format!("s{n}"), "paper");
            assert!(ratio >= 3.0, "{scheme}: s{n} {ratio:.2}");
        }
        for name in ["muted", "goal", "bad", "ink"] {
            let ratio = contrast(name, "paper");
            assert!(ratio >= 4.5, "{scheme}: {name} {ratio:.2}");
        }
    }
}
