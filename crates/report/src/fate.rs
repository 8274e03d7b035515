//! What became of lost frames, in plain words; the kernel's own names stand beside.

use nicety_model::fate::XdpEvent;
use nicety_model::{CellFate, FateCause, FateOf, LossEntry};

use crate::number;
use crate::pick::Group;

/// The name of what nothing explains.
const UNEXPLAINED: &str = "unexplained";
/// Causes that a line tells of; the smaller ones are added up.
const TOLD: usize = 4;

/// What reasons mean, where they say more than the place. `{}` is the interface.
const REASONS: [(&str, &str); 28] = [
    (
        "QDISC_DROP",
        "the queueing discipline of {} was full or had no room in its rate",
    ),
    ("QDISC_OVERLIMIT", "the queueing discipline of {} was full"),
    (
        "QDISC_CONGESTED",
        "the queueing discipline of {} dropped it to avoid a standing queue",
    ),
    (
        "QDISC_BURST_DROP",
        "the queueing discipline of {} was over its rate",
    ),
    ("NETFILTER_DROP", "a rule of netfilter dropped it"),
    ("TC_INGRESS", "a tc filter dropped it where it came into {}"),
    ("TC_EGRESS", "a tc filter dropped it where it left {}"),
    (
        "CPU_BACKLOG",
        "the CPU’s backlog was full (net.core.netdev_max_backlog)",
    ),
    ("XDP", "an XDP program at {} dropped it"),
    (
        "BRIDGE_INGRESS_STP_STATE",
        "the bridge’s port {} does not forward (spanning tree)",
    ),
    (
        "BRIDGE_NON_FORWARDING_STATE",
        "the bridge’s port {} does not forward",
    ),
    (
        "SOCKET_RCVBUFF",
        "the buffer of the receiving socket was full",
    ),
    ("SOCKET_FILTER", "the filter of a socket dropped it"),
    ("NO_SOCKET", "no program listens on its port"),
    (
        "IP_RPFILTER",
        "the reverse path filter refused its source address (rp_filter)",
    ),
    ("IP_OUTNOROUTES", "there was no route to its destination"),
    ("IP_INNOROUTES", "there was no route to its destination"),
    (
        "IP_INADDRERRORS",
        "this host has no use for its destination address",
    ),
    ("NEIGH_FAILED", "the next hop did not answer (ARP)"),
    (
        "NEIGH_QUEUEFULL",
        "too many frames waited for the next hop’s answer (ARP)",
    ),
    ("PKT_TOO_BIG", "it was larger than the MTU"),
    (
        "FULL_RING",
        "the queue of {} was full, its reader took frames too slowly",
    ),
    ("DEV_READY", "{} was down"),
    (
        "QUEUE_PURGE",
        "a socket or queue was closed with these in it",
    ),
    ("NOMEM", "the kernel had no memory left for it"),
    ("UNHANDLED_PROTO", "nothing at {} wanted it"),
    ("OTHERHOST", "it was sent to another host’s address"),
    (
        "VXLAN_ENTRY_NOT_FOUND",
        "the tunnel has no entry for its address",
    ),
];

