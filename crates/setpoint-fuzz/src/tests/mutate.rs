//! Inputs made of others.

use rand::{Rng, RngExt};

/// Numbers at the edges of their types, and what means something to more than one reader.
const PIECES: [&[u8]; 24] = [
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x00\x00\x80\x7f",
    b"\0\0\0\0\0\0\0\x80",
    b"-1",
    b"0",
    b"1e308",
    b"1e-320",
    b"18446744073709551615",
    b"nan",
    b"inf",
    b"%",
    b"\"",
    b"\n",
    b"\r",
    b",",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"null",
    b"\xef\xbb\xbf",
];

/// An input near the first, perhaps with a part of the second in it.
pub fn mutated(random: &mut impl Rng, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.random_range(1..5) {
        let at = random.random_range(0..=bytes.len());
        let to = random.random_range(at..=bytes.len().min(at + 40));
        match random.random_range(0..8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            1 if at < bytes.len() => bytes[at] = random.random(),
            2 => drop(bytes.drain(at..to)),
            3 => {
                let copy = bytes[at..to].to_vec();
                let place = random.random_range(0..=bytes.len());
                bytes.splice(place..place, copy);
            }
            4 if !other.is_empty() => {
                let from = random.random_range(0..other.len());
                let end = random.random_range(from..=other.len());
                bytes.splice(at..to, other[from..end].iter().copied());
            }
            5 => bytes.truncate(at),
            _ => {
                let piece = PIECES[random.random_range(0..PIECES.len())];
                bytes.splice(at..to, piece.iter().copied());
            }
        }
    }
    bytes
}
