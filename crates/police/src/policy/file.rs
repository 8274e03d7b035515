//! A policy as it stands in a file: what [`Policy::parse`](super::Policy::parse) reads and
//! `policy.schema.json` describes.

use std::ops::RangeInclusive;
use std::time::Duration;

use nicety_model::source::{self, Kind, List, Rate, Raw, Time, Top};
use nicety_model::{BitRate, Problem, value_kind, whole_numbers};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{GuestChannel, LEAST_RATE, PortName, PortNameError};

const NAME_CHARS: usize = 64;
const MAX_WEIGHT: f64 = 1e6;

/// What a policy without tenants is answered with.
pub(super) const NO_TENANT: [&str; 2] = [
    "the policy has no tenant",
    "add a line [[tenant]] and below it name = \"a\" and ports = [\"tap0\"]",
];

/// The tables of a policy.
pub(super) const TABLES: [Top; 2] = [
    Top::one("link", "[link]"),
    Top::several(
        "tenant",
        "[[tenant]] with a name and ports below it",
        NO_TENANT,
    ),
];

/// A policy file: who may have how much of a link.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// The shared link.
    #[schemars(with = "LinkFile")]
    pub(super) link: Option<Spanned<LinkFile>>,
    /// Who shares it.
    #[serde(default)]
    #[schemars(with = "Vec<TenantFile>", required)]
    pub(super) tenant: Vec<Spanned<TenantFile>>,
}

/// The shared link.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkFile {
    /// Its rate with a unit, preamble and gap included (L1), as in `10gbit`.
    #[schemars(with = "LimitRate")]
    pub(super) capacity: Option<LimitRate>,
    /// Share of it that is left free, 0 to 0.5; 0.03 when absent.
    pub(super) headroom: Option<Headroom>,
    /// Time between two decisions, 100ms to 60s; `1s` when absent.
    pub(super) period: Option<Period>,
}

/// Somebody with one or several ports.
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
    /// What the tenant never gets more than, as in `800mbit`; the link when absent.
    #[schemars(with = "Option<LimitRate>")]
    pub(super) cap: Option<Spanned<LimitRate>>,
    /// How long a port may send at the link's rate before its limit bites, up to 1s; `4ms` when
    /// absent.
    pub(super) burst: Option<Burst>,
    /// Interfaces, and virtual functions as `eth0/vf3`.
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

whole_numbers! {
    GuestUid 0 to u32::MAX - 1, "the number of a user, as in guest_uid = 64055";
}

/// A tenant's name.
#[derive(Debug, Clone)]
pub(super) struct Name(pub(super) String);

impl Kind for Name {
    const WANTED: &'static str = "a name in quotes, as in name = \"blue\"";

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        let text = source::text(raw)?;
        let fits = !text.trim().is_empty()
            && text.chars().count() <= NAME_CHARS
            && !text.chars().any(char::is_control);
        Some(fits.then(|| Self(text.to_owned())).ok_or_else(|| {
            let remedy = format!("write 1 to {NAME_CHARS} printable characters");
            Problem::new("name = {value} is no name", remedy)
        }))
    }
}

value_kind!(Name, { "type": "string" }, |name| name.0);

/// A share among tenants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight(pub(super) f64);

impl Kind for Weight {
    const WANTED: &'static str = "a number above 0, as in weight = 2";

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        let weight = source::real(raw).filter(|weight| weight.is_finite())?;
        let least = 1.0 / MAX_WEIGHT;
        Some(if weight <= 0.0 {
            let remedy = format!("write {}", Self::WANTED);
            Err(Problem::new("weight = {value} is not above 0", remedy))
        } else if !(least..=MAX_WEIGHT).contains(&weight) {
            Err(Problem::new(
                "weight = {value} is too far from the others",
                format!("write a number between {least} and {MAX_WEIGHT}"),
            ))
        } else {
            Ok(Self(weight))
        })
    }
}

value_kind!(Weight, { "type": "number", "exclusiveMinimum": 0 }, |weight| weight.0);

/// The share of the link left free.
#[derive(Debug, Clone, Copy)]
pub(super) struct Headroom(pub(super) f64);

