//! What the police daemon sees and does, for a terminal.

use nicety_police::controller::{Enforcement, PortDecision};
use nicety_police::explain::{Explanation, readable};
use nicety_police::report::State;

use crate::document::columns;
use crate::number::{ABSENT, plural};
use crate::page::Page;

/// Everybody who shares the link, and the ports.
pub fn status(state: &State, width: u16) -> String {
    let decision = &state.decision;
    let mut page = Page::new(width);
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
    let soft = |bps: Option<f64>| bps.map_or("none".to_owned(), readable);
    let demand = |tenant: &Explanation| match (tenant.is_idle(), tenant.demand_bps) {
        (true, _) => ABSENT.to_owned(),
        (false, Some(bps)) => readable(bps),
        (false, None) => "more".to_owned(),
    };
    page.rows(
        "tenants",
        state.tenants.iter().zip(&decision.tenants),
        columns![|(tenant, decided)|
            "name" Name: &tenant.tenant;
            "weight" Number: tenant.weight.to_string();
            "guarantee" Number: tenant.guarantee.to_string();
            "hard" Number: readable(decided.cap_bps);
            "soft" Number: soft(decided.soft_bps);
            "sends" Number: readable(tenant.rate_bps);
            "wants" Number: demand(tenant);
            "may send" Number: readable(tenant.limit_bps);
        ],
    );
    page.rows(
        "ports",
        &decision.ports,
        columns![|port|
            "port" Name: port.port.to_string();
            "tenant" Text: state.tenants.get(port.tenant).map(|owner| &owner.tenant);
            "sends" Number: port.rate_bps.map(readable);
            // One that waits for the kernel's answer has the limit it had.
            "limit" Number: (port.present || port.limit.0 > 0).then(|| port.limit.to_string());
            "limit is" Text: holds(port);
        ],
    );
    page.into_text()
}

fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn holds(port: &PortDecision) -> String {
    match (port.present, port.enforcement) {
        (false, _) => match &port.waits {
            Some(why) => format!("waits: {why}"),
            None => "gone".to_owned(),
        },
        (true, Enforcement::NotEnforced) => "not enforced".to_owned(),
        (true, Enforcement::Holds) => "holds".to_owned(),
        (true, Enforcement::Untested) => "not reached".to_owned(),
    }
}
