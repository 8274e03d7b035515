//! Guests that share a path: what each carried, and all together.

use nicety_model::GuestFrames;

use crate::number;
use crate::pick::Group;

/// Heading of the lines.
pub(crate) const HEADING: &str = "Guests that share a path, in the confirm trial";

/// A line per cell with several guests, per direction:
/// `vm,vms=2/64/uni: guest0 12.3 k, guest1 12.1 k (loss 2.1 %), together 24.4 k frames/s`.
pub(crate) fn lines(groups: &[Group<'_>]) -> Vec<String> {
    let shared = groups.iter().filter(|group| !group.shown.guests.is_empty());
    shared
        .map(|group| format!("{}: {}", group.name, words(&group.shown.guests)))
        .collect()
}

fn words(guests: &[GuestFrames]) -> String {
    let one = |guest: &GuestFrames| {
        let loss = match guest.lost {
            0 => String::new(),
            _ => format!(" (loss {})", number::loss(guest.loss_ratio.0)),
        };
        let fps = number::short(guest.forwarding_fps);
        format!("{} {fps}{loss}", guest.guest)
    };
    let each: Vec<String> = guests.iter().map(one).collect();
    let sum: f64 = guests.iter().map(|guest| guest.forwarding_fps).sum();
    format!(
        "{}, together {} frames/s",
        each.join(", "),
        number::short(sum)
    )
}

#[cfg(test)]
mod tests {
    use nicety_model::LossRatio;

    use super::*;

    #[test]
    fn each_and_all_together() {
        let guest = |number: u32, received: u64, fps: f64| GuestFrames {
            guest: format!("guest{number}"),
            sent: 1000,
            received,
            lost: 1000 - received,
            loss_ratio: LossRatio::of(1000 - received, 1000),
            forwarding_fps: fps,
        };
        assert_eq!(
            words(&[guest(0, 1000, 12_345.4), guest(1, 979, 12_086.0)]),
            "guest0 12.3 k, guest1 12.1 k (loss 2.1 %), together 24.4 k frames/s"
        );
    }
}
