//! What limits what the owner of a port receives.

use nicety_model::traffic_control::{
    Bucket, Class, Filter, Handle, OURS, Qdisc, QdiscLimit, Recorded, TrafficControl,
};

use super::{Adopted, By, Interface, Unknown, Way, is_deep_as_proxmoxs};

/// The discipline that libvirt, Proxmox, CNI and Open vSwitch make.
const FIRST: Handle = Handle::new(1, 0);
/// The only class, which Open vSwitch has above all others.
const ONE: Handle = Handle::new(1, 1);
const ALL_OVS: Handle = Handle::new(1, 0xfffe);
/// The leaf below libvirt's class: `sfq`, or `fq_codel` in some distributions.
const LEAF: Handle = Handle::new(2, 0);
const LEAVES: [&str; 2] = ["sfq", "fq_codel"];

pub(super) fn look(interface: &Interface) -> Option<Result<Adopted, Unknown>> {
    let control = &interface.control;
    let is_root = |qdisc: &&Qdisc| qdisc.parent == Handle::ROOT && qdisc.handle.major() != OURS;
    let qdisc = control.qdiscs.iter().find(is_root)?;
    Some(match qdisc.limit {
        Some(QdiscLimit::Bucket(bucket)) => Ok(token_bucket(qdisc, bucket)),
        Some(QdiscLimit::Classes { default }) => classes(qdisc, default, control),
        None => Err(Unknown::Kind {
            way: Way::Receives,
            kind: qdisc.kind.clone(),
            handle: qdisc.handle,
        }),
    })
}

/// Of the plugin, whose number is 1:, as that of many who write tc commands: it says `tc` then, for nothing else of
/// it can be told.
fn token_bucket(qdisc: &Qdisc, bucket: Bucket) -> Adopted {
    Adopted {
        by: By::Tc,
        way: Way::Receives,
        priority: 0,
        rate: bucket.rate,
        ceil: None,
        burst_bytes: bucket.burst_bytes,
        parts: vec![Recorded::Qdisc(qdisc.raw.clone())],
    }
}

fn classes(qdisc: &Qdisc, default: u32, control: &TrafficControl) -> Result<Adopted, Unknown> {
    let unknown = || Unknown::Classes {
        handle: qdisc.handle,
        classes: control.classes.len(),
    };
    // Disciplines below, as sfq and fq_codel, tell of classes of their own.
    let of_htb = |class: &&Class| class.handle.major() == qdisc.handle.major();
    let classes: Vec<&Class> = control.classes.iter().filter(of_htb).collect();
    // What no filter takes must have a class: htb sends the rest without any limit.
    let default = u16::try_from(default).map_err(|_| unknown())?;
    let default = Handle::new(qdisc.handle.major(), default);
    let top = find(control, default)
        .filter(|class| class.handle != qdisc.handle)
        .map(|class| top_of(class, control))
        .ok_or_else(unknown)?;
    // Every class is below it, so that it alone says what passes.
    let is_below = |class: &Class| top_of(class, control).handle == top.handle;
    if !classes.iter().all(|class| is_below(class)) {
        return Err(unknown());
    }
    let (rate, ceil) = (top.rate.ok_or_else(unknown)?, top.ceil.ok_or_else(unknown)?);
    let of_it = |parent: Handle| parent == qdisc.handle;
    let filters: Vec<&Filter> = control
        .filters
        .iter()
        .filter(|filter| of_it(filter.parent))
        .collect();
    let parts = qdisc_and_leaves(qdisc, control);
    let qdiscs = parts.iter().map(|part| Recorded::Qdisc(part.raw.clone()));
    let below = (classes.iter()).map(|class| Recorded::Class(class.raw.clone()));
    let all = filters
        .iter()
        .map(|filter| Recorded::Filter(filter.raw.clone()));
    Ok(Adopted {
        by: by(qdisc, (top, classes.len()), &filters, control),
        way: Way::Receives,
        priority: 0,
        rate: rate.rate,
        ceil: (ceil.rate != rate.rate).then_some(ceil.rate),
        burst_bytes: rate.burst_bytes,
        parts: qdiscs.chain(below).chain(all).collect(),
    })
}

fn find(control: &TrafficControl, handle: Handle) -> Option<&Class> {
    control.classes.iter().find(|class| class.handle == handle)
}

/// The class above all that a class is below: as many steps as there are classes lead there.
fn top_of<'a>(class: &'a Class, control: &'a TrafficControl) -> &'a Class {
    let steps = std::iter::successors(Some(class), |at| find(control, at.parent));
    steps
        .take(control.classes.len() + 1)
        .last()
        .unwrap_or(class)
}

/// The discipline, and those below its classes.
fn qdisc_and_leaves<'a>(qdisc: &'a Qdisc, control: &'a TrafficControl) -> Vec<&'a Qdisc> {
    let is_leaf = |other: &&Qdisc| other.parent.major() == qdisc.handle.major();
    std::iter::once(qdisc)
        .chain(control.qdiscs.iter().filter(is_leaf))
        .collect()
}

fn by(
    qdisc: &Qdisc,
    (top, classes): (&Class, usize),
    filters: &[&Filter],
    control: &TrafficControl,
) -> By {
    if qdisc.handle != FIRST {
        return By::Tc;
    }
    let leaves = control
        .qdiscs
        .iter()
        .filter(|leaf| leaf.parent.major() == 1);
    let leaves: Vec<(&str, Handle)> = leaves
        .map(|leaf| (leaf.kind.as_str(), leaf.handle))
        .collect();
    let is_libvirts = |leaf: &(&str, Handle)| LEAVES.contains(&leaf.0);
    let marked =
        |filter: &&Filter| filter.kind == "fw" && filter.priority == 1 && filter.handle == 1;
    let has_mark = filters.iter().any(marked);
    match top.handle {
        ALL_OVS => By::OpenVSwitch,
        ONE if has_mark
            && leaves
                .iter()
                .any(|leaf| leaf.1 == LEAF && is_libvirts(leaf)) =>
        {
            By::Libvirt
        }
        ONE if classes == 1 && filters.is_empty() && leaves.is_empty() && is_proxmox(top) => {
            By::Proxmox
        }
        _ => By::Tc,
    }
}

/// One rate, and the bucket of it.
fn is_proxmox(class: &Class) -> bool {
    let one = |rate: &Bucket| class.ceil.is_some_and(|ceil| ceil.rate == rate.rate);
    class.rate.filter(one).is_some_and(is_deep_as_proxmoxs)
}
