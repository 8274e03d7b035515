//! Metrics as the text that Prometheus and node_exporter read, version 0.0.4.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::fmt;
use std::io::{self, Write};

use nicety_report::ReportError;
use nicety_report::metric::{Family, Kind};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

pub use prometheus_text::CONTENT_TYPE;

/// What an encoder asks for once.
#[derive(Debug)]
struct Once(Vec<Family>);

impl Collector for Once {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in self.0.iter().filter(|family| !family.samples.is_empty()) {
            let (name, kind) = match family.kind {
                Kind::Gauge => (family.name, MetricType::Gauge),
                // The encoder adds the end again.
                Kind::Counter => (family.name.trim_end_matches("_total"), MetricType::Counter),
            };
            let mut metric = encoder.encode_descriptor(name, family.help, None, kind)?;
            for sample in &family.samples {
                let mut metric = metric.encode_family(&sample.labels)?;
                match family.kind {
                    Kind::Gauge => metric.encode_gauge(&sample.value)?,
                    Kind::Counter => {
                        metric.encode_counter::<NoLabelSet, _, f64>(&sample.value, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The whole page.
pub fn text(families: Vec<Family>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Once(families)));
    let mut text = String::new();
    // Writing into a string does not fail.
    let _ = prometheus_text::encode(&mut text, &registry);
    text
}

/// Writes the whole page.
pub fn write(families: Vec<Family>, out: &mut impl Write) -> Result<(), ReportError> {
    let written = out.write_all(text(families).as_bytes());
    written
        .and_then(|()| out.flush())
        .map_err(|source: io::Error| ReportError::Write {
            format: "Prometheus",
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_families_described_once() {
        let label = |name: &str| vec![("tenant", name.to_owned())];
        let text = text(vec![
            Family::gauge(
                "a_bytes",
                "Now.",
                [(label("x\"y\\z{}\nend"), 1.5), (label("b"), f64::NAN)],
            ),
            Family::gauge("unknown_seconds", "Not measured.", []),
            Family::counter("b_total", "Since the start.", [(Vec::new(), 3.0)]),
        ]);
        let expected = "# HELP a_bytes Now.\n# TYPE a_bytes gauge\n\
            a_bytes{tenant=\"x\\\"y\\\\z{}\\nend\"} 1.5\n\
            # HELP b_total Since the start.\n# TYPE b_total counter\nb_total 3.0\n";
        assert_eq!(text, expected);
    }
}
