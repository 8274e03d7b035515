//! Engines: each one sends a burst over a bridge made for it.

use nicety_host::placement::Placement;
use nicety_model::probe::{Ability, Answer, Area};
use nicety_model::{CellKey, Direction, EngineName, FrameSize, Plan};
use nicety_paths::Path;
use nicety_port::auto::self_check;
use nicety_port::{Lack, Stop};

use crate::event::{Event, Observer, Stage};
use crate::setup_error::SetupError;
use crate::{builder, setup};

/// Tries all of them, the fastest first.
pub(super) fn all(observer: &dyn Observer) -> Vec<Ability> {
    let opened = key().map(|key| {
        let placement = setup::placement(&[]).unwrap_or_default();
        (builder::path(&key, &placement), key, placement)
    });
    let Some((Ok(path), key, placement)) = opened else {
        // That no path can be built is reported among the paths.
        return Vec::new();
    };
    EngineName::ALL
        .into_iter()
        .map(|choice| {
            let name = choice.to_string();
            observer.on(Event::Stage(Stage::Trying(Area::Engine, &name)));
            judge(choice, attempt(choice, path.as_ref(), &key, &placement))
        })
        .collect()
}

/// A cell of the plain bridge with the smallest frames.
pub(super) fn key() -> Option<CellKey> {
    let mut plan = Plan::default_bridge();
    plan.traffic.frame_sizes = vec![FrameSize::new(64).ok()?];
    plan.traffic.directions = vec![Direction::Uni];
    plan.buildable_cells().next()
}

fn attempt(
    choice: EngineName,
    path: &dyn Path,
    key: &CellKey,
    placement: &Placement,
) -> Result<(), SetupError> {
    let traffic = setup::traffic(key, path);
    let mut engine = setup::engine(choice, path, traffic, placement)?;
    Ok(self_check(engine.as_mut(), &Stop::default())?)
}

fn judge(choice: EngineName, tried: Result<(), SetupError>) -> Ability {
    let ability =
        |answer, finding: String| Ability::new(Area::Engine, choice.to_string(), answer, finding);
    let error = match tried {
        Ok(()) => {
            return ability(
                Answer::Yes,
                "frames crossed a bridge, all counted".to_owned(),
            );
        }
        Err(error) => error,
    };
    let refused = ability(Answer::No, error.to_string());
    let refused = match choice {
        EngineName::Xdp => refused.costs(
            "af_packet measures instead: it makes a fraction of the frames per second, so fast \
             paths come out as tester-limited",
        ),
        EngineName::AfXdp => {
            refused.costs("drivers that do not send xdp's frames are measured with af_packet")
        }
        EngineName::Pktgen => refused.costs(
            "interfaces that take neither xdp nor af_xdp, and frames too large for them, are \
             measured with af_packet",
        ),
        _ => refused.costs("nothing can be measured"),
    };
    match error.lacks() {
        Some(lack) => refused.remedy(remedy(lack)),
        None => refused,
    }
}

/// What to do about an engine's refusal.
fn remedy(lack: Lack) -> String {
    match lack {
        Lack::Build => {
            "apt install clang libbpf-dev linux-libc-dev, then build nicety again".into()
        }
        Lack::Root => "run as root".into(),
        Lack::Module(module) => format!("modprobe {module}"),
        Lack::Linux(version) => format!("use Linux {version} or newer"),
    }
}

#[cfg(test)]
mod tests {
    use nicety_port::PortError;
    use nicety_port::auto::CheckError;
    use nicety_port::xdp::unsupported::Unsupported;

    use super::*;

    fn lacking(source: Unsupported) -> Result<(), SetupError> {
        Err(SetupError::Port(PortError {
            interface: "v0".to_owned(),
            fault: source.into(),
        }))
    }

    #[test]
    fn a_refusal_says_what_it_costs_and_what_to_do() {
        let ability = judge(EngineName::Xdp, lacking(Unsupported::NotPermitted));
        assert_eq!(ability.answer, Answer::No);
        assert!(ability.costs.unwrap().contains("tester-limited"));
        assert_eq!(ability.remedy.as_deref(), Some("run as root"));
        let counts = CheckError::Counts("0 of 100 frames arrived".to_owned());
        let ability = judge(EngineName::AfPacket, Err(SetupError::Check(counts)));
        assert_eq!(ability.costs.as_deref(), Some("nothing can be measured"));
        assert_eq!(ability.remedy, None);
        assert_eq!(judge(EngineName::Xdp, Ok(())).answer, Answer::Yes);
    }

    #[test]
    fn what_an_engine_lacks_can_be_had() {
        for (why, expected) in [
            (
                Unsupported::NotBuilt("x"),
                Some("apt install clang libbpf-dev linux-libc-dev, then build nicety again"),
            ),
            (Unsupported::NotPermitted, Some("run as root")),
            (Unsupported::NoLiveFrames, Some("use Linux 5.18 or newer")),
            (Unsupported::FrameTooLarge { bytes: 9000 }, None),
        ] {
            let ability = judge(EngineName::Xdp, lacking(why));
            assert_eq!(ability.remedy.as_deref(), expected);
        }
    }
}
