//! A policy as it stands in a file: what [`Policy::parse`](super::Policy::parse) reads and
//! `policy.schema.json` describes.

use std::time::Duration;

use nicety_model::source::{Kind, List, Rate, Raw, Time, Top, Wrong};
use nicety_model::{BitRate, integers, kind};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::bills_file::BillsFile;
use super::burst_file::{Burst, BurstCredit};
use super::cluster_file::ClusterFile;
use super::{Adopt, GuestChannel, LEAST_RATE, PortName, PortNameError};

const NAME_CHARS: usize = 64;
const MAX_WEIGHT: f64 = 1e6;

/// Message for a policy without tenants.
pub(super) const NO_TENANT: [&str; 2] = [
    "the policy has no tenant",
    "add a line [[tenant]] and below it name = \"a\" and ports = [\"tap0\"]",
];

/// The tables of a policy.
pub(super) const TABLES: [Top; 4] = [
    ("link", "[link]", None),
    ("bills", "[bills]", None),
    ("cluster", "[cluster]", None),
    (
        "tenant",
        "[[tenant]] with a name and ports below it",
        Some(NO_TENANT),
    ),
];

/// A policy file: how much of a link each tenant may have.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["link", "tenant"]))]
pub struct PolicyFile {
    /// The shared link.
    #[schemars(with = "LinkFile")]
    pub(super) link: Option<Spanned<LinkFile>>,
    /// Where hosts share the tenants' totals; absent: each host for itself.
    #[schemars(with = "Option<ClusterFile>")]
    pub(super) cluster: Option<Spanned<ClusterFile>>,
    /// What every tenant sends and receives is kept; absent: it is not.
    #[schemars(with = "Option<BillsFile>")]
    pub(super) bills: Option<Spanned<BillsFile>>,
    /// Tenants that share it.
    #[serde(default)]
    #[schemars(with = "Vec<TenantFile>")]
    pub(super) tenant: Vec<Spanned<TenantFile>>,
}

/// The shared link.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkFile {
    /// Its rate with a unit, preamble and gap included (L1), as in `10gbit`.
    #[schemars(with = "LimitRate")]
    pub(super) capacity: Option<LimitRate>,
    /// Packets a second that the host carries for all tenants in one direction, as in `2000000`. Tenants then share
    /// bits and packets, each by what it uses most of. Not shared when absent.
    #[schemars(with = "Option<MaxPps>")]
    pub(super) max_pps: Option<MaxPps>,
    /// Share of it that is left free, 0 to 0.5; 0.03 when absent.
    pub(super) headroom: Option<Headroom>,
    /// Part of its fair share that a tenant which sends little may begin with, 0.01 to 1; 1 when absent.
    pub(super) idle_share: Option<IdleShare>,
    /// Time between two decisions, 100ms to 60s; `1s` when absent.
    pub(super) period: Option<Period>,
    /// What to do with limits that other programs have set at ports: `refuse`, `cap` or `replace`; `refuse` when
    /// absent.
    pub(super) adopt: Option<AdoptWord>,
    /// Count what the kernel drops of each tenant's packets, for the metrics: `count` or `off`; `off` when absent.
    pub(super) drops: Option<DropsWord>,
}

