//! Requests that make a limit at a root anew (net/sched/sch_tbf.c, sch_htb.c, and of the leaves sch_fifo.c, sch_sfq.c,
//! sch_fq_codel.c): the discipline, its classes, what is below these, its filters.

use libc::{RTM_NEWQDISC, RTM_NEWTCLASS, TCA_KIND, TCA_OPTIONS};
use nicety_model::traffic_control::{Handle, NoWayBack, Recorded, TICK_NS};

use super::{COUNTED, Of, filter, nest};
use crate::raw::{Attributes, RawMessage, text, u16_at, u32_at};
use crate::tc::{TC_HEADER, TCA_TBF_PARMS, rate, tc};

const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_HTB_INIT: u16 = 2;
/// Half of HTB_VER: the kernel tells all of it, and takes the upper half.
const HTB_VERSION_SHIFT: u32 = 16;

/// All requests, in the order in which the kernel takes them. The first one puts the discipline in the place of
/// another.
pub(crate) fn requests(parts: &[Recorded]) -> Result<Vec<RawMessage>, NoWayBack> {
    let mut all = Vec::with_capacity(parts.len());
    let mut leaves = Vec::new();
    let mut classes = Vec::new();
    let mut filters = Vec::new();
    for part in parts {
        match part {
            Recorded::Qdisc(body) if all.is_empty() => all.push(qdisc(body)?),
            Recorded::Qdisc(body) => leaves.push(qdisc(body)?),
            Recorded::Class(body) => classes.push(class(body)?),
            Recorded::Filter(body) => filters.push(filter(body)?),
        }
    }
    let root = all.first().map(|root| handle(root).major());
    let root = root.ok_or(NoWayBack::Cut)?;
    all.extend(parents_first(classes)?);
    if leaves.iter().any(|leaf| parent(leaf).major() != root) {
        return Err(NoWayBack::Below);
    }
    all.extend(leaves);
    all.extend(filters);
    Ok(all)
}

fn handle(message: &RawMessage) -> Handle {
    Handle(u32_at(&message.body, 8).unwrap_or(0))
}

fn parent(message: &RawMessage) -> Handle {
    Handle(u32_at(&message.body, 12).unwrap_or(0))
}

/// A class needs the one above it.
fn parents_first(mut classes: Vec<RawMessage>) -> Result<Vec<RawMessage>, NoWayBack> {
    let mut sorted: Vec<RawMessage> = Vec::with_capacity(classes.len());
    while !classes.is_empty() {
        let waits = |class: &RawMessage| {
            classes
                .iter()
                .any(|other| handle(other) == parent(class) && handle(class) != handle(other))
        };
        let waiting: Vec<bool> = classes.iter().map(waits).collect();
        if waiting.iter().all(|waits| *waits) {
            return Err(NoWayBack::Below);
        }
        let mut waiting = waiting.into_iter();
        sorted.extend(classes.extract_if(.., |_| waiting.next() == Some(false)));
    }
    Ok(sorted)
}

/// The request that makes a discipline anew. Two are the same when their requests are.
pub(crate) fn qdisc(body: &[u8]) -> Result<RawMessage, NoWayBack> {
    let attributes = Attributes::of(body.get(TC_HEADER..).ok_or(NoWayBack::Cut)?);
    let kind = text(attributes.find(TCA_KIND).ok_or(NoWayBack::Cut)?);
    if !matches!(kind, "tbf" | "htb" | "pfifo" | "bfifo" | "sfq" | "fq_codel") {
        return Err(NoWayBack::Below);
    }
    let mut request = head(RTM_NEWQDISC, body);
    for (attribute, value) in attributes {
        match attribute {
            TCA_KIND => request.put(TCA_KIND, value),
            TCA_OPTIONS => match kind {
                "tbf" => nest(&mut request, TCA_OPTIONS, |nest| token_bucket(nest, value))?,
                "htb" => nest(&mut request, TCA_OPTIONS, |nest| classful(nest, value))?,
                // Told as they are taken.
                _ => request.put(TCA_OPTIONS, value),
            },
            left if COUNTED.contains(&left) => {}
            other => return Err(Of("discipline").unknown(other)),
        }
    }
    Ok(request)
}

