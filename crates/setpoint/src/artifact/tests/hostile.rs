//! Files made by hand to be as wrong as they can.

use sha2::{Digest, Sha256};

use super::*;

/// A file with this header.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// The metadata entry of a sound document, with a comma, but with a wrong checksum.
fn metadata() -> String {
    metadata_of(&model().document.to_text().unwrap(), "")
}

fn metadata_of(document: &str, sha256: &str) -> String {
    let envelope = format!("{{\"sha256\":\"{sha256}\",\"document\":{document}}}");
    format!("\"__metadata__\":{{\"setpoint\":{}}},", Value::from(envelope))
}

/// A file without tensors around a document, with the right checksum.
fn file_of(document: &str) -> Vec<u8> {
    let mut digest = Sha256::new();
    digest.update((document.len() as u64).to_le_bytes());
    digest.update(document);
    let sha256: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let metadata = metadata_of(document, &sha256);
    file(&format!("{{{}}}", metadata.trim_end_matches(',')), &[])
}

fn message(bytes: &[u8]) -> String {
    ModelFile::from_bytes(bytes).unwrap_err().to_string()
}

/// What is said of a file with these entries and this many bytes of data.
fn entries(entries: &str, data: usize) -> String {
    message(&file(&format!("{{{}{entries}}}", metadata()), &vec![0; data]))
}

#[test]
fn files_of_other_kinds_are_named() {
    let cases: [(&[u8], &str); 8] = [
        (b"", "not a safetensors file; it looks like an empty file"),
        (b"\x80\x04\x95\x10\0\0\0\0\0\0\0\x8c", "not a safetensors file; it looks like a Python pickle"),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "not a safetensors file; it looks like a zip archive"),
        (b"<!DOCTYPE html><html>", "not a safetensors file; it looks like an HTML or XML page"),
        (b"{\"goal\": \"f1\"}", "not a safetensors file; it looks like JSON"),
        (b"version https://git-lfs", "not a safetensors file; it looks like a Git LFS pointer"),
        (b"age,income,label\n38,1,0", "not a safetensors file"),
        (b"\0\0\0\0\0\0\0\0", "not a safetensors file"),
    ];
    for (bytes, expected) in cases {
        let message = message(bytes);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn files_of_other_programs_are_told_apart() {
    let tensor = "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";
    for header in [format!("{{{tensor}}}"), format!("{{\"__metadata__\":{{\"format\":\"pt\"}},{tensor}}}")] {
        let kind = kind_of(ModelFile::from_bytes(&file(&header, &[0; 4])));
        assert!(matches!(kind, ArtifactErrorKind::Foreign { .. }), "{kind}");
    }
}

#[test]
fn a_file_that_another_program_tagged_or_reordered_is_still_read() {
    let original = model();
    let bytes = original.to_bytes().unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let text = &header.metadata().as_ref().unwrap()["setpoint"];
    let mut entries = json!({"__metadata__": {"format": "pt", "setpoint": text}});
    let mut data = Vec::new();
    let mut views = SafeTensors::deserialize(&bytes).unwrap().tensors();
    views.sort_by(|(left, _), (right, _)| right.cmp(left));
    for (name, view) in views {
        let from = data.len();
        data.extend(view.data());
        entries[name] = json!({
            "dtype": view.dtype().to_string(), "shape": view.shape(), "data_offsets": [from, data.len()]
        });
    }
    assert_ne!(data, bytes[bytes.len() - data.len()..]);
    assert_eq!(ModelFile::from_bytes(&file(&entries.to_string(), &data)).unwrap(), original);
}

#[test]
fn header_lengths_are_checked_before_anything_is_allocated() {
    for length in [u64::MAX, u64::MAX - 7, 1 << 63, 1 << 40, (32 << 20) + 1] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(b"{}      ");
        let kind = kind_of(ModelFile::from_bytes(&bytes));
        assert!(matches!(kind, ArtifactErrorKind::HeaderSize { size, .. } if size == length), "{kind}");
    }
    let mut bytes = (32_u64 << 20).to_le_bytes().to_vec();
    bytes.extend(b"{}");
    let kind = kind_of(ModelFile::from_bytes(&bytes));
    assert!(matches!(kind, ArtifactErrorKind::Truncated { expected: 33_554_440, got: 10 }), "{kind}");
}