/// A tenant with one or several ports.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantFile {
    /// Name.
    #[schemars(with = "Name")]
    pub(super) name: Option<Spanned<Name>>,
    /// Share of what is not guaranteed, relative to the others'; 1 when absent.
    pub(super) weight: Option<Weight>,
    /// What the tenant always gets when it has the demand, as in `300mbit`; none when absent.
    #[schemars(with = "Option<Rate>")]
    pub(super) guarantee: Option<Spanned<Rate>>,
    /// Maximum sending rate, as in `800mbit`; the link when absent.
    #[schemars(with = "Option<LimitRate>")]
    pub(super) cap: Option<Spanned<LimitRate>>,
    /// What all hosts of the cluster send together at most, as in `20gbit`.
    #[schemars(with = "Option<LimitRate>")]
    pub(super) total_max: Option<Spanned<LimitRate>>,
    /// What the tenant gets on all hosts together when it has the demand; none when absent.
    #[schemars(with = "Option<Rate>")]
    pub(super) total_guarantee: Option<Spanned<Rate>>,
    /// Maximum receiving rate, as in `800mbit`; the link when absent.
    #[schemars(with = "Option<LimitRate>")]
    pub(super) rx_max: Option<Spanned<LimitRate>>,
    /// Guaranteed receiving rate, as in `300mbit`; none when absent. As soon as one
    /// tenant has it, what all tenants receive is shared.
    #[schemars(with = "Option<Rate>")]
    pub(super) rx_guarantee: Option<Spanned<Rate>>,
    /// Packets a second that the tenant never sends more than, as in `20000`; one above 1,538 bytes on the wire counts
    /// as several. Not limited when absent.
    #[schemars(with = "Option<MaxPps>")]
    pub(super) max_pps: Option<Spanned<MaxPps>>,
    /// The same of what the tenant receives.
    #[schemars(with = "Option<MaxPps>")]
    pub(super) rx_max_pps: Option<Spanned<MaxPps>>,
    /// How long a port may send at the link's rate before its limit bites, up to 1s; `4ms` when absent. Or a burst
    /// credit above `cap`, for all ports together, as in `2s at 2x, refilled at 0.1x`.
    #[schemars(with = "Option<Burst>")]
    pub(super) burst: Option<Spanned<Burst>>,
    /// A burst credit above `rx_max`, as in `2s at 2x, refilled at 0.1x`; none when absent.
    #[schemars(with = "Option<BurstCredit>")]
    pub(super) rx_burst: Option<Spanned<BurstCredit>>,
    /// The same as in `[link]`, for the ports of this tenant.
    pub(super) adopt: Option<AdoptWord>,
    /// Interfaces, virtual functions as `eth0/vf3`, and names such as `libvirt:web01/net0`.
    #[schemars(with = "List<Port>")]
    pub(super) ports: Option<List<Port>>,
    /// Where its guest may ask and set a soft limit: path of a socket, or `vsock:` and the number
    /// of the machine.
    #[schemars(with = "Option<Guest>")]
    pub(super) guest: Option<Spanned<Guest>>,
    /// User who may use that socket, besides root; 0 when absent.
    #[schemars(with = "Option<GuestUid>")]
    pub(super) guest_uid: Option<Spanned<GuestUid>>,
}

integers! {
    MaxPps 10 to 1_000_000_000u32, "a number of packets a second, at least 10, as in max_pps = 20000";
    GuestUid 0 to u32::MAX - 1, "the number of a user, as in guest_uid = 64055";
}

/// A tenant's name.
#[derive(Debug, Clone, JsonSchema)]
pub(super) struct Name(pub(super) String);

kind!(Name, "a name in quotes, as in name = \"blue\"", |raw| {
    let text = raw.text()?;
    let fits = !text.trim().is_empty()
        && text.chars().count() <= NAME_CHARS
        && !text.chars().any(nicety_model::visible::is_hidden);
    fits.then(|| Self(text.to_owned())).ok_or_else(|| {
        let remedy = format!("write 1 to {NAME_CHARS} printable characters");
        Wrong::value("name = {value} is not a name", remedy)
    })
});

/// A share among tenants.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct Weight(#[schemars(range(min = 0))] pub(super) f64);

kind!(Weight, "a number above 0, as in weight = 2", |raw| {
    let least = 1.0 / MAX_WEIGHT;
    match raw.real()? {
        weight if !weight.is_finite() => Err(Wrong::Type),
        weight if weight <= 0.0 => {
            let remedy = format!("write {}", Self::WANTED);
            Err(Wrong::value("weight = {value} is not above 0", remedy))
        }
        weight if (least..=MAX_WEIGHT).contains(&weight) => Ok(Self(weight)),
        _ => Err(Wrong::value(
            "weight = {value} is too far from the others",
            format!("write a number between {least} and {MAX_WEIGHT}"),
        )),
    }
});

/// The share of the link left free.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct Headroom(#[schemars(range(min = 0, max = 0.5))] pub(super) f64);

kind!(
    Headroom,
    "the share of the link left free, 0.03 for 3 %",
    |raw| {
        match raw.real()? {
            share if !share.is_finite() => Err(Wrong::Type),
            share if (0.0..=0.5).contains(&share) => Ok(Self(share)),
            _ => Err(Wrong::value(
                "headroom = {value} is not between 0 and 0.5",
                format!("write {}", Self::WANTED),
            )),
        }
    }
);

/// The part of its fair share that an idle tenant may begin with.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct IdleShare(#[schemars(range(min = 0.01, max = 1))] pub(super) f64);

