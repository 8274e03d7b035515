//! Counters of virtual functions in the registers of the physical one, which are the only ones
//! where the driver has none, and fresher where it refreshes its own seldom.
//!
//! Addresses: Intel 82576 datasheet 8.18 (PFVFG…), 82599 datasheet 8.2.3.23. They are read, never
//! written; none is cleared by reading.

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::sigbus::Guard;

/// Bytes of the BAR that hold the registers.
const LENGTH: usize = 0x2_0000;

/// A NIC whose registers are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chip {
    /// Intel 82576: 8 functions.
    I82576,
    /// Intel 82599 and X540: 64 functions.
    I82599,
}

impl Chip {
    /// By the driver and the PCI device id of the physical function.
    pub fn find(driver: &str, device: u16) -> Option<Self> {
        match (driver, device) {
            // drivers/net/ethernet/intel/igb/e1000_hw.h
            ("igb", 0x10c9 | 0x10e6 | 0x10e7 | 0x10e8 | 0x1526 | 0x150a | 0x1518 | 0x150d) => {
                Some(Self::I82576)
            }
            // drivers/net/ethernet/intel/ixgbe/ixgbe_type.h
            (
                "ixgbe",
                0x10f7 | 0x10f8 | 0x10f9 | 0x10fb | 0x10fc | 0x1507 | 0x1514 | 0x1517 | 0x151c
                | 0x1528 | 0x1529 | 0x152a | 0x154a | 0x154d | 0x154f | 0x1557 | 0x1558 | 0x1560,
            ) => Some(Self::I82599),
            _ => None,
        }
    }

    /// Width of the byte counters in bits; frames are counted in 32.
    pub fn byte_bits(self) -> u32 {
        match self {
            Self::I82576 => 32,
            Self::I82599 => 36,
        }
    }

    fn functions(self) -> u32 {
        match self {
            Self::I82576 => 8,
            Self::I82599 => 64,
        }
    }
}

/// Counters of a function, seen from it. Bytes count the FCS; all wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegisterCounters {
    /// Frames sent, modulo 2³².
    pub tx_packets: u64,
    /// Bytes sent, modulo [`Chip::byte_bits`].
    pub tx_bytes: u64,
    /// Frames received, modulo 2³².
    pub rx_packets: u64,
    /// Bytes received, modulo [`Chip::byte_bits`].
    pub rx_bytes: u64,
    /// Multicast frames received, modulo 2³²; none where the register's place is in doubt.
    pub multicast: Option<u64>,
    /// Bytes sent to other functions of this NIC, which never leave it.
    pub tx_local_bytes: Option<u64>,
}

/// The registers of one physical function, mapped for reading.
#[derive(Debug)]
pub struct Registers {
    chip: Chip,
    start: NonNull<u8>,
    /// Until the mapping goes.
    guard: Option<Guard>,
}

// SAFETY: the mapping is read only, belongs to this value alone and is not bound to a thread.
#[allow(unsafe_code)]
unsafe impl Send for Registers {}

impl Registers {
    /// Maps `resource0` of a PCI function.
    ///
    /// # Errors
    /// EINVAL where the kernel keeps a BAR that a driver uses to itself (CONFIG_IO_STRICT_DEVMEM
    /// without `iomem=relaxed`), EPERM under lockdown or without root.
    pub fn open(resource: &Path, chip: Chip) -> io::Result<Self> {
        let file = File::open(resource)?;
        if file.metadata()?.len() < LENGTH as u64 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "BAR 0 is too short",
            ));
        }
        // SAFETY: a new mapping at a place of the kernel's choice; the file is as long.
        #[allow(unsafe_code)]
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                LENGTH,
                ProtFlags::READ,
                MapFlags::SHARED,
                &file,
                0,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut registers = Self {
            chip,
            start,
            guard: None,
        };
        registers.guard = Some(Guard::begin(start.as_ptr() as usize, LENGTH)?);
        Ok(registers)
    }

    /// Whose registers these are.
    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// The counters of a function; none beyond what the chip has, and none once the device has gone.
    pub fn read(&self, vf: u32) -> Option<RegisterCounters> {
        let there = vf < self.chip.functions();
        let read = there.then(|| counters(self.chip, vf as usize, |at| self.word(at)));
        // Asked afterwards: what was read while it went is no counter.
        read.filter(|_| !self.guard.as_ref().is_some_and(Guard::lost))
    }

    fn word(&self, at: usize) -> u32 {
        if at + 4 > LENGTH || !at.is_multiple_of(4) {
            return 0;
        }
        // SAFETY: within the mapping and aligned, see above; the device may change it at any time, and when it
        // goes the guard puts zeros in its place.
        #[allow(unsafe_code)]
        let word = unsafe { self.start.as_ptr().add(at).cast::<u32>().read_volatile() };
        u32::from_le(word)
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // Before the range may be somebody else's.
        self.guard = None;
        // Fails for a range that is not mapped only.
        // SAFETY: mapped by `open`, with this length; nothing points into it.
        #[allow(unsafe_code)]
        let _ = unsafe { munmap(self.start.as_ptr().cast(), LENGTH) };
    }
}

