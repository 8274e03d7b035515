//! The controller on the simulated link: figures that change only when somebody means it, and
//! the aims.

use crate::simulation::{Figures, aims, controllers, run};

/// Error, use, p95 periods to settle, writes per period; four seeds of 300 periods.
const GOLDEN: &str = "\
oracle, 1 late         0.053 0.977 2.75 8.00
none                   0.561 1.031 17.75 0.00
static shares          0.374 0.629 17.75 0.00
aimd                   0.151 1.000 12.00 4.73
level                  0.048 0.973 2.75 1.82
level, 50 Mbit/s steps 0.057 0.965 2.75 1.75
level, 2 s counters    0.091 0.934 5.75 1.44
";

#[test]
fn the_simulation_comes_out_as_it_did_and_meets_the_aims() {
    let mut table = String::new();
    let mut means = Vec::new();
    for (name, make) in controllers() {
        let of: Vec<Figures> = (0..4).map(|seed| run(seed, 300, make)).collect();
        let mean = Figures::mean(&of);
        table += &format!(
            "{name:<22} {:.3} {:.3} {:.2} {:.2}\n",
            mean.error, mean.used, mean.settle_p95, mean.writes
        );
        means.push((name, mean));
    }
    assert_eq!(table, GOLDEN, "\n{table}");
    let find = |name| means.iter().find(|(found, _)| *found == name).unwrap().1;
    for aim in aims(&find("level"), &find("aimd")) {
        assert!(aim.met, "{aim}");
    }
}
