//! The picture of a host and the page of measured changes against golden files, and what must
//! hold of them.

use nicety_model::HostFacts;
use nicety_model::measured::{
    CurvePoint, Measured, MeasuredCell, MeasuredDecision, MeasuredGain, MeasuredTarget,
    MeasuredUnit, RatePoint,
};
use nicety_model::picture::{CpuPicture, Mark, MarkKind, NicPicture, NodePicture, Picture};
use nicety_report::{host, measured};
use scraper::{Html, Selector};

use crate::common::{self, NASTY, count, rendered};

fn mark(kind: MarkKind, name: &str, misplaced: bool) -> Mark {
    Mark {
        kind,
        name: name.to_owned(),
        misplaced,
        nic: Some("eth0".to_owned()),
    }
}

/// Two nodes of so many cores with two threads.
fn nodes(cores: u32) -> Vec<NodePicture> {
    let core = |cpu: u32| {
        let threads = [cpu, cpu + 2 * cores].map(|cpu| CpuPicture {
            cpu,
            marks: Vec::new(),
        });
        threads.to_vec()
    };
    let node = |node: u32| NodePicture {
        node: Some(node),
        memory_mib: Some(131_072),
        cores: (node * cores..(node + 1) * cores).map(core).collect(),
        ..NodePicture::default()
    };
    vec![node(0), node(1)]
}

/// A NIC on the second node, an interrupt on the first.
fn picture() -> Picture {
    let mut nodes = nodes(12);
    nodes[1].nics.push(NicPicture {
        name: "eth0".to_owned(),
        about: "ixgbe, 10000 Mbit/s".to_owned(),
    });
    nodes[0].cores[0][0]
        .marks
        .push(mark(MarkKind::Interrupt, "eth0-TxRx-0", true));
    nodes[1].cores[1][0]
        .marks
        .push(mark(MarkKind::Interrupt, "eth0-TxRx-1", false));
    nodes[1].cores[2][1]
        .marks
        .push(mark(MarkKind::VirtualCpu, NASTY, false));
    let vhost = |n: u32| mark(MarkKind::Vhost, &format!("web vhost {n}"), false);
    nodes[1].within = (0..8).map(vhost).collect();
    Picture {
        nodes,
        anywhere: vec![mark(MarkKind::VirtualCpu, "web vCPU 0", true)],
        misplaced: vec![
            "eth0-TxRx-0 runs on CPUs 0, eth0 is on node 1".to_owned(),
            "web vCPU 0 runs on CPUs 0-47, eth0 is on node 1".to_owned(),
        ],
    }
}

fn page(picture: &Picture) -> String {
    rendered(|out| host::render(&HostFacts::default(), picture, out))
}

#[test]
fn a_misplaced_interrupt_is_seen() {
    let text = page(&picture());
    common::golden("host.html", &text);
    let html = Html::parse_document(&text);
    assert_eq!(html.errors.len(), 0, "{:?}", html.errors);
    assert_eq!(count(&html, "figure"), 1);
    // In three widths: two boxes with 24 CPUs each.
    assert_eq!(count(&html, "svg rect"), 3 * 50);
    assert_eq!(count(&html, "svg rect[stroke='var(--bad)']"), 3);
    // From the interrupt on node 0 to the NIC on node 1; the head of the arrow is filled.
    assert_eq!(count(&html, "svg path[fill='var(--bad)']"), 3);
    assert_eq!(count(&html, "#misplaced li"), 2);
    assert!(text.contains("2 misplaced") && text.contains("web vhost 1 and 6 more"));
}

/// 160 CPUs on two nodes: those without a mark are ranges, and no letter is small.
#[test]
fn a_large_host_is_folded() {
    let mut large = Picture {
        nodes: nodes(40),
        ..Picture::default()
    };
    let text = page(&large);
    assert!(text.contains("CPUs 0–39, 80–119") && text.contains("CPUs 40–79, 120–159"));
    large.nodes[0].cores[20][0]
        .marks
        .push(mark(MarkKind::Interrupt, "eth0-TxRx-0", false));
    let html = Html::parse_document(&page(&large));
    // Two boxes; on node 0 two ranges and a core of two CPUs, on node 1 one range.
    assert_eq!(count(&html, "svg rect"), 3 * (2 + 2 + 2 + 1));
    let sizes = Selector::parse("svg [font-size]").unwrap();
    let least = html
        .select(&sizes)
        .map(|text| text.value().attr("font-size").unwrap().parse().unwrap())
        .fold(f64::INFINITY, f64::min);
    assert!(least >= 11.0, "{least}");
}

