//! Latency by the NICs' stamps beside that by the kernel's.

use maud::{Markup, html};
use nicety_model::{HardwareLatency, LatencySummary};

use super::latency::share;
use super::parts;
use crate::number;
use crate::pick::Group;

/// A table with a row per cell and load share; nothing where no NIC stamped anything.
pub fn table(groups: &[Group<'_>]) -> Markup {
    let rows: Vec<Markup> = groups
        .iter()
        .flat_map(|group| {
            group
                .shown
                .hardware_latency
                .iter()
                .map(move |h| row(group, h))
        })
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let listed = parts::long_table(
        "One-way latency in µs of probes beside the load, stamped by the NICs of both ports, and of \
         every frame by the kernel's clock",
        &html! {
            tr {
                th scope="col" { "cell" }
                th.num scope="col" { "load" }
                th.num scope="col" { "NICs p50" }
                th.num scope="col" { "NICs p99" }
                th.num scope="col" { "NICs max" }
                th.num scope="col" { "kernel p50" }
                th.num scope="col" { "kernel p99" }
                th.num scope="col" { "probes" }
                th.num scope="col" { "stamped" }
                th.num scope="col" { "share of load" }
                th scope="col" { "stamps" }
            }
        },
        &rows.iter().take(parts::ROWS).cloned().collect::<Vec<_>>(),
    );
    html! { (listed) (parts::cut_off(rows.len())) }
}

fn row(group: &Group<'_>, hardware: &HardwareLatency) -> Markup {
    let nic = hardware.latency_us.as_ref();
    let ratio = nic.and_then(|l| l.load_ratio);
    let all = &group.shown.latency_by_load_us;
    let kernel = all
        .iter()
        .find(|l| ratio.is_some() && l.load_ratio == ratio);
    let value = |latency: Option<&LatencySummary>, of: fn(&LatencySummary) -> f64| {
        let value = latency.map(of);
        html! {
            td.num data-v=[value.map(parts::sorted_by)] {
                (value.map_or_else(|| "–".to_owned(), number::micros))
            }
        }
    };
    html! {
        tr {
            th scope="row" { (group.name) }
            td.num data-v=[ratio] { (nic.map_or_else(|| "–".to_owned(), share)) }
            (value(nic, |l| l.p50))
            (value(nic, |l| l.p99))
            (value(nic, |l| l.max))
            (value(kernel, |l| l.p50))
            (value(kernel, |l| l.p99))
            td.num data-v=(hardware.probes.sent) { (number::count(hardware.probes.sent)) }
            td.num data-v=(hardware.probes.stamped) { (number::count(hardware.probes.stamped)) }
            td.num data-v=(hardware.load_share) { (format!("{:.2} %", hardware.load_share * 100.0)) }
            td { (hardware.in_words()) }
        }
    }
}
