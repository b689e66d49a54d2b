use setpoint_report::chart::{Chart, Join, Tone};

use super::*;
use crate::task::UCI;
use crate::{Cell, Entry, Picture, Record};

fn cell(method: Method, seed: u64, outcome: Outcome) -> Entry<Cell, Outcome> {
    let goal = Table::PrAuc.goals()[0].clone();
    Entry { cell: Cell { experiment: Experiment::Uci, task: UCI[4], seed, goal, method }, outcome }
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

fn record() -> Record<Cells<Outcome>> {
    let unable = Outcome::Unable { unable: "its area is not one over fpr".to_owned() };
    let cells = vec![
        cell(Method::CrossEntropy, 3, fitted(0.41)),
        cell(Method::CrossEntropy, 7, fitted(0.43)),
        cell(Method::Pairwise, 3, unable.clone()),
        cell(Method::Pairwise, 7, unable),
        cell(Method::Ico, 3, fitted(0.46)),
        cell(Method::Ico, 7, fitted(0.47)),
    ];
    Record::made(Experiment::Uci, Cells { cells })
}

fn picture() -> Picture {
    let chart = Chart::new("Crime", "It falls.").curve("ico", Tone::Main, vec![(0.0, 1.0)], Join::Line);
    Picture { file: "curve-crime.svg".to_owned(), caption: "Crime, seed 3".to_owned(), chart }
}

#[test]
fn the_page_holds_every_cell_of_every_table() {
    let record = record();
    let page = record.html(&[]);
    let grids = record.results.grids();
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
    let page = record().html(&[]);
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
    let page = record().html(&[picture()]);
    assert!(page.contains("<svg class=\"chart\" role=\"img\"") && page.contains("Crime. It falls."));
    assert!(page.contains("<figcaption>Crime, seed 3</figcaption>"));
    for outside in ["http://", "https://", "src=", ".svg", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!record().html(&[]).contains("<svg"));
}
