//! The data sets described in the shared data directory's README, as they are.
//!
//! Set `SETPOINT_DATA` to that directory; without it these tests say so and pass.

use std::path::PathBuf;

use setpoint_data::{Dataset, Encoder, Positive, ReadOptions, Roles, Table, list};

use super::{all_rows, label};

/// The file, if the directory was given.
fn path(file: &str) -> Option<PathBuf> {
    match std::env::var_os("SETPOINT_DATA") {
        Some(directory) => Some(PathBuf::from(directory).join(file)),
        None => {
            eprintln!("SKIPPED {file}: set SETPOINT_DATA to the data directory to read it");
            None
        }
    }
}

fn roles(column: &str, positive: &str) -> Roles {
    Roles { positive: positive.parse().unwrap(), ..label(column) }
}

fn read(file: &str, roles: &Roles) -> Option<Table> {
    let table = Table::read(&path(file)?, &ReadOptions::default(), roles);
    Some(table.unwrap_or_else(|error| panic!("{error}")))
}

fn positives(table: &Table) -> usize {
    table.labels().unwrap().iter().filter(|label| **label).count()
}

/// Rows, features in the file and positives; returns the encoded data.
fn expect(
    file: &str,
    roles: &Roles,
    rows: usize,
    columns: usize,
    positive: usize,
) -> Option<(Encoder, Dataset)> {
    let table = read(file, roles)?;
    assert_eq!((table.rows(), table.columns(), positives(&table)), (rows, columns, positive), "{file}");
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let data = encoder.encode(table).unwrap();
    assert_eq!((data.features.rows(), data.features.columns()), (rows, encoder.columns()));
    data.features.check().unwrap();
    Some((encoder, data))
}

/// Another file read for the first one's encoder.
fn expect_test(file: &str, roles: &Roles, encoder: &Encoder, rows: usize, positive: usize) -> Dataset {
    let path = path(file).unwrap();
    let table = Table::read_for(&path, &ReadOptions::default(), roles, encoder).unwrap();
    assert_eq!((table.rows(), positives(&table)), (rows, positive), "{file}");
    let data = encoder.encode(table).unwrap();
    assert_eq!(data.features.columns(), encoder.columns());
    data
}

#[test]
fn letter() {
    let roles = roles("1", "U");
    let Some((encoder, _)) = expect("letter-recognition.data", &roles, 20_000, 16, 813) else { return };
    assert_eq!(encoder.feature_names()[0], "2");
}

#[test]
fn ijcnn1() {
    let Some((encoder, data)) = expect("ijcnn1.gz", &Roles::default(), 49_990, 22, 4_853) else { return };
    let sparse = data.features.entries().unwrap();
    assert!(sparse.values.len() <= 13 * 49_990);
    expect_test("ijcnn1.t.gz", &Roles::default(), &encoder, 91_701, 8_712);
}

#[test]
fn adult() {
    let roles = roles("15", ">50K");
    let Some((encoder, data)) = expect("adult.data", &roles, 32_561, 14, 7_841) else { return };
    // 6 numbers, 99 categories that occur, and 3 columns with missing values.
    assert_eq!(data.features.columns(), 6 + 99 + 3);
    // The rule comes with the encoder, and matches in spite of the full stop.
    let test = expect_test("adult.test", &label("15"), &encoder, 16_281, 3_846);
    assert!(test.notes.unseen_categories.is_empty());
    expect("adult.test", &roles, 16_281, 14, 3_846);
    let undecided = Table::read(&path("adult.data").unwrap(), &ReadOptions::default(), &label("15"));
    assert!(undecided.unwrap_err().to_string().contains("\">50K\" (7841 rows); say which is positive"));
}

#[test]
fn a9a() {
    let Some((encoder, _)) = expect("a9a", &Roles::default(), 32_561, 123, 7_841) else { return };
    let test = expect_test("a9a.t", &Roles::default(), &encoder, 16_281, 3_846);
    assert_eq!(test.features.columns(), 123);
}

#[test]
fn spambase() {
    expect("spambase.data", &label("58"), 4_601, 57, 1_813);
}

#[test]
fn communities() {
    let wanted = |positive| Roles { drop: list("1-5"), missing: Some(list("?")), ..roles("128", positive) };
    let Some((encoder, _)) = expect("communities.data", &wanted(">0.28"), 1_994, 122, 583) else { return };
    assert_eq!(encoder.columns(), 122 + 23);
    expect("communities.data", &wanted(">=0.28"), 1_994, 122, 608);
    // Column 4 is the name of the community: of 1,828 names few come again.
    let all = read("communities.data", &roles("128", ">0.28")).unwrap();
    let names = Encoder::fit(&all, &all_rows(&all)).unwrap().feature_names();
    assert!(names.contains(&"4 is rare".to_owned()) && names.contains(&"4=Springfieldcity".to_owned()));
}

