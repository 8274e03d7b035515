//! Engines to try for a cell, in their order.

use nicety_model::{CellKey, EngineChoice, EngineName, LimitKey, PathSpec, Shape};

/// The fixed engine of a cell, even if another is faster: `af_packet` where frames are spread over
/// receive queues of the host, or are not of one size of IPv4 and UDP. Other engines send on the queue
/// of their CPU, or on the first. A cell that names one queue is compared with those of several.
pub fn bound(choice: EngineChoice, key: &CellKey) -> Option<EngineName> {
    let spread = key.path.named_host_queues().is_some();
    let bound = choice == EngineChoice::Auto && (spread || !key.shape.is_plain());
    bound.then_some(EngineName::AfPacket)
}

/// The engine that was asked for where it does not send the frames of a cell.
pub fn sends_not(choice: EngineChoice, shape: &Shape) -> Option<EngineName> {
    match choice {
        EngineChoice::Auto | EngineChoice::Only(EngineName::AfPacket) => None,
        EngineChoice::Only(engine) => (!shape.is_plain()).then_some(engine),
    }
}

/// The engine that was asked for and the receive queues of `path`, of which it would reach one only.
pub fn reaches_one_queue(choice: EngineChoice, path: &PathSpec) -> Option<(EngineName, u32)> {
    match (path.named_host_queues()?, choice) {
        (1, _) | (_, EngineChoice::Auto | EngineChoice::Only(EngineName::AfPacket)) => None,
        (queues, EngineChoice::Only(engine)) => Some((engine, queues)),
    }
}

/// Key of the tester's limit for a cell: of the engine that it is [bound] to, or of the one that was taken
/// for most cells.
pub fn limit_key(choice: EngineChoice, key: &CellKey) -> LimitKey {
    LimitKey {
        frame_size: key.frame_size_bytes,
        direction: key.direction,
        engine: bound(choice, key),
        shape: key.shape.frames_only(),
    }
}

/// What to try before `af_packet`, the fastest first, where `taken` was taken already for the size and
/// direction. Between veths `af_xdp` sends faster than `af_packet` and measures slower, because the
/// path has to give every frame back: see `docs/methodology/engines.md`. The kernel's pktgen is tried
/// where it is loaded.
pub fn order(taken: Option<EngineName>, veths: bool, pktgen: bool) -> &'static [EngineName] {
    use EngineName::{AfPacket, AfXdp, Pktgen, Xdp};
    match taken {
        Some(AfPacket) => &[],
        Some(AfXdp) => &[AfXdp],
        Some(Pktgen) => &[Pktgen],
        Some(Xdp) | None if veths => &[Xdp],
        Some(Xdp) | None if pktgen => &[Xdp, AfXdp, Pktgen],
        Some(Xdp) | None => &[Xdp, AfXdp],
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::path::VmParams;
    use nicety_model::{Direction, FrameSize};

    use super::*;

    #[test]
    fn faster_engines_come_first() {
        use EngineName::{AfPacket, AfXdp, Pktgen, Xdp};
        for (taken, veths, expected) in [
            (None, true, &[Xdp][..]),
            (None, false, &[Xdp, AfXdp]),
            (Some(Xdp), true, &[Xdp]),
            (Some(Xdp), false, &[Xdp, AfXdp]),
            (Some(AfXdp), true, &[AfXdp]),
            (Some(AfXdp), false, &[AfXdp]),
            (Some(AfPacket), false, &[]),
        ] {
            assert_eq!(order(taken, veths, false), expected, "{taken:?} {veths}");
        }
        // Where pktgen is loaded it comes after those, and never between veths.
        assert_eq!(order(None, false, true), [Xdp, AfXdp, Pktgen]);
        assert_eq!(order(None, true, true), [Xdp]);
        assert_eq!(order(Some(Pktgen), false, true), [Pktgen]);
    }

    #[test]
    fn several_queues_of_the_host_need_the_engine_that_spreads_frames() {
        let path = |host_queues: Option<u32>| {
            PathSpec::Vm(VmParams {
                host_queues,
                ..VmParams::default()
            })
        };
        let (auto, only) = (EngineChoice::Auto, EngineChoice::Only);
        let key = |path: PathSpec, shape: Shape| CellKey {
            path,
            frame_size_bytes: FrameSize::SMALLEST,
            direction: Direction::Uni,
            flows: 1,
            shape,
        };
        let bound = |choice, path: &PathSpec| bound(choice, &key(path.clone(), Shape::default()));
        assert_eq!(bound(auto, &path(None)), None);
        for queues in [1, 4] {
            let path = path(Some(queues));
            assert_eq!(bound(auto, &path), Some(EngineName::AfPacket));
            assert_eq!(reaches_one_queue(auto, &path), None);
            let named = only(EngineName::AfPacket);
            assert_eq!(bound(named, &path), None);
            assert_eq!(reaches_one_queue(named, &path), None);
        }
        let xdp = only(EngineName::Xdp);
        for (queues, expected) in [(None, None), (Some(1), None), (Some(4), Some(4))] {
            let refused = expected.map(|queues| (EngineName::Xdp, queues));
            assert_eq!(reaches_one_queue(xdp, &path(queues)), refused);
        }
        // So do mixes, and headers that other engines do not make.
        let shape = Shape {
            dscp: Some(46),
            ..Shape::default()
        };
        let unusual = key(path(None), shape);
        assert_eq!(super::bound(auto, &unusual), Some(EngineName::AfPacket));
        assert_eq!(super::bound(xdp, &unusual), None);
        assert_eq!(sends_not(xdp, &shape), Some(EngineName::Xdp));
        assert_eq!(sends_not(auto, &shape), None);
        assert_eq!(sends_not(xdp, &Shape::default()), None);
    }
}
