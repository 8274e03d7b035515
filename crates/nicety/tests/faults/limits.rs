//! `port limit`.

use std::time::Duration;

use crate::campaign::{self, Scene};
use crate::harness::{Call, nicety};
use crate::uplink::Uplink;

pub struct Limit(Uplink);

impl Limit {
    pub fn new() -> Option<Self> {
        Uplink::new().map(Self)
    }

    fn call(&self, words: &[&str]) -> Call {
        let state = self.0.path("state");
        let words = words
            .iter()
            .copied()
            .chain(["--state", state.to_str().unwrap()]);
        self.0.lab.inside(nicety(words))
    }
}

impl Scene for Limit {
    fn call(&self) -> Call {
        self.call(&["port", "limit", "a1", "5mbit", "--verify", "0s"])
    }

    fn span(&self) -> Duration {
        Duration::from_millis(80)
    }

    fn recover(&self) {
        // Any start undoes what was begun; what was finished is taken back by hand.
        self.call(&["tune", "status"]).run();
        self.call(&["port", "limit", "a1", "none", "--verify", "0s"])
            .run()
            .assert_code(0);
    }

    fn state(&self) -> Vec<String> {
        self.0.lab.state()
    }
}

#[test]
fn vf_limit_killed() {
    if let Some(scene) = Limit::new() {
        campaign::killed("port limit", &scene);
    }
}

#[test]
fn vf_limit_refused() {
    if let Some(scene) = Limit::new() {
        campaign::refused("port limit", &scene);
    }
}
