//! Which of several paths carries most, and which least.

use crate::pick::Group;
use crate::ranking::{self, Place};

/// `Of 20 paths routed carries most, 862 k frames/s of 128 bytes, and ovs least, 30 k.` Nothing where paths are few.
pub(super) fn sentence(groups: &[Group<'_>]) -> Option<String> {
    let rankings = ranking::told(groups);
    let ranking = rankings.iter().find(|one| one.tells())?;
    let (most, least) = ranking.places.first().zip(ranking.places.last())?;
    let paths = ranking.places.len();
    let name = |place: &Place<'_, '_>| place.group.key.path_name();
    let rate = |place: &Place<'_, '_>| place.group.fps_text();
    let left_out = ranking
        .left_out()
        .map_or_else(String::new, |text| format!(" {text}"));
    Some(format!(
        "Of {paths} paths {} carries most, {} frames/s of {}, and {} least, {}.{left_out}",
        name(most),
        rate(most),
        most.group.key.size_words(),
        name(least),
        rate(least)
    ))
}
