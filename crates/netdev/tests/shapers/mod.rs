//! Limits of ports against the running kernel.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nicety_model::BitRate;
use nicety_netdev::link::VethEnd;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::privilege::Privilege;
use nicety_netdev::shaper::{BURST, Limits, PortLimit, Shape, Shapers, Survey, SurveyRequest};

use nicety_testkit::runner::Skip;

use crate::{Outcome, pair};

fn shape(mbit: u64, wire: bool) -> Shape {
    Shape {
        rate: BitRate::from_mbit(mbit),
        wire,
        packets: None,
    }
}

/// Sets the first limit, where the kernel has all parts.
fn limited(shapers: &Shapers, shape: Shape) -> Outcome {
    match shapers.set("x", shape, BURST) {
        Ok(()) => Ok(()),
        Err(error) if error.is_unsupported() || error.is_not_found() => Err(Skip(format!(
            "this kernel lacks ifb, sch_ingress, cls_u32 or act_mirred: {error}"
        ))),
        Err(error) => panic!("{error}"),
    }
}

fn names(links: &nicety_netdev::link::Links) -> Vec<String> {
    links
        .list()
        .unwrap()
        .into_iter()
        .map(|link| link.name)
        .collect()
}

pub(crate) fn port_limits(_: Privilege) -> Outcome {
    let pair = pair(1);
    let shapers = Shapers::open(&pair.near).unwrap();
    assert_eq!(shapers.read("x").unwrap(), PortLimit::Open);
    let before = names(&pair.near_links);
    limited(&shapers, shape(100, true))?;
    assert_eq!(
        shapers.read("x").unwrap(),
        PortLimit::Limited(shape(100, true))
    );
    // Once more, another rate; above 4 GB/s the kernel tells it in another field.
    for next in [shape(7, false), shape(40_000, true), shape(88, true)] {
        shapers.set("x", next, Duration::from_millis(10)).unwrap();
        assert_eq!(shapers.read("x").unwrap(), PortLimit::Limited(next));
    }
    let survey = shapers.survey().unwrap();
    let link = survey.face("x").unwrap();
    let bucket = shapers.bucket_of(link, &survey).unwrap();
    assert_eq!((bucket.shape, bucket.backlog), (shape(88, true), 0));
    shapers.remove("x").unwrap();
    shapers.remove("x").unwrap();
    assert_eq!(shapers.read("x").unwrap(), PortLimit::Open);
    assert_eq!(names(&pair.near_links), before);
    root_limits(&shapers, &pair.near);
    assert_eq!(shapers.read("x").unwrap(), PortLimit::Open);

    // Half made: nothing is led to it.
    let index = pair.near_links.get("x").unwrap().index;
    let name = format!("nicety{index}");
    pair.near_links.add_ifb(&name, None).unwrap();
    assert_eq!(shapers.sweep().unwrap(), 0);
    assert_eq!(shapers.sweep_unused().unwrap(), 1);
    assert_eq!(names(&pair.near_links), before);
    shapers.set("x", shape(5, false), BURST).unwrap();
    assert_eq!(shapers.sweep_unused().unwrap(), 0);

    // A port that goes leaves its helper, which the next sweep takes.
    shapers.set("x", shape(5, false), BURST).unwrap();
    assert_eq!(shapers.sweep().unwrap(), 0);
    pair.near_links.delete("x").unwrap();
    assert!(matches!(shapers.read("x"), Err(NetError::NotFound { .. })));
    assert_eq!(shapers.sweep().unwrap(), 1);
    assert_eq!(names(&pair.near_links), ["lo"]);
    Ok(())
}

