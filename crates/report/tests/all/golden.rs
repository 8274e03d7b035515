//! The table against golden files in several widths, for a rich and for an empty run; all other
//! formats are in `tests/cases/runs`.
//!
//! `make golden` rewrites the files; read the difference before committing it.

use nicety_model::Run;
use nicety_report::{csv, junit, prometheus};

use crate::common::{self, golden, rendered, terminal};

/// The table in terminals of several widths.
fn tables(name: &str, run: &Run) {
    for width in [20, 80, 160] {
        golden(&format!("{name}.{width}.txt"), &terminal(run, width));
    }
}

#[test]
fn rich_run() {
    tables("rich", &common::rich());
}

#[test]
fn run_of_five_visits() {
    tables("visits", &common::visits());
}

#[test]
fn empty_run() {
    tables("empty", &common::empty());
}

#[test]
fn guests_that_share_a_path() {
    let run = common::guests();
    golden("guests.80.txt", &terminal(&run, 80));
    // No guests, no rows.
    let none = rendered(|out| csv::guests::render(&common::rich(), out));
    assert_eq!(none.lines().count(), 1);
}

/// What both formats forbid: XML 1.0 has no control characters, metrics no NaN that nobody measured.
#[test]
fn exports_of_odd_runs_hold_to_their_formats() {
    for run in [
        common::rich(),
        common::failures(),
        common::not_finite(),
        common::empty(),
        common::visits(),
        common::not_finite_visits(),
    ] {
        let xml = rendered(|out| junit::render(&run, out));
        assert!(xml.chars().all(|c| c == '\n' || !c.is_control()));
        assert_eq!(
            xml.matches("<testcase ").count(),
            xml.matches("</testcase>").count()
        );
        assert!(!xml.contains("<script") && !xml.contains("NaN") && !xml.contains("inf\""));
        let mut names = std::collections::BTreeSet::new();
        for family in prometheus::families(&run) {
            assert!(names.insert(family.name), "{} twice", family.name);
            assert!(family.help.ends_with('.'), "{}", family.name);
            let finite = family.samples.iter().all(|sample| sample.value.is_finite());
            assert!(finite, "{family:?}");
        }
        assert!(names.contains("nicety_run_info"));
    }
}

#[test]
fn limits_of_the_tester_have_a_label_for_each_thing() {
    let mut run = common::empty();
    for key in ["64", "64/bi", "1518/bi/af_packet"] {
        run.tester_limit_fps.insert(key.parse().unwrap(), 5e5);
    }
    let families = prometheus::families(&run);
    let mut families = families.iter();
    let limits = families.find(|one| one.name == "nicety_tester_limit_frames_per_second");
    let samples = &limits.unwrap().samples;
    for labels in [
        &[("frame_size_bytes", "64"), ("direction", "uni")][..],
        &[("frame_size_bytes", "64"), ("direction", "bi")],
        &[
            ("frame_size_bytes", "1518"),
            ("direction", "bi"),
            ("engine", "af_packet"),
        ],
    ] {
        let labels: Vec<_> = labels.iter().map(|(n, v)| (*n, (*v).to_owned())).collect();
        let there = samples.iter().any(|sample| sample.labels == labels);
        assert!(there, "{labels:?} in {samples:?}");
    }
}

/// Such cells are in order of the words of their paths, numbers too.
#[test]
fn cells_that_the_summary_lacks_have_an_order() {
    let path = |nic, vcpus| [("kind", "vm"), ("nic", nic), ("vcpus", vcpus)];
    let paths = [
        path("virtio-net", "2"),
        path("vhost-net", "2"),
        path("vhost-net", "10"),
    ];
    let asked = paths.each_ref().map(|path| common::Asked {
        path,
        size: 64,
        direction: "uni",
        flows: 1,
        fps: [1e5; 3],
        verdict: "ok",
    });
    let mut run = common::measured(&asked);
    run.cells.clear();
    let text = rendered(|out| junit::render(&run, out));
    let of = |name: &str| text.find(name).unwrap();
    let names = [
        "vm,nic=vhost-net,vcpus=10/64",
        "vm,nic=vhost-net,vcpus=2/64",
        "vm,nic=virtio-net,vcpus=2/64",
    ];
    assert!(names.map(of).is_sorted(), "{text}");
}
