//! Answers of netdevsim in switchdev mode, Linux 6.12.95, recorded while its function 0 had 500 and
//! 100 Mbit/s and a group had 1 Gbit/s; a second netdevsim beside it.

use super::*;

const SWITCH: [&str; 1] =
    ["1d0100000e0001006e657464657673696d0000000f0002006e657464657673696d3100000600190001000000"];
const PORTS: [&str; 4] = [
    "070100000e0001006e657464657673696d0000000f0002006e657464657673696d3100000800030000000000\
     06000400020000000800060004000000090007006574683200000000050094000000000006004d0000000000\
     08004e0001000000",
    "070100000e0001006e657464657673696d0000000f0002006e657464657673696d3100000800030080000000\
     06000400020000000800060005000000090007006574683300000000050094000000000006004d0004000000\
     080096000000000006007f000000000006008000000000000500950000000000",
    "070100000e0001006e657464657673696d0000000f0002006e657464657673696d3100000800030081000000\
     06000400020000000800060006000000090007006574683400000000050094000000000006004d0004000000\
     080096000000000006007f000000000006008000010000000500950000000000",
    "070100000e0001006e657464657673696d0000000f0002006e657464657673696d3200000800030000000000\
     0600040002000000050094000000000006004d000000000008004e0001000000",
];
const RATES: [&str; 3] = [
    "4c0100000e0001006e657464657673696d0000000f0002006e657464657673696d3100000600a50001000000\
     0c00a80074656e616e7473000c00a60000000000000000000c00a70040597307000000000800b10000000000\
     0800b20000000000",
    "4c0100000e0001006e657464657673696d0000000f0002006e657464657673696d3100000600a50000000000\
     08000300800000000c00a60020bcbe00000000000c00a700a0acb903000000000800b100000000000800b200\
     00000000",
    "4c0100000e0001006e657464657673696d0000000f0002006e657464657673696d3100000600a50000000000\
     08000300810000000c00a60000000000000000000c00a70000000000000000000800b100000000000800b200\
     00000000",
];

fn recorded(answers: &[&str]) -> Result<Vec<RawMessage>, i32> {
    let bytes = |text: &&str| -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        pairs.map(byte).collect()
    };
    let answers = answers.iter().map(bytes);
    Ok(answers.map(|bytes| RawMessage::new(21, &bytes)).collect())
}

#[test]
fn what_netdevsim_says_is_read() {
    let devlink = devlink(vec![
        (ESWITCH_GET, recorded(&SWITCH)),
        (PORT_GET, recorded(&PORTS)),
        (RATE_GET, recorded(&RATES)),
    ]);
    let functions = devlink.functions("netdevsim/netdevsim1").unwrap().unwrap();
    let mbit = |max, share| {
        Some(LeafRate {
            max: BitRate::from_mbit(max),
            share: BitRate::from_mbit(share),
        })
    };
    let told: Vec<_> = functions
        .iter()
        .map(|f| (f.vf, f.representor.as_deref(), f.representor_index, f.rate))
        .collect();
    assert_eq!(
        told,
        [
            (0, Some("eth3"), Some(5), mbit(500, 100)),
            (1, Some("eth4"), Some(6), mbit(0, 0)),
        ]
    );
    // The same answers are not another NIC's.
    assert!(
        devlink
            .functions("netdevsim/netdevsim2")
            .unwrap()
            .is_none_or(|f| f.is_empty())
    );
}
