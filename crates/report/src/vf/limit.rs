//! What became of a limit, line by line.

use nicety_model::knob::{WIRE, WIRE_BYTES};
use nicety_model::vf::LimitReport;
use nicety_police::explain::readable;
use nicety_police::verdict::Verdict;

/// What a reader should know of a limit that was set: how it counts, and whether it holds.
pub fn lines(report: &LimitReport, verdict: &Verdict) -> Vec<String> {
    let port = &report.port;
    let mut lines = Vec::new();
    let mut values = [&report.from, &report.to]
        .into_iter()
        .chain(&report.replaced);
    if values.any(|value| value.ends_with(WIRE)) {
        lines.push(format!(
            "{}: {WIRE_BYTES} bytes more a frame, for FCS, preamble and gap, as nicety police counts",
            WIRE.trim()
        ));
    }
    let (sends, limit) = (
        verdict.seen_bps().map(readable).unwrap_or_default(),
        &report.to,
    );
    lines.extend(match verdict {
        _ if let Some(now) = &report.replaced => Some(format!(
            "{port}: somebody has set {now} since; where nicety police shares a link it sets the limits of its ports again: change its policy"
        )),
        _ if report.policed => Some(format!(
            "{port}: nicety police shares a link among ports of which this is one, and sets its limit again: change its policy"
        )),
        Verdict::NotEnforced(_) => Some(format!(
            "limit not enforced: {port} sends {sends} in spite of {limit}"
        )),
        Verdict::NotCounted => Some(
            "whether it holds is not known: nobody here counts what it sends".to_owned(),
        ),
        Verdict::Holds(_) => Some(format!("the limit holds: {port} sends {sends}")),
        Verdict::Untested(_) => Some(format!(
            "whether it holds is not tested: {port} sends {sends}, less than the limit"
        )),
        Verdict::NotAsked => None,
    });
    lines
}
