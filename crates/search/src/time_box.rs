//! Decides what fits in a run's time box beside the cells; the [schedule](crate::schedule) fits
//! in the cells.

use std::time::Duration;

use nicety_model::plan::SockCell;

/// Share of a time box that socket tests may take when frames are measured too.
const SOCKETS_SHARE: f64 = 0.5;
/// Seconds a socket test takes beyond its own time: namespaces, connections, reports.
const OVERHEAD_S: f64 = 0.3;

/// The part of a time box that socket tests have, in seconds of the whole run; all of it where no frames
/// are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SocketBox(Option<f64>);

impl SocketBox {
    /// That of a run with this time box.
    pub fn of(time_box: Option<Duration>, frames: bool) -> Self {
        let share = if frames { SOCKETS_SHARE } else { 1.0 };
        Self(time_box.map(|limit| limit.as_secs_f64() * share))
    }

    /// Whether the least that a series needs fits in after `elapsed_s`.
    pub fn fits(self, cell: &SockCell, elapsed_s: f64) -> bool {
        self.0
            .is_none_or(|until| elapsed_s + OVERHEAD_S + cell.least_s() <= until)
    }

    /// Whether a test of a series fits in that is not its first.
    pub fn fits_again(self, cell: &SockCell, elapsed_s: f64) -> bool {
        let needed = cell.spec.duration().as_secs_f64();
        self.0.is_none_or(|until| elapsed_s + needed <= until)
    }
}

/// Seconds that a time box has to have at least for one cell, where the next needs `next_s` after
/// `elapsed_s`.
pub fn least_s(elapsed_s: f64, next_s: f64) -> f64 {
    // The next start may take a little longer than this one.
    (elapsed_s + next_s + 1.0).ceil()
}

#[cfg(test)]
mod tests {
    use nicety_model::Plan;

    use super::*;

    #[test]
    fn tests_have_half_of_a_time_box_beside_frames() {
        let text = "[[path]]\nkind = \"bridge\"\n[[sockets]]\ntest = \"tcp_rr\"\ntime = \"5s\"\n";
        let plan = Plan::parse("plan.toml", text).unwrap();
        let cell = plan.sock_cells().next().unwrap();
        let minute = Some(Duration::from_secs(60));
        for (time_box, frames, elapsed_s, fits, again) in [
            (None, true, 1e6, true, true),
            (minute, true, 24.6, true, true),
            (minute, true, 24.8, false, true),
            (minute, true, 25.1, false, false),
            (minute, false, 54.6, true, true),
            (minute, false, 55.1, false, false),
        ] {
            let sockets = SocketBox::of(time_box, frames);
            let outcome = (
                sockets.fits(&cell, elapsed_s),
                sockets.fits_again(&cell, elapsed_s),
            );
            assert_eq!(outcome, (fits, again), "{time_box:?} {frames} {elapsed_s}");
        }
        assert_eq!(least_s(3.2, 24.3), 29.0);
    }
}
