//! From text to a checked [`Policy`].

use std::collections::HashSet;
use std::time::Duration;

use nicety_model::BitRate;
use nicety_model::plan::parse_duration;
use nicety_model::plan::read::{Entry, Section, Source};
use toml::de::DeValue;

use super::{
    DEFAULT_BURST, DEFAULT_HEADROOM, DEFAULT_PERIOD, GuestChannel, LEAST_RATE, MAX_TENANTS, Policy,
    PolicyError, PortName, Tenant,
};

const NAME_CHARS: usize = 64;
const MAX_WEIGHT: f64 = 1e6;
const PERIODS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));
const BURSTS: (Duration, Duration) = (Duration::from_micros(0), Duration::from_secs(1));
const NO_TENANT: &str = "add a line [[tenant]] and below it name = \"a\" and ports = [\"tap0\"]";

type Found<'s, 'd> = Section<'s, 'd>;

impl Policy {
    /// Reads and checks a policy. `file_name` is for messages.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and what to write instead.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyError> {
        let source = Source {
            file: file_name,
            text,
        };
        let document = source.document()?;
        let known = ["link", "tenant"];
        let top = Section::open(source, "the policy", document.get_ref(), &known)?;
        let mut policy = link(&top)?;
        let items = tenant_items(&top)?;
        let mut names = HashSet::new();
        let mut ports = HashSet::new();
        let mut channels = HashSet::new();
        let mut guaranteed = 0.0;
        for item in &items {
            let wanted = "[[tenant]] with a name and ports below it";
            let keys = [
                "name",
                "weight",
                "guarantee",
                "cap",
                "burst",
                "ports",
                "guest",
                "guest_uid",
            ];
            let section = Section::open(source, "[[tenant]]", item.table(wanted)?, &keys)?;
            let tenant = tenant(&section, item, &policy, &mut ports)?;
            if !names.insert(tenant.name.clone()) {
                let at = section.get("name").unwrap_or(*item);
                return Err(at.error(
                    format!("tenant {:?} is in the policy twice", tenant.name),
                    "give one of them another name",
                ));
            }
            guaranteed += tenant.guarantee.bps();
            if guaranteed > policy.shared_bps() {
                let at = section.get("guarantee").unwrap_or(*item);
                return Err(at.error(
                    format!(
                        "guarantees up to here are {}, more than the {} of the link without its head-room",
                        BitRate::from_bps(guaranteed),
                        BitRate::from_bps(policy.shared_bps())
                    ),
                    "lower a guarantee",
                ));
            }
            if let Some(guest) = &tenant.guest
                && !channels.insert(guest.to_string())
            {
                let at = section.get("guest").unwrap_or(*item);
                let guest = guest.to_string();
                return Err(at.error(
                    format!("guest = {guest:?} belongs to another tenant already"),
                    "give each tenant a socket of its own",
                ));
            }
            policy.tenants.push(tenant);
        }
        Ok(policy)
    }
}

fn tenant_items<'t, 'd>(top: &Found<'t, 'd>) -> Result<Vec<Entry<'t, 'd>>, PolicyError> {
    let Some(entry) = top.get("tenant") else {
        return Err(top.source.error(0, "the policy has no tenant", NO_TENANT));
    };
    match entry.value.get_ref() {
        DeValue::Array(items) if items.is_empty() => {
            Err(entry.error("the policy has no tenant", NO_TENANT))
        }
        DeValue::Array(items) if items.len() > MAX_TENANTS => Err(entry.error(
            format!(
                "{} tenants are more than the {MAX_TENANTS} of one policy",
                items.len()
            ),
            "split the policy",
        )),
        DeValue::Table(_) => Err(entry.error(
            "[tenant] is a single table",
            "write [[tenant]] in double brackets",
        )),
        _ => entry.items(),
    }
}

