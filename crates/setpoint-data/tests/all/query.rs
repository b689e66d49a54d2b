//! Ranking data: queries by column, by `qid` and by size; grades and what is relevant.

use setpoint_data::{Encoder, LabelRule, Positive, QuerySource, ReadOptions, Roles, SplitPlan, Table};

use crate::{all_rows, label, table};

fn by(column: &str) -> Roles {
    Roles { queries: Some(QuerySource::Column(column.to_owned())), ..label("y") }
}

fn error(text: &str, roles: &Roles) -> String {
    table(text, roles).unwrap_err().to_string()
}

#[test]
fn rows_of_a_query_need_not_follow_each_other_and_queries_stay_whole() {
    let mut text = "q,y,x\n".to_owned();
    for row in 0..200 {
        text += &format!("q{},{},{row}\n", row % 23, row % 3);
    }
    let table = table(&text, &by("q")).unwrap();
    let queries = table.queries().unwrap();
    assert_eq!((queries.names.len(), queries.column.as_str(), table.columns()), (23, "q", 1));
    assert_eq!(table.grades().unwrap()[..4], [0.0, 1.0, 2.0, 0.0]);
    assert_eq!(table.labels().unwrap()[..4], [false, true, true, false]);
    let parts = SplitPlan::default().split(&table, 5).unwrap();
    let mut part_of = [None; 23];
    for (name, rows) in parts.iter() {
        for row in rows {
            assert_eq!(*part_of[queries.of[*row as usize] as usize].get_or_insert(name), name);
        }
    }
}

