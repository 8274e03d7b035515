//! Socket workloads as CSV: one row per repeat, units in the header names, absent values empty.

use std::io::Write;

use nicety_model::Run;
use nicety_model::sock::SockResult;

use crate::document::csv::{self, Field, fields};
use crate::error::ReportError;
use crate::note;

fn columns<'r>() -> [Field<&'r SockResult>; 36] {
    fields![|r|
        "cell": &r.cell;
        "path": &r.path;
        "test": r.spec.test;
        "message_bytes": r.spec.message_bytes;
        "parallel": r.spec.parallel;
        "rate_per_s": r.spec.rate_per_s;
        "family": r.family;
        "neighbours": r.neighbours.map(|n| n.pairs);
        "neighbours_goodput_mbps": r.neighbours.map(|n| n.goodput_mbps);
        "repeat": r.repeat;
        "ending": r.ending.word();
        "elapsed_s": r.elapsed_s;
        "transactions_per_s": r.transactions_per_s;
        "goodput_mbps": r.goodput_mbps;
        "offered_mbps": r.offered_mbps;
        "latency_min_us": r.latency_us.map(|l| l.min);
        "latency_mean_us": r.latency_us.map(|l| l.mean);
        "latency_p50_us": r.latency_us.filter(|l| l.knows(0.5)).map(|l| l.p50);
        "latency_p90_us": r.latency_us.filter(|l| l.knows(0.1)).map(|l| l.p90);
        "latency_p99_us": r.latency_us.filter(|l| l.knows(0.01)).map(|l| l.p99);
        "latency_p999_us": r.latency_us.filter(|l| l.knows(0.001)).map(|l| l.p999);
        "latency_max_us": r.latency_us.map(|l| l.max);
        "loss_ratio": r.loss_ratio.map(|l| l.0);
        "duplicate": r.datagrams.and_then(|d| d.duplicate);
        "reordered": r.datagrams.and_then(|d| d.reordered);
        "client_us_per_transaction": r.service_demand.and_then(|d| d.client_us_per_transaction);
        "server_us_per_transaction": r.service_demand.and_then(|d| d.server_us_per_transaction);
        "client_us_per_kb": r.service_demand.and_then(|d| d.client_us_per_kb);
        "server_us_per_kb": r.service_demand.and_then(|d| d.server_us_per_kb);
        "shared_host": r.service_demand.map(|d| d.shared_host);
        "client_host_busy_cpus": r.client.cpu.map(|c| c.host_busy_cpus);
        "server_host_busy_cpus": r.server.as_ref().and_then(|s| s.cpu).map(|c| c.host_busy_cpus);
        "retransmits": r.client.tcp.as_ref().map(|tcp| tcp.last.retransmits);
        "tcp_efficiency_ratio": r.tcp_efficiency_ratio;
        "buffer_delay_ratio": r.buffer_delay_ratio;
        "notes": note::lines(&r.notes).join("; ");
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
