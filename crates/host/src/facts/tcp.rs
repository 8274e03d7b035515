//! Round trips of TCP connections, as ss(8) tells them from `INET_DIAG_INFO`.

use nicety_model::facts::TcpFacts;

use super::source::Source;

const WORDS: [&str; 4] = ["ss", "-tinHO", "state", "established"];
/// Counters and times that are kept of a connection; the rest tells who talks to whom.
const KEPT: [&str; 4] = ["rtt:", "minrtt:", "bytes_acked:", "bytes_received:"];
/// What makes a connection one whose window matters, in bytes.
const BUSY: u64 = 100_000_000;

pub(super) fn read(source: &Source) -> Option<TcpFacts> {
    let text = source
        .command_as("nicety/ss-tcp", &WORDS, public)
        // A record of nothing reads as nothing.
        .filter(|text| !text.trim().is_empty())?;
    let mut facts = TcpFacts::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        facts.connections += 1;
        let bytes = number::<u64>(line, "bytes_acked:").unwrap_or(0)
            + number::<u64>(line, "bytes_received:").unwrap_or(0);
        if bytes < BUSY {
            continue;
        }
        facts.busy += 1;
        // A receiver measures no minrtt of its own.
        let rtt = number::<f64>(line, "minrtt:").or_else(|| number(line, "rtt:"));
        let rtt = rtt.filter(|rtt| rtt.is_finite() && *rtt > 0.0);
        facts.rtt_ms = match (facts.rtt_ms, rtt) {
            (Some(known), Some(rtt)) => Some(f64::max(known, rtt)),
            (known, rtt) => known.or(rtt),
        };
    }
    Some(facts)
}

/// One line per connection to another host, without its addresses.
fn public(text: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let peer = words.nth(3)?;
        let local = ["127.", "[::1]", "[::ffff:127."]
            .iter()
            .any(|start| peer.starts_with(start));
        let kept: Vec<&str> = words
            .filter(|word| KEPT.iter().any(|key| word.starts_with(key)))
            .collect();
        (!local && !kept.is_empty()).then(|| kept.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `key12.5` or `key12.5/3.1`.
fn number<T: std::str::FromStr>(line: &str, key: &str) -> Option<T> {
    let value = line
        .split_ascii_whitespace()
        .find_map(|word| word.strip_prefix(key))?;
    value.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_here_and_loops_are_no_paths() {
        let text = "0 0 192.0.2.1:22 198.51.100.7:50000 cubic wscale:7,7 rto:204 rtt:0.5/0.25 \
                    bytes_acked:9 bytes_received:7 send 231680000bps minrtt:0.2\n\
                    0 0 127.0.0.1:1 127.0.0.1:2 cubic rtt:0.01/0.01 minrtt:0.01\n\
                    0 0 [::ffff:127.0.0.1]:1 [::ffff:127.0.0.1]:2 rtt:1/1\n\
                    0 0 192.0.2.1:1 198.51.100.7:2\n\nx\n";
        assert_eq!(
            public(text),
            "rtt:0.5/0.25 bytes_acked:9 bytes_received:7 minrtt:0.2"
        );
    }
}
