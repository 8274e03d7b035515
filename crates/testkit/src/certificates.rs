//! Authorities and certificates of a test's own, in PEM.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// Signs certificates of servers and clients.
#[derive(Debug)]
pub struct Authority {
    /// Its own certificate.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// One of this common name.
    ///
    /// # Panics
    /// When no key can be made.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    /// For these hosts and addresses, with a common name; one that was valid long ago where it has `expired`.
    ///
    /// # Panics
    /// When a host is no name, or no key can be made.
    pub fn sign(&self, common: &str, hosts: &[&str], expired: bool) -> Pair {
        let mut params = params(common, hosts);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if expired {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        Pair {
            certificate: params.signed_by(&key, &self.issuer).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }
}

/// One that signs itself for these hosts, and nothing else.
///
/// # Panics
/// As [`Authority::sign`].
pub fn own(common: &str, hosts: &[&str]) -> Pair {
    signs_itself(params(common, hosts))
}

/// One that signs itself and may sign others, as `openssl req -x509` makes it.
///
/// # Panics
/// As [`Authority::sign`].
pub fn own_authority(common: &str) -> Pair {
    let mut params = params(common, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    signs_itself(params)
}

fn signs_itself(params: CertificateParams) -> Pair {
    let key = KeyPair::generate().unwrap();
    Pair {
        certificate: params.self_signed(&key).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

fn params(common: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name.push(DnType::CommonName, common);
    params
}
