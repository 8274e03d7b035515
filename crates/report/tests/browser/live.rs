//! The live pages with a state as their server tells it, in one file: style, script and answer
//! stand where the server would be asked.

use serde_json::{Value, json};

use crate::cdp::Browser;
use crate::{Stage, is_live, names};

/// Waits for the first drawing.
pub const DRAWN: &str = r#"(async () => {
    while (document.documentElement.dataset.live === "waiting") await new Promise(requestAnimationFrame);
    return document.documentElement.dataset.live;
})()"#;

fn page(html: &str, style: &str, scripts: &[&str], state: &Value) -> String {
    let style = format!("<style>{CHARTS_STYLE}{STYLE}{style}</style>");
    // `<` is escaped, so that no name in the state can end the script.
    let state = state.to_string().replace('<', "\\u003c");
    let answer =
        format!("window.fetch = async () => ({{ ok: true, json: async () => ({state}) }});");
    let script = format!(
        "<script>{answer}</script><script>{CHARTS}</script><script>{SCRIPT}{}</script>",
        scripts.concat()
    );
    let style_there = html.replace(r#"<link rel="stylesheet" href="page.css">"#, &style);
    let page = style_there
        .replace(r#"<script src="page.js"></script>"#, &script)
        .replace(r#"<link rel="stylesheet" href="uplot.css">"#, "")
        .replace(r#"<script src="uplot.js"></script>"#, "");
    for part in ["page.css", "page.js", "uplot.css", "uplot.js"] {
        assert!(!page.contains(part), "{part}");
    }
    page
}

const STYLE: &str = include_str!("../../../nicety/src/web/base.css");
const SCRIPT: &str = concat!(
    include_str!("../../../nicety/src/web/base.js"),
    include_str!("../../../nicety/src/web/chart.js")
);
const CHARTS: &str = include_str!("../../../nicety/src/web/uplot/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../../../nicety/src/web/uplot/uPlot.min.css");

/// `nicety bench --listen` in the middle of a run, names that are markup among it.
pub fn bench() -> String {
    let square = |size: u32, done: u32, worst: Option<&str>, skipped: bool| {
        let fps = worst.map(|_| 400_000.0 - f64::from(size) * 100.0);
        json!({
            "done": done, "worst": worst, "fps": fps, "skipped": skipped,
            "interval_fps": fps.filter(|_| done > 1).map(|fps| [0.9 * fps, 1.1 * fps]),
            "point": {"frame_size_bytes": size, "direction": "uni", "flows": 1},
        })
    };
    let states = [
        (64, 2, Some("ok"), false),
        (128, 1, Some("ok"), false),
        (256, 2, Some("noisy"), false),
        (512, 2, Some("failed"), false),
        (1024, 0, None, true),
        (1280, 1, Some("wide"), false),
        (1518, 0, None, false),
    ];
    let named = |(size, done, worst, skipped)| {
        json!([
            format!("bridge/{size}/uni"),
            square(size, done, worst, skipped)
        ])
    };
    let mut cells: Vec<Value> = states.into_iter().map(named).collect();
    cells.extend(
        (0..143).map(|n| json!([format!("bridge/{n}/uni"), {"done": 0, "skipped": false}])),
    );
    let trial = |load: f64, loss: f64, within: Option<bool>| json!({"load_fps": load, "loss_ratio": loss, "within": within, "purpose": {"kind": "search"}});
    let core = |cpu: u32| json!({"cpu": cpu, "user": 0.1, "system": 0.5, "irq": 0.02, "softirq": 0.2, "steal": 0.08, "idle": 0.1});
    let name = "vm,nic=<img src=x onerror=nowhere()>/64/uni";
    let state = json!({
        "plan": "<b>a plan</b>", "unix_s": 1_700_000_000.0, "elapsed_s": 61.0,
        "words": {
            "counts": ["5 of 151 test points", "3 socket tests", "1 doubtful", "1 failed"],
            "left": "1:02:05 left, ±0:40", "search": "200–300 k (33 %), trying 250 k",
        },
        "board": {
            "host": "<i>web01</i>",
            "rows": [
                {"path": "bridge", "cells": cells},
                {"path": "a path whose name is longer than any screen is wide, ".repeat(4),
                 "cells": [[name, square(64, 1, Some("ok"), false)]]},
            ],
            "repeats": 2, "stage": "measuring", "sockets": 3, "cores": [core(0), core(1)],
            "now": {"cell": name, "control": false, "trial": [4, {"kind": "latency", "load_ratio": 0.9}],
                    "load_fps": 250_000.0, "bounds": {"lower_fps": 200_000.0, "upper_fps": 300_000.0},
                    "scale_fps": 400_000.0},
            "loss_goal_ratio": 1e-4, "searched": name, "trials_total": 900,
            "trials": [trial(400_000.0, 0.31, Some(false)), trial(200_000.0, 0.0, Some(true)), trial(300_000.0, 0.02, Some(false)),
                       trial(300_000.0, 0.5, None)],
            "recent": ["bridge/64/uni: 394 k frames/s (ok)", "x".repeat(300)],
        },
    });
    page(
        include_str!("../../../nicety/src/bench/live/page/page.html"),
        include_str!("../../../nicety/src/bench/live/page/page.css"),
        &[
            include_str!("../../../nicety/src/bench/live/page/charts.js"),
            include_str!("../../../nicety/src/bench/live/page/page.js"),
        ],
        &state,
    )
}

/// The police daemon's page with a tenant that is well, one that is cut and one that is away.
pub fn police() -> String {
    let tenant = |name: &str, kind: &str| {
        json!({"tenant": name, "weight": 2, "rate_bps": 4.8e8, "demand_bps": null, "limit_bps": 4.85e8,
               "bottleneck": {"kind": kind, "with": ["blue", "red", "green", "x"]}})
    };
    let port = |tenant: u32, present: bool, enforcement: &str| json!({"tenant": tenant, "port": format!("tap{tenant}"), "present": present, "enforcement": enforcement});
    let points: Vec<Value> = (0..60)
        .map(|n| json!({"at_s": n, "rate": [1e8, n * 1_000_000, 0], "limit": [2e8, 3e7, 1e9]}))
        .collect();
    let state = json!({
        "ended_unix_s": 1_700_000_060.0, "age_s": 0.2,
        "state": {
            "written_s": 59.0,
            "tenants": [tenant("blue", "link"), tenant("<i>red</i>", "cap"), tenant(&"g".repeat(200), "absent")],
            "decision": {
                "tenants": [{"cap_bps": 1e9}, {"cap_bps": 5e8}, {"cap_bps": 1e9}],
                "total_bps": 9.7e8, "level_bps": 4.85e8,
                "ports": [port(0, true, "enforced"), port(1, true, "not-enforced"), port(2, false, "unknown")],
            },
            "capacity_bps": 1e9, "policy": "policy.toml", "period_s": 0.5, "writes": 12, "errors": 1,
            "packets": {"tenants": [{"tenant": "blue", "rate_pps": 19_999.6, "limit_pps": 20_000}], "ports": []},
            "received": {
                "tenants": [{"tenant": "blue", "rate_bps": 3e6, "limit_bps": 8e6, "burst": {"lasts_s": 1.25}}],
                "packets": {"tenants": [{"tenant": "blue", "rate_pps": 250.2, "limit_pps": 3000}], "ports": []},
            },
        },
        "held_by": ["held by the link, shared with red", "held by its cap", "none of its ports is there"],
        "history": points,
    });
    page(
        include_str!("../../../nicety/src/police/serve/page.html"),
        include_str!("../../../nicety/src/police/serve/page.css"),
        &[
            include_str!("../../../nicety/src/police/serve/history.js"),
            include_str!("../../../nicety/src/police/serve/page.js"),
        ],
        &state,
    )
}

/// Puts the pointer where a share of the width of a chart is, and reads what is said of it.
fn pointed(browser: &mut Browser, chart: &str, share: f64) -> String {
    let at = browser.value(&format!(
        "(() => {{ const over = document.querySelector('{chart} .u-over');
        over.scrollIntoView({{ block: 'center', behavior: 'instant' }});
        const {{ x, y, width, height }} = over.getBoundingClientRect();
        return {{ x: x + {share} * width, y: y + height / 2 }}; }})()"
    ));
    browser.settle();
    let moved = json!({ "type": "mouseMoved", "x": at["x"], "y": at["y"] });
    browser.ask("Input.dispatchMouseEvent", moved);
    browser.settle();
    readout(browser, chart)
}

fn readout(browser: &mut Browser, chart: &str) -> String {
    let said = browser.value(&format!(
        "document.querySelector('{chart} .readout').textContent"
    ));
    said.as_str().unwrap().to_owned()
}

#[test]
fn charts_of_a_run_under_way_say_their_values() {
    let test = "charts_of_a_run_under_way_say_their_values";
    let Some(mut stage) = Stage::start(test) else {
        return;
    };
    for (width, scheme) in [(390, "dark"), (1280, "light")] {
        stage.open("bench, live", width, scheme);
        let browser = &mut stage.browser;
        let unit = |browser: &mut Browser, chart: &str| {
            browser.value(&format!(
                "document.querySelector('{chart} .unit').textContent"
            ))
        };
        assert_eq!(unit(browser, "#throughput"), "k frames/s");
        let first = pointed(browser, "#throughput", 0.0);
        assert!(
            first.starts_with("64 bytes: bridge, one direction 394 k frames/s (354 k–433 k); "),
            "{first}"
        );
        assert_eq!(
            pointed(browser, "#throughput", 0.99),
            "1518 bytes: no result yet"
        );
        assert_eq!(unit(browser, "#trials"), "loss in %");
        assert_eq!(
            pointed(browser, "#trials", 0.95),
            "400 k frames/s: trial 1, search, lost 31 %, failed"
        );
        assert_eq!(
            pointed(browser, "#trials", 0.7),
            "300 k frames/s: trial 3, search, lost 2 %, failed; trial 4, search, lost 50 %, does not count"
        );
        // The same by keyboard: from the first point to the next, and away.
        browser.value("document.querySelector('#trials .plot').focus(); 0");
        browser.press("Home", 36, "");
        browser.settle();
        assert_eq!(
            readout(browser, "#trials"),
            "200 k frames/s: trial 2, search, lost 0 %, passed"
        );
        browser.press("ArrowRight", 39, "");
        browser.settle();
        assert!(readout(browser, "#trials").starts_with("300 k frames/s: "));
        browser.press("Escape", 27, "");
        browser.settle();
        assert_eq!(readout(browser, "#trials"), "");
        // Test points are read by keyboard too; a pointer that rests on one would read that.
        let away = json!({ "type": "mouseMoved", "x": 1, "y": 1 });
        browser.ask("Input.dispatchMouseEvent", away);
        browser.value("document.querySelector('#cells').focus(); 0");
        for key in ["Home", "ArrowRight"] {
            browser.press(key, if key == "Home" { 36 } else { 39 }, "");
        }
        let point = "document.querySelector('#point').textContent";
        assert_eq!(
            browser.value(point),
            "bridge/128/uni: ok, 1 of 2 visits, 387 k frames/s"
        );
        browser.press("Escape", 27, "");
        assert_eq!(browser.value(point), "");
        // Something is drawn in each.
        let drawn = browser.value(
            "[...document.querySelectorAll('canvas')].map((canvas) => canvas.getContext('2d')
            .getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0))",
        );
        assert_eq!(drawn, json!([true, true]));
        let title = browser.value("document.querySelector('h1').textContent");
        assert_eq!(title, "nicety bench: <i>web01</i>");
        let counted = browser.value("document.querySelector('#count').textContent");
        assert_eq!(
            counted,
            "5 of 151 test points, 3 socket tests, 1 doubtful, 1 failed, 9 of 300 visits"
        );
    }
    // A page and the terminal spell a rate the same way.
    for fps in [
        0.0, 7.0, 812.0, 999.4, 999.7, 9_996.0, 207_917.0, 791_900.0, 999_700.0, 1.488e6, 2.5e9,
    ] {
        let said = stage.browser.value(&format!("frames({fps})"));
        assert_eq!(said, nicety_report::short(fps), "{fps}");
    }
}

