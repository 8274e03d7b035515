//! What became of lost frames: their numbers joined with what the kernel noted about each.
//!
//! The kernel tells of a frame whenever it throws one away: also of copies, of tries that the sender
//! repeats, and of what the tester has counted already. Adding such events up is wrong. Here a
//! number that arrived is no loss whatever was noted, and one that did not is lost once.

use nicety_model::{FateCause, LossEntry};

/// Number of a cause that has none of its own; the others are 1 to 254, and 0 is none.
pub const OTHER_CAUSE: usize = 255;
/// Numbers of causes, none included.
pub const CAUSES: usize = 256;

/// The frames of one stream.
#[derive(Debug, Clone, Copy)]
pub struct Noted<'a> {
    /// A bit for every number that arrived, from bit 0 of the first word on.
    pub arrived: &'a [u64],
    /// Numbers that were given to frames, from 0 on.
    pub made: u64,
    /// For every number its cause.
    pub causes: &'a [u8],
}

/// Numbers by their cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Numbers that did not arrive.
    pub lost: [u64; CAUSES],
    /// Numbers that arrived although something was thrown away.
    pub arrived: [u64; CAUSES],
    /// Numbers that did not arrive and have no place for a cause.
    pub beyond: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            lost: [0; CAUSES],
            arrived: [0; CAUSES],
            beyond: 0,
        }
    }
}

impl Tally {
    /// Adds the frames of a stream.
    pub fn add(&mut self, noted: &Noted<'_>) {
        let kept = noted.made.min(noted.causes.len() as u64);
        let causes = &noted.causes[..kept as usize];
        for (causes, n) in causes.chunks(64).zip(0..) {
            let word = noted.arrived.get(n).copied().unwrap_or(0);
            for (bit, cause) in causes.iter().enumerate() {
                let cause = usize::from(*cause);
                match word >> bit & 1 {
                    0 => self.lost[cause] += 1,
                    _ => self.arrived[cause] += 1,
                }
            }
        }
        for number in kept..noted.made {
            let word = noted.arrived.get((number / 64) as usize).copied();
            self.beyond += u64::from(word.unwrap_or(0) >> (number % 64) & 1 == 0);
        }
    }

    /// Adds what another one counted.
    pub fn join(&mut self, other: &Self) {
        for (mine, others) in [
            (&mut self.lost, &other.lost),
            (&mut self.arrived, &other.arrived),
        ] {
            for (count, more) in mine.iter_mut().zip(others) {
                *count += more;
            }
        }
        self.beyond += other.beyond;
    }

    /// Numbers that did not arrive.
    pub fn all_lost(&self) -> u64 {
        self.lost.iter().sum::<u64>() + self.beyond
    }

    /// Causes of which most numbers arrived: there, the receiver throws away what it has counted.
    pub fn receipts(&self) -> impl Iterator<Item = usize> + '_ {
        (1..OTHER_CAUSE).filter(|n| self.arrived[*n] > self.lost[*n])
    }
}

/// What is known of a trial beside the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beside {
    /// Frames that rings refused as XDP frames, by sending port: no cause is noted for these.
    pub refused: Vec<(String, u64)>,
    /// XDP frames that were lost behind the tester's ports where no cause is noted, of any frames.
    pub xdp: Vec<(FateCause, u64)>,
    /// Frames that the tester's own sockets did not take, by receiving port.
    pub sockets: Vec<(String, u64)>,
    /// Numbers that were given to frames which were never sent.
    pub given_up: u64,
    /// Frames that were thrown away inside merged ones, whose numbers were not in sight.
    pub merged: u64,
    /// An interface of the path whose program gets XDP frames: what it drops is in no count.
    pub program: Option<String>,
    /// What the kernel's counters say.
    pub counters: Vec<LossEntry>,
}

/// The loss ledger of a trial, most frames first, and the frames that are left unexplained.
///
/// `causes` names the causes by their number; a lost frame whose cause is not among them counts with the
/// others. What the numbers do not show comes in the order of certainty: frames that were never
/// sent, those that rings refused, those that XDP lost, those in merged frames, those of which a counter alone tells, and those
/// that a program may have dropped.
pub fn explain(
    tally: &Tally,
    causes: &[(usize, FateCause)],
    beside: &Beside,
) -> (Vec<LossEntry>, u64) {
    let mut lines = numbered(tally, causes);
    let mut add = |cause: FateCause, frames: u64| add_to(&mut lines, cause, frames);
    let mut left = tally.lost[0].saturating_sub(beside.given_up);
    let mut take = |most: u64| {
        let taken = most.min(left);
        left -= taken;
        taken
    };
    for (device, frames) in &beside.refused {
        let device = device.clone();
        add(FateCause::Refused { device }, take(*frames));
    }
    for (cause, frames) in &beside.xdp {
        add(cause.clone(), take(*frames));
    }
    for (device, frames) in &beside.sockets {
        let device = device.clone();
        let cause = FateCause::TesterSocket { device };
        // Of most the kernel told, when it threw away the copy of the network stack.
        let found = tally_of(causes, &tally.lost, &cause);
        add(cause, take(frames.saturating_sub(found)));
    }
    add(FateCause::Merged, take(beside.merged));
    let counted = counted_alone(&lines, &beside.counters);
    for (place, most) in counted {
        let frames = take(most);
        if frames > 0 {
            lines.push(LossEntry::counted(place, frames));
        }
    }
    let unseen = beside
        .program
        .clone()
        .map(|device| (device, take(u64::MAX)));
    if let Some((device, frames)) = unseen.filter(|(_, frames)| *frames > 0) {
        lines.push(LossEntry::found(FateCause::Program { device }, frames));
    }
    most_first(&mut lines);
    (lines, left)
}

