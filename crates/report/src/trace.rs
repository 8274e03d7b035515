//! Single frames on their way, a line each, and what all come to.

use nicety_model::LossEntry;
use nicety_model::flow::{FlowPacket, PacketKind};
use nicety_model::journey::{Journey, JourneyEnd, TraceSummary};

use crate::fate;
use crate::number;
use crate::page::clean;

/// `0.2510 s  #252  a +0.90 d0 (CPU 0) +2.1 d1 +1.5 b  received after 4.5 µs`: the time when it was sent, its number,
/// and the interfaces from `sender` on, with the time in µs from each to the next and the CPU where it changes. Into a guest
/// and out of it stands how wrong the time may be: `+31±2.5 guest eth0`.
pub fn line(journey: &Journey, sender: &str) -> String {
    let sent = journey.sent_s.map_or_else(
        || format!("{:>10}  ", number::ABSENT),
        |seconds| format!("{seconds:>8.4} s  "),
    );
    let mut way = sender.to_owned();
    let (mut cpu, mut inside) = (None, false);
    for of in &journey.stations {
        // The CPUs of a guest are others.
        if of.error_ns.is_some() {
            (cpu, inside) = (None, !inside);
        }
        let us = |ns: u64| number::micros(ns as f64 / 1e3);
        let error = of.error_ns.map(|ns| format!("±{}", us(ns)));
        let error = error.unwrap_or_default();
        way += &format!(" +{}{error} {}", us(of.after_ns), of.device);
        if cpu != Some(of.cpu) {
            let word = if inside { "vCPU" } else { "CPU" };
            way += &format!(" ({word} {})", of.cpu);
            cpu = Some(of.cpu);
        }
    }
    clean(&format!(
        "{sent}#{:<5} {way}  {}",
        journey.number,
        end(&journey.end)
    ))
}

fn end(end: &JourneyEnd) -> String {
    match end {
        JourneyEnd::Received { total_ns: Some(ns) } => {
            format!("received after {} µs", number::micros(*ns as f64 / 1e3))
        }
        JourneyEnd::Received { total_ns: None } => "received, not seen there".to_owned(),
        JourneyEnd::Dropped { cause } => {
            let place = fate::place(cause);
            match fate::meaning(cause) {
                Some(meaning) => format!("dropped {place}: {meaning}"),
                None => format!("dropped {place}"),
            }
        }
        JourneyEnd::LastSeen { station } => format!("lost, last seen: {station}"),
        JourneyEnd::Unseen => {
            "lost, seen nowhere: the first ring refused it, or an XDP program dropped it".to_owned()
        }
    }
}

/// `0.2510 s  #1  SYN 10.0.0.1:40000 > 10.0.0.2:80  queued at d0 (CPU 0) +2.1 sent at d0 +1.5 received at d1  last seen`:
/// when a packet was seen first, its number, and its stations with the time in µs from each to the next.
pub fn packet(packet: &FlowPacket) -> String {
    let mut way = String::new();
    let mut cpu = None;
    for (n, of) in packet.stations.iter().enumerate() {
        let after = match n {
            0 => String::new(),
            _ => format!(" +{} ", number::micros(of.after_ns as f64 / 1e3)),
        };
        way += &format!("{after}{}", of.station);
        if cpu != Some(of.cpu) {
            way += &format!(" (CPU {})", of.cpu);
            cpu = Some(of.cpu);
        }
    }
    let kind = match packet.packet {
        PacketKind::Syn => "SYN",
        PacketKind::SynAck => "SYN-ACK",
        PacketKind::Datagram => "UDP",
    };
    let end = match &packet.end {
        // It is the last of the stations.
        JourneyEnd::LastSeen { .. } => "seen no further".to_owned(),
        other => end(other),
    };
    clean(&format!(
        "{:>8.4} s  #{:<4} {kind} {} > {}  {way}  {end}",
        packet.seen_s, packet.number, packet.from, packet.to
    ))
}

/// The last line: how many came, how long they took, and where the others ended.
pub fn summary(summary: &TraceSummary) -> String {
    let us = |ns: u64| number::micros(ns as f64 / 1e3);
    let mut text = format!(
        "{} in {}: {} received",
        number::plural(summary.sent, "frame"),
        number::seconds(summary.seconds),
        number::count(summary.received)
    );
    match (summary.p50_ns, summary.p99_ns) {
        (Some(p50), Some(p99)) => text += &format!(" (median {} µs, p99 {} µs)", us(p50), us(p99)),
        (Some(p50), None) => text += &format!(" (median {} µs)", us(p50)),
        _ => {}
    }
    text += &format!(", {} lost", number::count(summary.lost));
    let causes: Vec<String> = summary.causes.iter().map(cause).collect();
    if !causes.is_empty() {
        text += &format!(": {}", causes.join("; "));
    }
    text.push('.');
    if summary.unnoted > 0 {
        text += &format!(
            " {} not noted: journeys have gaps; trace at a lower rate.",
            number::plural(summary.unnoted, "sighting")
        );
    }
    clean(&text)
}

