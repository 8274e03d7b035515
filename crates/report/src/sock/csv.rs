//! Socket workloads as CSV: one row per repeat, units in the header names, absent values empty.

use std::io::Write;

use nicety_model::Run;
use nicety_model::sock::{Family, SockResult};

use crate::document::csv::{self, Field, number, text};
use crate::error::ReportError;
use crate::note;

fn columns<'r>() -> [Field<&'r SockResult>; 36] {
    [
        ("cell", |r| r.cell.clone()),
        ("path", |r| r.path.clone()),
        ("test", |r| r.spec.test.to_string()),
        ("message_bytes", |r| r.spec.message_bytes.to_string()),
        ("parallel", |r| r.spec.parallel.to_string()),
        ("rate_per_s", |r| number(r.spec.rate_per_s)),
        ("family", |r| match r.family {
            Family::Ipv4 => "ipv4".to_owned(),
            Family::Ipv6 => "ipv6".to_owned(),
        }),
        ("neighbours", |r| text(r.neighbours.map(|n| n.pairs))),
        ("neighbours_goodput_mbps", |r| {
            number(r.neighbours.map(|n| n.goodput_mbps))
        }),
        ("repeat", |r| r.repeat.to_string()),
        ("ending", |r| r.ending.word().to_owned()),
        ("elapsed_s", |r| number(Some(r.elapsed_s))),
        ("transactions_per_s", |r| number(r.transactions_per_s)),
        ("goodput_mbps", |r| number(r.goodput_mbps)),
        ("offered_mbps", |r| number(r.offered_mbps)),
        ("latency_min_us", |r| number(r.latency_us.map(|l| l.min))),
        ("latency_mean_us", |r| number(r.latency_us.map(|l| l.mean))),
        ("latency_p50_us", |r| number(r.latency_us.map(|l| l.p50))),
        ("latency_p90_us", |r| number(r.latency_us.map(|l| l.p90))),
        ("latency_p99_us", |r| number(r.latency_us.map(|l| l.p99))),
        ("latency_p999_us", |r| number(r.latency_us.map(|l| l.p999))),
        ("latency_max_us", |r| number(r.latency_us.map(|l| l.max))),
        ("loss_ratio", |r| number(r.loss_ratio.map(|l| l.0))),
        ("duplicate", |r| text(r.datagrams.and_then(|d| d.duplicate))),
        ("reordered", |r| text(r.datagrams.and_then(|d| d.reordered))),
        ("client_us_per_transaction", |r| {
            number(r.service_demand.and_then(|d| d.client_us_per_transaction))
        }),
        ("server_us_per_transaction", |r| {
            number(r.service_demand.and_then(|d| d.server_us_per_transaction))
        }),
        ("client_us_per_kb", |r| {
            number(r.service_demand.and_then(|d| d.client_us_per_kb))
        }),
        ("server_us_per_kb", |r| {
            number(r.service_demand.and_then(|d| d.server_us_per_kb))
        }),
        ("shared_host", |r| {
            text(r.service_demand.map(|d| d.shared_host))
        }),
        ("client_host_busy_cpus", |r| {
            number(r.client.cpu.map(|c| c.host_busy_cpus))
        }),
        ("server_host_busy_cpus", |r| {
            number(
                r.server
                    .as_ref()
                    .and_then(|s| s.cpu)
                    .map(|c| c.host_busy_cpus),
            )
        }),
        ("retransmits", |r| {
            text(r.client.tcp.as_ref().map(|tcp| tcp.last.retransmits))
        }),
        ("tcp_efficiency_ratio", |r| number(r.tcp_efficiency_ratio)),
        ("buffer_delay_ratio", |r| number(r.buffer_delay_ratio)),
        ("notes", |r| note::lines(&r.notes).join("; ")),
    ]
}

/// Writes a header and a row per result of the run's socket workloads, saturation steps among
/// them.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer
/// fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    csv::write(
        out,
        &columns(),
        run.sockets.iter().flat_map(|series| &series.results),
    )
}