#[test]
fn sizes_beside_the_data_are_queries_and_rows_without_a_label_leave_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = folder.path().join("t.query");
    let read = |sizes_text: &str, text: &str| {
        std::fs::write(&sizes, sizes_text).unwrap();
        let roles = Roles { queries: Some(QuerySource::Sizes(sizes.clone())), ..label("y") };
        table(text, &roles)
    };
    let text = "y,x\n2,1\n,2\n0,3\n1,4\n3,5\n";
    let found = read("3\n\n2\n", text).unwrap();
    assert_eq!(found.queries().unwrap().of, [0, 0, 1, 1]);
    assert_eq!(found.grades().unwrap(), [2.0, 0.0, 1.0, 3.0]);
    for (sizes, said) in [
        ("3\n3\n", "t.query: its queries have 6 rows together, but t.csv has 5"),
        ("3\n", "t.query: its queries have 3 rows together, but t.csv has 5"),
        ("3\nx\n", "t.query:2: \"x\": expected the number of rows of a query"),
        ("3\n-2\n", "t.query:2: \"-2\": expected the number of rows of a query"),
        ("99999999999\n", "expected the number of rows"),
    ] {
        let error = read(sizes, text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    std::fs::write(&sizes, "1\n2\n").unwrap();
    let roles = Roles { queries: Some(QuerySource::Sizes(sizes)), ..Roles::default() };
    let sparse = table("2 1:1 3:1\n0 1:2\n1 1:0\n", &roles).unwrap();
    assert_eq!(
        (&sparse.queries().unwrap().of[..], sparse.grades().unwrap()),
        (&[0, 1, 1][..], &[2.0, 0.0, 1.0][..])
    );
}

#[test]
fn what_is_relevant_is_what_the_user_says_and_grades_stay() {
    let text = "q,y,x\na,0,1\na,2,2\nb,1,3\nb,0,4\n";
    let read = |positive: Positive| {
        let table = table(text, &Roles { positive, ..by("q") }).unwrap();
        (table.labels().unwrap().to_vec(), table.grades().unwrap().to_vec())
    };
    let grades = vec![0.0, 2.0, 1.0, 0.0];
    assert_eq!(read(Positive::Auto), (vec![false, true, true, false], grades.clone()));
    assert_eq!(read(">=2".parse().unwrap()), (vec![false, true, false, false], grades.clone()));
    assert_eq!(read("1".parse().unwrap()), (vec![false, false, true, false], grades));
    // Labels that are no grades are yes or no.
    let words = text.replace(",0,", ",no,").replace(",1,", ",yes,").replace(",2,", ",yes,");
    let found = table(&words, &by("q")).unwrap();
    assert_eq!(found.grades().unwrap(), [0.0, 1.0, 1.0, 0.0]);
    assert!(matches!(found.label().unwrap().rule, LabelRule::Pair { .. }));
    let signs = text.replace(",0,", ",-1,");
    let found = table(&signs, &Roles { positive: ">0".parse().unwrap(), ..by("q") }).unwrap();
    assert_eq!(found.grades().unwrap(), [0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn grades_and_queries_that_are_none_are_refused_by_name() {
    for (text, said) in [
        (
            "q,y,x\na,-1,1\na,2,2\n",
            "t.csv: label column \"y\" holds \"-1\", and grades are numbers from 0 on",
        ),
        ("q,y,x\na,good,1\na,2,2\n", "holds \"good\", and grades are numbers from 0 on"),
        ("q,y,x\n,1,1\na,2,2\n", "the query is missing"),
        ("k,y,x\na,1,1\n", "no column \"q\" (‹query›)"),
    ] {
        let error = error(text, &by("q"));
        assert!(error.contains(said), "{error}");
    }
    let own = Roles { queries: Some(QuerySource::Own), ..label("y") };
    let said =
        "queries are not named, and a goal per query needs to know which rows are of one: name their column";
    assert!(error("q,y,x\na,1,1\n", &own).contains(said));
    let own = Roles { queries: Some(QuerySource::Own), ..Roles::default() };
    assert!(error("1 1:1\n0 1:2\n", &own).contains("it has no qid"));
    assert!(table("1 qid:4 1:1\n0 qid:4 1:2\n", &own).unwrap().grades().is_some());
    let other = Roles { queries: Some(QuerySource::Column("q".into())), ..Roles::default() };
    assert!(error("1 qid:4 1:1\n", &other).contains("‹query› does not apply to this SVMLight file"));
}

#[test]
fn another_file_is_read_by_the_rule_of_the_first() {
    let first =
        table("q,y,x\na,0,1\na,2,2\nb,1,3\nb,0,4\n", &Roles { positive: ">=2".parse().unwrap(), ..by("q") });
    let first = first.unwrap();
    let encoder = Encoder::fit(&first, &all_rows(&first)).unwrap();
    let encoder: Encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
    let read = |text: &str, roles: &Roles| {
        let bytes = text.as_bytes().to_vec();
        Table::from_bytes("n.csv", bytes, &ReadOptions::default(), roles, Some(&encoder))
    };
    let more = read("x,q,y\n1,z,1\n2,z,3\n", &by("q")).unwrap();
    assert_eq!((more.labels().unwrap(), more.grades().unwrap()), (&[false, true][..], &[1.0, 3.0][..]));
    assert!(read("x,q,y\n1,z,-1\n", &by("q")).unwrap_err().to_string().contains("holds \"-1\""));
    // To predict, queries are enough.
    let roles = Roles { queries: Some(QuerySource::Column("q".into())), ..Roles::default() };
    let data = encoder.encode(read("x,q\n1,z\n2,z\n", &roles).unwrap()).unwrap();
    assert_eq!(data.queries.unwrap().of, [0, 0]);
    assert!(data.sample.is_none());
}

#[test]
fn too_few_queries_for_the_parts_are_refused_as_such() {
    let found = table("q,y,x\na,1,1\na,0,2\nb,1,3\nb,0,4\n", &by("q")).unwrap();
    let error = SplitPlan::default().split(&found, 0).unwrap_err().to_string();
    assert_eq!(
        error,
        "there are 2 different values of the column \"q\", whose rows stay together: too few for 3 parts"
    );
}
