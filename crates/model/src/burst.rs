//! Longest burst without loss, and the buffer that it tells of (RFC 2544 §26.4 as updated by RFC 9004).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What bursts of frames at the highest rate found out about a path.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackToBack {
    /// Rate of the bursts in frames per second and direction: that of the link, or the highest of the
    /// tester; median of those that were sent.
    pub rate_fps: f64,
    /// Longest burst of which nothing was lost, in frames: mean over the repeats.
    pub burst_frames: f64,
    /// The shortest of the repeats.
    pub burst_min_frames: u64,
    /// The longest of the repeats.
    pub burst_max_frames: u64,
    /// Repeats of the search.
    pub repeats: u32,
    /// Frames by which a search may be off: the distance of the longest burst without loss and the
    /// shortest with loss.
    pub precision_frames: u64,
    /// The longest burst that was tried lost nothing: the path carries the rate, or has a larger buffer.
    pub at_least: bool,
    /// Throughput by which the buffer is corrected, in frames per second and direction.
    pub throughput_fps: Option<f64>,
    /// Depth of the buffer: frames of the burst that it had not sent on when the last one came, see
    /// [`corrected`]. Absent where no buffer has filled.
    pub buffer_frames: Option<f64>,
    /// The same with the shortest and the longest of the repeats, and the precision.
    pub buffer_interval_frames: Option<(f64, f64)>,
    /// Corrected buffer time of RFC 9004 §6 in µs: the buffer's frames at the rate of the bursts.
    pub buffer_us: Option<f64>,
    /// Time that the last frame of a full buffer waits at the throughput, in µs.
    pub delay_us: Option<f64>,
}

/// Frames of a burst of `frames` frames at `rate_fps` that stand in a buffer from which `throughput_fps` are
/// taken: `frames * (1 - throughput / rate)`, which is RFC 9004's corrected buffer time times the rate. `None`
/// where the rate is no higher than the throughput, because then no buffer fills.
pub fn corrected(frames: f64, rate_fps: f64, throughput_fps: f64) -> Option<f64> {
    let fills = rate_fps > throughput_fps && throughput_fps > 0.0;
    fills.then(|| frames * (1.0 - throughput_fps / rate_fps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_meanwhile_is_not_in_the_buffer() {
        // 64-byte frames of a 10 Gbit/s link, to a path that forwards 12.3 M of them per second.
        let depth = corrected(26_700.0, 14_880_952.0, 12_300_000.0).unwrap();
        assert!((depth - 4_630.9).abs() < 0.1, "{depth}");
        assert_eq!(corrected(100.0, 1e6, 1e6), None);
        assert_eq!(corrected(100.0, 1e6, 0.0), None);
        assert_eq!(corrected(200.0, 2e6, 1e6), Some(100.0));
    }
}
