//! Guests of the daemon, good and bad.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Call, Ended, NICETY, Running, as_root, nicety, root, skip, words};
use crate::uplink::{POLICY, Uplink};

/// The uplink with a channel for a and one for b.
pub fn with_guests() -> Option<Uplink> {
    let uplink = Uplink::new()?;
    let mut policy = POLICY.to_owned();
    for name in ["a", "b"] {
        let socket = uplink.path(&format!("{name}.sock"));
        let port = format!("ports = \"{name}1\"");
        let more = format!("{port}\nguest = \"{}\"", socket.display());
        policy = policy.replace(&port, &more);
    }
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    Some(uplink)
}

/// `nicety guest` as the tenant's container runs it.
pub fn guest(uplink: &Uplink, tenant: &str, words: &[&str]) -> Call {
    let socket = uplink.path(&format!("{tenant}.sock"));
    let all = ["guest"].iter().chain(words).copied();
    let call = nicety(all.chain(["--channel", socket.to_str().unwrap()]));
    call.below(uplink.enter(tenant))
}

pub fn record(ended: &Ended) -> Value {
    let reply = ended.json();
    reply["status"].clone()
}

#[test]
fn a_guest_sees_itself_and_limits_itself_as_any_user() {
    let Some(uplink) = with_guests() else { return };
    let mut daemon = uplink.daemon(&[]);
    let floods = [uplink.flood("a"), uplink.flood("b")];
    uplink.until(&mut daemon, "both floods", |[a, b, _]| a > 1.6 && b > 1.6);
    let seen = record(&guest(&uplink, "a", &["status", "--json"]).run());
    assert!(seen["rate_bps"].as_f64().unwrap() > 1e6, "{seen}");
    assert_eq!(seen["hard_bps"], 40e6);
    assert_eq!(seen["soft_bps"], Value::Null);
    let keys: Vec<_> = seen.as_object().unwrap().keys().cloned().collect();
    assert!(
        keys.iter()
            .all(|key| key.ends_with("_bps") || key == "period_s"),
        "{keys:?}"
    );

    let set = guest(&uplink, "a", &["limit", "1mbit"]).run();
    set.assert_code(0).assert_out("soft limit  1.0 Mbit/s\n");
    // What a leaves is b's.
    // Rates so low that every machine finds them, however busy it is.
    uplink.until(&mut daemon, "a's own limit", |[a, b, _]| {
        (0.5..1.2).contains(&a) && b > a
    });
    daemon.until("why", |_| {
        let line = uplink.police(&["status", "a"]).run();
        line.assert_code(0)
            .stdout
            .contains("held by the soft limit it set itself")
    });
    let refused = guest(&uplink, "a", &["limit", "41mbit"]).run();
    refused.assert_code(1);
    assert_eq!(
        refused.only_line(),
        "the host refuses: 41mbit is above the hard limit of 40mbit; write at most that, or none"
    );
    daemon.until_err("guest of a: refused: 41mbit");
    let seen = record(&guest(&uplink, "a", &["status", "--json"]).run());
    assert_eq!(seen["soft_bps"], 1e6);

    // It outlives the daemon.
    daemon.kill();
    let mut daemon = uplink.daemon(&[]);
    let seen = record(&guest(&uplink, "a", &["status", "--json"]).run());
    assert_eq!(seen["soft_bps"], 1e6);
    guest(&uplink, "a", &["limit", "none"]).run().assert_code(0);
    uplink.until(&mut daemon, "a's flood again", |[a, _, _]| a > 1.6);
    let lease = guest(&uplink, "a", &["limit", "3mbit", "--for", "2s", "--json"]).run();
    assert_eq!(record(&lease)["soft_bps"], 3e6);
    daemon.until("the end of the lease", |_| {
        let seen = record(&guest(&uplink, "a", &["status", "--json"]).run());
        seen["soft_bps"] == Value::Null
    });
    drop(floods);
    daemon.stop();
    assert!(!uplink.path("a.sock").exists());
    guest(&uplink, "a", &["status"]).run().assert_code(3);
}

