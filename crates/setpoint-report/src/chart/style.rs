//! Colours and lines of charts: one style sheet, in a page by variables, in a file by values.

use super::mark::Tone;

/// Colours of a light and a dark page, by the names of their CSS variables.
///
/// Text against its page is 4.5 to 1 or better; curves are 3 to 1 or better.
pub(crate) const CSS_VARIABLES: [(&str, &str, &str); 10] = [
    ("page", "#ffffff", "#12161c"),
    ("ink", "#1b2430", "#e8ecf1"),
    ("soft", "#566273", "#a3afbf"),
    ("grid", "#dfe4ea", "#2c3540"),
    ("main", "#0b5fc0", "#6cb2ff"),
    ("other", "#b85600", "#f7a650"),
    ("third", "#0b7a6c", "#4fd1bd"),
    ("fourth", "#7b3fb5", "#c79bf2"),
    ("limit", "#b3261e", "#ff8a80"),
    ("quiet", "#7a8594", "#8b97a6"),
];

const SHAPES: &str = "\
.chart{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}
.chart text{fill:var(--ink)}
.chart .tick{fill:var(--soft);font-variant-numeric:tabular-nums}
.chart .title{font-size:14px;font-weight:600}
.chart .paper{fill:var(--page)}
.chart .grid{stroke:var(--grid);stroke-width:1;fill:none}
.chart .frame{stroke:var(--soft);stroke-width:1;fill:none}
.chart .curve{fill:none;stroke-width:2;stroke-linejoin:round}
.chart .dashed,.chart .rule{stroke-width:1.5;stroke-dasharray:5 4}
.chart .band{stroke:none;opacity:.18}
.chart .bar{stroke:none;opacity:.5}
.chart .error{stroke-width:1.5;fill:none}
.chart .dot{stroke:var(--page);stroke-width:1.5}
.chart .note{stroke:var(--page);stroke-width:4px;stroke-linejoin:round;paint-order:stroke}
";

/// The style sheet, with variables.
pub(crate) fn css() -> String {
    let mut sheet = SHAPES.to_owned();
    for tone in Tone::ALL {
        let class = tone.class();
        sheet += &format!(
            ".chart .curve.{class},.chart .rule.{class},.chart .error.{class}{{stroke:var(--{class})}}\n\
             .chart .band.{class},.chart .bar.{class},.chart .dot.{class},.chart text.{class}{{fill:var(--{class})}}\n"
        );
    }
    sheet
}

/// The style sheet, with the colours of a light page.
pub(super) fn light() -> String {
    let with = |sheet: String, (name, light, _): &(&str, &str, &str)| {
        sheet.replace(&format!("var(--{name})"), light)
    };
    CSS_VARIABLES.iter().fold(css(), with)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |from: usize| {
            let value = f64::from(u8::from_str_radix(&colour[from..from + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn colours_stand_out_on_their_page() {
        let (_, light, dark) = CSS_VARIABLES[0];
        for (name, on_light, on_dark) in &CSS_VARIABLES[1..] {
            let least = match *name {
                "grid" => 1.2,
                "quiet" => 3.0,
                _ => 4.5,
            };
            for (colour, page) in [(on_light, light), (on_dark, dark)] {
                let found = contrast(colour, page);
                assert!(found >= least, "{name} on {page}: {found:.2}");
            }
        }
    }

    #[test]
    fn a_file_names_no_variables() {
        assert!(!light().contains("var("));
    }
}
