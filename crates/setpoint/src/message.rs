//! Values as messages show them: on one line, and short whatever they hold.
//!
//! A message repeats what it is about, and that may be anything: a field of megabytes, a name with
//! line breaks, 1e300, a confidence that differs from 1 in the sixteenth digit. Errors repeat texts
//! and numbers through here.
//!
//! A message names a setting in angle quotes, with its value if there is one: ‹batch-size 8›. It is for a
//! front end to [`spell`] it: `--batch-size 8`, `batch_size=8`.

use std::fmt::{Display, LowerExp};

/// Most characters of a text that is repeated.
const WIDTH: usize = 60;

/// Most decimals of a percentage.
const DECIMALS: u32 = 30;

/// The text in double quotes on one line, cut if long.
#[must_use]
pub fn quote(text: &str) -> String {
    let (start, cut) = start(text, WIDTH);
    let quoted = format!("{start:?}").replace('‹', "\\u{2039}");
    if cut { format!("{}…\"", &quoted[..quoted.len() - 1]) } else { quoted }
}

/// The text on one line with nothing in it that a terminal obeys, cut if long.
#[must_use]
pub fn clip(text: &str) -> String {
    clip_to(text, WIDTH)
}

/// The same with other room.
pub(crate) fn clip_to(text: &str, width: usize) -> String {
    let (start, cut) = start(text, width);
    let shown = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        '‹' => "\\u{2039}".to_owned(),
        _ => c.escape_debug().to_string(),
    };
    let line: String = start.chars().map(shown).collect();
    if cut { line + "…" } else { line }
}

/// As much of a text as there is room for, and whether that is not all.
fn start(text: &str, width: usize) -> (&str, bool) {
    match text.char_indices().nth(width) {
        // The mark that something is missing takes the last place.
        Some(_) => {
            let end = text.char_indices().nth(width - 1).map_or(0, |(end, _)| end);
            (&text[..end], true)
        }
        None => (text, false),
    }
}

/// A setting with its value, which may be empty, as messages name it.
#[must_use]
pub fn setting(name: &str, value: &str) -> String {
    format!("‹{}›", format!("{name} {}", clip(value)).trim_end())
}

/// A message with the settings in it spelled by a function of their names and values.
#[must_use]
pub fn spell(message: &str, spelled: impl Fn(&str, Option<&str>) -> String) -> String {
    let mut pieces = message.split('‹');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (named, rest) = piece.split_once('›').unwrap_or((piece, ""));
        let (name, value) = named.split_once(' ').map_or((named, None), |(name, value)| (name, Some(value)));
        text += &spelled(name, value);
        text += rest;
    }
    text
}

/// The shortest decimal that reads back as `value`: `0.02`, `0.30000000000000004`, `1e300`.
#[must_use]
pub fn number<T: Copy + Into<f64> + Display + LowerExp>(value: T) -> String {
    let size = value.into().abs();
    match size {
        0.0 => "0".to_owned(),
        _ if size.is_finite() && !(1e-4..1e9).contains(&size) => format!("{value:e}"),
        _ => value.to_string(),
    }
}

