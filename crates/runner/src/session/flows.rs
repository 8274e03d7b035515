//! Whether a plan's flows can use all receive queues that it asks for.

use nicety_model::Plan;
use nicety_model::note::RunNote;
use nicety_model::plan::PathPlan;

/// Said once of a plan with fewer flows than receive queues of the host.
pub(super) fn few(plan: &Plan) -> Option<RunNote> {
    let queues = plan.paths.iter().filter_map(|path| match path {
        PathPlan::Vm { params } => params.host_queues.iter().map(|queues| queues.0).max(),
        _ => None,
    });
    let (queues, flows) = (queues.max()?, *plan.traffic.flows.iter().min()?);
    let few = flows < queues && !plan.traffic.is_none();
    few.then_some(RunNote::FewFlows {
        flows,
        host_queues: queues,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_flows_than_queues_are_told() {
        let few = |flows: &str, queues: &str| {
            let path = format!("[[path]]\nkind = \"vm\"\n{queues}\n");
            let text = format!("[traffic]\nframe_sizes = [64]\nflows = {flows}\n{path}");
            super::few(&Plan::parse("plan.toml", &text).unwrap())
        };
        assert_eq!(few("1", ""), None);
        assert_eq!(few("1", "host_queues = 1"), None);
        assert_eq!(few("[8, 64]", "host_queues = [1, 8]"), None);
        let note = few("[1, 64]", "host_queues = [1, 8]").unwrap().to_string();
        assert!(
            note.starts_with("The plan has flows = 1 and host_queues = 8. "),
            "{note}"
        );
    }
}
