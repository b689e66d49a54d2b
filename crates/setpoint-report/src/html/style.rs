//! The page's style sheet: its colours, light and dark, then everything else.

use crate::chart::{CSS_VARIABLES, css};

/// Colours of the page alone: card, warning.
const PAGE_VARIABLES: [(&str, &str, &str); 3] =
    [("card", "#f5f7f9", "#1b212a"), ("good", "#0b6b3a", "#6ddc9b"), ("line", "#d5dbe2", "#333d49")];

pub(super) fn sheet() -> String {
    let all = || CSS_VARIABLES.iter().chain(&PAGE_VARIABLES);
    let light: String = all().map(|(name, light, _)| format!("--{name}:{light};")).collect();
    let dark: String = all().map(|(name, _, dark)| format!("--{name}:{dark};")).collect();
    // Paper is white whatever the screen was.
    format!(
        ":root{{color-scheme:light dark;{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{}\n{}",
        include_str!("page.css"),
        css()
    )
}
