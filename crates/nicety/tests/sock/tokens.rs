//! Who knows the token, how it is given, and that hearing a connection opens no second one.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::harness::{nicety, open_dir, words};
use crate::{TOKEN, client, frame, listening, serve};

/// The message that comes next.
fn message(stream: &mut TcpStream) -> String {
    let mut head = [0; 8];
    stream.read_exact(&mut head).unwrap();
    let mut body = vec![0; u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// What a client and a server said until they knew each other, and the client's end of it.
pub struct Heard {
    pub hello: String,
    pub challenge: String,
    pub proof: String,
    pub welcome: String,
    pub server: TcpStream,
}

/// Somebody between a client and the server who hears both, then goes on in the client's place.
pub fn between(to: &str) -> Heard {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let client = client(&at, &["tcp_rr", "--for", "100ms"]).start();
    let mut near = listener.accept().unwrap().0;
    let mut server = TcpStream::connect(to).unwrap();
    let hello = message(&mut near);
    server.write_all(&frame(&hello)).unwrap();
    let challenge = message(&mut server);
    near.write_all(&frame(&challenge)).unwrap();
    let proof = message(&mut near);
    server.write_all(&frame(&proof)).unwrap();
    let welcome = message(&mut server);
    assert!(welcome.contains("welcome"), "{welcome}");
    drop((near, client));
    Heard {
        hello,
        challenge,
        proof,
        welcome,
        server,
    }
}

#[test]
fn what_is_heard_of_a_connection_opens_no_second_one() {
    let (server, to) = serve();
    let heard = between(&to);
    for said in [&heard.hello, &heard.challenge, &heard.proof, &heard.welcome] {
        assert!(!said.contains(TOKEN), "{said}");
    }
    // Protocol 1 wants the key, and nobody the secret.
    let hello: serde_json::Value = serde_json::from_str(&heard.hello).unwrap();
    assert_eq!(hello["token"], "");
    // The same words again: another nonce, so the proof is worth nothing.
    let mut again = TcpStream::connect(&to).unwrap();
    again.write_all(&frame(&heard.hello)).unwrap();
    assert_ne!(message(&mut again), heard.challenge);
    again.write_all(&frame(&heard.proof)).unwrap();
    let answer = message(&mut again);
    assert!(answer.contains("wrong_token"), "{answer}");
    // Nor do they make a server: the client asks with a nonce of its own.
    drop(server);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let running = client(&at, &["tcp_rr"]).start();
    let mut near = listener.accept().unwrap().0;
    message(&mut near);
    near.write_all(&frame(&heard.challenge)).unwrap();
    message(&mut near);
    near.write_all(&frame(&heard.welcome)).unwrap();
    let ended = running.wait();
    ended.assert_code(3);
    let line = "does not know the token itself";
    assert!(ended.only_line().contains(line), "{}", ended.stderr);
}

#[test]
fn a_token_comes_from_a_file_or_the_environment_as_any_user() {
    let dir = open_dir();
    let file = dir.path().join("token");
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let name = file.to_str().unwrap();
    let (server, to) = listening(nicety(words(&format!(
        "sock serve --listen 127.0.0.1:0 --token-file {name}"
    ))));
    assert!(!server.stderr().contains(TOKEN), "{}", server.stderr());
    let test = ["sock", "tcp_rr", &to, "--for", "100ms"];
    nicety(test).env("NICETY_TOKEN", TOKEN).run().assert_code(0);
    let with = |words: &[&str]| nicety(test.iter().chain(words)).run();
    with(&["--token-file", name]).assert_code(0);

    let refused = |words: &[&str], says: &str| {
        let ended = with(words);
        ended.refused_for(says);
    };
    refused(&[], "set NICETY_TOKEN");
    for mode in [0o640, 0o604, 0o620] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        refused(&["--token-file", name], "run chmod 600 on it");
    }
    refused(&["--token-file", "/dev/null"], "not a regular file");
    let fifo = dir.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    refused(
        &["--token-file", fifo.to_str().unwrap()],
        "it is not a regular file; name the file that holds the secret",
    );
    refused(&["--token-file", "/no/such"], "No such file");
    let short = nicety(test).env("NICETY_TOKEN", "short").run();
    short.assert_code(2);
    let line = "NICETY_TOKEN: a token has 8 to 128";
    assert!(short.only_line().contains(line), "{}", short.stderr);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    symlink(&file, dir.path().join("link")).unwrap();
    with(&["--token-file", dir.path().join("link").to_str().unwrap()]).assert_code(0);
}

#[test]
fn whoever_knocks_without_end_has_one_line() {
    let (server, to) = serve();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(&to).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // The server closes it.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
    let said = server.stderr();
    // Two when the knocking takes longer than the ten seconds that a line is good for.
    let lines = said.matches("closed").count();
    assert!((1..=8).contains(&lines), "{lines} lines: {said}");
}
