//! What a reader can do to get a better number out of a run, as values.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disturbance::Program;
use crate::number::plural;
use crate::plan::Preset;

/// One thing to do, and the sentence that asks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advised {
    /// The sentence, in the imperative.
    pub text: String,
    /// What to do.
    #[serde(flatten)]
    pub step: Step,
}

impl From<Step> for Advised {
    fn from(step: Step) -> Self {
        Self {
            text: step.to_string(),
            step,
        }
    }
}

/// Something that makes the next number better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "remedy", rename_all = "kebab-case")]
pub enum Step {
    /// Stop programs that used the CPUs.
    StopPrograms {
        /// These, the greatest user first.
        programs: Vec<Program>,
    },
    /// Stop whatever else ran: nobody saw its name.
    StopOthers {
        /// CPUs' worth of time that it used.
        cpus: f64,
    },
    /// Raise the CPU limit of the control group.
    RaiseQuota {
        /// CPUs that it allows now.
        cpus: f64,
    },
    /// Give the virtual machine more CPUs.
    VmCpu {
        /// How many it should have.
        cpus: u32,
    },
    /// Allow nicety more of the machine's CPUs.
    AllowCpu {
        /// How many it should have.
        cpus: u32,
    },
    /// Use a machine with more CPUs.
    HostCpu {
        /// How many it should have.
        cpus: u32,
    },
    /// Keep the hypervisor, or other programs, from stopping CPUs.
    SteadyCpus {
        /// Time that CPUs stood still, in ms per second.
        ms_per_s: Option<f64>,
        /// Whether this machine is virtual.
        virtual_machine: bool,
    },
    /// Keep the clock rate of the CPUs.
    FixClock {
        /// The governor that changes it.
        governor: String,
    },
    /// Run it as root.
    Root,
    /// Use an engine that sends more.
    Engine {
        /// The engine.
        engine: String,
    },
    /// Go on with an interrupted run.
    Resume {
        /// Measurements that it lacks.
        missing: usize,
    },
    /// Allow the run more time.
    LongerTimeBox {
        /// Measurements that did not fit in.
        missing: usize,
    },
    /// Search another way.
    Preset {
        /// The preset.
        preset: Preset,
    },
    /// Measure each result more often.
    Repeats {
        /// How often.
        repeats: u32,
    },
    /// What a note advises.
    Advice {
        /// Code of the note.
        code: String,
        /// Its sentence.
        advice: String,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StopPrograms { programs } => write!(f, "Stop {}.", named(programs)),
            Self::StopOthers { cpus } => {
                write!(f, "Stop other programs: they used {cpus:.1} CPU.")
            }
            Self::RaiseQuota { cpus } => write!(
                f,
                "Raise the CPU limit of nicety's control group: it allows {cpus:.1} CPU."
            ),
            Self::VmCpu { cpus } => write!(f, "Give the VM {} CPU.", nth(*cpus)),
            Self::AllowCpu { cpus } => write!(
                f,
                "Allow nicety {} CPU: start it with taskset -c.",
                nth(*cpus)
            ),
            Self::HostCpu { cpus } => write!(f, "Use a machine with {cpus} CPUs or more."),
            Self::SteadyCpus {
                ms_per_s,
                virtual_machine,
            } => {
                let how = if *virtual_machine {
                    "Pin the VM's CPUs on its host, or use a quieter host"
                } else {
                    "Keep other work off the CPUs of tester and path"
                };
                match ms_per_s {
                    Some(ms) => write!(f, "{how}: CPUs were stopped {ms:.0} ms per second."),
                    None => write!(f, "{how}."),
                }
            }
            Self::FixClock { governor } => write!(
                f,
                "Set the CPU governor to performance; {governor} changes the clock rate."
            ),
            Self::Root => f.write_str(
                "Run nicety as root, so that the path's threads have CPUs of their own.",
            ),
            Self::Engine { engine } => write!(f, "Use --engine {engine}, which sends more."),
            Self::Resume { missing } => write!(
                f,
                "Continue with --resume: {}.",
                is_missing(*missing, "missing")
            ),
            Self::LongerTimeBox { missing } => write!(
                f,
                "Allow a longer --for: {}.",
                is_missing(*missing, "left out")
            ),
            Self::Preset { preset } => write!(f, "Rerun with --preset {preset}."),
            Self::Repeats { repeats } => write!(f, "Set repeats = {repeats} in the plan."),
            Self::Advice { advice, .. } => f.write_str(advice),
        }
    }
}

/// `3 measurements are missing`
fn is_missing(count: usize, how: &str) -> String {
    let are = if count == 1 { "is" } else { "are" };
    format!("{} {are} {how}", plural(count, "measurement"))
}

/// `rustc (PID 812, 0.9 CPU) and cc (PID 901, 0.1 CPU)`
fn named(programs: &[Program]) -> String {
    let one = |p: &Program| format!("{} (PID {}, {:.1} CPU)", p.name, p.pid, p.cpus);
    let all: Vec<String> = programs.iter().map(one).collect();
    all.join(" and ")
}

/// `a third`
fn nth(cpus: u32) -> &'static str {
    match cpus {
        2 => "a second",
        3 => "a third",
        4 => "a fourth",
        _ => "one more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_one_sentence_in_the_imperative_and_read_back() {
        let program = |name: &str, pid, cpus| Program {
            name: name.to_owned(),
            pid,
            cpus,
        };
        #[rustfmt::skip]
        let table = [
            (Step::StopPrograms { programs: vec![program("firefox", 812, 0.23), program("cc", 9, 0.1)] },
                "Stop firefox (PID 812, 0.2 CPU) and cc (PID 9, 0.1 CPU)."),
            (Step::VmCpu { cpus: 3 }, "Give the VM a third CPU."),
            (Step::VmCpu { cpus: 9 }, "Give the VM one more CPU."),
            (Step::SteadyCpus { ms_per_s: Some(14.2), virtual_machine: true },
                "Pin the VM's CPUs on its host, or use a quieter host: CPUs were stopped 14 ms per second."),
            (Step::Resume { missing: 1 }, "Continue with --resume: 1 measurement is missing."),
            (Step::Preset { preset: Preset::Std }, "Rerun with --preset std."),
            (Step::Repeats { repeats: 9 }, "Set repeats = 9 in the plan."),
        ];
        for (step, text) in table {
            let advised = Advised::from(step);
            assert_eq!(advised.text, text);
            let written = serde_json::to_string(&advised).unwrap();
            assert!(written.contains("\"remedy\":"), "{written}");
            assert_eq!(serde_json::from_str::<Advised>(&written).unwrap(), advised);
        }
    }
}
