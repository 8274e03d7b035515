//! Pods, by what CNI keeps of the results of its plugins: a file for each attachment (libcni's `cachedInfo`).

use serde::Deserialize;

use crate::names::name::Name;
use crate::names::resolution::{Absent, Found};

/// An interface that a plugin has given a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Namespace of the pod.
    pub namespace: String,
    /// Its name.
    pub pod: String,
    /// The interface as the pod sees it.
    pub interface: String,
    /// Interfaces of the host that the plugin has made for it: the other end, and often a bridge.
    pub host: Vec<String>,
}

#[derive(Deserialize)]
struct Cached {
    kind: String,
    #[serde(rename = "ifName")]
    interface: String,
    #[serde(rename = "cniArgs", default)]
    args: Vec<(String, String)>,
    #[serde(default)]
    result: Result,
}

#[derive(Deserialize, Default)]
struct Result {
    #[serde(default)]
    interfaces: Vec<Made>,
}

#[derive(Deserialize)]
struct Made {
    name: String,
    #[serde(default)]
    sandbox: String,
}

/// Reads one such file; none where it is something else, or of no pod.
pub fn attachment(text: &str) -> Option<Attachment> {
    let cached: Cached = serde_json::from_str(text).ok()?;
    let arg = |name: &str| {
        let found = cached.args.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    };
    (cached.kind == "cniCacheV1").then_some(())?;
    let (namespace, pod) = (arg("K8S_POD_NAMESPACE")?, arg("K8S_POD_NAME")?);
    let made = cached.result.interfaces.into_iter();
    let host = made.filter(|made| made.sandbox.is_empty());
    Some(Attachment {
        namespace,
        pod,
        interface: cached.interface,
        host: host.map(|made| made.name).collect(),
    })
}

impl Attachment {
    /// Its name.
    pub fn name(&self) -> Name {
        Name::Pod {
            namespace: self.namespace.clone(),
            pod: self.pod.clone(),
            interface: self.interface.clone(),
        }
    }
}

/// An interface of a pod. Of one that was made anew there may be old files, whose interfaces are gone.
pub fn pod(all: &[Attachment], (namespace, pod): (&str, &str), interface: &str) -> Found {
    let fits = |one: &&Attachment| {
        one.namespace == namespace && one.pod == pod && one.interface == interface
    };
    let fits: Vec<&Attachment> = all.iter().filter(fits).collect();
    if fits.is_empty() {
        return Found::Absent(Absent::NoPod);
    }
    let mut host: Vec<String> = fits.iter().flat_map(|one| one.host.clone()).collect();
    host.sort();
    host.dedup();
    if host.is_empty() {
        Found::Absent(Absent::NotTold)
    } else {
        Found::OneOf(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_found_in_the_cache() {
        let bridge = include_str!("../../tests/cni/cbr0-6f2a-eth0");
        let calico = include_str!("../../tests/cni/k8s-pod-network-91bc-eth0");
        let old = include_str!("../../tests/cni/old-3b1c-eth0");
        let all: Vec<Attachment> = [bridge, calico, old]
            .into_iter()
            .filter_map(attachment)
            .collect();
        assert_eq!(all.len(), 3);
        let names =
            |names: &[&str]| Found::OneOf(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(
            pod(&all, ("shop", "web-0"), "eth0"),
            names(&["cni0", "veth5d2a91c7"])
        );
        assert_eq!(
            pod(&all, ("shop", "db-0"), "eth0"),
            names(&["cali0ef24b1a2c3"])
        );
        assert_eq!(
            pod(&all, ("shop", "old-0"), "eth0"),
            Found::Absent(Absent::NotTold)
        );
        for (at, interface) in [
            (("shop", "web-1"), "eth0"),
            (("prod", "web-0"), "eth0"),
            (("shop", "web-0"), "net1"),
        ] {
            assert_eq!(pod(&all, at, interface), Found::Absent(Absent::NoPod));
        }
    }

    #[test]
    fn what_is_no_attachment_of_a_pod_is_left_out() {
        for text in [
            "",
            "{}",
            "[]",
            "{\"kind\":\"cniCacheV2\",\"ifName\":\"eth0\"}",
            "{\"kind\":\"cniCacheV1\",\"ifName\":\"eth0\"}",
        ] {
            assert_eq!(attachment(text), None, "{text}");
        }
    }
}
