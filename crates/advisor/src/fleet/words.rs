//! Words that many hosts have in common, each kept once.

use std::collections::HashMap;
use std::hash::Hash;

use super::profile::Setting;

/// Settings, values and sentences by number.
#[derive(Debug, Default)]
pub(super) struct Words {
    settings: Numbered<Setting>,
    values: Numbered<String>,
}

#[derive(Debug)]
struct Numbered<T> {
    numbers: HashMap<T, u32>,
    all: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            all: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn number(&mut self, of: T) -> u32 {
        if let Some(number) = self.numbers.get(&of) {
            return *number;
        }
        // More would not fit in memory.
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(of.clone());
        self.numbers.insert(of, number);
        number
    }
}

impl Words {
    pub(super) fn setting(&mut self, setting: Setting) -> u32 {
        self.settings.number(setting)
    }

    pub(super) fn value(&mut self, value: String) -> u32 {
        self.values.number(value)
    }

    /// The setting of a number that [`Self::setting`] gave.
    pub(super) fn setting_of(&self, number: u32) -> &Setting {
        &self.settings.all[number as usize]
    }

    /// The value of a number that [`Self::value`] gave.
    pub(super) fn value_of(&self, number: u32) -> &str {
        &self.values.all[number as usize]
    }
}
