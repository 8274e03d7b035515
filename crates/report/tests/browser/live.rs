//! The live pages with a state as their server tells it, in one file: style, script and answer
//! stand where the server would be asked.

use serde_json::{Value, json};

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

/// `nicety bench --web` in the middle of a run, names that are markup among it.
pub fn bench() -> String {
    let square = |done: u32, worst: Option<&str>, skipped: bool| json!({"done": done, "worst": worst, "fps": worst.map(|_| 237_099.6), "skipped": skipped});
    let mut cells: Vec<Value> = (0..150)
        .map(|n| json!([format!("bridge/{n}/uni"), square(0, None, false)]))
        .collect();
    cells[0][1] = square(2, Some("ok"), false);
    cells[1][1] = square(1, Some("ok"), false);
    cells[2][1] = square(2, Some("noisy"), false);
    cells[3][1] = square(2, Some("failed"), false);
    cells[4][1] = square(0, None, true);
    let core = |cpu: u32| json!({"cpu": cpu, "user": 0.1, "system": 0.5, "irq": 0.02, "softirq": 0.2, "steal": 0.08, "idle": 0.1});
    let name = "vm,nic=<img src=x onerror=nowhere()>/64/uni";
    let state = json!({
        "plan": "<b>a plan</b>", "unix_s": 1_700_000_000.0, "elapsed_s": 61.0, "left_s": 3725.0,
        "board": {
            "rows": [
                {"path": "bridge", "cells": cells},
                {"path": "a path whose name is longer than any screen is wide, ".repeat(4),
                 "cells": [[name, square(0, None, false)]]},
            ],
            "repeats": 2, "stage": "measuring", "sockets": 3, "cores": [core(0), core(1)],
            "now": {"cell": name, "control": false, "trial": [4, {"kind": "latency", "load_ratio": 0.9}],
                    "load_fps": 250_000.0, "bounds": {"lower_fps": 200_000.0, "upper_fps": 300_000.0},
                    "scale_fps": 400_000.0},
            "recent": ["bridge/0/uni: 237.1k frames/s (ok)", "x".repeat(300)],
        },
    });
    page(
        include_str!("../../../nicety/src/bench/live/page/page.html"),
        include_str!("../../../nicety/src/bench/live/page/page.css"),
        &[include_str!("../../../nicety/src/bench/live/page/page.js")],
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
        },
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
