use super::*;
use crate::xdp::object::{self, btf};

#[test]
fn bucket_edges() {
    for (bucket, edge) in [
        (0, 0),
        (63, 63),
        (64, 65),
        (95, 127),
        (96, 131),
        (127, 255),
        (BUCKETS - 1, (1 << 34) - 1),
    ] {
        assert_eq!(upper_edge(bucket), edge, "{bucket}");
    }
}

#[test]
fn p99_is_the_bucket_of_the_99th_of_100() {
    let mut lateness = vec![0; BUCKETS];
    assert_eq!(p99_ns(&lateness), 0);
    lateness[3] = 98;
    lateness[40] = 1;
    lateness[90] = 1;
    assert_eq!(p99_ns(&lateness), 40);
    lateness[40] = 0;
    lateness[90] = 2;
    assert_eq!(p99_ns(&lateness), upper_edge(90));
}

#[test]
fn a_step_is_whole_and_fraction() {
    let shape = Shape {
        tagged: false,
        side_b: false,
        flows: 1,
        stations: 2,
        ip_sum: 0,
        udp_sum: 0,
        link: [0; 3],
        net: [0; 4],
    };
    let of = |catch_up| {
        Sending {
            shape: &shape,
            stream: 1,
            trial: 2,
            rate: Fps(3e6),
            arrears: Arrears::of(Fps(3e6), catch_up),
            frames: 10,
            follow: 3,
            run_ns: 6,
            interface: (7, 8),
        }
        .stream()
    };
    let schedule = |stream: Stream| {
        [
            stream.step_ns,
            stream.step_frac,
            stream.keep_ns,
            stream.catch_up_ns,
        ]
    };
    let stream = of(true);
    // 333.3 ns: a third is 0x5555_5555 of 2^32.
    assert_eq!(schedule(stream), [333, 0x5555_5555, 21_000, 21_334]);
    assert_eq!(
        (stream.identity, stream.ifindex, stream.netns),
        (0x102, 7, 8)
    );
    assert_eq!(
        (stream.follow, stream.follow_ns, stream.stations),
        (3, 1000, 2)
    );
    // Nothing is owed after a slip, unless the sender is to catch up.
    assert_eq!(schedule(of(false)), [333, 0x5555_5555, 0, 21_334]);
}

/// Names, places and sizes as clang has compiled them.
#[test]
fn the_mirrors_are_laid_out_as_the_structs_of_the_programs() {
    let test = "the_mirrors_are_laid_out_as_the_structs_of_the_programs";
    let Some([transmit, pktgen]) = btf::of(test, [object::TRANSMIT, object::PKTGEN]) else {
        return;
    };
    let stream = btf::Layout::new(Stream::FIELDS, size_of::<Stream>());
    assert_eq!(transmit.layout("stream"), stream);
    assert_eq!(pktgen.layout("stream"), stream);
    let control = btf::Layout::new(Control::FIELDS, size_of::<Control>());
    assert_eq!(transmit.layout("control"), control);
    for (name, words) in [("lateness", LATENESS_WORDS), ("marks", MARK_WORDS)] {
        for object in [&transmit, &pktgen] {
            assert_eq!(
                object.layout(name).bytes,
                words * size_of::<u64>(),
                "{name}"
            );
        }
    }
}
