//! Recorded runs of the police against golden files, and what must hold of them.

use nicety_model::policed::Policed;
use nicety_report::{html, json, markdown, policed};
use scraper::Html;

use crate::common::{self, count, rendered, terminal};

#[test]
fn every_renderer_of_a_record() {
    let run = common::policed(240);
    let page = rendered(|out| html(&run, out));
    common::golden("policed.html", &page);
    common::golden("policed.md", &rendered(|out| markdown(&run, out)));
    for width in [20, 80] {
        common::golden(&format!("policed.{width}.txt"), &terminal(&run, width));
    }
    let few = common::policed(2);
    common::golden("policed.csv", &rendered(|out| policed::csv(&few, out)));
    let json = rendered(|out| json::pretty("policy", &run, out));
    let back: Policed = serde_json::from_str(&json).unwrap();
    assert_eq!(back, run);
}

#[test]
fn names_stay_names_and_lines_are_drawn() {
    let run = common::policed(240);
    let text = rendered(|out| html(&run, out));
    let html = Html::parse_document(&text);
    assert_eq!(html.errors.len(), 0, "{:?}", html.errors);
    assert!(!text.contains("<script>alert"));
    // One in three widths, and one for each tenant.
    assert_eq!(count(&html, "svg"), 6);
    assert_eq!(count(&html, "svg[aria-label]"), 6);
    // The soft limit of one tenant begins in the middle.
    let soft = count(&html, "#limits figure:nth-child(3) path");
    let others = count(&html, "#limits figure:nth-child(1) path");
    assert!(soft > others, "{soft} {others}");
    let markdown = rendered(|out| markdown(&run, out));
    assert!(!markdown.contains("<script>"));
    assert!(!terminal(&run, 80).contains('\u{1b}'));
}

#[test]
fn long_records_are_drawn_as_means() {
    let run = common::policed(5000);
    let text = rendered(|out| html(&run, out));
    assert!(text.contains("each point is the mean of 13 periods"));
    let html = Html::parse_document(&text);
    assert!(count(&html, "#periods tr") < 900);
}

#[test]
fn a_record_without_periods_says_so() {
    let run = common::policed(0);
    let text = rendered(|out| html(&run, out));
    assert!(text.contains("no period was recorded"));
    assert_eq!(count(&Html::parse_document(&text), "svg"), 0);
    assert!(rendered(|out| markdown(&run, out)).contains("no period was recorded"));
    let csv = rendered(|out| policed::csv(&run, out));
    assert_eq!(csv.lines().count(), 1);
}
