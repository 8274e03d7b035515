//! Where the words of the structs shared with `bpf/fate.bpf.c` and `bpf/drops.bpf.c` are.

/// Causes with a number of their own, `CAUSES_MAX` there.
pub(crate) const CAUSES_MAX: u32 = 254;
/// Places of receipts that are passed by, `SKIPS` there.
pub(crate) const SKIPS: usize = 2;
/// Reasons that may be weak, `REASONS` there.
pub(crate) const REASONS: usize = 256;
/// There is a trial, `ORDER_ARMED` there.
pub(crate) const ARMED: u64 = 1 << 40;

/// `struct order`.
pub(crate) mod order {
    pub(crate) const TRIAL: usize = 0;
    pub(crate) const SKIP_LOCATION: usize = 1;
    pub(crate) const SKIP_DEVICE: usize = 3;
    pub(crate) const GENERATION: usize = 6;
    pub(crate) const WORDS: usize = 8;
}

/// `struct counts`.
pub(crate) mod counts {
    pub(crate) const EVENTS: usize = 0;
    pub(crate) const MERGED_FRAMES: usize = 4;
    pub(crate) const WORDS: usize = 8;
}

/// `struct cause_key`: location, device, reason.
pub(crate) type Key = [u64; 3];

/// `struct cause`.
pub(crate) mod cause {
    pub(crate) const NUMBER: usize = 0;
    pub(crate) const NETNS: usize = 2;
    pub(crate) const NAME: usize = 5;
    pub(crate) const NAME_WORDS: usize = 2;
    pub(crate) const STACK: usize = 7;
    pub(crate) const WORDS: usize = 23;
}

/// `struct place_key` of `bpf/drops.bpf.c`: location; namespace and interface; receiver and reason.
pub(crate) type PlaceKey = [u64; 3];

/// `struct place` of `bpf/drops.bpf.c`.
pub(crate) mod place {
    pub(crate) const EVENTS: usize = 0;
    pub(crate) const PACKETS: usize = 1;
    pub(crate) const NAME: usize = 2;
    pub(crate) const NAME_WORDS: usize = 2;
    pub(crate) const STACK: usize = 4;
    pub(crate) const STACK_WORDS: usize = 8;
    pub(crate) const TURNS: usize = 13;
    pub(crate) const WORDS: usize = 14;
}

/// `struct rest` of `bpf/drops.bpf.c`.
pub(crate) mod rest {
    pub(crate) const PACKETS: usize = 1;
    pub(crate) const WORDS: usize = 2;
}

/// `struct order` of `bpf/hops.bpf.c`.
pub(crate) mod hop_order {
    pub(crate) const TRIAL: usize = 0;
    pub(crate) const FROM: usize = 1;
    pub(crate) const LENGTH: usize = 2;
    pub(crate) const RECORDS: usize = 3;
    pub(crate) const UNNOTED: usize = 4;
    pub(crate) const CLOCK_MASK: usize = 6;
    pub(crate) const WORDS: usize = 8;
}

/// Records that are kept, `RECORDS` there; each is of the words frame, sent, at, station.
pub(crate) const RECORDS: usize = 1 << 18;
/// Words of `struct record` there.
pub(crate) const RECORD_WORDS: usize = 4;

/// `struct station_key` there: device, kind, location, reason.
pub(crate) type StationKey = [u64; 4];

/// `struct station` there.
pub(crate) mod station {
    pub(crate) const NUMBER: usize = 0;
    pub(crate) const NETNS: usize = 1;
    pub(crate) const NAME: usize = 2;
    pub(crate) const NAME_WORDS: usize = 2;
    pub(crate) const STACK: usize = 4;
    pub(crate) const WORDS: usize = 20;
}

/// `struct order` of `bpf/flows.bpf.c`.
pub(crate) mod flow_order {
    pub(crate) const RECORDS: usize = 0;
    pub(crate) const UNNOTED: usize = 2;
    pub(crate) const WORDS: usize = 8;
}

/// Records that the ring holds, `RECORDS` there.
pub(crate) const FLOW_RECORDS: usize = 1 << 14;
/// Words of `struct record` there.
pub(crate) const FLOW_RECORD_WORDS: usize = 9;

/// `struct record` there; its ends first.
pub(crate) mod flow_record {
    pub(crate) const SOURCE: usize = 0;
    pub(crate) const DESTINATION: usize = 2;
    pub(crate) const PORTS: usize = 4;
    pub(crate) const IDENTITY: usize = 5;
    pub(crate) const AT: usize = 6;
    pub(crate) const STATION: usize = 7;
    pub(crate) const WRITTEN: usize = 8;
}

/// `struct xdp_key` of `bpf/xdp.bpf.c`: place, event.
pub(crate) type XdpKey = [u64; 2];

/// `struct xdp_count` there.
pub(crate) mod xdp_count {
    pub(crate) const FRAMES: usize = 0;
    pub(crate) const NETNS: usize = 1;
    pub(crate) const NAME: usize = 2;
    pub(crate) const WORDS: usize = 4;
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use btf_rs::utils::elf::extract_btf_from_file;
    use btf_rs::{Btf, Type};

    use super::*;
    use crate::object;

    /// First word of each of `fields`, and the words of all.
    fn layout(btf: &Btf, name: &str, fields: &[&str]) -> (Vec<usize>, usize) {
        let types = btf.resolve_types_by_name(name).unwrap();
        let found = types.iter().find_map(|kind| match kind {
            Type::Struct(found) => Some(found),
            _ => None,
        });
        let found = found.unwrap();
        let place = |field: &&str| {
            let named = |member: &&btf_rs::Member| btf.resolve_name(*member).unwrap() == **field;
            found.members.iter().find(named).unwrap().bit_offset() as usize / 64
        };
        (fields.iter().map(place).collect(), found.size() / 8)
    }

