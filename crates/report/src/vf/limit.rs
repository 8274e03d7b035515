//! What became of a limit, line by line.

use nicety_model::BitRate;
use nicety_model::knob::{WIRE, WIRE_BYTES};
use nicety_model::vf::LimitReport;
use nicety_police::explain::readable;
use nicety_police::verdict::Verdict;

/// A limit as people read it: `50.0 Mbit/s` for the `50mbit` that is set, `500.0 Mbit/s` for a function's
/// `max 500 min 0`. What is no limit of these kinds stays as it is.
pub fn shown(value: &str) -> String {
    let rate = |text: &str| Some(readable(text.parse::<BitRate>().ok()?.0 as f64));
    let mbit = |text: &str| {
        let mbit: u32 = text.parse().ok()?;
        Some((mbit > 0).then(|| readable(f64::from(mbit) * 1e6)))
    };
    let function = || {
        let (max, min) = value.strip_prefix("max ")?.split_once(" min ")?;
        let (max, min) = (mbit(max)?, mbit(min)?);
        let max = max.unwrap_or_else(|| "none".to_owned());
        Some(match min {
            Some(min) => format!("{max}, at least {min}"),
            None => max,
        })
    };
    let on_wire = || Some(format!("{}{WIRE}", rate(value.strip_suffix(WIRE)?)?));
    let plain = || on_wire().or_else(|| rate(value)).or_else(function);
    plain().unwrap_or_else(|| value.to_owned())
}

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
        shown(&report.to),
    );
    lines.extend(match verdict {
        _ if let Some(now) = &report.replaced => Some(format!(
            "{port}: another program has set {} since. If nicety police limits this port, change its policy",
            shown(now)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_not_input() {
        for (value, text) in [
            ("none", "none"),
            ("50mbit", "50.0 Mbit/s"),
            ("1.5gbit", "1500.0 Mbit/s"),
            ("40gbit", "40.0 Gbit/s"),
            ("max 500 min 0", "500.0 Mbit/s"),
            ("max 0 min 0", "none"),
            ("max 500 min 100", "500.0 Mbit/s, at least 100.0 Mbit/s"),
            ("htb of another program", "htb of another program"),
        ] {
            assert_eq!(shown(value), text);
        }
        let wire = format!("120mbit{WIRE}");
        assert_eq!(shown(&wire), format!("120.0 Mbit/s{WIRE}"));
    }
}
