//! The guest's end: runs the programs when the host asks.

use std::fmt::Write as _;

use nicety_account::hops::{Seen, Station};
use nicety_account::inside::rows;
use nicety_model::{FateCause, FrameSize};
use nicety_port::clock;
use serde_json::Value;

use super::wire::{Answer, Ask, Cause, Does, Follow, Noted, Place, ROWS_MAX, SEEN_MAX, WHY_MAX};
use crate::hops::{Hops, Passed};
use crate::refusal::Refusal;
use crate::watch::{Fates, Noting};
use crate::windows::Windows;

/// Numbers of a stream that get causes in a guest at most: it has little memory.
const NUMBERS_MAX: u64 = 1 << 25;

/// The programs in a guest, loaded when they are asked for and kept.
#[derive(Debug, Default)]
pub struct Agent {
    /// What the programs are made for.
    made: Option<(u16, u32, u16)>,
    fates: Option<Fates>,
    hops: Option<Hops>,
    /// Which of both follow a trial now.
    following: [bool; 2],
}

impl Agent {
    /// Answers a question; `None` where it is for somebody else.
    pub fn answer(&mut self, question: &Value) -> Option<Value> {
        let answer = match Ask::read(question)? {
            Ask::Begin(follow) => match self.begin(&follow) {
                Ok(()) => Answer::Begun,
                Err(why) => Answer::Refused(short(&why)),
            },
            Ask::Clock => Answer::Clock(clock::monotonic_ns()),
            Ask::End => match self.end() {
                Ok(noted) => Answer::Told(Box::new(noted)),
                Err(why) => Answer::Refused(short(&why.to_string())),
            },
        };
        // Texts and numbers always have a JSON.
        Some(serde_json::to_value(answer).unwrap_or_default())
    }

    fn begin(&mut self, follow: &Follow) -> Result<(), String> {
        // Whoever asked before has gone.
        let _ = self.end();
        let say = |why: Refusal| why.to_string();
        let made = (follow.frame_size, follow.streams, follow.mark);
        if self.made.replace(made) != Some(made) {
            (self.fates, self.hops) = (None, None);
        }
        if follow.drops {
            let size = FrameSize::new(follow.frame_size).map_err(|error| error.to_string())?;
            let fates = match self.fates.take() {
                Some(fates) => fates,
                None => Fates::ordinary(size, follow.streams, follow.tester()).map_err(say)?,
            };
            let frames = follow.frames.min(NUMBERS_MAX);
            let begun = self.fates.insert(fates).begin(follow.trial, frames);
            begun.map_err(say)?;
            self.following[0] = true;
        }
        if let Some(words) = follow.windows {
            let windows = Windows::told(words).ok_or("its windows are unknown here")?;
            let hops = match self.hops.take() {
                Some(hops) => hops,
                None => Hops::new(follow.streams, follow.tester()).map_err(say)?,
            };
            let begun = self.hops.insert(hops).begin_inside(follow.trial, windows);
            begun.map_err(say)?;
            self.following[1] = true;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Noted, Refusal> {
        let [fates, hops] = std::mem::take(&mut self.following);
        let noting = self.fates.as_mut().filter(|_| fates).map(Fates::end);
        let passed = self.hops.as_mut().filter(|_| hops).map(Hops::end);
        let mut noted = Noted::default();
        if let Some(noting) = noting {
            add_fates(&mut noted, &noting?);
        }
        if let Some(passed) = passed {
            add_hops(&mut noted, &passed?);
        }
        Ok(noted)
    }
}

fn add_fates(noted: &mut Noted, noting: &Noting) {
    let named = |cause: &FateCause| match cause.clone() {
        FateCause::Dropped {
            device,
            function,
            reason,
        } => (device, function, reason),
        _ => (None, None, None),
    };
    noted.causes = noting
        .causes
        .iter()
        .filter_map(|of| {
            let (device, function, reason) = named(&of.cause);
            Some(Cause {
                number: u8::try_from(of.number).ok()?,
                device,
                function,
                reason,
            })
        })
        .collect();
    let mut room = ROWS_MAX;
    for bytes in &noting.bytes {
        let (mut text, mut end) = (String::new(), 0);
        for row in rows(bytes) {
            if room == 0 {
                noted.rows_left_out += 1;
                continue;
            }
            room -= 1;
            // Writing to a text does not fail.
            let _ = write!(text, "{} {} {} ", row.first - end, row.frames, row.cause);
            end = row.first + row.frames;
        }
        text.truncate(text.trim_end().len());
        noted.rows.push(text);
    }
}

fn add_hops(noted: &mut Noted, passed: &Passed) {
    noted.stations = passed.stations.iter().map(place).collect();
    noted.unnoted = passed.unnoted + passed.seen.len().saturating_sub(SEEN_MAX) as u64;
    let mut text = String::new();
    for seen in passed.seen.iter().take(SEEN_MAX) {
        let Seen {
            frame,
            sent_ns,
            at_ns,
            station,
            cpu,
            merged,
        } = seen;
        let (stream, number) = (frame >> 32, frame & u64::from(u32::MAX));
        let _ = write!(
            text,
            "{stream} {number} {sent_ns} {at_ns} {station} {cpu} {merged} "
        );
    }
    text.truncate(text.trim_end().len());
    noted.seen = text;
}

fn place(station: &Station) -> Place {
    let does = match station.name.split(' ').next() {
        Some("received") => Does::Receives,
        Some("sent") => Does::Sends,
        Some("thrown") => Does::Frees,
        _ => Does::Nothing,
    };
    let (function, reason) = match &station.cause {
        Some(FateCause::Dropped {
            function, reason, ..
        }) => (function.clone(), reason.clone()),
        _ => (None, None),
    };
    Place {
        does,
        device: station.device.clone(),
        function,
        reason,
    }
}

fn short(why: &str) -> String {
    why.chars().take(WHY_MAX).collect()
}