/// `[link]`; the tenants are still missing.
fn link(top: &Found<'_, '_>) -> Result<Policy, PolicyError> {
    let fix = "add [link] and below it capacity = \"10gbit\", the rate of the shared link";
    let Some(entry) = top.get("link") else {
        return Err(top.source.error(0, "the policy has no [link]", fix));
    };
    let keys = ["capacity", "headroom", "period"];
    let section = Section::open(top.source, "[link]", entry.table("[link]")?, &keys)?;
    let Some(capacity) = section.get("capacity") else {
        return Err(entry.error("[link] has no capacity", fix));
    };
    let headroom = match section.get("headroom") {
        None => DEFAULT_HEADROOM,
        Some(entry) => {
            let wanted = "the share of the link left free, 0.03 for 3 %";
            match entry.number(wanted)? {
                share if (0.0..=0.5).contains(&share) => share.abs(),
                _ => {
                    let what = format!("headroom = {} is not between 0 and 0.5", entry.quote());
                    return Err(entry.error(what, format!("write {wanted}")));
                }
            }
        }
    };
    let period = duration(section.get("period"), DEFAULT_PERIOD, PERIODS, "1s")?;
    Ok(Policy {
        capacity: positive_rate(&capacity)?,
        headroom,
        period,
        tenants: Vec::new(),
    })
}

/// One `[[tenant]]`; `taken` are the ports of those before.
fn tenant(
    section: &Found<'_, '_>,
    item: &Entry<'_, '_>,
    policy: &Policy,
    taken: &mut HashSet<PortName>,
) -> Result<Tenant, PolicyError> {
    let name = name(section, item)?;
    let weight = match section.get("weight") {
        None => 1.0,
        Some(entry) => weight(&entry)?,
    };
    let guarantee = section.get("guarantee").as_ref().map(rate).transpose()?;
    let guarantee = guarantee.unwrap_or_default();
    let cap = match section.get("cap") {
        None => None,
        Some(entry) => {
            let cap = positive_rate(&entry)?;
            if cap < guarantee {
                return Err(entry.error(
                    format!("cap = {cap} is below the guarantee of {guarantee}"),
                    "raise the cap or lower the guarantee",
                ));
            }
            if cap > policy.capacity {
                return Err(entry.error(
                    format!("cap = {cap} is above the link's {}", policy.capacity),
                    "lower it, or remove the line for no cap",
                ));
            }
            Some(cap)
        }
    };
    let burst = duration(section.get("burst"), DEFAULT_BURST, BURSTS, "4ms")?;
    let Some(entry) = section.get("ports") else {
        return Err(item.error(
            format!("tenant {name:?} has no ports"),
            "add ports = [\"tap0\"]",
        ));
    };
    if entry.items().is_err() {
        return Err(entry.error(
            format!("tenant {name:?} has no ports"),
            "name one, as in ports = [\"tap0\"], or remove the tenant",
        ));
    }
    let ports = entry.list(|item| {
        let text = item.string("interfaces in quotes, as in ports = [\"tap0\", \"eth0/vf3\"]")?;
        let port = text.parse::<PortName>().map_err(|error| {
            let problem = error.problem();
            item.error(problem.what, problem.remedy)
        })?;
        if taken.contains(&port) {
            return Err(item.error(
                format!("port {port} belongs to another tenant already"),
                "remove one of them",
            ));
        }
        Ok(port)
    })?;
    taken.extend(ports.iter().cloned());
    Ok(Tenant {
        name,
        weight,
        guarantee,
        cap,
        burst,
        ports,
        guest: guest(section)?,
    })
}

/// `guest` and `guest_uid`.
fn guest(section: &Found<'_, '_>) -> Result<Option<GuestChannel>, PolicyError> {
    let uid = section.get("guest_uid");
    let Some(entry) = section.get("guest") else {
        return match uid {
            None => Ok(None),
            Some(uid) => Err(uid.error(
                "guest_uid without guest",
                "add guest = \"/run/nicety/a.sock\"",
            )),
        };
    };
    let path = entry.string("a path in quotes, as in guest = \"/run/nicety/a.sock\"")?;
    if let Some(text) = path.strip_prefix("vsock:") {
        // Of the numbers below 3 only 1, this machine, can connect.
        let cid = text
            .parse::<u32>()
            .ok()
            .filter(|cid| !matches!(*cid, 0 | 2 | u32::MAX));
        return match (cid, uid) {
            (None, _) => Err(entry.error(
                format!("guest = {} names no virtual machine", entry.quote()),
                "write the number that QEMU gives it, as in guest = \"vsock:5\"",
            )),
            (Some(_), Some(uid)) => Err(uid.error(
                "guest_uid with a vsock",
                "remove it: the machine's root may connect, and nobody else",
            )),
            (Some(cid), None) => Ok(Some(GuestChannel::Vsock { cid })),
        };
    }
    // sun_path of unix(7), with its NUL.
    if !path.starts_with('/') || path.len() > 107 || path.contains('\0') {
        return Err(entry.error(
            format!(
                "guest = {} is no absolute path of at most 107 bytes",
                entry.quote()
            ),
            "write one as in guest = \"/run/nicety/a.sock\"",
        ));
    }
    let uid = match uid {
        None => 0,
        Some(entry) => {
            let wanted = "the number of a user, as in guest_uid = 64055";
            let number = entry.number(wanted)?;
            if number.fract() != 0.0 || !(0.0..4_294_967_295.0).contains(&number) {
                let what = format!("guest_uid = {} is no user", entry.quote());
                return Err(entry.error(what, format!("write {wanted}")));
            }
            number as u32
        }
    };
    Ok(Some(GuestChannel::Unix {
        path: path.to_owned(),
        uid,
    }))
}

