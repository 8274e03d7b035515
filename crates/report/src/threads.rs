//! Who used the CPUs, in words: threads, guests by their own count, threads that poll.

use nicety_model::{CoreUse, CpuUse, PollUse, WhoUse};

use crate::number;

/// Share of a CPU's busy time from which its greatest user is named alone.
const MOST: f64 = 0.8;
/// Users told of in one line.
const TOLD: usize = 6;

/// The users of most CPU time with their shares of CPUs and what that is per frame:
/// `guest/vcpu0 0.98 (4.1 µs/frame), tester 0.51`. Absent when nothing is known.
pub(crate) fn users(cpu: &CpuUse) -> Option<String> {
    // What would be written as 0.00 used nothing.
    let who = cpu.who.iter().filter(|(_, cpus)| **cpus >= 0.005);
    let mut users: Vec<(&String, &f64)> = who.collect();
    users.sort_by(|a, b| b.1.total_cmp(a.1));
    let told: Vec<String> = users
        .iter()
        .take(TOLD)
        .map(|(who, cpus)| {
            let polling = cpu.polls(who).map(polls);
            let each = cpu.us_per_frame_of(who).map(per_frame);
            let more: Vec<String> = polling.into_iter().chain(each).collect();
            if more.is_empty() {
                format!("{who} {cpus:.2}")
            } else {
                format!("{who} {cpus:.2} ({})", more.join(", "))
            }
        })
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The greatest user of the busiest CPU, with its share where that is far from all that was busy:
/// `napi/d0, 25 %`.
pub(crate) fn greatest_user(busiest: &WhoUse) -> String {
    match busiest.users.get(&busiest.who) {
        Some(share) if *share < MOST * busiest.busy_ratio => {
            format!("{}, {}", busiest.who, number::share(*share))
        }
        _ => busiest.who.clone(),
    }
}

fn per_frame(us: f64) -> String {
    format!("{} µs/frame", number::significant(us, 3))
}

/// What being busy means for a thread that polls.
pub(crate) fn polls(thread: &PollUse) -> String {
    match thread.useful_ratio.filter(|ratio| ratio.is_finite()) {
        Some(ratio) => format!("polls, {} of it with frames", number::share(ratio)),
        None => "polls; how much of it with frames is not counted".to_owned(),
    }
}

/// The busiest CPU of the guests by their own count: `0: 98 % softirq`, with several guests
/// `guest2 0: 98 % softirq`. Absent without guests.
pub(crate) fn guest(cpu: &CpuUse) -> Option<String> {
    let cores = cpu
        .guests
        .iter()
        .flat_map(|guest| guest.cores.iter().map(move |core| (&guest.guest, core)));
    let (name, core) = cores.max_by(|(_, a), (_, b)| a.busy().total_cmp(&b.busy()))?;
    let name = match cpu.guests.len() {
        1 => String::new(),
        _ => format!("{name} "),
    };
    Some(format!(
        "{name}{}: {} {}",
        core.cpu,
        number::share(core.busy()),
        greatest(core)
    ))
}

/// All CPUs of all guests: `guest: CPU 0 98 % (softirq), CPU 1 2 % (system)`.
pub(crate) fn guests(cpu: &CpuUse) -> Vec<String> {
    let told = cpu.guests.iter().map(|guest| {
        let cores: Vec<String> = guest
            .cores
            .iter()
            .map(|core| {
                let busy = number::share(core.busy());
                format!("CPU {} {busy} ({})", core.cpu, greatest(core))
            })
            .collect();
        format!("{}: {}", guest.guest, cores.join(", "))
    });
    told.collect()
}

/// What took most of a CPU's time.
fn greatest(core: &CoreUse) -> &'static str {
    [
        ("idle", 0.0),
        ("user", core.user),
        ("system", core.system),
        ("irq", core.irq),
        ("softirq", core.softirq),
        ("stolen", core.steal),
    ]
    .into_iter()
    .max_by(|(_, a), (_, b)| a.total_cmp(b))
    .map_or("idle", |(what, _)| what)
}

/// Whether there is more to say of a cell's CPU time than which CPU was busiest: guests, or
/// programs on the path.
pub(crate) fn worth_telling(cpu: &CpuUse) -> bool {
    !cpu.guests.is_empty() || !cpu.polling.is_empty()
}

#[cfg(test)]
mod tests {
    use nicety_model::GuestUse;

    use super::*;

    #[test]
    fn polling_is_not_called_busy() {
        let mut cpu = CpuUse {
            who: [("ovs pmd-c01".to_owned(), 1.0), ("tester".to_owned(), 0.5)].into(),
            polling: vec![PollUse {
                who: "ovs pmd-c01".to_owned(),
                useful_ratio: Some(0.62),
            }],
            ..CpuUse::default()
        };
        assert_eq!(
            users(&cpu).unwrap(),
            "ovs pmd-c01 1.00 (polls, 62 % of it with frames), tester 0.50"
        );
        // Of a thread that polls, the time with frames.
        cpu.us_per_frame = Some(10.0);
        assert_eq!(
            users(&cpu).unwrap(),
            "ovs pmd-c01 1.00 (polls, 62 % of it with frames, 6.20 µs/frame), tester 0.50 (5.00 µs/frame)"
        );
        cpu.polling[0].useful_ratio = None;
        assert!(users(&cpu).unwrap().contains("is not counted"));
        assert!(worth_telling(&cpu));
        assert_eq!((users(&CpuUse::default()), guest(&cpu)), (None, None));
        // Nobody wants to read that nothing was stolen.
        cpu.who = [("steal".to_owned(), 0.0), ("irq".to_owned(), 0.004)].into();
        assert_eq!(users(&cpu), None);
    }

    #[test]
    fn guests_tell_of_their_busiest_cpu() {
        let core = |cpu, softirq, user| CoreUse {
            cpu,
            softirq,
            user,
            idle: 1.0 - softirq - user,
            ..CoreUse::default()
        };
        let one = |name: &str, cores| GuestUse {
            guest: name.to_owned(),
            cores,
        };
        let mut cpu = CpuUse {
            guests: vec![one("guest", vec![core(0, 0.9, 0.05), core(1, 0.0, 0.1)])],
            ..CpuUse::default()
        };
        assert_eq!(guest(&cpu).unwrap(), "0: 95 % softirq");
        assert_eq!(
            guests(&cpu),
            ["guest: CPU 0 95 % (softirq), CPU 1 10 % (user)"]
        );
        cpu.guests.push(one("guest2", vec![core(0, 0.99, 0.01)]));
        assert_eq!(guest(&cpu).unwrap(), "guest2 0: 100 % softirq");
    }
}
