use super::*;

/// Two fills, and goodput on few and many.
fn report() -> StatefulReport {
    serde_json::from_str(include_str!("../../tests/runs/stateful.json")).unwrap()
}

fn text(report: &StatefulReport) -> String {
    crate::document::terminal::shown(report, 400, false)
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
    assert!(text.contains("--nat addresses=8"), "{text}");
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
