//! `nicety vf limit`: checked before, journaled, written, read back, looked at afterwards.

use anyhow::anyhow;
use nicety_host::knob::{Knobs, WIRE};
use nicety_host::net_error::NetError;
use nicety_host::openvswitch::Policing;
use nicety_host::policer;
use nicety_host::shaper::{self, BURST, Shape, WIRE_BYTES};
use nicety_model::journal::same_value;
use nicety_model::knob::{Change, Knob};
use nicety_model::vf::LimitReport;
use nicety_model::{BitRate, SCHEMA};
use nicety_police::driver::Way;
use nicety_police::explain::readable;
use nicety_tuner::Work;
use nicety_tuner::apply::commit;

use super::counters;
use super::look::{self, Eyes};
use super::verify::{self, Verdict};
use crate::cli::vf::LimitArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::tune::events;

/// Said of a policer that the NIC has not taken.
pub const SOFTWARE_ONLY: &str =
    "limited in software only: frames that the NIC switches itself pass";

/// A limit in the words of its setting.
struct Wanted {
    port: String,
    knob: Knob,
    value: String,
    rounded: Option<String>,
    rate: BitRate,
    /// Bytes that may pass at once, beyond the rate.
    burst: u64,
    /// Open vSwitch limits it.
    switched: bool,
}

/// Runs the command.
pub fn run(args: &LimitArgs) -> Result<Exit, Failure> {
    let eyes = Eyes::open()?;
    let wanted = match args.vf {
        Some(vf) => function(&eyes, args, vf)?,
        None => port(&eyes, args)?,
    };
    if let Some(rounded) = &wanted.rounded {
        output::say(rounded);
    }
    let work = Work::begin(args.state.as_deref(), &mut events::say)?;
    let from = work
        .knobs
        .read(&wanted.knob)
        .map_err(Failure::environment)?;
    let transaction = match from == wanted.value {
        true => {
            // What was left half made is gone then; what cannot be removed limits nothing.
            let _ = work.knobs.tidy(&wanted.knob);
            None
        }
        false => Some(write(&work, &wanted, &from)?),
    };
    // The same of ports that are gone.
    let _ = eyes.shapers.sweep();
    drop(work);
    let verdict = match wanted.switched {
        false => verify::watch(&eyes, args, wanted.rate, wanted.burst)?,
        true if wanted.rate.0 == 0 || args.verify.is_zero() => Verdict::NotAsked,
        true => Verdict::NotCounted,
    };
    software_only(&eyes, args)?;
    // A port that has gone meanwhile is nobody's.
    let knobs = Knobs::open().map_err(Failure::environment)?;
    let now = knobs.read(&wanted.knob).ok();
    let replaced = now.filter(|now| !same_value(&wanted.knob, now, &wanted.value));
    let policed = crate::police::governs(knobs.namespace(), &wanted.port, &from);
    let report = LimitReport {
        schema: SCHEMA,
        transaction,
        policed,
        port: wanted.port,
        from,
        to: wanted.value,
        rounded: wanted.rounded,
        replaced,
        enforcement: verdict.word().to_owned(),
        seen_bps: verdict.seen_bps(),
    };
    tell(&report, &verdict, args)
}

