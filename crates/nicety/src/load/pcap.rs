//! The neighbours of lost frames as pcapng, which tcpdump and Wireshark read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use nicety_model::number::plural;
use nicety_port::{LostFrame, TimedFrame};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

use crate::exit::Failure;

/// Time stamps are in 10^-9 s.
const NANOSECONDS: u8 = 9;

/// A file that is being written.
pub struct LostPcap {
    path: PathBuf,
    writer: Option<PcapNgWriter<BufWriter<File>>>,
    /// The file until its head is written.
    file: Option<File>,
    /// Lost frames that there is room for.
    room: usize,
    written: usize,
}

/// A frame of the file.
struct Packet<'a> {
    interface: u32,
    frame: &'a TimedFrame,
    comment: String,
}

impl LostPcap {
    /// Makes the file.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| {
            Failure::usage(anyhow!(
                "--lost-pcap: cannot create {}: {error}; choose a file you may write",
                path.display()
            ))
        })?;
        Ok(Self {
            path: path.to_owned(),
            writer: None,
            file: Some(file),
            room: 0,
            written: 0,
        })
    }

    /// Writes the head: both ports, each as an interface.
    pub fn begin(&mut self, ports: [&str; 2], room: usize) -> Result<(), Failure> {
        self.room = room;
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let made = PcapNgWriter::new(BufWriter::new(file));
        let mut writer = made.map_err(|error| self.failed(&error))?;
        for port in ports {
            let block = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(port)),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            let wrote = writer.write_pcapng_block(block);
            wrote.map_err(|error| self.failed(&error))?;
        }
        self.writer = Some(writer);
        Ok(())
    }

    /// Adds the lost frames of an interval, as far as there is room.
    pub fn add(&mut self, interval: u64, lost: &[LostFrame]) -> Result<(), Failure> {
        let lost = &lost[..lost.len().min(self.room - self.written)];
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        for packet in packets(interval, lost) {
            let frame = packet.frame;
            let block = EnhancedPacketBlock {
                interface_id: packet.interface,
                timestamp: Duration::from_nanos(u64::try_from(frame.unix_ns).unwrap_or(0)),
                original_len: u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX),
                data: Cow::Borrowed(&frame.bytes),
                options: vec![EnhancedPacketOption::Comment(Cow::Owned(packet.comment))],
            };
            let wrote = writer.write_pcapng_block(block);
            wrote.map_err(|error| self.failed(&error))?;
        }
        let flushed = writer.get_mut().flush();
        flushed.map_err(|error| self.failed(&error))?;
        self.written += lost.len();
        self.writer = Some(writer);
        Ok(())
    }

    /// Says what is in it.
    pub fn finish(self) -> Result<String, Failure> {
        let (path, frames) = (self.path.display(), plural(self.written, "lost frame"));
        Ok(format!("{path}: {frames} with their neighbours"))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Failure {
        let path = self.path.display();
        Failure::environment(anyhow!("cannot write {path}: {error}"))
    }
}

/// The frames by time, each once.
fn packets(interval: u64, lost: &[LostFrame]) -> Vec<Packet<'_>> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for one in lost {
        // Stream 0 goes from port A to port B.
        let from = u32::from(one.stream & 1);
        let number = one.sent.number;
        for (frame, word) in [(&one.before, "before"), (&one.after, "after")] {
            let Some(frame) = frame else { continue };
            if seen.insert((one.stream, frame.number)) {
                all.push(Packet {
                    interface: 1 - from,
                    frame,
                    comment: format!(
                        "frame {} of interval {interval}, arrived {word} lost frame {number}",
                        frame.number
                    ),
                });
            }
        }
        all.push(Packet {
            interface: from,
            frame: &one.sent,
            comment: format!(
                "frame {number} of interval {interval}, lost; made again, its time is estimated"
            ),
        });
    }
    all.sort_by_key(|packet| packet.frame.unix_ns);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(number: u64, unix_ns: i64) -> TimedFrame {
        TimedFrame {
            unix_ns,
            number,
            bytes: vec![number as u8; 60],
        }
    }

    fn lost(number: u64) -> LostFrame {
        LostFrame {
            stream: 0,
            sent: frame(number, number as i64 * 1000),
            before: Some(frame(4, 4500)),
            after: Some(frame(7, 7500)),
        }
    }

    #[test]
    fn neighbours_of_a_burst_are_written_once() {
        let burst = [lost(5), lost(6)];
        let told = packets(3, &burst);
        let numbers: Vec<_> = told.iter().map(|p| (p.frame.number, p.interface)).collect();
        assert_eq!(numbers, [(4, 1), (5, 0), (6, 0), (7, 1)]);
        assert!(told[0].comment.ends_with("arrived before lost frame 5"));
    }

    #[test]
    fn the_file_is_read_back() {
        use pcap_file::pcapng::{Block, PcapNgReader};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lost.pcapng");
        let mut file = LostPcap::create(&path).unwrap();
        file.begin(["a", "b"], 1).unwrap();
        file.add(3, &[lost(5), lost(6)]).unwrap();
        file.add(4, &[lost(9)]).unwrap();
        assert!(
            file.finish()
                .unwrap()
                .ends_with("1 lost frame with their neighbours")
        );
        let mut reader = PcapNgReader::new(File::open(&path).unwrap()).unwrap();
        let mut told = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap() {
                told.push((
                    packet.data[0],
                    packet.timestamp.as_nanos(),
                    packet.interface_id,
                ));
            }
        }
        assert_eq!(told, [(4, 4500, 1), (5, 5000, 0), (7, 7500, 1)]);
    }
}
