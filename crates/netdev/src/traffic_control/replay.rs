//! Requests that make a filter anew as the kernel has told of it (net/sched/cls_u32.c, cls_basic.c, cls_matchall.c,
//! act_police.c, act_mirred.c).
//!
//! Only what is known attribute by attribute is made anew: then it is the same byte for byte. What the kernel counts
//! or chooses by itself is left out: statistics, times, the number of an action and how many refer to it, the number
//! of `cls_u32`'s first table, and whether hardware has taken a filter.

pub(crate) mod root;

use libc::{RTM_DELTFILTER, RTM_NEWTFILTER, TCA_KIND, TCA_OPTIONS};
use nicety_model::traffic_control::{NoWayBack, Recorded};

use super::parse::{TCA_BASIC_EMATCHES, TCA_CHAIN, matches_all};
use crate::raw::{Attributes, RawMessage, text, u32_at};
use crate::tc::{
    TC_HEADER, TCA_ACT_KIND, TCA_ACT_OPTIONS, TCA_MIRRED_PARMS, TCA_POLICE_TBF, TCA_U32_ACT, tc,
};

const TCA_INGRESS_BLOCK: u16 = 13;
/// What the kernel counts or tells by itself: TCA_STATS, TCA_XSTATS, TCA_FCNT, TCA_STATS2, TCA_PAD, TCA_HW_OFFLOAD,
/// TCA_EXT_WARN_MSG.
const COUNTED: [u16; 7] = [3, 4, 6, 7, 9, 12, 16];

/// Handle of a `cls_u32` without its table (TC_U32_HTID).
const U32_NODE: u32 = 0x000f_ffff;
const TCA_U32_HASH: u16 = 2;
/// TCA_CLS_FLAGS_SKIP_HW and SKIP_SW: what somebody asks for. The others are answers.
const FLAGS_ASKED: u32 = 0b11;

/// TCA_POLICE_RATE and TCA_POLICE_PEAKRATE.
const TABLES: [u16; 2] = [2, 3];
/// Where the rates of struct tc_police are: of the first and the peak.
const RATES: [usize; 2] = [20, 32];
/// The kernel wants a table of TC_RTAB_SIZE bytes and a cell size that is not 0, and tells neither afterwards: it
/// computes times itself (`qdisc_get_rtab` of net/sched/sch_api.c).
const TABLE: usize = 1024;
const CELL: u8 = 3;

/// How an attribute is made anew.
enum How {
    /// As it is.
    Same,
    /// Not at all: the kernel adds it.
    Left,
    /// Flags of a classifier.
    Flags,
    /// A list of actions.
    Actions,
    /// A policer from the time before there were actions.
    Policer,
    /// A tree of ematches that takes all.
    Ematches,
}

fn option(kind: &str, attribute: u16) -> Option<How> {
    Some(match (kind, attribute) {
        // TCA_U32_CLASSID and SEL; TCA_BASIC_CLASSID; TCA_MATCHALL_CLASSID.
        ("u32", 1 | 5) | ("basic" | "matchall", 1) => How::Same,
        // TCA_U32_HASH is the first table; PCNT and PAD.
        ("u32", TCA_U32_HASH | 9 | 12) | ("basic", 5 | 6) | ("matchall", 4 | 5) => How::Left,
        ("u32", 11) | ("matchall", 3) => How::Flags,
        ("u32", TCA_U32_ACT) | ("basic", 3) | ("matchall", 2) => How::Actions,
        ("u32", 6) | ("basic", 4) => How::Policer,
        // TCA_FW_CLASSID, INDEV and MASK.
        ("fw", 1 | 3 | 5) => How::Same,
        ("fw", 2) => How::Policer,
        ("fw", 4) => How::Actions,
        ("basic", TCA_BASIC_EMATCHES) => How::Ematches,
        _ => return None,
    })
}

/// Whether all parts of a limit can be given back as they are.
///
/// # Errors
/// Why not.
pub fn can_return(parts: &[Recorded]) -> Result<(), NoWayBack> {
    if parts.first().is_some_and(Recorded::is_root) {
        return root::requests(parts).map(|_| ());
    }
    for part in parts {
        match part {
            Recorded::Filter(body) => {
                filter(body)?;
            }
            Recorded::Qdisc(body) => {
                let attributes = Attributes::of(body.get(TC_HEADER..).ok_or(NoWayBack::Cut)?);
                if attributes.find(TCA_INGRESS_BLOCK).is_some() {
                    return Err(NoWayBack::SharedBlock);
                }
            }
            Recorded::Class(_) => {}
        }
    }
    Ok(())
}

/// The request that makes a filter anew. Two filters are the same when their requests are.
pub(crate) fn filter(body: &[u8]) -> Result<RawMessage, NoWayBack> {
    let attributes = Attributes::of(body.get(TC_HEADER..).ok_or(NoWayBack::Cut)?);
    let kind = text(attributes.find(TCA_KIND).ok_or(NoWayBack::Cut)?);
    let mut request = head(RTM_NEWTFILTER, body, kind)?;
    if kind == "u32" {
        let node = u32_at(body, 8).unwrap_or(0) & U32_NODE;
        request.body[8..12].copy_from_slice(&node.to_ne_bytes());
    }
    let of = Of("filter");
    for (attribute, value) in attributes {
        match attribute {
            TCA_KIND => request.put(TCA_KIND, value),
            TCA_CHAIN if value.iter().all(|byte| *byte == 0) => request.put(TCA_CHAIN, value),
            TCA_OPTIONS => nest(&mut request, TCA_OPTIONS, |request| {
                options(request, kind, Attributes::of(value))
            })?,
            left if COUNTED.contains(&left) => {}
            other => return Err(of.unknown(other)),
        }
    }
    Ok(request)
}

