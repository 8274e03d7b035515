//! What virsh(1) prints of domains.

use nicety_packet::MacAddr;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::names::name::{DomainPort, Name, PciAddress};
use crate::names::resolution::{Absent, Found};

/// Deepest element that is read, and most interfaces of a domain: libvirt's own descriptions have a few.
const DEEPEST: usize = 64;
const MOST_INTERFACES: usize = 1_024;
/// Longest text of a name, an alias or a device, in bytes.
const LONGEST: usize = 4_096;

/// Types of interface that are none of the host's.
const NO_INTERFACE: [&str; 4] = ["vhostuser", "user", "vdpa", "hostdev"];

/// A domain in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its UUID: names may look like numbers of other domains.
    pub uuid: String,
    /// Its name.
    pub name: String,
}

/// A running domain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// Its interfaces, in their order.
    pub interfaces: Vec<DomainInterface>,
}

/// An interface of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DomainInterface {
    /// Type, as `bridge` or `hostdev`.
    pub kind: String,
    /// What libvirt calls it, `net0`; none where it does not run.
    pub alias: Option<String>,
    /// Address.
    pub mac: Option<MacAddr>,
    /// Interface of the host.
    pub device: Option<String>,
    /// The device that was given away.
    pub pci: Option<PciAddress>,
}

/// Why a description of a domain cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadXml {
    /// No XML.
    #[error("it is not XML: {0}")]
    Syntax(String),
    /// No domain.
    #[error("it is not a domain")]
    NoDomain,
    /// It is nested too deeply, or has too many interfaces or too long texts.
    #[error("it has more parts than any domain")]
    TooMuch,
}