/// One way of a trial both ways.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OneWay {
    /// Its numbers.
    pub tally: Tally,
    /// As [`Beside::refused`].
    pub refused: Vec<(String, u64)>,
    /// As [`Beside::given_up`].
    pub given_up: u64,
}

/// The ledgers of the single ways of a trial whose ledger is `whole`, made by [`explain`].
///
/// What the numbers do not show is known of all frames only. Where one way alone lost such frames, they are its own;
/// else each way has a line for as many as it lost.
pub fn by_way(
    ways: &[OneWay],
    causes: &[(usize, FateCause)],
    whole: &[LossEntry],
) -> Vec<Vec<LossEntry>> {
    let mut rest = whole.to_vec();
    let mut ledgers = Vec::new();
    for way in ways {
        let mut lines = numbered(&way.tally, causes);
        let mut left = way.tally.lost[0].saturating_sub(way.given_up);
        for (device, frames) in &way.refused {
            let device = device.clone();
            let frames = left.min(*frames);
            left -= frames;
            add_to(&mut lines, FateCause::Refused { device }, frames);
        }
        for line in &lines {
            let same = |of: &&mut LossEntry| of.cause == line.cause;
            if let Some(of) = rest.iter_mut().find(same) {
                of.frames = of.frames.saturating_sub(line.frames);
            }
        }
        ledgers.push((lines, left));
    }
    let alone = ledgers.iter().filter(|(_, left)| *left > 0).count() == 1;
    let ledger = |(mut lines, mut left): (Vec<LossEntry>, u64)| {
        for of in rest.iter().filter(|_| alone) {
            let frames = left.min(of.frames);
            left -= frames;
            match &of.cause {
                Some(cause) => add_to(&mut lines, cause.clone(), frames),
                None if frames > 0 => lines.push(LossEntry::counted(of.place.clone(), frames)),
                None => {}
            }
        }
        add_to(&mut lines, FateCause::EitherWay, left);
        most_first(&mut lines);
        lines
    };
    ledgers.into_iter().map(ledger).collect()
}

/// What the numbers alone show.
fn numbered(tally: &Tally, causes: &[(usize, FateCause)]) -> Vec<LossEntry> {
    let mut lines = Vec::new();
    let mut others: u64 = tally.lost[1..].iter().sum();
    for (number, cause) in causes {
        let frames = tally.lost.get(*number).copied().unwrap_or(0);
        others -= frames;
        add_to(&mut lines, cause.clone(), frames);
    }
    add_to(&mut lines, FateCause::Others, others);
    add_to(&mut lines, FateCause::Beyond, tally.beyond);
    lines
}

fn add_to(lines: &mut Vec<LossEntry>, cause: FateCause, frames: u64) {
    if frames == 0 {
        return;
    }
    let same = |line: &&mut LossEntry| line.cause.as_ref() == Some(&cause);
    match lines.iter_mut().find(same) {
        Some(line) => line.frames += frames,
        None => lines.push(LossEntry::found(cause, frames)),
    }
}

fn most_first(lines: &mut [LossEntry]) {
    lines.sort_by(|a, b| b.frames.cmp(&a.frames).then(a.place.cmp(&b.place)));
}

/// Lost frames with this cause.
fn tally_of(causes: &[(usize, FateCause)], lost: &[u64; CAUSES], cause: &FateCause) -> u64 {
    let same = causes.iter().filter(|(_, of)| of == cause);
    same.filter_map(|(number, _)| lost.get(*number)).sum()
}

/// What counters say beyond the lines, at interfaces of which no line tells.
fn counted_alone(lines: &[LossEntry], counters: &[LossEntry]) -> Vec<(String, u64)> {
    let sum = |entries: &[LossEntry]| entries.iter().map(|entry| entry.frames).sum::<u64>();
    let mut more = sum(counters).saturating_sub(sum(lines));
    // A guest's interface is two words.
    let interface = |line: &LossEntry| match &line.cause {
        Some(FateCause::Dropped {
            device: Some(device),
            ..
        }) => device.clone(),
        _ => line.place.split(' ').next().unwrap_or_default().to_owned(),
    };
    let told: Vec<String> = lines.iter().map(interface).collect();
    let is_told = |place: &str| {
        let mut behind = told
            .iter()
            .filter_map(|device| place.strip_prefix(device.as_str()));
        behind.any(|rest| rest.starts_with(' '))
    };
    let untold = counters.iter().filter(|entry| !is_told(&entry.place));
    let mut alone = Vec::new();
    for entry in untold {
        let frames = entry.frames.min(more);
        more -= frames;
        alone.push((entry.place.clone(), frames));
    }
    alone
}

#[cfg(test)]
mod tests;
