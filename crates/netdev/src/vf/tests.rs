use super::*;
use crate::link::Mac;

const RTM_NEWLINK: u16 = 16;

/// A link message as the kernel writes it: `count` functions, numbers from 0; the list's length
/// field wraps as a u16 does.
fn message(count: u32, stats: bool, skip: &[u32]) -> RawMessage {
    let mut message = RawMessage::new(RTM_NEWLINK, &[0; 16]);
    message.put_str(3, "eth0");
    message.put(21, &count.to_ne_bytes());
    let start = message.body.len();
    message.body.extend_from_slice(&[0, 0, 22, 0]);
    for vf in (0..count).filter(|vf| !skip.contains(vf)) {
        let pair = |a: u32| [vf, a].map(u32::to_ne_bytes).concat();
        message.nest(1, |info| {
            let mut mac = vf.to_ne_bytes().to_vec();
            mac.extend_from_slice(&[2, 0, 0, 0, 1, vf as u8]);
            mac.resize(36, 0);
            info.put(1, &mac);
            info.put(10, &[0xff; 32]);
            info.put(2, &[vf, 100, 3].map(u32::to_ne_bytes).concat());
            info.put(6, &[vf, 0, 10 * vf].map(u32::to_ne_bytes).concat());
            info.put(3, &pair(10 * vf));
            info.put(4, &pair(1));
            info.put(5, &pair(0));
            info.put(7, &pair(u32::MAX));
            info.put(9, &pair(u32::MAX));
            if stats {
                info.nest(8, |stats| {
                    for kind in [0u16, 1, 2, 3, 4, 5, 7, 8] {
                        stats.put(
                            kind,
                            &(u64::from(kind) + 1000 * u64::from(vf)).to_ne_bytes(),
                        );
                    }
                });
            }
        });
    }
    let length = (message.body.len() - start) as u16;
    message.body[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    message.put(33, &7u32.to_ne_bytes());
    message
}

#[test]
fn functions_are_read_and_what_is_not_told_is_absent() {
    let list = parse::function_list(&message(3, true, &[]));
    assert_eq!((list.announced, list.functions.len()), (3, 3));
    let two = &list.functions[2];
    assert_eq!((two.vf, two.mac), (2, Some(Mac([2, 0, 0, 0, 1, 2]))));
    assert_eq!(two.vlan, Some((100, 3)));
    assert_eq!((two.max_mbit, two.min_mbit), (Some(20), Some(0)));
    assert_eq!((two.spoof_check, two.trust), (Some(true), None));
    assert_eq!(two.link_state, Some("auto"));
    let counters = two.counters.unwrap();
    assert_eq!((counters.rx_packets, counters.tx_dropped), (2000, 2008));
}

#[test]
fn a_function_that_is_left_out_does_not_shift_the_others() {
    let list = parse::function_list(&message(4, false, &[1]));
    let numbers: Vec<u32> = list.functions.iter().map(|f| f.vf).collect();
    assert_eq!((list.announced, numbers), (4, vec![0, 2, 3]));
    assert_eq!(list.functions[1].counters, None);
}

#[test]
fn a_list_longer_than_its_length_field_is_read_to_its_end() {
    for count in [180, 222, 256, 500] {
        let message = message(count, true, &[]);
        let list = parse::function_list(&message);
        assert_eq!(list.functions.len(), count as usize);
        let last = list.functions.last().unwrap();
        assert_eq!(last.vf, count - 1);
        assert_eq!(
            last.counters.unwrap().rx_packets,
            1000 * u64::from(count - 1)
        );
    }
    assert!(message(256, true, &[]).body.len() > 65_536);
}

#[test]
fn a_message_cut_anywhere_is_no_panic() {
    let whole = message(3, true, &[]);
    for end in 0..whole.body.len() {
        let mut cut = whole.clone();
        cut.body.truncate(end);
        assert!(parse::function_list(&cut).functions.len() <= 3);
    }
    for at in 16..whole.body.len() {
        let mut bent = whole.clone();
        bent.body[at] ^= 0xff;
        assert!(parse::function_list(&bent).functions.len() <= 3);
    }
}

/// What iproute2 6.1 sends for `ip link set eth0 vf 3 max_tx_rate 500`, behind its header.
#[test]
fn a_rate_is_asked_for_as_the_kernel_wants_it() {
    let request = rate_request("eth0", 3, 500, 20);
    let list = request.attributes(16).find(22).unwrap();
    assert_eq!(
        list,
        [
            20u8, 0, 1, 0x80, // IFLA_VF_INFO
            16, 0, 6, 0, // IFLA_VF_RATE
            3, 0, 0, 0, 20, 0, 0, 0, 0xf4, 1, 0, 0,
        ]
    );
}
