//! TCP_INFO of some connections, as figures.
//!
//! Read by offset from the bytes the kernel wrote (include/uapi/linux/tcp.h), because kernels
//! differ in how much of the structure they know: what an older one did not write is absent.

use std::os::fd::AsFd;

use nicety_model::sock::{TcpEnd, TcpSample};

use crate::sys;

/// What is used of one connection's `struct tcp_info`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Info {
    mss: u32,
    rtt_us: u32,
    cwnd: u32,
    total_retransmits: u32,
    min_rtt_us: Option<u32>,
    /// Bytes per second.
    delivery_rate: Option<u64>,
    busy_us: Option<u64>,
    receiver_limited_us: Option<u64>,
    send_buffer_limited_us: Option<u64>,
    bytes_sent: Option<u64>,
    bytes_resent: Option<u64>,
}

impl Info {
    fn read(stream: &impl AsFd) -> Option<Self> {
        let mut bytes = [0; 512];
        let length = sys::tcp_info(stream, &mut bytes).ok()?;
        Self::parse(&bytes[..length])
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(Self {
            mss: word(16)?,
            rtt_us: word(68)?,
            cwnd: word(80)?,
            total_retransmits: word(100)?,
            // All ones until a round trip was seen.
            min_rtt_us: word(148).filter(|us| *us != u32::MAX),
            delivery_rate: long(160).filter(|rate| *rate > 0),
            busy_us: long(168),
            receiver_limited_us: long(176),
            send_buffer_limited_us: long(184),
            bytes_sent: long(200),
            bytes_resent: long(208),
        })
    }
}

/// The connections now; `None` without any.
pub(crate) fn sample<S: AsFd>(streams: &[S]) -> Option<TcpSample> {
    summed(&streams.iter().filter_map(Info::read).collect::<Vec<_>>())
}

fn summed(infos: &[Info]) -> Option<TcpSample> {
    let count = infos.len() as f64;
    let mean = |of: fn(&Info) -> u32| infos.iter().map(|i| f64::from(of(i))).sum::<f64>() / count;
    let rates: Vec<u64> = infos.iter().filter_map(|info| info.delivery_rate).collect();
    (!infos.is_empty()).then(|| TcpSample {
        connections: infos.len() as u32,
        rtt_us: mean(|info| info.rtt_us),
        cwnd_segments: mean(|info| info.cwnd),
        retransmits: infos.iter().map(|i| u64::from(i.total_retransmits)).sum(),
        delivery_rate_mbps: (!rates.is_empty())
            .then(|| rates.iter().map(|rate| *rate as f64 * 8.0 / 1e6).sum()),
    })
}

/// The connections at the end.
pub(crate) fn end(streams: &[impl AsFd]) -> Option<TcpEnd> {
    let infos: Vec<Info> = streams.iter().filter_map(Info::read).collect();
    let first = infos.first()?;
    let of_busy = |limited: Option<u64>| {
        let busy = first.busy_us.filter(|us| *us > 0)?;
        Some(limited? as f64 / busy as f64)
    };
    let total = |of: fn(&Info) -> Option<u64>| infos.iter().map(of).sum::<Option<u64>>();
    Some(TcpEnd {
        last: summed(&infos)?,
        min_rtt_us: infos
            .iter()
            .filter_map(|info| info.min_rtt_us)
            .min()
            .map(f64::from),
        congestion_control: streams
            .first()
            .and_then(|stream| rustix::net::sockopt::tcp_congestion(stream).ok()),
        mss_bytes: first.mss,
        sent_bytes: total(|info| info.bytes_sent),
        resent_bytes: total(|info| info.bytes_resent),
        receiver_limited_ratio: of_busy(first.receiver_limited_us),
        send_buffer_limited_ratio: of_busy(first.send_buffer_limited_us),
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn bytes() -> Vec<u8> {
        // Every byte tells its place: word(at) is known.
        (0..=255).collect()
    }

    #[test]
    fn fields_lie_where_the_kernel_puts_them() {
        let info = Info::parse(&bytes()).unwrap();
        assert_eq!(info.mss.to_ne_bytes(), [16, 17, 18, 19]);
        assert_eq!(info.rtt_us.to_ne_bytes()[0], 68);
        assert_eq!(info.cwnd.to_ne_bytes()[0], 80);
        assert_eq!(info.total_retransmits.to_ne_bytes()[0], 100);
        assert_eq!(info.min_rtt_us.unwrap().to_ne_bytes()[0], 148);
        assert_eq!(info.delivery_rate.unwrap().to_ne_bytes()[7], 167);
        assert_eq!(info.bytes_resent.unwrap().to_ne_bytes()[0], 208);
    }

    #[test]
    fn an_old_kernel_says_less() {
        let info = Info::parse(&bytes()[..104]).unwrap();
        assert_eq!((info.min_rtt_us, info.delivery_rate), (None, None));
        assert_eq!(Info::parse(&bytes()[..100]), None);
    }

    #[test]
    fn a_live_connection_is_read() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let end = end(std::slice::from_ref(&stream)).unwrap();
        assert!(end.mss_bytes > 500, "{end:?}");
        assert!(end.last.cwnd_segments >= 1.0);
        assert!(end.congestion_control.is_some());
        assert_eq!(sample::<TcpStream>(&[]), None);
    }
}