fn cause(entry: &LossEntry) -> String {
    let frames = number::count(entry.frames);
    match &entry.cause {
        Some(cause) => format!("{frames} {}", fate::place(cause)),
        None => format!("{frames} {}", entry.place),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::FateCause;
    use nicety_model::journey::Sighting;

    use super::*;

    fn journey(end: JourneyEnd) -> Journey {
        let at = |device: &str, after_ns, cpu| Sighting {
            station: format!("received at {device}"),
            device: device.to_owned(),
            after_ns,
            cpu,
            error_ns: None,
        };
        Journey {
            schema: 1,
            number: 252,
            sent_s: Some(0.251),
            stations: vec![at("d0", 900, 0), at("d1", 2100, 0), at("b\u{1b}", 1500, 1)],
            end,
        }
    }

    #[test]
    fn a_frame_is_a_line() {
        let received = journey(JourneyEnd::Received {
            total_ns: Some(4500),
        });
        let told = line(&received, "a");
        assert!(
            told.starts_with("  0.2510 s  #252   a +0.9 d0 (CPU 0) +2.1 d1 +1.5 b"),
            "{told}"
        );
        assert!(
            told.ends_with("(CPU 1)  received after 4.5 µs") && !told.contains('\u{1b}'),
            "{told}"
        );
        let mut crossing = journey(JourneyEnd::Unseen);
        let ways = crossing.stations.iter_mut().skip(1);
        ways.for_each(|of| of.error_ns = Some(400));
        let told = line(&crossing, "a");
        assert!(
            told.contains("d0 (CPU 0) +2.1±0.4 d1 (vCPU 0) +1.5±0.4 b") && told.contains("(CPU 1)"),
            "{told}"
        );
        let cause = FateCause::Dropped {
            device: Some("d1".to_owned()),
            function: Some("nft_do_chain".to_owned()),
            reason: Some("NETFILTER_DROP".to_owned()),
        };
        let told = line(&journey(JourneyEnd::Dropped { cause }), "a");
        assert!(
            told.ends_with(
                "dropped in nft_do_chain at d1 (NETFILTER_DROP): a rule of netfilter dropped it"
            ),
            "{told}"
        );
        let unseen = Journey {
            sent_s: None,
            stations: Vec::new(),
            ..journey(JourneyEnd::Unseen)
        };
        let told = line(&unseen, "a");
        assert!(told.contains("–  #252   a  lost, seen nowhere"), "{told}");
    }

    #[test]
    fn a_packet_is_a_line() {
        let at = |station: &str, after_ns, cpu| Sighting {
            station: station.to_owned(),
            device: "d0".to_owned(),
            after_ns,
            cpu,
            error_ns: None,
        };
        let made = FlowPacket {
            schema: 1,
            number: 3,
            seen_s: 0.251,
            packet: PacketKind::Syn,
            from: "10.0.0.1:40000".to_owned(),
            to: "10.0.0.2:80".to_owned(),
            stations: vec![at("queued at d0", 0, 0), at("sent at d0\u{1b}", 2100, 1)],
            end: JourneyEnd::LastSeen {
                station: "sent at d0".to_owned(),
            },
        };
        let told = packet(&made);
        assert!(
            told.starts_with("  0.2510 s  #3    SYN 10.0.0.1:40000 > 10.0.0.2:80  queued at d0 (CPU 0) +2.1 sent at d0"),
            "{told}"
        );
        assert!(
            told.ends_with("(CPU 1)  seen no further") && !told.contains('\u{1b}'),
            "{told}"
        );
    }

    #[test]
    fn the_summary_says_where_the_others_ended() {
        let mut of = TraceSummary {
            seconds: 2.0,
            sent: 1000,
            received: 990,
            lost: 10,
            p50_ns: Some(4500),
            causes: vec![LossEntry::counted("last seen sent at d1", 10)],
            ..TraceSummary::default()
        };
        let told = summary(&of);
        assert_eq!(
            told,
            "1,000 frames in 2.0 s: 990 received (median 4.5 µs), 10 lost: 10 last seen sent at d1."
        );
        of.unnoted = 3;
        assert!(summary(&of).contains("3 sightings not noted"));
    }
}
