//! The manifest for Kubernetes: read by the schemas of its versions, never by a cluster.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use nicety_police::{Policy, PortName};
use yaml_rust2::YamlLoader;

use crate::dashboards::tool;
use crate::harness::{nicety, skip};

const MANIFEST: &str = include_str!("../../../../packaging/kubernetes/nicety-police.yaml");

#[test]
fn the_manifest_has_a_policy_and_a_command_that_nicety_takes() {
    let all = YamlLoader::load_from_str(MANIFEST).unwrap();
    let kinds: Vec<&str> = all
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Namespace", "ConfigMap", "DaemonSet"]);
    let text = all[1]["data"]["policy.toml"].as_str().unwrap();
    let policy = Policy::parse("policy.toml", text).unwrap();
    assert!(
        policy
            .ports()
            .all(|(_, port)| matches!(port, PortName::Named(_)))
    );

    let container = &all[2]["spec"]["template"]["spec"]["containers"][0];
    let words = container["args"].as_vec().unwrap().iter();
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words[..3], ["police", "run", "/etc/nicety/policy.toml"]);
    let help = nicety(["police", "run", "--help"]).run();
    let help = &help.assert_code(0).stdout;
    for option in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "{option}");
    }
    // What the daemon reads and writes there comes from the node, or from the map.
    let mounts = container["volumeMounts"].as_vec().unwrap().iter();
    let mut mounts: Vec<&str> = mounts
        .map(|mount| mount["mountPath"].as_str().unwrap())
        .collect();
    mounts.sort_unstable();
    assert_eq!(
        mounts,
        [
            "/etc/nicety",
            "/run/nicety",
            "/var/lib/cni/results",
            "/var/lib/nicety"
        ]
    );
}

#[test]
fn kubernetes_knows_every_key_of_the_manifest() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = tool("kubernetes", "kubernetes-validate");
    let check = |version: &str, text: &str| {
        let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut check = Command::new(&program);
        check.args(["--strict", "-k", version]).arg(file.path());
        check.current_dir(&root).output()
    };
    for version in ["1.28", "1.37"] {
        match check(version, MANIFEST) {
            Err(why) => {
                skip(format_args!(
                    "no kubernetes-validate ({why}); scripts/setup.sh test fetches it"
                ));
                return;
            }
            Ok(said) => assert!(said.status.success(), "{version}: {said:?}"),
        }
        // The schema does tell.
        for (key, odd) in [
            ("hostNetwork:", "hostNetwerk:"),
            ("runAsUser: 0", "runAsUser: root"),
        ] {
            let wrong = check(version, &MANIFEST.replace(key, odd)).unwrap();
            assert!(!wrong.status.success(), "{version}: {odd}");
        }
    }
}
