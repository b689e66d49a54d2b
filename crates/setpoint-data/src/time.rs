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

/// The time as ISO 8601 has it: a date, with the time of day where it is not midnight.
#[must_use]
pub fn time_text(seconds: f64) -> String {
    let day = (seconds / 86_400.0).floor();
    // Years of an era count from March; see `days`.
    let since = day as i64 + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (date, month) =
        (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = era * 400 + year_of_era + i64::from(month <= 2);
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
    fn what_is_no_time_is_refused() {
        for text in
            ["", "soon", "2023-02-29", "2023-13-01", "2023-1-1", "2023-01-01Tnoon", "2023-01-01T12", "nan"]
        {
            assert_eq!(time_key(text), None, "{text}");
        }
    }
}
