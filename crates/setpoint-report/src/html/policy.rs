//! The page's security policy: nothing is loaded, and only the page's own script and style count.

use sha2::{Digest, Sha256};

pub(super) fn policy(script: &str, style: &str) -> String {
    let (script, style) = (hash(script), hash(style));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

fn hash(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize] as char;
            text.push(if place > three.len() { '=' } else { digit });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