/// They share the way and the head.
#[test]
fn every_misplaced_mark_has_an_arrow() {
    let mut many = picture();
    for core in 0..6 {
        many.nodes[0].cores[core][1]
            .marks
            .push(mark(MarkKind::Interrupt, "eth0-TxRx-9", true));
    }
    let text = page(&many);
    let html = Html::parse_document(&text);
    assert_eq!(count(&html, "svg path[stroke='var(--bad)']"), 3 * 7);
    assert_eq!(count(&html, "svg path[fill='var(--bad)']"), 3);
}

#[test]
fn what_is_not_known_of_a_host_is_not_said() {
    let mut facts = HostFacts::default();
    facts.host.cpu_model = "unknown".to_owned();
    let text = rendered(|out| host::render(&facts, &Picture::default(), out));
    let html = Html::parse_document(&text);
    let lead = Selector::parse("p.lead.second").unwrap();
    let lead: String = html.select(&lead).next().unwrap().text().collect();
    assert_eq!(lead, "0 CPUs");
}

#[test]
fn a_host_that_is_right_or_empty_has_a_page() {
    let text = page(&Picture::default());
    assert!(text.contains("nothing is misplaced") && !text.contains("id=\"misplaced\""));
}

/// A cell that was measured before and after some change, to no effect.
fn one_cell(cell: MeasuredCell) -> Measured {
    Measured {
        schema: 1,
        target: MeasuredTarget::Throughput,
        changes: Vec::new(),
        cells: vec![cell],
        failed: Vec::new(),
        gain: None,
        decision: MeasuredDecision::NoEffect,
    }
}

#[test]
fn measured_changes_show_both_curves() {
    let curve = |factor: f64| {
        let point = |(load, loss): (f64, f64)| CurvePoint {
            load_fps: load * factor,
            loss_ratio: loss,
        };
        [(100_000.0, 0.0), (150_000.0, 0.002), (200_000.0, 0.3)]
            .map(point)
            .to_vec()
    };
    let cell = MeasuredCell {
        cell: NASTY.to_owned(),
        before: vec![100_000.0, 101_000.0],
        after: vec![130_000.0, 131_000.0],
        curve_before: curve(1.0),
        curve_after: curve(1.3),
        unit: MeasuredUnit::FramesPerS,
        rates_before: Vec::new(),
        rates_after: Vec::new(),
    };
    let measured = Measured {
        gain: Some(MeasuredGain {
            gain: 0.3,
            sigma: 0.007,
            interval_95: Some([0.266, 0.335]),
        }),
        decision: MeasuredDecision::Kept,
        ..one_cell(cell)
    };
    let text = rendered(|out| measured::render(&measured, "better here: +30.0 %", out));
    common::golden("measured.html", &text);
    let html = Html::parse_document(&text);
    assert_eq!(count(&html, "#curves svg:first-child"), 1);
    assert_eq!(count(&html, "#numbers td"), 5);
    assert!(text.contains("better here: +30.0 %"));
}

#[test]
fn measured_sockets_show_rates_of_both_sides() {
    let rates = |rate: f64| {
        let point = |parallel| RatePoint {
            parallel,
            rate: rate * f64::from(parallel),
        };
        vec![point(1), point(1), point(4)]
    };
    let mut measured = one_cell(MeasuredCell {
        cell: "bridge/tcp_rr/64".to_owned(),
        before: vec![40_000.0, 41_000.0],
        after: vec![40_500.0, 40_600.0],
        curve_before: Vec::new(),
        curve_after: Vec::new(),
        unit: MeasuredUnit::TransactionsPerS,
        rates_before: rates(10_000.0),
        rates_after: rates(10_100.0),
    });
    let page = |measured: &Measured| {
        let text = rendered(|out| measured::render(measured, "no effect here", out));
        Html::parse_document(&text)
    };
    let html = page(&measured);
    assert_eq!(count(&html, "#curves svg:first-child"), 1);
    let text: String = html.root_element().text().collect();
    assert!(text.contains("transactions/s") && text.contains("Rate against pairs at once"));
    assert!(!text.contains("Loss against load"), "{text}");
    // One number of pairs only, and none at all, still make a page.
    measured.cells[0].rates_after = Vec::new();
    measured.cells[0].rates_before.truncate(1);
    assert_eq!(count(&page(&measured), "#curves svg:first-child"), 1);
}
