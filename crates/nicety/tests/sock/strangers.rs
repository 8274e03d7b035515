//! What is no server, and what is no client.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use crate::tokens::between;
use crate::{client, frame, serve};

/// Accepts one connection, says `words` and keeps it open until the client leaves.
fn impostor(words: Vec<u8>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&words).unwrap();
        // Until the client closes; what it says does not matter.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    (to, thread)
}

#[test]
fn whatever_answers_instead_of_a_server_is_named() {
    let huge = [b"NCTY".as_slice(), &u32::MAX.to_be_bytes()].concat();
    for (words, says) in [
        (
            b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(),
            "is not a nicety socket server",
        ),
        (huge, "is not a nicety socket server"),
        (frame("[]"), "is not a nicety socket server"),
        (
            frame(r#"{"say":"joined"}"#),
            "is not a nicety socket server",
        ),
        (
            frame(r#"{"say":"wrong_protocol","protocol":9,"version":"7.0.0"}"#),
            "runs nicety 7.0.0 (protocol 9), this is",
        ),
        (
            frame(r#"{"say":"wrong_protocol","protocol":1,"version":"0.1.0"}"#),
            "(protocol 1), this is",
        ),
        (Vec::new(), "did not greet within 5 s"),
    ] {
        let (to, thread) = impostor(words);
        let ended = client(&to, &["tcp_rr"]).run();
        thread.join().unwrap();
        ended.cannot(says);
    }
}

#[test]
fn garbage_floods_and_silence_do_not_keep_a_client_out() {
    let (_server, to) = serve();
    let huge = [b"NCTY".as_slice(), &u32::MAX.to_be_bytes()].concat();
    let early = frame(r#"{"say":"go"}"#);
    let bad_order = frame(r#"{"say":"hello","protocol":2,"version":"","token":"x"}"#);
    for words in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), huge, early, bad_order] {
        let mut stream = TcpStream::connect(&to).unwrap();
        stream.write_all(&words).unwrap();
        // The server closes it; its words do not matter.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
    // Many that say nothing, and one that begins and never ends.
    let mut silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&to).unwrap()).collect();
    silent[199].write_all(b"NCTY\0\0").unwrap();
    let ended = client(&to, &["udp_rr", "--for", "200ms"]).run();
    ended.assert_code(0);
    drop(silent);
}

/// Connections by the hundred do not touch a test that runs, nor the client's next one.
#[test]
fn a_flood_beside_a_test_costs_it_nothing_but_time() {
    let (_server, to) = serve();
    let words = ["tcp_rr", "--for", "1s", "--repeats", "2", "--json"];
    let running = client(&to, &words).start();
    let mut flood = Vec::new();
    for _ in 0..800 {
        // Refused or not, all of it is the flood's own.
        flood.extend(TcpStream::connect(&to).map(|mut stream| {
            let _ = stream.write_all(b"NCTY\0\0\x10\0");
            stream
        }));
        if flood.len() > 100 {
            flood.clear();
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let ended = running.wait();
    let report = ended.json();
    let results = report["series"][0]["results"].as_array().unwrap().clone();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| result["ending"] == "complete"));
}

#[test]
fn a_client_of_another_version_is_told_which_one_this_is() {
    let (_server, to) = serve();
    let hello = format!(
        r#"{{"say":"hello","protocol":9,"version":"7.0.0","token":"{}"}}"#,
        crate::TOKEN
    );
    let mut stream = TcpStream::connect(&to).unwrap();
    stream.write_all(&frame(&hello)).unwrap();
    let mut heard = Vec::new();
    std::io::copy(&mut stream, &mut heard).unwrap();
    let heard = String::from_utf8_lossy(&heard);
    let version = format!(r#""version":"{}""#, env!("CARGO_PKG_VERSION"));
    assert!(
        heard.contains("wrong_protocol") && heard.contains(&version),
        "{heard}"
    );
}

#[test]
fn orders_out_of_range_are_refused_by_the_server_too() {
    let (_server, to) = serve();
    for (ask, says) in [
        (
            r#""test":"udp_rr","message_bytes":0,"parallel":1,"duration_ms":1000"#,
            "write 1 to",
        ),
        (
            r#""test":"tcp_rr","message_bytes":4294967295,"parallel":1,"duration_ms":1000"#,
            "write 1 to",
        ),
        (
            r#""test":"tcp_rr","message_bytes":1,"parallel":4000000000,"duration_ms":1000"#,
            "parallel flows",
        ),
        (
            r#""test":"tcp_rr","message_bytes":1,"parallel":1,"duration_ms":4000000000"#,
            "100ms to 1h",
        ),
    ] {
        let mut stream = between(&to).server;
        stream
            .write_all(&frame(&format!(r#"{{"say":"order","ask":{{{ask}}}}}"#)))
            .unwrap();
        let mut heard = Vec::new();
        std::io::copy(&mut stream, &mut heard).unwrap();
        let heard = String::from_utf8_lossy(&heard);
        assert!(heard.contains("failed") && heard.contains(says), "{heard}");
    }
}
