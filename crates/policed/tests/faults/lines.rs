//! Whether the hosts' logs name an accident, in one line each.

use std::time::Duration;

use crate::kind::Kind;
use crate::slot::{HOSTS, Slot};

/// What was wrong with the lines since the slot was settled, and one line that named the accident.
pub fn check(
    slot: &mut Slot,
    kind: Kind,
    victim: usize,
    lasted: Duration,
) -> (Vec<String>, Option<String>) {
    let (mut wrong, mut named) = (Vec::new(), None);
    // Longer than any margin: the host has fallen back, and the store has ended its lease.
    let fell = lasted > slot.ttl + Duration::from_secs(1);
    let said: Vec<Vec<(String, String)>> =
        slot.hosts.iter_mut().map(crate::slot::Host::said).collect();
    for (host, said) in said.iter().enumerate() {
        let of = |wanted: &str| {
            let is = |line: &&(String, String)| line.0 == wanted;
            said.iter()
                .filter(is)
                .map(|line| line.1.as_str())
                .collect::<Vec<_>>()
        };
        let is_hit = kind.of_all() || host == victim;
        // A member that comes back with an expired certificate has gone before: two accidents.
        let most = if kind == Kind::Expired { 2 } else { 1 };
        for name in ["etcd-trouble", "fell-back", "unreadable-keys", "panic"] {
            let lines = of(name);
            if lines.len() > most || (name == "panic" && !lines.is_empty()) {
                wrong.push(format!(
                    "host {host}: {} lines of {name}: {lines:#?}",
                    lines.len()
                ));
            }
        }
        let causes = of("etcd-trouble");
        if is_hit
            && !kind.cause().is_empty()
            && (fell || !matches!(kind, Kind::HostCut | Kind::LeaderCut))
        {
            let fits = |line: &&&str| kind.cause().iter().any(|cause| line.contains(cause));
            match causes.iter().find(fits) {
                Some(line) => named = Some((*line).to_owned()),
                None => wrong.push(format!("host {host}: no line names it: {said:#?}")),
            }
        }
        // A full etcd keeps leases; who is started anew has nothing to fall from.
        let falls = match kind {
            Kind::HostCut | Kind::LeaderCut | Kind::DaemonStopped => fell && host == victim,
            Kind::MajorityCut | Kind::Expired => fell,
            _ => false,
        };
        let fallen = of("fell-back");
        if falls && fallen.is_empty() {
            wrong.push(format!(
                "host {host}: no line says that it fell back: {said:#?}"
            ));
        }
        if kind == Kind::DaemonStopped && host == victim {
            named = fallen.first().map(|line| (*line).to_owned());
        }
        if matches!(kind, Kind::LeaderKilled | Kind::DaemonKilled) && fell && host != victim {
            let lost = of("host-lost");
            named = named.or(lost.first().map(|line| (*line).to_owned()));
        }
        if kind == Kind::NewerSchema {
            let unreadable = of("unreadable-keys").into_iter().chain(causes);
            let mut fits = unreadable.filter(|line| line.contains("run the same nicety"));
            named = named.or(fits.next().map(str::to_owned));
        }
        if kind == Kind::OtherFields && said.iter().any(|line| line.0 != "leader" && line.0 != "-")
        {
            wrong.push(format!("host {host}: {said:#?}"));
        }
    }
    let must = match kind {
        Kind::LeaderKilled | Kind::DaemonKilled => fell,
        Kind::NewerSchema => true,
        _ => false,
    };
    if must && named.is_none() {
        wrong.push(format!("none of {HOSTS} hosts names it: {said:#?}"));
    }
    (wrong, named)
}
