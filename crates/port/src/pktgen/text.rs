//! What the kernel's pktgen writes into its files (`pktgen_thread_show`, `pktgen_if_show` and
//! `show_results` in net/core/pktgen.c). Pure: from text to values.

/// What a thread's file, `kpktgend_N`, says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Listing {
    /// Interfaces that it sends to.
    pub(super) running: Vec<String>,
    /// Interfaces that it has and does not send to.
    pub(super) stopped: Vec<String>,
}

impl Listing {
    pub(super) fn of(text: &str) -> Self {
        let names = |label: &str| {
            let mut lines = text.lines();
            let names = lines.find_map(|line| line.strip_prefix(label));
            let names = names.unwrap_or_default().split_ascii_whitespace();
            names.map(str::to_owned).collect()
        };
        Self {
            running: names("Running:"),
            stopped: names("Stopped:"),
        }
    }

    /// All interfaces of the thread.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        let names = self.running.iter().chain(&self.stopped);
        names.map(String::as_str)
    }
}

/// What an interface's file says after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    /// Frames that the stack took.
    pub(super) sent: u64,
    /// Frames that it did not take.
    pub(super) errors: u64,
    /// From begin to end of the run, in µs.
    pub(super) elapsed_us: u64,
    /// Of this, the time spent waiting for slots or for other programs.
    pub(super) idle_us: u64,
    /// How the run, or the last order, ended: `OK: …`, or what is wrong.
    pub(super) result: String,
}

impl Tally {
    /// `None` where a figure is missing, so that no gap is taken for a zero.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (_, result) = text.split_once("\nResult: ")?;
        Some(Self {
            sent: number(text, "pkts-sofar: ")?,
            errors: number(text, " errors: ")?,
            elapsed_us: number(text, " stopped: ")?.saturating_sub(number(text, " started: ")?),
            idle_us: number(text, " idle: ")?,
            result: result
                .split_ascii_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        })
    }

    /// Whether the run took place.
    pub(super) fn is_ok(&self) -> bool {
        self.result.starts_with("OK:")
    }
}

/// The number behind the first `label`.
fn number(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// Distance of two frames in ns, which pktgen keeps as a whole number, for a rate in frames/s.
pub(super) fn delay_ns(rate: f64) -> u64 {
    // 0x7fffffff stands for "never" (`delay` in pktgen_if_write).
    const LONGEST: f64 = 2_147_483_646.0;
    (1e9 / rate).round().clamp(0.0, LONGEST) as u64
}

/// What pktgen is told before a run, one order per write.
pub(super) fn orders(frame_bytes: usize, frames: u64, delay_ns: u64) -> Vec<String> {
    [
        "clone_skb 0".to_owned(),
        "burst 1".to_owned(),
        "xmit_mode queue_xmit".to_owned(),
        // Ours is written later, on the same frame.
        "flag NO_TIMESTAMP".to_owned(),
        // Frames that are nobody else's any more when they leave (Linux 6.7).
        "flag !SHARED".to_owned(),
        // Taken off by the path should the program not rewrite a frame: nobody has this address.
        "dst_mac 02:00:00:00:00:00".to_owned(),
        format!("pkt_size {frame_bytes}"),
        format!("count {frames}"),
        format!("delay {delay_ns}"),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.12 writes it.
    const RAN: &str = "Params: count 1000  min_pkt_size: 60  max_pkt_size: 60
     frags: 0  delay: 2000  clone_skb: 0  ifname: eth0
     flows: 0 flowlen: 0
     queue_map_min: 0  queue_map_max: 0
     dst_min:   dst_max: 
     src_min:   src_max: 
     src_mac: 02:00:00:00:00:01 dst_mac: 02:00:00:00:00:02
     udp_src_min: 9  udp_src_max: 9  udp_dst_min: 9  udp_dst_max: 9
     src_mac_count: 0  dst_mac_count: 0
     xmit_mode: xmit_queue
     Flags: NO_TIMESTAMP  
Current:
     pkts-sofar: 1000  errors: 3
     started: 5042712us  stopped: 5044729us idle: 1766us
     seq_num: 1001  cur_dst_mac_offset: 0  cur_src_mac_offset: 0
     cur_saddr: 0.0.0.0  cur_daddr: 0.0.0.0
     cur_udp_dst: 9  cur_udp_src: 9
     cur_queue_map: 0
     flows: 0
Result: OK: 2017(c250+d1766) usec, 1000 (60byte,0frags)
  495785pps 237Mb/sec (237976800bps) errors: 3
";

    #[test]
    fn a_run_is_read() {
        let tally = Tally::of(RAN).unwrap();
        assert_eq!((tally.sent, tally.errors), (1000, 3));
        assert_eq!((tally.elapsed_us, tally.idle_us), (2017, 1766));
        assert!(tally.is_ok());
        assert!(tally.result.ends_with("(237976800bps) errors: 3"));
    }

    #[test]
    fn a_run_that_was_none_is_told() {
        let (before, _) = RAN.split_once("Result: ").unwrap();
        for (result, ok) in [("Idle", false), ("No memory", false), ("OK: count=5", true)] {
            let tally = Tally::of(&format!("{before}Result: {result}\n")).unwrap();
            assert_eq!((tally.result.as_str(), tally.is_ok()), (result, ok));
        }
        // A text that breaks off, or is another one, is not read as zeros.
        assert_eq!(Tally::of(before), None);
        assert_eq!(Tally::of("\nResult: OK: 1\n"), None);
        assert_eq!(Tally::of(""), None);
    }

    #[test]
    fn interfaces_of_a_thread() {
        let text = "Running: eth0 \nStopped: eth1 veth@x \nResult: OK: add_device=eth1\n";
        let listing = Listing::of(text);
        assert_eq!(listing.running, ["eth0"]);
        assert_eq!(
            listing.all().collect::<Vec<_>>(),
            ["eth0", "eth1", "veth@x"]
        );
        let empty = Listing::of("Running: \nStopped: \nResult: NA\n");
        assert_eq!(empty, Listing::default());
        assert_eq!(Listing::of(""), Listing::default());
    }

    #[test]
    fn a_rate_is_a_whole_number_of_ns() {
        for (rate, delay) in [
            (1.0, 1_000_000_000),
            (1000.0, 1_000_000),
            (700_000.0, 1429),
            (50e6, 20),
            (1e12, 0),
            (f64::INFINITY, 0),
            (0.1, 2_147_483_646),
        ] {
            assert_eq!(delay_ns(rate), delay, "{rate}");
        }
    }

    #[test]
    fn orders_fit_what_pktgen_reads() {
        for order in orders(9014, 1 << 31, delay_ns(0.1)) {
            let (name, value) = order.split_once(' ').unwrap();
            // `name[16]`, and numbers of ten digits at most, in pktgen_if_write.
            assert!(name.len() < 16, "{order}");
            assert!(
                value.len() <= 10 || !value.as_bytes()[0].is_ascii_digit() || name == "dst_mac"
            );
        }
    }
}
