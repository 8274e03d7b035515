//! Parses text into a checked [`Policy`].

use std::collections::HashSet;

use nicety_model::BitRate;
use nicety_model::source::{Diagnostic, List, Source};
use toml::Spanned;

use super::file::{AdoptWord, Guest, LimitRate, NO_TENANT, PolicyFile, Port, TABLES, TenantFile};
use super::{
    Adopt, DEFAULT_BURST, DEFAULT_HEADROOM, DEFAULT_IDLE_SHARE, DEFAULT_PERIOD, GuestChannel,
    MAX_TENANTS, Policy, PolicyError, Received, Tenant, TenantTotal,
};

impl Policy {
    /// Reads and checks a policy. `file_name` is for messages.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and what to write instead.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyError> {
        let source = Source::new(file_name, text, "the policy")?;
        let file: PolicyFile = source.read(&TABLES, without_ports(&source))?;
        source.judge(file.problems())?;
        let policy = file.policy();
        source.judge(file.problems_among_tenants(&policy))?;
        source.judge(file.problems_of_cluster(&policy))?;
        Ok(policy)
    }
}

/// Tenants with an empty list of ports.
fn without_ports(source: &Source<'_>) -> Vec<Diagnostic> {
    let tenants = source.document().get("tenant");
    let tenants = tenants.and_then(|tenants| tenants.get_ref().as_array());
    let tables = tenants.into_iter().flat_map(|tenants| tenants.iter());
    let tables = tables.filter_map(|tenant| tenant.get_ref().as_table());
    let found = tables.filter_map(|table| {
        let ports = table.get("ports")?;
        let name = table.get("name").and_then(|name| name.get_ref().as_str());
        let what = format!("tenant {:?} has no ports", name.unwrap_or_default());
        let remedy = "name one, as in ports = [\"tap0\"], or remove the tenant";
        let empty = ports.get_ref().as_array()?.is_empty();
        empty.then(|| Diagnostic::new(ports.span().start, what, remedy))
    });
    found.collect()
}

/// Where something stands, or else its table.
fn place<T>(value: &Option<Spanned<T>>, table: usize) -> usize {
    value.as_ref().map_or(table, |value| value.span().start)
}

impl PolicyFile {
    /// What does not go together, in the order of the file.
    fn problems(&self) -> Vec<Diagnostic> {
        let remedy = "add [link] and below it capacity = \"10gbit\", the rate of the shared link";
        let mut found = Vec::new();
        let mut capacity = None;
        match &self.link {
            None => found.push(Diagnostic::new(0, "the policy has no [link]", remedy)),
            Some(link) => match link.get_ref().capacity {
                None => {
                    found.push(Diagnostic::new(
                        link.span().start,
                        "[link] has no capacity",
                        remedy,
                    ));
                }
                Some(LimitRate(rate)) => capacity = Some(rate),
            },
        }
        match self.tenant.first() {
            None => found.push(Diagnostic::new(0, NO_TENANT[0], NO_TENANT[1])),
            Some(first) if self.tenant.len() > MAX_TENANTS => {
                let count = self.tenant.len();
                let what = format!("{count} tenants are more than the {MAX_TENANTS} of one policy");
                found.push(Diagnostic::new(
                    first.span().start,
                    what,
                    "split the policy",
                ));
            }
            Some(_) => {}
        }
        if let Some(cluster) = &self.cluster {
            found.extend(cluster.get_ref().problems(cluster.span().start));
        }
        for tenant in &self.tenant {
            found.extend(tenant.get_ref().problems(tenant.span().start, capacity));
        }
        found.sort_by_key(|found| found.at);
        found
    }

    /// The policy of a file without problems.
    fn policy(&self) -> Policy {
        let link = self.link.as_ref().map(Spanned::get_ref);
        Policy {
            capacity: link
                .and_then(|link| link.capacity)
                .map_or(BitRate(0), |rate| rate.0),
            packets: link.and_then(|link| link.max_pps).map(|pps| pps.0.into()),
            headroom: link
                .and_then(|link| link.headroom)
                .map_or(DEFAULT_HEADROOM, |share| share.0),
            idle_share: link
                .and_then(|link| link.idle_share)
                .map_or(DEFAULT_IDLE_SHARE, |share| share.0),
            period: link
                .and_then(|link| link.period)
                .map_or(DEFAULT_PERIOD, |time| time.0),
            drops: link
                .and_then(|link| link.drops)
                .is_some_and(|drops| drops.0),
            cluster: (self.cluster.as_ref()).map(|cluster| cluster.get_ref().cluster()),
            bills: (self.bills.as_ref()).map(|bills| bills.get_ref().bills()),
            tenants: self
                .tenant
                .iter()
                .map(|tenant| tenant.get_ref().tenant(link.and_then(|link| link.adopt)))
                .collect(),
        }
    }

