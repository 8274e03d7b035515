//! Two resources divided by the dominant one: bits and packets of a host.
//!
//! Dominant resource fairness (Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica: "Dominant Resource Fairness: Fair
//! Allocation of Multiple Resource Types", NSDI 2011, §4 and §6.1) for two resources, with weights, demands that end,
//! and floors. Each gets a multiple of what it uses now; the greatest share that it has of any resource rises alike
//! for all, by weight, until a resource is used up or nobody wants more. Everybody who sends uses both resources, so
//! that the first one used up ends it for all who still want.
//!
//! Without floors it is Pareto efficient, envy-free and strategy-proof, and nobody has less than its weight's part of
//! the resource that it uses most. A floor is a promise and takes from the others, so that these hold above floors
//! only.

/// One who shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Relative to the others'; above 0.
    pub weight: f64,
    /// What it uses of each resource now, in units a second: only their ratio and size count.
    pub uses: [f64; 2],
    /// How many times that it would use; infinite where that is not known.
    pub most: f64,
    /// How many times that it always gets, up to `most`.
    pub floor: f64,
}

impl Claim {
    /// The greatest share of a resource that it uses, and which.
    fn dominant(&self, capacity: [f64; 2]) -> (f64, usize) {
        let [first, second] = [0, 1].map(|at| self.uses[at] / capacity[at]);
        if second > first {
            (second, 1)
        } else {
            (first, 0)
        }
    }
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Division {
    /// How many times what it uses each one gets; 0 for one that uses nothing.
    pub times: Vec<f64>,
    /// Which resource each one uses most of.
    pub dominant: Vec<usize>,
    /// A resource is used up: somebody gets less than it would use.
    pub full: bool,
}

/// Divides what there is of each resource.
pub fn divide(capacity: [f64; 2], claims: &[Claim]) -> Division {
    let shares: Vec<(f64, usize)> = claims.iter().map(|c| c.dominant(capacity)).collect();
    let floor = |claim: &Claim| claim.floor.min(claim.most);
    let sums = |times: &[f64]| {
        [0, 1].map(|at| {
            let used = claims
                .iter()
                .zip(times)
                .map(|(c, times)| c.uses[at] * times);
            used.sum::<f64>() / capacity[at]
        })
    };
    let fits = |times: &[f64]| sums(times).iter().all(|share| *share <= 1.0);
    // Floors that do not fit are lowered alike.
    let floors: Vec<f64> = claims.iter().map(floor).collect();
    let over = sums(&floors).into_iter().fold(1.0, f64::max);
    let times = |level: f64| -> Vec<f64> {
        let each = claims.iter().zip(&shares).zip(&floors);
        each.map(|((claim, (share, _)), floor)| {
            if *share > 0.0 {
                (claim.weight * level / share)
                    .min(claim.most)
                    .max(floor / over)
            } else {
                0.0
            }
        })
        .collect()
    };
    // Beyond this level nobody's share can rise: it would be more than all of a resource.
    let weights = claims.iter().map(|claim| claim.weight);
    let mut high = 1.0 / weights.fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
    let dominant = shares.iter().map(|(_, at)| *at).collect();
    let all = times(high);
    if claims.is_empty() || (fits(&all) && all.iter().zip(claims).all(|(t, c)| *t >= c.most)) {
        return Division {
            times: all,
            dominant,
            full: false,
        };
    }
    let mut low = 0.0;
    // As many halvings as a double has digits.
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if fits(&times(middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let times = times(low);
    let full = times
        .iter()
        .zip(claims)
        .any(|(t, c)| c.uses != [0.0; 2] && *t < c.most);
    Division {
        times,
        dominant,
        full,
    }
}
