//! What the other end of a connection may say: a lab's machine, a socket client or server, QEMU's monitor, a guest that
//! follows frames.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nicety_account::hops::join;
use nicety_account::inside::{self, Inside, weave};
use nicety_fate::inside::{Told, read};
use nicety_guests::qmp::Qmp;
use nicety_lab::wire::{Decoder, Message, ToGuest, ToHost};

use crate::Target;

pub(crate) const LAB: Target = Target {
    name: "lab",
    run: |bytes| {
        decode::<ToHost>(bytes);
        decode::<ToGuest>(bytes);
    },
    seeds: |_| {
        let said = [
            ToHost::Started,
            ToHost::Output(b"x".to_vec()),
            ToHost::Exited(0),
        ];
        let told = [
            ToGuest::Input(b"y".to_vec()),
            ToGuest::InputEnd,
            ToGuest::Signal(2),
        ];
        vec![
            said.iter().flat_map(Message::encode).collect(),
            told.iter().flat_map(Message::encode).collect(),
        ]
    },
};

fn decode<M: Message>(bytes: &[u8]) {
    let mut decoder = Decoder::default();
    for piece in bytes.chunks(64) {
        decoder.push(piece);
        while let Ok(Some(message)) = decoder.message::<M>() {
            let _ = message.encode();
        }
    }
}

pub(crate) const SOCK: Target = Target {
    name: "sock",
    run: nicety_socket::hostile::messages,
    seeds: |_| {
        let hello = br#"{"say":"hello","protocol":1,"version":"0.1.0","token":"correct-horse"}"#;
        vec![
            hello.to_vec(),
            br#"{"say":"ready","port":7,"key":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"#.to_vec(),
        ]
    },
};

/// What fits into a socket's buffer without anybody reading.
const LONGEST: usize = 32 << 10;

pub(crate) const QMP: Target = Target {
    name: "qmp",
    run: |bytes| {
        let Ok((ours, mut theirs)) = UnixStream::pair() else {
            return;
        };
        let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
        if theirs.write_all(bytes).is_err() {
            return;
        }
        // The end of what is said; what is written to it is taken.
        let _ = theirs.shutdown(std::net::Shutdown::Write);
        let Ok(mut monitor) = Qmp::connect(ours, Duration::from_secs(5)) else {
            return;
        };
        let _ = monitor.vcpu_threads();
        while monitor.event().is_some() {}
    },
    seeds: |_| {
        vec![
            b"{\"QMP\": {\"version\": {}}}\r\n{\"return\": {}}\r\n{\"event\": \"RESUME\"}\r\n{\"return\": [{\"thread-id\": 7}]}\r\n"
                .to_vec(),
        ]
    },
};

/// What a guest says of frames that it followed, read and put beside what the host saw.
pub(crate) const GUEST_FATES: Target = Target {
    name: "guest-fates",
    run: |bytes| {
        let Ok(answer) = serde_json::from_slice(bytes) else {
            return;
        };
        let Ok(Told::Noted {
            fates,
            seen,
            stations,
            ..
        }) = read("guest", &answer)
        else {
            return;
        };
        inside::join(&mut [vec![0; 64], vec![1; 64]], &mut Vec::new(), &fates);
        let host = seen.clone();
        let inside = Inside {
            guest: "guest".to_owned(),
            seen,
            stations: stations.clone(),
            ..Inside::default()
        };
        for is_before in [true, false] {
            let woven = weave(host.clone(), stations.clone(), &inside, &|_| is_before);
            let _ = join(woven.seen, &woven.stations, "sent at a");
        }
    },
    seeds: |_| {
        vec![
            br#"{"told":{"causes":[{"number":1,"device":"eth1","function":"f","reason":"QDISC_DROP"}],"rows":["2 5 1 1 1 1",""],"rows_left_out":0,"stations":[{"does":"receives","device":"eth0","function":null,"reason":null},{"does":"frees","device":"eth1","function":"f","reason":null}],"seen":"0 7 1000 5000 0 0 1 0 7 1000 6000 1 0 1 0 8 2000 7000 0 0 1","unnoted":0}}"#
                .to_vec(),
            br#"{"clock":1000}"#.to_vec(),
        ]
    },
};