/// What places in the kernel mean, by the beginning of the function's name.
const FUNCTIONS: [(&str, &str); 25] = [
    (
        "veth_xmit",
        "the ring of {} was full, it took frames too slowly",
    ),
    ("veth_xdp", "an XDP program at {} dropped it"),
    ("do_xdp_generic", "an XDP program at {} dropped it"),
    (
        "netif_receive_generic_xdp",
        "an XDP program at {} dropped it",
    ),
    (
        "bpf_prog_run_generic_xdp",
        "an XDP program at {} dropped it",
    ),
    (
        "br_handle_frame_finish",
        "the bridge had no way on for what came in at {}: the port is down, blocked or isolated, or the address is behind {} itself",
    ),
    (
        "br_handle_frame",
        "the bridge’s port {} does not take frames",
    ),
    ("br_handle_vlan", "the bridge’s VLAN filter let it not out"),
    (
        "br_allowed_ingress",
        "the bridge’s VLAN filter let it not in at {}",
    ),
    (
        "__allowed_ingress",
        "the bridge’s VLAN filter let it not in at {}",
    ),
    ("br_flood", "the bridge had no port to flood it to"),
    ("br_forward", "the bridge may not forward it to {}"),
    ("__br_forward", "the bridge may not forward it to {}"),
    ("br_nf_dev_queue_xmit", "it was larger than the MTU of {}"),
    ("br_dev_queue_push_xmit", "it was larger than the MTU of {}"),
    ("nft_do_chain", "a rule of nftables dropped it"),
    ("nf_hook_slow", "a rule of netfilter dropped it"),
    (
        "sch_handle_ingress",
        "a tc filter dropped it where it came into {}",
    ),
    ("tcf_", "a tc action dropped it"),
    ("__dev_queue_xmit", "it could not be sent at {}"),
    (
        "enqueue_to_backlog",
        "the CPU’s backlog was full (net.core.netdev_max_backlog)",
    ),
    (
        "tun_net_xmit",
        "the queue of {} was full, its reader took frames too slowly",
    ),
    ("macvlan", "no macvlan on {} has its destination address"),
    ("arp_error_report", "the next hop did not answer (ARP)"),
    ("__netif_receive_skb_core", "nothing at {} wanted it"),
];

