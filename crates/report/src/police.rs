//! What the police daemon sees and does, for a terminal.

use nicety_police::controller::{Enforcement, PortDecision};
use nicety_police::explain::{Explanation, readable};
use nicety_police::report::State;

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
