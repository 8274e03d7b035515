//! One row for each tenant and each port in each period, units in the header names, absent values
//! empty.

use std::io::Write;

use nicety_model::policed::{Policed, PolicedPackets, PolicedPeriod};

use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;

/// Period, tenant and port; the rate, demand, hard, soft and whole limit; and of tenants the burst credit, what is received
/// with its limit, and packets sent and received with theirs.
type Row<'r> = (
    &'r PolicedPeriod,
    &'r str,
    &'r str,
    [Option<f64>; 5],
    [Option<f64>; 7],
);

fn columns<'r>() -> [Field<Row<'r>>; 17] {
    fields![|(period, tenant, port, rates, more)|
        "at_s": period.at_s;
        "tenant": tenant;
        "port": port;
        "rate_bps": rates[0];
        "demand_bps": rates[1];
        "hard_limit_bps": rates[2];
        "soft_limit_bps": rates[3];
        "limit_bps": rates[4];
        "level_bps": period.level_bps;
        "total_bps": period.total_bps;
        "credit_bits": more[0];
        "received_bps": more[1];
        "received_limit_bps": more[2];
        "pps": more[3];
        "limit_pps": more[4];
        "received_pps": more[5];
        "received_limit_pps": more[6];
    ]
}

/// Writes a header and the rows, oldest first: the tenants of a period, whose `port` is empty, then
/// its ports. A port that was not there has no limit.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be written, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Policed, out: &mut impl Write) -> Result<(), ReportError> {
    let rows = run.periods.iter().flat_map(|period| rows(run, period));
    csv::write(out, &columns(), rows)
}

fn rows<'r>(run: &'r Policed, period: &'r PolicedPeriod) -> impl Iterator<Item = Row<'r>> {
    let name = |tenant: usize| run.run.tenants.get(tenant).map_or("", |t| t.name.as_str());
    let tenants = period.tenants.iter().enumerate().map(move |(tenant, of)| {
        let (rate, hard, limit) = (of.rate_bps, of.hard_bps, of.limit_bps);
        let rates = [
            Some(rate),
            of.demand_bps,
            Some(hard),
            of.soft_bps,
            Some(limit),
        ];
        let packets =
            |of: Option<PolicedPackets>| [of.map(|of| of.rate_pps), of.map(|of| of.limit_pps)];
        let [pps, limit_pps] = packets(of.packets);
        let [received_pps, received_limit_pps] = packets(of.received.and_then(|of| of.packets));
        let more = [
            of.credit_bits,
            of.received.map(|of| of.rate_bps),
            of.received.map(|of| of.limit_bps),
            pps,
            limit_pps,
            received_pps,
            received_limit_pps,
        ];
        (period, name(tenant), "", rates, more)
    });
    let ports = run.run.ports.iter().zip(&period.ports);
    let ports = ports.map(move |(port, of)| {
        let limit = Some(of.limit_bps).filter(|limit| of.present && *limit > 0.0);
        let rates = [of.rate_bps, of.demand_bps, None, None, limit];
        (
            period,
            name(port.tenant),
            port.name.as_str(),
            rates,
            [None; 7],
        )
    });
    tenants.chain(ports)
}