/// The request that makes a class anew.
fn class(body: &[u8]) -> Result<RawMessage, NoWayBack> {
    let attributes = Attributes::of(body.get(TC_HEADER..).ok_or(NoWayBack::Cut)?);
    if attributes.find(TCA_KIND).map(text) != Some("htb") {
        return Err(NoWayBack::Below);
    }
    let mut request = head(RTM_NEWTCLASS, body);
    for (attribute, value) in attributes {
        match attribute {
            TCA_KIND => request.put(TCA_KIND, value),
            TCA_OPTIONS => nest(&mut request, TCA_OPTIONS, |nest| {
                for (attribute, value) in Attributes::of(value) {
                    match attribute {
                        // TCA_HTB_PARMS, RATE64 and CEIL64.
                        1 | 6 | 7 => nest.put(attribute, value),
                        // TCA_HTB_PAD.
                        8 => {}
                        other => return Err(Of("class").unknown(other)),
                    }
                }
                Ok(())
            })?,
            left if COUNTED.contains(&left) => {}
            other => return Err(Of("class").unknown(other)),
        }
    }
    Ok(request)
}

/// The message's struct tcmsg without what refers to a discipline: how many do, and of a class the one below.
fn head(message: u16, body: &[u8]) -> RawMessage {
    let [index, handle, parent] = [4, 8, 12].map(|at| u32_at(body, at).unwrap_or(0));
    tc(message, index, handle, parent, 0)
}

fn token_bucket(request: &mut RawMessage, options: &[u8]) -> Result<(), NoWayBack> {
    let all = Attributes::of(options);
    for (attribute, value) in all {
        match attribute {
            TCA_TBF_PARMS => {
                request.put(TCA_TBF_PARMS, value);
                if let Some(burst) = burst(value, all.find(TCA_TBF_RATE64)) {
                    request.put(TCA_TBF_BURST, &burst.to_ne_bytes());
                }
            }
            // TCA_TBF_RATE64 and PRATE64.
            4 | 5 => request.put(attribute, value),
            // TCA_TBF_PAD.
            8 => {}
            other => return Err(Of("discipline").unknown(other)),
        }
    }
    Ok(())
}

/// The most bytes whose time at the rate is told in the same ticks. The kernel tells ticks only, and would make a few
/// bytes less of them than there were: a frame that just fitted would never pass again. None where there is a second
/// bucket, or a link layer that counts otherwise.
fn burst(parameters: &[u8], wide: Option<&[u8]>) -> Option<u32> {
    const LINKLAYER_ETHERNET: u8 = 1;
    let ethernet = parameters.get(1)? & 0xf == LINKLAYER_ETHERNET;
    let peak = u32_at(parameters, 12 + 8)?;
    let overhead = u64::from(u16_at(parameters, 2)?);
    let ticks = u64::from(u32_at(parameters, 28)?);
    let bytes = u128::from(rate(parameters, wide)?.0 / 8);
    if !ethernet || peak > 0 || bytes == 0 {
        return None;
    }
    let time = |length: u64| u128::from(length) * 1_000_000_000 / bytes / u128::from(TICK_NS);
    let last = u128::from((ticks + 1) * TICK_NS - 1);
    let length = u64::try_from(last * bytes / 1_000_000_000).ok()?;
    let fits = time(length) == u128::from(ticks);
    u32::try_from(length.checked_sub(overhead)?)
        .ok()
        .filter(|burst| fits && *burst > 0)
}

