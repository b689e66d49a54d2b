//! Model files that earlier versions wrote open, and decide as they did.

use std::fs;
use std::path::Path;

use crate::{directory, setpoint};

/// Whether two tables are the same, but for the last digits of numbers: networks add up as the processor likes.
fn same(found: &str, expected: &str) -> bool {
    let fields = |text: &str| text.split([',', '\n']).map(str::to_owned).collect::<Vec<_>>();
    let near = |(found, expected): (&String, &String)| match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(found), Ok(expected)) => (found - expected).abs() <= 1e-5 * expected.abs().max(1.0),
        _ => found == expected,
    };
    let (found, expected) = (fields(found), fields(expected));
    found.len() == expected.len() && found.iter().zip(&expected).all(near)
}

#[test]
fn files_of_every_past_format_decide_as_they_did() {
    let home = directory();
    let mut formats = Vec::new();
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    for folder in fs::read_dir(folders).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for entry in fs::read_dir(folder.path()).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "safetensors") {
                continue;
            }
            let rows = path.with_file_name("rows.csv");
            let [model, rows] = [&path, &rows].map(|path| path.to_str().unwrap());
            let query: &[&str] =
                if path.ends_with("queries.safetensors") { &["--query", "query"] } else { &[] };
            setpoint(home.path(), &[&["predict", model, rows, "-o", "p.csv"][..], query].concat()).ok();
            let expected = fs::read_to_string(path.with_extension("csv")).unwrap();
            let found = fs::read_to_string(home.path().join("p.csv")).unwrap();
            assert!(same(&found, &expected), "{model}:\n{found}\n{expected}");
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            let at = text.find("\\\"format\\\":").unwrap() + 11;
            formats.push(text[at..=at].to_owned());
        }
    }
    formats.sort_unstable();
    formats.dedup();
    // A new format comes with files of it: python3 tests/formats/make.py.
    assert_eq!(formats, ["1", "2", "3"]);
}
