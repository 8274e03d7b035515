//! Files as they are kept: compressed, because lines of JSON repeat their keys.

use std::io::{self, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use nicety_host::regular;
use nicety_store::{LARGEST, RunFiles};

use crate::error::HistoryError;

/// Compresses.
pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Gives back what was compressed; its checksum is checked. Whoever may write into a shared database chooses what is
/// unpacked here: more than the largest file of a run is damage.
pub fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    regular::read_at_most(ZlibDecoder::new(packed), LARGEST)
}

/// The files of the run with number `id`, from what is kept of it at `place`.
pub fn files(id: i64, place: &str, kept: Vec<(String, Vec<u8>)>) -> Result<RunFiles, HistoryError> {
    if kept.is_empty() {
        return Err(HistoryError::NoRun { id });
    }
    let given_back = |(name, packed): (String, Vec<u8>)| match unpack(&packed) {
        Ok(bytes) => Ok((name, bytes)),
        Err(error) => Err(HistoryError::Broken {
            id,
            place: place.to_owned(),
            why: format!("{name}: {error}"),
        }),
    };
    kept.into_iter().map(given_back).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_back() {
        for bytes in [Vec::new(), vec![b'x'; 100_000], (0..=255).collect()] {
            assert_eq!(unpack(&pack(&bytes).unwrap()).unwrap(), bytes);
        }
        let mut packed = pack(b"a run").unwrap();
        let last = packed.len() - 1;
        packed[last] ^= 1;
        assert!(unpack(&packed).is_err());
    }
}
