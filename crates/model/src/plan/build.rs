//! Plans made without a file: the default run, and what flags change.

use std::time::Duration;

use crate::fate::FateMode;
use crate::frame::{Direction, FrameSize, RFC2544_SIZES};
use crate::interface_name::{BadInterfaceName, LONGEST_INTERFACE_NAME, check_interface_name};
use crate::plan::{PathPlan, Plan, Preset, SearchPlan, Traffic};
use crate::traffic::Shape;

impl Plan {
    /// What `bench` runs without arguments: a kernel bridge, the seven sizes of RFC 2544 §9.1,
    /// one direction, one flow, the preset that suits the machine.
    pub fn default_bridge() -> Self {
        Self {
            name: "bridge".to_owned(),
            traffic: Traffic {
                frame_sizes: RFC2544_SIZES
                    .into_iter()
                    .filter_map(|bytes| FrameSize::new(bytes).ok())
                    .collect(),
                mixes: Vec::new(),
                directions: vec![Direction::Uni],
                flows: vec![1],
                shape: Shape::default(),
            },
            search: SearchPlan {
                preset: None,
                loss_ratio: None,
                goals: Vec::new(),
                latency_load: Vec::new(),
                bursts: false,
                recovery: Duration::ZERO,
                reset: false,
                repeats: 1,
                confirm: None,
                fate: FateMode::Auto,
            },
            paths: vec![PathPlan::Bridge],
            sockets: Vec::new(),
        }
    }

    /// The same traffic and search between two interfaces that exist already.
    ///
    /// # Errors
    /// When they are not two different names the kernel would accept.
    pub fn with_ports(mut self, a: &str, b: &str) -> Result<Self, PortsError> {
        check_interface(a)?;
        check_interface(b)?;
        if a == b {
            return Err(PortsError::Same(a.to_owned()));
        }
        if self == Self::default_bridge() {
            self.name = "ports".to_owned();
        }
        self.paths = vec![PathPlan::Ports {
            a: a.to_owned(),
            b: b.to_owned(),
        }];
        Ok(self)
    }

    /// The same plan with another search for the fate of lost frames: `--fate`.
    pub fn with_fate(mut self, fate: FateMode) -> Self {
        self.search.fate = fate;
        self
    }

    /// The same plan with latency, forwarding rate and loss measured at these loads, in per cent of the
    /// throughput.
    pub fn with_latency_load(mut self, mut percent: Vec<u32>) -> Self {
        percent.sort_unstable();
        percent.dedup();
        self.search.latency_load = percent;
        self
    }

    /// The same plan with another preset: `--preset`.
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.search.preset = Some(preset);
        self
    }
}

/// Frames too small for their headers, tags and nicety's stamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {size} bytes does not hold {headers} and nicety's stamp")]
pub struct TooSmall {
    /// The frame.
    pub size: FrameSize,
    /// Its headers in words.
    pub headers: String,
    /// Bytes of the smallest frame that does.
    pub smallest: u16,
}

impl TooSmall {
    /// A frame of a size with the headers of a shape.
    pub(super) fn new(size: FrameSize, shape: &Shape) -> Self {
        Self {
            size,
            headers: shape.headers(),
            smallest: shape.smallest(),
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        format!("write frames of {} bytes or more", self.smallest)
    }
}

/// Ports that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortsError {
    /// One name twice.
    #[error("both ports are {0:?}, a path needs two different interfaces")]
    Same(String),
    /// An empty name.
    #[error("the interface name is empty")]
    Empty,
    /// Longer than the kernel allows.
    #[error("interface name {0:?} has {len} bytes, the kernel allows {LONGEST_INTERFACE_NAME}", len = .0.len())]
    TooLong(String),
    /// A character the kernel refuses.
    #[error(
        "{0:?} cannot be an interface name, the kernel refuses '/', ':', spaces, \".\" and \"..\""
    )]
    Refused(String),
}

/// Whether the kernel would accept the name.
pub(super) fn check_interface(name: &str) -> Result<(), PortsError> {
    check_interface_name(name).map_err(|bad| match bad {
        BadInterfaceName::Empty => PortsError::Empty,
        BadInterfaceName::TooLong => PortsError::TooLong(name.to_owned()),
        BadInterfaceName::Directory | BadInterfaceName::Separator | BadInterfaceName::Blank => {
            PortsError::Refused(name.to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_replace_the_path_and_keep_the_rest() {
        let plan = Plan::default_bridge()
            .with_preset(Preset::Std)
            .with_ports("eth1", "eth2")
            .unwrap();
        let ports = PathPlan::Ports {
            a: "eth1".to_owned(),
            b: "eth2".to_owned(),
        };
        assert_eq!(plan.paths, [ports]);
        assert_eq!(plan.search.preset, Some(Preset::Std));
        assert_eq!(plan.cell_count(), 7);
    }

    #[test]
    fn bad_ports_are_refused_in_words() {
        #[rustfmt::skip]
        let table = [
            (["eth1", "eth1"], "both ports are \"eth1\", a path needs two different interfaces"),
            (["eth1", ""], "the interface name is empty"),
            (["eth1", "an-interface-name"],
                "interface name \"an-interface-name\" has 17 bytes, the kernel allows 15"),
            (["eth1", "a/b"],
                "\"a/b\" cannot be an interface name, the kernel refuses '/', ':', spaces, \".\" and \"..\""),
            (["..", "eth2"],
                "\"..\" cannot be an interface name, the kernel refuses '/', ':', spaces, \".\" and \"..\""),
        ];
        for (ports, message) in table {
            let [a, b] = ports;
            let error = Plan::default_bridge().with_ports(a, b).unwrap_err();
            assert_eq!(error.to_string(), message, "{ports:?}");
        }
    }
}
