//! The kernel's messages as values (include/uapi/linux/pkt_sched.h, pkt_cls.h, tc_act/tc_mirred.h).

use libc::{TCA_KIND, TCA_OPTIONS};
use nicety_model::traffic_control::{
    Action, Bucket, Class, Filter, Handle, Police, Qdisc, QdiscLimit, TICK_NS, burst_bytes,
};

use crate::raw::{Attributes, text, u16_at, u32_at, u64_at};
use crate::tc::{
    self, TC_ACT_SHOT, TC_ACT_STOLEN, TC_HEADER, TCA_ACT_KIND, TCA_ACT_OPTIONS, TCA_EGRESS_REDIR,
    TCA_MIRRED_PARMS, TCA_POLICE_RATE64, TCA_POLICE_TBF, TCA_TBF_PARMS, TCA_TBF_RATE64,
    TCA_U32_ACT, TCA_U32_SEL,
};

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
pub(super) const TCA_BASIC_EMATCHES: u16 = 2;
pub(super) const TCA_CHAIN: u16 = 11;
const TCA_U32_MARK: u16 = 10;
const TCA_BPF_NAME: u16 = 7;
const TCA_EMATCH_TREE_HDR: u16 = 1;
const TCA_POLICE_PKTRATE64: u16 = 10;
const TCA_POLICE_PKTBURST64: u16 = 11;
/// The filter decides, and no further table does.
const TC_U32_TERMINAL: u8 = 1;
/// Bytes of struct tc_u32_sel before its keys, and of a key: mask, value, and where.
const SELECTOR: usize = 16;
const KEY: usize = 16;
/// Bytes of struct tc_ratespec.
const RATE_SPEC: usize = 12;

/// Number of the interface, and what is there.
pub(super) fn qdisc(body: &[u8]) -> Option<(u32, Qdisc)> {
    let attributes = Attributes::of(body.get(TC_HEADER..)?);
    let kind = text(attributes.find(TCA_KIND)?);
    let options = Attributes::of(attributes.find(TCA_OPTIONS).unwrap_or_default());
    let limit = match kind {
        "tbf" => token_bucket(options).map(QdiscLimit::Bucket),
        "htb" => classes(options),
        _ => None,
    };
    let qdisc = Qdisc {
        kind: kind.to_owned(),
        handle: Handle(u32_at(body, 8)?),
        parent: Handle(u32_at(body, 12)?),
        limit,
        raw: body.to_vec(),
    };
    Some((u32_at(body, 4)?, qdisc))
}

/// struct tc_tbf_qopt: two rates, limit, depth in ticks, MTU.
fn token_bucket(options: Attributes<'_>) -> Option<Bucket> {
    let parameters = options.find(TCA_TBF_PARMS)?;
    let wide = options.find(TCA_TBF_RATE64);
    bucket(parameters, wide, u32_at(parameters, 2 * RATE_SPEC + 4)?)
}

/// struct tc_htb_glob: version, quantum, default class.
fn classes(options: Attributes<'_>) -> Option<QdiscLimit> {
    let default = u32_at(options.find(TCA_HTB_INIT)?, 8)?;
    Some(QdiscLimit::Classes { default })
}

/// A rate of struct tc_ratespec or its wide form, in bytes a second, with its depth in ticks.
fn bucket(spec: &[u8], wide: Option<&[u8]>, ticks: u32) -> Option<Bucket> {
    let rate = tc::rate(spec, wide)?;
    Some(Bucket {
        rate,
        burst_bytes: burst_bytes(rate, ticks),
    })
}

pub(super) fn class(body: &[u8]) -> Option<Class> {
    let attributes = Attributes::of(body.get(TC_HEADER..)?);
    let kind = text(attributes.find(TCA_KIND)?);
    let options = Attributes::of(attributes.find(TCA_OPTIONS).unwrap_or_default());
    // struct tc_htb_opt: rate, ceiling, depth of each in ticks.
    let parameters = options.find(TCA_HTB_PARMS).filter(|_| kind == "htb");
    let read = |at: usize, wide, ticks: usize| {
        let parameters = parameters?;
        let ticks = u32_at(parameters, ticks)?;
        bucket(parameters.get(at..)?, options.find(wide), ticks)
    };
    Some(Class {
        kind: kind.to_owned(),
        handle: Handle(u32_at(body, 8)?),
        parent: Handle(u32_at(body, 12)?),
        rate: read(0, TCA_HTB_RATE64, 2 * RATE_SPEC),
        ceil: read(RATE_SPEC, TCA_HTB_CEIL64, 2 * RATE_SPEC + 4),
        raw: body.to_vec(),
    })
}

