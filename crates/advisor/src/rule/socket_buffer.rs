//! Buffers that programs may ask for, and those that overflow (T17).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;
use crate::rule::tcp_buffer;

pub(super) const RULE: Rule = Rule {
    id: "T17",
    name: "socket-buffer",
    checks: "Programs may ask for large socket buffers, and none overflows",
    fires: "Fires when rmem_max or wmem_max is below rate × round trip time. Fires when full UDP sockets \
            drop datagrams in the window.",
    writes: Some(
        "net.core.rmem_max, net.core.wmem_max: rate × round trip time, next power of two; \
         net.core.rmem_max: doubled while datagrams are dropped, at most 64 MiB",
    ),
    gain: Gain::Small,
    reasons: &[LARGER, OVERFLOW],
    check,
};

const LARGER: Reason = Reason {
    why: "A program that sets its own buffer gets at most this. It then sends at most one such \
          window per round trip.",
    source: "Linux Documentation/admin-guide/sysctl/net.rst; Oracle VM 3 10GbE network \
             performance tuning (2013), figure 1",
    cost: "Memory: each such socket may use that much.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const OVERFLOW: Reason = Reason {
    why: "A datagram that finds its socket's buffer full is dropped. A larger buffer holds a burst until the \
          program reads it.",
    source: "Linux net/ipv4/udp.c, RcvbufErrors; socket(7), SO_RCVBUF; \
             Documentation/admin-guide/sysctl/net.rst, rmem_max and rmem_default",
    cost: "Memory: each such socket may use that much. A program that is always too slow drops all the same.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const RECEIVE: &str = "net.core.rmem_max";
const SEND: &str = "net.core.wmem_max";
/// 50 ms of 10 Gbit/s in bytes: beyond this a buffer is delay.
const MOST: u64 = 64 << 20;

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal == Goal::Forwarding {
        return;
    }
    let wanted = tcp_buffer::wanted(case);
    let overflows = overflow(case, wanted, report);
    let Some(wanted) = wanted else {
        return;
    };
    let low: Vec<(&str, u64)> = [RECEIVE, SEND]
        .into_iter()
        .filter(|name| !overflows || *name != RECEIVE)
        .filter_map(|name| Some((name, case.facts.sysctl_number(name)?)))
        .filter(|(_, now)| *now < wanted)
        .collect();
    if low.is_empty() {
        return;
    }
    let is: Vec<String> = low
        .iter()
        .map(|(name, now)| format!("{name} = {now}"))
        .collect();
    let finding = report.find("host", is.join(", "), format!("{wanted} bytes"), &LARGER);
    finding.formula = tcp_buffer::formula(case, wanted);
    finding.changes = low
        .into_iter()
        .map(|(name, now)| change(Knob::sysctl(name), now, wanted))
        .collect();
}

/// Datagrams that found no room; whether that is a finding.
fn overflow(case: &Case<'_>, wanted: Option<u64>, report: &mut Report) -> bool {
    let Some(window) = &case.facts.window else {
        if let Some(count) = case.facts.udp_rcvbuf_errors.filter(|count| *count > 0) {
            let needs = format!(
                "Rerun with --window 10s under your real load: full UDP sockets dropped {count} datagrams \
                 since boot."
            );
            report.undecided(&needs, Some("--window 10s"));
        }
        return false;
    };
    let Some(count) = window.udp_rcvbuf_errors.filter(|count| *count > 0) else {
        return false;
    };
    let now = case.facts.sysctl_number(RECEIVE);
    let doubled = now
        .filter(|now| *now < MOST)
        .map(|now| now.saturating_mul(2).min(MOST));
    let to = doubled.map(|doubled| doubled.max(wanted.unwrap_or(0)));
    let limit = now.map_or(String::new(), |now| format!("; {RECEIVE} = {now}"));
    let is = format!(
        "full UDP sockets dropped {count} datagrams {} ({:.0} a second){limit}",
        in_seconds(window),
        count as f64 / window.seconds
    );
    let should = match to {
        Some(to) => format!("{to} bytes; double it again while they are dropped"),
        None => "a program that reads faster".to_owned(),
    };
    let finding = report.find("host", is, should, &OVERFLOW);
    finding.formula = now.zip(to).map(|(now, to)| match wanted {
        Some(wanted) if wanted == to => format!("rate × round trip time = {to}"),
        _ => format!("2 × {now}, at most {MOST} = {to}"),
    });
    let changes = now.zip(to);
    finding.changes = changes
        .map(|(now, to)| change(Knob::sysctl(RECEIVE), now, to))
        .into_iter()
        .collect();
    finding.advice = by_hand(case);
    true
}

