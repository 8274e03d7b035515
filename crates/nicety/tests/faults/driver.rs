//! The kernel says no, or says nothing for a while.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::campaign::{self, Scene, count, random, row, same};
use crate::harness::Call;
use crate::limits::Limit;
use crate::police::Daemon;
use crate::settings::Apply;

/// The same scene, disturbed where it talks with the kernel.
struct Talk<'a, S>(&'a S);

impl<S: Scene> Scene for Talk<'_, S> {
    fn call(&self) -> Call {
        self.0.call()
    }

    fn span(&self) -> Duration {
        self.0.span()
    }

    fn settled(&self) -> bool {
        self.0.settled()
    }

    fn recover(&self) {
        self.0.recover();
    }

    fn state(&self) -> Vec<String> {
        self.0.state()
    }

    fn threads(&self) -> bool {
        self.0.threads()
    }

    fn steps(&self) -> &'static str {
        "sendto,recvfrom,recvmsg,ioctl"
    }
}

fn refused(name: &str, scene: &impl Scene) {
    let scene = Talk(scene);
    for error in ["ENOBUFS", "EAGAIN", "EINVAL"] {
        let what = format!("error={error}");
        campaign::system_calls(name, &scene, &what, &format!("netlink or driver: {error}"));
    }
    hangs(name, &scene);
}

/// A call hangs, the program is killed or told to end meanwhile.
fn hangs(name: &str, scene: &impl Scene) {
    let before = scene.state();
    let log = tempfile::tempdir().unwrap();
    let Some(steps) = campaign::steps(name, scene, &log) else {
        return;
    };
    let mut random = random(name);
    let wanted = count().div_ceil(4).min(steps.len());
    for round in 0..wanted {
        let (call, nth) = &steps[round * steps.len() / wanted];
        let inject = format!("{call}:delay_enter=1500ms:when={nth}");
        let signal = if random.bool() {
            Signal::KILL
        } else {
            Signal::TERM
        };
        let running = campaign::traced(scene, &log, Some(&inject)).start();
        sleep(Duration::from_millis(400));
        running.signal_if_there(signal);
        let ended = running.wait();
        let what = format!("{name}, {inject}, {signal:?}: {ended:?}");
        assert_ne!(ended.status.code(), Some(101), "{what}");
        scene.recover();
        same(&before, &scene.state(), &what);
    }
    let result = format!("all as before; of {} system calls", steps.len());
    row(
        name,
        "a call to the kernel hangs 1.5 s, then a signal",
        wanted,
        &result,
    );
}

#[test]
fn the_kernel_refuses_police() {
    if let Some(scene) = Daemon::new() {
        refused("police run", &scene);
    }
}

#[test]
fn the_kernel_refuses_limits() {
    if let Some(scene) = Limit::new() {
        refused("port limit", &scene);
    }
}

#[test]
fn the_kernel_refuses_settings() {
    if let Some(scene) = Apply::new() {
        refused("tune apply", &scene);
    }
}