fn classful(request: &mut RawMessage, options: &[u8]) -> Result<(), NoWayBack> {
    for (attribute, value) in Attributes::of(options) {
        match attribute {
            TCA_HTB_INIT => {
                // struct tc_htb_glob: version, quantum, default class, debug, and a counter.
                let mut global = value.get(..20).ok_or(NoWayBack::Cut)?.to_vec();
                let told = u32_at(&global, 0).unwrap_or(0);
                let taken = match told >> HTB_VERSION_SHIFT {
                    0 => told,
                    upper => upper,
                };
                global[..4].copy_from_slice(&taken.to_ne_bytes());
                global[16..].fill(0);
                request.put(TCA_HTB_INIT, &global);
            }
            // TCA_HTB_DIRECT_QLEN.
            5 => request.put(attribute, value),
            // TCA_HTB_PAD.
            8 => {}
            other => return Err(Of("discipline").unknown(other)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bucket as the kernel tells of one.
    fn told(bytes: u64, overhead: u16, length: u64) -> Vec<u8> {
        let mut spec = vec![0, 1];
        spec.extend_from_slice(&overhead.to_ne_bytes());
        spec.extend_from_slice(&[0; 4]);
        spec.extend_from_slice(&(bytes as u32).to_ne_bytes());
        spec.extend_from_slice(&[0; 12]);
        spec.extend_from_slice(&9_000u32.to_ne_bytes());
        let ticks = (length + u64::from(overhead)) * 1_000_000_000 / bytes / TICK_NS;
        spec.extend_from_slice(&(ticks as u32).to_ne_bytes());
        spec.extend_from_slice(&[0; 4]);
        spec
    }

    #[test]
    fn a_frame_that_just_fitted_fits_again() {
        for bytes in [8_000, 750_000, 125_000_000, 1_250_000_000, 4_000_000_000] {
            for (overhead, length) in [(0, 1_514), (24, 1_514), (0, 16_384), (4, 65_590)] {
                let told = told(bytes, overhead, length);
                let burst = u64::from(burst(&told, None).unwrap());
                assert!(burst >= length, "{bytes}: {burst} of {length}");
                let ticks = (burst + u64::from(overhead)) * 1_000_000_000 / bytes / TICK_NS;
                assert_eq!(u64::from(u32_at(&told, 28).unwrap()), ticks, "{bytes}");
            }
        }
        // What has a peak rate is left to the kernel.
        let mut peak = told(750_000, 0, 1_514);
        peak[20] = 1;
        assert_eq!(burst(&peak, None), None);
    }

    #[test]
    fn classes_come_after_those_above_and_disciplines_of_other_kinds_are_refused() {
        let class = |minor, parent| {
            let mut class = tc(RTM_NEWTCLASS, 7, Handle::new(1, minor).0, parent, 99);
            class.put_str(TCA_KIND, "htb");
            Recorded::Class(class.body)
        };
        let qdisc = |kind: &str, handle: Handle, parent: Handle| {
            let mut qdisc = tc(RTM_NEWQDISC, 7, handle.0, parent.0, 2);
            qdisc.put_str(TCA_KIND, kind);
            Recorded::Qdisc(qdisc.body)
        };
        let one = Handle::new(1, 0);
        let below = Handle::new(1, 2);
        let mut parts = vec![
            qdisc("htb", one, Handle::ROOT),
            qdisc("sfq", Handle::new(2, 0), below),
            class(2, Handle::new(1, 0xfffe).0),
            class(0xfffe, Handle::ROOT.0),
        ];
        let made = requests(&parts).unwrap();
        let handles: Vec<u32> = made.iter().map(|made| handle(made).0).collect();
        assert_eq!(handles, [0x1_0000, 0x1_fffe, 0x1_0002, 0x2_0000]);
        // Neither a count of those who refer to it, nor the discipline below.
        assert!(made.iter().all(|made| u32_at(&made.body, 16) == Some(0)));
        parts[1] = qdisc("sfq", Handle::new(3, 0), Handle::new(2, 1));
        assert_eq!(requests(&parts), Err(NoWayBack::Below));
        parts[1] = qdisc("netem", Handle::new(2, 0), below);
        assert_eq!(requests(&parts), Err(NoWayBack::Below));
    }
}