fn name(section: &Found<'_, '_>, item: &Entry<'_, '_>) -> Result<String, PolicyError> {
    let fix = "add a line such as name = \"blue\"";
    let Some(entry) = section.get("name") else {
        return Err(item.error("a tenant has no name", fix));
    };
    let name = entry.string("a name in quotes, as in name = \"blue\"")?;
    let fits = !name.trim().is_empty()
        && name.chars().count() <= NAME_CHARS
        && !name.chars().any(char::is_control);
    if !fits {
        return Err(entry.error(
            format!("name = {} is no name", entry.quote()),
            format!("write 1 to {NAME_CHARS} printable characters"),
        ));
    }
    Ok(name.to_owned())
}

fn weight(entry: &Entry<'_, '_>) -> Result<f64, PolicyError> {
    let wanted = "a number above 0, as in weight = 2";
    match entry.number(wanted)? {
        weight if weight > 0.0 && (1.0 / MAX_WEIGHT..=MAX_WEIGHT).contains(&weight) => Ok(weight),
        weight if weight > 0.0 => Err(entry.error(
            format!("weight = {} is too far from the others", entry.quote()),
            format!(
                "write a number between {} and {MAX_WEIGHT}",
                1.0 / MAX_WEIGHT
            ),
        )),
        _ => Err(entry.error(
            format!("weight = {} is not above 0", entry.quote()),
            format!("write {wanted}"),
        )),
    }
}

fn rate(entry: &Entry<'_, '_>) -> Result<BitRate, PolicyError> {
    if matches!(
        entry.value.get_ref(),
        DeValue::Integer(_) | DeValue::Float(_)
    ) {
        return Err(entry.error(
            format!("{} = {} has no unit", entry.key, entry.quote()),
            format!("write a rate in quotes, as in \"{}mbit\"", entry.quote()),
        ));
    }
    let text = entry.string("a rate in quotes, as in \"500mbit\"")?;
    text.parse().map_err(|error: nicety_model::BitRateError| {
        let problem = error.problem();
        entry.error(format!("{} = {}", entry.key, problem.what), problem.remedy)
    })
}

fn positive_rate(entry: &Entry<'_, '_>) -> Result<BitRate, PolicyError> {
    match rate(entry)? {
        BitRate(0) => Err(entry.error(
            format!("{} = {} lets nothing through", entry.key, entry.quote()),
            "write a rate above 0",
        )),
        rate if rate < LEAST_RATE => Err(entry.error(
            format!(
                "{} = {rate} is below the lowest limit of any port",
                entry.key
            ),
            format!("write at least {LEAST_RATE}"),
        )),
        rate => Ok(rate),
    }
}

fn duration(
    entry: Option<Entry<'_, '_>>,
    default: Duration,
    (low, high): (Duration, Duration),
    example: &str,
) -> Result<Duration, PolicyError> {
    let Some(entry) = entry else {
        return Ok(default);
    };
    let text = entry.string(&format!("a duration in quotes, as in \"{example}\""))?;
    let time = parse_duration(text).map_err(|error| {
        let problem = error.problem();
        entry.error(format!("{} = {}", entry.key, problem.what), problem.remedy)
    })?;
    if !(low..=high).contains(&time) {
        return Err(entry.error(
            format!(
                "{} = {} is outside {low:?} to {high:?}",
                entry.key,
                entry.quote()
            ),
            format!("write a duration such as \"{example}\""),
        ));
    }
    Ok(time)
}
