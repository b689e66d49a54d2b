//! The language by example: every form that parses, every message, and no panic on anything.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::goal::arbitrary::goals;

fn parse(text: &str) -> Goal {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> ParseError {
    match text.parse::<Goal>() {
        Ok(goal) => panic!("{text:?} parsed as {goal:?}"),
        Err(error) => error,
    }
}

/// The message without the lines that show the place, and the place.
fn fault(text: &str) -> (String, String) {
    let error = error(text);
    (error.kind.to_string(), error.input[error.span].to_owned())
}

#[test]
fn every_example_of_the_design_prints_in_its_short_form() {
    for (text, printed) in [
        ("recall @ fpr<=1%", "recall @ fpr<=1%"),
        ("fnr @ fpr=0.01", "fnr @ fpr=1%"),
        ("precision @ recall>=0.95", "precision @ recall>=0.95"),
        ("precision @ k=100", "precision @ k=100"),
        ("precision @ k=100 of 5000", "precision @ k=100 of 5000"),
        ("precision @ top=5%", "precision @ top=5%"),
        ("recall @ precision>=0.9", "recall @ precision>=0.9"),
        ("pr-auc @ recall in 0.95..1", "pr-auc @ recall in 0.95..1"),
        ("roc-auc @ fpr in 0..5%", "roc-auc @ fpr in 0..5%"),
        ("roc-auc @ recall in 0.8..1", "roc-auc @ recall in 0.8..1"),
        ("f1", "f1"),
        ("error @ positive-rate<=10%", "error @ positive-rate<=10%"),
        ("recall @ precision>=0.9, fpr<=2%", "recall @ precision>=0.9, fpr<=2%"),
        ("recall @ fpr(sex)<=2%", "recall @ fpr(sex)<=2%"),
        ("accuracy @ gap(positive-rate, sex)<=0.02", "accuracy @ gap(positive-rate, sex)<=0.02"),
        ("accuracy @ ratio(positive-rate, sex)>=0.8", "accuracy @ ratio(positive-rate, sex)>=0.8"),
        ("accuracy @ gap(recall, sex)<=0.02", "accuracy @ gap(recall, sex)<=0.02"),
    ] {
        let goal = parse(text);
        assert_eq!(goal.to_string(), printed);
        assert_eq!(parse(printed), goal);
    }
}

#[test]
fn goals_parse_to_the_data_they_say() {
    let fpr = Rate::FalsePositiveRate;
    let most = Goal::improve(Rate::Recall).under(Constraint::at_most(fpr, 0.01));
    assert_eq!(parse("recall @ fpr<=1%"), most);
    let exactly = Goal::improve(Rate::FalseNegativeRate).under(Constraint::equal(fpr, 0.01));
    assert_eq!(parse("fnr @ fpr=0.01"), exactly);
    assert_eq!(parse("roc-auc"), Goal::improve(Area::whole(Curve::Roc)));
    assert_eq!(parse("roc-auc @ fpr in 0..1"), Goal::improve(Area::whole(Curve::Roc)));
    assert_eq!(parse("pr-auc"), Goal::improve(Area::whole(Curve::PrecisionRecall)));
    let range = Area { curve: Curve::PrecisionRecall, axis: Rate::Precision, from: 0.5, to: 0.9 };
    assert_eq!(parse("pr-auc @ precision in 50%..0.9"), Goal::improve(range));
    let top = Constraint::Top(Top::Count { k: 100, of: Some(5000) });
    assert_eq!(parse("precision @ k=100 of 5000"), Goal::improve(Rate::Precision).under(top));
    let group = Constraint::at_most(Rate::FalsePositiveRate, 0.02).per_group("sex");
    assert_eq!(parse("recall @ fpr(sex)<=2%"), Goal::improve(Rate::Recall).under(group));
    assert_eq!(parse("f0.5"), Goal::improve(Rate::FBeta(0.5)));
    assert_eq!(parse("f-beta(0.5) @ fbeta(2)(sex)>=0.5").objective, Objective::Rate(Rate::FBeta(0.5)));
}

#[test]
fn case_spaces_and_other_spellings_do_not_matter() {
    for (text, short) in [
        ("  RECALL@FPR<=1%  ", "recall @ fpr<=1%"),
        ("tpr @ fpr ≤ 1 %", "recall @ fpr<=1%"),
        ("sensitivity @ specificity >= .99", "recall @ tnr>=0.99"),
        ("ppv\n@\ttpr ≥ 95%", "precision @ recall>=0.95"),
        ("fnr @ fpr == 1e-2", "fnr @ fpr=1%"),
        ("Balanced_Accuracy @ Positive_Rate<=0.1", "balanced-accuracy @ positive-rate<=10%"),
        ("ROC-AUC @ TPR IN 80% .. 100%", "roc-auc @ recall in 0.8..1"),
        ("precision @ K = 100 OF 5000", "precision @ k=100 of 5000"),
        ("accuracy @ GAP(recall,Sex)<=2%", "accuracy @ gap(recall, Sex)<=0.02"),
        ("f1-score", "f1"),
        ("error @ positive-rate>=5%, positive-rate<=10%", "error @ positive-rate>=5%, positive-rate<=10%"),
        ("recall @ fpr('marital status')<=1%", "recall @ fpr(\"marital status\")<=1%"),
        ("for @ npv(sex)>=0.9", "for @ npv(sex)>=0.9"),
        ("recall @ fpr<=0.3%", "recall @ fpr<=0.3%"),
        ("recall @ fpr<=1e-7", "recall @ fpr<=1e-7"),
        ("recall @ fpr<=1%, fpr(sex)<=2%", "recall @ fpr<=1%, fpr(sex)<=2%"),
    ] {
        assert_eq!(parse(text).to_string(), short, "{text:?}");
    }
}

#[test]
fn text_that_is_no_goal_is_told_what_belongs_there() {
    let rate = "expected a rate such as recall, found";
    let condition = "expected a condition such as fpr<=1%, found";
    for (text, message, place) in [
        ("", format!("{rate} the end"), ""),
        ("  ", format!("{rate} the end"), ""),
        ("@ fpr<=1%", format!("{rate} \"@\""), "@"),
        ("recall @", format!("{condition} the end"), ""),
        ("recall @ fpr<=1%,", format!("{condition} the end"), ""),
        ("recall @ k=1,000", format!("{condition} \"000\""), "000"),
        ("recall fpr<=1%", "expected \"@\" or the end, found \"fpr\"".into(), "fpr"),
        ("recall(sex) @ fpr<=1%", "recall of a class is for labels of several classes".into(), "("),
        ("recall @ fpr", "expected <=, >= or =, found the end".into(), ""),
        ("recall @ fpr<=", "expected a number such as 0.05 or 5%, found the end".into(), ""),
        ("recall @ fpr<=nan", "expected a number such as 0.05 or 5%, found \"nan\"".into(), "nan"),
        ("recall @ fpr<=1% and npv>=0.9", "expected \",\" or the end, found \"and\"".into(), "and"),
        ("recall @ fpr<=1%; npv>=0.9", "expected \",\" or the end, found \";\"".into(), ";"),
        ("precision @ k<=100", "expected \"=\", found \"<=\"".into(), "<="),
        ("precision @ k=all", "expected a number of examples, found \"all\"".into(), "all"),
        ("roc-auc fpr in 0..5%", "expected \"@\" or the end, found \"fpr\"".into(), "fpr"),
        ("roc-auc @ fpr", "expected \"in\" and a range, found the end".into(), ""),
        ("roc-auc @ fpr in 0-5%", "expected \"..\", found \"-5%\"".into(), "-5%"),
        ("recall @ fpr()<=1%", "expected a name (in quotes unless it is one word), found \")\"".into(), ")"),
        (
            "recall @ fpr(marital status)<=1%",
            "expected \")\" (a name of several words goes in quotes), found \"status\"".into(),
            "status",
        ),
        ("accuracy @ gap(recall)<=1%", "expected \",\" and a column, found \")\"".into(), ")"),
        ("recall @ fpr(\"sex)<=1%", "the quote that begins here has no end".into(), "\"sex)<=1%"),
    ] {
        assert_eq!(fault(text), (message, place.to_owned()), "{text:?}");
    }
}

#[test]
fn common_slips_are_explained() {
    for (text, message, place) in [
        ("recal @ fpr<=1%", "unknown rate \"recal\"; did you mean recall?", "recal"),
        ("auc @ fpr in 0..5%", "unknown rate \"auc\"; did you mean roc-auc?", "auc"),
        ("recall @ frp<=1%", "unknown rate \"frp\"; did you mean fpr?", "frp"),
        ("recall @ gpa(recall, sex)<=1%", "unknown rate \"gpa\"; did you mean gap?", "gpa"),
        (
            "banana",
            "unknown rate \"banana\"; known are recall, fnr, fpr, tnr, precision, fdr, npv, for, accuracy, error, balanced-accuracy, f1, positive-rate",
            "banana",
        ),
        (
            "recall @ fpr<1%",
            "\"<\" is not a relation of goals; write \"<=\", which includes the target itself",
            "<",
        ),
        (
            "recall @ npv>0.9",
            "\">\" is not a relation of goals; write \">=\", which includes the target itself",
            ">",
        ),
        (
            "fpr<=1%",
            "a goal begins with what to improve, as in \"recall @ fpr<=1%\"; this is a condition",
            "fpr<=",
        ),
        ("k=100", "a goal begins with what to improve, as in \"recall @ fpr<=1%\"; this is a condition", "k"),
        (
            "gap(recall, sex)<=0.02",
            "a goal begins with what to improve, as in \"recall @ fpr<=1%\"; this is a condition",
            "gap",
        ),
        (
            "recall @ roc-auc>=0.9",
            "roc-auc can be improved but not held; make it the objective, as in \"roc-auc\"",
            "roc-auc",
        ),
        (
            "roc-auc @ fpr<=5%",
            "roc-auc takes a range, not a condition; write \"roc-auc @ fpr in 0..5%\"",
            "fpr<=",
        ),
        ("pr-auc @ k=5", "pr-auc takes a range, not a condition; write \"pr-auc @ recall in 0.95..1\"", "k"),
        (
            "recall @ fpr in 0..5%, npv>=0.9",
            "a range goes with an area, as in \"roc-auc @ fpr in 0..5%\"; elsewhere write <=, >= or =",
            "fpr in 0..5%",
        ),
        ("f-beta", "f-beta needs its beta: write f1, f2, f0.5 or f-beta(3)", "f-beta"),
        ("f1 @ f-beta(sex)>=0.5", "f-beta needs its beta: write f1, f2, f0.5 or f-beta(3)", "f-beta"),
        ("recall @ fpr<=150%", "150% is more than 100%", "150%"),
        (
            "precision @ k=2.5",
            "\"2.5\" is not a whole number of examples; for a share of them write top=5%",
            "2.5",
        ),
        (
            "precision @ k=5%",
            "\"5%\" is not a whole number of examples; for a share of them write top=5%",
            "5%",
        ),
        (
            "precision @ k=99999999999999999999",
            "\"99999999999999999999\" is not a whole number of examples; for a share of them write top=5%",
            "99999999999999999999",
        ),
        (r#"recall @ fpr("a\x")<=1%"#, r#"unknown escape; known are \" \' \\ \n \r \t and \u{e9}"#, r"\x"),
    ] {
        assert_eq!(fault(text), (message.to_owned(), place.to_owned()), "{text:?}");
    }
}

#[test]
fn words_in_the_place_of_signs_get_the_goal_of_what_was_typed() {
    for (text, meant) in [
        ("recall at fpr < 5%", Some("recall @ fpr<=5%")),
        ("recall with fpr<=1% and npv>0.9", Some("recall @ fpr<=1%, npv>=0.9")),
        ("Precision where recall above 90%", Some("precision @ recall>=0.9")),
        ("recall @ fpr<5%", Some("recall @ fpr<=5%")),
        ("recall @ frp<=1%", None),
        ("recall", None),
        ("", None),
    ] {
        assert_eq!(error(text).meant().as_deref(), meant, "{text:?}");
    }
    let said = "goal \"recall at fpr<=5%\": expected \"@\" or the end, found \"at\"; did you mean \"recall @ fpr<=5%\"?\n";
    assert!(error("recall at fpr<=5%").to_string().starts_with(said));
}

#[test]
fn forms_to_come_say_so() {
    for (text, message, place) in [
        ("precision @ k=10 per query", "a goal per query needs rows that come in queries", "per query"),
        ("recall @ k=10 per query", "a goal per query needs rows that come in queries", "per query"),
        ("recall @ k=10 per", "a goal per query needs rows that come in queries", "per"),
        ("roc-auc per query", "a goal per query needs rows that come in queries", "per query"),
    ] {
        assert_eq!(fault(text), (message.to_owned(), place.to_owned()), "{text:?}");
        assert!(matches!(error(text).kind, ParseErrorKind::PerQuery { .. }));
    }
}

#[test]
fn broken_rules_are_pointed_at() {
    for (text, place) in [
        ("recall @ fpr<=1.5", "1.5"),
        ("recall @ fpr(sex)>=1%", ">="),
        ("positive-rate @ fpr<=1%", "positive-rate"),
        ("recall", "recall"),
        ("recall @ fpr<=1%, recall>=0.9", "recall>=0.9"),
        ("recall @ fpr(sex)<=1%, fpr(race)<=1%", "race"),
        ("recall @ fpr(\"\")<=1%", "\"\""),
        ("roc-auc @ fpr in 0..5%, recall >= 0.9", "recall >= 0.9"),
        ("roc-auc @ precision in 0..5%", "precision"),
        ("roc-auc @ fpr in 5%..1%", "5%..1%"),
        ("precision @ k=100 of 50", "100 of 50"),
        ("precision @ k=0", "0"),
        ("precision @ recall>=0.9, top=5%", "top=5%"),
        ("recall @ fpr<=1%, fpr <= 2%", "fpr <= 2%"),
        ("f0", "f0"),
        ("f-beta(-1)", "f-beta(-1)"),
        ("recall @ f-2>=0.5", "f-2"),
    ] {
        let (_, found) = fault(text);
        assert_eq!(found, place, "{text:?}");
        assert!(matches!(error(text).kind, ParseErrorKind::Goal(_)), "{text:?}");
    }
}

#[test]
fn conditions_parse_without_an_objective() {
    let conditions = parse_conditions("fpr<=1%, recall(sex)>=0.9").unwrap();
    assert_eq!(
        conditions,
        [
            Constraint::at_most(Rate::FalsePositiveRate, 0.01),
            Constraint::at_least(Rate::Recall, 0.9).per_group("sex"),
        ]
    );
    for (text, printed) in [
        ("", "conditions \"\": expected a condition such as fpr<=1%, found the end\n  \n  ^"),
        ("fpr>=1%", "conditions \"fpr>=1%\": fpr is better low: write fpr<=1% or fpr=1%\n  fpr>=1%\n     ^^"),
        (
            "recall @ fpr<=1%",
            "conditions \"recall @ fpr<=1%\": expected <=, >= or =, found \"@\"\n  recall @ fpr<=1%\n         ^",
        ),
    ] {
        assert_eq!(parse_conditions(text).unwrap_err().to_string(), printed);
    }
}

#[test]
fn rates_parse_by_themselves() {
    assert_eq!("TPR".parse(), Ok(Rate::Recall));
    assert_eq!(" f0.5 ".parse(), Ok(Rate::FBeta(0.5)));
    assert!("f0".parse::<Rate>().is_err());
    let error = "fpr<=1%".parse::<Rate>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "rate \"fpr<=1%\": expected nothing more, found \"<=\"\n  fpr<=1%\n     ^^"
    );
}

#[test]
fn an_error_prints_its_message_then_the_place() {
    for (text, printed) in [
        (
            "recall @ fpr<=1.5",
            "goal \"recall @ fpr<=1.5\": target fpr 1.5 is outside (0, 1); write 1.5% as 0.015 or 1.5%\n  recall @ fpr<=1.5\n                ^^^",
        ),
        (
            "recall @ fpr(größe)≤2",
            "goal \"recall @ fpr(größe)≤2\": target fpr(größe) 2 is outside (0, 1); write 2% as 0.02 or 2%\n  recall @ fpr(größe)≤2\n                      ^",
        ),
        (
            "recall\n@\nfpr",
            "goal \"recall\\n@\\nfpr\": expected <=, >= or =, found the end\n  recall @ fpr\n              ^",
        ),
    ] {
        assert_eq!(error(text).to_string(), printed);
    }
}

#[test]
fn long_names_do_not_drown_the_message() {
    let column = "x".repeat(10_000);
    for text in [
        format!("recall @ fpr({column})<=2"),
        format!("recall @ fpr({column})>=2%"),
        format!("recall @ fpr({column})<=2%, fpr({column}y)<=1%"),
        format!("recall @ fpr({column})<=2%, fpr({column})<=1%"),
        format!("roc-auc @ fpr in 0..1, fpr({column})<=2%"),
        column.clone(),
    ] {
        let printed = error(&text).to_string();
        assert!(printed.chars().count() < 600, "{printed}");
    }
}

/// What must hold for any text at all.
fn holds_for(text: &str) -> Result<(), TestCaseError> {
    for outcome in
        [text.parse::<Goal>().map(|goal| goal.to_string()), parse_conditions(text).map(|_| String::new())]
    {
        let Err(error) = outcome else { continue };
        let span = error.span.clone();
        prop_assert!(text.get(span.clone()).is_some(), "{:?} of {:?}", span, text);
        let printed = error.to_string();
        let lines: Vec<&str> = printed.split('\n').collect();
        prop_assert_eq!(lines.len(), 3, "{}", printed);
        prop_assert!(lines[0].chars().count() < 400, "{}", printed);
        prop_assert!(lines[1].chars().count() <= 80 && lines[2].chars().count() <= 80, "{}", printed);
        prop_assert!(
            lines[2].trim_start().chars().all(|c| c == '^') && lines[2].contains('^'),
            "{}",
            printed
        );
    }
    if let Ok(goal) = text.parse::<Goal>() {
        prop_assert_eq!(goal.check(), Ok(()));
        prop_assert_eq!(goal.to_string().parse::<Goal>(), Ok(goal));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn goals_print_as_text_that_parses_back(goal in goals()) {
        prop_assert_eq!(goal.check(), Ok(()));
        let text = goal.to_string();
        prop_assert_eq!(text.parse::<Goal>(), Ok(goal), "{}", text);
        prop_assert_eq!(text.parse::<Goal>().unwrap().to_string(), text);
    }

    #[test]
    fn conditions_print_as_text_that_parses_back(goal in goals()) {
        let texts: Vec<String> = goal.constraints.iter().map(ToString::to_string).collect();
        if !texts.is_empty() {
            prop_assert_eq!(parse_conditions(&texts.join(", ")), Ok(goal.constraints));
        }
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        holds_for(&text)?;
    }

    #[test]
    fn no_string_of_words_and_signs_panics(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "recall", "fpr", "@", "<=", ">=", "=", "<", "≤", "k", "top", "of", "in", "per", "query", "gap", "ratio",
            "(", ")", ",", "..", ".", "1", "0.5", "5%", "%", "-", "e", "\"", "'", "\\", "sex", "roc-auc", "pr-auc",
            "f", "f1", "f-beta", " ", "\n", "ß", "日", "\u{0}",
        ]), 0..24),
    ) {
        holds_for(&pieces.concat())?;
        holds_for(&pieces.join(" "))?;
    }

    #[test]
    fn no_damaged_goal_panics(
        goal in goals(),
        edits in prop::collection::vec((any::<Index>(), any::<Index>(), any::<char>(), 0u8..4), 1..4),
    ) {
        let mut chars: Vec<char> = goal.to_string().chars().collect();
        for (at, other, c, edit) in edits {
            let (at, other) = (at.index(chars.len() + 1), other.index(chars.len() + 1));
            match edit {
                0 => chars.insert(at, c),
                1 => chars.truncate(at.max(1)),
                2 => drop(chars.drain(at.min(other)..at.max(other))),
                _ => chars.extend_from_within(at.min(other)..at.max(other)),
            }
        }
        holds_for(&chars.into_iter().collect::<String>())?;
    }
}
