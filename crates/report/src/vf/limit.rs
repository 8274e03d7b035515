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
            "{}: counts {WIRE_BYTES} bytes more per frame (FCS, preamble, gap), as nicety police does",
            WIRE.trim()
        ));
    }
    let (sends, limit) = (
        verdict.seen_bps().map(readable).unwrap_or_default(),
        &report.to,
    );
    lines.extend(match verdict {
        _ if let Some(now) = &report.replaced => Some(format!(
            "{port}: another program has set {now} since. If nicety police limits this port, change its policy"
        )),
        _ if report.policed => Some(format!(
            "{port}: nicety police limits this port and will set its limit again. Change its policy instead"
        )),
        Verdict::NotEnforced(_) => Some(format!(
            "limit not enforced: {port} sends {sends} despite {limit}"
        )),
        Verdict::NotCounted => Some(
            "limit not checked: no counter shows what the port sends".to_owned(),
        ),
        Verdict::Holds(_) => Some(format!("the limit holds: {port} sends {sends}")),
        Verdict::Untested(_) => Some(format!(
            "limit not tested: {port} sends {sends}, less than the limit"
        )),
        Verdict::NotAsked => None,
    });
    lines
}
