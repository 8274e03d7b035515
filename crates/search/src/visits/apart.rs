//! Visits during which the hypervisor ran tester and path on CPUs that share no cache.

use nicety_model::CellResult;
use nicety_model::note::SearchNote;

use crate::stats::median;

/// From here on, as a ratio to the nearest that was seen, CPUs are far apart: another cache or
/// another socket is in between.
pub const FAR: f64 = 2.0;
/// Visits near each other with which the others are left out.
const ENOUGH: usize = 3;

/// Visits that stand for the cell, and those left out because CPUs were far apart.
pub(super) fn split<'a>(all: &[&'a CellResult]) -> (Vec<&'a CellResult>, Vec<&'a CellResult>) {
    let seen = all.iter().filter_map(|visit| visit.cache_line_ns);
    let Some(nearest) = seen.min_by(f64::total_cmp) else {
        return (all.to_vec(), Vec::new());
    };
    let is_far = |visit: &&CellResult| visit.cache_line_ns.is_some_and(|ns| ns > FAR * nearest);
    let (far, near): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_far);
    let measured = near.iter().filter(|visit| visit.throughput_fps.is_some());
    if measured.count() >= ENOUGH {
        (near, far)
    } else {
        (all.to_vec(), Vec::new())
    }
}

/// Visits left out, and what the path carried in them.
pub(super) fn note(near: &[&CellResult], far: &[&CellResult]) -> Option<SearchNote> {
    let middle = |visits: &[&CellResult], of: fn(&CellResult) -> Option<f64>| {
        median(
            &visits
                .iter()
                .filter_map(|visit| of(visit))
                .collect::<Vec<_>>(),
        )
    };
    let line = |visits| middle(visits, |visit| visit.cache_line_ns);
    let (away, home) = line(far).zip(line(near))?;
    Some(SearchNote::FarApart {
        far: far.len(),
        visits: far.len() + near.len(),
        far_ns: away,
        near_ns: home,
        far_fps: middle(far, |visit| visit.throughput_fps),
    })
}
