//! What is done to hosts, to etcd and to what stands in it, and how it ends.

use std::path::Path;
use std::sync::Mutex;

use etcd_client::{AlarmAction, AlarmType};
use nicety_testkit::etcd::Etcd;

use crate::kind::Kind;
use crate::slot::Slot;
use crate::values;

pub fn silence(etcd: &Mutex<Etcd>, slot: &Slot, victim: usize, off: bool) {
    let number = slot.hosts[victim].number;
    etcd.lock().unwrap().silence(number, off).unwrap();
}

/// What an accident of an etcd has hurt: members, from 0.
pub fn hurt(etcd: &mut Etcd, kind: Kind, random: &mut fastrand::Rng, endpoint: &str) -> Vec<usize> {
    let members = etcd.endpoints().len();
    let one = random.usize(..members);
    match kind {
        Kind::MemberKilled => etcd.kill(one),
        Kind::MemberStopped => etcd.freeze(one, true),
        Kind::MajorityCut => {
            let cut: Vec<usize> = (0..members).filter(|member| *member != one).collect();
            cut.iter()
                .for_each(|member| etcd.silence(*member as u8 + 1, true).unwrap());
            return cut;
        }
        Kind::NoSpace => {
            let alarm = || {
                values::ask(endpoint, async |client| {
                    let (action, kind) = (AlarmAction::Activate, AlarmType::Nospace);
                    client.alarm(action, kind, None).await.unwrap();
                });
            };
            etcd.hub().run(alarm).unwrap();
        }
        Kind::Emptied => (0..members).for_each(|member| etcd.kill(member)),
        Kind::Expired => {
            etcd.pki().serve(etcd.pki().expired()).unwrap();
            etcd.kill(0);
            etcd.run(0).unwrap();
        }
        _ => {}
    }
    vec![one]
}

pub fn heal(etcd: &mut Etcd, kind: Kind, hurt: &[usize]) {
    match kind {
        Kind::MemberKilled => {
            etcd.run(hurt[0]).unwrap();
            etcd.wait().unwrap();
        }
        Kind::MemberStopped => etcd.freeze(hurt[0], false),
        Kind::MajorityCut => {
            hurt.iter()
                .for_each(|member| etcd.silence(*member as u8 + 1, false).unwrap());
            etcd.wait().unwrap();
        }
        Kind::NoSpace => drop(etcd.told(&["alarm", "disarm"]).unwrap()),
        Kind::Emptied => {
            let members = etcd.endpoints().len();
            (0..members).for_each(|member| {
                etcd.wipe(member).unwrap();
                etcd.run(member).unwrap();
            });
            etcd.wait().unwrap();
        }
        Kind::Expired => {
            let good = ["crt", "key"].map(|what| etcd.dir().join(format!("good.{what}")));
            let [cert, key] = good;
            etcd.pki().serve((cert, key)).unwrap();
        }
        _ => {}
    }
}

/// Starts a host with a wrong file.
pub fn wrong_file(slot: &mut Slot, victim: usize, kind: Kind, etcd: &Mutex<Etcd>) {
    let host = &mut slot.hosts[victim];
    host.kill();
    match kind {
        Kind::WrongCa => copy(
            &etcd.lock().unwrap().pki().other_ca(),
            &host.config.file("ca"),
        ),
        _ => std::fs::write(host.config.file("password"), "wrong\n").unwrap(),
    }
    host.start();
}

/// Corrects the files; the host runs, and reads them by itself.
pub fn right_file(slot: &Slot, victim: usize, etcd: &Mutex<Etcd>) {
    let config = &slot.hosts[victim].config;
    copy(&etcd.lock().unwrap().pki().ca(), &config.file("ca"));
    std::fs::write(config.file("password"), "secret\n").unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

/// Has values look as another version's. Their keys, and what stood there.
pub fn tamper(
    etcd: &Mutex<Etcd>,
    endpoint: &str,
    prefix: &str,
    victim: usize,
    kind: Kind,
    random: &mut fastrand::Rng,
) -> Vec<(String, Vec<u8>)> {
    let of_host = |dir: &str| format!("{prefix}/{dir}/h{victim}");
    let keys = match (kind, random.usize(..4)) {
        (Kind::OtherFields, _) => vec![of_host("member"), of_host("report"), of_host("grant")],
        (_, 0) => vec![of_host("member")],
        (_, 1) => vec![of_host("grant")],
        (_, 2) => vec![format!("{prefix}/ledger")],
        _ => vec![format!("{prefix}/schema")],
    };
    let schema = random.u32(..2);
    let write = || {
        values::ask(endpoint, async |client| {
            let mut before = Vec::new();
            for key in &keys {
                let to = |bytes: &[u8]| match kind {
                    Kind::OtherFields => values::other_fields(bytes, schema),
                    _ => values::newer(bytes),
                };
                let found = values::change(client, key, to).await;
                before.extend(found.map(|found| (key.clone(), found)));
            }
            before
        })
    };
    etcd.lock().unwrap().hub().run(write).unwrap()
}

/// The other version is gone, where its values still stand.
pub fn untamper(etcd: &Mutex<Etcd>, endpoint: &str, before: &[(String, Vec<u8>)]) {
    let write = || {
        values::ask(endpoint, async |client| {
            for (key, value) in before {
                let to = |bytes: &[u8]| {
                    if values::newer(value) == bytes {
                        value.clone()
                    } else {
                        bytes.to_vec()
                    }
                };
                values::change(client, key, to).await;
            }
        });
    };
    etcd.lock().unwrap().hub().run(write).unwrap();
}
