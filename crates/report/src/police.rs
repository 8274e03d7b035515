//! What the police daemon sees and does, for a terminal.

use nicety_police::controller::Enforcement;
use nicety_police::explain::readable;
use nicety_police::report::State;

use crate::page::Page;

/// Everybody who shares the link, and the ports.
pub fn status(state: &State, width: u16) -> String {
    let decision = &state.decision;
    let mut page = Page::new(width);
    let level = match decision.level_bps {
        Some(level) => format!("level {} for each unit of weight", readable(level)),
        None => "all demand fits".to_owned(),
    };
    page.line(&format!(
        "{}, process {}, every {} s: {} sent, {level}",
        state.policy,
        state.pid,
        state.period_s,
        readable(decision.total_bps)
    ));
    page.line(&format!(
        "{} periods, {} limits written, {} errors",
        state.periods, state.writes, state.errors
    ));
    let demand = |bps: Option<f64>| bps.map_or("more".to_owned(), readable);
    let rows: Vec<Vec<String>> = (state.tenants.iter().zip(&decision.tenants))
        .map(|(tenant, decided)| {
            vec![
                tenant.tenant.clone(),
                tenant.weight.to_string(),
                tenant.guarantee.to_string(),
                readable(decided.cap_bps),
                decided.soft_bps.map_or("none".to_owned(), readable),
                readable(tenant.rate_bps),
                demand(tenant.demand_bps),
                readable(tenant.limit_bps),
            ]
        })
        .collect();
    let columns = [
        "name",
        "weight",
        "guarantee",
        "hard",
        "soft",
        "sends",
        "wants",
        "may send",
    ];
    page.table("tenants", &columns, &rows);
    let rows: Vec<Vec<String>> = (decision.ports.iter())
        .map(|port| {
            let owner = state.tenants.get(port.tenant);
            let holds = match (port.present, port.enforcement) {
                (false, _) => match &port.waits {
                    Some(why) => format!("waits: {why}"),
                    None => "gone".to_owned(),
                },
                (true, Enforcement::NotEnforced) => "not enforced".to_owned(),
                (true, Enforcement::Holds) => "holds".to_owned(),
                (true, Enforcement::Untested) => "not reached".to_owned(),
            };
            // One that waits for the kernel's answer has the limit it had.
            let limit = match port.present || port.limit.0 > 0 {
                true => port.limit.to_string(),
                false => String::new(),
            };
            vec![
                port.port.to_string(),
                owner.map_or(String::new(), |owner| owner.tenant.clone()),
                port.rate_bps.map_or(String::new(), readable),
                limit,
                holds,
            ]
        })
        .collect();
    page.table(
        "ports",
        &["port", "tenant", "sends", "limit", "limit is"],
        &rows,
    );
    page.into_text()
}