fn tell(report: &LimitReport, verdict: &Verdict, args: &LimitArgs) -> Result<Exit, Failure> {
    if args.json {
        output::print_json(report)?;
    } else {
        let line = match report.transaction {
            Some(_) => format!("{}: {} → {}\n", report.port, report.from, report.to),
            None => format!("{}: {} already\n", report.port, report.to),
        };
        output::print(&line)?;
    }
    if let Some(id) = report.transaction {
        output::say(&format!(
            "transaction {id}: nicety tune rollback {id} undoes it"
        ));
    }
    let values = [
        Some(&report.from),
        Some(&report.to),
        report.replaced.as_ref(),
    ];
    if values
        .into_iter()
        .flatten()
        .any(|value| value.ends_with(WIRE))
    {
        output::say(&format!(
            "{}: {WIRE_BYTES} bytes more a frame, for FCS, preamble and gap, as nicety police counts",
            WIRE.trim()
        ));
    }
    if let Some(now) = &report.replaced {
        output::say(&format!(
            "{}: somebody has set {now} since; where nicety police shares a link it sets the limits of its ports again: change its policy",
            report.port
        ));
        return Ok(Exit::Negative);
    }
    if report.policed {
        output::say(&format!(
            "{}: nicety police shares a link among ports of which this is one, and sets its limit again: change its policy",
            report.port
        ));
        return Ok(Exit::Negative);
    }
    match verdict {
        Verdict::NotEnforced(bps) => {
            output::say(&format!(
                "limit not enforced: {} sends {} in spite of {}",
                report.port,
                readable(*bps),
                report.to
            ));
            Ok(Exit::Negative)
        }
        Verdict::NotCounted => {
            output::say("whether it holds is not known: nobody here counts what it sends");
            Ok(Exit::Done)
        }
        Verdict::Holds(bps) => {
            let sends = readable(*bps);
            output::say(&format!("the limit holds: {} sends {sends}", report.port));
            Ok(Exit::Done)
        }
        Verdict::Untested(bps) => {
            let sends = readable(*bps);
            output::say(&format!(
                "whether it holds is not tested: {} sends {sends}, less than the limit",
                report.port
            ));
            Ok(Exit::Done)
        }
        Verdict::NotAsked => Ok(Exit::Done),
    }
}

/// A virtual function.
fn function(eyes: &Eyes, args: &LimitArgs, vf: u32) -> Result<Wanted, Failure> {
    let nic = &args.interface;
    let told = eyes.functions.read(nic).map_err(|error| match error {
        error if error.is_not_found() => Failure::usage(anyhow!(
            "there is no interface {nic} in this network namespace; see nicety vf list"
        )),
        error => Failure::environment(error),
    })?;
    if told.functions.iter().all(|function| function.vf != vf) {
        return Err(Failure::usage(match told.announced {
            0 => anyhow!("{nic} has no virtual functions; see nicety vf list"),
            count => anyhow!(
                "{nic} has no function {vf}, it has {count} counted from 0; see nicety vf list {nic}"
            ),
        }));
    }
    let Some((_, driver)) = eyes.driver(nic) else {
        return Err(Failure::environment(anyhow!(
            "the driver of {nic} is not known; is /sys mounted?"
        )));
    };
    let link = eyes.places.speed_mbit(nic).map(BitRate::from_mbit);
    let function = told.functions.iter().find(|function| function.vf == vf);
    let driver = driver.limiting(function.map_or(Way::Driver, look::way));
    let representor = function.and_then(|function| function.representor.as_deref());
    if let Some((kind, on)) = function.and_then(look::foreign).zip(representor) {
        return Err(Failure::usage(anyhow!(
            "{nic}/vf{vf}: {on}, where it is limited, has somebody else's {kind} qdisc; remove that first, see tc filter show dev {on} ingress"
        )));
    }
    let kept = driver.minimum_kept(function.and_then(|function| function.min_mbit));
    let taken = driver
        .check(args.max, args.min.or(kept), link)
        .map_err(|refusal| Failure::usage(anyhow!("{nic}/vf{vf}: {refusal}")))?;
    Ok(Wanted {
        port: format!("{nic}/vf{vf}"),
        knob: Knob::VfRate {
            interface: nic.clone(),
            vf,
        },
        value: format!("max {} min {}", taken.max_mbit, taken.min_mbit),
        rounded: taken.rounded,
        rate: BitRate::from_mbit(taken.max_mbit.into()),
        burst: match function.map(look::way) {
            Some(Way::Policer) => policer::burst_bytes(BitRate::from_mbit(taken.max_mbit.into())),
            // What the NIC's own is nobody tells.
            _ => 0,
        },
        switched: false,
    })
}

/// Tells when a policer holds less than all, by what the driver has made of it.
fn software_only(eyes: &Eyes, args: &LimitArgs) -> Result<(), Failure> {
    let Some(vf) = args.vf else {
        return Ok(());
    };
    let told = eyes.functions.read(&args.interface);
    let told = told.map_err(Failure::environment)?;
    let mut functions = told.functions.iter().filter(|function| function.vf == vf);
    if functions.any(|function| counters::policed(function).is_some_and(|p| !p.in_hardware)) {
        output::say(&format!("{}/vf{vf}: {SOFTWARE_ONLY}", args.interface));
    }
    Ok(())
}

