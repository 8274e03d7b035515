//! The jobs beside measuring: advice, changes, limits.

use nicety_advisor::{Wishes, advise};
use nicety_model::HostFacts;
use nicety_model::finding::Goal;
use nicety_model::probe::{Ability, Answer, Area};
use nicety_netdev::net_admin;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::privilege::Privilege;

/// What this user may do with this host.
pub(super) fn of_user(privilege: Privilege, facts: &HostFacts) -> Vec<Ability> {
    let advice = advise(facts, Goal::default(), Wishes::default());
    let root = privilege == Privilege::Privileged;
    let may = || NetNs::current().and_then(|ns| net_admin::require(&ns, "a limit"));
    vec![
        tune(root, advice.findings.len()),
        limits(
            may(),
            "port limit",
            "rates of functions, taps, veths and macvtaps",
        ),
        limits(may(), "police", "a link shared among tenants"),
    ]
}

fn tune(root: bool, findings: usize) -> Ability {
    let found = match findings {
        0 => "nothing found that slows this host's network".to_owned(),
        1 => "one setting may slow this host's network".to_owned(),
        many => format!("{many} settings may slow this host's network"),
    };
    let ability = if root {
        Ability::new(Area::Job, "tune", Answer::Yes, found)
    } else {
        Ability::new(Area::Job, "tune", Answer::Partly, found)
            .costs("advice only: settings are changed by root")
    };
    match findings {
        0 => ability,
        _ => ability.remedy("nicety tune plan says which, why and at what cost"),
    }
}

fn limits(may: Result<(), NetError>, name: &str, what: &str) -> Ability {
    let ability = |why: &str| {
        Ability::new(Area::Job, name, Answer::No, why)
            .costs(format!("can show {what}, cannot set them"))
    };
    match may {
        Ok(()) => Ability::new(Area::Job, name, Answer::Yes, what),
        Err(NetError::NoNetAdmin { remedy, .. }) => {
            ability("limits require CAP_NET_ADMIN").remedy(remedy)
        }
        Err(error) => ability(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_counted_in_words() {
        assert_eq!(tune(true, 0).remedy, None);
        assert_eq!(
            tune(true, 1).finding,
            "one setting may slow this host's network"
        );
        let reported = tune(false, 7);
        assert_eq!(reported.finding, "7 settings may slow this host's network");
        assert_eq!(reported.answer, Answer::Partly);
        let lacks = NetError::NoNetAdmin {
            what: "a limit".to_owned(),
            remedy: "run it with sudo",
        };
        let reported = limits(Err(lacks), "police", "x");
        assert_eq!(reported.answer, Answer::No);
        assert_eq!(reported.remedy.as_deref(), Some("run it with sudo"));
    }
}
