//! `[traffic]`: what frames are beyond their sizes, and what does not go together.

use toml::Spanned;

use crate::frame::FrameSize;
use crate::plan::build::TooSmall;
use crate::plan::file::TrafficFile;
use crate::source::Diagnostic;
use crate::traffic::{Popularity, Shape};

impl TrafficFile {
    /// What all frames are beyond their sizes.
    pub(super) fn shape(&self) -> Shape {
        let popularity = self
            .popularity
            .as_ref()
            .map(|popularity| popularity.get_ref().0);
        let shape = Shape {
            imix: None,
            family: self.family.as_ref().map(|family| *family.get_ref()),
            protocol: self.protocol.as_ref().map(|protocol| *protocol.get_ref()),
            // At most 63.
            dscp: self.dscp.map(|dscp| dscp.0 as u8),
            vlan: self.vlan.as_ref().map(|vlan| vlan.get_ref().0),
            popularity,
            new_flows_per_s: self.new_flows_per_s.map(|rate| rate.0),
        };
        shape.tidy()
    }

    /// What does not go together.
    pub(super) fn problems(&self) -> Vec<Diagnostic> {
        let shape = self.shape();
        let small = |size: FrameSize, at: usize| {
            let size = shape.too_small(size)?;
            let error = TooSmall::new(size, &shape);
            Some(Diagnostic::new(at, error.to_string(), error.remedy()))
        };
        let sizes = self.frame_sizes.iter().flat_map(|list| list.placed());
        let sizes = sizes.filter_map(|(bytes, at)| {
            let bytes = u16::try_from(bytes.0).ok()?;
            small(FrameSize::new(bytes).ok()?, at)
        });
        let mixes = self.imix.iter().flat_map(|list| list.placed());
        let mixes = mixes.filter_map(|(mix, at)| small(mix.0.smallest(), at));
        let mut problems: Vec<Diagnostic> = sizes.chain(mixes).take(1).collect();
        // The seven sizes that stand for none begin with 64.
        if self.frame_sizes.is_none() && self.imix.is_none() && shape.smallest() > FrameSize::MIN {
            let what = format!(
                "frames of 64 bytes do not hold {} and nicety's stamp",
                shape.headers()
            );
            let remedy = format!("write frame_sizes, with {} bytes or more", shape.smallest());
            problems.push(Diagnostic::new(self.headers_at(), what, remedy));
        }
        problems.extend(self.popularity_problem(shape.popularity));
        problems
    }

    /// Where the first key of unusual headers is in the file.
    fn headers_at(&self) -> usize {
        let family = self.family.as_ref().map(Spanned::span);
        let protocol = self.protocol.as_ref().map(Spanned::span);
        let vlan = self.vlan.as_ref().map(Spanned::span);
        let spans = [family, protocol, vlan].into_iter().flatten();
        spans.map(|span| span.start).min().unwrap_or(0)
    }

    /// One flow has all frames, however popular it is.
    fn popularity_problem(&self, popularity: Option<Popularity>) -> Option<Diagnostic> {
        popularity?;
        let few = self
            .flows
            .as_ref()
            .is_none_or(|flows| flows.iter().any(|flows| flows.0 < 2));
        let at = self
            .popularity
            .as_ref()
            .map_or(0, |popularity| popularity.span().start);
        few.then(|| {
            let what = "popularity is that of several flows, and the plan has one";
            Diagnostic::new(at, what, "write flows = 1000, or remove popularity")
        })
    }
}
