//! The ring with this test as the kernel, on its own thread. `make miri` runs it as well.

use super::*;

const ENTRIES: u32 = 4;
const LAYOUT: XdpRingOffset = XdpRingOffset {
    producer: 0,
    consumer: 64,
    desc: 128,
    flags: Some(72),
};
const BYTES: usize = 128 + ENTRIES as usize * size_of::<u64>();

fn ring(layout: &XdpRingOffset) -> io::Result<Ring<u64>> {
    Ring::over(Memory::new(BYTES)?, BYTES, layout, ENTRIES)
}

/// Where the kernel sees the ring.
#[derive(Clone, Copy)]
struct Kernel(*mut u8);

// SAFETY: the test ends its thread before the ring, and both sides follow the ring's rules.
unsafe impl Send for Kernel {}

impl Kernel {
    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the layout is inside the ring's memory and aligned.
        unsafe { AtomicU32::from_ptr(self.0.add(offset as usize).cast()) }
    }

    /// Takes all that is there from `next` on; returns their sum.
    fn take(&self, next: &mut u32) -> u64 {
        let produced = self.word(LAYOUT.producer).load(Ordering::Acquire);
        let mut sum = 0;
        while *next != produced {
            let entry = LAYOUT.desc as usize + (*next % ENTRIES) as usize * size_of::<u64>();
            // SAFETY: produced and not consumed: the entry is the consumer's.
            sum += unsafe { self.0.add(entry).cast::<u64>().read() };
            *next = next.wrapping_add(1);
        }
        self.word(LAYOUT.consumer).store(*next, Ordering::Release);
        sum
    }
}

#[test]
fn every_entry_reaches_the_kernel_once_beyond_the_end_of_the_numbers() {
    const COUNT: u32 = 40;
    let first = u32::MAX - 10;
    let mut ring = ring(&LAYOUT).unwrap();
    ring.produce(first);
    ring.consume(first);
    let kernel = Kernel(ring.memory.start().as_ptr());
    let consumer = std::thread::spawn(move || {
        // The whole value moves into the thread, not its pointer alone.
        let kernel = kernel;
        let (mut next, mut sum) = (first, 0);
        while next != first.wrapping_add(COUNT) {
            sum += kernel.take(&mut next);
            std::thread::yield_now();
        }
        sum
    });
    for index in 0..COUNT {
        let number = first.wrapping_add(index);
        while number.wrapping_sub(ring.consumed()) == ENTRIES {
            std::thread::yield_now();
        }
        ring.write(number, u64::from(index));
        ring.produce(number.wrapping_add(1));
    }
    let expected = u64::from(COUNT * (COUNT - 1) / 2);
    assert_eq!(consumer.join().unwrap(), expected);
    assert_eq!(ring.consumed(), first.wrapping_add(COUNT));
}

#[test]
fn what_the_kernel_produced_is_read() {
    let ring = ring(&LAYOUT).unwrap();
    let kernel = Kernel(ring.memory.start().as_ptr());
    // SAFETY: the last entry is inside, and nobody else uses it.
    unsafe {
        kernel
            .0
            .add(LAYOUT.desc as usize + 24)
            .cast::<u64>()
            .write(7)
    };
    kernel.word(LAYOUT.producer).store(4, Ordering::Release);
    kernel
        .word(72)
        .store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
    assert_eq!((ring.produced(), ring.read(3), ring.read(7)), (4, 7, 7));
    assert!(ring.needs_wakeup());
}

#[test]
fn a_layout_that_leads_out_of_the_ring_is_refused() {
    for layout in [
        XdpRingOffset {
            producer: BYTES as u64 - 2,
            ..LAYOUT
        },
        XdpRingOffset {
            consumer: 66,
            ..LAYOUT
        },
        XdpRingOffset {
            flags: None,
            ..LAYOUT
        },
    ] {
        assert!(ring(&layout).is_err(), "{layout:?}");
    }
}
