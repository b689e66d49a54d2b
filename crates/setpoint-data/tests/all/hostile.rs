//! No bytes, however odd, make a reader panic.

use proptest::collection::vec;
use proptest::prelude::*;
use setpoint_data::{Encoder, Format, Positive, ReadOptions, Roles, Separator, Table};

use super::all_rows;

/// Reads, and encodes what could be read.
fn read(bytes: &[u8], options: &ReadOptions, roles: &Roles) {
    if let Ok(table) = Table::from_bytes("t", bytes.to_vec(), options, roles, None)
        && let Ok(encoder) = Encoder::fit(&table, &all_rows(&table))
    {
        let again = Table::from_bytes("t", bytes.to_vec(), options, roles, Some(&encoder)).unwrap();
        let (data, again) = (encoder.encode(table).unwrap(), encoder.encode(again).unwrap());
        assert_eq!(data.features, again.features);
    }
}

fn all_ways(bytes: &[u8]) {
    let rule =
        Roles { label: Some("1".into()), positive: ">0".parse::<Positive>().unwrap(), ..Roles::default() };
    for roles in [Roles::default(), Roles { label: Some("1".into()), ..Roles::default() }, rule] {
        read(bytes, &ReadOptions::default(), &roles);
        for format in [Format::Delimited, Format::SvmLight] {
            read(bytes, &ReadOptions { format: Some(format), ..ReadOptions::default() }, &roles);
        }
        for separator in [Separator::Byte(b','), Separator::Byte(b'\t'), Separator::Blanks] {
            let options = ReadOptions {
                format: Some(Format::Delimited),
                separator: Some(separator),
                ..ReadOptions::default()
            };
            read(bytes, &options, &roles);
        }
    }
}

/// Text made of the pieces that matter to the readers.
fn tricky() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"1",
        b"0",
        b"-2.5",
        b"1e400",
        b"nan",
        b"inf",
        b"a",
        b"?",
        b",",
        b",",
        b";",
        b"\t",
        b" ",
        b"  ",
        b"\"",
        b"\"\"",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"1:2",
        b"3:",
        b":",
        b"qid:1",
        b"#",
        b"|",
        b"%",
        b"\xff",
        b"\xc3\xa9",
        b"\xef\xbb\xbf",
        b"0:1",
        b"99999999:1",
        b"4294967295:1",
        b"1700000000.25",
        b"1700000000.5",
        b"\0",
        b"2024-01-01",
    ];
    vec(proptest::sample::select(pieces), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_tricky_text_makes_a_reader_panic(bytes in tricky()) {
        all_ways(&bytes);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..200)) {
        all_ways(&bytes);
    }

    #[test]
    fn no_bytes_behind_a_magic_number_make_a_reader_panic(
        magic in proptest::sample::select(vec![
            &b"\x1f\x8b\x08"[..], b"BZh9", b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04", b"\xff\xfe",
        ]),
        bytes in vec(any::<u8>(), 0..100),
    ) {
        let mut whole = magic.to_vec();
        whole.extend(&bytes);
        read(&whole, &ReadOptions::default(), &Roles::default());
        whole.extend(b"PAR1");
        read(&whole, &ReadOptions::default(), &Roles::default());
    }

    #[test]
    fn no_damage_to_a_parquet_file_makes_the_reader_panic(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = super::parquet::small_file();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let options = ReadOptions { format: Some(Format::Parquet), ..ReadOptions::default() };
        // The date column is no feature; without it all the others are decoded.
        let roles = Roles { drop: vec!["3".into()], label: Some("6".into()), ..Roles::default() };
        let _ = Table::from_bytes("t", bytes, &options, &roles, None);
    }
}
