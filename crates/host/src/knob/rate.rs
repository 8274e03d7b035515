//! Rates of virtual functions and ports.

use nicety_model::BitRate;
use nicety_model::knob::{Knob, NOQUEUE, PACKETS, WIRE};
use nicety_model::traffic_control::RecordedLimit;
use nicety_netdev::net_error::NetError;
use nicety_netdev::openvswitch::Policing;
use nicety_netdev::policer::Policed;
use nicety_netdev::shaper::{BURST, PortLimit, Shape, Shapers};
use nicety_netdev::vf::{FunctionState, Functions, Limiter};

use super::{KnobError, Knobs};

/// How the words of a limit end that is not nicety's.
const FOREIGN: &str = " of somebody else";
const VF_WORDS: &str = "max and min in Mbit/s, as in max 500 min 0";
const PORT_WORDS: &str = "none or a rate, as in 500mbit";

impl Knobs {
    pub(super) fn read_rate(&self, knob: &Knob) -> Result<String, KnobError> {
        match knob {
            Knob::VfRate { interface, vf } => {
                let state = Functions::open(&self.ns)?.read(interface)?;
                let function = state.functions.iter().find(|function| function.vf == *vf);
                let rate = function.and_then(|f| f.max_mbit.zip(f.min_mbit));
                let foreign = match function.map(|function| &function.limiter) {
                    Some(Limiter::Policer(Policed::Foreign(kind))) => Some(kind),
                    _ => None,
                };
                if let Some(kind) = foreign {
                    return Ok(format!("{kind} of somebody else"));
                }
                match rate {
                    Some((max, min)) => Ok(format!("max {max} min {min}")),
                    None => {
                        let none = std::io::Error::from_raw_os_error(libc::ENODEV);
                        Err(
                            NetError::new("read rate of", format!("{interface}/vf{vf}"), none)
                                .into(),
                        )
                    }
                }
            }
            Knob::PortRate { interface } => match Shapers::open(&self.ns)?.read(interface) {
                Ok(limit) => Ok(port_value(&limit)),
                Err(error) => match Policing::here().instead(interface, &error)? {
                    Some(BitRate(0)) => Ok("none".to_owned()),
                    Some(rate) => Ok(rate.to_string()),
                    None => Err(error.into()),
                },
            },
            Knob::ReceiveRate { interface } => {
                let shapers = Shapers::open(&self.ns)?;
                let survey = shapers.survey()?;
                let limit = shapers.received(interface, &survey)?;
                let face = survey.face(interface);
                Ok(if face.is_some_and(|face| survey.has_no_queue(face)) {
                    NOQUEUE.to_owned()
                } else {
                    port_value(&limit)
                })
            }
            _ => Err(KnobError::refused(knob, "is not a valid rate")),
        }
    }

    pub(super) fn write_rate(&self, knob: &Knob, value: &str) -> Result<(), KnobError> {
        match knob {
            Knob::VfRate { interface, vf } => {
                let (max, min) =
                    vf_rate(value).ok_or_else(|| KnobError::bad(knob, value, VF_WORDS))?;
                Functions::open(&self.ns)?.set_rate(interface, *vf, max, min)?;
                Ok(())
            }
            Knob::PortRate { interface } => {
                let shapers = Shapers::open(&self.ns)?;
                if let Err(error) = shapers.read(interface)
                    && Policing::here().instead(interface, &error)?.is_some()
                {
                    let shape = port_shape(value).filter(|shape| !shape.wire);
                    let rate = match (value, shape) {
                        ("none", _) => BitRate(0),
                        (_, Some(shape)) => shape.rate,
                        _ => return Err(KnobError::bad(knob, value, PORT_WORDS)),
                    };
                    Policing::here().set(interface, rate)?;
                    return Ok(());
                }
                if let Ok(theirs) = value.parse::<RecordedLimit>() {
                    shapers.give_back(interface, &shapers.survey()?, &theirs)?;
                    return Ok(());
                }
                match value {
                    NOQUEUE => shapers.unqueue(interface, &shapers.survey()?)?,
                    // What others have at it stays.
                    _ if value == "none" || value.ends_with(FOREIGN) => {
                        shapers.remove(interface)?
                    }
                    _ => {
                        let shape = port_shape(value)
                            .ok_or_else(|| KnobError::bad(knob, value, PORT_WORDS))?;
                        shapers.set(interface, shape, BURST)?;
                    }
                }
                Ok(())
            }
            Knob::ReceiveRate { interface } => {
                let shapers = Shapers::open(&self.ns)?;
                let survey = shapers.survey()?;
                if let Ok(theirs) = value.parse::<RecordedLimit>() {
                    shapers.give_back(interface, &survey, &theirs)?;
                    return Ok(());
                }
                match (port_shape(value), value) {
                    (Some(shape), _) => {
                        shapers.set_received(interface, &survey, shape, BURST)?;
                    }
                    (None, "none") => shapers.remove_received(interface, &survey)?,
                    (None, NOQUEUE) => shapers.unqueue(interface, &survey)?,
                    (None, other) if other.ends_with(FOREIGN) => {
                        shapers.remove_received(interface, &survey)?;
                    }
                    (None, _) => return Err(KnobError::bad(knob, value, PORT_WORDS)),
                }
                Ok(())
            }
            _ => Err(KnobError::refused(knob, "is not a valid rate")),
        }
    }

