//! A text with carets under one place of it, on two lines whatever the text holds.
//!
//! Columns are characters. Every character prints as exactly one: line breaks,
//! tabs and the like as a space, so that the carets stay below what they mean.
//! Of a long text only the surroundings of the place are shown.

use std::ops::Range;

use crate::message::clip;

/// Most characters of the line above the carets.
const LINE_WIDTH: usize = 76;

const MARGIN: &str = "  ";

/// The text in double quotes on one line, cut if long.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", clip(text))
}

/// Two lines: the text, and carets under the characters of `span` (bytes; one caret if empty).
pub(super) fn draw(text: &str, span: &Range<usize>) -> String {
    let chars: Vec<char> = text.chars().map(printable).collect();
    let before = |byte: usize| text.char_indices().take_while(|(at, _)| *at < byte).count();
    let start = before(span.start);
    let end = before(span.end).max(start + 1);

    // The window shows the start of the place with about a third of the line before it.
    let mut from = 0;
    if chars.len() > LINE_WIDTH {
        from = start.saturating_sub(LINE_WIDTH / 3).min(chars.len() - LINE_WIDTH);
    }
    let to = (from + LINE_WIDTH).min(chars.len());
    let mut shown: Vec<char> = chars[from..to].to_vec();
    if let Some(first) = shown.first_mut().filter(|_| from > 0) {
        *first = '…';
    }
    if let Some(last) = shown.last_mut().filter(|_| to < chars.len()) {
        *last = '…';
    }
    let line: String = shown.into_iter().collect();
    let carets = end.min(to.max(start + 1)) - start;
    format!("{MARGIN}{}\n{MARGIN}{}{}", line.trim_end(), " ".repeat(start - from), "^".repeat(carets))
}

/// The character, or a space where it would break the line or hide its neighbours.
fn printable(c: char) -> char {
    let breaks = c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let turns =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if breaks || turns { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, of: &str) -> Range<usize> {
        let start = text.find(of).unwrap();
        start..start + of.len()
    }

    #[test]
    fn carets_stand_under_characters_not_bytes() {
        let text = "fpr(größe) ≤ 2";
        assert_eq!(draw(text, &place(text, "2")), "  fpr(größe) ≤ 2\n               ^");
        assert_eq!(draw(text, &place(text, "größe")), "  fpr(größe) ≤ 2\n      ^^^^^");
    }

    #[test]
    fn a_missing_end_has_one_caret_behind_the_text() {
        assert_eq!(draw("recall @", &(8..8)), "  recall @\n          ^");
        assert_eq!(draw("", &(0..0)), "  \n  ^");
    }

    #[test]
    fn line_breaks_and_tabs_keep_to_one_line_and_one_column() {
        let text = "recall\n@\tfpr\r\n<=2";
        assert_eq!(draw(text, &place(text, "2")), "  recall @ fpr  <=2\n                  ^");
        assert_eq!(quote(text), "\"recall\\n@\\tfpr\\r\\n<=2\"");
    }

    #[test]
    fn a_long_text_is_cut_around_the_place() {
        let text = format!("{} here {}", "a".repeat(500), "b".repeat(500));
        let drawn = draw(&text, &place(&text, "here"));
        let (line, carets) = drawn.split_once('\n').unwrap();
        assert_eq!(line.chars().count(), MARGIN.len() + LINE_WIDTH);
        let columns = carets.find('^').unwrap()..=carets.rfind('^').unwrap();
        let under: String = line.chars().collect::<Vec<_>>()[columns].iter().collect();
        assert_eq!(under, "here");
        assert!(line.contains("…a") && line.ends_with("b…"), "{line}");
        assert!(quote(&text).chars().count() < LINE_WIDTH);
    }

    #[test]
    fn a_place_longer_than_the_line_ends_with_it() {
        let text = "x".repeat(1000);
        let drawn = draw(&text, &(0..1000));
        assert!(drawn.lines().all(|line| line.chars().count() <= MARGIN.len() + LINE_WIDTH), "{drawn}");
        let behind = draw(&text, &(1000..1000));
        let columns: Vec<usize> = behind.lines().map(|line| line.chars().count()).collect();
        assert_eq!(columns[1], columns[0] + 1, "{behind}");
    }
}
