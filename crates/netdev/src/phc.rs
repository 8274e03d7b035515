//! Clocks of NICs (PTP hardware clocks, Documentation/driver-api/ptp.rst), read beside the system's.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Readings per call; the kernel takes 25 at most (PTP_MAX_SAMPLES of include/uapi/linux/ptp_clock.h).
const SAMPLES: usize = 9;
const MAX_SAMPLES: usize = 25;
/// `_IOWR('=', 9, struct ptp_sys_offset_extended)`, Linux 4.21.
const PTP_SYS_OFFSET_EXTENDED: libc::c_ulong = 0xc4c0_3d09;
/// `_IOW('=', 5, struct ptp_sys_offset)`.
const PTP_SYS_OFFSET: libc::c_ulong = 0x4340_3d05;

/// struct ptp_clock_time.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Time {
    seconds: i64,
    nanos: u32,
    reserved: u32,
}

#[repr(C)]
struct Extended {
    samples: u32,
    reserved: [u32; 3],
    /// System, clock, system.
    times: [[Time; 3]; MAX_SAMPLES],
}

#[repr(C)]
struct Basic {
    samples: u32,
    reserved: [u32; 3],
    /// System and clock in turns, system at the end.
    times: [Time; 2 * MAX_SAMPLES + 1],
}

const _: () = assert!(size_of::<Extended>() == 0x4c0 && size_of::<Basic>() == 0x340);

/// A clock between two looks at CLOCK_REALTIME: system, clock, system, in ns since the epoch.
pub type Reading = [i64; 3];

/// A NIC's clock.
#[derive(Debug)]
pub struct Phc {
    file: File,
    index: u32,
}

impl Phc {
    /// `/dev/ptpN`.
    ///
    /// # Errors
    /// When there is no such clock, or it is not the caller's to open.
    pub fn open(index: u32) -> io::Result<Self> {
        let file = File::open(format!("/dev/ptp{index}"))?;
        Ok(Self { file, index })
    }

    /// Its name.
    pub fn name(&self) -> String {
        format!("ptp{}", self.index)
    }

    /// Reads it several times.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read(&self) -> io::Result<Vec<Reading>> {
        match self.extended() {
            // A driver that does not look at the system's clock itself.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => {
                self.basic()
            }
            readings => readings,
        }
    }

    fn extended(&self) -> io::Result<Vec<Reading>> {
        let mut request = Extended {
            samples: SAMPLES as u32,
            reserved: [0; 3],
            times: [[Time::default(); 3]; MAX_SAMPLES],
        };
        self.call(PTP_SYS_OFFSET_EXTENDED, &mut request)?;
        let times = request.times.iter().take(SAMPLES);
        Ok(times.map(|three| three.map(nanos)).collect())
    }

    fn basic(&self) -> io::Result<Vec<Reading>> {
        let mut request = Basic {
            samples: SAMPLES as u32,
            reserved: [0; 3],
            times: [Time::default(); 2 * MAX_SAMPLES + 1],
        };
        self.call(PTP_SYS_OFFSET, &mut request)?;
        let times = request.times.windows(3).step_by(2).take(SAMPLES);
        Ok(times
            .map(|three| [0, 1, 2].map(|n| nanos(three[n])))
            .collect())
    }

    #[allow(unsafe_code)] // No safe wrapper knows these.
    fn call<T>(&self, number: libc::c_ulong, request: &mut T) -> io::Result<()> {
        // SAFETY: the descriptor is open, and `request` is the structure of this request, whose size is
        // in its number; it lives through the call.
        let done = unsafe {
            libc::ioctl(
                self.file.as_raw_fd(),
                number as _,
                std::ptr::from_mut(request),
            )
        };
        if done < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

fn nanos(time: Time) -> i64 {
    time.seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(i64::from(time.nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_numbered_as_the_kernel_does() {
        let number = |direction: u64, size: usize, nr: u64| {
            direction << 30 | (size as u64) << 16 | u64::from(b'=') << 8 | nr
        };
        assert_eq!(PTP_SYS_OFFSET_EXTENDED, number(3, size_of::<Extended>(), 9));
        assert_eq!(PTP_SYS_OFFSET, number(1, size_of::<Basic>(), 5));
    }

    #[test]
    fn there_is_no_such_clock() {
        assert!(Phc::open(u32::MAX).is_err());
        let time = Time {
            seconds: 2,
            nanos: 5,
            reserved: 0,
        };
        assert_eq!(nanos(time), 2_000_000_005);
    }
}
