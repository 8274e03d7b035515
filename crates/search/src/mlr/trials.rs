//! The trials of a search, by load.

use std::collections::BTreeMap;

use crate::bounds::Bounds;
use crate::classify::{Class, Rule, Sums};

/// Kept part of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// Intended duration in seconds.
    pub duration_s: f64,
    /// Lost over sent.
    pub loss_ratio: f64,
    /// Forwarding rate in frames per second.
    pub forwarding: f64,
}

/// All trials, by grid position.
#[derive(Debug, Clone, Default)]
pub struct Trials {
    by_load: BTreeMap<usize, Vec<Kept>>,
}

impl Trials {
    /// Adds a trial.
    pub fn add(&mut self, load: usize, trial: Kept) {
        self.by_load.entry(load).or_default().push(trial);
    }

    /// Trials at a load, in order of time.
    pub fn at(&self, load: usize) -> &[Kept] {
        self.by_load.get(&load).map_or(&[], Vec::as_slice)
    }

    /// Trials at this load and above.
    pub fn from(&self, load: usize) -> impl Iterator<Item = &Kept> {
        self.by_load.range(load..).flat_map(|(_, trials)| trials)
    }

    /// Loads above this one and their trials, in order.
    pub fn above(&self, load: usize) -> impl Iterator<Item = (usize, &[Kept])> {
        let above = self.by_load.range(load + 1..);
        above.map(|(load, trials)| (*load, trials.as_slice()))
    }

    /// Sums at a load under a rule.
    pub fn sums(&self, load: usize, rule: &Rule) -> Sums {
        let mut sums = Sums::default();
        for trial in self.at(load) {
            sums.add(rule, trial.duration_s, trial.loss_ratio);
        }
        sums
    }

    /// Class of a load under a rule.
    pub fn class(&self, load: usize, rule: &Rule) -> Class {
        self.sums(load, rule).class(rule)
    }

    /// Relevant bounds under a rule.
    pub fn bounds(&self, rule: &Rule) -> Bounds {
        Bounds::of(
            self.by_load
                .keys()
                .map(|load| (*load, self.class(*load, rule))),
        )
    }
}
