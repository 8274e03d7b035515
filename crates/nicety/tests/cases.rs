//! Hosts of `tests/cases/advice`: what `nicety tune plan` says about them.

use std::process::{Command, ExitCode, Stdio};

use nicety_testkit::cases::{self, Case, Failed};

/// What is asked when the case says nothing else.
const PLAIN: &str = "nicety tune plan";

fn main() -> ExitCode {
    cases::run("advice", check)
}

/// Every command of `commands.txt`, about the captured or recorded host of the case.
fn check(case: &mut Case) -> Result<(), Failed> {
    let host = ["host.json", "host"].into_iter();
    let host = host.filter(|name| case.folder().join(name).exists());
    let [host] = host.collect::<Vec<_>>()[..] else {
        return Err(
            "either host.json, which nicety inspect --capture writes, or host, which \
                    nicety inspect --record writes"
                .into(),
        );
    };
    case.reads(host);
    let host = case.folder().join(host);
    let commands = case.optional("commands.txt")?;
    let commands = commands.unwrap_or(PLAIN.to_owned());
    let mut advice = String::new();
    for command in commands.lines() {
        let Some(arguments) = command.strip_prefix(PLAIN) else {
            return Err(format!("{command:?} does not begin with {PLAIN}").into());
        };
        let ended = Command::new(env!("CARGO_BIN_EXE_nicety"))
            .args(["tune", "plan", "--sysroot"])
            .arg(&host)
            .args(arguments.split_whitespace())
            .stdin(Stdio::null())
            .output()?;
        let (text, errors) = (
            String::from_utf8(ended.stdout)?,
            String::from_utf8(ended.stderr)?,
        );
        if !ended.status.success() || !errors.is_empty() {
            return Err(format!("{command}: {}: {errors}", ended.status).into());
        }
        if !advice.is_empty() {
            advice.push('\n');
        }
        advice += &format!("$ {command}\n{text}");
    }
    case.expect("advice.txt", &advice)
}
