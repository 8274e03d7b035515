//! Putting limits back, and reading back that they are.

use std::collections::BTreeSet;
use std::sync::Arc;

use nicety_host::knob::{KnobError, Knobs};
use nicety_model::journal::Outcome;
use nicety_model::traffic_control::RecordedLimit;
use nicety_netdev::shaper::{GivenBack, Survey};
use nicety_police::adopt::Way;
use nicety_police::original::{Original, knob, read_back, without_writing};
use nicety_police::{PortName, received};

use crate::ports::{Links, Ports};

/// What came of each; none where the kernel does not answer. Interfaces in two looks at all of them,
/// functions one after the other.
pub(super) fn put_back_all(ports: &mut Ports, all: &[(String, Original)]) -> Vec<Option<Outcome>> {
    let nic = |name: &str| match name.parse() {
        Ok(PortName::Vf { pf, .. }) => Some(pf),
        _ => None,
    };
    let plain: Vec<_> = all.iter().filter(|(name, _)| nic(name).is_none()).collect();
    let mut plain = interfaces(ports, &plain).into_iter();
    let mut silent = BTreeSet::new();
    let outcome = |(name, was): &(String, Original)| match nic(name) {
        None => plain.next().flatten(),
        Some(pf) if silent.contains(&pf) => None,
        Some(pf) => {
            let (name, words) = (name.clone(), was.words.clone());
            let outcome = ports.at_nic(&pf, move || put_back(&name, &words));
            if outcome.is_none() {
                silent.insert(pf);
            }
            outcome
        }
    };
    all.iter().map(outcome).collect()
}

fn interfaces(ports: &mut Ports, all: &[&(String, Original)]) -> Vec<Option<Outcome>> {
    if all.is_empty() {
        return Vec::new();
    }
    let survey = match ports.at_links(|links| links.interfaces().ok().map(Arc::new)) {
        Some(Some(survey)) => survey,
        Some(None) => return one_by_one(ports, all),
        None => return vec![None; all.len()],
    };
    // By the names that they have now.
    let places = all.iter().map(|(name, was)| {
        let (interface, way) = meant(name);
        let now = current_name(interface, was, &survey);
        now.map(|now| (now.to_owned(), way))
    });
    let places: Vec<Option<(String, Way)>> = places.collect();
    let restore = |((_, was), now): (&&(String, Original), &Option<(String, Way)>)| {
        let Some((now, way)) = now.clone() else {
            return Some(Outcome::Gone);
        };
        let (survey, words) = (Arc::clone(&survey), was.words.clone());
        ports.at_links(move |links| write(links, &survey, (&now, way), &words))
    };
    let done: Vec<Option<Outcome>> = all.iter().zip(&places).map(restore).collect();
    let found = ports.at_links(move |links| {
        let survey = links.interfaces().ok()?;
        let words = |now: Option<(String, Way)>| match now {
            Some((now, way)) => links.words((&now, way), &survey),
            None => Ok(None),
        };
        let found: Result<Vec<_>, _> = places.into_iter().map(words).collect();
        found.ok()
    });
    let found = match found {
        Some(Some(found)) => found,
        Some(None) => return one_by_one(ports, all),
        // What is not read back may not be there.
        None => return vec![None; all.len()],
    };
    let all = all.iter().zip(done).zip(found);
    all.map(|(((_, was), outcome), found)| match (outcome?, found) {
        (Outcome::Restored, found) => Some(read_back(&was.words, found.as_deref())),
        (outcome, _) => Some(outcome),
    })
    .collect()
}

fn one_by_one(ports: &mut Ports, all: &[&(String, Original)]) -> Vec<Option<Outcome>> {
    let put_back = |(name, was): &&(String, Original)| {
        let (name, words) = (name.clone(), was.words.clone());
        ports.at_links(move |_| put_back(&name, &words))
    };
    all.iter().map(put_back).collect()
}

fn put_back(name: &str, value: &str) -> Outcome {
    let back = || {
        let knobs = Knobs::open()?;
        let knob = knob(name);
        let found = knobs.read(&knob)?;
        if let Some(outcome) = without_writing(value, Some(&found)) {
            // What cannot be tidied up limits nothing.
            let _ = (outcome == Outcome::Untouched).then(|| knobs.tidy(&knob));
            return Ok(outcome);
        }
        knobs.write(&knob, value)?;
        Ok(read_back(value, Some(&knobs.read(&knob)?)))
    };
    let done: Result<Outcome, KnobError> = back();
    done.unwrap_or_else(|error| {
        if error.is_gone() {
            Outcome::Gone
        } else {
            Outcome::Failed {
                why: error.to_string(),
            }
        }
    })
}

/// The interface whose limit is noted under a name, and which of its limits.
pub(super) fn meant(name: &str) -> (&str, Way) {
    match received::port_of(name) {
        Some(interface) => (interface, Way::Receives),
        None => (name, Way::Sends),
    }
}

/// The name that the interface of a port has now; none when it is gone.
pub(super) fn current_name<'a>(
    port: &'a str,
    was: &Original,
    survey: &'a Survey,
) -> Option<&'a str> {
    match was.index {
        Some(index) => survey.face_at(index).map(|face| face.name.as_str()),
        None => Some(port),
    }
}

/// Gives back the limit of another program.
fn give_back(links: &Links, survey: &Survey, name: &str, theirs: &RecordedLimit) -> Outcome {
    match links.give_back(name, survey, theirs) {
        Ok(GivenBack::Back) => Outcome::Restored,
        Ok(GivenBack::Theirs | GivenBack::Nothing) => Outcome::Untouched,
        Err(error) if error.is_not_found() => Outcome::Gone,
        Err(error) => Outcome::Failed {
            why: error.to_string(),
        },
    }
}

/// Writes `value` to an interface, unless it is there already or somebody else's limit is.
pub(super) fn write(
    links: &Links,
    survey: &Survey,
    (name, way): (&str, Way),
    value: &str,
) -> Outcome {
    let noted = || match way {
        Way::Sends => name.to_owned(),
        Way::Receives => received::noted(name),
    };
    let Ok(found) = links.words((name, way), survey) else {
        // Not known is not gone: it is asked once more, by itself.
        return put_back(&noted(), value);
    };
    let theirs = value.parse::<RecordedLimit>().ok();
    if let (Some(theirs), Some(_)) = (&theirs, &found) {
        return give_back(links, survey, name, theirs);
    }
    if let Some(outcome) = without_writing(value, found.as_deref()) {
        if outcome == Outcome::Untouched && value == "none" {
            // What was left half made limits nothing.
            let _ = links.put((name, way), survey, value);
        }
        return outcome;
    }
    match links.put((name, way), survey, value) {
        Ok(()) => Outcome::Restored,
        Err(error) if error.is_not_found() => Outcome::Gone,
        // What the kernel had no room for a moment ago may work now.
        Err(_) => put_back(&noted(), value),
    }
}
