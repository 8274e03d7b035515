//! What the daemon tells Prometheus. What is not known has no sample; rates are in bytes per second,
//! the base unit there.

mod bursts;
mod packets;
mod received;

use nicety_police::controller::Enforcement;
use nicety_police::report::{ClusterPart, ClusterStands, NameSource};
use nicety_police::totals::Total;
use nicety_police::{PortDecision, PortName};
use nicety_report::metric::{Family, Label};

use crate::board::Shown;
use crate::drops::TenantDrops;

/// All metrics of one period, always the same ones in the same order.
pub fn families(shown: &Shown) -> Vec<Family> {
    let mut all = about(shown);
    all.extend(period(shown));
    all.extend(link(shown));
    all.extend(counts(shown));
    all.extend(tenants(shown));
    all.extend(shown.drops.iter().map(|of| drops(of)));
    all.extend(ports(shown));
    all.extend(port_limits(shown));
    all.extend(port_totals(shown));
    all.extend(shown.state.names.iter().flat_map(|of| names(shown, of)));
    let state = shown.state.received.iter();
    all.extend(state.flat_map(|state| received::families(shown, state)));
    all.extend(packets::families(shown));
    all.extend(bursts::families(shown));
    all.extend(shown.state.cluster.iter().flat_map(cluster));
    all
}

/// Only where the policy names a cluster.
fn cluster(state: &ClusterPart) -> Vec<Family> {
    let flag = |is: bool| one(f64::from(u8::from(is)));
    let kinds = state.tenants.iter().flat_map(|tenant| {
        [
            ("granted", tenant.max),
            ("guarantee", tenant.guarantee),
            ("safe", tenant.safe),
            ("total", tenant.total_max),
        ]
        .map(|(kind, rate)| {
            let labels = vec![("tenant", tenant.tenant.clone()), ("kind", kind.to_owned())];
            (labels, rate.bps() / 8.0)
        })
    });
    vec![
        Family::gauge(
            "nicety_police_cluster_granted",
            "1 while the leader's grant holds here, 0 while safe shares do.",
            flag(state.stands == ClusterStands::Granted),
        ),
        Family::gauge(
            "nicety_police_cluster_leads",
            "1 when this host leads the cluster, else 0.",
            flag(state.leads),
        ),
        Family::gauge(
            "nicety_police_cluster_guarded",
            "1 when a guard would lower the ports of a daemon that stands still, else 0.",
            flag(state.guarded),
        ),
        Family::gauge(
            "nicety_police_cluster_heard_age_seconds",
            "Time since the last renewal of the lease that etcd answered was sent; absent without a lease.",
            state.heard_s.map(|age| (Vec::new(), age)),
        ),
        Family::counter(
            "nicety_police_cluster_elections_total",
            "Times that this host was elected.",
            one(state.elections as f64),
        ),
        Family::counter(
            "nicety_police_cluster_reconnects_total",
            "Connections to etcd after the first.",
            one(state.reconnects as f64),
        ),
        Family::counter(
            "nicety_police_cluster_fallbacks_total",
            "Times that this host fell back to its safe shares.",
            one(state.fallbacks as f64),
        ),
        Family::gauge(
            "nicety_police_cluster_unreadable_keys",
            "Keys below the cluster's prefix that cannot be read.",
            one(state.unreadable as f64),
        ),
        Family::gauge(
            "nicety_police_cluster_tenant_bytes_per_second",
            "By kind: what this host was granted, what of it is guaranteed, its safe share, and the total of all hosts.",
            kinds.collect::<Vec<_>>(),
        ),
    ]
}

/// A number of the daemon as a whole.
fn one(value: f64) -> [(Vec<Label>, f64); 1] {
    [(Vec::new(), value)]
}

fn about(shown: &Shown) -> Vec<Family> {
    let labels = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("policy", shown.state.policy.clone()),
    ];
    vec![Family::gauge(
        "nicety_police_info",
        "Version and policy of the daemon in labels; the value is 1.",
        [(labels, 1.0)],
    )]
}

