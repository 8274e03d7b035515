//! Metrics in the text format of OpenMetrics. What is not known has no sample; rates are in bytes
//! per second, the base unit of Prometheus.

pub mod plain;

use std::sync::atomic::AtomicU64;

use nicety_police::PortDecision;
use nicety_police::controller::Enforcement;
use nicety_police::totals::Total;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::board::Shown;

type Number = Gauge<f64, AtomicU64>;
/// Names and values.
type Labels = Vec<(&'static str, String)>;

/// All metrics of one period.
pub fn render(shown: &Shown) -> String {
    let mut page = Page(Registry::with_prefix("nicety_police"));
    daemon(shown, &mut page);
    tenants(shown, &mut page);
    ports(shown, &mut page);
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = encode(&mut text, &page.0);
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

/// Metrics in their order.
struct Page(Registry);

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        let gauge = Number::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    fn count(&mut self, name: &str, help: &str, value: u64) {
        let counter: Counter = Counter::default();
        counter.inc_by(value);
        self.0.register(name, help, counter);
    }

    /// One for each of several.
    fn gauges(&mut self, name: &str, help: &str, of: impl Iterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Number>::default();
        for (labels, value) in of {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help, family);
    }

    fn counts(&mut self, name: &str, help: &str, of: impl Iterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Counter>::default();
        for (labels, value) in of {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help, family);
    }
}

fn daemon(shown: &Shown, page: &mut Page) {
    let state = &shown.state;
    page.gauge(
        "period_seconds",
        "Time between two decisions that the policy asks for",
        state.period_s,
    );
    page.gauge(
        "period_busy_seconds",
        "What the last period took to sample, decide, write and read back",
        shown.busy.as_secs_f64(),
    );
    page.gauge(
        "period_age_seconds",
        "Time since the last period ended",
        shown.at.elapsed().as_secs_f64(),
    );
    page.gauge(
        "guarantees_scaled_ratio",
        "What guarantees were multiplied with; below 1 they do not fit",
        state.decision.guarantees_scaled,
    );
    page.gauge(
        "link_rate_bytes_per_second",
        "Sent by all ports together, with preamble and gap",
        state.decision.total_bps / 8.0,
    );
    if let Some(level) = state.decision.level_bps {
        page.gauge(
            "level_bytes_per_second",
            "What one unit of weight may send; absent when all demand fits",
            level / 8.0,
        );
    }
    let silences = shown.silences.iter();
    page.gauges(
        "kernel_silent_seconds",
        "For how long the kernel has not answered; 0 when it does",
        silences.map(|(asked, lasts)| (vec![("asked", label(asked))], lasts.as_secs_f64())),
    );
    page.count("periods", "Periods since the start", state.periods);
    page.count("limits_written", "Limits written", state.writes);
    page.count(
        "errors",
        "Limits that could not be written or noted on disk, periods that failed, times that the kernel did not answer",
        state.errors,
    );
}

fn tenants(shown: &Shown, page: &mut Page) {
    let decided = &shown.state.decision.tenants;
    let tenants = || shown.policy.tenants.iter().zip(decided);
    let of = |name: &str| vec![("tenant", label(name))];
    page.gauges(
        "tenant_rate_bytes_per_second",
        "Sent by the ports of a tenant, with preamble and gap",
        tenants().map(|(tenant, decided)| (of(&tenant.name), decided.rate_bps / 8.0)),
    );
    page.gauges(
        "tenant_demand_bytes_per_second",
        "What a tenant would send; absent when it is as much as it gets",
        tenants()
            .filter_map(|(tenant, decided)| Some((of(&tenant.name), decided.demand_bps? / 8.0))),
    );
    let limits = tenants().flat_map(|(tenant, decided)| {
        let kinds = [
            ("guarantee", Some(tenant.guarantee.bps())),
            ("hard", Some(decided.cap_bps)),
            ("soft", decided.soft_bps),
            ("effective", Some(decided.limit_bps)),
        ];
        kinds.into_iter().filter_map(|(kind, bps)| {
            let mut labels = of(&tenant.name);
            labels.push(("kind", kind.to_owned()));
            Some((labels, bps? / 8.0))
        })
    });
    page.gauges(
        "tenant_limit_bytes_per_second",
        "Guarantee; hard limit of the policy; soft limit of the guest; what it may send now",
        limits,
    );
}

fn ports(shown: &Shown, page: &mut Page) {
    let labels = |port: &PortDecision| {
        let tenant = shown.policy.tenants.get(port.tenant);
        let tenant = tenant.map_or_else(String::new, |tenant| label(&tenant.name));
        vec![("port", label(&port.port.to_string())), ("tenant", tenant)]
    };
    let ports = || shown.state.decision.ports.iter().zip(&shown.totals);
    let of = |number: fn(&PortDecision) -> Option<f64>| {
        ports().filter_map(move |(port, _)| Some((labels(port), number(port)?)))
    };
    let one = |yes: bool| f64::from(u8::from(yes));
    page.gauges(
        "port_rate_bytes_per_second",
        "Sent by the owner of a port, with preamble and gap; absent when nobody counts",
        of(|port| Some(port.rate_bps? / 8.0)),
    );
    page.gauges(
        "port_limit_bytes_per_second",
        "What the owner of a port may send",
        of(|port| port.present.then(|| port.limit.bps() / 8.0)),
    );
    page.gauges(
        "port_present",
        "The port is there and can be limited",
        ports().map(|(port, _)| (labels(port), one(port.present))),
    );
    let there = ports().filter(|(port, _)| port.present);
    page.gauges(
        "port_limit_not_enforced",
        "The port sends more than its limit for several periods",
        there.map(|(port, _)| {
            let leaks = port.enforcement == Enforcement::NotEnforced;
            (labels(port), one(leaks))
        }),
    );
    let both = |sent: fn(&Total) -> u64, received: fn(&Total) -> u64| {
        ports().flat_map(move |(port, total)| {
            [("sent", sent(total)), ("received", received(total))].map(|(direction, count)| {
                let mut labels = labels(port);
                labels.push(("direction", direction.to_owned()));
                (labels, count)
            })
        })
    };
    page.counts(
        "port_bytes",
        "Bytes since the daemon started, seen from the owner of the port",
        both(|total| total.tx_bytes, |total| total.rx_bytes),
    );
    page.counts(
        "port_frames",
        "Frames since the daemon started, seen from the owner of the port",
        both(|total| total.tx_frames, |total| total.rx_frames),
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use nicety_model::SCHEMA;
    use nicety_police::report::{Reloads, State};
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
                host: None,
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
