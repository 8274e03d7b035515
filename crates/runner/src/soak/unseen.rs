//! Guests in which a soak cannot follow lost frames.

use nicety_model::Note;
use nicety_model::note::TrialNote;

/// Adds guests in which lost frames are not followed, each once: every interval says so. Whether one is new.
pub(super) fn name_unseen(named: &mut Vec<Note>, told: &[Note]) -> bool {
    let guest = |note: &Note| match note {
        Note::Trial(TrialNote::GuestUnseen { guest, .. }) => Some(guest.clone()),
        _ => None,
    };
    let before = named.len();
    for note in told {
        let Some(unseen) = guest(note) else { continue };
        if !named.iter().any(|of| guest(of).as_ref() == Some(&unseen)) {
            named.push(note.clone());
        }
    }
    named.len() > before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_named_once() {
        let unseen = |guest: &str, why: &str| {
            Note::from(TrialNote::GuestUnseen {
                guest: guest.to_owned(),
                why: why.to_owned(),
            })
        };
        let other: Note = TrialNote::FatesUnknown {
            why: "x".to_owned(),
        }
        .into();
        let mut named = Vec::new();
        assert!(name_unseen(
            &mut named,
            &[other, unseen("guest0", "a"), unseen("guest1", "a")]
        ));
        assert!(!name_unseen(&mut named, &[unseen("guest0", "b")]));
        assert_eq!(named, [unseen("guest0", "a"), unseen("guest1", "a")]);
    }
}
