//! What limits what the owner of a port receives.

use nicety_model::knob::NOQUEUE;
use nicety_model::traffic_control::{
    Bucket, Class, Filter, Handle, OURS, Qdisc, QdiscLimit, Recorded, TrafficControl,
};
use nicety_model::{BitRate, total};

use super::{Adopted, By, Interface, Unknown, Way, is_deep_as_proxmoxs};
use crate::policy::LEAST_RATE;

/// The discipline that libvirt, Proxmox, CNI and Open vSwitch make.
const FIRST: Handle = Handle::new(1, 0);
/// The only class, which Open vSwitch has above all others.
const ONE: Handle = Handle::new(1, 1);
const ALL_OVS: Handle = Handle::new(1, 0xfffe);
/// The leaf below libvirt's class: `sfq`, or `fq_codel` in some distributions.
const LEAF: Handle = Handle::new(2, 0);
const LEAVES: [&str; 2] = ["sfq", "fq_codel"];
/// Classes above each other, at most (TC_HTB_MAXDEPTH of include/uapi/linux/pkt_sched.h).
const MAX_DEPTH: usize = 8;

pub(super) fn look(interface: &Interface) -> Option<Result<Adopted, Unknown>> {
    let control = &interface.control;
    // Nicety's, and one where nothing waits, limit nothing of theirs.
    let is_theirs = |qdisc: &Qdisc| qdisc.handle.major() != OURS && qdisc.kind != NOQUEUE;
    let is_root = |qdisc: &&Qdisc| qdisc.parent == Handle::ROOT && is_theirs(qdisc);
    let qdisc = control.qdiscs.iter().find(is_root)?;
    let found = match qdisc.limit {
        Some(QdiscLimit::Bucket(bucket)) => Ok(token_bucket(qdisc, bucket, control)),
        Some(QdiscLimit::Classes { default }) => classes(qdisc, default, control),
        None => Err(Unknown::Kind {
            way: Way::Receives,
            kind: qdisc.kind.clone(),
            handle: qdisc.handle,
        }),
    };
    Some(found.and_then(not_low))
}

/// Nothing can be shared below less than the least.
fn not_low(adopted: Adopted) -> Result<Adopted, Unknown> {
    match adopted.rate {
        most if most < LEAST_RATE => Err(Unknown::Low {
            by: adopted.by,
            most,
        }),
        _ => Ok(adopted),
    }
}

/// Of the plugin, whose number is 1:, as that of many who write tc commands: it says `tc` then, for nothing else of
/// it can be told.
fn token_bucket(qdisc: &Qdisc, bucket: Bucket, control: &TrafficControl) -> Adopted {
    let parts = qdisc_and_leaves(qdisc, control);
    Adopted {
        by: By::Tc,
        way: Way::Receives,
        priority: 0,
        rate: bucket.rate,
        burst_bytes: bucket.burst_bytes,
        // Its only class, which tc(8) calls so too (`tbf_walk` of net/sched/sch_tbf.c).
        under: Some(Handle::new(qdisc.handle.major(), 1)),
        parts: recorded(&parts).collect(),
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
    let most = Most { classes: &classes }.all(top).ok_or_else(unknown)?;
    let of_it = |parent: Handle| parent == qdisc.handle;
    let filters: Vec<&Filter> = control
        .filters
        .iter()
        .filter(|filter| of_it(filter.parent))
        .collect();
    let parts = qdisc_and_leaves(qdisc, control);
    let qdiscs = recorded(&parts);
    let below = (classes.iter()).map(|class| Recorded::Class(class.raw.clone()));
    let all = filters
        .iter()
        .map(|filter| Recorded::Filter(filter.raw.clone()));
    Ok(Adopted {
        by: by(qdisc, (top, classes.len()), &filters, control),
        way: Way::Receives,
        priority: 0,
        rate: most.rate,
        burst_bytes: most.burst_bytes,
        // Nothing is below all of several.
        under: (classes.len() == 1).then_some(top.handle),
        parts: qdiscs.chain(below).chain(all).collect(),
    })
}

/// What passes `htb` at most (net/sched/sch_htb.c, `htb_class_mode`): a class always has its rate, whatever those above
/// it have left; beyond that it borrows up to its ceiling from the one above. One that nothing is above cannot borrow:
/// its ceiling never counts.
struct Most<'a> {
    classes: &'a [&'a Class],
}

impl Most<'_> {
    /// Of all below `top`: what the leaves get together.
    fn all(&self, top: &Class) -> Option<Bucket> {
        let is_leaf = |class: &&&Class| {
            !self
                .classes
                .iter()
                .any(|other| other.parent == class.handle)
        };
        let leaves = || self.classes.iter().filter(is_leaf);
        let sum = |rates: &[Bucket]| BitRate(total(rates.iter().map(|bucket| bucket.rate.0)));
        let sure: Vec<Bucket> = leaves().map(|leaf| leaf.rate).collect::<Option<_>>()?;
        let each: Vec<Bucket> = leaves()
            .map(|leaf| self.one(leaf, MAX_DEPTH))
            .collect::<Option<_>>()?;
        let top = top.rate?;
        let rate = sum(&each).min(top.rate.max(sum(&sure)));
        let by = each.iter().find(|bucket| bucket.rate == rate);
        Some(Bucket {
            rate,
            burst_bytes: by.unwrap_or(&top).burst_bytes,
        })
    }

    /// Of one class, at most so many steps below the top.
    fn one(&self, class: &Class, steps: usize) -> Option<Bucket> {
        let sure = class.rate?;
        let above = self
            .classes
            .iter()
            .find(|other| other.handle == class.parent);
        let Some(above) = above.filter(|_| steps > 0) else {
            return Some(sure);
        };
        let lent = [class.ceil?, self.one(above, steps - 1)?];
        let lent = lent.into_iter().min_by_key(|bucket| bucket.rate)?;
        [sure, lent].into_iter().max_by_key(|bucket| bucket.rate)
    }
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

fn recorded(qdiscs: &[&Qdisc]) -> impl Iterator<Item = Recorded> {
    qdiscs.iter().map(|part| Recorded::Qdisc(part.raw.clone()))
}

/// The discipline, and all below it but nicety's.
fn qdisc_and_leaves<'a>(qdisc: &'a Qdisc, control: &'a TrafficControl) -> Vec<&'a Qdisc> {
    let at_port = [Handle::ROOT, Handle::INGRESS];
    let is_leaf = |other: &&Qdisc| !at_port.contains(&other.parent) && other.handle.major() != OURS;
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
    // Nicety's bucket may have the place of the leaf.
    let is_ours = |leaf: &(&str, Handle)| leaf.1.major() == OURS;
    let is_libvirts =
        |leaf: &(&str, Handle)| leaf.1 == LEAF && LEAVES.contains(&leaf.0) || is_ours(leaf);
    let has_no_other = leaves.iter().all(is_ours);
    let marked =
        |filter: &&Filter| filter.kind == "fw" && filter.priority == 1 && filter.handle == 1;
    let has_mark = filters.iter().any(marked);
    match top.handle {
        ALL_OVS => By::OpenVSwitch,
        ONE if has_mark && leaves.iter().any(is_libvirts) => By::Libvirt,
        ONE if classes == 1 && filters.is_empty() && has_no_other && is_proxmox(top) => By::Proxmox,
        _ => By::Tc,
    }
}

/// One rate, and the bucket of it.
fn is_proxmox(class: &Class) -> bool {
    let one = |rate: &Bucket| class.ceil.is_some_and(|ceil| ceil.rate == rate.rate);
    class.rate.filter(one).is_some_and(is_deep_as_proxmoxs)
}