/// The request that removes exactly this filter.
pub(crate) fn remove(body: &[u8]) -> Result<RawMessage, NoWayBack> {
    let attributes = Attributes::of(body.get(TC_HEADER..).ok_or(NoWayBack::Cut)?);
    let kind = attributes.find(TCA_KIND).ok_or(NoWayBack::Cut)?;
    let mut request = head(RTM_DELTFILTER, body, text(kind))?;
    request.put(TCA_KIND, kind);
    Ok(request)
}

/// The message's struct tcmsg; of a kind that can be made anew.
fn head(message: u16, body: &[u8], kind: &str) -> Result<RawMessage, NoWayBack> {
    if !matches!(kind, "u32" | "basic" | "matchall" | "fw") {
        return Err(NoWayBack::Kind);
    }
    let [index, handle, parent, info] = [4, 8, 12, 16].map(|at| u32_at(body, at).unwrap_or(0));
    Ok(tc(message, index, handle, parent, info))
}

#[derive(Clone, Copy)]
struct Of(&'static str);

impl Of {
    fn unknown(self, attribute: u16) -> NoWayBack {
        NoWayBack::Attribute {
            attribute,
            of: self.0,
        }
    }
}

fn nest(
    request: &mut RawMessage,
    kind: u16,
    fill: impl FnOnce(&mut RawMessage) -> Result<(), NoWayBack>,
) -> Result<(), NoWayBack> {
    let mut done = Ok(());
    request.nest(kind, |inside| done = fill(inside));
    done
}

fn options(request: &mut RawMessage, kind: &str, options: Attributes<'_>) -> Result<(), NoWayBack> {
    for (attribute, value) in options {
        let how = option(kind, attribute).ok_or(Of("filter").unknown(attribute))?;
        match how {
            How::Same => request.put(attribute, value),
            How::Left => {}
            How::Flags => {
                let asked = u32_at(value, 0).unwrap_or(0) & FLAGS_ASKED;
                if asked != 0 {
                    request.put(attribute, &asked.to_ne_bytes());
                }
            }
            How::Actions => nest(request, attribute, |list| actions(list, value))?,
            How::Policer => nest(request, attribute, |one| policer(one, value))?,
            // The kernel tells an empty one of a filter that has none.
            How::Ematches if matches_all(Some(value)) => {}
            How::Ematches => return Err(Of("filter").unknown(attribute)),
        }
    }
    Ok(())
}

fn actions(request: &mut RawMessage, list: &[u8]) -> Result<(), NoWayBack> {
    for (order, one) in Attributes::of(list) {
        nest(request, order, |action| action_anew(action, one))?;
    }
    Ok(())
}

fn action_anew(request: &mut RawMessage, action: &[u8]) -> Result<(), NoWayBack> {
    let attributes = Attributes::of(action);
    let kind = text(attributes.find(TCA_ACT_KIND).ok_or(NoWayBack::Cut)?);
    for (attribute, value) in attributes {
        match attribute {
            TCA_ACT_OPTIONS => nest(request, TCA_ACT_OPTIONS, |options| match kind {
                "police" => policer(options, value),
                "mirred" => redirect(options, value),
                _ => Err(NoWayBack::Kind),
            })?,
            // The kind, a cookie, flags, and which statistics hardware is to keep.
            TCA_ACT_KIND | 6 | 7 | 8 => request.put(attribute, value),
            // TCA_ACT_INDEX, STATS, PAD, USED_HW_STATS, IN_HW_COUNT.
            3 | 4 | 5 | 9 | 10 => {}
            other => return Err(Of("action").unknown(other)),
        }
    }
    Ok(())
}

/// A structure of an action without its number; refused where others refer to it: it could not be theirs again.
fn unshared(structure: &[u8], [references, bindings]: [usize; 2]) -> Result<Vec<u8>, NoWayBack> {
    let mut anew = structure.to_vec();
    for at in [references, bindings] {
        if u32_at(structure, at).ok_or(NoWayBack::Cut)? > 1 {
            return Err(NoWayBack::SharedAction);
        }
        anew[at..at + 4].fill(0);
    }
    anew[..4].fill(0);
    Ok(anew)
}

fn policer(request: &mut RawMessage, options: &[u8]) -> Result<(), NoWayBack> {
    for (attribute, value) in Attributes::of(options) {
        match attribute {
            TCA_POLICE_TBF => {
                let mut police = unshared(value, [44, 48])?;
                for (table, rate) in TABLES.into_iter().zip(RATES) {
                    if u32_at(&police, rate + 8).ok_or(NoWayBack::Cut)? > 0 {
                        police[rate] = CELL;
                        request.put(table, &[0; TABLE]);
                    }
                }
                request.put(TCA_POLICE_TBF, &police);
            }
            // What is above, rates that do not fit elsewhere, and packets.
            5 | 8..=11 => request.put(attribute, value),
            // TCA_POLICE_TM and PAD.
            6 | 7 => {}
            other => return Err(Of("policer").unknown(other)),
        }
    }
    Ok(())
}

fn redirect(request: &mut RawMessage, options: &[u8]) -> Result<(), NoWayBack> {
    for (attribute, value) in Attributes::of(options) {
        match attribute {
            TCA_MIRRED_PARMS => request.put(attribute, &unshared(value, [12, 16])?),
            // TCA_MIRRED_TM and PAD.
            1 | 3 => {}
            other => return Err(Of("redirect").unknown(other)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