#[test]
fn shapes_and_offsets_that_make_no_sense_are_refused() {
    let max = u64::MAX;
    let cases = [
        // Products that overflow, or wrap to the right size.
        (format!(r#""w":{{"dtype":"F32","shape":[{max},{max}],"data_offsets":[0,4]}}"#), "does not fit 4 bytes"),
        (r#""w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}"#.into(), "does not fit 0"),
        (r#""w":{"dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8]}"#.into(), "does not fit 8"),
        (r#""w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}"#.into(), "does not fit 4 bytes"),
        // Offsets out of range, backwards, overlapping, with a gap.
        (r#""w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#.into(), "it has"),
        (format!(r#""w":{{"dtype":"F32","shape":[1],"data_offsets":[{max},3]}}"#), "do not follow byte 0"),
        (r#""w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}"#.into(), "do not follow byte 0"),
        (r#""w":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}"#.into(), "do not follow byte 0"),
        (
            r#""v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#
                .into(),
            "do not follow byte 4",
        ),
        // Numbers that are none.
        (r#""w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}"#.into(), "header: "),
        (r#""w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}"#.into(), "header: "),
        (r#""w":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551620]}"#.into(), "header: "),
        (r#""w":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}"#.into(), "header: "),
        // Types and fields that we do not have.
        (r#""w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}"#.into(), "type BF16 is none of"),
        (r#""w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"run":"rm"}"#.into(), "unknown field"),
        (r#""w":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}"#.into(), "more than 8 dimensions"),
        (r#""w":{"dtype":"F32","shape":[1]}"#.into(), "missing field"),
        (
            r#""w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#
                .into(),
            "two tensors of the name",
        ),
        (r#""__metadata__":{}"#.into(), "two entries of metadata"),
        // Right but for the checksum.
        (r#""w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#.into(), "checksum does not match"),
    ];
    for (case, expected) in cases {
        let message = entries(&case, 4);
        assert!(message.contains(expected), "{case}: {message}");
    }
}

/// The offsets add up to nearly 2^64: the crate's own reader overflows here.
#[test]
fn offsets_at_the_end_of_the_number_range_are_refused() {
    let numbers = (1_u64 << 61) - 1;
    let mut end = 0;
    let mut list = Vec::new();
    for at in 0..2 {
        let next: u64 = end + numbers / 4 * 4;
        let shape = numbers / 4;
        list.push(format!(r#""{at}":{{"dtype":"F32","shape":[{shape}],"data_offsets":[{end},{next}]}}"#));
        end = next;
    }
    for at in 2..8 {
        let next = end + numbers / 8 * 8;
        let shape = numbers / 8;
        list.push(format!(r#""{at}":{{"dtype":"U64","shape":[{shape}],"data_offsets":[{end},{next}]}}"#));
        end = next;
    }
    assert!(entries(&list.join(","), 4).contains("incomplete: its header asks for 184467440737095"));
}

#[test]
fn deep_nesting_is_refused_wherever_it_is() {
    let deep = "[".repeat(200_000);
    for header in [deep.clone(), format!("{{\"w\":{deep}"), format!("{{\"__metadata__\":{{\"x\":{deep}")] {
        assert!(ModelFile::from_bytes(&file(&header, &[])).is_err());
    }
    let balanced = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let kind =
        kind_of(ModelFile::from_bytes(&file(&format!("{{\"__metadata__\":{{\"x\":{balanced}}}}}"), &[])));
    assert!(matches!(kind, ArtifactErrorKind::Foreign { .. }), "{kind}");
    let text = model().document.to_text().unwrap();
    let document = text.replacen("[[[{}]]]", &balanced, 1);
    assert_ne!(document, text);
    assert!(message(&file_of(&document)).contains("recursion limit"));
}

#[test]
fn documents_are_read_strictly() {
    let text = model().document.to_text().unwrap();
    assert_eq!(ModelFile::from_bytes(&file_of(&text)).unwrap().document, model().document);
    let cases = [
        (
            "\"format\":1",
            "\"format\":4",
            concat!("format 4, written by Setpoint ", env!("CARGO_PKG_VERSION"), ", cannot be read"),
        ),
        ("\"format\":1", "\"format\":3", "unknown field `goal`"),
        ("\"format\":1", "\"format\":2", "thresholds with format 1"),
        ("\"format\":1", "\"format\":0", "format 0, written by"),
        ("\"format\":1", "\"format\":18446744073709551615", "format 18446744073709551615"),
        ("\"format\":1", "\"format\":\"1\"", "invalid type"),
        ("\"format\":1,", "", "missing field `format`"),
        ("\"format\":1", "\"format\":1,\"format\":1", "duplicate field"),
        ("\"format\":1", "\"format\":1,\"hook\":\"x\"", "unknown field `hook`"),
        ("\"format\":1", "\"format\":1,\"a\\u001b[31m\\n\":0", "unknown field `a\\u{1b}[31m\\n`"),
        ("recall @ fpr(sex)<=2%", "recall @ fpr(sex)<=200%", "goal \"recall @ fpr(sex)<=200%\""),
        ("\"column\":\"sex\"", "\"column\":\"sex\",\"x\":1", "unknown field `x`"),
        ("\"seed\":18446744073709551615", "\"seed\":-1", "document: "),
        ("\"seed\":18446744073709551615", "\"seed\":1.5", "document: "),
        ("\"data_hash\":\"e3b0c442\",", "", "missing field `data_hash`"),
        ("0.1,-1.5e-7", "0.1,1e39", "number out of range"),
        ("0.1,-1.5e-7", "0.1,1e999", "number out of range"),
        ("0.1,-1.5e-7", "0.1,NaN", "document: "),
        ("0.1,-1.5e-7", "0.1,null", "document: "),
        ("0.1,-1.5e-7", "0.1", "1 thresholds for 2 groups"),
        ("0.1,-1.5e-7", "", "there are no thresholds"),
    ];
    for (from, to, expected) in cases {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let message = message(&file_of(&changed));
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.chars().all(|c| c == '\n' || !c.is_control()), "{message:?}");
    }
}

#[test]
fn weights_that_are_not_finite_are_refused() {
    // Saved under a checkpoint's rules, which allow them, and relabelled.
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let tensors = [("w".to_owned(), Tensor::vector(TensorData::F32(vec![0.0, value])))].into();
        let text = model().document.to_text().unwrap();
        let bytes = container::write(Purpose::Model, &text, &tensors).unwrap();
        let kind = kind_of(ModelFile::from_bytes(&bytes));
        assert!(matches!(kind, ArtifactErrorKind::NotFinite { index: 1, .. }), "{kind}");
    }
}

#[test]
fn checkpoints_with_tensors_of_other_shapes_are_refused() {
    let text = r#"{"format":2,"setpoint":"0.1.0","document":null}"#;
    for shape in [vec![], vec![1, 1]] {
        let tensor = Tensor { shape, data: TensorData::F32(vec![1.0]) };
        let bytes =
            container::write(Purpose::Checkpoint, text, &[("mean".to_owned(), tensor)].into()).unwrap();
        let kind = kind_of(Checkpoint::from_bytes(&bytes));
        assert!(matches!(kind, ArtifactErrorKind::Tensor { .. }), "{kind}");
    }
}
