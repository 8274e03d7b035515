//! What limits what the owner of a port sends.

use std::collections::BTreeMap;

use nicety_model::traffic_control::{
    Action, Bucket, FIRST, Filter, Handle, OURS, Police, Qdisc, QdiscLimit, Recorded,
    TrafficControl, by_program,
};

use crate::policy::LEAST_RATE;

use super::{Adopted, By, Interface, Switch, Unknown, Way, is_deep_as_proxmoxs};

/// Where filters for what comes in are, of `ingress` and of `clsact`.
const PLACES: [Handle; 2] = [Handle::AT_INGRESS, Handle::CLSACT_INGRESS];
/// Priority that the kernel gives the first filter for which nobody names one (`tcf_auto_prio` of
/// net/sched/cls_api.c).
const AUTOMATIC: u16 = 0xc000;
/// `mtu 64kb`, and the longest frame that fits into 16 bits.
const MTU_64K: u32 = 65_536;
const MTU_MAX: u32 = 65_535;
/// Of `basic` in Open vSwitch, and what Neutron writes beside it.
const PRIORITY_OVS: u16 = 49;
/// TC_RESERVED_PRIORITY_POLICE, of `matchall` in Open vSwitch.
const PRIORITY_OVS_MATCHALL: u16 = 1;
const PRIORITY_PROXMOX: u16 = 50;
/// Begin of the names that the bandwidth plugin gives.
const IFB_CNI: &str = "bwp";

pub(super) fn look(
    interface: &Interface,
    host: &BTreeMap<u32, Interface>,
) -> Option<Result<Adopted, Unknown>> {
    let control = &interface.control;
    let is_ingress = |qdisc: &&Qdisc| matches!(qdisc.parent, Handle::INGRESS);
    let qdisc = control.qdiscs.iter().find(is_ingress)?;
    let filters: Vec<&Filter> = control
        .filters
        .iter()
        .filter(|filter| PLACES.contains(&filter.parent) && !is_ours(filter, host))
        .collect();
    if let Some(filter) = filters.iter().find(|filter| filter.kind == "bpf") {
        let who = by_program(filter.program.as_deref());
        let priority = filter.priority;
        return Some(Err(Unknown::Program { who, priority }));
    }
    match filters[..] {
        // An empty one limits nothing.
        [] => None,
        [filter] => Some(one(qdisc, filter, interface, host)),
        _ => Some(Err(Unknown::Filters {
            filters: filters.len(),
        })),
    }
}

/// A redirect to an interface of nicety's, or to none any more, or its policer.
fn is_ours(filter: &Filter, host: &BTreeMap<u32, Interface>) -> bool {
    let holds = |index: &u32| {
        let bucket = |qdisc: &Qdisc| qdisc.handle.major() == OURS;
        (host.get(index)).is_some_and(|to| to.control.qdiscs.iter().any(bucket))
    };
    match &filter.actions[..] {
        [Action::Redirect(0)] => filter.priority == FIRST,
        [Action::Redirect(to)] => holds(to),
        [Action::Police(_)] => filter.kind == "matchall" && filter.handle == u32::from(OURS),
        _ => false,
    }
}

fn one(
    qdisc: &Qdisc,
    filter: &Filter,
    interface: &Interface,
    host: &BTreeMap<u32, Interface>,
) -> Result<Adopted, Unknown> {
    if !filter.is_for_every_frame() {
        return Err(Unknown::Some {
            kind: filter.kind.clone(),
            priority: filter.priority,
        });
    }
    let mut parts = vec![
        Recorded::Qdisc(qdisc.raw.clone()),
        Recorded::Filter(filter.raw.clone()),
    ];
    let (by, bucket) = match filter.actions[..] {
        [Action::Police(police)] => policed(filter, police, interface)?,
        // No further action gets what a redirect has taken.
        [Action::Redirect(to), ..] => {
            let (by, at) = redirected(filter, to, host)?;
            parts.push(Recorded::Qdisc(at.raw.clone()));
            match at.limit {
                Some(QdiscLimit::Bucket(bucket)) => (by, bucket),
                _ => return Err(elsewhere(to, host)),
            }
        }
        _ => return Err(Unknown::Filters { filters: 1 }),
    };
    if bucket.rate < LEAST_RATE {
        let most = bucket.rate;
        return Err(Unknown::Low { by, most });
    }
    Ok(Adopted {
        by,
        way: Way::Sends,
        rate: bucket.rate,
        priority: filter.priority,
        burst_bytes: bucket.burst_bytes,
        under: None,
        parts,
    })
}

fn policed(
    filter: &Filter,
    police: Police,
    interface: &Interface,
) -> Result<(By, Bucket), Unknown> {
    let bucket = police
        .rate
        .filter(|_| police.drops && police.packets.is_none());
    let bucket = bucket.ok_or(Unknown::NoRate {
        priority: filter.priority,
    })?;
    let by = match (filter.kind.as_str(), filter.priority, police.longest) {
        ("u32", AUTOMATIC, MTU_64K) => By::Libvirt,
        ("basic", PRIORITY_PROXMOX, MTU_64K) if is_deep_as_proxmoxs(bucket) => By::Proxmox,
        ("matchall", PRIORITY_OVS_MATCHALL, MTU_MAX)
            if interface.switch == Some(Switch::OpenVSwitch) =>
        {
            By::OpenVSwitch
        }
        ("basic" | "matchall", PRIORITY_OVS, MTU_MAX) => match interface.switch {
            Some(Switch::OpenVSwitch) => By::OpenVSwitch,
            Some(Switch::Bridge) if filter.kind == "basic" => By::Neutron,
            _ => By::Tc,
        },
        _ => By::Tc,
    };
    Ok((by, bucket))
}

/// The bucket that frames are sent to.
fn redirected<'a>(
    filter: &Filter,
    to: u32,
    host: &'a BTreeMap<u32, Interface>,
) -> Result<(By, &'a Qdisc), Unknown> {
    let interface = host.get(&to);
    let at_root = |control: &'a TrafficControl| {
        let mut qdiscs = control.qdiscs.iter();
        qdiscs.find(|qdisc| qdisc.parent == Handle::ROOT && qdisc.kind == "tbf")
    };
    let (interface, qdisc) = interface
        .and_then(|interface| Some((interface, at_root(&interface.control)?)))
        .ok_or_else(|| elsewhere(to, host))?;
    let is_cni = (filter.kind.as_str(), filter.priority, qdisc.handle)
        == ("u32", 1, Handle::new(1, 0))
        && interface.name.starts_with(IFB_CNI);
    Ok((if is_cni { By::Cni } else { By::Tc }, qdisc))
}

fn elsewhere(to: u32, host: &BTreeMap<u32, Interface>) -> Unknown {
    let name = host.get(&to).map(|interface| interface.name.clone());
    Unknown::Elsewhere {
        to: name.unwrap_or_else(|| to.to_string()),
    }
}