    /// Types of an object; says `SKIP` where it is not built in.
    fn types(test: &str, object: Option<&[u8]>) -> Option<Btf> {
        let Some(bytes) = object else {
            println!("SKIP {test}: {}", object::MISSING);
            return None;
        };
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Some(Btf::from_bytes(&extract_btf_from_file(file.path()).unwrap()).unwrap())
    }

    #[test]
    fn words_of_drops_are_where_the_program_has_them() {
        let test = "words_of_drops_are_where_the_program_has_them";
        let Some(btf) = types(test, object::DROPS) else {
            return;
        };
        let places = [place::EVENTS, place::PACKETS, place::NAME, place::STACK];
        let known = layout(&btf, "place", &["events", "packets", "name", "stack"]);
        assert_eq!(known, (places.to_vec(), place::WORDS));
        let known = layout(&btf, "place_key", &["location", "netns", "received_at"]);
        assert_eq!(known, (vec![0, 1, 2], size_of::<PlaceKey>() / 8));
        let known = layout(&btf, "rest", &["packets"]);
        assert_eq!(known, (vec![rest::PACKETS], rest::WORDS));
    }

    #[test]
    fn words_of_hops_are_where_the_program_has_them() {
        let test = "words_of_hops_are_where_the_program_has_them";
        let Some(btf) = types(test, object::HOPS) else {
            return;
        };
        use hop_order::{CLOCK_MASK, FROM, LENGTH, RECORDS, TRIAL, UNNOTED, WORDS};
        let fields = [
            "trial",
            "from",
            "length",
            "records",
            "unnoted",
            "clock_mask",
        ];
        let places = vec![TRIAL, FROM, LENGTH, RECORDS, UNNOTED, CLOCK_MASK];
        assert_eq!(layout(&btf, "order", &fields), (places, WORDS));
        let known = layout(&btf, "record", &["frame", "sent", "at", "station"]);
        assert_eq!(known, (vec![0, 1, 2, 3], RECORD_WORDS));
        use station::{NAME, NETNS, NUMBER, STACK};
        let known = layout(&btf, "station", &["number", "netns", "name", "stack"]);
        assert_eq!(known, (vec![NUMBER, NETNS, NAME, STACK], station::WORDS));
        let fields = ["device", "kind", "location", "reason"];
        let known = layout(&btf, "station_key", &fields);
        assert_eq!(known, (vec![0, 1, 2, 3], size_of::<StationKey>() / 8));
    }

    #[test]
    fn words_of_flows_are_where_the_program_has_them() {
        let test = "words_of_flows_are_where_the_program_has_them";
        let Some(btf) = types(test, object::FLOWS) else {
            return;
        };
        use flow_order::{RECORDS, UNNOTED, WORDS};
        let known = layout(&btf, "order", &["records", "unnoted"]);
        assert_eq!(known, (vec![RECORDS, UNNOTED], WORDS));
        use flow_record::{AT, DESTINATION, IDENTITY, PORTS, SOURCE, STATION, WRITTEN};
        let known = layout(&btf, "record", &["identity", "at", "station", "written"]);
        let places = vec![IDENTITY, AT, STATION, WRITTEN];
        assert_eq!(known, (places, FLOW_RECORD_WORDS));
        let known = layout(&btf, "ends", &["source", "destination", "source_port"]);
        assert_eq!(known, (vec![SOURCE, DESTINATION, PORTS], IDENTITY));
    }

    #[test]
    fn words_of_xdp_are_where_the_program_has_them() {
        let test = "words_of_xdp_are_where_the_program_has_them";
        let Some(btf) = types(test, object::XDP) else {
            return;
        };
        use xdp_count::{FRAMES, NAME, NETNS, WORDS};
        let known = layout(&btf, "xdp_count", &["frames", "netns", "name"]);
        assert_eq!(known, (vec![FRAMES, NETNS, NAME], WORDS));
        let known = layout(&btf, "xdp_key", &["place", "event"]);
        assert_eq!(known, (vec![0, 1], size_of::<XdpKey>() / 8));
    }

    #[test]
    fn words_are_where_the_program_has_them() {
        let test = "words_are_where_the_program_has_them";
        let Some(btf) = types(test, object::FATE) else {
            return;
        };
        use order::{GENERATION, SKIP_DEVICE, SKIP_LOCATION, TRIAL};
        let fields = ["trial", "skip_location", "skip_device", "generation"];
        let places = vec![TRIAL, SKIP_LOCATION, SKIP_DEVICE, GENERATION];
        assert_eq!(layout(&btf, "order", &fields), (places, order::WORDS));
        let places = [counts::EVENTS, counts::MERGED_FRAMES];
        let known = layout(&btf, "counts", &["events", "merged_frames"]);
        assert_eq!(known, (places.to_vec(), counts::WORDS));
        let places = [cause::NUMBER, cause::NETNS, cause::NAME, cause::STACK];
        let known = layout(&btf, "cause", &["number", "netns", "name", "stack"]);
        assert_eq!(known, (places.to_vec(), cause::WORDS));
        let known = layout(&btf, "cause_key", &["location", "device", "reason"]);
        assert_eq!(known, (vec![0, 1, 2], size_of::<Key>() / 8));
    }
}
