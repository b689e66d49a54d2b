//! The record as one self-contained page: what the Markdown document holds, with the pictures inside.

use setpoint_report::{Page, Part, Table};

use super::picture::Picture;
use super::record::Record;
use super::table::{TITLE, circumstances, grids, procedure};

/// The record as an HTML page.
#[must_use]
pub fn html(record: &Record, pictures: &[Picture]) -> String {
    let mut page = Page::new(TITLE, circumstances(record), &record.version);
    for grid in grids(record) {
        page = page.part(Part::new(&grid.title).table(grid.holds, grid.columns()).text(&grid.note));
    }
    if !pictures.is_empty() {
        let charts = pictures.iter().map(|picture| (picture.chart.clone(), picture.caption.clone()));
        page = page.part(Part::new("Pictures").charts(charts.collect()));
    }
    let how = Part::new("How it was run").command(&record.command);
    page = page.part(procedure(record).into_iter().fold(how, Part::text));
    page.part(Part::new("Files").table("The data files and their SHA-256", files(record))).to_html()
}

fn files(record: &Record) -> Table {
    let mut table = Table::new(["file", "SHA-256"]);
    for file in record.files.values().flatten() {
        table.row([file.name.clone(), file.sha256.clone()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use setpoint_report::chart::{Chart, Join, Tone};

    use super::*;
    use crate::uci::cell::{Fitted, Outcome};
    use crate::uci::goals;
    use crate::uci::record::{CellRecord, FileRecord};

    fn cell(method: &'static str, seed: u64, outcome: Outcome) -> CellRecord {
        CellRecord { set: "crime", seed, goal: goals::Table::PrAuc.goals()[0].clone(), method, outcome }
    }

    fn fitted(test: f64) -> Outcome {
        Outcome::Fitted(Fitted {
            setting: "rate 0.1".to_owned(),
            validation: 0.5,
            test,
            fits: 4,
            failed: 0,
            evaluations: 400,
            seconds: 1.5,
            parameters: Vec::new(),
        })
    }

    fn record() -> Record {
        let unable = Outcome::Unable { unable: "its area is not one over fpr".to_owned() };
        let file = FileRecord { name: "<i>crime.data".to_owned(), sha256: "0123abcd".repeat(8) };
        Record {
            experiment: "uci".to_owned(),
            date: "2026-02-28".to_owned(),
            version: "0.1.0".to_owned(),
            command: "setpoint reproduce uci --output <script>alert(1)</script>".to_owned(),
            threads: 2,
            seeds: vec![3, 7],
            files: [("crime".to_owned(), vec![file])].into(),
            cells: vec![
                cell("cross-entropy", 3, fitted(0.41)),
                cell("cross-entropy", 7, fitted(0.43)),
                cell("pairwise", 3, unable.clone()),
                cell("pairwise", 7, unable),
                cell("ico", 3, fitted(0.46)),
                cell("ico", 7, fitted(0.47)),
            ],
        }
    }

    fn picture() -> Picture {
        let chart = Chart::new("Crime", "It falls.").curve("ico", Tone::Main, vec![(0.0, 1.0)], Join::Line);
        Picture { file: "curve-crime.svg".to_owned(), caption: "Crime, seed 3".to_owned(), chart }
    }

    #[test]
    fn the_page_holds_every_cell_of_every_table() {
        let record = record();
        let page = html(&record, &[]);
        let grids = grids(&record);
        assert_eq!(grids.len(), 3);
        for grid in grids {
            // Text on the page: an apostrophe needs no escaping there.
            let start = page.find(&format!("-heading\">{}</h2>", grid.title)).expect(&grid.title);
            let part = page[start..].split("</section>").next().unwrap();
            for heading in &grid.heading {
                assert!(part.contains(&format!("<th scope=\"col\">{heading}</th>")), "{heading} in {part}");
            }
            for row in &grid.rows {
                let cells: String = row[1..].iter().map(|cell| format!("<td>{cell}</td>")).collect();
                let row = format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", row[0]);
                assert!(part.contains(&row), "{row} in {part}");
            }
            assert!(part.contains(&grid.note), "{}", grid.note);
        }
        assert!(page.contains("<td>42.00 ± 1.41</td>"));
    }

    #[test]
    fn the_page_says_what_was_run_and_keeps_it_text() {
        let page = html(&record(), &[]);
        assert!(page.contains("--output &lt;script&gt;alert(1)&lt;/script&gt;</code>"));
        assert!(page.contains("&lt;i&gt;crime.data") && page.contains(&"0123abcd".repeat(8)));
        assert!(!page.contains("<script>alert") && !page.contains("<i>"));
        for words in
            ["2026-02-28, setpoint 0.1.0, 2 cells at a time", "with seeds 3, 7;", "<code>uci.json</code>"]
        {
            assert!(page.contains(words), "{words}");
        }
    }

    #[test]
    fn the_pictures_are_inside_and_nothing_is_fetched() {
        let page = html(&record(), &[picture()]);
        assert!(page.contains("<svg class=\"chart\" role=\"img\"") && page.contains("Crime. It falls."));
        assert!(page.contains("<figcaption>Crime, seed 3</figcaption>"));
        for outside in ["http://", "https://", "src=", ".svg", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(!html(&record(), &[]).contains("<svg"));
    }
}
