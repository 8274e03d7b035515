//! Whether a certificate is for a server, as libpq decides it (PostgreSQL documentation, 34.19.1):
//! by the subject's alternative names, else by its common name.

use std::net::IpAddr;

use rustls::pki_types::ServerName;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::asn1::{PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::db::rfc4519::CN;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// Names of a certificate.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    hosts: Vec<String>,
    addresses: Vec<IpAddr>,
    common: Option<String>,
}

impl Names {
    /// Those of a certificate; none where it cannot be read.
    pub fn of(der: &[u8]) -> Self {
        let Ok(certificate) = Certificate::from_der(der) else {
            return Self::default();
        };
        let mut names = Self {
            common: common(&certificate),
            ..Self::default()
        };
        let subject = certificate.tbs_certificate();
        let Ok(Some((_, alternatives))) = subject.get_extension::<SubjectAltName>() else {
            return names;
        };
        for name in alternatives.0 {
            match name {
                GeneralName::DnsName(host) => names.hosts.push(host.to_string()),
                GeneralName::IpAddress(bytes) => names.addresses.extend(address(bytes.as_bytes())),
                _ => {}
            }
        }
        names
    }

    /// Whether the certificate is for this server.
    pub fn fit(&self, server: &ServerName<'_>) -> bool {
        let (text, is_address) = match server {
            ServerName::DnsName(name) => (name.as_ref().to_owned(), false),
            ServerName::IpAddress(ip) => (IpAddr::from(*ip).to_string(), true),
            _ => return false,
        };
        let by_address = || self.addresses.iter().any(|ip| ip.to_string() == text);
        let common_counts = match is_address {
            true => self.addresses.is_empty(),
            false => self.hosts.is_empty(),
        };
        (is_address && by_address())
            || self.hosts.iter().any(|host| fits(host, &text))
            || (common_counts && self.common.as_ref().is_some_and(|name| fits(name, &text)))
    }

    /// All of them, for the reader.
    pub fn words(&self) -> Vec<String> {
        let addresses = self.addresses.iter().map(IpAddr::to_string);
        let mut words: Vec<String> = self.hosts.iter().cloned().chain(addresses).collect();
        if words.is_empty() {
            words.extend(self.common.clone());
        }
        words
    }
}

/// A `*` at the beginning stands for what has no dot.
fn fits(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_ascii_lowercase(), host.to_ascii_lowercase());
    match pattern.strip_prefix('*') {
        Some(rest) if rest.starts_with('.') => host
            .strip_suffix(rest)
            .is_some_and(|first| !first.is_empty() && !first.contains('.')),
        _ => pattern == host,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

fn common(certificate: &Certificate) -> Option<String> {
    let subject = certificate.tbs_certificate().subject();
    let value = subject.iter().find(|part| part.oid == CN)?;
    let text = value.value.decode_as::<Utf8StringRef<'_>>();
    let text = text.map(|text| text.as_str().to_owned());
    let printable = || {
        let text = value.value.decode_as::<PrintableStringRef<'_>>();
        text.map(|text| text.as_str().to_owned())
    };
    text.or_else(|_| printable()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hosts: &[&str], addresses: &[&str], common: &str) -> Names {
        Names {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            common: Some(common.to_owned()),
        }
    }

    #[track_caller]
    fn decides(names: &Names, server: &str, expected: bool) {
        let server = ServerName::try_from(server).unwrap();
        assert_eq!(names.fit(&server), expected, "{names:?} {server:?}");
    }

    #[test]
    fn the_common_name_counts_only_without_alternatives() {
        decides(&names(&[], &[], "DB.example"), "db.example", true);
        decides(&names(&["other"], &[], "db.example"), "db.example", false);
        decides(&names(&[], &["10.0.0.1"], "db.example"), "db.example", true);
        decides(&names(&[], &["10.0.0.1"], "10.0.0.2"), "10.0.0.2", false);
        decides(&names(&["db"], &[], "10.0.0.2"), "10.0.0.2", true);
        decides(&names(&[], &["10.0.0.1", "::1"], "x"), "::1", true);
    }

    #[test]
    fn a_star_stands_for_one_part() {
        let all = names(&["*.example"], &[], "x");
        decides(&all, "db.example", true);
        decides(&all, "a.b.example", false);
        decides(&all, "example", false);
        decides(&names(&["d*.example"], &[], "x"), "db.example", false);
    }
}
