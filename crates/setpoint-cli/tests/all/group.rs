//! Goals by group: rates with intervals, and what the file then needs.

use crate::data::shop;
use crate::{directory, setpoint, write};

/// Trains on the shop's table and returns the record and the report.
fn train(home: &std::path::Path, more: &[&str]) -> (serde_json::Value, String) {
    let base = ["train", "shop.csv", "--label", "bought", "--json", "-o", "m"];
    let run = setpoint(home, &[&base[..], more].concat()).ok();
    (run.json(), run.stderr)
}

#[test]
fn rates_by_group_stand_beside_their_intervals() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 8));
    let split = "train=0.5,validation=0.2,calibration=0.2,test=0.1";
    for (more, part, alike) in [
        (&["--goal", "recall @ fpr(sex)<=10%", "--split", split][..], "test", false),
        // A goal over all rows shows the groups too, where they are named.
        (&["--goal", "recall @ fpr<=10%", "--group", "sex"][..], "calibration", true),
    ] {
        let (record, text) = train(home.path(), more);
        assert_eq!(record["group_rates_from"], part);
        let groups = record["group_rates"].as_array().unwrap();
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0]["threshold"] == groups[1]["threshold"], alike);
        let rows: u64 = groups.iter().map(|group| group["rows"].as_u64().unwrap()).sum();
        assert_eq!(rows, record["rows"][part].as_u64().unwrap());
        for group in groups {
            for rate in group["rates"].as_array().unwrap() {
                let value = rate["value"].as_f64().unwrap();
                let (low, high) = (&rate["interval"]["lower"], &rate["interval"]["upper"]);
                assert!(low.as_f64().unwrap() <= value && value <= high.as_f64().unwrap(), "{rate}");
                assert_eq!(rate["interval"]["method"], "Clopper-Pearson");
            }
        }
        assert!(text.contains(&format!("on the {part} part, by group, with 95% intervals\nsex")), "{text}");
    }
    let (record, _) = train(home.path(), &["--goal", "recall @ fpr<=10%"]);
    assert_eq!(record["group_rates"], serde_json::json!([]));
    assert!(record["group_rates_from"].is_null());
}
