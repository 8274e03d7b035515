//! Buffers that programs may ask for (T17).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;
use crate::rule::tcp_buffer;

pub(super) const RULE: Rule = Rule {
    id: "T17",
    name: "socket-buffer",
    checks: "Programs may ask for large socket buffers",
    fires: "Fires when rmem_max or wmem_max is below rate × round trip time.",
    writes: Some("net.core.rmem_max, net.core.wmem_max: rate × round trip time, next power of two"),
    gain: Gain::Small,
    reasons: &[LARGER],
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

fn check(case: &Case<'_>, report: &mut Report) {
    if case.goal == Goal::Forwarding {
        return;
    }
    let Some(wanted) = tcp_buffer::wanted(case) else {
        if let Some(dropped) = dropped(case) {
            let needs =
                format!("Rerun with --rtt TIME: UDP sockets with full buffers dropped {dropped}.");
            report.undecided(&needs, Some("--rtt TIME"));
        }
        return;
    };
    let low: Vec<(&str, u64)> = ["net.core.rmem_max", "net.core.wmem_max"]
        .into_iter()
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

/// Datagrams that found no room, in words: while somebody looked on, or else since boot.
fn dropped(case: &Case<'_>) -> Option<String> {
    let watched = case.facts.window.as_ref();
    match watched.and_then(|window| Some((window, window.udp_rcvbuf_errors?))) {
        Some((window, count)) => {
            (count > 0).then(|| format!("{count} datagrams {}", in_seconds(window)))
        }
        None => {
            let count = case.facts.udp_rcvbuf_errors.filter(|count| *count > 0)?;
            Some(format!("{count} datagrams since boot"))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn datagrams_dropped_now_count_and_those_of_last_week_do_not() {
        let host = |errors| {
            Host::new(1, 4)
                .nic("eth0", 10_000, 0)
                .sysctl("net.core.rmem_max", "212992")
                .facts_with(move |f| f.udp_rcvbuf_errors = Some(errors))
        };
        let once = host(9).waits("socket-buffer");
        assert!(once.contains("9 datagrams since boot"), "{once}");
        let watched = |count| host(9).window(5.0, |w| w.udp_rcvbuf_errors = Some(count));
        let now = watched(4).waits("socket-buffer");
        assert!(now.contains("4 datagrams in 5 s"), "{now}");
        assert_eq!(watched(0).waits("socket-buffer"), "");
        assert_eq!(host(0).waits("socket-buffer"), "");
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
