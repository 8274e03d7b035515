//! What the police daemon sees and does, for a terminal.

use nicety_model::BitRate;
use nicety_police::cluster::status::{ClusterState, Holding};
use nicety_police::controller::{Enforcement, PortDecision};
use nicety_police::explain::{Burst, Explanation, readable};
use nicety_police::report::{ClusterPart, ClusterStands, NameSource, PacketsState, State};

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
        plural(state.periods, "period"),
        plural(state.writes, "limit"),
        plural(state.errors, "error"),
    ));
    if let Some(cluster) = &state.cluster {
        page.line(&cluster_line(cluster));
    }
    let soft = |bps: Option<f64>| bps.map_or_else(no_limit, Cell::rate);
    let guarantee = |bps: u64| match bps {
        0 => Cell::word("none", "0"),
        bps => Cell::rate(bps as f64),
    };
    let demand = |tenant: &Explanation| match (tenant.is_idle(), tenant.demand_bps) {
        (true, _) => Cell::absent(),
        (false, Some(bps)) => Cell::rate(bps),
        (false, None) => more(),
    };
    let credit = |burst: Option<&Burst>| Cell::sorted(burst.map(|burst| burst.lasts_s), lasting);
    let full = |burst: Option<&Burst>| Cell::sorted(burst.map(|burst| burst.full_s), lasting);
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
            // Only where the policy gives any.
            "burst credit" Number: credit(tenant.burst.as_ref()).exact_unit("s");
            "full credit" Number: full(tenant.burst.as_ref()).exact_unit("s");
        ],
    );
    packets(&mut page, "packets sent", state.packets.as_ref());
    if let Some(received) = &state.received {
        page.rows(
            "what tenants receive",
            received.tenants.iter().zip(&received.hard_bps),
            columns![|(tenant, hard)|
                "name" Name: &tenant.tenant;
                "guarantee" Number: guarantee(tenant.guarantee.0);
                "hard" Number: Cell::rate(**hard);
                "receives" Number: Cell::rate(tenant.rate_bps);
                "wants" Number: demand(tenant);
                "may receive" Number: Cell::rate(tenant.limit_bps);
                "burst credit" Number: credit(tenant.burst.as_ref()).exact_unit("s");
            "full credit" Number: full(tenant.burst.as_ref()).exact_unit("s");
            ],
        );
        packets(&mut page, "packets received", received.packets.as_ref());
    }
    for source in state.names.iter().flatten() {
        page.line(&names_line(source));
    }
    page.rows(
        "ports",
        &decision.ports,
        columns![|port|
            "port" Name: port.port.to_string();
            // Only of ports with a name.
            "is" Text: port.interface.as_deref();
            "tenant" Text: state.tenants.get(port.tenant).map(|owner| &owner.tenant);
            "sends" Number: Cell::rate(port.rate_bps);
            "limit" Number: limit(port);
            "limit is" Text: holds(port);
        ],
    );
    received_ports(&mut page, state);
    page
}