    /// Removes what nicety has left at a port without a limit when it was killed while it set one, or took
    /// one away: it limits nothing. The same of a port that is gone.
    ///
    /// # Errors
    /// [`KnobError`].
    pub fn tidy(&self, knob: &Knob) -> Result<(), KnobError> {
        match knob {
            Knob::VfRate { interface, vf } => {
                let functions = Functions::open(&self.ns)?;
                let state = functions.read(interface)?;
                let open = |f: &&FunctionState| f.limiter == Limiter::Policer(Policed::Open);
                let mut functions_of_vf = state.functions.iter().filter(|f| f.vf == *vf);
                if functions_of_vf.find(open).is_some() {
                    functions.set_rate(interface, *vf, 0, 0)?;
                }
            }
            Knob::PortRate { interface } => {
                let shapers = Shapers::open(&self.ns)?;
                match shapers.read(interface) {
                    Ok(PortLimit::Open) => shapers.remove(interface)?,
                    Err(error) if error.is_not_found() => {
                        shapers.sweep()?;
                    }
                    _ => {}
                }
            }
            Knob::File { path } => super::file::tidy(knob, path)?,
            _ => {}
        }
        Ok(())
    }
}

/// `max 500 min 0`.
fn vf_rate(value: &str) -> Option<(u32, u32)> {
    let mut words = value.split_whitespace();
    let mut number = |word| {
        words.next().filter(|next| *next == word)?;
        words.next()?.parse::<u32>().ok()
    };
    let rate = (number("max")?, number("min")?);
    words.next().is_none().then_some(rate)
}

/// A limit of a port as the value of a setting.
pub fn port_value(limit: &PortLimit) -> String {
    match limit {
        PortLimit::Open => "none".to_owned(),
        PortLimit::Limited(shape) => {
            let wire = if shape.wire { WIRE } else { "" };
            let packets = shape.packets.map(|packets| format!(" {packets}{PACKETS}"));
            format!("{}{wire}{}", shape.rate, packets.unwrap_or_default())
        }
        PortLimit::Foreign(kind) => format!("{kind}{FOREIGN}"),
    }
}

/// The value of a setting as a limit of a port; none when it is none.
pub fn port_shape(value: &str) -> Option<Shape> {
    let packets = |value: &str| {
        let (value, packets) = value.strip_suffix(PACKETS)?.rsplit_once(' ')?;
        let packets = packets.parse().ok().filter(|packets| *packets > 0)?;
        Some((value.to_owned(), packets))
    };
    let (value, packets) = match packets(value) {
        Some((value, packets)) => (value, Some(packets)),
        None => (value.to_owned(), None),
    };
    let (rate, wire) = match value.strip_suffix(WIRE) {
        Some(rate) => (rate, true),
        None => (value.as_str(), false),
    };
    let rate: BitRate = rate.parse().ok().filter(|rate: &BitRate| rate.0 > 0)?;
    Some(Shape {
        rate,
        wire,
        packets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written() {
        assert_eq!(vf_rate("max 500 min 0"), Some((500, 0)));
        for bad in [
            "",
            "500",
            "min 0 max 5",
            "max 5",
            "max -1 min 0",
            "max 5 min 0 x",
        ] {
            assert_eq!(vf_rate(bad), None, "{bad}");
        }
        for value in ["500mbit", "88.001mbit wire", "9mbit wire 700pps"] {
            let shape = port_shape(value).unwrap();
            assert_eq!(port_value(&PortLimit::Limited(shape)), value);
        }
        assert_eq!(port_shape("none"), None);
        assert_eq!(port_shape("0mbit"), None);
        assert_eq!(port_shape("tbf of somebody else"), None);
    }
}