/// Every control of a live page is reached in order with a visible focus, and does what it is for; a card tells all of
/// its limits.
#[test]
fn a_keyboard_is_enough_for_live_pages_whose_cards_tell_all_limits() {
    let Some(mut stage) =
        Stage::start("a_keyboard_is_enough_for_live_pages_whose_cards_tell_all_limits")
    else {
        return;
    };
    for name in names().filter(|name| is_live(name)) {
        stage.open(name, 1280, "light");
        let browser = &mut stage.browser;
        let wanted = browser.value(
            r#"window.__all = [...document.querySelectorAll("a[href], button, input, [tabindex='0']")]
              .filter((e) => e.checkVisibility({ visibilityProperty: true }));
            window.__all.length"#,
        );
        let wanted = wanted.as_u64().unwrap();
        assert!(wanted > 4, "{name}: {wanted}");
        for number in 0..wanted {
            browser.press("Tab", 9, "");
            let at = browser.value(
                "[window.__all.indexOf(document.activeElement), \
                 getComputedStyle(document.activeElement).outlineStyle !== 'none']",
            );
            assert_eq!(at, json!([number, true]), "{name}");
        }
        let buttons = browser.value("document.querySelectorAll('button').length");
        for number in 0..buttons.as_u64().unwrap() {
            let button = format!("document.querySelectorAll('button')[{number}]");
            let pressed = format!("{button}.getAttribute('aria-pressed')");
            browser.value(&format!("{button}.focus(); 0"));
            browser.press(" ", 32, " ");
            assert_eq!(browser.value(&pressed), "true", "{name}");
            browser.press("Enter", 13, "\r");
            assert_eq!(browser.value(&pressed), "false", "{name}");
        }
        if browser.value("!!document.querySelector('input')") == json!(true) {
            browser.value("document.querySelector('input').focus(); 0");
            for letter in ["b", "l"] {
                browser.press(letter, 0, letter);
            }
            let left = browser.value("document.querySelectorAll('#tenants article').length");
            assert_eq!(left, 1, "{name}");
        }
    }
    // What a policy limits besides what is sent stands at those tenants that it is about.
    stage.open("police, live", 1280, "light");
    let said = stage.browser.value(
        "[...document.querySelectorAll('#tenants article')].map((card) => \
         [...card.querySelectorAll('p')].map((p) => p.checkVisibility() ? p.textContent : '').find((text) => text.includes('at most')) ?? '')",
    );
    let wanted = "sends 20000 of at most 20000 packets/s; receives 3.00 Mbit/s of at most 8.00 Mbit/s, burst credit 1.3 s; \
         receives 250 of at most 3000 packets/s";
    assert_eq!(said, json!([wanted, "", ""]));
}