fn counters(chip: Chip, vf: usize, word: impl Fn(usize) -> u32) -> RegisterCounters {
    let narrow = |at: usize| u64::from(word(at));
    match chip {
        Chip::I82576 => {
            let own = |at: usize| narrow(at + 0x100 * vf);
            RegisterCounters {
                rx_packets: own(0x10010),
                tx_packets: own(0x10014),
                rx_bytes: own(0x10018),
                tx_bytes: own(0x10034),
                // Headers and machines disagree between 0x10038 and 0x1003c.
                multicast: None,
                tx_local_bytes: Some(own(0x10050)),
            }
        }
        Chip::I82599 => RegisterCounters {
            rx_packets: narrow(0x101c + 0x40 * vf),
            tx_packets: narrow(0x8300 + 4 * vf),
            rx_bytes: wide(&word, 0x1020 + 0x40 * vf, 0xd020 + 0x40 * vf),
            tx_bytes: wide(&word, 0x8400 + 8 * vf, 0x8404 + 8 * vf),
            multicast: Some(narrow(0xd01c + 0x40 * vf)),
            tx_local_bytes: None,
        },
    }
}

/// 36 bits in two registers: the upper one is read again, until the lower one belongs to it.
fn wide(word: &impl Fn(usize) -> u32, low: usize, high: usize) -> u64 {
    let mut upper = word(high);
    for _ in 0..4 {
        let lower = word(low);
        let again = word(high);
        if again == upper {
            return u64::from(upper & 0xf) << 32 | u64::from(lower);
        }
        upper = again;
    }
    u64::from(upper & 0xf) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A BAR in a file, with words at places.
    fn bar(words: &[(usize, u32)]) -> tempfile::NamedTempFile {
        let mut bytes = vec![0; LENGTH];
        for (at, word) in words {
            bytes[*at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn an_82576_counts_each_function_in_its_own_page() {
        let file = bar(&[
            (0x10314, 28),
            (0x10334, 29_596),
            (0x10310, 25),
            (0x10318, 29_346),
            (0x10350, 7),
        ]);
        let registers = Registers::open(file.path(), Chip::I82576).unwrap();
        let expected = RegisterCounters {
            tx_packets: 28,
            tx_bytes: 29_596,
            rx_packets: 25,
            rx_bytes: 29_346,
            multicast: None,
            tx_local_bytes: Some(7),
        };
        assert_eq!(registers.read(3), Some(expected));
        assert_eq!(registers.read(2).unwrap().tx_packets, 0);
        assert_eq!(registers.read(8), None);
    }

    #[test]
    fn an_82599_counts_bytes_in_36_bits() {
        let file = bar(&[
            (0x8400 + 8 * 63, 0x10),
            (0x8404 + 8 * 63, 0xf2),
            (0x8300 + 4 * 63, 9),
        ]);
        let registers = Registers::open(file.path(), Chip::I82599).unwrap();
        let read = registers.read(63).unwrap();
        assert_eq!((read.tx_bytes, read.tx_packets), (0x2_0000_0010, 9));
        assert_eq!(registers.read(64), None);
        // A carry between the two reads.
        let reads = Cell::new(0);
        let word = |at: usize| {
            reads.set(reads.get() + 1);
            match (at, reads.get()) {
                (0, 1) => 1,
                (0, _) => 2,
                (_, 2) => 0xffff_ffff,
                _ => 5,
            }
        };
        assert_eq!(wide(&word, 4, 0), 0x2_0000_0005);
    }

    #[test]
    fn a_device_that_goes_takes_its_counters_along_and_nothing_else() {
        let gone = bar(&[(0x10314, 28)]);
        let stays = bar(&[(0x10314, 29)]);
        let registers = Registers::open(gone.path(), Chip::I82576).unwrap();
        let other = Registers::open(stays.path(), Chip::I82576).unwrap();
        assert_eq!(registers.read(3).unwrap().tx_packets, 28);
        // A mapping without pages behind it, as that of a device that has gone: SIGBUS.
        gone.as_file().set_len(0).unwrap();
        assert_eq!(registers.read(3), None);
        assert_eq!(registers.read(2), None);
        assert_eq!(other.read(3).unwrap().tx_packets, 29);
        // Its place is free again.
        drop(registers);
        for _ in 0..100 {
            let again = Registers::open(stays.path(), Chip::I82576).unwrap();
            assert_eq!(again.read(3).unwrap().tx_packets, 29);
        }
    }

    #[test]
    fn other_chips_and_short_bars_are_refused() {
        assert_eq!(Chip::find("igb", 0x1521), None);
        assert_eq!(Chip::find("igb", 0x10c9), Some(Chip::I82576));
        assert_eq!(Chip::find("ixgbe", 0x10fb), Some(Chip::I82599));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Registers::open(file.path(), Chip::I82576).is_err());
    }
}