    /// What the tenants have together and may not, or not that much of, in the order of the file.
    fn problems_among_tenants(&self, policy: &Policy) -> Vec<Diagnostic> {
        let (mut names, mut ports, mut guests) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut guaranteed = Guaranteed::new("guarantee", policy);
        let mut received = Guaranteed::new("rx_guarantee", policy);
        let mut found = Vec::new();
        for (table, tenant) in self.tenant.iter().zip(&policy.tenants) {
            let (at, table) = (table.span().start, table.get_ref());
            if !names.insert(&tenant.name) {
                let what = format!("tenant {:?} is in the policy twice", tenant.name);
                let remedy = "give one of them another name";
                found.push(Diagnostic::new(place(&table.name, at), what, remedy));
            }
            for (Port(port), at) in table.ports.iter().flat_map(List::placed) {
                if !ports.insert(port) {
                    let what = format!("port {port} belongs to another tenant already");
                    found.push(Diagnostic::new(at, what, "remove one of them"));
                }
            }
            let guest = tenant.guest.as_ref().map(ToString::to_string);
            if let Some(guest) = guest.filter(|guest| !guests.insert(guest.clone())) {
                let what = format!("guest = {guest:?} belongs to another tenant already");
                let remedy = "give each tenant a socket of its own";
                found.push(Diagnostic::new(place(&table.guest, at), what, remedy));
            }
            found.extend(guaranteed.add(tenant.guarantee, place(&table.guarantee, at)));
            found.extend(table.problems_of_bursts(tenant, policy));
            let at = place(&table.rx_guarantee, at);
            found.extend(received.add(tenant.received.guarantee, at));
        }
        found.sort_by_key(|found| found.at);
        found
    }
}

/// Guarantees of one direction, up to some tenant.
struct Guaranteed {
    key: &'static str,
    sum: f64,
    shared: f64,
}

impl Guaranteed {
    fn new(key: &'static str, policy: &Policy) -> Self {
        Self {
            key,
            sum: 0.0,
            shared: policy.shared_bps(),
        }
    }

    /// One more; a problem where they are more than the link then.
    fn add(&mut self, guarantee: BitRate, at: usize) -> Option<Diagnostic> {
        self.sum += guarantee.bps();
        let key = self.key;
        let what = || {
            format!(
                "{key}s up to here are {}, more than the {} of the link without its head-room",
                BitRate::from_bps(self.sum),
                BitRate::from_bps(self.shared)
            )
        };
        // One that adds nothing is not the one to lower.
        let exceeds = self.sum > self.shared && guarantee.0 > 0;
        exceeds.then(|| Diagnostic::new(at, what(), format!("lower a {key}")))
    }
}

/// A highest rate below what is guaranteed, or above the link.
fn problems_of_cap(
    [cap_key, guarantee_key]: [&str; 2],
    (cap, guarantee): (&Option<Spanned<LimitRate>>, BitRate),
    link: Option<BitRate>,
) -> Vec<Diagnostic> {
    let Some(spanned) = cap else {
        return Vec::new();
    };
    let (at, LimitRate(cap)) = (spanned.span().start, *spanned.get_ref());
    let mut found = Vec::new();
    if cap < guarantee {
        let what = format!("{cap_key} = {cap} is below the {guarantee_key} of {guarantee}");
        let remedy = format!("raise the {cap_key} or lower the {guarantee_key}");
        found.push(Diagnostic::new(at, what, remedy));
    }
    if let Some(link) = link.filter(|link| cap > *link) {
        let what = format!("{cap_key} = {cap} is above the link's {link}");
        let remedy = format!("lower it, or remove the line for no {cap_key}");
        found.push(Diagnostic::new(at, what, remedy));
    }
    found
}

