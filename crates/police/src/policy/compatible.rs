//! Whether a tenant's ports can be limited as the policy says.

use nicety_model::{BitRate, Problem};

use super::Tenant;
use crate::driver::Steps;

impl Tenant {
    /// Refuses a cap that the limits which its ports take cannot keep; `steps` are those of the ports
    /// of which that is known.
    ///
    /// # Errors
    /// What is wrong and what to do.
    pub fn compatible_with(&self, steps: &[Steps]) -> Result<(), Problem> {
        let Some(cap) = self.cap else {
            return Ok(());
        };
        let least: f64 = steps.iter().map(|steps| steps.low).sum();
        if cap.bps() < least {
            let least = BitRate::from_bps(least);
            let takes = match steps.len() {
                1 => "its port takes".to_owned(),
                count => format!("{count} of its ports take together"),
            };
            return Err(Problem::value(
                format!("cap = {cap} is below the {least} that {takes} at least"),
                format!("write at least {least}"),
            ));
        }
        // Several ports are never rounded up to a guarantee.
        if let (1, [steps]) = (self.ports.len(), steps)
            && steps.down(cap.bps(), self.guarantee.bps()) > cap.bps() + 1.0
        {
            return Err(Problem::value(
                format!(
                    "its port takes no rate from the guarantee of {} to the cap of {cap}, only steps of {}",
                    self.guarantee,
                    BitRate::from_bps(steps.step)
                ),
                "write whole steps",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Policy;
    use crate::driver::Steps;

    #[test]
    fn a_cap_must_be_a_limit_that_the_ports_take() {
        let vf = Steps {
            low: 1e6,
            step: 1e6,
            top: 1e9,
        };
        let judge = |lines: &str, steps: &[Steps]| {
            let text = format!("[link]\ncapacity = \"1gbit\"\n[[tenant]]\nname = \"a\"\n{lines}\n");
            let policy = Policy::parse("p.toml", &text).unwrap();
            let compatible = policy.tenants[0].compatible_with(steps);
            compatible
                .err()
                .map(|problem| problem.to_string())
                .unwrap_or_default()
        };
        let one = "ports = \"e/vf0\"\n";
        let two = "ports = [\"e/vf0\", \"e/vf1\"]\n";
        assert_eq!(judge(one, &[vf]), "");
        assert_eq!(judge(&format!("{one}cap = \"1mbit\""), &[vf]), "");
        assert_eq!(
            judge(&format!("{one}cap = \"500kbit\""), &[vf]),
            "cap = 500kbit is below the 1mbit that its port takes at least; write at least 1mbit"
        );
        assert_eq!(
            judge(&format!("{one}cap = \"500kbit\""), &[Steps::tc()]),
            ""
        );
        assert_eq!(
            judge(&format!("{two}cap = \"1500kbit\""), &[vf, vf]),
            "cap = 1.5mbit is below the 2mbit that 2 of its ports take together at least; write \
             at least 2mbit"
        );
        assert_eq!(
            judge(
                &format!("{one}guarantee = \"1200kbit\"\ncap = \"1800kbit\""),
                &[vf]
            ),
            "its port takes no rate from the guarantee of 1.2mbit to the cap of 1.8mbit, only \
             steps of 1mbit; write whole steps"
        );
    }
}
