//! Metrics in the text format of OpenMetrics. What is not known has no sample; rates are in bytes
//! per second, the base unit of Prometheus.

pub mod plain;

use std::sync::atomic::AtomicU64;

use nicety_police::controller::Enforcement;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::board::Shown;

type Number = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Port {
    port: String,
    tenant: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Way {
    port: String,
    tenant: String,
    direction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tenant {
    tenant: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Silent {
    asked: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Limit {
    tenant: String,
    kind: &'static str,
}

/// All metrics of one period.
pub fn render(shown: &Shown) -> String {
    let mut registry = Registry::with_prefix("nicety_police");
    daemon(shown, &mut registry);
    tenants(shown, &mut registry);
    ports(shown, &mut registry);
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// A name as the value of a label, which the encoder writes as it is: `\`, `"` and line ends are
/// escaped (OpenMetrics 1.0, "Escaping").
fn label(name: &str) -> String {
    let mut value = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\\' => value += r"\\",
            '"' => value += "\\\"",
            '\n' => value += r"\n",
            c => value.push(c),
        }
    }
    value
}

fn daemon(shown: &Shown, registry: &mut Registry) {
    let state = &shown.state;
    let mut gauge = |name: &str, help: &str, value: f64| {
        let gauge = Number::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    gauge(
        "period_seconds",
        "Time between two decisions that the policy asks for",
        state.period_s,
    );
    gauge(
        "period_busy_seconds",
        "What the last period took to sample, decide, write and read back",
        shown.busy.as_secs_f64(),
    );
    gauge(
        "period_age_seconds",
        "Time since the last period ended",
        shown.at.elapsed().as_secs_f64(),
    );
    gauge(
        "guarantees_scaled_ratio",
        "What guarantees were multiplied with; below 1 they do not fit",
        state.decision.guarantees_scaled,
    );
    gauge(
        "link_rate_bytes_per_second",
        "Sent by all ports together, with preamble and gap",
        state.decision.total_bps / 8.0,
    );
    if let Some(level) = state.decision.level_bps {
        gauge(
            "level_bytes_per_second",
            "What one unit of weight may send; absent when all demand fits",
            level / 8.0,
        );
    }
    let silent = Family::<Silent, Number>::default();
    for (asked, lasts) in &shown.silences {
        let asked = label(asked);
        let silent = silent.get_or_create(&Silent { asked });
        silent.set(lasts.as_secs_f64());
    }
    registry.register(
        "kernel_silent_seconds",
        "For how long the kernel has not answered; 0 when it does",
        silent,
    );
    let mut count = |name: &str, help: &str, value: u64| {
        let counter: Counter = Counter::default();
        counter.inc_by(value);
        registry.register(name, help, counter);
    };
    count("periods", "Periods since the start", state.periods);
    count("limits_written", "Limits written", state.writes);
    count(
        "errors",
        "Limits that could not be written or noted on disk, periods that failed, times that the kernel did not answer",
        state.errors,
    );
}

fn tenants(shown: &Shown, registry: &mut Registry) {
    let rate = Family::<Tenant, Number>::default();
    let demand = Family::<Tenant, Number>::default();
    let limit = Family::<Limit, Number>::default();
    let state = &shown.state;
    for (tenant, decided) in shown.policy.tenants.iter().zip(&state.decision.tenants) {
        let name = label(&tenant.name);
        let of = Tenant {
            tenant: name.clone(),
        };
        rate.get_or_create(&of).set(decided.rate_bps / 8.0);
        if let Some(bps) = decided.demand_bps {
            demand.get_or_create(&of).set(bps / 8.0);
        }
        let kinds = [
            ("guarantee", Some(tenant.guarantee.bps())),
            ("hard", Some(decided.cap_bps)),
            ("soft", decided.soft_bps),
            ("effective", Some(decided.limit_bps)),
        ];
        for (kind, bps) in kinds {
            let Some(bps) = bps else { continue };
            let tenant = name.clone();
            limit.get_or_create(&Limit { tenant, kind }).set(bps / 8.0);
        }
    }
    registry.register(
        "tenant_rate_bytes_per_second",
        "Sent by the ports of a tenant, with preamble and gap",
        rate,
    );
    registry.register(
        "tenant_demand_bytes_per_second",
        "What a tenant would send; absent when it is as much as it gets",
        demand,
    );
    registry.register(
        "tenant_limit_bytes_per_second",
        "Guarantee; hard limit of the policy; soft limit of the guest; what it may send now",
        limit,
    );
}

fn ports(shown: &Shown, registry: &mut Registry) {
    let rate = Family::<Port, Number>::default();
    let limit = Family::<Port, Number>::default();
    let present = Family::<Port, Number>::default();
    let leaks = Family::<Port, Number>::default();
    let bytes = Family::<Way, Counter>::default();
    let frames = Family::<Way, Counter>::default();
    let state = &shown.state;
    for (port, total) in state.decision.ports.iter().zip(&shown.totals) {
        let tenant = shown.policy.tenants.get(port.tenant);
        let tenant = tenant.map_or_else(String::new, |tenant| label(&tenant.name));
        let name = label(&port.port.to_string());
        let of = Port {
            port: name.clone(),
            tenant: tenant.clone(),
        };
        let one = |yes: bool| f64::from(u8::from(yes));
        present.get_or_create(&of).set(one(port.present));
        if port.present {
            limit.get_or_create(&of).set(port.limit.bps() / 8.0);
            let leak = port.enforcement == Enforcement::NotEnforced;
            leaks.get_or_create(&of).set(one(leak));
        }
        if let Some(bps) = port.rate_bps {
            rate.get_or_create(&of).set(bps / 8.0);
        }
        let ways = [
            ("sent", total.tx_bytes, total.tx_frames),
            ("received", total.rx_bytes, total.rx_frames),
        ];
        for (direction, byte, frame) in ways {
            let way = Way {
                port: name.clone(),
                tenant: tenant.clone(),
                direction,
            };
            bytes.get_or_create(&way).inc_by(byte);
            frames.get_or_create(&way).inc_by(frame);
        }
    }
    registry.register(
        "port_rate_bytes_per_second",
        "Sent by the owner of a port, with preamble and gap; absent when nobody counts",
        rate,
    );
    registry.register(
        "port_limit_bytes_per_second",
        "What the owner of a port may send",
        limit,
    );
    registry.register(
        "port_present",
        "The port is there and can be limited",
        present,
    );
    registry.register(
        "port_limit_not_enforced",
        "The port sends more than its limit for several periods",
        leaks,
    );
    registry.register(
        "port_bytes",
        "Bytes since the daemon started, seen from the owner of the port",
        bytes,
    );
    registry.register(
        "port_frames",
        "Frames since the daemon started, seen from the owner of the port",
        frames,
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use nicety_model::SCHEMA;
    use nicety_police::report::{Reloads, State};
    use nicety_police::totals::Total;
    use nicety_police::{Controller, Policy, Seen, Tuning};

    use super::*;

    #[test]
    fn names_are_escaped() {
        let policy = "[link]\ncapacity = \"1gbit\"\n\
            [[tenant]]\nname = 'a\"b\\c{d}'\nports = ['v\"a']\n";
        let policy = Policy::parse("p.toml", policy).unwrap();
        let decision =
            Controller::new(policy.clone(), &[], Tuning::default()).step(&[Seen::default()]);
        let shown = Shown {
            state: State {
                schema: SCHEMA,
                pid: 1,
                born_ticks: 0,
                netns: 1,
                policy: "p.toml".to_owned(),
                period_s: 1.0,
                capacity_bps: 1e9,
                periods: 1,
                written_s: 0.0,
                writes: 0,
                errors: 0,
                reloads: Reloads::default(),
                tenants: Vec::new(),
                decision,
            },
            policy: Arc::new(policy),
            totals: vec![Total::default()],
            silences: Vec::new(),
            busy: Duration::ZERO,
            at: Instant::now(),
        };
        let text = render(&shown);
        let line = "nicety_police_port_present{port=\"v\\\"a\",tenant=\"a\\\"b\\\\c{d}\"} 0.0\n";
        assert!(text.contains(line), "no {line} in\n{text}");
        let line = "nicety_police_tenant_rate_bytes_per_second{tenant=\"a\\\"b\\\\c{d}\"} 0.0\n";
        assert!(text.contains(line), "no {line} in\n{text}");
        assert_eq!(label("two\nlines"), "two\\nlines");
    }
}
