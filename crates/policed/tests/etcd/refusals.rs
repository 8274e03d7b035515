//! What is refused, and with which words.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use nicety_policed::etcd::{Credentials, Settings, Trouble};
use nicety_testkit::etcd::{Etcd, Options};
use nicety_testkit::runner::Skip;

use crate::host::{Host, PREFIX, settings, single, troubles};

pub fn prefixes() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    etcd.told(&["put", "/web/users/1", "somebody"]).unwrap();
    let at = |prefix: &str| Settings {
        prefix: prefix.to_owned(),
        ..settings(&etcd, "a")
    };
    let said = Host::with(etcd.hub(), at("/web")).trouble().to_string();
    assert!(
        said.contains("/web is used by something else: it holds /web/users/1"),
        "{said}"
    );
    assert_eq!(etcd.told(&["get", "/web/schema"]).unwrap(), "");
    etcd.told(&["put", &format!("{PREFIX}/schema"), "nicety cluster 2"])
        .unwrap();
    let newer = Host::with(etcd.hub(), at(PREFIX)).trouble();
    assert!(
        matches!(&newer, Trouble::OtherSchema { found, .. } if found == "nicety cluster 2"),
        "{newer}"
    );
    // A key whose name only begins like the prefix is no key below it.
    etcd.told(&["put", "/nice-other", "1"]).unwrap();
    let mut good = Host::with(etcd.hub(), at("/nice"));
    good.until("joined", |_, status| status.joined);
    Ok(())
}

/// None takes what another one has just written for somebody else's.
pub fn first_of_many() -> Result<(), Skip> {
    let etcd = Etcd::start(single())?;
    for round in 0..8 {
        let at = |host: u32| Settings {
            prefix: format!("/nicety/{round}"),
            ..settings(&etcd, &format!("h{host}"))
        };
        let mut hosts: Vec<Host> = (0..16)
            .map(|host| Host::with(etcd.hub(), at(host)))
            .collect();
        for host in &mut hosts {
            host.until("joined", |_, status| status.joined);
            let said = troubles(&host.events);
            let foreign = |said: &Trouble| matches!(said, Trouble::Foreign { .. });
            assert!(!said.iter().any(foreign), "{said:?}");
        }
    }
    Ok(())
}

/// A refusal is an answer, however long it takes.
const PATIENT: Duration = Duration::from_secs(20);

/// The first line that a host with these settings says.
fn said(etcd: &Etcd, change: impl FnOnce(&mut Settings)) -> String {
    let mut of = settings(etcd, "a");
    of.timeout = PATIENT;
    of.tls.ca = Some(etcd.pki().ca());
    of.tls.own = Some(etcd.pki().client());
    change(&mut of);
    let said = Host::with(etcd.hub(), of).trouble().to_string();
    println!("  {said}");
    said
}

pub fn tls_and_login() -> Result<(), Skip> {
    let etcd = Etcd::start(Options {
        tls: true,
        ..single()
    })?;
    let pki = etcd.pki();
    // As it should be.
    let mut good = settings(&etcd, "good");
    good.tls.ca = Some(pki.ca());
    good.tls.own = Some(pki.client());
    let mut host = Host::with(etcd.hub(), good.clone());
    host.until("joined", |_, status| status.joined);
    drop(host);

    let has = |said: String, parts: &[&str]| {
        parts
            .iter()
            .for_each(|part| assert!(said.contains(part), "{part:?}: {said}"))
    };
    let wrong_ca = said(&etcd, |of| of.tls.ca = Some(pki.other_ca()));
    has(
        wrong_ca,
        &[
            "no secure connection to etcd at https://198.51.100.1:2379",
            "name the authority",
        ],
    );
    has(
        said(&etcd, |of| of.tls.ca = None),
        &["no secure connection", "name the authority"],
    );
    has(
        said(&etcd, |of| of.tls.own = Some(pki.stranger())),
        &["check cert and key"],
    );
    has(said(&etcd, |of| of.tls.own = None), &["check cert and key"]);
    let gone = said(&etcd, |of| {
        of.tls.ca = Some(PathBuf::from("/nonexistent/ca.pem"))
    });
    has(
        gone,
        &[
            "cannot use ca = \"/nonexistent/ca.pem\" of [cluster]",
            "No such file",
        ],
    );
    let no_pem = said(&etcd, |of| of.tls.ca = Some(PathBuf::from("/etc/hostname")));
    has(no_pem, &["it holds nothing in PEM"]);
    has(
        said(&etcd, |of| of.tls.ca = Some(PathBuf::from("/dev/zero"))),
        &["not a regular file"],
    );
    let refused = said(&etcd, |of| {
        of.endpoints = vec!["https://198.51.100.254:1".to_owned()]
    });
    has(
        refused,
        &["cannot reach etcd at https://198.51.100.254:1", "refused"],
    );
    // No server of names is asked for one that cannot be.
    let nowhere = format!("https://{}.invalid:2379", "a".repeat(64));
    let no_name = said(&etcd, |of| of.endpoints = vec![nowhere.clone()]);
    has(no_name, &[&format!("cannot reach etcd at {nowhere}")]);

    // Login, where etcd asks for it.
    let file = etcd.dir().join("password");
    std::fs::write(&file, "wrong\n").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    for words in [
        &["user", "add", "root:secret"][..],
        &["user", "grant-role", "root", "root"],
        &["user", "add", "police:secret"],
        &["auth", "enable"],
    ] {
        etcd.told(words).unwrap();
    }
    let user = |name: &str| {
        Some(Credentials {
            user: name.to_owned(),
            password_file: file.clone(),
        })
    };
    has(
        said(&etcd, |of| of.user = user("root")),
        &["refuses the user", "check user and password_file"],
    );
    std::fs::write(&file, "secret\n").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    has(
        said(&etcd, |of| of.user = user("root")),
        &["password_file", "run chmod 600 on it"],
    );
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    has(
        said(&etcd, |of| of.user = user("police")),
        &["does not let the user read and write below /nicety/test"],
    );
    good.user = user("root");
    let mut host = Host::with(etcd.hub(), good);
    host.until("joined", |_, status| status.joined);
    drop(host);

    pki.serve(pki.expired()).unwrap();
    has(
        said(&etcd, |_| {}),
        &["no secure connection", "renew that certificate"],
    );
    Ok(())
}
