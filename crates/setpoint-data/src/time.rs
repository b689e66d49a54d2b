//! Times as numbers: what `--split-time` sorts by.
//!
//! A time is a number as it stands, or an ISO 8601 date with or without a time
//! of day, turned into seconds since 1970 (UTC unless an offset is given).

/// The sort key of a time, or `None` if it is neither a number nor an ISO date.
#[must_use]
pub fn time_key(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(value) = fast_float2::parse::<f64, _>(text) {
        return value.is_finite().then_some(value);
    }
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| -> Option<i64> {
        let part = bytes.get(from..to)?;
        part.iter().all(u8::is_ascii_digit).then(|| part.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
    };
    let at = |position: usize, byte: u8| bytes.get(position) == Some(&byte);

    let (year, month) = (digits(0, 4)?, digits(5, 7)?);
    if !at(4, b'-') || !(1..=12).contains(&month) {
        return None;
    }
    if bytes.len() == 7 {
        return Some(86_400.0 * days(year, month, 1) as f64);
    }
    let day = digits(8, 10)?;
    if !at(7, b'-') || !(1..=month_length(year, month)).contains(&day) {
        return None;
    }
    let midnight = 86_400.0 * days(year, month, day) as f64;
    if bytes.len() == 10 {
        return Some(midnight);
    }
    if !(at(10, b'T') || at(10, b't') || at(10, b' ')) || !at(13, b':') {
        return None;
    }
    let (hour, minute) = (digits(11, 13)?, digits(14, 16)?);
    let mut next = 16;
    let mut seconds = 0.0;
    if at(16, b':') {
        let end = 17 + bytes[17..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
        digits(17, 19)?;
        seconds = fast_float2::parse::<f64, _>(&bytes[17..end]).ok()?;
        next = end;
    }
    if hour > 24 || minute > 59 || seconds >= 61.0 {
        return None;
    }
    let offset = match bytes.get(next..)? {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), ..] => {
            let colon = usize::from(at(next + 3, b':'));
            let minutes =
                if bytes.len() == next + 3 { 0 } else { digits(next + 3 + colon, next + 5 + colon)? };
            if bytes.len() > next + 5 + colon {
                return None;
            }
            let offset = 60 * (60 * digits(next + 1, next + 3)? + minutes);
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return None,
    };
    Some(midnight + (3600 * hour + 60 * minute - offset) as f64 + seconds)
}

/// A date that people write, with or without a time of day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Written {
    /// Since 1970.
    pub seconds: f64,
    /// Whether day and month are both numbers, of which one had to come first.
    pub ordered: bool,
}

/// Between the parts of a date.
const BETWEEN: [char; 5] = ['/', '.', '-', ' ', ','];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A date as people write it: `31/12/2024`, `12/31/24`, `31.12.2024`, `2024/12/31`, `31 Dec 2024`, `Dec 31, 2024`, or
/// that of ISO 8601; then perhaps a time, `10:30`, `10:30:05` or `10:30 pm`. Years of two digits are 1969 to 2068.
pub(crate) fn written_date(text: &str, day_first: bool) -> Option<Written> {
    let text = text.trim();
    let iso = |seconds: f64| Written { seconds, ordered: false };
    if text.len() < 6 || text.len() > 40 || !text.is_ascii() {
        return None;
    }
    if text.as_bytes()[4] == b'-' && text.len() >= 10 {
        return time_key(text).map(iso);
    }
    let (mut parts, mut between, mut rest) = ([""; 3], [""; 2], text);
    for part in 0..3 {
        // The last one is a number: what follows may be a time.
        let ends = |other: char| BETWEEN.contains(&other) || (part == 2 && !other.is_ascii_digit());
        let end = rest.find(ends).unwrap_or(rest.len());
        (parts[part], rest) = rest.split_at(end);
        if part < 2 {
            let next = rest.find(|other: char| !BETWEEN.contains(&other))?;
            (between[part], rest) = rest.split_at(next);
        }
    }
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let number =
        |part: &str| (!part.is_empty() && part.len() <= 4 && digits(part)).then(|| part.parse::<i64>().ok());
    let named = |part: &str| {
        let part = part.to_ascii_lowercase();
        let month = MONTHS.iter().position(|month| part.len() >= 3 && month.starts_with(&part))?;
        Some(month as i64 + 1)
    };
    let [one, two, three] = parts;
    let same = between[0] == between[1] && ["/", ".", "-"].contains(&between[0]);
    let (year, month, day, ordered) = match (one.len(), named(one), named(two)) {
        (4, None, None) if same => (one, number(two)??, three, false),
        (_, Some(month), _) => (three, month, two, false),
        (_, None, Some(month)) => (three, month, one, false),
        _ if same && day_first => (three, number(two)??, one, true),
        _ if same => (three, number(one)??, two, true),
        _ => return None,
    };
    let short = [one, two].iter().all(|part| part.len() <= 2 || part == &year || named(part).is_some());
    let year = match (year.len(), number(year)??) {
        (4, year) => year,
        (2, year) if between[0] == "/" || !ordered => year + if year < 69 { 2000 } else { 1900 },
        _ => return None,
    };
    let day = number(day).flatten().filter(|_| day.len() <= 2 && short)?;
    let date = format!("{year:04}-{month:02}-{day:02}");
    let clock = rest.trim_start_matches([',', ' ', 'T']).to_ascii_lowercase();
    if clock.is_empty() {
        return time_key(&date).map(|seconds| Written { seconds, ordered });
    }
    let (clock, half) = match (clock.strip_suffix("am"), clock.strip_suffix("pm")) {
        (Some(clock), _) => (clock, Some(0)),
        (_, Some(clock)) => (clock, Some(12)),
        _ => (&*clock, None),
    };
    let (hour, minutes) = clock.trim_end().split_once(':')?;
    let hour = number(hour).flatten().filter(|_| hour.len() <= 2)?;
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    time_key(&format!("{date}T{hour:02}:{minutes}")).map(|seconds| Written { seconds, ordered })
}