/// A filter; none for the heads of chains and tables, which take no frame.
pub(super) fn filter(body: &[u8]) -> Option<Filter> {
    let attributes = Attributes::of(body.get(TC_HEADER..)?);
    let kind = text(attributes.find(TCA_KIND)?);
    let options = Attributes::of(attributes.find(TCA_OPTIONS)?);
    // Where actions are, and the policers of the time before there were actions.
    let (takes_all, actions, policer) = match kind {
        "u32" => {
            let marked = options.find(TCA_U32_MARK).is_some();
            let all = !marked && selects_all(options.find(TCA_U32_SEL)?);
            (all, TCA_U32_ACT, 6)
        }
        "basic" => (matches_all(options.find(TCA_BASIC_EMATCHES)), 3, 4),
        "matchall" => (true, 2, 0),
        "fw" => (false, 4, 2),
        "bpf" => (false, 1, 2),
        _ => (false, 3, 0),
    };
    let info = u32_at(body, 16)?;
    // Frames begin in the first chain; others are for those that a filter sends there.
    let chain = attributes
        .find(TCA_CHAIN)
        .and_then(|chain| u32_at(chain, 0));
    let takes_all = takes_all && chain.unwrap_or(0) == 0;
    let old = options.find(policer).filter(|_| policer != 0);
    let old = old.and_then(|nest| police(Attributes::of(nest)));
    let mut list: Vec<Action> = old.map(Action::Police).into_iter().collect();
    let nest = Attributes::of(options.find(actions).unwrap_or_default());
    list.extend(nest.filter_map(|(_, one)| action(Attributes::of(one))));
    Some(Filter {
        kind: kind.to_owned(),
        handle: u32_at(body, 8)?,
        parent: Handle(u32_at(body, 12)?),
        priority: (info >> 16) as u16,
        protocol: u16::from_be(info as u16),
        takes_all,
        actions: list,
        program: (options.find(TCA_BPF_NAME))
            .filter(|_| kind == "bpf")
            .map(|name| text(name).to_owned()),
        raw: body.to_vec(),
    })
}

/// Whether struct tc_u32_sel takes every frame: no key looks at a bit.
fn selects_all(selector: &[u8]) -> bool {
    let (Some(flags), Some(count)) = (selector.first(), selector.get(2)) else {
        return false;
    };
    let keys = selector.get(SELECTOR..).unwrap_or_default();
    let mut keys = keys.chunks_exact(KEY).take(usize::from(*count));
    flags & TC_U32_TERMINAL != 0 && keys.all(|key| u32_at(key, 0) == Some(0))
}

/// Whether a tree of ematches has none: the kernel tells of an empty one, too (`tcf_em_tree_dump` of
/// net/sched/ematch.c).
pub(super) fn matches_all(tree: Option<&[u8]>) -> bool {
    let count = |tree| u16_at(Attributes::of(tree).find(TCA_EMATCH_TREE_HDR)?, 0);
    tree.is_none_or(|tree| count(tree) == Some(0))
}

fn action(attributes: Attributes<'_>) -> Option<Action> {
    let kind = text(attributes.find(TCA_ACT_KIND)?);
    let options = Attributes::of(attributes.find(TCA_ACT_OPTIONS).unwrap_or_default());
    let known = match kind {
        "police" => police(options).map(Action::Police),
        "mirred" => redirect(options).map(Action::Redirect),
        _ => None,
    };
    Some(known.unwrap_or_else(|| Action::Other(kind.to_owned())))
}

/// struct tc_police: number, what happens above, limit, depth in ticks, longest frame, two rates.
fn police(options: Attributes<'_>) -> Option<Police> {
    let parameters = options.find(TCA_POLICE_TBF)?;
    let wide = options.find(TCA_POLICE_RATE64);
    let rate = bucket(parameters.get(20..)?, wide, u32_at(parameters, 12)?)?;
    let wide = |kind| options.find(kind).and_then(|value| u64_at(value, 0));
    let packets = wide(TCA_POLICE_PKTRATE64).map(|rate| {
        let ticks = wide(TCA_POLICE_PKTBURST64).unwrap_or(0);
        let burst = u128::from(ticks) * u128::from(TICK_NS) * u128::from(rate) / 1_000_000_000;
        (rate, u64::try_from(burst).unwrap_or(u64::MAX))
    });
    Some(Police {
        rate: (rate.rate.0 > 0).then_some(rate),
        packets,
        longest: u32_at(parameters, 16)?,
        drops: u32_at(parameters, 4)? == TC_ACT_SHOT,
    })
}

/// struct tc_mirred: five words of every action, what it does, and where. A redirect after which other actions or
/// filters go on is another one.
fn redirect(options: Attributes<'_>) -> Option<u32> {
    let parameters = options.find(TCA_MIRRED_PARMS)?;
    let takes =
        u32_at(parameters, 8)? == TC_ACT_STOLEN && u32_at(parameters, 20)? == TCA_EGRESS_REDIR;
    takes.then(|| u32_at(parameters, 24))?
}

#[cfg(test)]
mod tests;
