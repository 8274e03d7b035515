//! What nft(8) reads for a router.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use nicety_model::path::{Lookup, RoutedParams};

use crate::networks::sides;

/// Source addresses that the rules drop: private ones (RFC 1918, RFC 4193), of which the tester has none.
const DROPPED_V4: u32 = u32::from_be_bytes([10, 0, 0, 0]);
const DROPPED_V6: u128 = 0xfd00 << 112;
/// Source address of translated packets: of the tester's network A, so that they are still known as its own, and of no
/// flow.
const TRANSLATED_V4: &str = "198.18.255.254";
const TRANSLATED_V6: &str = "2001:2:0:a::ffff:fffe";

/// The script: one table that goes with the namespace.
pub(super) fn script(ask: &RoutedParams, ipv6: bool) -> String {
    let to = if ipv6 {
        format!("snat ip6 to {TRANSLATED_V6}")
    } else {
        format!("snat ip to {TRANSLATED_V4}")
    };
    translating(ask, ipv6, &to)
}

/// The same with another statement that translates.
pub(super) fn translating(ask: &RoutedParams, ipv6: bool, translate: &str) -> String {
    let ip = if ipv6 { "ip6" } else { "ip" };
    let mut text = String::from("table inet nicety {\n");
    // Writing to a string does not fail.
    let _ = declare(&mut text, ask, ipv6);
    text.push_str(
        "  chain forward {\n    type filter hook forward priority filter; policy accept;\n",
    );
    if ask.flowtable() {
        text.push_str("    meta l4proto { tcp, udp } flow add @fast\n");
    }
    match ask.lookup() {
        Lookup::Linear => {
            for address in dropped(ask.rules(), ipv6) {
                let _ = writeln!(text, "    {ip} saddr {address} drop");
            }
        }
        Lookup::Set if ask.rules() > 0 => {
            let _ = writeln!(text, "    {ip} saddr @dropped drop");
        }
        Lookup::Set => {}
    }
    text.push_str("  }\n");
    if ask.snat() {
        let [a, b] = sides(ipv6);
        let _ = writeln!(
            text,
            "  chain translate {{\n    type nat hook postrouting priority srcnat; policy accept;\n    \
             oifname \"{}\" {ip} saddr {}/{} {translate}\n  }}",
            b.interface, a.network.address, a.network.bits
        );
    }
    text.push_str("}\n");
    text
}

fn declare(text: &mut String, ask: &RoutedParams, ipv6: bool) -> std::fmt::Result {
    if ask.flowtable() {
        let [a, b] = sides(ipv6).map(|side| side.interface);
        writeln!(
            text,
            "  flowtable fast {{\n    hook ingress priority filter; devices = {{ {a}, {b} }};\n  }}"
        )?;
    }
    if ask.lookup() == Lookup::Set && ask.rules() > 0 {
        let kind = if ipv6 { "ipv6_addr" } else { "ipv4_addr" };
        let elements: Vec<String> = dropped(ask.rules(), ipv6).collect();
        writeln!(
            text,
            "  set dropped {{\n    type {kind}\n    elements = {{ {} }}\n  }}",
            elements.join(", ")
        )?;
    }
    Ok(())
}

fn dropped(count: u32, ipv6: bool) -> impl Iterator<Item = String> {
    (1..=count).map(move |n| {
        if ipv6 {
            Ipv6Addr::from(DROPPED_V6 | u128::from(n)).to_string()
        } else {
            Ipv4Addr::from(DROPPED_V4 | n).to_string()
        }
    })
}

#[cfg(test)]
mod tests {
    use nicety_model::path::{Nat, OnOff};

    use super::*;

    #[test]
    fn as_many_rules_as_asked_for_stand_before_the_end() {
        let ask = RoutedParams {
            rules: Some(300),
            ..RoutedParams::default()
        };
        let text = script(&ask, false);
        assert_eq!(text.matches(" drop\n").count(), 300);
        assert!(text.contains("ip saddr 10.0.1.44 drop"), "{text}");
        assert!(!text.contains("nat") && !text.contains("flowtable"));
        let set = RoutedParams {
            lookup: Some(Lookup::Set),
            ..ask
        };
        let text = script(&set, true);
        assert_eq!(text.matches(" drop\n").count(), 1);
        assert!(
            text.contains("type ipv6_addr") && text.contains("fd00::12c"),
            "{text}"
        );
    }

    #[test]
    fn translation_and_short_cut_are_written() {
        let ask = RoutedParams {
            nat: Some(Nat::Snat),
            flowtable: Some(OnOff::On),
            ..RoutedParams::default()
        };
        let text = script(&ask, false);
        assert!(text.contains("devices = { d0, d1 };"), "{text}");
        assert!(
            text.contains("meta l4proto { tcp, udp } flow add @fast"),
            "{text}"
        );
        let rule = "oifname \"d1\" ip saddr 198.18.0.0/16 snat ip to 198.18.255.254";
        assert!(text.contains(rule), "{text}");
    }
}
