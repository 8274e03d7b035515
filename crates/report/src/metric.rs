//! Metrics as a monitoring system takes them, before they are text in any of its formats.
//!
//! Names, base units and kinds follow <https://prometheus.io/docs/practices/naming/>.

/// A metric with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Full name, unit at its end; that of a counter ends in `_total`.
    pub name: &'static str,
    /// One sentence about what is counted or measured.
    pub help: &'static str,
    /// How the value may move.
    pub kind: Kind,
    /// None where nothing is known: the metric is then left out.
    pub samples: Vec<Sample>,
}

/// How a metric may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Up and down.
    Gauge,
    /// Up only, from zero at the start of a program.
    Counter,
}

/// A value, and what it is the value of.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values; values as they are, not yet escaped for any format.
    pub labels: Vec<Label>,
    /// In the unit at the end of the metric's name.
    pub value: f64,
}

/// Name and value of a label.
pub type Label = (&'static str, String);

impl Family {
    /// A gauge with its samples; those that are not finite were not measured and are left out.
    pub fn gauge(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> Self {
        Self::new(Kind::Gauge, name, help, samples)
    }

    /// A counter with its samples.
    pub fn counter(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> Self {
        Self::new(Kind::Counter, name, help, samples)
    }

    fn new(
        kind: Kind,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> Self {
        let samples = samples
            .into_iter()
            .filter(|(_, value)| value.is_finite())
            .map(|(labels, value)| Sample { labels, value })
            .collect();
        Self {
            name,
            help,
            kind,
            samples,
        }
    }
}