/// A tap, veth or macvtap, or a vhost-user port of Open vSwitch.
fn port(eyes: &Eyes, args: &LimitArgs) -> Result<Wanted, Failure> {
    let name = &args.interface;
    let switched = match eyes.shapers.read(name) {
        Ok(_) => false,
        Err(error) => {
            let found = Policing::here().instead(name, &error);
            if found.map_err(Failure::environment)?.is_none() {
                return Err(unknown(eyes, name, error));
            }
            true
        }
    };
    // In whole kbit/s, so that what is read back is what was written.
    let rate = BitRate(args.max.0 / 1000 * 1000);
    if args.max.0 > 0 && rate < BitRate(64_000) {
        return Err(Failure::usage(anyhow!(
            "{} is too little to work with; write at least 64kbit, or none",
            args.max
        )));
    }
    Ok(Wanted {
        port: name.clone(),
        knob: Knob::PortRate {
            interface: name.clone(),
        },
        value: match rate {
            BitRate(0) => "none".to_owned(),
            rate => rate.to_string(),
        },
        rounded: (rate != args.max).then(|| format!("{} → {rate}: whole kbit/s", args.max)),
        rate,
        burst: shaper::burst_bytes(Shape { rate, wire: false }, BURST),
        switched,
    })
}

/// Nothing that can be limited.
fn unknown(eyes: &Eyes, name: &str, error: NetError) -> Failure {
    if error.is_not_found() {
        return Failure::usage(anyhow!(
            "there is no interface {name} in this network namespace; see nicety vf list"
        ));
    }
    if !error.is_unsupported() {
        return Failure::environment(error);
    }
    let link = eyes.links.get(name).ok();
    let kind = link.map(|link| link.kind).unwrap_or_default();
    let stands_for = eyes.places.attribute(name, "phys_port_name");
    Failure::usage(anyhow!(instead(name, &kind, stands_for.as_deref())))
}

/// Why an interface cannot be limited, and what can: a representor says which function it stands for
/// (Documentation/networking/representors.rst).
fn instead(name: &str, kind: &str, stands_for: Option<&str>) -> String {
    let function =
        stands_for.and_then(|port| port.split_once("vf").map(|(nic, vf)| (port, nic, vf)));
    if let Some((port, nic, vf)) = function
        && nic.contains("pf")
        && vf.parse::<u32>().is_ok()
    {
        return format!(
            "{name} stands for {port} of its NIC; limit that: nicety vf limit NIC {vf}"
        );
    }
    match kind {
        "openvswitch" => format!(
            "{name} is the host's own port of an Open vSwitch; limit the tap, veth or vhost-user port of who sends"
        ),
        _ => format!(
            "{name} is no tap, veth or macvtap; for a virtual function write nicety vf limit {name} VF"
        ),
    }
}

/// Changes the setting under a journal; returns the transaction.
fn write(work: &Work, wanted: &Wanted, from: &str) -> Result<u32, Failure> {
    let change = Change {
        knob: wanted.knob.clone(),
        from: from.to_owned(),
        to: wanted.value.clone(),
    };
    Ok(commit(work, &[&change])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_limited_is_told_with_what_can() {
        let said = |kind, port| instead("x", kind, port);
        assert!(said("", Some("pf0vf3")).contains("nicety vf limit NIC 3"));
        assert!(said("", Some("c1pf0vf12")).contains("stands for c1pf0vf12 of its NIC"));
        assert!(said("openvswitch", None).contains("own port of an Open vSwitch; "));
        for port in [
            None,
            Some("p0"),
            Some("pf0"),
            Some("pf0vf"),
            Some("vf3"),
            Some(""),
        ] {
            assert!(
                said("", port).starts_with("x is no tap, veth or macvtap; "),
                "{port:?}"
            );
        }
    }
}
