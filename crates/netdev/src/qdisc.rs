//! Queueing disciplines (RTM_GETQDISC).

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use netlink_sys::protocols::NETLINK_ROUTE;
use nicety_model::facts::QdiscFacts;

use crate::link::Link;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;

/// All queueing disciplines of a namespace with the number of their interface.
///
/// # Errors
/// When the kernel does not answer.
pub fn list(ns: &NetNs) -> Result<Vec<(u32, QdiscFacts)>, NetError> {
    let channel = Channel::open(ns, NETLINK_ROUTE)?;
    let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    let answers = channel
        .query(request, NLM_F_DUMP)
        .map_err(|e| NetError::new("list queueing disciplines of namespace", ns, e))?;
    Ok(answers.into_iter().filter_map(qdisc_of).collect())
}

/// Those of one interface among all of its namespace.
pub fn at(link: &Link, all: &[(u32, QdiscFacts)]) -> Vec<QdiscFacts> {
    let own = all.iter().filter(|(index, _)| *index == link.index);
    own.map(|(_, facts)| facts.clone()).collect()
}

fn qdisc_of(message: RouteNetlinkMessage) -> Option<(u32, QdiscFacts)> {
    let RouteNetlinkMessage::NewQueueDiscipline(message) = message else {
        return None;
    };
    let mut qdisc = QdiscFacts {
        root: message.header.parent == TcHandle::ROOT,
        ..QdiscFacts::default()
    };
    for attribute in message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => qdisc.kind = kind,
            TcAttribute::Stats2(stats) => {
                for stat in stats {
                    if let TcStats2::Queue(queue) = stat {
                        qdisc.drops = Some(queue.drops.into());
                    }
                }
            }
            _ => {}
        }
    }
    let index = u32::try_from(message.header.index).ok()?;
    Some((index, qdisc))
}