/// A part of a date that comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// `01` to `12`.
    Month,
    /// `1 Mon` to `7 Sun`.
    Weekday,
    /// `00` to `23`.
    Hour,
}

impl DatePart {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Month, Self::Weekday, Self::Hour];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Month => "month",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
        }
    }

    /// What its values are called, in alphabetical order.
    pub(crate) fn values(self) -> Vec<String> {
        match self {
            Self::Month => (1..=12).map(|month| format!("{month:02}")).collect(),
            Self::Weekday => {
                ["1 Mon", "2 Tue", "3 Wed", "4 Thu", "5 Fri", "6 Sat", "7 Sun"].map(String::from).to_vec()
            }
            Self::Hour => (0..24).map(|hour| format!("{hour:02}")).collect(),
        }
    }

    /// Which of them a time has; `None` where it is missing.
    pub(crate) fn of(self, seconds: f64) -> Option<u32> {
        // Beyond thirty million years from now there are no dates, and the calendar's arithmetic ends.
        if seconds.is_nan() || seconds.abs() > 1e15 {
            return None;
        }
        let day = (seconds / 86_400.0).floor();
        Some(match self {
            Self::Month => civil(day as i64).1 as u32 - 1,
            // The first day of 1970 was a Thursday.
            Self::Weekday => (day as i64 + 3).rem_euclid(7) as u32,
            Self::Hour => ((seconds - day * 86_400.0) / 3600.0).clamp(0.0, 23.0) as u32,
        })
    }
}

/// The time as ISO 8601 has it: a date, with the time of day where it is not midnight.
#[must_use]
pub fn time_text(seconds: f64) -> String {
    let day = (seconds / 86_400.0).floor();
    let (year, month, date) = civil(day as i64);
    let mut text = format!("{year:04}-{month:02}-{date:02}");
    let rest = seconds - day * 86_400.0;
    if rest > 0.0 {
        let minutes = (rest / 60.0).floor();
        let second = rest - minutes * 60.0;
        text += &format!("T{:02}:{:02}:", minutes as u64 / 60, minutes as u64 % 60);
        text += &if second.fract() == 0.0 { format!("{second:02}") } else { format!("{second:09.6}") };
    }
    text
}