/// What a cause means; absent where nothing is known beyond its names.
pub(crate) fn meaning(cause: &FateCause) -> Option<String> {
    let told = match cause {
        FateCause::Dropped {
            device,
            function,
            reason,
        } => {
            let at = device.as_deref().unwrap_or("the interface");
            let of = |known: &(&str, &'static str)| known.1.replace("{}", at);
            let reason = reason
                .as_deref()
                .and_then(|reason| REASONS.iter().find(|(known, _)| *known == reason).map(of));
            let place = || {
                let function = function.as_deref()?;
                let found = FUNCTIONS
                    .iter()
                    .find(|(known, _)| function.starts_with(known));
                found.map(of)
            };
            return reason.or_else(place);
        }
        FateCause::Refused { device } => {
            return Some(format!(
                "the ring behind {device} was full, by the tester’s own count"
            ));
        }
        FateCause::TesterSocket { .. } => "they came through; the tester’s own socket was full",
        FateCause::Program { device } => {
            return Some(format!(
                "an XDP program at {device} may have dropped these, the kernel does not show it"
            ));
        }
        FateCause::Xdp { device, event } => {
            return Some(match event {
                XdpEvent::TransmitRefused => {
                    format!(
                        "the ring behind {device} was full, by the kernel’s count of XDP frames"
                    )
                }
                XdpEvent::RedirectFailed => {
                    format!("an XDP program at {device} redirected them to where nothing is")
                }
                XdpEvent::Exception => {
                    format!("an XDP program at {device} failed, or could not send them")
                }
                XdpEvent::CpuFull => format!("the XDP queue of {device} was full"),
            });
        }
        FateCause::Merged => "inside merged frames (GRO) that were dropped",
        FateCause::Others => "more causes than are kept apart",
        FateCause::Beyond => "the trial had more frames than are followed",
        FateCause::EitherWay => "causes that were not found by number, of frames of either way",
    };
    Some(told.to_owned())
}

/// Where, by the kernel's names: `in veth_xmit at d0 (NOT_SPECIFIED)`.
pub(crate) fn place(cause: &FateCause) -> String {
    match cause {
        FateCause::Dropped {
            device,
            function,
            reason,
        } => {
            let function = function.as_deref().unwrap_or("the kernel");
            let at = device.as_ref().map(|device| format!(" at {device}"));
            let reason = reason.as_ref().map(|reason| format!(" ({reason})"));
            format!(
                "in {function}{}{}",
                at.unwrap_or_default(),
                reason.unwrap_or_default()
            )
        }
        FateCause::Refused { device }
        | FateCause::Program { device }
        | FateCause::Xdp { device, .. } => format!("at {device}"),
        FateCause::TesterSocket { device } => format!("at port {device}"),
        FateCause::Merged | FateCause::Others | FateCause::Beyond | FateCause::EitherWay => {
            String::new()
        }
    }
}

/// `4,211 lost in veth_xmit at b (NOT_SPECIFIED): the ring of b was full`.
pub(crate) fn line(entry: &LossEntry) -> String {
    let frames = number::count(entry.frames);
    let Some(cause) = &entry.cause else {
        return match entry.place.as_str() {
            UNEXPLAINED => format!(
                "{frames} lost without a trace (the kernel does not show frames that stand in a ring which nobody reads)"
            ),
            place => format!("{frames} lost at {place}, by its counter alone"),
        };
    };
    let place = place(cause);
    let place = if place.is_empty() {
        place
    } else {
        format!(" {place}")
    };
    match meaning(cause) {
        Some(meaning) => format!("{frames} lost{place}: {meaning}"),
        None => format!("{frames} lost{place}"),
    }
}

/// What became of the lost frames of every cell, a line for each trial and cause; of more than `most` cells the
/// others are counted.
pub(crate) fn lines(groups: &[Group<'_>], most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let told = |fate: &&CellFate| fate.lost > 0;
    let cells: Vec<&Group<'_>> = groups
        .iter()
        .filter(|group| group.shown.fates.iter().any(|fate| told(&fate)))
        .collect();
    for group in cells.iter().take(most) {
        for fate in group.shown.fates.iter().filter(told) {
            let named = fate.ledger.iter().take(TOLD).map(line);
            let rest: u64 = fate
                .ledger
                .iter()
                .skip(TOLD)
                .map(|entry| entry.frames)
                .sum();
            let rest = (rest > 0).then(|| format!("{} lost for other causes", number::count(rest)));
            let causes: Vec<String> = named.chain(rest).collect();
            let of = match fate.of {
                FateOf::Overload => "just above the throughput",
                FateOf::Confirm => "at the throughput",
                FateOf::Latency => "at the load of latency",
            };
            lines.push(format!(
                "{}, {of} ({} frames/s, {} of {} lost): {}.",
                group.name,
                number::short(fate.load_fps),
                number::count(fate.lost),
                number::count(fate.sent),
                causes.join("; ")
            ));
        }
    }
    if cells.len() > most {
        let more = number::plural(cells.len() - most, "more cell");
        lines.push(format!("The page tells of {more}."));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(device: &str, function: &str, reason: &str) -> FateCause {
        FateCause::Dropped {
            device: Some(device.to_owned()),
            function: Some(function.to_owned()),
            reason: Some(reason.to_owned()),
        }
    }

    #[test]
    fn usual_causes_have_plain_words_and_the_kernels_names() {
        #[rustfmt::skip]
        let table = [
            (dropped("b", "veth_xmit", "NOT_SPECIFIED"),
                "4,211 lost in veth_xmit at b (NOT_SPECIFIED): the ring of b was full, it took frames too slowly"),
            (dropped("d1", "__dev_queue_xmit", "QDISC_DROP"),
                "4,211 lost in __dev_queue_xmit at d1 (QDISC_DROP): the queueing discipline of d1 was full or had no room in its rate"),
            (dropped("x", "something_new", "NOT_SPECIFIED"), "4,211 lost in something_new at x (NOT_SPECIFIED)"),
            (FateCause::Refused { device: "a".to_owned() },
                "4,211 lost at a: the ring behind a was full, by the tester’s own count"),
            (FateCause::Xdp { device: "x1".to_owned(), event: XdpEvent::TransmitRefused },
                "4,211 lost at x1: the ring behind x1 was full, by the kernel’s count of XDP frames"),
        ];
        for (cause, expected) in table {
            assert_eq!(line(&LossEntry::found(cause, 4211)), expected);
        }
        let alone = LossEntry::counted("d1 rx_dropped", 7);
        assert_eq!(
            line(&alone),
            "7 lost at d1 rx_dropped, by its counter alone"
        );
        let left = LossEntry::counted(UNEXPLAINED, 7);
        assert!(line(&left).starts_with("7 lost without a trace ("));
    }

    #[test]
    fn the_longest_name_comes_first() {
        for (at, (function, _)) in FUNCTIONS.iter().enumerate() {
            let earlier = &FUNCTIONS[..at];
            assert!(
                !earlier.iter().any(|(known, _)| function.starts_with(known)),
                "{function}"
            );
        }
    }
}