#[test]
fn a_soft_limit_holds_where_somebody_can_lift_it() {
    let Some(uplink) = with_guests() else { return };
    let mut daemon = uplink.daemon(&[]);
    let limit = |words: &[&str]| {
        let words: Vec<&str> = ["limit"].iter().chain(words).copied().collect();
        guest(&uplink, "a", &words).run()
    };
    limit(&["5mbit"]).assert_code(0);
    // Nothing but none is none.
    let zero = limit(&["0mbit"]);
    zero.assert_code(2);
    assert!(zero.stderr.contains("too little"), "{}", zero.stderr);
    let lifted = limit(&["none", "--for", "1h"]);
    let said = &lifted.assert_code(0).stdout;
    assert!(said.contains("soft limit  none, for 3"), "{said}");
    let mut until = |what: &str, wanted: Value| {
        daemon.until(what, |_| {
            uplink.status()["decision"]["tenants"][0]["soft_bps"] == wanted
        });
    };
    until("no limit for a while", Value::Null);
    limit(&["3mbit", "--for", "1s"]).assert_code(0);
    until("a limit for a while", 3e6.into());
    until("the limit from before", 5e6.into());
    let file = uplink.path("policy.toml");
    let channels = fs::read_to_string(&file).unwrap();
    for (policy, soft) in [(POLICY, Value::Null), (&channels, 5e6.into())] {
        uplink.reload_with(policy);
        until("the channel's limit", soft);
    }
    daemon.stop();
}

fn connect(uplink: &Uplink, tenant: &str) -> UnixStream {
    let stream = UnixStream::connect(uplink.path(&format!("{tenant}.sock"))).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    stream
}

#[test]
fn bad_guests_disturb_nobody() {
    let Some(uplink) = with_guests() else { return };
    let mut daemon = uplink.daemon(&[]);
    // A line of 10 MB is answered once, and not read to its end.
    let mut long = connect(&uplink, "a");
    let block = vec![b'x'; 1 << 20];
    let refused = (0..10).find(|_| long.write_all(&block).is_err());
    assert!(refused.is_some_and(|block| block < 2), "all of it was read");
    let mut lines = BufReader::new(&long).lines();
    let first = lines.next().unwrap().unwrap();
    let says = "the line is too long; the connection ends";
    assert!(first.contains(says), "{first}");
    assert!(lines.next().is_none_or(|line| line.is_err()));
    drop(lines);
    drop(long);

    // Garbage, and a flood of requests by one that never reads: as much as the sockets take.
    let mut garbage = connect(&uplink, "a");
    let noise: Vec<u8> = (0..1_000_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let _ = garbage.write_all(&noise);
    let mut unread = connect(&uplink, "a");
    let ask = b"1 x limit 2mbit\n1 x limit 3mbit\n".repeat(2_000);
    while unread.write_all(&ask).is_ok() {}
    // Garbage is no line, so its connection has ended: three are left of four places; those beyond are closed.
    let idle: Vec<UnixStream> = (0..6).map(|_| connect(&uplink, "a")).collect();
    let closed = idle.iter().filter(|stream| {
        stream
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        matches!((&mut &**stream).read(&mut [0]), Ok(0) | Err(_)) && {
            // A place that is held is silent: only an end comes at once.
            stream.set_nonblocking(true).unwrap();
            matches!((&mut &**stream).read(&mut [0]), Ok(0))
        }
    });
    assert!(closed.count() >= 3);
    let seen = record(&guest(&uplink, "b", &["status", "--json"]).run());
    assert_eq!(seen["soft_bps"], Value::Null);
    uplink.periods(&mut daemon, 5);
    drop((garbage, unread, idle));

    // Somebody else, although the file would let him.
    if root() {
        fs::set_permissions(uplink.dir.path(), Permissions::from_mode(0o755)).unwrap();
        let socket = uplink.path("a.sock");
        fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
        let words = ["guest", "status", "--channel", socket.to_str().unwrap()];
        let other = nicety(words).by_nobody().run();
        other.cannot("the host does not answer through ");
    } else {
        skip("peer credentials: needs root");
    }
    daemon.stop();
}

/// CPU time of the daemon's thread that serves guests (proc_pid_stat(5), utime and stime in ticks of 10 ms).
fn guests_cpu(daemon: &Running) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
    let stats = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("stat")).ok());
    let stat = stats.into_iter().find(|stat| stat.contains("(guests)"));
    let stat = stat.unwrap();
    let words: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |at: usize| words[at].parse::<u64>().unwrap();
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

