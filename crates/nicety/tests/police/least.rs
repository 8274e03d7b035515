//! What `docs/guide/privileges.md` says of rights, as an ordinary user with a program that has them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Call, Ended, NICETY, as_root, call, skip};
use crate::uplink::Uplink;

/// An operator: a user who is not root, a directory that is his, and a copy of the program.
struct Operator {
    uplink: Uplink,
    program: PathBuf,
}

const UID: u32 = 65534;

impl Operator {
    /// With a program that has this capability.
    fn new(capability: Option<&str>) -> Option<Self> {
        if !as_root("only root gives a program capabilities") {
            return None;
        }
        let uplink = Uplink::new()?;
        fs::set_permissions(uplink.dir.path(), Permissions::from_mode(0o711)).unwrap();
        let (program, home) = (uplink.path("nicety-net"), uplink.path("home"));
        fs::copy(NICETY, &program).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(&home).unwrap();
        chown(&home, Some(UID), Some(UID)).unwrap();
        if let Some(capability) = capability {
            let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
            let mut setcap = Command::new("setcap");
            let set = setcap
                .env("PATH", path)
                .arg(capability)
                .arg(&program)
                .output();
            let said = set.map_or_else(
                |error| error.to_string(),
                |set| {
                    if set.status.success() {
                        String::new()
                    } else {
                        String::from_utf8_lossy(&set.stderr).trim().to_owned()
                    }
                },
            );
            if !said.is_empty() {
                skip(format_args!("setcap: {said}"));
                return None;
            }
        }
        Some(Self { uplink, program })
    }

    fn state(&self, name: &str) -> String {
        self.uplink
            .path("home")
            .join(name)
            .to_str()
            .unwrap()
            .to_owned()
    }

    fn call(&self, words: &[&str]) -> Call {
        let user = format!("--reuid={UID}");
        let group = format!("--regid={UID}");
        let change = ["setpriv", &user, &group, "--clear-groups"];
        self.uplink
            .lab
            .inside(call(&self.program, words).below(change))
    }
}

#[test]
fn cap_net_admin_is_enough_to_limit_and_to_share() {
    let Some(operator) = Operator::new(Some("cap_net_admin+ep")) else {
        return;
    };
    let before = operator.uplink.lab.state();
    let state = operator.state("state");
    let limit = |max: &str| {
        let words = [
            "port", "limit", "a1", max, "--verify", "0s", "--state", &state,
        ];
        operator.call(&words).run()
    };
    limit("5mbit").assert_code(0);
    let qdiscs = operator.uplink.lab.sh("tc qdisc show");
    assert!(qdiscs.contains("rate 5Mbit"), "{qdiscs}");
    limit("none").assert_code(0);

    let (state, policy) = (
        operator.state("police"),
        operator.uplink.path("policy.toml"),
    );
    let words = ["police", "run", policy.to_str().unwrap(), "--state", &state];
    let mut daemon = operator
        .call(&words)
        .limit(std::time::Duration::from_secs(240))
        .start();
    let shown = Path::new(&state).join("state.json");
    let periods = || -> Option<u64> {
        let text = fs::read(&shown).ok()?;
        serde_json::from_slice::<Value>(&text).ok()?["periods"].as_u64()
    };
    daemon.until("two periods", |_| periods() >= Some(2));
    let qdiscs = operator.uplink.lab.sh("tc qdisc show");
    assert_eq!(qdiscs.matches("tbf 6e63:").count(), 3, "{qdiscs}");
    daemon.stop();
    operator.uplink.lab.assert_state(&before);
}

/// One line says what is missing.
#[track_caller]
fn refused(ended: &Ended, what: &str) {
    let line = ended.assert_code(3).only_line();
    let said = format!("{what} requires CAP_NET_ADMIN in this network namespace; ");
    assert!(line.contains(&said), "{line}");
    // What to do comes last.
    assert!(!line.contains("os error"), "{line}");
}

#[test]
fn without_capabilities_nothing_is_changed() {
    let Some(operator) = Operator::new(None) else {
        return;
    };
    let before = operator.uplink.lab.state();
    let state = operator.state("state");
    let ended = operator
        .call(&["port", "limit", "a1", "5mbit", "--state", &state])
        .run();
    refused(&ended, "changing a1 rate");
    assert!(ended.stderr.contains("sudo"), "{}", ended.stderr);
    let policy = operator.uplink.path("policy.toml");
    let words = ["police", "run", policy.to_str().unwrap(), "--state", &state];
    refused(&operator.call(&words).run(), "police run");
    operator
        .call(&["port", "list", "--window", "0s"])
        .run()
        .assert_code(0);
    operator.call(&["inspect", "--json"]).run().assert_code(0);
    operator.uplink.lab.assert_state(&before);
}

/// As root of a container that was started without the capability.
#[test]
fn what_waits_to_be_undone_waits_for_somebody_with_rights_as_any_user() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    let state = uplink.path("state").to_str().unwrap().to_owned();
    let with = |words: &[&str]| uplink.lab.inside(call(Path::new(NICETY), words));
    let drop = [
        "setpriv",
        "--bounding-set=-net_admin",
        "--inh-caps=-net_admin",
    ];
    let without = |words: &[&str]| {
        let call = call(Path::new(NICETY), words).below(drop);
        uplink.lab.inside(call).run()
    };

    let limit = [
        "port", "limit", "a1", "5mbit", "--verify", "0s", "--state", &state,
    ];
    refused(&without(&limit), "changing a1 rate");
    with(&limit).run().assert_code(0);
    let back = ["tune", "undo", "1", "--state", &state];
    let ended = without(&back);
    refused(&ended, "transaction 1 cannot be undone: changing a1 rate");
    ended.assert_err("--cap-add NET_ADMIN");
    with(&back).run().assert_code(0);
    uplink.lab.assert_state(&before);

    let (state, policy) = (uplink.path("police"), uplink.path("policy.toml"));
    let state = state.to_str().unwrap();
    let run = ["police", "run", policy.to_str().unwrap(), "--state", state];
    let mut daemon = with(&run)
        .limit(std::time::Duration::from_secs(240))
        .start();
    let limited = || uplink.lab.sh("tc qdisc show").matches("tbf 6e63:").count() == 3;
    daemon.until("limits", |_| limited());
    daemon.kill();
    let restore = ["police", "restore", "--state", state];
    refused(&without(&restore), "police restore");
    assert!(limited(), "the limits stay");
    with(&restore).run().assert_code(0);
    uplink.lab.assert_state(&before);
}
