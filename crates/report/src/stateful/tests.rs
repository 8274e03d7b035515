use nicety_model::SCHEMA;
use nicety_model::run::Fingerprint;
use nicety_model::stateful::{Capacity, Goodput, SetupRate, TableFacts, Teardown};

use super::*;

fn counts(count: u64) -> TableCounts {
    TableCounts {
        sent: count,
        responder: count,
        kernel: count,
        listed: Some(count),
        answered: Some(count),
    }
}

fn figure(median: f64) -> Option<Figure> {
    Some(Figure {
        median,
        low: median * 0.98,
        high: median * 1.01,
        n: 3,
        confidence: Some(0.75),
    })
}

fn report() -> StatefulReport {
    StatefulReport {
        schema: SCHEMA,
        started: "2026-01-01T00:00:00Z".to_owned(),
        path: "routed,nat=snat".to_owned(),
        frame_size_bytes: 64,
        trial_s: 1.0,
        host: Fingerprint::default(),
        table: TableFacts {
            max: 262_144,
            buckets: 262_144,
            entry_bytes: Some(256),
            timeout_s: 86_400,
            hosts: 1,
            addresses: 1,
            destination_ports: 17,
        },
        setup: Some(SetupRate {
            per_s: figure(182_000.0),
            verdict: TableVerdict::Ok,
            stopped_by: Some(Setback::Lost),
            counts: counts(182_000),
            trials: 31,
        }),
        capacity: Some(Capacity {
            entries: Some(262_144),
            overflowed: Some(262_145),
            verdict: TableVerdict::Ok,
            stopped_by: Some(Setback::TableFull),
            thrown_out: Some(1),
            counts: counts(262_144),
            fills: 8,
        }),
        teardown: vec![Teardown {
            entries: 235_929,
            per_s: figure(1.9e6),
            seconds: figure(0.124),
            left: 0,
            verdict: TableVerdict::Ok,
            stopped_by: None,
        }],
        goodput: [235, 235_929]
            .map(|entries| Goodput {
                entries,
                state: EntryState::Replied,
                fps: figure(400_000.0 - entries as f64),
                payload_mbps: Some(23.6),
                verdict: TableVerdict::Ok,
                stopped_by: Some(Setback::Lost),
                counts: counts(entries),
                kernel_after: entries,
                trials: 30,
            })
            .into(),
        notes: Vec::new(),
        complete: true,
    }
}

fn text(report: &StatefulReport) -> String {
    let options = crate::Options {
        width: 100,
        colour: false,
    };
    page(report).text(options, true)
}

#[test]
fn every_figure_has_a_sentence() {
    let text = text(&report());
    for line in [
        "The router opens 182 k connections per second",
        "The table holds 262,144 connections, which is nf_conntrack_max. One more throws out an older one",
        "235,929 connections are removed in 124 ms: 1.90 M",
        "; on 235 it is 400 k.",
        "sysctl net.netfilter.nf_conntrack_max=524288",
        "Table: 262,144 entries at most (nf_conntrack_max), 262,144 hash buckets, 256 B an entry.",
        "goodput, both ways",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("forgotten"), "{text}");
}

#[test]
fn counts_that_differ_are_shown_and_make_it_not_valid() {
    let mut report = report();
    let setup = report.setup.as_mut().unwrap();
    setup.verdict = TableVerdict::NotValid;
    setup.stopped_by = Some(Setback::Miscounted);
    setup.counts.kernel = 181_990;
    let text = text(&report);
    let line = "Opened were 182,000, the responder saw 182,000, and the kernel has 181,990.";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("not-valid"), "{text}");
}

#[test]
fn a_want_of_ports_is_said_with_the_remedy() {
    let mut report = report();
    report.table.hosts = 8;
    report.capacity.as_mut().unwrap().stopped_by = Some(Setback::NoPort);
    let text = text(&report);
    assert!(
        text.contains("With one more translation found no free port."),
        "{text}"
    );
    assert!(text.contains("--addresses 8"), "{text}");
}

#[test]
fn numbers_are_bare_in_csv() {
    let csv = page(&report()).csv(true).unwrap();
    assert!(
        csv.lines()
            .any(|line| line.starts_with("figures,capacity,")),
        "{csv}"
    );
}
