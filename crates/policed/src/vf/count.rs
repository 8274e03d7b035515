//! How many virtual functions a NIC has: checked before. The change itself is a transaction.

use nicety_model::ProblemCode;
use nicety_model::knob::{Change, Knob};
use nicety_netdev::netns::NetNs;
use nicety_netdev::vf::{FunctionCount, UsedFunction, used};

use super::inventory::Inventory;
use crate::Error;

/// Functions named in a refusal; more are counted.
const NAMED: usize = 4;

impl Inventory {
    /// The change that gives a NIC `count` functions; none when it has as many.
    ///
    /// # Errors
    /// When it cannot have them, when somebody uses those that it has, or without rights.
    pub fn functions(&self, nic: &str, count: u32) -> Result<Option<Change>, Error> {
        if self.links.get(nic).is_err() {
            return Err(super::limit::no_interface(nic));
        }
        let Some(there) = self.places.count(nic) else {
            return Err(Error::refused(
                ProblemCode::PortUnusable,
                format!("{nic} cannot have virtual functions"),
                "see nicety port list for NICs that can",
            ));
        };
        check(nic, there, count)?;
        if there.now == count {
            return Ok(None);
        }
        if !self.places.may_set_count(nic) {
            return Err(Error::refused(
                ProblemCode::NoPrivilege,
                "only root may make or remove virtual functions",
                "run it as root",
            ));
        }
        if there.now > 0 {
            refuse_used(nic, &used(&NetNs::current()?, nic)?)?;
        }
        Ok(Some(Change {
            knob: Knob::VfCount {
                interface: nic.to_owned(),
            },
            from: there.now.to_string(),
            to: count.to_string(),
        }))
    }
}

fn check(nic: &str, there: FunctionCount, count: u32) -> Result<(), Error> {
    match there.most {
        0 => Err(Error::refused(
            ProblemCode::PortUnusable,
            format!("{nic} can have no virtual functions"),
            "switch SR-IOV on in the firmware",
        )),
        most if count > most => Err(Error::refused(
            ProblemCode::BadValue,
            format!("{nic} can have {most} virtual functions, not {count}"),
            format!("write a number up to {most}"),
        )),
        _ => Ok(()),
    }
}

fn refuse_used(nic: &str, users: &[UsedFunction]) -> Result<(), Error> {
    if users.is_empty() {
        return Ok(());
    }
    let users: Vec<String> = users.iter().map(ToString::to_string).collect();
    Err(Error::refused(
        ProblemCode::InUse,
        format!(
            "virtual functions of {nic} are in use: {}",
            nicety_report::first_few(&users, NAMED, ", ")
        ),
        "stop what uses them, or set the interface down and remove its limit",
    ))
}

#[cfg(test)]
mod tests {
    use nicety_netdev::vf::FunctionUse;

    use super::*;

    #[test]
    fn more_than_there_can_be_is_refused_with_the_most() {
        let there = |most| FunctionCount { now: 0, most };
        assert!(check("eth0", there(7), 7).is_ok());
        assert!(check("eth0", there(7), 0).is_ok());
        let said = |most, count| check("eth0", there(most), count).unwrap_err().to_string();
        assert_eq!(
            said(7, 8),
            "eth0 can have 7 virtual functions, not 8; write a number up to 7"
        );
        assert!(said(0, 1).contains("firmware"));
    }

    #[test]
    fn users_are_named_and_many_are_counted() {
        assert!(refuse_used("eth0", &[]).is_ok());
        let users = (0..6).map(|vf| UsedFunction {
            vf,
            by: FunctionUse::Up(format!("eth{}", vf + 5)),
        });
        let users: Vec<UsedFunction> = users.collect();
        let said = refuse_used("eth0", &users).unwrap_err().to_string();
        assert!(said.contains("in use: vf0: eth5 is up, "), "{said}");
        assert!(said.contains("and 2 more; stop what"), "{said}");
    }
}