#[test]
fn communities_unnormalised() {
    let roles = Roles { drop: list("1-5,130-145,147"), ..roles("146", ">673.689") };
    let file = "CommViolPredUnnormalizedData.txt";
    let Some((_, data)) = expect(file, &roles, 1_994, 124, 598) else { return };
    assert_eq!(data.notes.unlabelled, 221);
}

#[test]
fn compas() {
    let identifiers = "id,name,first,last,compas_screening_date,dob,c_jail_in,c_jail_out,c_case_number,\
                       c_offense_date,c_arrest_date,c_charge_desc,r_case_number,r_offense_date,r_charge_desc,\
                       r_jail_in,r_jail_out,vr_case_number,vr_offense_date,vr_charge_desc,screening_date,\
                       v_screening_date,in_custody,out_custody,event,is_recid";
    let roles = Roles { drop: list(identifiers), group: Some("race".into()), ..label("two_year_recid") };
    let file = "compas-scores-two-years.csv";
    let Some(table) = read(file, &roles) else { return };
    assert_eq!((table.rows(), positives(&table)), (7_214, 3_251));
    assert_eq!(table.groups().unwrap().names.len(), 6);
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let names = encoder.feature_names();
    assert!(
        names.contains(&"priors_count.2".to_owned())
            || encoder.constant.contains(&"priors_count.2".to_owned())
    );
    let all = read(file, &label("two_year_recid")).unwrap();
    let left_out = Encoder::fit(&all, &all_rows(&all)).unwrap().identifiers;
    assert!(left_out.contains(&"c_case_number".to_owned()), "{left_out:?}");
    let roles = Roles { split_time: Some("compas_screening_date".into()), ..roles };
    assert!(read(file, &roles).unwrap().times().is_some());
}

#[test]
fn kddcup() {
    let attack = roles("42", "!=normal.");
    let Some((encoder, _)) = expect("kddcup.data_10_percent.gz", &attack, 494_021, 41, 396_743) else {
        return;
    };
    expect("kddcup.data_10_percent.gz", &roles("42", "ipsweep,nmap,portsweep,satan"), 494_021, 41, 4_107);
    let data = expect_test("corrected.gz", &label("42"), &encoder, 311_029, 250_436);
    assert_eq!(data.notes.unseen_categories.len(), 1, "{:?}", data.notes);
}

#[test]
fn shuttle() {
    let Some((encoder, _)) = expect("shuttle.trn", &roles("10", "!=1"), 43_500, 9, 43_500 - 34_108) else {
        return;
    };
    expect_test("shuttle.tst", &label("10"), &encoder, 14_500, 14_500 - 11_478);
}

#[test]
fn satellite() {
    let Some(train) = read("sat.trn", &roles("37", "4")) else { return };
    let test = read("sat.tst", &roles("37", "4")).unwrap();
    assert_eq!((train.rows(), train.columns(), test.rows(), test.columns()), (4_435, 36, 2_000, 36));
    assert_eq!(positives(&train) + positives(&test), 626);
}

#[test]
fn pendigits() {
    let Some(train) = read("pendigits.tra", &roles("17", "0")) else { return };
    assert_eq!((train.rows(), train.columns()), (7_494, 16));
    let test = read("pendigits.tes", &roles("17", "0")).unwrap();
    assert_eq!((test.rows(), test.columns()), (3_498, 16));
}

#[test]
fn ohsumed() {
    let relevant = Roles { positive: ">=1".parse::<Positive>().unwrap(), ..Roles::default() };
    let train = expect("OHSUMED-Fold1/trainingset.txt.gz", &relevant, 9_219, 25, 3_167);
    let Some((encoder, data)) = train else { return };
    assert_eq!(data.queries.unwrap().names.len(), 63);
    let validation = Table::read_for(
        &path("OHSUMED-Fold1/validationset.txt.gz").unwrap(),
        &ReadOptions::default(),
        &Roles::default(),
        &encoder,
    );
    let validation = validation.unwrap();
    assert_eq!((validation.rows(), validation.queries().unwrap().names.len()), (3_538, 21));
    let test = read("OHSUMED-Fold1/testset.txt.gz", &relevant).unwrap();
    assert_eq!((test.rows(), test.queries().unwrap().names.len()), (3_383, 22));
    assert_eq!((positives(&validation), positives(&test)), (1_081, 589));
}

#[test]
fn mq2008() {
    let relevant = Roles { positive: ">=1".parse::<Positive>().unwrap(), ..Roles::default() };
    // Of 46 columns, six are 0 throughout.
    let Some((_, data)) = expect("MQ2008-Fold1/test.txt.gz", &relevant, 2_874, 40, 555) else { return };
    assert_eq!(data.queries.unwrap().names.len(), 156);
}

#[test]
fn hashes_are_those_of_the_readme() {
    let Some(path) = path("letter-recognition.data") else { return };
    let options = ReadOptions { hash: true, ..ReadOptions::default() };
    let table = Table::read(&path, &options, &roles("1", "U")).unwrap();
    assert_eq!(table.hash(), Some("2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2"));
}
