//! A soak of any length in few enough intervals for a page.

use nicety_model::interval::{Interval, LoadLine};

use super::keep::put;

/// Most intervals of a page.
pub const POINTS: usize = 600;
/// Most other lines of a page.
const OTHERS: usize = 100;

/// Intervals, put together as there get more of them.
#[derive(Debug, Clone)]
pub struct Points {
    /// Intervals in one point.
    step: usize,
    /// Intervals in the last point.
    open: usize,
    points: Vec<Interval>,
    others: Vec<LoadLine>,
}

impl Default for Points {
    fn default() -> Self {
        Self {
            step: 1,
            open: 0,
            points: Vec::new(),
            others: Vec::new(),
        }
    }
}

impl Points {
    /// Takes the next line.
    pub fn add(&mut self, line: LoadLine) {
        match line {
            LoadLine::Interval(interval) => self.interval(*interval),
            other if self.others.len() < OTHERS => self.others.push(other),
            _ => {}
        }
    }

    fn interval(&mut self, interval: Interval) {
        match self.points.last_mut().filter(|_| self.open < self.step) {
            Some(last) if self.open > 0 => put(last, &interval),
            _ => {
                self.open = 0;
                self.points.push(interval);
            }
        }
        self.open += 1;
        if self.points.len() > POINTS {
            self.halve();
        }
    }

    fn halve(&mut self) {
        // The last one alone stays open.
        let last = self.points.pop();
        let mut halved: Vec<Interval> = Vec::with_capacity(POINTS);
        for (at, point) in self.points.drain(..).enumerate() {
            match halved.last_mut().filter(|_| at % 2 == 1) {
                Some(before) => put(before, &point),
                None => halved.push(point),
            }
        }
        halved.extend(last);
        self.points = halved;
        self.step *= 2;
    }

    /// The lines by time.
    pub fn finish(self) -> Vec<LoadLine> {
        let points = self
            .points
            .into_iter()
            .map(Box::new)
            .map(LoadLine::Interval);
        let mut lines: Vec<LoadLine> = points.chain(self.others).collect();
        lines.sort_by(|a, b| time(a).total_cmp(&time(b)));
        lines
    }
}

fn time(line: &LoadLine) -> f64 {
    match line {
        LoadLine::Interval(interval) => interval.started_unix_s,
        LoadLine::Gap(gap) => gap.from_unix_s,
        LoadLine::Alarm(alarm) => alarm.at_unix_s,
        LoadLine::Summary(summary) => summary.ended_unix_s,
    }
}