/// How many: `1 row`, `2 rows`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A few of the names with commas between, each cut if long, and how many more there are.
#[must_use]
pub fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| clip(name)).collect();
    if names.len() > SHOWN {
        shown.push(format!("and {} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

/// A probability as a percentage, with the digits that tell it from 0% and from 100%, and no more:
/// `95%`, `98.33%`, `99.9999999%`.
#[must_use]
pub fn percent(value: f64) -> String {
    match value {
        0.0 => "0%".to_owned(),
        _ if value > 0.5 => percent_but(1.0 - value),
        _ => match digits(value) {
            Some((digits, decimals)) => format!("{}%", decimal(digits, decimals)),
            None => format!("{:.0e}%", 100.0 * value),
        },
    }
}

/// `1 - rest` as a percentage: where `rest` is small, closer to 100% than a number can tell.
#[must_use]
pub fn percent_but(rest: f64) -> String {
    let (digits, decimals) = if rest == 0.0 { (0, 0) } else { digits(rest).unwrap_or((1, DECIMALS)) };
    format!("{}%", decimal((100 * 10u128.pow(decimals)).saturating_sub(digits), decimals))
}

/// A probability in percent as a whole number and its decimals: the fewest that show it to half a
/// per cent of itself.
fn digits(value: f64) -> Option<(u128, u32)> {
    (0..=DECIMALS).find_map(|decimals| {
        let scaled = 100.0 * value * 10f64.powi(decimals as i32);
        let close = (scaled.round() - scaled).abs() <= 0.005 * scaled;
        close.then_some((scaled.round() as u128, decimals))
    })
}

/// `12345` with 2 decimals is `123.45`.
fn decimal(digits: u128, decimals: u32) -> String {
    if decimals == 0 {
        return digits.to_string();
    }
    let one = 10u128.pow(decimals);
    format!("{}.{:0places$}", digits / one, digits % one, places = decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_on_one_line_and_short() {
        assert_eq!(quote("two words"), "\"two words\"");
        assert_eq!(quote("a\n\"b\"\t\u{1b}[2J"), r#""a\n\"b\"\t\u{1b}[2J""#);
        assert_eq!(clip("a\n\"b\"\u{202e}"), "a\\n\"b\"\\u{202e}");
        let long = "größer ".repeat(1000);
        for text in [clip(&long), quote(&long)] {
            assert!(text.chars().count() <= WIDTH + 2 && text.contains('…'), "{text}");
        }
        let just = "x".repeat(WIDTH);
        assert_eq!(clip(&just), just);
        assert_eq!(clip(&format!("{just}x")).chars().count(), WIDTH);
    }

    #[test]
    fn settings_are_spelled_by_the_front_end() {
        let flag = |name: &str, value: Option<&str>| match value {
            Some(value) => format!("--{name} {value}"),
            None => format!("--{name}"),
        };
        let message = format!("{}: give ‹size›, not `this` or {}", setting("pool", "0"), quote("‹seed›"));
        let spelled = r#"--pool 0: give --size, not `this` or "\u{2039}seed›""#;
        assert_eq!(spell(&message, flag), spelled);
        assert_eq!(setting("pool", ""), "‹pool›");
    }

    #[test]
    fn numbers_stay_short() {
        for (value, text) in [(1e300, "1e300"), (-0.0, "0"), (1.5, "1.5"), (1e-9, "1e-9"), (1e8, "100000000")]
        {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(f32::MAX), "3.4028235e38");
        assert_eq!(number(0.1f32), "0.1");
        assert_eq!((number(f64::NAN), number(f64::INFINITY)), ("NaN".to_owned(), "inf".to_owned()));
    }

    #[test]
    fn percentages_keep_the_digits_that_matter() {
        for (value, text) in [
            (0.95, "95%"),
            (0.975, "97.5%"),
            (0.999, "99.9%"),
            (0.57, "57%"),
            (0.0, "0%"),
            (1.0, "100%"),
            (0.99999, "99.999%"),
            (1.0 - 0.05 / 3.0, "98.33%"),
            (1e-7, "0.00001%"),
            (1e-300, "1e-298%"),
        ] {
            assert_eq!(percent(value), text);
        }
        assert_eq!(percent(1.0 - 1e-9), "99.9999999%");
    }

    #[test]
    fn what_is_less_than_certain_never_reads_100() {
        // The last number below 1, and a third of its distance to 1, which has no number of its own.
        let rest = 1.0 - 1f64.next_down();
        for text in
            [percent(1f64.next_down()), percent_but(rest / 3.0), percent_but(1e-25), percent_but(1e-90)]
        {
            assert!(text.starts_with("99.9999999999999") && text.len() < 36, "{text}");
        }
    }
}
