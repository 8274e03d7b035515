//! The picture for a page: sites are boxes in a list, in the order of the path. It is text, so that
//! everybody can read and copy it; the style sheet makes boxes and arrows of it.

use maud::{Markup, html};
use nicety_model::route::StationKind;

use super::text::{losses, lost, passed, runs, threads};
use super::{Flow, Picture, Routes, Site, Station, Wire};
use crate::figure;
use crate::number::{self, plural};

/// The first path as a figure, the others folded.
pub(super) fn routes(routes: &Routes) -> Markup {
    html! {
        (one("path", "The path", &routes.first))
        @if !routes.others.is_empty() {
            details {
                summary { (plural(routes.others.len() + routes.more, "other path")) }
                @for other in &routes.others {
                    (one(&figure::anchor("path", &other.path), &other.path, other))
                }
                @if routes.more > 0 {
                    p.muted { (plural(routes.more, "path")) " more, not drawn." }
                }
            }
        }
    }
}

fn one(id: &str, heading: &str, picture: &Picture) -> Markup {
    let body = html! {
        ol role="list" aria-label={ "Stations from port A to port B of " (picture.path) } {
            @for (at, of) in picture.sites.iter().enumerate() {
                @if let Some(before) = at.checked_sub(1).and_then(|before| picture.wires.get(before)) {
                    (wire(before))
                }
                (site(of))
            }
        }
        @if !picture.elsewhere.is_empty() {
            p.muted { (losses(&picture.elsewhere)) }
        }
        @if !picture.remark.is_empty() { p.muted { (picture.remark) } }
    };
    let about = html! { " " span.muted { (picture.title) } };
    html! { div.route { (figure::titled(id, heading, about, body)) } }
}

fn site(site: &Site) -> Markup {
    html! {
        li.site {
            span.at { (site.title()) }
            @if !site.about.is_empty() { span.sub { (site.about) } }
            @if !site.threads.is_empty() { span.sub { (threads(&site.threads)) } }
            ul role="list" {
                @for of in &site.stations { (station(site, of)) }
            }
        }
    }
}

fn station(site: &Site, station: &Station) -> Markup {
    let lossy = station.lost.iter().map(|entry| entry.frames).sum::<u64>() > 0;
    let of_tester = station.kind == StationKind::Port;
    let counted = Station {
        lost: Vec::new(),
        threads: Vec::new(),
        label: String::new(),
        ..*station
    };
    let counted = passed(site, &counted);
    html! {
        li class=[station.kind.joins().then_some("joins")] {
            @if !station.label.is_empty() { strong { (station.label) } " " }
            @if !of_tester { span.muted { (station.kind.words()) } }
            @if let Some(queues) = station.queues { span.sub { (plural(queues, "queue")) } }
            @for thread in &station.threads { span.sub { (runs(thread)) } }
            @if !counted.is_empty() { span.sub { (counted) } }
            @if lossy { @for entry in &station.lost { span.lost { (lost(entry)) } } }
        }
    }
}

/// Arrows with what passed. Without a count it is a line.
fn wire(wire: &Wire) -> Markup {
    let both = wire.flows.len() > 1;
    let to = |number: usize| match number {
        0 => "to B: ",
        _ => "to A: ",
    };
    html! {
        li class={ "wire" @if both { " both" } } {
            @for (number, flow) in wire.flows.iter().enumerate() {
                span class={ "flow" @if number > 0 { " back" } } {
                    @if both { (to(number)) }
                    (frames(*flow))
                }
            }
        }
    }
}

fn frames(flow: Flow) -> Markup {
    html! {
        (number::count(flow.received))
        @if flow.lost() > 0 { span.lost { "−" (number::count(flow.lost())) } }
    }
}