/// Four writers without line ends, which connect again when they are closed, send next to nothing.
#[test]
fn a_guest_that_sends_without_end_costs_no_cpu() {
    let Some(uplink) = with_guests() else { return };
    let daemon = uplink.daemon(&[]);
    let end = Instant::now() + Duration::from_secs(1);
    let before = guests_cpu(&daemon);
    let taken: usize = std::thread::scope(|scope| {
        let flood = || {
            let (block, mut taken) = ([b'x'; 4096], 0);
            while Instant::now() < end {
                // Refused while all places are taken.
                let Ok(mut stream) = UnixStream::connect(uplink.path("a.sock")) else {
                    continue;
                };
                let patience = Some(Duration::from_millis(100));
                stream.set_write_timeout(patience).unwrap();
                while Instant::now() < end {
                    match stream.write(&block) {
                        Ok(count) => taken += count,
                        Err(_) => break,
                    }
                }
            }
            taken
        };
        let floods: Vec<_> = (0..4).map(|_| scope.spawn(flood)).collect();
        floods.into_iter().map(|flood| flood.join().unwrap()).sum()
    });
    let spent = guests_cpu(&daemon) - before;
    println!("taken {taken} bytes in 1 s, {spent:?} of CPU");
    // A full socket holds some 200 kB, and 20 connections a second are taken: not hundreds of megabytes.
    assert!(taken < 30_000_000, "{taken} bytes");
    let seen = record(&guest(&uplink, "b", &["status", "--json"]).run());
    assert_eq!(seen["soft_bps"], Value::Null);
    daemon.stop();
}

/// What a thread of the daemon may do (proc_pid_status(5)).
fn capabilities(daemon: &Running, name: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
    let texts =
        tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok());
    let name = format!("Name:\t{name}\n");
    let text = texts.into_iter().find(|text| text.starts_with(&name));
    let text = text.unwrap_or_else(|| panic!("no thread {name}"));
    let wanted = ["CapPrm", "CapEff", "NoNewPrivs"];
    text.lines()
        .filter(|line| wanted.iter().any(|key| line.starts_with(key)))
        .map(|line| line.split_once('\t').unwrap().1.to_owned())
        .collect()
}

#[test]
fn threads_that_strangers_speak_to_have_no_capabilities_as_any_user() {
    let Some(uplink) = with_guests() else { return };
    let mut daemon = uplink.daemon(&["--listen", "127.0.0.1:0"]);
    let own = capabilities(&daemon, "nicety");
    assert_ne!(own[1], "0000000000000000", "the loop sets limits");
    for name in ["guests", "serve"] {
        // The first thing a thread does; it may have been started just now.
        let none = ["0000000000000000", "0000000000000000", "1"];
        daemon.until(&format!("{name} without capabilities"), |daemon| {
            capabilities(daemon, name) == none
        });
    }
    // They work without.
    let limit = guest(&uplink, "a", &["limit", "3mbit"]).run();
    limit.assert_code(0);
    let kept = fs::read_to_string(uplink.path("state/soft.json")).unwrap();
    assert!(kept.contains("3000000"), "{kept}");
    daemon.stop();
}

#[test]
fn a_socket_where_others_may_write_is_refused_as_any_user() {
    let Some(uplink) = with_guests() else { return };
    fs::set_permissions(uplink.dir.path(), Permissions::from_mode(0o1777)).unwrap();
    let state = uplink.lab.state();
    let policy = fs::read_to_string(uplink.path("policy.toml")).unwrap();
    let ended = uplink.run_with(&policy);
    assert_ne!(ended.code(), 0);
    let says = "can be written by others, who could swap the socket for a link; use /run/nicety";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    uplink.lab.assert_state(&state);
    assert!(!uplink.path("a.sock").exists());
}

#[test]
fn a_user_has_the_channel_that_the_policy_gives_him() {
    if !as_root("the socket is made for another user, by root") {
        return;
    }
    let Some(uplink) = Uplink::new() else { return };
    // Where users may pass and not look around, and under a name that nobody else has.
    let socket = format!("/run/nicety/test-{}.sock", std::process::id());
    let port = "ports = \"a1\"";
    let channel = format!("{port}\nguest = \"{socket}\"\nguest_uid = 65533");
    let policy = POLICY.replace(port, &channel);
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let daemon = uplink.daemon(&[]);
    let ask = |uid, words: &[&str]| {
        let words = ["guest"].iter().chain(words).copied();
        let call = nicety(words.chain(["--channel", socket.as_str()]));
        call.by_user(uid).run()
    };
    let seen = record(&ask(65533, &["status", "--json"]));
    assert_eq!(seen["hard_bps"], 40e6);
    ask(65533, &["limit", "3mbit"]).assert_code(0);
    assert_eq!(record(&ask(65533, &["status", "--json"]))["soft_bps"], 3e6);
    // Another one cannot open it, and is not served where he can.
    let other = ask(65534, &["status"]);
    other.cannot("denied");
    fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    let other = ask(65534, &["limit", "2mbit"]);
    other.assert_code(3);
    let line = "the host does not answer through ";
    assert!(other.only_line().contains(line), "{}", other.stderr);
    assert_eq!(record(&ask(65533, &["status", "--json"]))["soft_bps"], 3e6);
    daemon.stop();
    assert!(!Path::new(&socket).exists());
}