impl Kind for Headroom {
    const WANTED: &'static str = "the share of the link left free, 0.03 for 3 %";

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        let share = source::real(raw).filter(|share| share.is_finite())?;
        let fits = (0.0..=0.5).contains(&share).then_some(Self(share));
        Some(fits.ok_or_else(|| {
            let remedy = format!("write {}", Self::WANTED);
            Problem::new("headroom = {value} is not between 0 and 0.5", remedy)
        }))
    }
}

value_kind!(Headroom, { "type": "number", "minimum": 0, "maximum": 0.5 }, |share| share.0);

/// A rate that a port can be limited to.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitRate(pub(super) BitRate);

impl Kind for LimitRate {
    const WANTED: &'static str = Rate::WANTED;

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        Some(Rate::of(raw)?.and_then(|Rate(rate)| {
            if rate == BitRate(0) {
                let what = "{key} = {value} lets nothing through";
                Err(Problem::new(what, "write a rate above 0"))
            } else if rate < LEAST_RATE {
                let what = format!("{{key}} = {rate} is below the lowest limit of any port");
                Err(Problem::new(what, format!("write at least {LEAST_RATE}")))
            } else {
                Ok(Self(rate))
            }
        }))
    }
}

value_kind!(LimitRate, { "type": "string" }, |rate| rate.0.to_string());

/// A duration between two others.
fn between(
    raw: Raw<'_>,
    range: RangeInclusive<Duration>,
    example: &str,
) -> Option<Result<Duration, Problem>> {
    Some(Time::of(raw)?.and_then(|Time(time)| {
        let fits = range.contains(&time).then_some(time);
        fits.ok_or_else(|| {
            let (low, high) = range.into_inner();
            let what = format!("{{key}} = {{value}} is outside {low:?} to {high:?}");
            Problem::new(what, format!("write a duration such as \"{example}\""))
        })
    }))
}

macro_rules! durations {
    ($($name:ident $low:expr, $high:literal s, $example:literal;)+) => {$(
        #[doc = concat!("A duration such as ", $example, ".")]
        #[derive(Debug, Clone, Copy)]
        pub(super) struct $name(pub(super) Duration);

        impl Kind for $name {
            const WANTED: &'static str = concat!("a duration in quotes, as in \"", $example, "\"");

            fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
                let time = between(raw, $low..=Duration::from_secs($high), $example)?;
                Some(time.map(Self))
            }
        }

        value_kind!($name, { "type": "string" }, |time| Time(time.0));
    )+};
}

durations! {
    Period Duration::from_millis(100), 60 s, "1s";
    Burst Duration::ZERO, 1 s, "4ms";
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Port(pub(super) PortName);

impl Kind for Port {
    const WANTED: &'static str = "interfaces in quotes, as in ports = [\"tap0\", \"eth0/vf3\"]";

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        let port = source::text(raw)?.parse().map(Self);
        Some(port.map_err(|error: PortNameError| error.problem()))
    }
}

value_kind!(Port, { "type": "string" }, |port| port.0);

/// Where a guest reaches the daemon; a socket belongs to root yet.
#[derive(Debug, Clone)]
pub(super) struct Guest(pub(super) GuestChannel);

impl Kind for Guest {
    const WANTED: &'static str = "a path in quotes, as in guest = \"/run/nicety/a.sock\"";

    fn of(raw: Raw<'_>) -> Option<Result<Self, Problem>> {
        let text = source::text(raw)?;
        if let Some(cid) = text.strip_prefix("vsock:") {
            // Of the numbers below 3 only 1, this machine, can connect.
            let cid = cid
                .parse()
                .ok()
                .filter(|cid| ![0, 2, u32::MAX].contains(cid));
            let guest = cid.map(|cid| Self(GuestChannel::Vsock { cid }));
            return Some(guest.ok_or_else(|| {
                let remedy = "write the number that QEMU gives it, as in guest = \"vsock:5\"";
                Problem::new("guest = {value} names no virtual machine", remedy)
            }));
        }
        // sun_path of unix(7), with its NUL.
        let fits = text.starts_with('/') && text.len() <= 107 && !text.contains('\0');
        let (path, uid) = (text.to_owned(), 0);
        let guest = fits.then_some(Self(GuestChannel::Unix { path, uid }));
        Some(guest.ok_or_else(|| {
            Problem::new(
                "guest = {value} is no absolute path of at most 107 bytes",
                "write one as in guest = \"/run/nicety/a.sock\"",
            )
        }))
    }
}

value_kind!(Guest, { "type": "string" }, |guest| guest.0.to_string());
