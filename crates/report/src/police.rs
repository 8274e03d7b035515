//! What the police daemon sees and does, for a terminal.

use nicety_model::BitRate;
use nicety_police::controller::{Enforcement, PortDecision};
use nicety_police::explain::{Explanation, readable};
use nicety_police::report::{
    ClusterHolds, ClusterReport, ClusterRow, ClusterStands, ClusterState, State,
};

use crate::document::{Badge, Cell, Tone, columns};
use crate::number::plural;
use crate::page::Page;

/// Everybody who shares the link, and the ports.
pub fn status(state: &State) -> Page {
    let decision = &state.decision;
    let mut page = Page::default();
    let level = match decision.level_bps {
        Some(level) => format!("link full, {} per unit of weight", readable(level)),
        None => "link not full".to_owned(),
    };
    if let Some(host) = &state.host {
        page.line(host);
    }
    page.line(&format!(
        "{}, process {}, every {} s: {} sent, {level}",
        state.policy,
        state.pid,
        state.period_s,
        readable(decision.total_bps)
    ));
    page.line(&format!(
        "{}, {} written, {}",
        plural(count(state.periods), "period"),
        plural(count(state.writes), "limit"),
        plural(count(state.errors), "error"),
    ));
    if let Some(cluster) = &state.cluster {
        page.line(&cluster_line(cluster));
    }
    let soft = |bps: Option<f64>| bps.map_or("none".into(), Cell::rate);
    let guarantee = |bps: u64| match bps {
        0 => "none".into(),
        bps => Cell::rate(bps as f64),
    };
    let demand = |tenant: &Explanation| match (tenant.is_idle(), tenant.demand_bps) {
        (true, _) => Cell::absent(),
        (false, Some(bps)) => Cell::rate(bps),
        (false, None) => Cell::badge(Badge::new("more", Tone::Warn)),
    };
    page.rows(
        "tenants",
        state.tenants.iter().zip(&decision.tenants),
        columns![|(tenant, decided)|
            "name" Name: &tenant.tenant;
            "weight" Number: tenant.weight.to_string();
            "guarantee" Number: guarantee(tenant.guarantee.0);
            "hard" Number: Cell::rate(decided.cap_bps);
            "soft" Number: soft(decided.soft_bps);
            "sends" Number: Cell::rate(tenant.rate_bps);
            "wants" Number: demand(tenant);
            "may send" Number: Cell::rate(tenant.limit_bps);
        ],
    );
    page.rows(
        "ports",
        &decision.ports,
        columns![|port|
            "port" Name: port.port.to_string();
            "tenant" Text: state.tenants.get(port.tenant).map(|owner| &owner.tenant);
            "sends" Number: Cell::rate(port.rate_bps);
            // One that waits for the kernel's answer has the limit it had.
            "limit" Number: (port.present || port.limit.0 > 0).then(|| Cell::rate(port.limit.0 as f64));
            "limit is" Text: holds(port);
        ],
    );
    page
}

/// Where a host's limits of tenants with a total come from.
fn cluster_line(cluster: &ClusterState) -> String {
    let stands = match cluster.stands {
        ClusterStands::Granted => "the leader's grant holds",
        ClusterStands::Waiting => "safe shares hold, the first grant is to come",
        ClusterStands::Alone => "safe shares hold, etcd is not heard",
    };
    let leads = if cluster.leads { ", leads" } else { "" };
    let trouble = cluster.trouble.as_ref().map(|trouble| format!("; {trouble}"));
    let (host, prefix) = (&cluster.host, &cluster.prefix);
    format!("{host} in cluster {prefix}{leads}: {stands}{}", trouble.unwrap_or_default())
}

/// What a tenant has on this host of a cluster, and why; none for one without a total.
pub fn cluster_share(cluster: &ClusterState, tenant: &str) -> Option<String> {
    let of = cluster.tenants.iter().find(|of| of.tenant == tenant)?;
    let [max, total, safe] = [of.max, of.total_max, of.safe].map(|rate| readable(rate.0 as f64));
    let host = &cluster.host;
    Some(match cluster.stands {
        ClusterStands::Granted => format!(
            "{host} holds {max} of its {total} on all hosts, granted by the leader; without etcd it would keep {safe}"
        ),
        ClusterStands::Waiting => format!(
            "{host} holds its safe share of {max} of {total} on all hosts, and waits for the leader's first grant"
        ),
        ClusterStands::Alone => format!(
            "{host} holds its safe share of {max} of {total} on all hosts, because etcd does not answer"
        ),
    })
}

/// Every tenant of every host of a cluster.
pub fn cluster(report: &ClusterReport) -> Page {
    let mut page = Page::default();
    let leader = match &report.leader {
        Some(host) => format!("{host} leads"),
        None => "nobody leads".to_owned(),
    };
    page.line(&format!("cluster {}: {leader}", report.prefix));
    if let Some(key) = report.unreadable.first() {
        let keys = plural(report.unreadable.len(), "key");
        page.line(&format!(
            "{keys} cannot be read, as {key}; remove with etcdctl del"
        ));
    }
    let rate = |rate: Option<BitRate>| match rate {
        Some(rate) => Cell::rate(rate.0 as f64),
        None => Cell::absent(),
    };
    page.rows(
        "hosts",
        &report.rows,
        columns![|row|
            "tenant" Name: &row.tenant;
            "host" Name: &row.host;
            "sends" Number: rate(row.used);
            "wants" Number: wants(row);
            "granted" Number: rate(row.max);
            "guarantee" Number: rate(row.guarantee);
            "safe" Number: rate(row.safe);
            "total" Number: rate(row.total_max);
            "holds" Text: held(row.holds);
        ],
    );
    page
}

fn wants(row: &ClusterRow) -> Cell {
    match (row.used, row.demand) {
        (None, _) => Cell::absent(),
        (Some(_), Some(demand)) => Cell::rate(demand.0 as f64),
        (Some(_), None) => Cell::badge(Badge::new("more", Tone::Warn)),
    }
}

fn held(holds: ClusterHolds) -> Cell {
    let badge = |word, tone| Cell::badge(Badge::new(word, tone));
    match holds {
        ClusterHolds::Grant => badge("grant", Tone::Good),
        ClusterHolds::EarlierGrant => "earlier grant".into(),
        ClusterHolds::Waiting => badge("safe share, waits", Tone::Warn),
        ClusterHolds::Lost => badge("safe share, lost", Tone::Fail),
    }
}

fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn holds(port: &PortDecision) -> Cell {
    let badge = |word, tone| Cell::badge(Badge::new(word, tone));
    match (port.present, port.enforcement) {
        (false, _) => match &port.waits {
            Some(why) => format!("waits: {why}").into(),
            None => badge("gone", Tone::Warn),
        },
        (true, Enforcement::NotEnforced) => badge("not enforced", Tone::Fail),
        (true, Enforcement::Holds) => badge("holds", Tone::Good),
        (true, Enforcement::Untested) => "not reached".into(),
    }
}
