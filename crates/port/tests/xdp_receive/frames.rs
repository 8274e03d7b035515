//! Frames of all kinds, from numbers that proptest draws.

use nicety_model::FrameSize;
use nicety_packet::{FlowRange, MacAddr, Side, Stamp, Template, TemplateSpec};
use proptest::prelude::*;

/// Streams of the port under test.
pub const STREAMS: [u8; 2] = [7, 0];
/// A stream it does not expect.
const STRANGE_STREAM: u8 = 9;
/// Its trial.
pub const TRIAL: u8 = 200;
/// When all frames arrive.
pub const ARRIVAL_NS: u64 = 5_000_000_000_000_000;

/// How the next number of a stream comes about.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Next,
    Skip(u8),
    Back(u8),
    Any(u32),
    /// Close to where 32 bits wrap.
    NearWrap(u8),
}

/// What happens to a frame on its way.
#[derive(Debug, Clone)]
pub enum Fate {
    Intact,
    Lost,
    Twice,
    Flip(u32),
    Swap(u16, u16),
    Cut(u16),
    Longer(u16),
    Tags(u8),
    Zero(u16),
    Learning,
    StaleTrial,
    StrangeStream,
    Noise(Vec<u8>),
}

/// A frame to make.
#[derive(Debug, Clone)]
pub struct Plan {
    pub stream: usize,
    pub step: Step,
    pub fate: Fate,
    pub latency_ns: i64,
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let step = prop_oneof![
        12 => Just(Step::Next),
        2 => (1_u8..40).prop_map(Step::Skip),
        3 => any::<u8>().prop_map(Step::Back),
        1 => (0_u32..6000).prop_map(Step::Any),
        1 => any::<u8>().prop_map(Step::NearWrap),
    ];
    let fate = prop_oneof![
        14 => Just(Fate::Intact),
        2 => Just(Fate::Lost),
        2 => Just(Fate::Twice),
        2 => any::<u32>().prop_map(Fate::Flip),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Fate::Swap(a, b)),
        1 => any::<u16>().prop_map(Fate::Cut),
        1 => (1_u16..30).prop_map(Fate::Longer),
        2 => (1_u8..4).prop_map(Fate::Tags),
        1 => any::<u16>().prop_map(Fate::Zero),
        1 => Just(Fate::Learning),
        1 => Just(Fate::StaleTrial),
        1 => Just(Fate::StrangeStream),
        1 => prop::collection::vec(any::<u8>(), 14..80).prop_map(Fate::Noise),
    ];
    let latency = prop_oneof![
        6 => 0_i64..20_000,
        2 => 0_i64..2_000_000_000,
        1 => 59_000_000_000_i64..62_000_000_000,
        1 => -1_000_i64..0,
    ];
    (0..STREAMS.len(), step, fate, latency).prop_map(|(stream, step, fate, latency_ns)| Plan {
        stream,
        step,
        fate,
        latency_ns,
    })
}

pub fn template(size: u16, flows: u32) -> Template {
    Template::new(TemplateSpec {
        frame_size: FrameSize::new(size).unwrap(),
        source_mac: MacAddr::local(1),
        destination_mac: MacAddr::local(2),
        vlan: None,
        flows: FlowRange::new(flows, Side::A).unwrap(),
        mark: nicety_packet::RunMark::of(77),
    })
    .unwrap()
}

/// Makes frames after plans; remembers the numbers used.
pub struct Maker {
    template: Template,
    next: [u32; STREAMS.len()],
}

impl Maker {
    pub fn new(template: Template) -> Self {
        Self {
            template,
            next: [0; STREAMS.len()],
        }
    }

    /// The frames that arrive.
    pub fn make(&mut self, plan: &Plan) -> Vec<Vec<u8>> {
        let next = &mut self.next[plan.stream];
        let sequence = match plan.step {
            Step::Next => *next,
            Step::Skip(by) => *next + u32::from(by),
            Step::Back(by) => next.saturating_sub(u32::from(by) + 1),
            Step::Any(number) => number,
            Step::NearWrap(by) => 0_u32.wrapping_sub(u32::from(by)),
        };
        if matches!(plan.step, Step::Next | Step::Skip(_)) {
            *next = sequence + 1;
        }
        let mut stamp = Stamp {
            stream: STREAMS[plan.stream],
            trial: TRIAL,
            sequence,
            tx_ns: ARRIVAL_NS.wrapping_add_signed(-plan.latency_ns),
        };
        match plan.fate {
            Fate::Learning => stamp = Stamp::learning(TRIAL),
            Fate::StaleTrial => stamp.trial = TRIAL - 1,
            Fate::StrangeStream => stamp.stream = STRANGE_STREAM,
            _ => {}
        }
        let mut frame = vec![0; self.template.frame_bytes()];
        self.template.write(&mut frame, &stamp).unwrap();
        damage(frame, &plan.fate)
    }
}

fn damage(mut frame: Vec<u8>, fate: &Fate) -> Vec<Vec<u8>> {
    let bytes = frame.len();
    match fate {
        Fate::Intact | Fate::Learning | Fate::StaleTrial | Fate::StrangeStream => {}
        Fate::Lost => return Vec::new(),
        Fate::Twice => return vec![frame.clone(), frame],
        // Mostly where the headers are.
        Fate::Flip(bit) => {
            let within = if bit % 4 == 0 { bytes } else { 60 };
            let bit = (bit >> 2) as usize % (within * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        Fate::Swap(a, b) => {
            let words = (bytes - 42) / 2;
            let at = |n: &u16| 42 + usize::from(*n) % words * 2;
            let (a, b) = (at(a), at(b));
            frame.swap(a, b);
            frame.swap(a + 1, b + 1);
        }
        Fate::Cut(to) => frame.truncate(14 + usize::from(*to) % (bytes - 14)),
        Fate::Longer(by) => frame.resize(bytes + usize::from(*by), 0),
        Fate::Tags(tags) => {
            for tag in 0..*tags {
                let kind = if tag % 2 == 0 { 0x81 } else { 0x88 };
                let low = if tag % 2 == 0 { 0 } else { 0xa8 };
                frame.splice(12..12, [kind, low, 0x20, tag]);
            }
        }
        Fate::Zero(at) => {
            let at = usize::from(*at) % (bytes - 1);
            frame[at..at + 2].fill(0);
        }
        Fate::Noise(noise) => frame.clone_from(noise),
    }
    vec![frame]
}