impl TenantFile {
    /// What does not go together in the table that begins here; the link may have no rate.
    fn problems(&self, at: usize, link: Option<BitRate>) -> Vec<Diagnostic> {
        let tenant = self.tenant(None);
        let mut found = Vec::new();
        if self.name.is_none() {
            let remedy = "add a line such as name = \"blue\"";
            found.push(Diagnostic::new(at, "a tenant has no name", remedy));
        } else if self.ports.is_none() {
            let what = format!("tenant {:?} has no ports", tenant.name);
            found.push(Diagnostic::new(at, what, "add ports = [\"tap0\"]"));
        }
        let sends = (&self.cap, tenant.guarantee);
        found.extend(problems_of_cap(["cap", "guarantee"], sends, link));
        let receives = (&self.rx_max, tenant.received.guarantee);
        found.extend(problems_of_cap(["rx_max", "rx_guarantee"], receives, link));
        found.extend(self.problems_of_packets(link));
        found.extend(self.problems_of_total());
        let wrong = match (&self.guest_uid, &tenant.guest) {
            (Some(_), None) => {
                let remedy = "add guest = \"/run/nicety/a.sock\"";
                Some(("guest_uid without guest", remedy))
            }
            (Some(_), Some(GuestChannel::Vsock { .. })) => {
                let remedy = "remove it: the machine's root may connect, and nobody else";
                Some(("guest_uid with a vsock", remedy))
            }
            _ => None,
        };
        let at = place(&self.guest_uid, at);
        found.extend(wrong.map(|(what, remedy)| Diagnostic::new(at, what, remedy)));
        found
    }

    /// Limits of packets that do not go with others.
    fn problems_of_packets(&self, link: Option<BitRate>) -> Vec<Diagnostic> {
        let keys = [("max_pps", &self.max_pps), ("rx_max_pps", &self.rx_max_pps)];
        let limits = keys
            .into_iter()
            .filter_map(|(key, pps)| Some((key, pps.as_ref()?)));
        let found = limits.filter_map(|(key, pps)| {
            let (at, packets) = (pps.span().start, pps.get_ref().0);
            // The shortest frame is 84 bytes with preamble and gap.
            let most = link.map(|link| link.0 / 8 / 84)?;
            let above = u64::from(packets) > most;
            above.then(|| {
                let what = format!(
                    "{key} = {packets} is above the {most} packets that the link carries a second"
                );
                Diagnostic::new(
                    at,
                    what,
                    format!("lower it, or remove the line for no {key}"),
                )
            })
        });
        let mut found: Vec<Diagnostic> = found.collect();
        if let (Some(pps), Some(_)) = (&self.max_pps, &self.total_max) {
            // The guard, which knows bits only, would take the limit of packets away.
            let what = "max_pps of a tenant with total_max".to_owned();
            let remedy = "remove one of both";
            found.push(Diagnostic::new(pps.span().start, what, remedy));
        }
        found
    }

    /// The tenant of a table without problems, and what the link says of limits of others.
    fn tenant(&self, adopt: Option<AdoptWord>) -> Tenant {
        let name = self.name.as_ref().map(|name| name.get_ref().0.clone());
        let guarantee = self.guarantee.as_ref().map(|rate| rate.get_ref().0);
        let ports = self.ports.iter().flat_map(|ports| ports.iter());
        let own_uid = self.guest_uid.as_ref().map_or(0, |uid| uid.get_ref().0);
        let guest = self
            .guest
            .as_ref()
            .map(|guest| match guest.get_ref().clone() {
                Guest(GuestChannel::Unix { path, .. }) => GuestChannel::Unix { path, uid: own_uid },
                Guest(vsock) => vsock,
            });
        Tenant {
            name: name.unwrap_or_default(),
            weight: self.weight.map_or(1.0, |weight| weight.0),
            guarantee: guarantee.unwrap_or_default(),
            cap: self.cap.as_ref().map(|rate| rate.get_ref().0),
            max_pps: self.max_pps.as_ref().map(|pps| pps.get_ref().0.into()),
            received: Received {
                max_pps: self.rx_max_pps.as_ref().map(|pps| pps.get_ref().0.into()),
                guarantee: (self.rx_guarantee.as_ref()).map_or(BitRate(0), |rate| rate.get_ref().0),
                cap: self.rx_max.as_ref().map(|rate| rate.get_ref().0),
                credit: self.rx_burst.as_ref().map(|burst| burst.get_ref().0),
            },
            total: self.total_max.as_ref().map(|max| TenantTotal {
                max: max.get_ref().0,
                guarantee: (self.total_guarantee.as_ref())
                    .map_or(BitRate(0), |rate| rate.get_ref().0),
            }),
            burst: (self.burst.as_ref())
                .and_then(|burst| burst.get_ref().depth())
                .unwrap_or(DEFAULT_BURST),
            credit: (self.burst.as_ref()).and_then(|burst| burst.get_ref().credit()),
            adopt: (self.adopt.or(adopt)).map_or(Adopt::default(), |word| word.0),
            ports: ports.map(|Port(port)| port.clone()).collect(),
            guest,
        }
    }
}
