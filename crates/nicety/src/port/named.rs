//! Ports of a command line by the names that people use for them.

use std::borrow::Cow;

use nicety_police::PortName;
use nicety_police::names::Name;
use nicety_policed::names;

use crate::exit::Failure;
use crate::output;

/// A port of a command line as the kernel knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'a> {
    /// Interface, or that of the physical function.
    pub interface: Cow<'a, str>,
    /// Number of the virtual function, where it is one.
    pub vf: Option<u32>,
}

/// Finds a port that is named on the command line, and says which it is.
pub fn place(text: &str) -> Result<Place<'_>, Failure> {
    if !Name::is_meant(text) {
        let function = text.split_once("/vf");
        let function = function.and_then(|(nic, vf)| Some((nic, vf.parse().ok()?)));
        let (interface, vf) = function.map_or((text, None), |(nic, vf)| (nic, Some(vf)));
        let interface = interface.into();
        return Ok(Place { interface, vf });
    }
    let name: Name = text
        .parse()
        .map_err(|error: nicety_police::names::NameError| Failure::from(error.problem()))?;
    let port = names::now(&name)?;
    output::say(&format!("{name} is {port}"));
    let (interface, vf) = match port {
        PortName::Vf { pf, vf } => (pf, Some(vf)),
        PortName::Interface(interface) => (interface, None),
        PortName::Named(name) => (name.to_string(), None),
    };
    let interface = interface.into();
    Ok(Place { interface, vf })
}

/// The interface that a name is, and any other text as it is.
pub fn only(text: Option<&str>) -> Result<Option<String>, Failure> {
    match text {
        Some(text) if Name::is_meant(text) => Ok(Some(place(text)?.interface.into_owned())),
        text => Ok(text.map(str::to_owned)),
    }
}
