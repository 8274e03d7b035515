//! What limits interfaces, whoever has set it (RTM_GETQDISC, RTM_GETTCLASS, RTM_GETTFILTER).

mod parse;
pub(crate) mod replay;

use std::collections::{BTreeMap, BTreeSet};

use libc::{RTM_GETTCLASS, RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER};
use netlink_sys::protocols::NETLINK_ROUTE;
use nicety_model::traffic_control::{
    CLSACT, Filter, Handle, Qdisc, Recorded, RecordedLimit, TrafficControl,
};

use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::{RawMessage, u16_at, u32_at};
use crate::tc;

pub use replay::can_return;

/// Reads what limits the interfaces of one namespace.
#[derive(Debug)]
pub struct TrafficControls {
    channel: Channel,
}

impl TrafficControls {
    /// Those of `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_ROUTE)?,
        })
    }

    /// All interfaces that something limits, by number; with `only`, of these interfaces. What the kernel chooses by
    /// itself is not listed: an interface of which nobody has said anything is not there.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn read(
        &self,
        only: Option<&BTreeSet<u32>>,
    ) -> Result<BTreeMap<u32, TrafficControl>, NetError> {
        let mut all = self.qdiscs(only)?;
        for (index, control) in &mut all {
            self.classes(*index, control)?;
            let parents: Vec<Handle> = control.qdiscs.iter().flat_map(parents).collect();
            for parent in parents {
                self.filters(*index, parent, control)?;
            }
        }
        Ok(all)
    }

    fn qdiscs(
        &self,
        only: Option<&BTreeSet<u32>>,
    ) -> Result<BTreeMap<u32, TrafficControl>, NetError> {
        let fill = |all: &mut BTreeMap<u32, TrafficControl>, index, qdisc: Qdisc| {
            // Handle 0 is the kernel's own choice.
            let is_chosen = qdisc.handle != Handle(0);
            if is_chosen && only.is_none_or(|only| only.contains(&index)) {
                all.entry(index).or_default().qdiscs.push(qdisc);
            }
        };
        self.channel
            .dump(tc::dump_qdiscs(), BTreeMap::new, |all, part| {
                if let Some((index, qdisc)) =
                    parse::qdisc(part.body).filter(|_| part.kind == RTM_NEWQDISC)
                {
                    fill(all, index, qdisc);
                }
            })
            .map_err(|e| NetError::new("list queueing disciplines", "of a namespace", e))
    }

    fn classes(&self, index: u32, control: &mut TrafficControl) -> Result<(), NetError> {
        if !control.qdiscs.iter().any(|qdisc| qdisc.kind == "htb") {
            return Ok(());
        }
        let request = tc::tc(RTM_GETTCLASS, index, 0, 0, 0);
        control.classes = self.list(request, index, "list classes of interface", |part| {
            parse::class(part.body).filter(|_| part.kind == RTM_NEWTCLASS)
        })?;
        Ok(())
    }

    fn filters(
        &self,
        index: u32,
        parent: Handle,
        control: &mut TrafficControl,
    ) -> Result<(), NetError> {
        let request = tc::dump_filters(index, parent.0);
        let filters = self.list(request, index, "list filters of interface", |part| {
            parse::filter(part.body).filter(|_| part.kind == RTM_NEWTFILTER)
        })?;
        control.filters.extend(filters);
        Ok(())
    }

    fn list<T>(
        &self,
        request: RawMessage,
        index: u32,
        operation: &'static str,
        take: impl Fn(crate::netlink::Part<'_>) -> Option<T>,
    ) -> Result<Vec<T>, NetError> {
        self.channel
            .dump(request, Vec::new, |list, part| list.extend(take(part)))
            .map_err(|e| NetError::new(operation, index, e))
    }
}

/// Where filters of a discipline can be.
fn parents(qdisc: &Qdisc) -> Vec<Handle> {
    match qdisc.kind.as_str() {
        CLSACT => vec![Handle::CLSACT_INGRESS, Handle::CLSACT_EGRESS],
        _ => vec![qdisc.handle],
    }
}

/// A discipline of the kernel's message about it, behind the netlink header; none for other messages.
pub(crate) fn qdisc_of(body: &[u8]) -> Option<Qdisc> {
    parse::qdisc(body).map(|(_, qdisc)| qdisc)
}

/// A filter of the kernel's message about it, behind the netlink header; none for other messages.
pub fn filter_of(body: &[u8]) -> Option<Filter> {
    parse::filter(body)
}

/// What a limit was that is kept to be given back.
pub fn control_of(limit: &RecordedLimit) -> TrafficControl {
    let mut control = TrafficControl::default();
    for part in &limit.parts {
        match part {
            Recorded::Qdisc(body) => {
                control
                    .qdiscs
                    .extend(parse::qdisc(body).map(|(_, qdisc)| qdisc));
            }
            Recorded::Class(body) => control.classes.extend(parse::class(body)),
            Recorded::Filter(body) => control.filters.extend(parse::filter(body)),
        }
    }
    control
}

/// What messages of the kernel tell of interfaces, by number: disciplines, classes and filters, each with its netlink
/// header, as tests have recorded them.
#[doc(hidden)]
pub fn recorded(mut messages: &[u8]) -> BTreeMap<u32, TrafficControl> {
    const NETLINK_HEADER: usize = 16;
    let mut all: BTreeMap<u32, TrafficControl> = BTreeMap::new();
    while let (Some(length), Some(kind)) = (u32_at(messages, 0), u16_at(messages, 4)) {
        let Some(body) = messages.get(NETLINK_HEADER..length as usize) else {
            break;
        };
        let index = u32_at(body, 4).unwrap_or_default();
        let qdisc = parse::qdisc(body).map(|(_, qdisc)| qdisc);
        let chosen = qdisc.filter(|qdisc| qdisc.handle != Handle(0));
        let (class, filter) = (parse::class(body), parse::filter(body));
        match (kind, chosen, class, filter) {
            (RTM_NEWQDISC, Some(qdisc), _, _) => all.entry(index).or_default().qdiscs.push(qdisc),
            (RTM_NEWTCLASS, _, Some(class), _) => {
                all.entry(index).or_default().classes.push(class);
            }
            (RTM_NEWTFILTER, _, _, Some(filter)) => {
                all.entry(index).or_default().filters.push(filter);
            }
            _ => {}
        }
        let next = (length as usize).next_multiple_of(4);
        messages = messages.get(next..).unwrap_or_default();
    }
    all
}

/// Reads bytes as answers about disciplines, classes and filters.
#[doc(hidden)]
pub fn hostile(bytes: &[u8]) {
    for (index, control) in recorded(bytes) {
        for filter in &control.filters {
            let _ = replay::filter(&filter.raw);
        }
        let qdiscs = control.qdiscs.iter();
        let parts: Vec<Recorded> = qdiscs
            .map(|qdisc| Recorded::Qdisc(qdisc.raw.clone()))
            .chain(
                control
                    .classes
                    .iter()
                    .map(|class| Recorded::Class(class.raw.clone())),
            )
            .collect();
        let _ = replay::root::requests(&parts);
        let _ = (index, control.redirects().count());
    }
    parse::qdisc(bytes);
    parse::class(bytes);
    parse::filter(bytes);
    let _ = replay::filter(bytes);
    let _ = replay::remove(bytes);
}
