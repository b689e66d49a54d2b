//! Every way of damaging a file that we could think of: an error, or the same content, never a
//! panic and never another content.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

pub(super) fn random() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(7)
}

/// Loads damaged bytes; what loads all the same is what was saved.
///
/// JSON can spell one text in several ways (`\u0001` has two cases of hexadecimal digits), so a
/// flipped bit may change nothing. Returns whether the damage was found.
fn found(damaged: &[u8], original: &ModelFile, what: &str) -> bool {
    match ModelFile::from_bytes(damaged) {
        Ok(file) => {
            assert_eq!(&file, original, "{what}");
            false
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            true
        }
    }
}

/// Header length, header, data.
fn data_start(bytes: &[u8]) -> usize {
    8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize
}

/// A model whose data is a good deal longer than its header.
fn large() -> ModelFile {
    let mut file = model();
    let mut random = random();
    let weights = (0..20_000).map(|_| random.random::<f32>() - 0.5).collect();
    file.tensors.insert("large".into(), Tensor::vector(TensorData::F32(weights)));
    file
}

#[test]
fn every_truncation_is_found() {
    let original = model();
    let bytes = original.to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(found(&bytes[..length], &original, "truncated"), "{length}");
    }
    let original = large();
    let bytes = original.to_bytes().unwrap();
    for length in (0..bytes.len()).step_by(997) {
        assert!(found(&bytes[..length], &original, "truncated"), "{length}");
    }
    let kind = kind_of(ModelFile::from_bytes(&bytes[..bytes.len() - 1]));
    assert!(matches!(kind, ArtifactErrorKind::Truncated { .. }), "{kind}");
}

#[test]
fn every_flipped_bit_is_found_or_changes_nothing() {
    let original = model();
    let mut bytes = original.to_bytes().unwrap();
    let mut harmless = 0;
    for bit in 0..8 * bytes.len() {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let what = format!("bit {} of byte {}", bit % 8, bit / 8);
        let found = found(&bytes, &original, &what);
        // Only the header has several spellings.
        assert!(found || bit / 8 < data_start(&original.to_bytes().unwrap()), "{what}");
        harmless += usize::from(!found);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(harmless < 10, "{harmless} flips were not found");
}

#[test]
fn a_flipped_bit_among_many_weights_is_found() {
    let original = large();
    let mut bytes = original.to_bytes().unwrap();
    let (start, end) = (data_start(&bytes), bytes.len());
    let mut random = random();
    for _ in 0..300 {
        let (byte, bit) = (random.random_range(start..end), random.random_range(0..8));
        bytes[byte] ^= 1 << bit;
        let kind = kind_of(ModelFile::from_bytes(&bytes));
        assert!(matches!(kind, ArtifactErrorKind::Checksum), "{kind}");
        bytes[byte] ^= 1 << bit;
    }
    assert!(!found(&bytes, &original, "restored"));
}

#[test]
fn inserted_removed_and_swapped_bytes_are_found_or_change_nothing() {
    let original = model();
    let bytes = original.to_bytes().unwrap();
    let mut random = random();
    for at in 0..=bytes.len() {
        for byte in [0, b' ', b'"', b'{', b'9', random.random()] {
            let mut damaged = bytes.clone();
            damaged.insert(at, byte);
            assert!(found(&damaged, &original, "inserted"), "{byte} at {at}");
        }
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged.remove(at);
        assert!(found(&damaged, &original, "removed"), "{at}");
        let mut damaged = bytes.clone();
        let other = random.random_range(0..bytes.len());
        damaged.swap(at, other);
        found(&damaged, &original, &format!("swapped {at} and {other}"));
    }
}

#[test]
fn blocks_of_noise_zeros_and_other_files_are_found_or_change_nothing() {
    let original = model();
    let bytes = original.to_bytes().unwrap();
    let mut random = random();
    for _ in 0..3000 {
        let mut damaged = bytes.clone();
        let from = random.random_range(0..bytes.len());
        let to = random.random_range(from..=bytes.len().min(from + 64));
        match random.random_range(0..3) {
            0 => damaged[from..to].fill(0),
            1 => damaged[from..to].iter_mut().for_each(|byte| *byte = random.random()),
            _ => damaged.copy_within(from..to, random.random_range(0..=bytes.len() - (to - from))),
        }
        found(&damaged, &original, &format!("{from}..{to}"));
    }
    for length in 0..300 {
        let noise: Vec<u8> = (0..length).map(|_| random.random()).collect();
        assert!(ModelFile::from_bytes(&noise).is_err());
    }
}

#[test]
fn a_damaged_checkpoint_is_found() {
    let original = checkpoint();
    let mut bytes = original.to_bytes().unwrap();
    for bit in 0..8 * bytes.len() {
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(loaded) = Checkpoint::from_bytes(&bytes) {
            assert_eq!(loaded, original, "bit {bit}");
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    for length in 0..bytes.len() {
        assert!(Checkpoint::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
}
