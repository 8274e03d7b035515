use super::*;

const GIGABIT: Option<BitRate> = Some(BitRate::from_mbit(1_000));

fn rate(text: &str) -> BitRate {
    text.parse().unwrap()
}

fn check(driver: &str, max: &str, min: &str, link_mbit: u64) -> Result<AcceptedLimit, String> {
    let link = (link_mbit > 0).then_some(BitRate::from_mbit(link_mbit));
    let min = (!min.is_empty()).then(|| rate(min));
    Driver::find(driver, None)
        .check(rate(max), min, link)
        .map_err(|refusal| refusal.to_string())
}

fn mbit(driver: &str, max: &str, link_mbit: u64) -> u32 {
    check(driver, max, "", link_mbit).unwrap().max_mbit
}

#[test]
fn a_switch_takes_guarantees_and_whole_megabits() {
    let rate = BitRate::from_mbit;
    let ice = Driver::find("ice", None).limiting(Way::Switch);
    let taken = ice.check(rate(500), Some(rate(100)), None).unwrap();
    assert_eq!((taken.max_mbit, taken.min_mbit), (500, 100));
    assert!(ice.check(rate(50), Some(rate(100)), None).is_err());
    assert_eq!(ice.minimum, Minimum::Honoured);
    let mlx5 = Driver::find("mlx5_core", None).limiting(Way::Switch);
    assert_eq!(mlx5.minimum, Minimum::Relative);
    // Of a driver that is not listed too.
    let unknown = Driver::find("somenic", None).limiting(Way::Switch);
    assert!(unknown.check(rate(7), Some(rate(1)), None).is_ok());
}

#[test]
fn a_policer_takes_whole_megabits_and_no_minimum() {
    let rate = BitRate::from_mbit;
    // One that cannot limit by itself too.
    for name in ["nfp", "liquidio", "somenic"] {
        let driver = Driver::find(name, None).limiting(Way::Policer);
        assert_eq!(
            driver.check(rate(200_000), None, None).unwrap().max_mbit,
            200_000
        );
        assert_eq!(driver.check(rate(0), None, None).unwrap().max_mbit, 0);
        assert!(driver.check(rate(500), Some(rate(100)), None).is_err());
        assert!(driver.check(BitRate(500_000), None, None).is_err());
    }
}

#[test]
fn rates_are_checked_as_the_driver_would() {
    assert_eq!(mbit("igb", "500mbit", 1000), 500);
    assert_eq!(mbit("igb", "1gbit", 1000), 1000);
    assert_eq!(mbit("igb", "0bit", 1000), 0);
    assert_eq!(mbit("i40e", "30mbit", 10_000), 50);
    assert_eq!(mbit("ixgbe", "11mbit", 10_000), 11);
    assert_eq!(mbit("somenic", "7mbit", 0), 7);
    for (driver, max, min, link, part) in [
        ("igb", "1001mbit", "", 1000, "write at most 1gbit"),
        ("igb", "500mbit", "", 0, "only while the link is up"),
        ("igb", "500mbit", "10mbit", 1000, "igb has no minimum; "),
        // Also without a maximum, and before the link is asked for.
        ("igb", "0bit", "10mbit", 0, "igb has no minimum; "),
        ("ixgbe", "0bit", "10mbit", 1000, "ixgbe has no minimum; "),
        ("ixgbe", "10mbit", "", 10_000, "write at least 11mbit"),
        ("ixgbe", "100mbit", "", 1000, "the link is up at 10gbit"),
        ("fm10k", "100mbit", "5mbit", 1000, "ignores it"),
        ("liquidio", "1mbit", "", 1000, "cannot limit"),
        ("ice", "10mbit", "20mbit", 1000, "above the maximum"),
        ("ice", "10mbit", "0.5mbit", 1000, "write 1mbit"),
        ("ice", "10mbit", "2.5mbit", 1000, "write 2mbit"),
        ("qlcnic", "50mbit", "", 1000, "write at least 100mbit"),
        ("igb", "0.5mbit", "", 1000, "write at least 1mbit"),
    ] {
        let error = check(driver, max, min, link).unwrap_err();
        assert!(error.contains(part), "{driver} {max}: {error}");
        assert!(error.contains("; "), "{error}");
    }
}

#[test]
fn what_is_rounded_is_told() {
    let taken = check("i40e", "120mbit", "", 10_000).unwrap();
    assert_eq!(taken.max_mbit, 100);
    assert_eq!(
        taken.rounded.as_deref(),
        Some("120mbit → 100mbit: i40e takes steps of 50mbit")
    );
    assert_eq!(check("igb", "500mbit", "", 1000).unwrap().rounded, None);
}

#[test]
fn no_limit_is_the_speed_of_the_link_where_0_removes_none() {
    let taken = check("qede", "0mbit", "", 25_000).unwrap();
    assert_eq!(taken.max_mbit, 25_000);
    assert_eq!(
        taken.rounded.as_deref(),
        Some("none → 25gbit: qede keeps its limit at 0, the link's speed is none")
    );
    assert_eq!(mbit("qede", "500mbit", 25_000), 500);
    // Without a link there is no such speed.
    check("qede", "0mbit", "", 0).unwrap_err();
    assert_eq!(mbit("bnxt_en", "0mbit", 25_000), 0);
    // On the NIC's switch 0 is none.
    let switch = Driver::find("qede", None).limiting(Way::Switch);
    assert_eq!(switch.check(BitRate(0), None, None).unwrap().max_mbit, 0);
}

#[test]
fn a_guarantee_stays_when_the_maximum_is_set() {
    let kept = |driver: &str, found| Driver::find(driver, None).minimum_kept(found);
    assert_eq!(kept("ice", Some(200)), Some(BitRate::from_mbit(200)));
    assert_eq!(kept("mlx5_core", Some(7)), Some(BitRate::from_mbit(7)));
    assert_eq!(kept("ice", Some(0)), None);
    assert_eq!(kept("ice", None), None);
    // What the driver refuses or ignores was never a guarantee.
    assert_eq!(kept("igb", Some(200)), None);
    assert_eq!(kept("fm10k", Some(200)), None);
}

#[test]
fn of_igb_only_the_82576_has_limits() {
    assert!(Driver::find("igb", Some(0x10c9)).rate.is_some());
    let i350 = Driver::find("igb", Some(0x1521));
    let refusal = i350.check(rate("5mbit"), None, GIGABIT).unwrap_err();
    assert!(refusal.what.contains("cannot limit"));
}

#[test]
fn a_grid_is_never_below_a_guarantee() {
    let steps = Driver::find("i40e", None)
        .rate
        .unwrap()
        .steps(BitRate::from_mbit(10_000));
    assert_eq!(steps.down(120e6, 0.0), 100e6);
    assert_eq!(steps.down(120e6, 110e6), 150e6);
    assert_eq!(steps.down(3e6, 0.0), 50e6);
    assert_eq!(steps.down(20e9, 0.0), 10e9);
    assert_eq!(Steps::tc().down(88.0004e6, 0.0), 88e6);
}

#[test]
fn the_table_is_in_order_and_each_driver_is_found() {
    let names: Vec<_> = table::DRIVERS.iter().map(|driver| driver.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
    assert!(!Driver::find("e1000", None).known);
}
