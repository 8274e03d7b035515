//! The pages in a real browser: no error, nothing wider than the window, text that can be read
//! in light and dark, tables that sort, and a walk with the keyboard alone.
//!
//! Needs Chromium; without it the tests say that they skip.

// Tests may run programs and read files; the crate itself may not.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::print_stdout
)]

mod accessible;
mod cdp;
mod charts;
#[path = "../common/mod.rs"]
mod common;
mod fleet;
mod live;
mod sockets;
mod stateful;

use std::path::PathBuf;

use cdp::Browser;
use nicety_model::compare::Comparison;
use nicety_report::{ReportError, html};
use serde_json::json;
use tempfile::TempDir;

const PROBE: &str = include_str!("page.js");

/// Collects errors before anything else runs.
const CATCH: &str = r#"<script>window.__errors = [];
addEventListener("error", (e) => window.__errors.push(e.message));
addEventListener("securitypolicyviolation", (e) => window.__errors.push(e.violatedDirective));
</script>"#;

/// Pages by name.
type Pages = Vec<(&'static str, PathBuf)>;

/// A browser and the pages, or what is skipped without one.
fn start(test: &str) -> Option<(Browser, Pages, TempDir)> {
    let Some(name) = cdp::installed() else {
        println!("SKIP {test}: no chromium here; on Debian: apt-get install chromium");
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let rendered = |render: &dyn Fn(&mut Vec<u8>) -> Result<(), ReportError>| {
        let mut out = Vec::new();
        render(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let compared: Comparison =
        serde_json::from_str(include_str!("../golden/compare-rich.json")).unwrap();
    let golden = |page: &str| page.to_owned();
    let pages = [
        ("host", golden(include_str!("../golden/host.html"))),
        ("measured", golden(include_str!("../golden/measured.html"))),
        ("sockets", rendered(&|out| html(&sockets::run(), out))),
        ("bench, live", live::bench()),
        ("police, live", live::police()),
        ("rich", rendered(&|out| html(&common::rich(), out))),
        ("many", rendered(&|out| html(&common::many(28), out))),
        ("empty", rendered(&|out| html(&common::empty(), out))),
        ("compare", rendered(&|out| html(&compared, out))),
        ("policed", rendered(&|out| html(&common::policed(240), out))),
        ("trend", rendered(&|out| html(&common::trend(), out))),
        ("fleet", golden(include_str!("../golden/fleet.html"))),
        (
            "mixes",
            golden(include_str!(
                "../../../../tests/cases/runs/mixes/report.html"
            )),
        ),
        ("stateful", rendered(&|out| html(&stateful::report(), out))),
    ];
    let written = pages.map(|(name, page)| {
        let page = page.replacen("<style>", &format!("{CATCH}<style>"), 1);
        let file = dir.path().join(format!("{}.html", name.replace(", ", "-")));
        std::fs::write(&file, page).unwrap();
        (name, file)
    });
    Some((Browser::start(name, dir.path()), written.into(), dir))
}

#[test]
fn pages_work_in_a_browser() {
    let Some((mut browser, pages, _dir)) = start("pages_work_in_a_browser") else {
        return;
    };
    for (name, page) in pages {
        for (width, scheme) in [
            (320, "dark"),
            (768, "light"),
            (1280, "dark"),
            (1280, "light"),
        ] {
            browser.open(&page, width, scheme);
            // A live page draws when it has its first answer.
            if name.ends_with("live") {
                browser.value(live::DRAWN);
            }
            let mut told = browser.value(PROBE);
            let texts = told.as_object_mut().unwrap().remove("texts").unwrap();
            assert!(texts.as_u64() > Some(10), "{name}: {texts} texts looked at");
            let wanted = json!({
                "errors": [], "over": 0, "bare": 0, "cut": [], "pale": [],
                "sorted": true, "csv": true, "save": true,
            });
            assert_eq!(told, wanted, "{name} at {width}, {scheme}");
        }
    }
}

#[test]
fn a_long_table_shows_its_first_rows_and_sorts_all() {
    let test = "a_long_table_shows_its_first_rows_and_sorts_all";
    let Some((mut browser, _, dir)) = start(test) else {
        return;
    };
    let mut page = Vec::new();
    html(&common::many(400), &mut page).unwrap();
    let file = dir.path().join("long.html");
    std::fs::write(&file, page).unwrap();
    browser.open(&file, 1280, "light");
    let told = browser.value(
        r##"(() => {
        const table = document.querySelector("table.sortable");
        const rows = () => [...table.tBodies[0].rows];
        const first = rows().length;
        const lines = () => csv(table).trim().split("\r\n").length - 1;
        const saved = lines();
        const names = () => rows().map((row) => row.cells[1].textContent);
        const before = names();
        const [, head] = table.querySelectorAll("thead button");
        head.click();
        head.click();
        const [last] = names();
        const folded = rows().length;
        const line = table.closest(".scroll").nextElementSibling;
        const said = line.textContent;
        line.querySelector("button").click();
        const all = names();
        const order = all.every((name, at) => at === 0 || collator.compare(all[at - 1], name) >= 0);
        return { first, saved, folded, said, all: all.length, order, last: last === all[0],
          different: last !== before[0], gone: !line.isConnected, again: lines() };
        })()"##,
    );
    let all = told["all"].as_u64().unwrap();
    assert!(all > 100, "{told}");
    let wanted = json!({
        "first": 100, "saved": all, "folded": 100,
        "said": format!("100 of {all} rows. Show all"),
        "all": all, "order": true, "last": true, "different": true, "gone": true, "again": all,
    });
    assert_eq!(told, wanted);
    // Nobody turns a page on paper.
    browser.open(&file, 1280, "light");
    let printed = browser.value(
        "dispatchEvent(new Event('beforeprint')); document.querySelector('table').tBodies[0].rows.length",
    );
    assert_eq!(printed.as_u64(), Some(all));
}

#[test]
fn the_probe_sees_what_is_wrong() {
    let Some((mut browser, pages, dir)) = start("the_probe_sees_what_is_wrong") else {
        return;
    };
    let (_, good) = pages.iter().find(|(name, _)| *name == "empty").unwrap();
    let page = std::fs::read_to_string(good).unwrap();
    let bad = page.replacen(
        "<main>",
        r#"<main><p style="color:#999">grey on white</p><div style="width:20px;white-space:nowrap">cut off by far</div>
        <svg><text fill="pink" y="20">pale in a drawing</text></svg><script>nowhere()</script>"#,
        1,
    );
    let file = dir.path().join("bad.html");
    std::fs::write(&file, bad).unwrap();
    browser.open(&file, 1280, "light");
    let told = browser.value(PROBE);
    assert_eq!(told["pale"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(told["cut"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["errors"].as_array().unwrap().len(), 1, "{told}");
}

#[test]
fn a_keyboard_is_enough() {
    let Some((mut browser, pages, _dir)) = start("a_keyboard_is_enough") else {
        return;
    };
    for (name, page) in pages
        .into_iter()
        .filter(|(name, _)| !name.ends_with("live"))
    {
        browser.open(&page, 1280, "light");
        // What can be reached, in the document's order; folded parts only with their summary.
        let wanted = browser.value(
            r##"window.__all = [...document.querySelectorAll("a[href], button, summary, input, [tabindex='0']")]
              .filter((e) => e.checkVisibility({ visibilityProperty: true }));
            window.__all.length"##,
        );
        let wanted = wanted.as_u64().unwrap();
        assert!(wanted > 1, "{name}: {wanted}");
        for number in 0..wanted {
            browser.press("Tab", 9, "");
            let at = browser.value(
                "[window.__all.indexOf(document.activeElement), \
                 getComputedStyle(document.activeElement).outlineStyle !== 'none']",
            );
            assert_eq!(
                at,
                json!([number, true]),
                "{name}: order and a visible focus"
            );
        }
        // The first stop leads past the head of the page.
        browser.value("document.activeElement.blur(); window.__all[0].focus()");
        browser.press("Enter", 13, "\r");
        let hash = browser.value("location.hash");
        assert!(
            hash.as_str().is_some_and(|hash| hash.len() > 1),
            "{name}: {hash}"
        );
        // A table sorts, a folded part unfolds.
        let heads = browser.value("document.querySelector('thead button')?.focus(); !!document.querySelector('thead button')");
        if heads == json!(true) {
            browser.press("Enter", 13, "\r");
            let sorted =
                browser.value("document.activeElement.closest('th').getAttribute('aria-sort')");
            assert_eq!(sorted, "ascending", "{name}");
        }
        let folded = browser.value(
            "document.querySelector('summary')?.focus(); !!document.querySelector('summary')",
        );
        if folded == json!(true) {
            browser.press("Enter", 13, "\r");
            assert_eq!(
                browser.value("document.querySelector('details').open"),
                true,
                "{name}"
            );
        }
    }
}