/// What `virsh list --uuid --name` prints: a UUID, a space, a name.
pub fn listed(text: &str) -> Vec<Listed> {
    let line = |line: &str| {
        let (uuid, name) = line.split_at_checked(36)?;
        // virsh fills the column of names up with spaces.
        let name = name.trim();
        let is_uuid = uuid.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
        (is_uuid && !name.is_empty()).then(|| Listed {
            uuid: uuid.to_owned(),
            name: name.to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

/// Reads what `virsh dumpxml` prints.
///
/// # Errors
/// When it is no domain.
pub fn interfaces(xml: &str) -> Result<Domain, BadXml> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().expand_empty_elements = true;
    let mut path: Vec<String> = Vec::new();
    let mut domain = Domain::default();
    let mut ended = false;
    loop {
        let event = reader
            .read_event()
            .map_err(|error| BadXml::Syntax(error.to_string()))?;
        match event {
            Event::Start(element) => {
                if path.len() >= DEEPEST || ended {
                    return Err(BadXml::TooMuch);
                }
                path.push(String::from_utf8_lossy(element.local_name().as_ref()).into_owned());
                if path[0] != "domain" {
                    return Err(BadXml::NoDomain);
                }
                domain.begin(&path, &element)?;
            }
            Event::End(_) => {
                path.pop();
                ended |= path.is_empty();
            }
            Event::Text(text) => {
                let text = text
                    .decode()
                    .map_err(|error| BadXml::Syntax(error.to_string()))?;
                domain.name_text(&path, &text)?;
            }
            Event::GeneralRef(entity) => {
                // The five of XML and numbers; whatever a document declares itself is not looked at.
                let name = entity
                    .decode()
                    .map_err(|error| BadXml::Syntax(error.to_string()))?;
                let known = quick_xml::escape::resolve_predefined_entity(&name).map(str::to_owned);
                let number = || entity.resolve_char_ref().ok().flatten().map(String::from);
                if let Some(text) = known.or_else(number) {
                    domain.name_text(&path, &text)?;
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if ended {
        Ok(domain)
    } else {
        Err(BadXml::NoDomain)
    }
}

impl Domain {
    fn name_text(&mut self, path: &[String], text: &str) -> Result<(), BadXml> {
        if matches!(path, [_, name] if name == "name") {
            self.name += text;
        }
        if self.name.len() > LONGEST {
            Err(BadXml::TooMuch)
        } else {
            Ok(())
        }
    }

    fn begin(&mut self, path: &[String], element: &BytesStart<'_>) -> Result<(), BadXml> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let ["domain", "devices", "interface", below @ ..] = &path[..] else {
            return Ok(());
        };
        if below.is_empty() {
            if self.interfaces.len() >= MOST_INTERFACES {
                return Err(BadXml::TooMuch);
            }
            self.interfaces.push(DomainInterface {
                kind: attribute(element, "type")?.unwrap_or_default(),
                ..DomainInterface::default()
            });
            return Ok(());
        }
        let Some(interface) = self.interfaces.last_mut() else {
            return Ok(());
        };
        match below {
            ["mac"] => {
                let mac = attribute(element, "address")?;
                interface.mac = mac.and_then(|mac| mac.parse().ok());
            }
            ["target"] => interface.device = attribute(element, "dev")?,
            ["alias"] => interface.alias = attribute(element, "name")?,
            ["source", "address"] => interface.pci = pci(element)?,
            _ => {}
        }
        Ok(())
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, BadXml> {
    let syntax = |error: &dyn std::fmt::Display| BadXml::Syntax(error.to_string());
    let found = element
        .try_get_attribute(name)
        .map_err(|error| syntax(&error))?;
    let Some(found) = found else { return Ok(None) };
    if found.value.len() > LONGEST {
        return Err(BadXml::TooMuch);
    }
    let text = String::from_utf8_lossy(&found.value);
    let text = quick_xml::escape::unescape(&text).map_err(|error| syntax(&error))?;
    Ok(Some(text.into_owned()))
}

/// `domain='0x0000' bus='0x3b' slot='0x02' function='0x1'`.
fn pci(element: &BytesStart<'_>) -> Result<Option<PciAddress>, BadXml> {
    let number = |name: &str| -> Result<Option<u32>, BadXml> {
        let text = attribute(element, name)?;
        Ok(text.and_then(|text| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()))
    };
    let (domain, bus) = (number("domain")?, number("bus")?);
    let (slot, function) = (number("slot")?, number("function")?);
    let address = || {
        Some(PciAddress {
            domain: domain?,
            bus: u8::try_from(bus?).ok()?,
            device: u8::try_from(slot?).ok()?,
            function: u8::try_from(function?).ok()?,
        })
    };
    Ok(address())
}

impl Domain {
    /// The interfaces of the host that it has, with their names.
    pub fn names(&self) -> Vec<(String, Name)> {
        let interfaces = self.interfaces.iter().enumerate();
        let interfaces = interfaces.filter(|(_, one)| !NO_INTERFACE.contains(&one.kind.as_str()));
        let named = interfaces.filter_map(|(at, one)| {
            let device = one.device.clone()?;
            let number = one
                .alias
                .as_deref()
                .and_then(|alias| alias.strip_prefix("net"));
            let port = match (number.and_then(|number| number.parse().ok()), one.mac) {
                (Some(number), _) => DomainPort::Net(number),
                // A user may have set another alias.
                (None, Some(mac)) => DomainPort::Mac(mac),
                (None, None) => DomainPort::Net(u32::try_from(at).ok()?),
            };
            let domain = self.name.clone();
            Some((device, Name::Libvirt { domain, port }))
        });
        named.collect()
    }

    /// One of its interfaces. `domain` is the name that was asked for.
    pub fn port(&self, domain: &str, port: DomainPort) -> Found {
        let missing = || {
            Found::Absent(Absent::NoPort {
                domain: domain.to_owned(),
                port,
            })
        };
        if self.name != domain {
            return Found::Absent(Absent::NoDomain(domain.to_owned()));
        }
        let interfaces = || self.interfaces.iter();
        let mut fits = match port {
            DomainPort::Mac(mac) => interfaces().filter(|one| one.mac == Some(mac)).collect(),
            DomainPort::Net(number) => {
                // The alias stays when another interface is unplugged; a user may have set one of his own.
                let alias = format!("net{number}");
                let named = interfaces().find(|one| one.alias.as_deref() == Some(&alias));
                let numbered = || {
                    let at = self.interfaces.get(usize::try_from(number).ok()?)?;
                    let other = at.alias.as_deref().is_some_and(is_numbered);
                    (!other).then_some(at)
                };
                Vec::from_iter(named.or_else(numbered))
            }
        };
        let Some(last) = fits.pop() else {
            return missing();
        };
        if !fits.is_empty() {
            let devices = fits.into_iter().chain([last]);
            let devices = devices.map(|one| one.device.clone().unwrap_or_else(|| one.kind.clone()));
            return Found::Several(devices.collect());
        }
        match (last.kind.as_str(), &last.device, last.pci) {
            ("hostdev", _, Some(address)) => Found::Device(address),
            (kind, _, _) if NO_INTERFACE.contains(&kind) => {
                Found::Absent(Absent::Kind(last.kind.clone()))
            }
            (_, Some(device), _) => Found::Interface(device.clone()),
            (_, None, _) => Found::Absent(Absent::NotYet),
        }
    }
}

fn is_numbered(alias: &str) -> bool {
    let number = alias.strip_prefix("net");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIVE: &str = include_str!("../../tests/libvirt/live.xml");

    fn found(xml: &str, domain: &str, port: &str) -> String {
        let domain_port: crate::names::Name = format!("libvirt:{domain}/{port}").parse().unwrap();
        let crate::names::Name::Libvirt { domain, port } = domain_port else {
            panic!("{domain_port}");
        };
        match interfaces(xml).unwrap().port(&domain, port) {
            Found::Interface(name) => name,
            Found::Device(address) => address.to_string(),
            Found::Several(names) => format!("several: {}", names.join(" ")),
            Found::OneOf(names) => names.join(" "),
            Found::Absent(why) => why.to_string(),
        }
    }

    #[test]
    fn the_name_of_an_interface_leads_back_to_it() {
        let domain = interfaces(LIVE).unwrap();
        let names = domain.names();
        assert!(names.len() > 2, "{names:?}");
        for (device, name) in names {
            let Name::Libvirt { domain: of, port } = name else {
                panic!("{name}");
            };
            let found = domain.port(&of, port);
            let several = matches!(&found, Found::Several(all) if all.contains(&device));
            assert!(
                several || found == Found::Interface(device.clone()),
                "{device}: {found:?}"
            );
        }
    }

    #[test]
    fn a_list_has_uuids_and_names() {
        let uuid = "f82ec2d8-3e1a-4def-8f2f-45ef969544ca";
        let list = format!("{uuid} web 01        \n{uuid} 5\n\n");
        let names: Vec<String> = listed(&list).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["web 01", "5"]);
        for strange in ["error: no", uuid, "ä".repeat(40).as_str()] {
            assert_eq!(listed(strange), []);
        }
    }

    #[test]
    fn an_interface_is_found_by_its_alias_and_its_address() {
        for (port, wanted) in [
            ("net0", "vnet0"),
            ("net1", "mytap"),
            ("net2", "0000:3b:02.1"),
            ("52:54:00:00:00:02", "mytap"),
            ("52:54:00:00:00:09", "several: vnet4 vnet5"),
            (
                "net3",
                "it is of type \"vhostuser\", which has no interface on this host; such a port cannot be shared",
            ),
            (
                "net6",
                "the domain \"web & 01\" has no interface net6; see virsh domiflist",
            ),
        ] {
            assert_eq!(found(LIVE, "web & 01", port), wanted, "{port}");
        }
        let other = found(LIVE, "web02", "net0");
        assert!(
            other.starts_with("libvirt has no domain \"web02\""),
            "{other}"
        );
        // The first was unplugged: the others keep their names.
        let xml = LIVE.replacen("<alias name='net0'/>", "<alias name='net7'/>", 1);
        assert!(found(&xml, "web & 01", "net0").contains("no interface net0"));
        assert_eq!(found(&xml, "web & 01", "net7"), "vnet0");
        // An alias of the user's own has no number.
        let xml = LIVE.replacen("<alias name='net0'/>", "<alias name='ua-lan'/>", 1);
        assert_eq!(found(&xml, "web & 01", "net0"), "vnet0");
    }

    #[test]
    fn what_is_no_domain_is_refused() {
        let deep = format!("<domain>{}", "<a>".repeat(100));
        let many = format!("<domain><devices>{}", "<interface/>".repeat(2_000));
        let name = format!("<domain><name>{}</name></domain>", "x".repeat(10_000));
        for (xml, wanted) in [
            ("", BadXml::NoDomain),
            ("<network/>", BadXml::NoDomain),
            ("<domain><name>a</name>", BadXml::NoDomain),
            ("<domain/><domain/>", BadXml::TooMuch),
            (&deep, BadXml::TooMuch),
            (&many, BadXml::TooMuch),
            (&name, BadXml::TooMuch),
        ] {
            let short: String = xml.chars().take(40).collect();
            assert_eq!(interfaces(xml), Err(wanted), "{short}");
        }
        let wrong = interfaces("<domain></network>").unwrap_err();
        assert!(matches!(wrong, BadXml::Syntax(_)), "{wrong}");
        // Entities of the document are not followed, however many they would make.
        let laughs = "<!DOCTYPE domain [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><domain><name>&b;</name></domain>";
        assert_eq!(interfaces(laughs).unwrap().name, "");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in ".{0,400}", cut in 0..2_000usize, bad in 0..255u8) {
            let _ = interfaces(&text);
            let mut bytes = LIVE.as_bytes().to_vec();
            let at = cut.min(bytes.len() - 1);
            bytes[at] = bad;
            let _ = interfaces(&String::from_utf8_lossy(&bytes));
            let _ = listed(&text);
        }
    }
}
