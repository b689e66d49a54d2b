//! Every target on its corpus, and on some inputs made of it.

mod mutate;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{TARGETS, clean_up};
use mutate::mutated;

/// Inputs near the corpus that each target gets, the same at every run; `SETPOINT_FUZZ=100000` gives them more.
const NEAR: u64 = 150;

fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{name}.zip"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let inputs = (0..archive.len()).map(|index| {
        let mut entry = archive.by_index(index).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.name().unwrap().into_owned(), bytes)
    });
    inputs.collect()
}

#[test]
fn no_input_of_the_corpora_and_none_near_them_breaks_a_target() {
    let more = std::env::var("SETPOINT_FUZZ").ok().and_then(|count| count.parse().ok());
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name}");
        for (input, bytes) in &corpus {
            println!("{name}: {input}");
            target(bytes);
        }
        let mut random = ChaCha8Rng::seed_from_u64(0);
        for _ in 0..more.unwrap_or(NEAR) {
            let [input, other] = [0, 1].map(|_| &corpus[random.random_range(0..corpus.len())].1);
            let bytes = mutated(&mut random, input, other);
            // Shown where the test fails, to be kept in the corpus.
            if let Err(panic) = std::panic::catch_unwind(|| target(&bytes)) {
                println!("{name}: {:?}", bytes.escape_ascii().to_string());
                std::panic::resume_unwind(panic);
            }
        }
    }
    clean_up();
}
