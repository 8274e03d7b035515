//! What guests have in common, whatever they are made of: their addresses, and the stations behind
//! them.

use nicety_model::Note;
use nicety_model::note::{GuestNote, Shared};
use nicety_netdev::link::Mac;

use crate::rig::{MAC_A, MAC_B};

/// The tester's stations at A and B where there is one guest only.
pub(crate) const STATIONS: [Mac; 2] = [MAC_A, MAC_B];

/// Stations that NIC 0 and NIC 1 of a guest take frames for: those at the other side of it.
pub(crate) fn behind([a, b]: [Mac; 2]) -> [Mac; 2] {
    [b, a]
}

/// A pair of stations per guest; which they are does not matter where there is one.
pub(crate) fn stations(given: &[[Mac; 2]], guests: u32) -> Vec<[Mac; 2]> {
    let mut stations = given.to_vec();
    stations.resize(guests.max(1) as usize, STATIONS);
    stations
}

/// Hardware addresses of guest `number`, below 256.
pub(crate) fn macs(number: usize) -> [Mac; 2] {
    MACS.map(|mac| {
        let mut bytes = mac.0;
        bytes[3] = number as u8;
        Mac(bytes)
    })
}

/// The first guest's hardware addresses: locally administered, the same in every run.
const MACS: [Mac; 2] = [
    Mac([0x02, 0x6e, 0x69, 0, 1, 0]),
    Mac([0x02, 0x6e, 0x69, 0, 1, 1]),
];

/// Several guests are on one path, for the run's notes.
pub(crate) fn shared(guests: u32, shared: Shared) -> Note {
    GuestNote::GuestsShare { guests, shared }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_have_addresses_of_their_own() {
        assert_eq!(macs(0), MACS);
        assert_eq!(macs(7)[1].to_string(), "02:6e:69:07:01:01");
    }
}
