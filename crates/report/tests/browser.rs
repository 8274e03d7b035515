//! The pages in a real browser: no error, nothing wider than the window, tables that sort.
//!
//! Needs Chromium; without it the tests say that they skip.

// Tests may run programs and read files; the crate itself may not.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::print_stdout
)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use nicety_model::compare::Comparison;
use nicety_report::{compare, html};
use serde_json::Value;

/// What the page is asked once its own scripts have run; the answer goes where `--dump-dom`
/// shows it.
const PROBE: &str = r#"<script>
const told = { errors: window.__errors };
const width = document.documentElement.clientWidth;
told.over = document.documentElement.scrollWidth - width;
told.bare = [...document.querySelectorAll("button, a[href]")]
  .filter((e) => !(e.getAttribute("aria-label") || e.textContent).trim() || e.tabIndex < 0).length;
// What is folded away cannot take the focus.
for (const folded of document.querySelectorAll("details")) folded.open = true;
told.sorted = [...document.querySelectorAll("table.sortable")].every((table) => {
  const button = table.tHead.querySelector("button");
  button.focus();
  if (document.activeElement !== button) return false;
  button.click();
  return button.closest("th").getAttribute("aria-sort") === "ascending";
});
told.csv = document.querySelectorAll("caption .download").length
  === document.querySelectorAll("table.sortable").length;
told.save = !document.getElementById("save").hidden;
document.documentElement.dataset.told = JSON.stringify(told);
</script>"#;

/// Collects errors before anything else runs.
const CATCH: &str = r#"<script>window.__errors = [];
addEventListener("error", (e) => window.__errors.push(e.message));
addEventListener("securitypolicyviolation", (e) => window.__errors.push(e.violatedDirective));
</script>"#;

fn chromium() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        })
}

/// Opens the page in a window of this width and returns what the probe told.
fn open(browser: &str, dir: &Path, page: &str, width: u32) -> Value {
    let page = page
        .replacen("<style>", &format!("{CATCH}<style>"), 1)
        .replace("</body>", &format!("{PROBE}</body>"));
    let file = dir.join("page.html");
    std::fs::write(&file, page).unwrap();
    let out = Command::new("timeout")
        .args(["60", browser, "--headless", "--no-sandbox", "--disable-gpu"])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("--window-size={width},900"))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let dom = String::from_utf8(out.stdout).unwrap();
    let document = scraper::Html::parse_document(&dom);
    let told = document.root_element().value().attr("data-told");
    serde_json::from_str(told.unwrap_or("{}")).unwrap()
}

#[test]
fn pages_work_in_a_browser() {
    let Some(browser) = chromium() else {
        println!(
            "SKIP pages_work_in_a_browser: no chromium here; on Debian: apt-get install chromium"
        );
        return;
    };
    let compared: Comparison =
        serde_json::from_str(include_str!("golden/compare-rich.json")).unwrap();
    let rendered = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    };
    let pages = [
        (
            "rich",
            rendered(&|out| html::render(&common::rich(), out).unwrap()),
        ),
        (
            "empty",
            rendered(&|out| html::render(&common::empty(), out).unwrap()),
        ),
        (
            "compare",
            rendered(&|out| compare::html(&compared, out).unwrap()),
        ),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (name, page) in pages {
        // Chromium's own windows are not narrower than 500.
        for width in [500, 768, 1280] {
            let told = open(browser, dir.path(), &page, width);
            let wanted = serde_json::json!({
                "errors": [], "over": 0, "bare": 0, "sorted": true, "csv": true, "save": true,
            });
            assert_eq!(told, wanted, "{name} at {width}");
        }
    }
}
