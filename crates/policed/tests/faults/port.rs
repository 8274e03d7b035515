//! What a simulated host has instead of a kernel: a file with the limit of its port, the guard's orders, and what its
//! machines want to send. It outlives the host's process, as a kernel does.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// One number of the file.
#[derive(Debug, Clone, Copy)]
pub enum Field {
    /// What the shaper lets pass, in bits per second. Written by daemon and guard.
    Limit,
    /// Until when the guard lets it (`CLOCK_BOOTTIME`, microseconds); 0 for no end.
    Deadline,
    /// What it is lowered to then.
    Safe,
    /// What the machines behind it want to send. Written by the campaign.
    Demand,
    /// The daemon believes that it leads.
    Leads,
    /// Number of the grant that the limit holds; 0 for none.
    Number,
}

#[derive(Debug)]
pub struct Port(File);

impl Port {
    /// Opens it; made with zeros where it is not there.
    pub fn open(file: &Path) -> io::Result<Self> {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(file)?;
        file.set_len(64)?;
        Ok(Self(file))
    }

    pub fn get(&self, field: Field) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, field as u64 * 8).unwrap();
        u64::from_le_bytes(bytes)
    }

    pub fn set(&self, field: Field, value: u64) {
        self.0
            .write_all_at(&value.to_le_bytes(), field as u64 * 8)
            .unwrap();
    }

    /// What the guard does: lowers what is over at `now`.
    pub fn guard(&self, now: Duration) {
        let deadline = self.get(Field::Deadline);
        let safe = self.get(Field::Safe);
        if deadline > 0 && now.as_micros() as u64 >= deadline && self.get(Field::Limit) > safe {
            self.set(Field::Limit, safe);
        }
    }
}
