//! Containers, by the control group that their runtime has made for them (cgroups(7), `/proc/PID/cgroup`).

/// Beginnings of a scope's name, and the runtimes that make them: `docker-3f2a….scope`.
const SCOPES: [(&str, &str); 6] = [
    ("docker-", "docker"),
    ("libpod-", "podman"),
    ("cri-containerd-", "containerd"),
    ("crio-", "cri-o"),
    ("nerdctl-", "nerdctl"),
    ("machine-", "machine"),
];
/// Digits of an id, and how many of them people use.
const ID: usize = 64;
const SHORT: usize = 12;
/// Longest name of a container.
const LONGEST: usize = 128;

/// What a process runs in: `docker 3f2a9c81d0aa`, `lxc web`, `nspawn deb`; none where it is in no container that is
/// known here.
pub fn container(cgroup: &str) -> Option<String> {
    let paths = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.into_iter().find_map(in_path)
}

fn in_path(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.iter().enumerate().find_map(|(at, part)| {
        let next = parts.get(at + 1).copied();
        let named = |runtime: &str, name: &str| Some(format!("{runtime} {}", usable(name)?));
        if let Some(name) = part.strip_prefix("lxc.payload.") {
            return named("lxc", name);
        }
        if let Some(name) = part.strip_prefix("systemd-nspawn@") {
            return named("nspawn", name.strip_suffix(".service")?);
        }
        match (*part, next) {
            ("lxc", Some(name)) => return named("lxc", name),
            ("docker", Some(id)) if is_id(id) => return named("docker", &id[..SHORT]),
            _ => {}
        }
        let scope = part.strip_suffix(".scope")?;
        let (begin, runtime) = SCOPES.iter().find(|(begin, _)| scope.starts_with(begin))?;
        let rest = &scope[begin.len()..];
        match (is_id(rest), *runtime) {
            (true, _) => named(runtime, &rest[..SHORT]),
            // Of systemd-machined, which virtual machines have as well: these are known by their taps.
            (false, "machine") if !rest.starts_with("qemu") => named(runtime, rest),
            (false, _) => None,
        }
    })
}

fn is_id(text: &str) -> bool {
    text.len() == ID && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn usable(name: &str) -> Option<&str> {
    let fits = !name.is_empty()
        && name.len() <= LONGEST
        && !name.chars().any(nicety_model::visible::is_hidden);
    fits.then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runtimes_are_known_by_their_groups() {
        let id = "3f2a9c81d0aa".to_owned() + &"0".repeat(52);
        #[rustfmt::skip]
        let table = [
            (format!("0::/system.slice/docker-{id}.scope"), "docker 3f2a9c81d0aa"),
            (format!("12:pids:/docker/{id}\n0::/"), "docker 3f2a9c81d0aa"),
            (format!("0::/machine.slice/libpod-{id}.scope/container"), "podman 3f2a9c81d0aa"),
            (format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{id}.scope"), "containerd 3f2a9c81d0aa"),
            ("0::/lxc.payload.web/init.scope".to_owned(), "lxc web"),
            ("0::/lxc/101/ns/init.scope".to_owned(), "lxc 101"),
            ("0::/machine.slice/systemd-nspawn@deb.service/payload".to_owned(), "nspawn deb"),
            ("0::/machine.slice/machine-deb.scope".to_owned(), "machine deb"),
        ];
        for (group, wanted) in table {
            assert_eq!(container(&group).as_deref(), Some(wanted), "{group}");
        }
        for group in [
            "0::/",
            "0::/system.slice/ssh.service",
            "0::/machine.slice/machine-qemu\\x2d1\\x2dweb01.scope/libvirt/emulator",
            "0::/system.slice/docker-.scope",
            "0::/docker",
            "nonsense",
            "",
        ] {
            assert_eq!(container(group), None, "{group}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,100}") {
            let _ = container(&text);
            let _ = container(&format!("0::/docker-{text}.scope"));
        }
    }
}
