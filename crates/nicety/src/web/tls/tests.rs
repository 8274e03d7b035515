use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use nicety_testkit::certificates::own;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::*;
use crate::web::{serve, text};

/// A certificate for `localhost` that signs itself, written to files.
fn made(dir: &Path) -> (Files, CertificateDer<'static>) {
    let pair = own("a page", &["localhost"]);
    let files = Files {
        certificate: dir.join("cert.pem"),
        key: dir.join("key.pem"),
    };
    fs::write(&files.certificate, &pair.certificate).unwrap();
    fs::write(&files.key, pair.key).unwrap();
    fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600)).unwrap();
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes());
    (files, certificate.unwrap())
}

/// What a client that trusts this certificate alone is answered.
fn asked(at: SocketAddr, trusted: CertificateDer<'static>) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(at)?);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    // The server may leave without a goodbye.
    match stream.read_to_string(&mut answer) {
        Err(error) if answer.is_empty() => Err(error),
        _ => Ok(answer),
    }
}

#[test]
fn a_page_is_served_over_tls_and_in_no_other_way() {
    let dir = tempfile::tempdir().unwrap();
    let (files, certificate) = made(dir.path());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap();
    let tls = Tls::start(files).unwrap();
    let answer = |_: &hyper::Request<()>| text(hyper::StatusCode::OK, "shown\n".to_owned());
    serve(listener, &[], Some(tls), answer).unwrap();

    let shown = asked(at, certificate).unwrap();
    assert!(
        shown.starts_with("HTTP/1.1 200 OK") && shown.ends_with("shown\n"),
        "{shown}"
    );
    // Who was given another certificate beforehand does not take this one.
    let (_, stranger) = made(tempfile::tempdir().unwrap().path());
    assert!(asked(at, stranger).is_err());
    let mut plain = TcpStream::connect(at).unwrap();
    plain
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    // An alert of TLS, or a connection reset.
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("shown"));
}

#[test]
fn files_that_do_not_do_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let (files, _) = made(dir.path());
    let (others, _) = made(other.path());
    let refused = |certificate: &Path, key: &Path| {
        let files = Files {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        };
        files.read().unwrap_err()
    };
    let (cert, key) = (&files.certificate, &files.key);
    let nothing = dir.path().join("nothing.pem");
    let said = refused(&nothing, key);
    assert!(
        said.starts_with("cert ") && said.contains("nothing.pem"),
        "{said}"
    );
    assert!(refused(key, key).contains("holds no certificate"));
    assert!(refused(cert, &others.key).contains("is not the key of the certificate"));
    fs::write(&nothing, "nothing").unwrap();
    fs::set_permissions(&nothing, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refused(cert, &nothing).contains("holds no private key"));
    // A pipe that nobody writes to is not waited for.
    let fifo = dir.path().join("fifo.pem");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let said = refused(&fifo, key);
    let why = "fifo.pem: it is not a regular file; give a file in PEM";
    assert!(said.starts_with("cert ") && said.ends_with(why), "{said}");
    let said = refused(cert, &fifo);
    let why = "fifo.pem: it is not a regular file; name the file that holds the secret";
    assert!(said.starts_with("key ") && said.ends_with(why), "{said}");
    fs::set_permissions(key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(cert, key).contains("chmod 600"));
}

#[test]
fn a_renewed_pair_is_shown_and_a_wrong_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (files, _) = made(dir.path());
    let shown = Shown(RwLock::new(Arc::new(files.read().unwrap())));
    let now = || Arc::clone(&shown.0.read().unwrap());
    let (mut since, before) = (files.changed(), now());
    files.look(&mut since, &shown).unwrap();
    assert!(Arc::ptr_eq(&before, &now()), "nothing has changed");

    // Looked at between the two: the key is not yet that of the certificate.
    let key = fs::read(&files.key).unwrap();
    let (_, renewed) = made(dir.path());
    fs::write(&files.key, key).unwrap();
    since = [None; 2];
    assert!(files.look(&mut since, &shown).is_err());
    assert!(Arc::ptr_eq(&before, &now()), "the old pair stays");

    let (_, newest) = made(dir.path());
    assert_ne!(renewed, newest);
    since = [None; 2];
    files.look(&mut since, &shown).unwrap();
    assert_eq!(now().cert[0], newest);
}