/// Year, month and day of a day since 1970.
fn civil(day: i64) -> (i64, i64, i64) {
    // Years of an era count from March; see `days`.
    let since = day + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (date, month) =
        (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    (era * 400 + year_of_era + i64::from(month <= 2), month, date)
}

fn month_length(year: i64, month: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Count years from March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_become_seconds_since_1970() {
        // date -u -d 2013-08-14T12:34:56 +%s, and so on
        for (text, seconds) in [
            ("1970-01-01", 0.0),
            ("2013-08-14", 1_376_438_400.0),
            ("2013-08-14 12:34:56", 1_376_483_696.0),
            ("2013-08-14T12:34:56.5Z", 1_376_483_696.5),
            ("2013-08-14T12:34:56+02:00", 1_376_476_496.0),
            ("2013-08-14T12:34-0130", 1_376_489_040.0),
            ("2024-02-29", 1_709_164_800.0),
            ("1969-12-31", -86_400.0),
            ("2013-08", 1_375_315_200.0),
            ("17.5", 17.5),
        ] {
            assert_eq!(time_key(text), Some(seconds), "{text}");
        }
        for text in
            ["1970-01-01", "2024-02-29", "1969-12-31", "2013-08-14T12:34:56", "1600-03-01T00:00:00.500000"]
        {
            assert_eq!(time_text(time_key(text).unwrap()), text);
        }
    }

    #[test]
    fn times_that_are_none_have_no_parts() {
        for seconds in [f64::NAN, f64::INFINITY, -1e300, 1e16] {
            assert!(DatePart::ALL.into_iter().all(|part| part.of(seconds).is_none()), "{seconds}");
        }
        let parts = DatePart::ALL.map(|part| part.of(time_key("2024-02-29T23:59:59").unwrap()));
        assert_eq!(parts, [Some(1), Some(3), Some(23)]);
        assert_eq!(DatePart::ALL.map(|part| part.of(-1.0)), [Some(11), Some(2), Some(23)]);
    }

    #[test]
    fn dates_as_people_write_them() {
        let new_year = time_key("2024-12-31").unwrap();
        let at = time_key("2024-12-31T22:05:00").unwrap();
        for (text, seconds) in [
            ("31/12/2024", new_year),
            ("31.12.2024", new_year),
            ("31-12-2024", new_year),
            ("31/12/24", new_year),
            ("2024/12/31", new_year),
            ("2024.12.31", new_year),
            ("2024-12-31", new_year),
            ("31 Dec 2024", new_year),
            ("31-DEC-24", new_year),
            ("December 31, 2024", new_year),
            ("31/12/2024 22:05", at),
            ("31/12/2024 10:05:00 PM", at),
            ("Dec 31, 2024, 10:05pm", at),
            ("2024/12/31T22:05:00", at),
        ] {
            assert_eq!(written_date(text, true).map(|found| found.seconds), Some(seconds), "{text}");
        }
        let ordered = |text, first| written_date(text, first).map(|found| (found.seconds, found.ordered));
        assert_eq!(ordered("1/2/2024", true), Some((time_key("2024-02-01").unwrap(), true)));
        assert_eq!(ordered("1/2/2024", false), Some((time_key("2024-01-02").unwrap(), true)));
        assert_eq!(ordered("12/31/2024 12:00 am", false), Some((new_year, true)));
        assert!(!written_date("31 Dec 2024", false).unwrap().ordered);
        for text in [
            "12/31/2024",
            "31/12/024",
            "1.2.3",
            "01.02.03",
            "10-20-30",
            "1 000 000",
            "1.000.000",
            "12 10 2000",
            "123-45-6789",
            "31/12-2024",
            "2024",
            "20241231",
            "29/2/2023",
            "31 Foo 2024",
            "may",
            "1/2/2024 noon",
            "1/2/2024 13:00 pm",
            "192.168.1.10",
            "",
            "\u{fc}ber/1/20",
            "31/12/2024 25:00",
        ] {
            assert_eq!(written_date(text, true), None, "{text}");
        }
    }

    #[test]
    fn parts_of_dates() {
        // date -u -d '2024-02-29T23:59:59' '+%m %u %H', and so on
        for (text, parts) in [
            ("2024-02-29T23:59:59", [1, 3, 23]),
            ("1969-12-31", [11, 2, 0]),
            ("1970-01-01T05:00:00", [0, 3, 5]),
        ] {
            let seconds = time_key(text).unwrap();
            assert_eq!(DatePart::ALL.map(|part| part.of(seconds)), parts.map(Some), "{text}");
        }
        assert_eq!(DatePart::Hour.of(f64::NAN), None);
        for part in DatePart::ALL {
            assert!(part.values().is_sorted());
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "soon", "2023-02-29", "2023-13-01", "2023-1-1", "2023-01-01Tnoon", "2023-01-01T12", "nan"]
        {
            assert_eq!(time_key(text), None, "{text}");
        }
    }
}