fn period(shown: &Shown) -> Vec<Family> {
    let silences = shown.silences.iter();
    vec![
        Family::gauge(
            "nicety_police_period_seconds",
            "Time between two decisions that the policy asks for.",
            one(shown.state.period_s),
        ),
        Family::gauge(
            "nicety_police_period_busy_seconds",
            "What the last period took to sample, decide, write and read back.",
            one(shown.busy.as_secs_f64()),
        ),
        Family::gauge(
            "nicety_police_period_age_seconds",
            "Time since the last period ended.",
            one(shown.at.elapsed().as_secs_f64()),
        ),
        Family::gauge(
            "nicety_police_kernel_silent_seconds",
            "How long the kernel has not answered; 0 when it does.",
            silences.map(|(asked, lasts)| (vec![("asked", asked.clone())], lasts.as_secs_f64())),
        ),
    ]
}

fn link(shown: &Shown) -> Vec<Family> {
    let state = &shown.state;
    let level = state.decision.level_bps;
    vec![
        Family::gauge(
            "nicety_police_link_capacity_bytes_per_second",
            "Capacity of the link as the policy states it, shared by all ports.",
            one(state.capacity_bps / 8.0),
        ),
        Family::gauge(
            "nicety_police_link_rate_bytes_per_second",
            "Sent by all ports together, with preamble and gap.",
            one(state.decision.total_bps / 8.0),
        ),
        Family::gauge(
            "nicety_police_level_bytes_per_second",
            "What one unit of weight may send; absent when the link is not full.",
            level.map(|bps| (Vec::new(), bps / 8.0)),
        ),
        Family::gauge(
            "nicety_police_guarantees_scaled_ratio",
            "Factor on all guarantees; below 1 the link cannot carry them.",
            one(state.decision.guarantees_scaled),
        ),
    ]
}

fn counts(shown: &Shown) -> Vec<Family> {
    let state = &shown.state;
    let reloads = [
        ("taken", state.reloads.taken),
        ("refused", state.reloads.refused),
    ];
    vec![
        Family::counter(
            "nicety_police_periods_total",
            "Periods since the start.",
            one(state.periods as f64),
        ),
        Family::counter(
            "nicety_police_limits_written_total",
            "Limits written since the start.",
            one(state.writes as f64),
        ),
        Family::counter(
            "nicety_police_errors_total",
            "Limits not written or not noted on disk, failed periods, and times without an answer of the kernel.",
            one(state.errors as f64),
        ),
        Family::counter(
            "nicety_police_reloads_total",
            "Policies taken and refused since the start.",
            reloads.map(|(result, count)| (vec![("result", result.to_owned())], count as f64)),
        ),
    ]
}

fn tenants(shown: &Shown) -> Vec<Family> {
    let decided = &shown.state.decision.tenants;
    let tenants = || shown.policy.tenants.iter().zip(decided);
    let of = |name: &str| vec![("tenant", name.to_owned())];
    let limits = tenants().flat_map(|(tenant, decided)| {
        let kinds = [
            ("guarantee", Some(tenant.guarantee.bps())),
            ("hard", Some(decided.cap_bps)),
            ("soft", decided.soft_bps),
            ("effective", Some(decided.limit_bps)),
        ];
        kinds.into_iter().filter_map(move |(kind, bps)| {
            let mut labels = of(&tenant.name);
            labels.push(("kind", kind.to_owned()));
            Some((labels, bps? / 8.0))
        })
    });
    vec![
        Family::gauge(
            "nicety_police_tenant_weight",
            "Share of what is not guaranteed that the policy gives a tenant, relative to the others'.",
            tenants().map(|(tenant, _)| (of(&tenant.name), tenant.weight)),
        ),
        Family::gauge(
            "nicety_police_tenant_rate_bytes_per_second",
            "Sent by the ports of a tenant, with preamble and gap.",
            tenants().map(|(tenant, decided)| (of(&tenant.name), decided.rate_bps / 8.0)),
        ),
        Family::gauge(
            "nicety_police_tenant_demand_bytes_per_second",
            "What a tenant would send; absent when it uses all it gets.",
            tenants().filter_map(|(tenant, decided)| {
                Some((of(&tenant.name), decided.demand_bps? / 8.0))
            }),
        ),
        Family::gauge(
            "nicety_police_tenant_limit_bytes_per_second",
            "By kind: guarantee and hard limit of the policy, soft limit of the guest, effective limit now.",
            limits,
        ),
    ]
}

/// Only where the policy wants it, and the kernel lets it.
fn drops(all: &[TenantDrops]) -> Family {
    let sample = |of: &TenantDrops| {
        let labels = vec![
            ("tenant", of.tenant.clone()),
            ("direction", of.direction().to_owned()),
            ("reason", of.reason.clone()),
        ];
        (labels, of.packets as f64)
    };
    Family::counter(
        "nicety_police_tenant_dropped_packets_total",
        "Packets of a tenant that the kernel dropped, by its reason, since they are counted.",
        all.iter().map(sample),
    )
}