#[test]
fn a_virtual_machine_asks_through_virtio_serial() {
    let cache = std::env::var_os("NICETY_TEST_LAB_CACHE").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab"),
        Into::into,
    );
    let cache = cache.to_str().unwrap();
    let fetched = nicety(["lab", "fetch"])
        .env("NICETY_CACHE", cache)
        .limit(Duration::from_secs(600))
        .run();
    if fetched.code() == 3 {
        skip(format_args!(
            "{}",
            fetched.stderr.lines().last().unwrap_or_default()
        ));
        return;
    }
    let none = nicety(words("lab run --channel /no/b.sock -- true")).run();
    none.assert_code(2);
    let line = "--channel /no/b.sock: there is no such socket; ";
    assert!(none.only_line().starts_with(line), "{}", none.stderr);
    let Some(uplink) = with_guests() else { return };
    let daemon = uplink.daemon_with(&[], |call| call.limit(Duration::from_secs(600)));
    let socket = uplink.path("b.sock");
    // In the end its hard limit changes, and with it the channel is opened anew.
    let script = format!(
        "{NICETY} guest status --json && {NICETY} guest limit 7mbit --json && {{ {NICETY} guest limit 41mbit; echo code $?; }} && {NICETY} guest status --json
        until {NICETY} guest status --json 2>/dev/null | grep -q '\"hard_bps\": *2000000'; do sleep 0.3; done
        {NICETY} guest status --json && {{ {NICETY} guest limit 3mbit; echo code $?; }}"
    );
    let line = format!(
        "lab run --cpus 2 --memory 1G --channel {} -- sh -c",
        socket.display()
    );
    let mut machine = nicety(words(&line).into_iter().chain([script.as_str()]))
        .env("NICETY_CACHE", cache)
        .limit(Duration::from_secs(600))
        .start();
    machine.until("the refusal in the log", |_| {
        daemon.stderr().contains("guest of b: refused: 41mbit")
    });
    // The guest has seen that nothing changed: the channel is its own again only after a moment.
    machine.until("the answer after the refusal", |machine| {
        let told = machine.stdout();
        told.split_once("code 1\n")
            .is_some_and(|(_, after)| after.contains("period_s"))
    });
    // Told with the next period.
    machine.until("the guest's limit", |_| {
        uplink.status()["decision"]["tenants"][1]["soft_bps"] == 7e6
    });
    let flood = uplink.flood("b");
    let file = uplink.path("policy.toml");
    let first = fs::read_to_string(&file).unwrap();
    let port = "ports = \"b1\"";
    uplink.reload_with(&first.replace(port, &format!("{port}\ncap = \"2mbit\"")));
    let ended = machine.wait();
    drop(flood);
    ended.assert_code(0);
    assert_eq!(
        ended.stdout.matches("code 1\n").count(),
        2,
        "{}{}",
        ended.stdout,
        ended.stderr
    );
    let answers = ended.stdout.replace("code 1\n", "");
    let answers: Vec<Value> = serde_json::Deserializer::from_str(&answers)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(answers.len(), 4, "{}", ended.stdout);
    assert_eq!(answers[0]["status"]["soft_bps"], Value::Null);
    assert_eq!(answers[1]["status"]["soft_bps"], 7e6);
    // Refused, told on the host, and nothing changed.
    assert_eq!(answers[2]["status"]["soft_bps"], 7e6);
    // The host has lowered what it may at most, under traffic.
    assert_eq!(answers[3]["status"]["hard_bps"], 2e6);
    assert_eq!(answers[3]["status"]["soft_bps"], 2e6);
    daemon.stop();
}
