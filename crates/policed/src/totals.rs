//! What interfaces have sent and received.

use nicety_netdev::shaper::Face;
use nicety_police::totals::Total;

/// What an interface has sent and received.
pub fn sent_by(face: &Face) -> Total {
    Total {
        tx_bytes: face.tx_bytes,
        tx_frames: face.tx_frames,
        rx_bytes: face.rx_bytes,
        rx_frames: face.rx_frames,
    }
}

/// What the owner of an interface has sent and received: what a tap or veth receives is what its owner sends.
pub fn owner_sent(face: &Face) -> Total {
    match face.kind.as_str() {
        "macvtap" => sent_by(face),
        _ => sent_by(face).turned(),
    }
}
