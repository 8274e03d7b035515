//! Parses text into a checked [`Plan`].

use std::time::Duration;

use crate::frame::FrameSize;
use crate::plan::cells::thousands;
use crate::plan::file::{NAME_CHARS, NO_PATH, PlanFile, TABLES};
use crate::plan::path;
use crate::plan::{MAX_CELLS, Plan, PlanError};
use crate::source::{Diagnostic, List, Source};

impl Plan {
    /// Reads and checks a plan. `file_name` is for messages, and its stem is the plan's name
    /// when `name` is not given.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and what to write instead.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PlanError> {
        let source = Source::new(file_name, text, "the plan")?;
        let file: PlanFile = source.read(&TABLES, path::strange_keys(&source))?;
        source.judge(file.problems())?;
        let plan = file.plan(file_name);
        source.judge(file.problems_of_size(&plan))?;
        Ok(plan)
    }
}

/// Numbers out of the file's lists.
pub(super) fn numbers<K: Copy + Into<u32>>(list: &Option<List<K>>) -> Option<Vec<u32>> {
    let list = list.as_ref()?;
    Some(list.iter().map(|number| (*number).into()).collect())
}

impl PlanFile {
    /// What does not go together, in the order of the file.
    pub(super) fn problems(&self) -> Vec<Diagnostic> {
        let [what, remedy] = NO_PATH;
        let none = self
            .path
            .is_empty()
            .then(|| Diagnostic::new(0, what, remedy));
        let mut diagnostics = Vec::from_iter(none);
        if let Some(traffic) = &self.traffic {
            diagnostics.extend(traffic.problems());
        }
        if let Some(search) = &self.search {
            diagnostics.extend(search.goal_problems());
        }
        for path in &self.path {
            diagnostics.extend(path.get_ref().problems(path.span().start));
        }
        for table in &self.sockets {
            diagnostics.extend(table.get_ref().problems(table.span().start));
        }
        diagnostics.sort_by_key(|diagnostic| diagnostic.at);
        diagnostics
    }

    /// The plan of a file without problems.
    fn plan(&self, file_name: &str) -> Plan {
        let mut plan = Plan::default_bridge();
        plan.name = match &self.name {
            Some(name) => name.0.clone(),
            None => stem(file_name),
        };
        if let Some(traffic) = &self.traffic {
            if let Some(sizes) = numbers(&traffic.frame_sizes) {
                let sizes = sizes
                    .into_iter()
                    .filter_map(|size| u16::try_from(size).ok());
                let sizes = sizes.filter_map(|size| FrameSize::new(size).ok());
                plan.traffic.frame_sizes = sizes.collect();
            }
            if let Some(mixes) = &traffic.imix {
                plan.traffic.mixes = mixes.iter().map(|mix| mix.0).collect();
                if traffic.frame_sizes.is_none() {
                    plan.traffic.frame_sizes.clear();
                }
            }
            plan.traffic.shape = traffic.shape();
            if let Some(directions) = &traffic.directions {
                plan.traffic.directions = directions.iter().copied().collect();
            }
            if let Some(flows) = numbers(&traffic.flows) {
                plan.traffic.flows = flows;
            }
        }
        if let Some(search) = &self.search {
            plan.search.preset = search.preset;
            plan.search.loss_ratio = search.loss_ratio.map(|share| share.0);
            plan.search.goals = search.loss_goals();
            plan.search.confirm = search.confirm.map(|time| time.0);
            if let Some(loads) = numbers(&search.latency_load) {
                plan = plan.with_latency_load(loads);
            }
            plan.search.bursts = search.bursts.unwrap_or(false);
            plan.search.recovery = search.recovery.map_or(Duration::ZERO, |time| time.0);
            plan.search.reset = search.reset.unwrap_or(false);
            plan.search.fate = search.fate.unwrap_or_default();
            if let Some(repeats) = search.repeats {
                plan.search.repeats = repeats.0;
            }
        }
        plan.paths = self.path.iter().map(|path| path.get_ref().path()).collect();
        let sockets = self.sockets.iter();
        plan.sockets = sockets.map(|table| table.get_ref().plan()).collect();
        // A plan that speaks of sockets only asks for nothing else.
        if !plan.sockets.is_empty() && self.traffic.is_none() && self.search.is_none() {
            plan.traffic.frame_sizes.clear();
        }
        plan
    }

    /// Too many cells, or one that comes twice. None is built when there are too many.
    fn problems_of_size(&self, plan: &Plan) -> Vec<Diagnostic> {
        let first = self.path.first().map_or(0, |path| path.span().start);
        let most = thousands(MAX_CELLS);
        let too_many = |at, what: String| {
            let what = format!("{what}, more than {most}");
            vec![Diagnostic::new(
                at,
                what,
                "shorten a list or split the plan",
            )]
        };
        let mut sockets = self.sockets.iter().zip(&plan.sockets);
        if let Some((table, tests)) = sockets.find(|(_, tests)| tests.len() > MAX_CELLS) {
            let count = thousands(tests.len());
            let what = format!("[[sockets]] asks for {count} tests, more than {most}");
            return vec![Diagnostic::new(table.span().start, what, "shorten a list")];
        }
        if let Some((index, name)) = plan.first_double_test() {
            let at = self
                .sockets
                .get(index)
                .map_or(0, |table| table.span().start);
            let what = format!("socket test {name} is in the plan twice");
            return vec![Diagnostic::new(at, what, "remove one of them")];
        }
        if plan.sock_count() > MAX_CELLS {
            let count = thousands(plan.sock_count());
            let points = thousands(plan.point_count());
            let what = format!("the plan has {count} socket tests ({points} path settings)");
            return too_many(first, what);
        }
        if plan.cell_count() > MAX_CELLS {
            let count = thousands(plan.cell_count());
            let what = format!("the plan has {count} cells ({})", plan.factors());
            return too_many(self.longest_list().unwrap_or(first), what);
        }
        let double = plan.first_double().map(|(index, name)| {
            let at = self.path.get(index).map_or(first, |path| path.span().start);
            let what = format!("path {name} is in the plan twice");
            Diagnostic::new(at, what, "remove one of them")
        });
        double.into_iter().collect()
    }

    /// Where the longest list of frames and paths begins: most often the one to shorten.
    fn longest_list(&self) -> Option<usize> {
        fn of<T>(list: &Option<List<T>>) -> Option<(usize, usize)> {
            list.as_ref().map(|list| (list.len(), list.at()))
        }
        let traffic = self.traffic.iter().flat_map(|traffic| {
            let sizes = of(&traffic.frame_sizes);
            [
                sizes,
                of(&traffic.imix),
                of(&traffic.directions),
                of(&traffic.flows),
            ]
        });
        let paths = self.path.iter().flat_map(|path| path.get_ref().lists());
        let longest = traffic
            .flatten()
            .chain(paths)
            .max_by_key(|(length, _)| *length);
        longest.map(|(_, at)| at)
    }
}

/// A plan's name out of its file's.
fn stem(file_name: &str) -> String {
    let file = file_name.rsplit('/').next().unwrap_or_default();
    let stem = file.strip_suffix(".toml").unwrap_or(file);
    let stem = stem
        .chars()
        .filter(|c| !crate::visible::is_hidden(*c))
        .take(NAME_CHARS);
    let stem: String = stem.collect();
    if stem.trim().is_empty() {
        "plan".to_owned()
    } else {
        stem
    }
}