/// Name of a port and its tenant.
fn port_labels(shown: &Shown, port: &PortDecision) -> Vec<Label> {
    let tenant = shown.policy.tenants.get(port.tenant);
    let tenant = tenant.map_or_else(String::new, |tenant| tenant.name.clone());
    vec![("port", port.port.to_string()), ("tenant", tenant)]
}

fn ports(shown: &Shown) -> Vec<Family> {
    let ports = || shown.state.decision.ports.iter();
    let of = |number: fn(&PortDecision) -> Option<f64>| {
        ports().filter_map(move |port| Some((port_labels(shown, port), number(port)?)))
    };
    vec![
        Family::gauge(
            "nicety_police_port_rate_bytes_per_second",
            "Sent by the owner of a port, with preamble and gap; absent when nobody counts.",
            of(|port| Some(port.rate_bps? / 8.0)),
        ),
        Family::gauge(
            "nicety_police_port_limit_bytes_per_second",
            "What the owner of a port may send.",
            of(|port| port.present.then(|| port.limit.bps() / 8.0)),
        ),
        Family::gauge(
            "nicety_police_port_present",
            "1 when the port is there and can be limited, else 0; absent while its name does not resolve.",
            of(|port| {
                let named = matches!(&*port.port, PortName::Named(_));
                let there = port.interface.is_some() || !named;
                there.then(|| f64::from(u8::from(port.present)))
            }),
        ),
        Family::gauge(
            "nicety_police_port_limit_not_enforced",
            "1 when the port has sent more than its limit for several periods, else 0.",
            of(|port| {
                let leaks = port.enforcement == Enforcement::NotEnforced;
                port.present.then(|| f64::from(u8::from(leaks)))
            }),
        ),
    ]
}

/// Only where the policy has names.
fn names(shown: &Shown, sources: &[NameSource]) -> Vec<Family> {
    let is = shown.state.decision.ports.iter().filter_map(|port| {
        let mut labels = port_labels(shown, port);
        labels.push(("interface", port.interface.clone()?));
        Some((labels, 1.0))
    });
    let heard = sources
        .iter()
        .filter_map(|of| Some((vec![("source", of.source.clone())], of.heard_s?)));
    vec![
        Family::gauge(
            "nicety_police_port_interface",
            "Interface or function that a name in the policy is now, in labels; the value is 1.",
            is.collect::<Vec<_>>(),
        ),
        Family::gauge(
            "nicety_police_names_heard_age_seconds",
            "Time since those who know names of ports have told them; absent before the first answer.",
            heard.collect::<Vec<_>>(),
        ),
    ]
}

fn port_limits(shown: &Shown) -> Vec<Family> {
    let ports = || shown.state.decision.ports.iter().zip(&shown.limits);
    vec![
        Family::gauge(
            "nicety_police_port_unlimited",
            "1 when the port is there and cannot be limited now, else 0.",
            ports().map(|(port, limit)| {
                let unlimited = f64::from(u8::from(limit.unlimited));
                (port_labels(shown, port), unlimited)
            }),
        ),
        Family::counter(
            "nicety_police_port_limit_lost_total",
            "Times that the limit of a port was found gone or changed by somebody else.",
            ports().map(|(port, limit)| (port_labels(shown, port), limit.lost as f64)),
        ),
    ]
}

fn port_totals(shown: &Shown) -> Vec<Family> {
    let both = |sent: fn(&Total) -> u64, received: fn(&Total) -> u64| {
        let ports = shown.state.decision.ports.iter().zip(&shown.totals);
        ports.flat_map(move |(port, total)| {
            [("sent", sent(total)), ("received", received(total))].map(|(direction, count)| {
                let mut labels = port_labels(shown, port);
                labels.push(("direction", direction.to_owned()));
                (labels, count as f64)
            })
        })
    };
    vec![
        Family::counter(
            "nicety_police_port_bytes_total",
            "Bytes since the daemon started, seen from the owner of the port.",
            both(|total| total.tx_bytes, |total| total.rx_bytes),
        ),
        Family::counter(
            "nicety_police_port_frames_total",
            "Frames since the daemon started, seen from the owner of the port.",
            both(|total| total.tx_frames, |total| total.rx_frames),
        ),
    ]
}
