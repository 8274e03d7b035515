//! axe-core finds nothing on any page, narrow and wide, in light and dark. With `NICETY_SCREENSHOTS=DIR`
//! each of them is also kept as a picture there.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cdp::Browser;
use crate::{CATCH, PROBE, Stage, common, names};

const AXE: &str = include_str!("axe/axe.min.js");

/// What axe finds on the open page: rule, help, and the first elements that break it.
fn violations(browser: &mut Browser) -> Value {
    browser.value(AXE);
    browser.value(
        r#"(async () => {
        for (const folded of document.querySelectorAll("details")) folded.open = true;
        const { violations, passes } = await axe.run(document, { resultTypes: ["violations"], preload: false });
        if (passes.length < 10) return "axe looked at nothing";
        return violations.map(({ id, help, nodes }) => [id, help, nodes.length,
          nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + node.failureSummary.slice(0, 300))]);
        })()"#,
    )
}

/// Tallest picture in pixels: a page of many results is cut off there.
const TALLEST: f64 = 8000.0;

/// Keeps the whole page as it is open now, in a window as high as it: parts out of sight are not drawn.
fn keep(browser: &mut Browser, width: u32, file: &Path) {
    let height = browser.value("document.documentElement.scrollHeight");
    let height = height.as_f64().unwrap().min(TALLEST);
    let window =
        json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
    browser.ask("Emulation.setDeviceMetricsOverride", window);
    browser.settle();
    let shot = browser.ask("Page.captureScreenshot", json!({ "format": "png" }));
    let picture = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
    std::fs::write(file, picture).unwrap();
}

#[test]
fn axe_finds_nothing_on_any_page() {
    let Some(mut stage) = Stage::start("axe_finds_nothing_on_any_page") else {
        return;
    };
    let kept = std::env::var_os("NICETY_SCREENSHOTS");
    // Wide and narrow, light and dark are each looked at; pictures are kept of all four.
    let windows = [
        (1280, "light"),
        (390, "dark"),
        (1280, "dark"),
        (390, "light"),
    ];
    let windows = &windows[..if kept.is_some() { 4 } else { 2 }];
    let mut found = Vec::new();
    // "many" is "rich" many times over, and takes axe a minute.
    for name in names().filter(|name| *name != "many") {
        for &(width, scheme) in windows {
            stage.open(name, width, scheme);
            let browser = &mut stage.browser;
            if let Some(dir) = &kept {
                let file = format!("{}-{width}-{scheme}.png", name.replace(", ", "-"));
                keep(browser, width, &Path::new(dir).join(file));
            }
            let wrong = violations(browser);
            if wrong != json!([]) {
                found.push(format!("{name} at {width}, {scheme}: {wrong:#}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_probe_and_axe_see_what_is_wrong() {
    let Some(mut stage) = Stage::start("the_probe_and_axe_see_what_is_wrong") else {
        return;
    };
    let page = common::page(&common::empty()).replacen("<style>", &format!("{CATCH}<style>"), 1);
    let bad = page.replacen(
        "<main>",
        r#"<main><p style="color:#999">grey on white</p><div style="width:20px;white-space:nowrap">cut off by far</div>
        <svg><text fill="pink" y="20">pale in a drawing</text></svg><script>nowhere()</script>"#,
        1,
    );
    stage.open_text(&bad);
    let told = stage.browser.value(PROBE);
    assert_eq!(told["pale"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(told["cut"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["errors"].as_array().unwrap().len(), 1, "{told}");

    let page = "<!doctype html><html><title>Wrong</title><main><h1>Wrong</h1><button></button>\
        <p style='color:#aaa'>pale on white</p><input></main></html>";
    stage.open_text(page);
    let wrong = violations(&mut stage.browser).to_string();
    for rule in ["html-has-lang", "button-name", "color-contrast", "label"] {
        assert!(wrong.contains(rule), "{rule}: {wrong}");
    }
}
