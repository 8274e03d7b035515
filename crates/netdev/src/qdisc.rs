//! Queueing disciplines (RTM_GETQDISC).

use libc::{RTM_NEWQDISC, TCA_KIND, TCA_OPTIONS, TCA_STATS2};
use netlink_sys::protocols::NETLINK_ROUTE;
use nicety_model::facts::QdiscFacts;
use nicety_model::traffic_control::{Handle, QdiscLimit};

use crate::link::Link;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::{Attributes, text, u32_at, u64_at};
use crate::tc::{self, Stats, TC_HEADER};
use crate::traffic_control;

/// Disciplines that hold frames back or drop them above a limit that somebody has set.
const LIMITING: [&str; 10] = [
    "tbf", "htb", "hfsc", "cake", "netem", "fq", "pfifo", "bfifo", "ingress", "clsact",
];
const TCA_FQ_FLOW_MAX_RATE: u16 = 7;
const TCA_CAKE_BASE_RATE64: u16 = 2;
/// `maxrate` of `fq` where nobody has set one.
const NO_RATE: u32 = u32::MAX;

/// All queueing disciplines of a namespace with the number of their interface.
///
/// # Errors
/// When the kernel does not answer.
pub fn list(ns: &NetNs) -> Result<Vec<(u32, QdiscFacts)>, NetError> {
    let channel = Channel::open(ns, NETLINK_ROUTE)?;
    channel
        .dump(tc::dump_qdiscs(), Vec::new, |list, part| {
            if part.kind == RTM_NEWQDISC {
                list.extend(qdisc_of(part.body));
            }
        })
        .map_err(|e| NetError::new("list queueing disciplines of namespace", ns, e))
}

/// Those of one interface among all of its namespace.
pub fn at(link: &Link, all: &[(u32, QdiscFacts)]) -> Vec<QdiscFacts> {
    let own = all.iter().filter(|(index, _)| *index == link.index);
    own.map(|(_, facts)| facts.clone()).collect()
}

/// Number of the interface, and the discipline.
fn qdisc_of(body: &[u8]) -> Option<(u32, QdiscFacts)> {
    let attributes = Attributes::of(body.get(TC_HEADER..)?);
    let kind = text(attributes.find(TCA_KIND)?);
    let stats = attributes.find(TCA_STATS2);
    let facts = QdiscFacts {
        kind: kind.to_owned(),
        root: u32_at(body, 12)? == tc::ROOT,
        drops: stats.map(|stats| Stats::of(Some(stats)).drops.into()),
        ..QdiscFacts::default()
    };
    let limit = LIMITING
        .contains(&kind)
        .then(|| limit_of(body, facts.clone()));
    Some((u32_at(body, 4)?, limit.flatten().unwrap_or(facts)))
}

/// The same with what it limits to (include/uapi/linux/pkt_sched.h).
fn limit_of(body: &[u8], facts: QdiscFacts) -> Option<QdiscFacts> {
    let attributes = Attributes::of(body.get(TC_HEADER..)?);
    let told = attributes.find(TCA_OPTIONS).unwrap_or_default();
    let options = Attributes::of(told);
    let bits = |bytes: u64| Some(bytes.saturating_mul(8)).filter(|bits| *bits > 0);
    let rate = match facts.kind.as_str() {
        "tbf" => match traffic_control::qdisc_of(body)?.limit {
            Some(QdiscLimit::Bucket(bucket)) => Some(bucket.rate.0),
            _ => None,
        },
        "fq" => (options.find(TCA_FQ_FLOW_MAX_RATE))
            .and_then(|rate| u32_at(rate, 0))
            .filter(|rate| *rate != NO_RATE)
            .and_then(|rate| bits(rate.into())),
        "cake" => (options.find(TCA_CAKE_BASE_RATE64))
            .and_then(|rate| u64_at(rate, 0))
            .and_then(bits),
        _ => None,
    };
    let fifo = matches!(facts.kind.as_str(), "pfifo" | "bfifo");
    Some(QdiscFacts {
        // Handle 0 is the kernel's own choice.
        handle: u32_at(body, 8)
            .filter(|handle| *handle != 0)
            .map(|it| Handle(it).to_string()),
        rate_bps: rate,
        // struct tc_fifo_qopt.
        limit: u32_at(told, 0).filter(|_| fifo),
        ..facts
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::RawMessage;

    fn told(
        kind: &str,
        handle: u32,
        parent: u32,
        fill: impl FnOnce(&mut RawMessage),
    ) -> QdiscFacts {
        let mut message = tc::tc(RTM_NEWQDISC, 7, handle, parent, 0);
        message.put_str(TCA_KIND, kind);
        fill(&mut message);
        let queue = [0, 0, 912_345u32, 0, 0].map(u32::to_ne_bytes).concat();
        message.nest(TCA_STATS2, |stats| stats.put(3, &queue));
        let (index, facts) = qdisc_of(&message.body).unwrap();
        assert_eq!((index, facts.drops), (7, Some(912_345)));
        facts
    }

    #[test]
    fn what_a_discipline_limits_to_is_told() {
        let fq = told("fq", 0x1_0000, tc::ROOT, |message| {
            message.nest(TCA_OPTIONS, |o| {
                o.put(TCA_FQ_FLOW_MAX_RATE, &125_000u32.to_ne_bytes())
            });
        });
        assert_eq!((fq.root, fq.rate_bps), (true, Some(1_000_000)));
        assert_eq!(fq.handle.as_deref(), Some("1:"));
        let open = told("fq", 0, tc::ROOT, |message| {
            message.nest(TCA_OPTIONS, |o| {
                o.put(TCA_FQ_FLOW_MAX_RATE, &NO_RATE.to_ne_bytes())
            });
        });
        assert_eq!((open.rate_bps, open.handle), (None, None));
        let cake = told("cake", 0x8001_0000, tc::ROOT, |message| {
            message.nest(TCA_OPTIONS, |o| {
                o.put(TCA_CAKE_BASE_RATE64, &2_500_000u64.to_ne_bytes())
            });
        });
        assert_eq!(cake.rate_bps, Some(20_000_000));
        let fifo = told("pfifo", 0x2_0000, 0x1_0001, |message| {
            message.put(TCA_OPTIONS, &10u32.to_ne_bytes());
        });
        assert_eq!((fifo.root, fifo.limit), (false, Some(10)));
        let ingress = told("ingress", tc::INGRESS, tc::INGRESS_PARENT, |_| {});
        assert_eq!(
            (ingress.root, ingress.handle.as_deref()),
            (false, Some("ffff:"))
        );
        // Of what limits nothing no more is told.
        let plain = told("fq_codel", 0x3_0000, tc::ROOT, |_| {});
        assert_eq!(
            (plain.handle, plain.rate_bps, plain.limit),
            (None, None, None)
        );
    }
}
