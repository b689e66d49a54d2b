//! Charts as small SVG drawings: inside a page, or as files of their own.
//!
//! A chart is plain data until it is drawn. In a page its colours are the page's CSS variables, so
//! that it follows light and dark; as a file ([`Chart::to_svg`]) it has them built in, on white.
//! Every text is escaped, every chart carries its description for screen readers, and every curve
//! is thinned to what can be seen ([`Thinner`]).
//!
//! ```
//! use setpoint_report::chart::{Axis, Chart, Dot, Join, Scale, Tone};
//!
//! let unit = Scale::linear(0.0, 1.0);
//! let svg = Chart::new("Precision against recall", "Precision falls from 100% to 20% as recall grows.")
//!     .axes(Axis::percent("recall", unit), Axis::percent("precision", unit))
//!     .curve("Setpoint", Tone::Main, vec![(0.0, 1.0), (0.6, 0.9), (1.0, 0.2)], Join::Before)
//!     .dashed("chance", Tone::Quiet, vec![(0.0, 0.1), (1.0, 0.1)])
//!     .dots("shipped", Tone::Main, vec![Dot { along: Some((0.85, 0.94)), ..Dot::new(0.6, 0.9) }])
//!     .to_svg();
//! assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
//! // A zoom is the same chart over a smaller range; what lies outside is clipped.
//! # let _ =
//! Axis::percent("recall", Scale::linear(0.95, 1.0));
//! ```

mod axis;
mod draw;
mod layout;
mod mark;
mod scale;
mod style;
mod thin;

pub use axis::Axis;
pub use mark::{Dot, Join, Tone};
pub use scale::Scale;
pub use thin::Thinner;

pub(crate) use layout::Plot;
pub(crate) use style::{CSS_VARIABLES, css};

use mark::{Mark, Note, Series};

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    title: String,
    description: String,
    width: f64,
    height: f64,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    notes: Vec<Note>,
}

impl Chart {
    /// An empty chart: its title, and what it shows in words for those who cannot see it.
    #[must_use]
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        let unit = Scale::linear(0.0, 1.0);
        Self {
            title: title.into(),
            description: description.into(),
            width: 440.0,
            height: 320.0,
            x: Axis::number("", unit),
            y: Axis::number("", unit),
            series: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Its axes.
    #[must_use]
    pub fn axes(self, x: Axis, y: Axis) -> Self {
        Self { x, y, ..self }
    }

    /// Its size in units of which a line of text is 12 high; at least 200 by 120.
    #[must_use]
    pub fn size(self, width: f64, height: f64) -> Self {
        Self { width: width.max(200.0), height: height.max(120.0), ..self }
    }

    /// Adds a curve. An empty name leaves it out of the legend; so with every mark.
    #[must_use]
    pub fn curve(self, name: impl Into<String>, tone: Tone, points: Vec<(f64, f64)>, join: Join) -> Self {
        self.mark(name, tone, Mark::Curve { points, join, dashed: false })
    }

    /// Adds a dashed line through these points.
    #[must_use]
    pub fn dashed(self, name: impl Into<String>, tone: Tone, points: Vec<(f64, f64)>) -> Self {
        self.mark(name, tone, Mark::Curve { points, join: Join::Line, dashed: true })
    }

    /// Adds a band: at each x, from one height to another.
    #[must_use]
    pub fn band(self, name: impl Into<String>, tone: Tone, points: Vec<(f64, f64, f64)>) -> Self {
        self.mark(name, tone, Mark::Band(points))
    }

    /// Adds points.
    #[must_use]
    pub fn dots(self, name: impl Into<String>, tone: Tone, dots: Vec<Dot>) -> Self {
        self.mark(name, tone, Mark::Dots(dots))
    }

    /// Adds bars, each from one x to another with a height.
    #[must_use]
    pub fn bars(self, name: impl Into<String>, tone: Tone, bars: Vec<(f64, f64, f64)>) -> Self {
        self.mark(name, tone, Mark::Bars(bars))
    }

    /// Adds a line across the chart at this x.
    #[must_use]
    pub fn upright(self, name: impl Into<String>, tone: Tone, x: f64) -> Self {
        self.mark(name, tone, Mark::Upright(x))
    }

    /// Adds a line across the chart at this y.
    #[must_use]
    pub fn level(self, name: impl Into<String>, tone: Tone, y: f64) -> Self {
        self.mark(name, tone, Mark::Level(y))
    }

    /// Adds a text beside a place.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>, tone: Tone, x: f64, y: f64) -> Self {
        self.notes.push(Note { x, y, text: text.into(), tone });
        self
    }

    fn mark(mut self, name: impl Into<String>, tone: Tone, mark: Mark) -> Self {
        self.series.push(Series { mark, name: name.into(), tone });
        self
    }

    /// A complete SVG file, with its title drawn and colours for a white page.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::file(self)
    }

    /// Its title, which the drawing inside a page leaves to the page.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The drawing inside a page that has [`css`] and its variables.
    pub(crate) fn inline(&self) -> maud::Markup {
        draw::inline(self)
    }

    /// Where the drawing's plot lies inside a page.
    pub(crate) fn plot(&self) -> Plot {
        Plot::of(self, false)
    }
}
