//! What keeps a session from its work, each in one line: what, why, what to do.

use std::error::Error as _;
use std::path::PathBuf;

use etcd_client::Error;

/// What keeps a session from its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// A file that `[cluster]` names.
    #[error("cannot use {key} = {:?} of [cluster]: {why}; correct the file, or its name in the policy", path.display())]
    File {
        /// The key.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// No connection.
    #[error(
        "cannot reach etcd at {endpoint}: {why}; check endpoints of [cluster], and that etcd runs there"
    )]
    Unreachable {
        /// URL.
        endpoint: String,
        /// Why.
        why: String,
    },
    /// One of the two does not trust the other.
    #[error("no secure connection to etcd at {endpoint}: {why}; {}", remedy(why))]
    Tls {
        /// URL.
        endpoint: String,
        /// Why.
        why: String,
    },
    /// etcd does not answer in time.
    #[error(
        "etcd at {endpoint} does not answer; perhaps most of its members are down: run etcdctl endpoint health"
    )]
    Silent {
        /// URL.
        endpoint: String,
    },
    /// Wrong user or password.
    #[error(
        "etcd at {endpoint} refuses the user: {why}; check user and password_file of [cluster]"
    )]
    Login {
        /// URL.
        endpoint: String,
        /// What it says.
        why: String,
    },
    /// The user may not.
    #[error(
        "etcd does not let the user read and write below {prefix}: {why}; grant it with etcdctl role grant-permission"
    )]
    Denied {
        /// The prefix.
        prefix: String,
        /// What it says.
        why: String,
    },
    /// etcd takes no more writes.
    #[error(
        "etcd is full (NOSPACE) and takes no writes; compact and defragment it, then run etcdctl alarm disarm"
    )]
    NoSpace,
    /// Somebody else's prefix.
    #[error(
        "the prefix {prefix} is used by something else: it holds {key}; choose another prefix of [cluster]"
    )]
    Foreign {
        /// The prefix.
        prefix: String,
        /// A key, or what stands in the schema's.
        key: String,
    },
    /// Another version's prefix.
    #[error(
        "the prefix {prefix} is of another version ({found:?}, this one is {:?}); run the same nicety everywhere, or choose another prefix of [cluster]",
        nicety_police::cluster::wire::MARKER
    )]
    OtherSchema {
        /// The prefix.
        prefix: String,
        /// What stands there.
        found: String,
    },
    /// Another host has the name.
    #[error(
        "another machine has the name {host} at etcd ({}); give this one another --label",
        machine_words(machine)
    )]
    NameTaken {
        /// The name.
        host: String,
        /// The other's mark; empty where its entry cannot be read.
        machine: String,
    },
    /// The lease has ended.
    #[error("the lease has ended at etcd: it heard nothing for longer than the lease lives")]
    LeaseEnded,
    /// The daemon's loop stands still, so its lease is not renewed.
    #[error("the daemon does not get on, so its lease is not renewed; see nicety police status")]
    Stalled,
    /// Anything else.
    #[error("etcd at {endpoint} answers: {why}; see the log of etcd there")]
    Other {
        /// URL.
        endpoint: String,
        /// What it says.
        why: String,
    },
}

fn machine_words(machine: &str) -> String {
    match machine {
        "" => "its entry cannot be read".to_owned(),
        machine => format!("machine {machine}"),
    }
}

/// Where etcd has perhaps refused this host's certificate.
const CERTIFICATE: &str =
    "check cert and key of [cluster]: etcd may ask for a certificate of its own authority";

fn is_alert(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    why.contains("alert") || why.contains("certificate")
}

/// What to do about a TLS failure, by rustls' words for it.
fn remedy(why: &str) -> &'static str {
    let why = why.to_ascii_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if any(&["unknownissuer", "unknown issuer", "badsignature"]) {
        "name the authority that signed its certificate as ca of [cluster]"
    } else if any(&["expired"]) {
        "renew that certificate, and check both clocks"
    } else if any(&["notvalidforname", "not valid for name"]) {
        "write endpoints of [cluster] as its certificate names them"
    } else if any(&[
        "certificaterequired",
        "badcertificate",
        "unknownca",
        "alert",
        "closed",
        "broken pipe",
        "reset",
    ]) {
        CERTIFICATE
    } else {
        "check ca, cert and key of [cluster]"
    }
}

/// All that an error says, from the outside in; the same words once.
fn chain(error: &Error) -> Vec<String> {
    let mut all = Vec::new();
    if let Error::GRpcStatus(status) = error {
        all.push(status.message().to_owned());
    }
    let mut next = match error {
        Error::GRpcStatus(status) => status.source(),
        Error::TransportError(transport) => {
            all.push(transport.to_string());
            transport.source()
        }
        other => {
            all.push(other.to_string());
            None
        }
    };
    while let Some(error) = next {
        let words = error.to_string();
        if all.last() != Some(&words) {
            all.push(words);
        }
        next = error.source();
    }
    // rustls adds where its manual explains it, which is no help here.
    all.iter_mut().for_each(|words| {
        if let Some(end) = words.find(": https://docs.rs/") {
            words.truncate(end);
        }
    });
    all
}

