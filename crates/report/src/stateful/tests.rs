use nicety_model::SCHEMA;
use nicety_model::run::Fingerprint;
use nicety_model::stateful::{
    Capacity, FillPoint, Filling, Goodput, SetupRate, TableFacts, Teardown,
};

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
        family: None,
        protocol: None,
        trial_s: 1.0,
        host: Fingerprint::default(),
        table: TableFacts {
            max: 262_144,
            buckets: 262_144,
            entry_bytes: Some(256),
            timeout_s: 86_400,
            hosts: 1,
            addresses: 1,
            ports: None,
            destination_ports: 17,
        },
        setup: Some(SetupRate {
            per_s: figure(182_000.0),
            verdict: TableVerdict::Ok,
            stopped_by: Some(Setback::Lost),
            counts: counts(182_000),
            trials: 31,
            spoiled: Some(2),
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
        filling: [(262_144, true), (262_145, false)]
            .map(|(connections, held)| Filling {
                connections,
                held,
                points: (0..=10)
                    .map(|n| FillPoint {
                        s: n as f64 * 0.2,
                        entries: n * 26_214,
                    })
                    .collect(),
            })
            .into(),
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
                spoiled: Some(0),
            })
            .into(),
        notes: Vec::new(),
        complete: true,
    }
}

fn text(report: &StatefulReport) -> String {
    let options = crate::Options {
        width: 400,
        colour: false,
    };
    let mut out = Vec::new();
    crate::table(report, &mut out, options).unwrap();
    String::from_utf8(out).unwrap()
}

fn rendered(render: impl FnOnce(&mut Vec<u8>) -> Result<(), ReportError>) -> String {
    let mut out = Vec::new();
    render(&mut out).unwrap();
    String::from_utf8(out).unwrap()
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
        "262,144 entries at most (nf_conntrack_max), 262,144 hash buckets, 256 B an entry.",
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
    let csv = rendered(|out| csv(&report(), out));
    let rows: Vec<&str> = csv.lines().collect();
    assert!(
        rows[0].starts_with("of,connections,median,low,high,repeats,unit,"),
        "{csv}"
    );
    assert_eq!(
        rows[1],
        "setup,,182000,178360,183820,3,connections/s,,31,2,ok,lost,182000,182000,182000,182000,182000"
    );
    assert!(
        rows[2].starts_with("capacity,,262144,262144,262144,1,connections,"),
        "{csv}"
    );
    assert!(rows[4].contains(",23.6,30,0,ok,lost,235,"), "{csv}");
}

#[test]
fn a_page_has_the_answer_first_and_draws_filling_and_goodput() {
    let page = rendered(|out| crate::html(&report(), out));
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what}: {page}"));
    let answer = at("The router opens 182 k");
    let drawn = at("id=\"chart-How-the-table-fills\"");
    let goodput = at("id=\"chart-Goodput-on-few-and-many-connections\"");
    let table = at("id=\"counts\"");
    assert!(answer < drawn && drawn < goodput && goodput < table);
    for said in [
        "2.00 s: 262,140 entries of 262,145",
        "262,144 opened, and all stay",
        "nf_conntrack_max</text>",
        "400 k frames/s, both ways together, answered on 235 connections",
    ] {
        assert!(page.contains(said), "{said}");
    }
    let markdown = rendered(|out| crate::markdown(&report(), out));
    assert!(
        markdown.starts_with("# Table of connections of"),
        "{markdown}"
    );
    assert!(markdown.contains("| setup |"), "{markdown}");
    // Without fills and goodput nothing is drawn.
    let bare = StatefulReport {
        filling: Vec::new(),
        goodput: Vec::new(),
        ..report()
    };
    let page = rendered(|out| crate::html(&bare, out));
    assert!(!page.contains("<svg viewBox"), "{page}");
}

#[test]
fn a_machine_that_never_stood_still_is_named() {
    let mut report = report();
    let setup = report.setup.as_mut().unwrap();
    (setup.stopped_by, setup.verdict) = (Some(Setback::Stalled), TableVerdict::AtLeast);
    let text = text(&report);
    for line in [
        "at least 182 k connections per second",
        "Above that a CPU stood still or worked for another program in every trial.",
        "give the machine more CPUs",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
