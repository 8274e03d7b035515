//! The compiled BPF programs, see `build.rs`.

use aya::Ebpf;
use aya::maps::Map;
use aya::programs::ProgramError;

use super::unsupported::{Unsupported, refused};

include!(concat!(env!("OUT_DIR"), "/bpf.rs"));

/// Why the programs are not in this binary; `None` when they are.
pub fn missing() -> Option<&'static str> {
    (!MISSING.is_empty()).then_some(MISSING)
}

/// The object is not the one this program was written for.
pub(crate) fn lacks(what: &str) -> Unsupported {
    Unsupported::Refused(format!("the object has no {what}"))
}

/// A program of the object, by its name.
pub(crate) fn program<'l, T>(loaded: &'l mut Ebpf, name: &str) -> Result<&'l mut T, Unsupported>
where
    &'l mut T: TryFrom<&'l mut aya::programs::Program, Error = ProgramError>,
{
    let program = loaded.program_mut(name).ok_or_else(|| lacks(name))?;
    program.try_into().map_err(|error| refused(&error))
}

/// A map, as one of its kind.
pub(crate) fn map<T: TryFrom<Map, Error = aya::maps::MapError>>(
    map: Map,
) -> Result<T, Unsupported> {
    T::try_from(map).map_err(|error| refused(&error))
}

#[cfg(test)]
pub(crate) mod btf;

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Why nothing can be compiled here: clang or the headers of the programs are absent.
    fn no_compiler() -> Option<String> {
        let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
        let machine = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        let child = Command::new(&clang)
            .args([
                "-target",
                "bpf",
                "-I",
                &machine,
                "-fsyntax-only",
                "-xc",
                "-",
            ])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => return Some(format!("{clang}: {error}")),
        };
        let headers = "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n\
                       #include <bpf/bpf_endian.h>\n#include <bpf/bpf_tracing.h>\n";
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(headers.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        let first = words.lines().next().unwrap_or_default();
        (!output.status.success()).then(|| format!("{clang}: {first}"))
    }

    /// A program that does not compile must not pass for a machine without clang.
    #[test]
    fn where_there_is_a_compiler_every_program_is_built_in() {
        if let Some(why) = no_compiler() {
            println!("SKIP where_there_is_a_compiler_every_program_is_built_in: {why}");
            return;
        }
        assert_eq!(missing(), None);
        assert!(
            [PROBE, TRANSMIT, RECEIVE, STALLS, PKTGEN]
                .iter()
                .all(Option::is_some)
        );
    }
}