/// Which of the two limits a socket has depends on its program.
fn by_hand(case: &Case<'_>) -> Vec<String> {
    let default = case.facts.sysctl_number("net.core.rmem_default");
    let raise = default.map_or(String::new(), |now| {
        let to = now.saturating_mul(2);
        format!(" = {now}: sysctl -w net.core.rmem_default={to}")
    });
    vec![
        "A program that sets SO_RCVBUF gets at most net.core.rmem_max. Start it again once that is larger."
            .to_owned(),
        format!("One that does not gets net.core.rmem_default{raise}, or let it set SO_RCVBUF."),
        "Which program: nicety drops, or ss -uamp, where d in skmem counts drops.".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    fn dropping(rmem_max: &str, errors: u64) -> Host {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0);
        host.sysctl("net.core.rmem_max", rmem_max)
            .sysctl("net.core.rmem_default", "212992")
            .window(5.0, |window| window.udp_rcvbuf_errors = Some(errors))
    }

    #[test]
    fn datagrams_dropped_now_count_and_those_of_last_week_do_not() {
        let before = dropping("212992", 0).facts_with(|facts| facts.udp_rcvbuf_errors = Some(9));
        before.none("socket-buffer");
        assert_eq!(before.waits("socket-buffer"), "");
        let once = before.facts_with(|facts| facts.window = None);
        let waits = once.waits("socket-buffer");
        assert!(
            waits.contains("--window") && waits.contains("9 datagrams since boot"),
            "{waits}"
        );
        let never = once.facts_with(|facts| facts.udp_rcvbuf_errors = Some(0));
        assert_eq!(never.waits("socket-buffer"), "");
    }

    #[test]
    fn the_buffer_doubles_while_datagrams_are_dropped() {
        let finding = dropping("212992", 5_000).one("socket-buffer");
        assert_eq!(
            finding.is,
            "full UDP sockets dropped 5000 datagrams in 5 s (1000 a second); net.core.rmem_max = 212992"
        );
        assert_eq!(
            (finding.changes.len(), finding.changes[0].to.as_str()),
            (1, "425984")
        );
        assert!(finding.advice[1].contains("net.core.rmem_default=425984"));
        // Beyond this the program is too slow.
        let large = dropping("67108864", 1).one("socket-buffer");
        assert!(large.changes.is_empty() && large.should.contains("reads faster"));
        let far = dropping("212992", 1)
            .wish(|w| w.rtt_ms = Some(100.0))
            .one("socket-buffer");
        assert_eq!(far.changes[0].to, "134217728");
    }

    #[test]
    fn buffers_grow_to_the_product_and_never_shrink() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0);
        let host = host
            .sysctl("net.core.rmem_max", "4194304")
            .sysctl("net.core.wmem_max", "212992");
        host.none("socket-buffer");
        let far = host
            .clone()
            .wish(|w| w.rtt_ms = Some(100.0))
            .one("socket-buffer");
        assert!(far.changes.iter().all(|c| c.to == "134217728") && far.changes.len() == 2);
        let near = host.wish(|w| w.rtt_ms = Some(0.5)).one("socket-buffer");
        assert_eq!(
            near.changes.len(),
            1,
            "625 kB: the receive buffer is larger already"
        );
    }
}