/// The other side of an interface: what it sends, limited at its root.
fn root_limits(shapers: &Shapers, ns: &NetNs) {
    let survey = || shapers.survey().unwrap();
    let at_root = |survey: &Survey| survey.at_root(survey.face("x").unwrap());
    let mut now = survey();
    assert_eq!(at_root(&now), PortLimit::Open);
    for next in [shape(2, true), shape(900, true), shape(2, false)] {
        shapers
            .set_root(now.face("x").unwrap(), &now, next)
            .unwrap();
        now = survey();
        assert_eq!(at_root(&now), PortLimit::Limited(next));
    }
    for _ in 0..2 {
        shapers.remove_root(now.face("x").unwrap(), &now).unwrap();
        now = survey();
        assert_eq!(at_root(&now), PortLimit::Open);
    }
    // Another program comes between the survey and the limit: what it sets stays.
    for ours in [false, true] {
        if ours {
            shapers
                .set_root(now.face("x").unwrap(), &now, shape(2, false))
                .unwrap();
            now = survey();
        }
        let theirs = "qdisc replace dev x root handle 1: tbf rate 3mbit burst 16kb limit 64kb";
        tc(ns, theirs);
        let face = now.face("x").unwrap();
        let error = shapers.set_root(face, &now, shape(2, false)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "limit x: another program is changing its limit"
        );
        now = survey();
        assert_eq!(at_root(&now), PortLimit::Foreign("tbf".to_owned()));
        tc(ns, "qdisc del dev x root");
        now = survey();
    }
}

fn tc(ns: &NetNs, words: &str) {
    let run = || {
        let status = Command::new("tc").args(words.split(' ')).status().unwrap();
        assert!(status.success(), "tc {words}");
    };
    ns.run(run).unwrap();
}

