//! Engines: each one sends a burst over a bridge made for it.

use nicety_host::placement::Placement;
use nicety_model::probe::{Ability, Answer, Area};
use nicety_model::{CellKey, Direction, FrameSize, Plan};
use nicety_paths::Path;
use nicety_port::auto::{Choice, self_check};
use nicety_port::{Engine, Stop};

use crate::bench::setup::{self, SetupError};

/// Tries all of them, the fastest first.
pub fn all() -> Vec<Ability> {
    let opened = key().map(|key| {
        let placement = setup::placement(&[]).unwrap_or_default();
        (setup::path(&key, &placement), key, placement)
    });
    let Some((Ok(path), key, placement)) = opened else {
        // That no path can be built is told among the paths.
        return Vec::new();
    };
    [Choice::Xdp, Choice::AfXdp, Choice::Pktgen, Choice::AfPacket]
        .into_iter()
        .map(|choice| judge(choice, attempt(choice, path.as_ref(), &key, &placement)))
        .collect()
}

/// A cell of the plain bridge with the smallest frames.
pub fn key() -> Option<CellKey> {
    let mut plan = Plan::default_bridge();
    plan.traffic.frame_sizes = vec![FrameSize::new(64).ok()?];
    plan.traffic.directions = vec![Direction::Uni];
    plan.buildable_cells().next()
}

fn attempt(
    choice: Choice,
    path: &dyn Path,
    key: &CellKey,
    placement: &Placement,
) -> Result<(), SetupError> {
    let traffic = setup::traffic(key, path);
    let mut engine: Box<dyn Engine> = match choice {
        Choice::Xdp => Box::new(setup::xdp(path, traffic, placement)?),
        Choice::AfXdp => Box::new(setup::af_xdp(path, traffic, placement)?),
        Choice::Pktgen => Box::new(setup::pktgen(path, traffic, placement)?),
        Choice::AfPacket | Choice::Auto => Box::new(setup::af_packet(path, traffic, placement)?),
    };
    Ok(self_check(engine.as_mut(), &Stop::default())?)
}

fn judge(choice: Choice, tried: Result<(), SetupError>) -> Ability {
    let ability =
        |answer, finding: String| Ability::new(Area::Engine, choice.to_string(), answer, finding);
    let why = match tried {
        Ok(()) => {
            return ability(
                Answer::Yes,
                "frames crossed a bridge, all counted".to_owned(),
            );
        }
        Err(error) => error.to_string(),
    };
    let refused = ability(Answer::No, why.clone());
    let refused = match choice {
        Choice::Xdp => refused.costs(
            "af_packet measures instead: it makes a fraction of the frames per second, so fast \
             paths come out as tester-limited",
        ),
        Choice::AfXdp => {
            refused.costs("drivers that do not send xdp's frames are measured with af_packet")
        }
        Choice::Pktgen => refused.costs(
            "interfaces that take neither xdp nor af_xdp, and frames too large for them, are \
             measured with af_packet",
        ),
        _ => refused.costs("nothing can be measured"),
    };
    match remedy(&why) {
        Some(remedy) => refused.remedy(remedy),
        None => refused,
    }
}

/// What to do about an engine's refusal.
fn remedy(why: &str) -> Option<&'static str> {
    let known = [
        (
            "not built in",
            "apt install clang libbpf-dev linux-libc-dev, then build nicety again",
        ),
        ("may not be loaded", "run as root"),
        ("not permitted", "run as root"),
        ("Permission denied", "run as root"),
        ("modprobe pktgen", "modprobe pktgen"),
        ("Linux 6.6", "use Linux 6.6 or newer"),
        ("Linux 5.18", "use Linux 5.18 or newer"),
    ];
    let found = known.iter().find(|(words, _)| why.contains(words));
    found.map(|(_, remedy)| *remedy)
}

#[cfg(test)]
mod tests {
    use nicety_port::PortError;
    use nicety_port::auto::CheckError;

    use super::*;

    #[test]
    fn a_refusal_says_what_it_costs_and_what_to_do() {
        let error = |why: &str| Err(SetupError::Check(CheckError::Counts(why.to_owned())));
        let ability = judge(Choice::Xdp, error("BPF programs may not be loaded: …"));
        assert_eq!(ability.answer, Answer::No);
        assert!(ability.costs.unwrap().contains("tester-limited"));
        assert_eq!(ability.remedy.as_deref(), Some("run as root"));
        let ability = judge(Choice::AfPacket, error("0 of 100 frames arrived"));
        assert_eq!(ability.costs.as_deref(), Some("nothing can be measured"));
        assert_eq!(ability.remedy, None);
        assert_eq!(judge(Choice::Xdp, Ok(())).answer, Answer::Yes);
    }

    #[test]
    fn words_that_remedies_hang_on_are_those_of_the_errors() {
        use nicety_port::xdp::probe::Unsupported;
        for error in [
            Unsupported::NotBuilt("x"),
            Unsupported::NotPermitted,
            Unsupported::NoLiveFrames,
        ] {
            assert!(remedy(&error.to_string()).is_some(), "{error}");
        }
        let _: fn(PortError) -> SetupError = SetupError::Port;
    }
}