impl Trouble {
    /// What an error of the client is about.
    pub(crate) fn of(error: &Error, endpoint: &str, prefix: &str) -> Self {
        let words = chain(error);
        let inmost = words.last().cloned().unwrap_or_default();
        let endpoint = endpoint.to_owned();
        let says = |part: &str| words.iter().any(|word| word.contains(part));
        if says("space exceeded") {
            return Self::NoSpace;
        }
        if says("lease not found") {
            return Self::LeaseEnded;
        }
        if says("authentication failed")
            || says("invalid auth token")
            || says("user name is empty")
            || says("authentication is not enabled")
        {
            return Self::Login {
                endpoint,
                why: inmost,
            };
        }
        if says("permission denied") {
            return Self::Denied {
                prefix: prefix.to_owned(),
                why: inmost,
            };
        }
        if says("no leader") || says("request timed out") || says("deadline") || says("Timeout") {
            return Self::Silent { endpoint };
        }
        let secure = endpoint.starts_with("https://");
        let tls = [
            "certificate",
            "alert",
            "tls",
            "TLS",
            "corrupt message",
            "handshake",
        ];
        // A server that asks for a certificate closes the stream when it has seen another one.
        let closed = [
            "stream closed",
            "broken pipe",
            "connection closed",
            "connection reset",
        ];
        let closed = closed.iter().any(|part| says(part));
        if secure && (closed || tls.iter().any(|part| says(part))) {
            return Self::Tls {
                endpoint,
                why: inmost,
            };
        }
        if closed || says("transport error") || says("tcp connect error") || says("dns error") {
            Self::Unreachable {
                endpoint,
                why: inmost,
            }
        } else {
            Self::Other {
                endpoint,
                why: inmost,
            }
        }
    }

    /// The same for a connection that has worked: one that closes then was not refused.
    #[must_use]
    pub(crate) fn once_joined(self) -> Self {
        match self {
            Self::Tls { endpoint, why } if remedy(&why) == CERTIFICATE && !is_alert(&why) => {
                Self::Unreachable { endpoint, why }
            }
            other => other,
        }
    }

    /// Whether a reader who knows the other learns nothing new: the same is wrong, be it at another endpoint. An
    /// etcd that cannot be reached may refuse, be silent or close what it has begun, one after the other.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let away = |of: &Self| {
            matches!(
                of,
                Self::Unreachable { .. } | Self::Silent { .. } | Self::Other { .. }
            )
        };
        let what = std::mem::discriminant;
        if let (Self::Tls { why, .. }, Self::Tls { why: of_other, .. }) = (self, other) {
            return remedy(why) == remedy(of_other);
        }
        what(self) == what(other) && !matches!(self, Self::File { .. })
            || self == other
            || away(self) && away(other)
    }

    /// Whether the connection is of no more use; else what could not be done is tried again over it.
    pub(crate) fn breaks(&self) -> bool {
        !matches!(self, Self::NoSpace | Self::NameTaken { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(why: &str) -> Trouble {
        Trouble::Tls {
            endpoint: "https://a:1".to_owned(),
            why: why.to_owned(),
        }
    }

    #[test]
    fn the_same_fault_elsewhere_is_no_news_and_another_one_is() {
        let silent = |endpoint: &str| Trouble::Silent {
            endpoint: endpoint.to_owned(),
        };
        let refused = Trouble::Unreachable {
            endpoint: "b".to_owned(),
            why: "refused".to_owned(),
        };
        assert!(silent("a").is_like(&silent("b")) && silent("a").is_like(&refused));
        assert!(!silent("a").is_like(&Trouble::NoSpace));
        let file = |key| Trouble::File {
            key,
            path: "f".into(),
            why: String::new(),
        };
        assert!(file("ca").is_like(&file("ca")) && !file("ca").is_like(&file("cert")));
        let expired = tls("invalid peer certificate: Expired");
        assert!(!expired.is_like(&tls("connection closed")));
        assert!(expired.is_like(&tls("certificate expired: verification time 7")));
    }

    #[test]
    fn a_connection_that_has_worked_was_not_refused() {
        let closed = tls("peer closed connection without sending TLS close_notify");
        assert!(matches!(
            closed.clone().once_joined(),
            Trouble::Unreachable { .. }
        ));
        for refused in [
            "received fatal alert: BadCertificate",
            "invalid peer certificate: Expired",
        ] {
            assert_eq!(tls(refused).once_joined(), tls(refused));
        }
    }
}