/// Between two listings only buckets are asked for that something came to, and what they tell is what
/// a listing would.
pub(crate) fn limits_in_between(_: Privilege) -> Outcome {
    let pair = pair(1);
    let shapers = Shapers::open(&pair.near).unwrap();
    limited(&shapers, shape(1_000, true))?;
    // Others, so that one is few.
    for number in 0..8 {
        let name = format!("x{number}");
        let end = VethEnd::plain(&pair.near, &name);
        let far = format!("y{number}");
        let far = VethEnd::plain(pair.far_links.ns(), &far);
        pair.near_links.add_veth(end, far).unwrap();
        shapers.set(&name, shape(100, true), BURST).unwrap();
    }
    pair.near_links.set_up("x").unwrap();
    pair.far_links.set_up("y").unwrap();
    let address = |last| Ipv4Addr::new(192, 0, 2, last).into();
    pair.far_links.add_address("y", address(2), 24).unwrap();
    let ask = |limits| SurveyRequest {
        interfaces: false,
        ports: false,
        limits,
    };
    let bucket = |survey: &Survey, port: &str| {
        let bucket = shapers.bucket_of(survey.face(port).unwrap(), survey);
        *bucket.unwrap()
    };
    let survey = shapers.survey().unwrap();
    let before = bucket(&survey, "x");
    let made = |survey: &Survey| {
        survey
            .limiter_of(survey.face("x").unwrap())
            .cloned()
            .unwrap()
    };
    let first = made(&survey);
    let socket = || std::net::UdpSocket::bind(SocketAddr::new(address(2), 0)).unwrap();
    let socket = pair.far_links.ns().run(socket).unwrap();
    socket.set_broadcast(true).unwrap();
    for _ in 0..50 {
        socket.send_to(&[0; 1000], "192.0.2.255:9").unwrap();
    }
    // The frames come in on the sender's time, or soon after; one of the kernel's own may come between two readings.
    let mut survey = survey;
    let (mut now, mut listed) = (before, before);
    for _ in 0..100 {
        survey = shapers.survey_again(survey, ask(Limits::Stirred)).unwrap();
        now = bucket(&survey, "x");
        listed = bucket(&shapers.survey().unwrap(), "x");
        if now.frames >= before.frames + 50 && now == listed {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(now.bytes >= before.bytes + 50 * 1000, "{before:?} {now:?}");
    assert_eq!(now, listed);
    // What is made for ports stands behind all ports, and is not counted in between.
    assert_eq!(
        made(&survey).index,
        (1 << 30) + survey.face("x").unwrap().index
    );
    assert!(survey.face("x").unwrap().rx_frames >= 50);
    assert_eq!(made(&survey).rx_frames, first.rx_frames);
    let all = SurveyRequest {
        interfaces: true,
        ports: false,
        limits: Limits::Stirred,
    };
    survey = shapers.survey_again(survey, all).unwrap();
    assert!(made(&survey).rx_frames >= first.rx_frames + 50);
    // Somebody has the number already.
    let end = VethEnd::plain(pair.far_links.ns(), "y8");
    let near = VethEnd::plain(&pair.near, "x8");
    pair.near_links.add_veth(near, end).unwrap();
    let number = (1 << 30) + pair.near_links.get("x8").unwrap().index;
    pair.near_links.add_ifb("taken", Some(number)).unwrap();
    shapers.set("x8", shape(100, true), BURST).unwrap();
    survey = shapers.survey().unwrap();
    assert_eq!(bucket(&survey, "x8").shape, shape(100, true));
    for name in ["taken", "x8"] {
        pair.near_links.delete(name).unwrap();
    }
    assert_eq!(shapers.sweep().unwrap(), 1);
    survey = shapers.survey().unwrap();

    // Our own rates are no change, and are read back at one port; those of others are.
    let mut listener = shapers.listen().unwrap();
    let (ours, theirs) = (shape(7, true), shape(8, true));
    shapers.set_in("x0", &survey, ours, BURST).unwrap();
    assert!(!listener.changes().any());
    survey = shapers.reread(survey, ["x0"].into_iter()).unwrap();
    assert_eq!(bucket(&survey, "x0").shape, ours);
    let somebody = Shapers::open(&pair.near).unwrap();
    somebody.set_in("x1", &survey, theirs, BURST).unwrap();
    assert!(listener.changes().qdiscs);
    survey = shapers.survey_again(survey, ask(Limits::All)).unwrap();
    assert_eq!(bucket(&survey, "x1").shape, theirs);
    // One that is gone is gone, also for those who ask for it alone.
    somebody.remove("x2").unwrap();
    assert!(listener.changes().other);
    survey = shapers.reread(survey, ["x2"].into_iter()).unwrap();
    let port = survey.face("x2").unwrap();
    assert_eq!(shapers.limit_of(port, &survey).unwrap(), PortLimit::Open);
    Ok(())
}

pub(crate) fn foreign_limits(_: Privilege) -> Outcome {
    let pair = pair(1);
    let shapers = Shapers::open(&pair.near).unwrap();
    limited(&shapers, shape(100, true))?;
    shapers.remove("x").unwrap();
    let tc = |words: &str| tc(&pair.near, words);
    tc("qdisc add dev x handle ffff: ingress");
    assert_eq!(
        shapers.read("x").unwrap(),
        PortLimit::Foreign("ingress".to_owned())
    );
    let error = shapers.set("x", shape(5, false), BURST).unwrap_err();
    assert!(
        error.to_string().contains("somebody else's ingress qdisc"),
        "{error}"
    );
    shapers.remove("x").unwrap();
    assert_eq!(names(&pair.near_links), ["lo", "x"]);
    tc("qdisc del dev x ingress");

    // Somebody takes a part of ours away: found, and made whole again.
    shapers.set("x", shape(9, false), BURST).unwrap();
    tc("qdisc del dev x ingress");
    assert_eq!(shapers.read("x").unwrap(), PortLimit::Open);
    shapers.set("x", shape(9, false), BURST).unwrap();
    tc("filter del dev x parent ffff:");
    assert_eq!(shapers.read("x").unwrap(), PortLimit::Open);
    shapers.set("x", shape(9, false), BURST).unwrap();
    assert_eq!(
        shapers.read("x").unwrap(),
        PortLimit::Limited(shape(9, false))
    );

    // And only hardware-like ends are refused.
    let lo = shapers.set("lo", shape(9, false), BURST).unwrap_err();
    assert!(lo.is_unsupported(), "{lo}");
    Ok(())
}

/// What is redirected to an interface that is gone or down is lost: such a limit is none, can be
/// set anew, and is taken away with what is left of it.
pub(crate) fn lost_limiters(_: Privilege) -> Outcome {
    let pair = pair(1);
    let shapers = Shapers::open(&pair.near).unwrap();
    limited(&shapers, shape(100, true))?;
    pair.near_links.set_up("x").unwrap();
    pair.far_links.set_up("y").unwrap();
    let address = |last| Ipv4Addr::new(192, 0, 2, last).into();
    pair.near_links.add_address("x", address(1), 24).unwrap();
    pair.far_links.add_address("y", address(2), 24).unwrap();
    let bind = |ns: &nicety_netdev::netns::NetNs, last| {
        let to = SocketAddr::new(address(last), if last == 1 { 9 } else { 0 });
        ns.run(|| std::net::UdpSocket::bind(to)).unwrap().unwrap()
    };
    let receiver = bind(&pair.near, 1);
    let sender = bind(pair.far_links.ns(), 2);
    sender.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).unwrap();
    let passes = |patience: Duration| {
        receiver
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let begin = Instant::now();
        while begin.elapsed() < patience {
            sender.send(b"x").unwrap();
            if receiver.recv(&mut [0]).is_ok() {
                return true;
            }
        }
        false
    };
    let [short, long] = [1, 20].map(|n| Duration::from_millis(500) * n);
    assert!(passes(long));
    let limiter = || {
        let survey = shapers.survey().unwrap();
        let port = survey.face("x").unwrap();
        survey.limiter_of(port).unwrap().name.clone()
    };
    let down = |name: String| {
        let run = || {
            Command::new("ip")
                .args(["link", "set", &name, "down"])
                .status()
        };
        assert!(pair.near.run(run).unwrap().unwrap().success());
    };
    let gone = |name: String| pair.near_links.delete(&name).unwrap();
    let faults: [&dyn Fn(String); 2] = [&down, &gone];
    for fault in faults {
        fault(limiter());
        while receiver.recv(&mut [0]).is_ok() {}
        assert!(!passes(short), "the fault is none");
        assert_eq!(shapers.read("x").unwrap(), PortLimit::Open);
        shapers.set("x", shape(9, true), BURST).unwrap();
        assert_eq!(
            shapers.read("x").unwrap(),
            PortLimit::Limited(shape(9, true))
        );
        assert!(passes(long), "nothing passes after the limit was set anew");
        fault(limiter());
        shapers.remove("x").unwrap();
        assert_eq!(names(&pair.near_links), ["lo", "x"]);
        assert!(passes(long), "nothing passes without a limit");
        shapers.set("x", shape(9, true), BURST).unwrap();
    }
    // Somebody else's, whose interface is gone too, is his.
    shapers.remove("x").unwrap();
    let tc = "tc qdisc add dev x handle ffff: ingress && ip link add i type ifb && \
        tc filter add dev x parent ffff: u32 match u32 0 0 action mirred egress redirect dev i && ip link del i";
    let run = || Command::new("sh").args(["-c", tc]).status();
    assert!(pair.near.run(run).unwrap().unwrap().success());
    assert_eq!(
        shapers.read("x").unwrap(),
        PortLimit::Foreign("ingress".to_owned())
    );
    Ok(())
}

/// A segmented packet of up to 64 KiB that waits and is larger than the burst that its bucket
/// gets would wait for ever, and with it everything behind it.
pub(crate) fn bursts_shrink(_: Privilege) -> Outcome {
    let pair = pair(1);
    let shapers = Shapers::open(&pair.near).unwrap();
    limited(&shapers, shape(1_000, true))?;
    let (host, tenant) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
    pair.near_links.add_address("x", host.into(), 24).unwrap();
    pair.far_links.add_address("y", tenant.into(), 24).unwrap();
    pair.near_links.set_up("x").unwrap();
    pair.far_links.set_up("y").unwrap();
    let listener = pair
        .near
        .run(|| TcpListener::bind((host, 0)))
        .unwrap()
        .unwrap();
    let to = listener.local_addr().unwrap();
    let far = pair.far_links.ns();
    let sender = far.run(move || TcpStream::connect(to)).unwrap().unwrap();
    let (receiver, _) = listener.accept().unwrap();
    let got = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let buffer = vec![0; 1 << 20];
            // Ends with the connection.
            while (&sender).write_all(&buffer).is_ok() {}
        });
        scope.spawn(|| {
            let mut buffer = vec![0; 1 << 20];
            while let Ok(1..) = (&receiver).read(&mut buffer).inspect(|count| {
                got.fetch_add(*count as u64, Ordering::Relaxed);
            }) {}
        });
        let more = |bytes: u64| {
            let (from, begin) = (got.load(Ordering::Relaxed), Instant::now());
            while got.load(Ordering::Relaxed) < from + bytes {
                if begin.elapsed() > Duration::from_secs(30) {
                    return false;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            true
        };
        let flows = (0..8).all(|_| {
            shapers.set("x", shape(1_000, true), BURST).unwrap();
            let fast = more(4 << 20);
            shapers.set("x", shape(20, true), BURST).unwrap();
            fast && more(100_000)
        });
        sender.shutdown(Shutdown::Both).unwrap();
        receiver.shutdown(Shutdown::Both).unwrap();
        assert!(flows, "nothing passes any more");
    });
    Ok(())
}
