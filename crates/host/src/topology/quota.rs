//! The CPU time a cgroup may use: a quota below the number of CPUs stops pinned threads in
//! the middle of a trial, whatever their affinity says.

use std::path::{Component, Path, PathBuf};

use crate::roots::{ProcRoot, SysRoot};

/// Smallest CPU quota on this process, in CPUs' worth of time: `cpu.max` of cgroup v2
/// (Documentation/admin-guide/cgroup-v2.rst) or `cpu.cfs_quota_us` of v1, of its own cgroup
/// and every one above it. `None` when nothing limits it or nothing can be read.
pub fn cpu_quota(proc: &ProcRoot, sys: &SysRoot) -> Option<f64> {
    let cgroups = proc.text("self/cgroup")?;
    let base = PathBuf::from("fs/cgroup");
    let mut quotas = Vec::new();
    for (controllers, path) in memberships(&cgroups) {
        if controllers.is_empty() {
            // The unified hierarchy is the mount itself, or `unified` in a hybrid layout.
            for mount in [base.clone(), base.join("unified")] {
                quotas.extend(
                    levels(path).iter().filter_map(|level| {
                        v2_quota(&sys.text(mount.join(level).join("cpu.max"))?)
                    }),
                );
            }
        } else if has_cpu(controllers) {
            for mount in [base.join(controllers), base.join("cpu")] {
                quotas.extend(levels(path).iter().filter_map(|level| {
                    let dir = mount.join(level);
                    let quota = sys.text(dir.join("cpu.cfs_quota_us"))?;
                    let period = sys.text(dir.join("cpu.cfs_period_us"))?;
                    ratio(&quota, &period)
                }));
            }
        }
    }
    quotas.into_iter().min_by(f64::total_cmp)
}

/// Controllers, none for cgroup v2, and group of each line of /proc/PID/cgroup (cgroups(7)): `4:cpu,cpuacct:/user.slice`.
pub(crate) fn memberships(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
}

/// Whether CPU time is among what a hierarchy of v1 controls.
pub(crate) fn has_cpu(controllers: &str) -> bool {
    controllers.split(',').any(|name| name == "cpu")
}

/// A cgroup path and everything above it, the root of the mount (which in a container is the
/// container's own cgroup) last. Paths that lead out of the namespace start with `..`: of
/// those only the root can be seen.
fn levels(path: &str) -> Vec<PathBuf> {
    let relative = Path::new(path.trim_start_matches('/'));
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let start = if plain { relative } else { Path::new("") };
    start.ancestors().map(Path::to_path_buf).collect()
}

fn v2_quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    ratio(quota, period)
}

/// `None` for `max`, -1 and nonsense.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let quota: f64 = u64_of(quota)?;
    let period: f64 = u64_of(period)?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn u64_of(text: &str) -> Option<f64> {
    text.trim().parse::<u64>().ok().map(|value| value as f64)
}
