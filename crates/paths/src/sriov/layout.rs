//! Which functions of a port are whose.

use nicety_model::Remedy;

/// Functions of a path: the tester's at A, two of each guest, the tester's at B.
pub(super) fn count(guests: u32) -> u32 {
    2 * guests + 2
}

/// The two functions of a guest.
pub(crate) fn of_guest(number: u32) -> [u32; 2] {
    [2 * number + 1, 2 * number + 2]
}

/// A port has too few functions for so many guests: why it cannot be used, and what to do.
pub(super) fn too_few(pf: &str, most: u32, guests: u32) -> Option<(String, Remedy)> {
    let needed = count(guests);
    let why = match guests {
        1 => format!("{pf} can have {most} virtual functions, {needed} are needed"),
        _ => format!("{pf} can have {most} virtual functions, {guests} guests need {needed}"),
    };
    let remedy = match most.saturating_sub(2) / 2 {
        0 => Remedy::plan("name a port with SR-IOV, and switch it on in the firmware"),
        fit => Remedy::plan(format!("write vms = {fit} or less, or name another port")),
    };
    (most < needed).then_some((why, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_need_two_functions_each_and_the_tester_two() {
        assert_eq!(too_few("eth0", 7, 2), None);
        let (why, remedy) = too_few("eth0", 7, 3).unwrap();
        assert_eq!(why, "eth0 can have 7 virtual functions, 3 guests need 8");
        assert_eq!(
            remedy.to_string(),
            "write vms = 2 or less, or name another port"
        );
        let (why, remedy) = too_few("eth0", 0, 1).unwrap();
        assert_eq!(why, "eth0 can have 0 virtual functions, 4 are needed");
        assert!(remedy.to_string().starts_with("name a port with SR-IOV"));
        assert_eq!([of_guest(0), of_guest(1)], [[1, 2], [3, 4]]);
    }
}
