//! What was told, so that it is told once.

use std::collections::BTreeSet;

use super::event::ClusterEvent;

/// What a host's log has of the cluster.
#[derive(Debug, Clone, Default)]
pub struct Told {
    granted: bool,
    stuck: BTreeSet<String>,
    fallbacks: u64,
}

impl Told {
    /// Whether an event is worth a line. Each grant is one event, and only the first since the host fell back is
    /// news.
    pub fn is_new(&mut self, event: &ClusterEvent) -> bool {
        match event {
            ClusterEvent::Granted { .. } => !std::mem::replace(&mut self.granted, true),
            ClusterEvent::FellBack { .. } => {
                self.granted = false;
                self.fallbacks += 1;
                true
            }
            ClusterEvent::NotLowered { tenant } => self.stuck.insert(tenant.clone()),
            ClusterEvent::Overtaken | ClusterEvent::Joined { .. } => false,
            _ => true,
        }
    }

    /// Times that the host fell back.
    pub fn fallbacks(&self) -> u64 {
        self.fallbacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::event::FellBack;

    #[test]
    fn the_first_grant_after_a_fall_is_news() {
        let mut told = Told::default();
        let grant = |number| ClusterEvent::Granted { number };
        let fell = ClusterEvent::FellBack {
            why: FellBack::NotRenewed,
        };
        let new: Vec<bool> = [grant(1), grant(2), fell, grant(3), grant(4)]
            .iter()
            .map(|event| told.is_new(event))
            .collect();
        assert_eq!(new, [true, false, true, true, false]);
        assert_eq!(told.fallbacks(), 1);
    }
}
