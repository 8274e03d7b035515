//! The text format of Prometheus 0.0.4, which tools read that do not know OpenMetrics.

use std::collections::BTreeSet;

/// Whether an `Accept` asks for OpenMetrics, which `*/*` does not.
pub fn wants_openmetrics(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        // A weight of 0 means: anything but that (RFC 9110 section 12.4.2).
        let refused = parts
            .filter_map(|part| part.strip_prefix("q="))
            .any(|weight| weight.parse() == Ok(0.0_f64));
        kind.eq_ignore_ascii_case("application/openmetrics-text") && !refused
    })
}

/// The same metrics: in this format the name of a counter ends in `_total` in its description
/// too, and nothing marks the end.
pub fn from_openmetrics(text: &str) -> String {
    let counters: BTreeSet<&str> = (text.lines())
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut plain = String::with_capacity(text.len());
    for line in text.lines().filter(|line| *line != "# EOF") {
        let described = ["# HELP ", "# TYPE "].iter().find_map(|start| {
            let (name, rest) = line.strip_prefix(start)?.split_once(' ')?;
            counters
                .contains(name)
                .then(|| format!("{start}{name}_total {rest}"))
        });
        plain += described.as_deref().unwrap_or(line);
        plain.push('\n');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_asks_gets_openmetrics() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,\
            application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.3";
        assert!(wants_openmetrics(prometheus));
        assert!(wants_openmetrics(
            "text/plain, Application/OpenMetrics-Text"
        ));
        for other in ["", "*/*", "text/html", "application/openmetrics-text; q=0"] {
            assert!(!wants_openmetrics(other), "{other}");
        }
    }

    #[test]
    fn counters_are_described_by_their_whole_name() {
        let open = "# HELP a_bytes Bytes.\n# TYPE a_bytes counter\na_bytes_total{of=\"x\"} 1\n\
            # HELP b Now.\n# TYPE b gauge\nb 2.0\n# EOF\n";
        let plain = "# HELP a_bytes_total Bytes.\n# TYPE a_bytes_total counter\n\
            a_bytes_total{of=\"x\"} 1\n# HELP b Now.\n# TYPE b gauge\nb 2.0\n";
        assert_eq!(from_openmetrics(open), plain);
    }
}
