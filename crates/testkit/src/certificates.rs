//! Authorities and certificates of a test's own, in PEM, by the program `openssl`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// What `openssl ca` needs to know: it alone signs for a time that is over (`-days` begins today in OpenSSL 3.0).
const CA: &str = "[ca]\ndefault_ca = own\n[own]\ndatabase = index\nrand_serial = yes\nnew_certs_dir = .\n\
    unique_subject = no\ndefault_md = sha256\ndefault_days = 30\npolicy = any\ncopy_extensions = copy\n\
    [any]\ncommonName = supplied\n";
const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
const LONG_AGO: &str = "-startdate 20010101000000Z -enddate 20020101000000Z";

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
    dir: TempDir,
}

impl Authority {
    /// One of this common name.
    ///
    /// # Panics
    /// When `openssl` is missing or fails.
    pub fn new(name: &str) -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("ca.cnf"), CA).unwrap();
        fs::write(dir.path().join("index"), "").unwrap();
        let usage = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"];
        let own = signs_itself(dir.path(), name, &usage);
        Self {
            certificate: own.certificate,
            dir,
        }
    }

    /// For these hosts and addresses, with a common name; one that was valid long ago where it has `expired`.
    ///
    /// # Panics
    /// When `openssl` fails.
    pub fn sign(&self, common: &str, hosts: &[&str], expired: bool) -> Pair {
        let dir = self.dir.path();
        let usage = "extendedKeyUsage=serverAuth,clientAuth";
        let (names, subject) = (names(hosts), format!("/CN={common}"));
        let mut request = words("req -new -keyout request.key -out request.csr -subj");
        request.extend([&subject, "-addext", usage]);
        request.extend(names.iter().flat_map(|names| ["-addext", names]));
        request.extend(words(NEW_KEY));
        openssl(dir, &request);
        let when = if expired { LONG_AGO } else { "" };
        let sign = "ca -config ca.cnf -batch -notext -cert own.pem -keyfile own.key -in request.csr -out signed.pem";
        openssl(dir, &[words(sign), words(when)].concat());
        pair(dir, "signed.pem", "request.key")
    }
}

/// One that signs itself for these hosts, and nothing else.
///
/// # Panics
/// As [`Authority::sign`].
pub fn own(common: &str, hosts: &[&str]) -> Pair {
    let dir = TempDir::new().unwrap();
    let mut more = vec!["-addext", "basicConstraints=critical,CA:FALSE"];
    let names = names(hosts);
    more.extend(names.iter().flat_map(|names| ["-addext", names]));
    signs_itself(dir.path(), common, &more)
}

fn signs_itself(dir: &Path, common: &str, more: &[&str]) -> Pair {
    let subject = format!("/CN={common}");
    let mut request = words("req -x509 -days 30 -keyout own.key -out own.pem -subj");
    request.push(&subject);
    openssl(dir, &[&request, more, &words(NEW_KEY)].concat());
    pair(dir, "own.pem", "own.key")
}

fn pair(dir: &Path, certificate: &str, key: &str) -> Pair {
    let [certificate, key] = [certificate, key].map(|name| fs::read_to_string(dir.join(name)));
    Pair {
        certificate: certificate.unwrap(),
        key: key.unwrap(),
    }
}

fn names(hosts: &[&str]) -> Option<String> {
    let kind = |host: &&str| host.parse::<IpAddr>().map_or("DNS", |_| "IP");
    let names = hosts.iter().map(|host| format!("{}:{host}", kind(host)));
    let names = names.collect::<Vec<_>>().join(",");
    (!names.is_empty()).then(|| format!("subjectAltName={names}"))
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn openssl(dir: &Path, arguments: &[&str]) {
    let output = Command::new("openssl")
        .current_dir(dir)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {said}");
}
