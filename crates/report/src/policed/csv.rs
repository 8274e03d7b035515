//! One row for each tenant and each port in each period, units in the header names, absent values
//! empty.

use std::io::Write;

use nicety_model::policed::{Policed, PolicedPeriod};

use crate::document::csv::{self, number};
use crate::error::ReportError;

const HEADER: [&str; 10] = [
    "at_s",
    "tenant",
    "port",
    "rate_bps",
    "demand_bps",
    "hard_limit_bps",
    "soft_limit_bps",
    "limit_bps",
    "level_bps",
    "total_bps",
];

/// Writes a header and the rows, oldest first: the tenants of a period, whose `port` is empty, then
/// its ports. A port that was not there has no limit.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be written, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Policed, out: &mut impl Write) -> Result<(), ReportError> {
    let rows = run.periods.iter().flat_map(|period| rows(run, period));
    let header = HEADER.map(str::to_owned).to_vec();
    csv::records(out, header, rows.map(Vec::from))
}

fn rows(run: &Policed, period: &PolicedPeriod) -> Vec<[String; 10]> {
    let name = |tenant: usize| run.run.tenants.get(tenant).map(|t| t.name.clone());
    let row = |tenant: usize, port: &str, values: [Option<f64>; 5]| {
        let [rate, demand, hard, soft, limit] = values.map(number);
        [
            period.at_s.to_string(),
            name(tenant).unwrap_or_default(),
            port.to_owned(),
            rate,
            demand,
            hard,
            soft,
            limit,
            number(period.level_bps),
            number(Some(period.total_bps)),
        ]
    };
    let tenants = period.tenants.iter().enumerate().map(|(tenant, of)| {
        let (rate, hard, limit) = (of.rate_bps, of.hard_bps, of.limit_bps);
        row(
            tenant,
            "",
            [
                Some(rate),
                of.demand_bps,
                Some(hard),
                of.soft_bps,
                Some(limit),
            ],
        )
    });
    let ports = run.run.ports.iter().zip(&period.ports).map(|(port, of)| {
        let limit = Some(of.limit_bps).filter(|limit| of.present && *limit > 0.0);
        row(
            port.tenant,
            &port.name,
            [of.rate_bps, of.demand_bps, None, None, limit],
        )
    });
    tenants.chain(ports).collect()
}