kind!(
    IdleShare,
    "the part of its share that an idle tenant may begin with, 0.1 for 10 %",
    |raw| {
        match raw.real()? {
            share if !share.is_finite() => Err(Wrong::Type),
            share if (0.01..=1.0).contains(&share) => Ok(Self(share)),
            _ => Err(Wrong::value(
                "idle_share = {value} is not between 0.01 and 1",
                format!("write {}", Self::WANTED),
            )),
        }
    }
);

/// A rate that a port can be limited to.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct LimitRate(#[schemars(with = "String")] pub(super) BitRate);

kind!(LimitRate, Rate::WANTED, |raw| {
    match Rate::of(raw)?.0 {
        BitRate(0) => Err(Wrong::value(
            "{key} = {value} lets nothing through",
            "write a rate above 0",
        )),
        rate if rate < LEAST_RATE => Err(Wrong::value(
            format!("{{key}} = {rate} is below the lowest limit of any port"),
            format!("write at least {LEAST_RATE}"),
        )),
        rate => Ok(Self(rate)),
    }
});

/// A duration within a range, in milliseconds.
pub(super) fn between(raw: Raw<'_>, range: [u64; 2], example: &str) -> Result<Duration, Wrong> {
    let [low, high] = range.map(Duration::from_millis);
    let Time(time) = Time::of(raw)?;
    if !(low..=high).contains(&time) {
        return Err(Wrong::value(
            format!("{{key}} = {{value}} is outside {low:?} to {high:?}"),
            format!("write a duration such as \"{example}\""),
        ));
    }
    Ok(time)
}

/// A control period.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct Period(#[schemars(with = "String")] pub(super) Duration);

kind!(Period, "a duration in quotes, as in \"1s\"", |raw| {
    between(raw, [100, 60_000], "1s").map(Self)
});

/// What to do with limits of other programs.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct AdoptWord(#[schemars(with = "String")] pub(super) Adopt);

kind!(AdoptWord, "\"refuse\", \"cap\" or \"replace\"", |raw| {
    match raw.text()? {
        "refuse" => Ok(Self(Adopt::Refuse)),
        "cap" => Ok(Self(Adopt::Cap)),
        "replace" => Ok(Self(Adopt::Replace)),
        _ => Err(Wrong::value(
            "adopt = {value} is unknown",
            "write \"cap\" to share below what others have set, \"replace\" to take its place, or \"refuse\"",
        )),
    }
});

/// Whether dropped packets are counted.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct DropsWord(#[schemars(with = "String")] pub(super) bool);

kind!(DropsWord, "\"count\" or \"off\"", |raw| {
    match raw.text()? {
        "count" => Ok(Self(true)),
        "off" => Ok(Self(false)),
        _ => Err(Wrong::value(
            "drops = {value} is unknown",
            "write \"count\" to count what the kernel drops, which needs CAP_BPF and CAP_PERFMON, or \"off\"",
        )),
    }
});

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
pub(super) struct Port(#[schemars(with = "String")] pub(super) PortName);

kind!(
    Port,
    "interfaces in quotes, as in ports = [\"tap0\", \"eth0/vf3\"]",
    |raw| {
        let port = raw.text()?.parse().map(Self);
        port.map_err(|error: PortNameError| Wrong::Value(error.problem()))
    }
);

/// Where a guest reaches the daemon: a socket, of root as yet, or the number of its machine.
#[derive(Debug, Clone, JsonSchema)]
pub(super) struct Guest(#[schemars(with = "String")] pub(super) GuestChannel);

kind!(
    Guest,
    "a path in quotes, as in guest = \"/run/nicety/a.sock\"",
    |raw| {
        let text = raw.text()?;
        if let Some(cid) = text.strip_prefix("vsock:") {
            return match cid.parse() {
                // Of the numbers below 3 only 1, this machine, can connect.
                Ok(cid) if ![0, 2, u32::MAX].contains(&cid) => {
                    Ok(Self(GuestChannel::Vsock { cid }))
                }
                _ => Err(Wrong::value(
                    "guest = {value} names no virtual machine",
                    "write the number that QEMU gives it, as in guest = \"vsock:5\"",
                )),
            };
        }
        // sun_path of unix(7), with its NUL.
        if !text.starts_with('/') || text.len() > 107 || text.contains('\0') {
            return Err(Wrong::value(
                "guest = {value} is not an absolute path of at most 107 bytes",
                "write one as in guest = \"/run/nicety/a.sock\"",
            ));
        }
        let (path, uid) = (text.to_owned(), 0);
        Ok(Self(GuestChannel::Unix { path, uid }))
    }
);
