//! The ring with this test as the kernel: slots filled by hand. `make miri` runs it as well.

use super::*;

const SLOT: usize = 256;
const BLOCK: usize = 1024;

/// Two blocks of four slots.
fn ring() -> Slots {
    Slots {
        memory: Memory::new(2 * BLOCK).unwrap(),
        block_bytes: BLOCK,
        slot_bytes: SLOT,
        slots_per_block: 4,
        slots: 8,
        next: 0,
    }
}

/// Fills slot `number` with a frame of `text` at `start` that says it has `length` bytes.
fn fill(ring: &mut Slots, number: usize, start: u16, length: u32, text: &[u8]) {
    let at = number / 4 * BLOCK + number % 4 * SLOT;
    let place = at + usize::from(start);
    if usize::from(start) + text.len() <= SLOT {
        ring.memory.slice(place, text.len()).copy_from_slice(text);
    }
    ring.memory.slice(at + PACKET_TYPE, 1)[0] = libc::PACKET_OUTGOING;
    let header = libc::tpacket2_hdr {
        tp_status: libc::TP_STATUS_USER,
        tp_len: length,
        tp_snaplen: length,
        tp_mac: start,
        tp_net: 0,
        tp_sec: 2,
        tp_nsec: 5,
        tp_vlan_tci: 0,
        tp_vlan_tpid: 0,
        tp_padding: [0; 4],
    };
    let start = ring.memory.start();
    // SAFETY: the slot is inside the memory and aligned.
    unsafe { start.add(at).cast().write(header) };
}

/// What waits, as text with the time and direction.
fn taken(ring: &mut Slots, max: usize) -> Vec<(Vec<u8>, i64, bool)> {
    let mut all = Vec::new();
    let count = ring.poll(max, |frame| {
        assert!(frame.offloads.len() <= OFFLOADS);
        all.push((frame.bytes.to_vec(), frame.realtime_ns, frame.outgoing));
    });
    assert_eq!(count, all.len());
    all
}

#[test]
fn frames_come_in_order_beyond_the_end_of_the_ring() {
    let mut ring = ring();
    let mut number = 0;
    for round in 0..6_u8 {
        for frame in 0..3 {
            fill(&mut ring, number, 66, 2, &[round, frame]);
            number = (number + 1) % 8;
        }
        let expected = (0..3).map(|frame| (vec![round, frame], 2_000_000_005, true));
        assert_eq!(taken(&mut ring, 2).len(), 2);
        assert_eq!(taken(&mut ring, 9), expected.skip(2).collect::<Vec<_>>());
    }
    assert!(taken(&mut ring, 9).is_empty(), "given back to the kernel");
}

#[test]
fn no_header_leads_out_of_its_slot() {
    let mut ring = ring();
    for (start, length, bytes) in [
        (66, u32::MAX, SLOT - 66),
        (u16::MAX, 60, 0),
        (0, 60, 0),
        (SLOT as u16, 60, 0),
        (SLOT as u16 - 1, 60, 1),
    ] {
        let number = ring.next;
        fill(&mut ring, number, start, length, &[]);
        let frames = taken(&mut ring, 1);
        assert_eq!(frames[0].0.len(), bytes, "{start} {length}");
    }
}
