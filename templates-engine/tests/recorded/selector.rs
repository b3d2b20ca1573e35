//! Label selectors against `k8s.io/apimachinery`: the same error texts, the same matches.

use crate::tally::Tally;
use reeve_go_compat::labels::Selector;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Case {
    s: String,
    e: Option<String>,
    #[serde(default)]
    m: Vec<bool>,
}

#[test]
fn every_recorded_selector_reads_and_matches_as_the_api_machinery_does() {
    let sets = [
        json!({}),
        json!({"a": "b"}),
        json!({"a": "c", "x": "1"}),
        json!({"env": "prod", "tier": "5"}),
        json!({"x/y": "z", "a": ""}),
        json!({"tier": "12"}),
    ];
    let mut tally = Tally::default();
    for line in crate::cases::fixture("selector.jsonl").lines() {
        let case: Case = serde_json::from_str(line).expect("a recorded case");
        let got = Selector::parse(&case.s).map(|selector| {
            sets.iter()
                .map(|labels| selector.matches_object(&json!({"metadata": {"labels": labels}})))
                .collect::<Vec<_>>()
        });
        let expected = match case.e {
            Some(error) => Err(error),
            None => Ok(case.m),
        };
        tally.count(got == expected, || {
            format!("{:?}\n want {expected:?}\n got  {got:?}", case.s)
        });
    }
    tally.finish("selectors");
}
