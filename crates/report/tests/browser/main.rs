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
#[allow(dead_code, reason = "most is for the other tests")]
#[path = "../common/mod.rs"]
mod common;
mod fleet;
mod live;
mod sockets;

use cdp::Browser;
use nicety_model::compare::Comparison;
use nicety_model::stateful::StatefulReport;
use serde_json::json;
use tempfile::TempDir;

const PROBE: &str = include_str!("page.js");

/// Collects errors before anything else runs.
const CATCH: &str = r#"<script>window.__errors = [];
addEventListener("error", (e) => window.__errors.push(e.message));
addEventListener("securitypolicyviolation", (e) => window.__errors.push(e.violatedDirective));
</script>"#;

/// A page's name, and what renders it when it is first opened.
type Page = (&'static str, fn() -> String);

const PAGES: [Page; 14] = [
    ("host", || golden(include_str!("../golden/host.html"))),
    ("measured", || {
        golden(include_str!("../golden/measured.html"))
    }),
    ("sockets", || common::page(&sockets::run())),
    ("bench, live", live::bench),
    ("police, live", live::police),
    ("rich", || common::page(&common::rich())),
    ("many", || common::page(&common::many(28))),
    ("empty", || common::page(&common::empty())),
    ("compare", || common::page(&compared())),
    ("policed", || common::page(&common::policed(240))),
    ("trend", || common::page(&common::trend())),
    ("fleet", || golden(include_str!("../golden/fleet.html"))),
    ("mixes", || {
        golden(include_str!(
            "../../../../tests/cases/runs/mixes/report.html"
        ))
    }),
    ("stateful", || common::page(&stateful())),
];

fn names() -> impl Iterator<Item = &'static str> {
    PAGES.into_iter().map(|(name, _)| name)
}

fn is_live(name: &str) -> bool {
    name.ends_with("live")
}

fn golden(page: &str) -> String {
    page.to_owned()
}

/// A table of connections: two fills, and goodput on few and many.
fn stateful() -> StatefulReport {
    serde_json::from_str(include_str!("../runs/stateful.json")).unwrap()
}

fn compared() -> Comparison {
    serde_json::from_str(include_str!("../golden/compare-rich.json")).unwrap()
}

/// A browser, and then the pages that it shows.
struct Stage {
    browser: Browser,
    dir: TempDir,
}

impl Stage {
    /// Starts the browser; says what is skipped without one.
    fn start(test: &str) -> Option<Self> {
        let Some(name) = cdp::installed() else {
            println!("SKIP {test}: no chromium here; on Debian: apt-get install chromium");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let browser = Browser::start(name, dir.path());
        Some(Self { browser, dir })
    }

    /// Opens a page in a window of this width, in light or dark. A live page draws when it has its first answer.
    fn open(&mut self, name: &str, width: u32, scheme: &str) {
        let file = self
            .dir
            .path()
            .join(format!("{}.html", name.replace(", ", "-")));
        if !file.exists() {
            let (_, render) = PAGES.into_iter().find(|(known, _)| *known == name).unwrap();
            let page = render().replacen("<style>", &format!("{CATCH}<style>"), 1);
            std::fs::write(&file, page).unwrap();
        }
        self.browser.open(&file, width, scheme);
        if is_live(name) {
            self.browser.value(live::DRAWN);
        }
    }

    /// Opens a page that is none of those, wide and light.
    fn open_text(&mut self, page: &str) {
        let file = self.dir.path().join("other.html");
        std::fs::write(&file, page).unwrap();
        self.browser.open(&file, 1280, "light");
    }
}

#[test]
fn pages_work_in_a_browser() {
    let Some(mut stage) = Stage::start("pages_work_in_a_browser") else {
        return;
    };
    for name in names() {
        for (width, scheme) in [
            (320, "dark"),
            (768, "light"),
            (1280, "dark"),
            (1280, "light"),
        ] {
            stage.open(name, width, scheme);
            let mut told = stage.browser.value(PROBE);
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
fn a_long_table_shows_its_first_rows_sorts_all_and_is_linked_to() {
    let test = "a_long_table_shows_its_first_rows_sorts_all_and_is_linked_to";
    let Some(mut stage) = Stage::start(test) else {
        return;
    };
    let page = common::page(&common::many(400));
    stage.open_text(&page);
    let told = stage.browser.value(
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
    stage.open_text(&page);
    let printed = stage.browser.value(
        "dispatchEvent(new Event('beforeprint')); document.querySelector('table').tBodies[0].rows.length",
    );
    assert_eq!(printed.as_u64(), Some(all));
    // A link to a result arrives at a row that is not shown yet.
    stage.open_text(&page);
    let told = stage.browser.value(
        r##"(() => {
        const [last] = rest(document.querySelector("#throughput table.sortable")).slice(-1);
        const { id } = last.querySelector("th[id]");
        const before = document.getElementById(id) !== null;
        location.hash = id;
        arrive();
        return [before, document.getElementById(id) !== null];
        })()"##,
    );
    assert_eq!(told, json!([false, true]));
}

#[test]
fn a_keyboard_is_enough() {
    let Some(mut stage) = Stage::start("a_keyboard_is_enough") else {
        return;
    };
    // "many" is "rich" many times over.
    for name in names().filter(|name| !is_live(name) && *name != "many") {
        stage.open(name, 1280, "light");
        let browser = &mut stage.browser;
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