/// How long a burst may last.
fn lasting(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

/// Where nobody set a limit.
fn no_limit() -> Cell {
    Cell::word("none", "")
}

/// More than there is: without end, for programs.
fn more() -> Cell {
    Cell::word(Cell::badge(Badge::new("more", Tone::Warn)), "inf")
}

/// Tenants whose packets are limited, in one direction.
fn packets(page: &mut Page, name: &str, state: Option<&PacketsState>) {
    let Some(state) = state else {
        return;
    };
    page.rows(
        name,
        &state.tenants,
        columns![|tenant|
            "name" Name: &tenant.tenant;
            "max packets/s" Number: tenant.max_pps.map_or_else(no_limit, |most| most.to_string().into());
            "packets/s" Number: format!("{:.0}", tenant.rate_pps);
            "may be" Number: Cell::from(format!("{:.0}", tenant.limit_pps)).exact_unit("packets/s");
        ],
    );
}

/// The limit of a port. One that waits for the kernel's answer has the limit it had.
fn limit(port: &PortDecision) -> Option<Cell> {
    (port.present || port.limit.0 > 0).then(|| Cell::rate(port.limit.0 as f64))
}

/// The ports whose owners' receiving is limited.
fn received_ports(page: &mut Page, state: &State) {
    let Some(received) = &state.received else {
        return;
    };
    page.rows(
        "what ports receive",
        &received.decision.ports,
        columns![|port|
            "port" Name: port.port.to_string();
            "tenant" Text: state.tenants.get(port.tenant).map(|owner| &owner.tenant);
            "receives" Number: Cell::rate(port.rate_bps);
            "limit" Number: limit(port);
            "limit is" Text: holds(port);
        ],
    );
}

/// How somebody does who knows names of ports.
fn names_line(source: &NameSource) -> String {
    let name = &source.source;
    let age = |heard: f64| format!("{heard:.0} s ago");
    match (&source.trouble, source.heard_s.map(age)) {
        (None, Some(age)) => format!("names of {name}: told {age}"),
        (None, None) => format!("names of {name}: not told yet"),
        (Some(why), Some(age)) => {
            format!("names of {name}: {why}; ports are as they were told {age}")
        }
        (Some(why), None) => format!("names of {name}: {why}"),
    }
}

/// Where a host's limits of tenants with a total come from.
fn cluster_line(cluster: &ClusterPart) -> String {
    let stands = match cluster.stands {
        ClusterStands::Granted => "the leader's grant holds",
        ClusterStands::Waiting => "safe shares hold, the first grant is to come",
        ClusterStands::Alone => "safe shares hold, etcd is not heard",
    };
    let leads = if cluster.leads { ", leads" } else { "" };
    let trouble = cluster
        .trouble
        .as_ref()
        .map(|trouble| format!("; {trouble}"));
    let (host, prefix) = (&cluster.host, &cluster.prefix);
    format!(
        "{host} in cluster {prefix}{leads}: {stands}{}",
        trouble.unwrap_or_default()
    )
}

/// What a tenant has on this host of a cluster, and why; none for one without a total.
pub fn cluster_share(cluster: &ClusterPart, tenant: &str) -> Option<String> {
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

/// Every tenant of a cluster and what each host holds of it.
pub fn cluster(state: &ClusterState, prefix: &str) -> Page {
    let mut page = Page::default();
    let leader = match &state.leader {
        Some(host) => format!("{host} leads"),
        None => "nobody leads".to_owned(),
    };
    page.line(&format!("cluster {prefix}: {leader}"));
    if let Some(key) = state.unreadable.keys().next() {
        let keys = plural(state.unreadable.len(), "key");
        page.line(&format!(
            "{keys} cannot be read, as {key}; remove them with etcdctl del"
        ));
    }
    let rate = |rate: Option<BitRate>| match rate {
        Some(rate) => Cell::rate(rate.0 as f64),
        None => Cell::absent(),
    };
    page.rows(
        "tenants",
        &state.tenants,
        columns![|tenant|
            "tenant" Name: &tenant.tenant;
            "total" Number: rate(tenant.max);
            "guarantee" Number: rate(tenant.guarantee);
            "held" Number: rate(Some(tenant.held));
            "sends" Number: rate(Some(tenant.used));
        ],
    );
    let tenants = state.tenants.iter();
    let rows = tenants.flat_map(|tenant| tenant.hosts.iter().map(move |host| (tenant, host)));
    page.rows(
        "hosts",
        rows,
        columns![|(tenant, host)|
            "tenant" Name: &tenant.tenant;
            "host" Name: &host.host;
            "sends" Number: rate(host.used);
            "wants" Number: wants(host);
            "granted" Number: rate(Some(host.grant));
            "held" Number: rate(Some(host.held));
            "safe" Number: rate(Some(host.safe));
            "why" Text: host.to_string();
        ],
    );
    page
}

fn wants(host: &Holding) -> Cell {
    match (host.used, host.demand) {
        (None, _) => Cell::absent(),
        (Some(_), Some(demand)) => Cell::rate(demand.0 as f64),
        (Some(_), None) => more(),
    }
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

#[cfg(test)]
mod tests;
