//! Time that cells take, learnt during the run.

use std::collections::HashMap;

/// Sum and number of measured costs.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum_s: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, seconds: f64) {
        self.sum_s += seconds;
        self.count += 1;
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_s / f64::from(self.count))
    }
}

/// Wall time of cells: measured ones of the same path, else of any path, else the estimate.
#[derive(Debug, Clone)]
pub struct Costs {
    cell_s: f64,
    visit_s: f64,
    by_path: HashMap<u32, Mean>,
    all: Mean,
    visits: Mean,
}

impl Costs {
    /// Nothing measured yet: estimates for a cell and for a visit of the control cell.
    pub fn new(cell_s: f64, visit_s: f64) -> Self {
        Self {
            cell_s,
            visit_s,
            by_path: HashMap::new(),
            all: Mean::default(),
            visits: Mean::default(),
        }
    }

    /// A cell of `path` took `wall_s`.
    pub fn add(&mut self, path: u32, visit: bool, wall_s: f64) {
        if visit {
            self.visits.add(wall_s);
        } else {
            self.by_path.entry(path).or_default().add(wall_s);
            self.all.add(wall_s);
        }
    }

    /// Expected cost of a cell of `path`.
    pub fn of(&self, path: u32) -> f64 {
        self.by_path
            .get(&path)
            .and_then(Mean::get)
            .unwrap_or_else(|| self.mean())
    }

    /// Expected cost of any cell.
    pub fn mean(&self) -> f64 {
        self.all.get().unwrap_or(self.cell_s)
    }

    /// Expected cost of a visit of the control cell.
    pub fn visit(&self) -> f64 {
        self.visits.get().unwrap_or(self.visit_s)
    }
}
