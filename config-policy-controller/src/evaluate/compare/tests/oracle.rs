//! What Go prints and parses, from the committed answers of `tests/oracle`.

use serde_json::Value;

use crate::evaluate::compare::{is_quantity, same_amount, sprint};

fn answers(text: &str) -> Vec<(Value, Value)> {
    let entries: Vec<Value> = serde_json::from_str(text).unwrap();
    entries
        .into_iter()
        .map(|mut entry| (entry["input"].take(), entry["answer"].take()))
        .collect()
}

#[test]
fn values_print_as_go_prints_them() {
    for (input, answer) in answers(include_str!(
        "../../../../tests/oracle/fixtures/sprint.json"
    )) {
        assert_eq!(sprint(&input), answer.as_str().unwrap(), "{input}");
    }
}

#[test]
fn quantities_are_those_of_kubernetes() {
    for (input, answer) in answers(include_str!(
        "../../../../tests/oracle/fixtures/quantity.json"
    )) {
        let (left, right) = (input[0].as_str().unwrap(), input[1].as_str().unwrap());
        let has_digits = |text: &str| text.contains(|c: char| c.is_ascii_digit());
        // A text without digits is a word, whatever Kubernetes makes of it.
        let expected = |text: &str, parses: &Value| parses.as_bool().unwrap() && has_digits(text);
        assert_eq!(is_quantity(left), expected(left, &answer[0]), "{left:?}");
        assert_eq!(is_quantity(right), expected(right, &answer[1]), "{right:?}");
        if has_digits(left) && has_digits(right) {
            assert_eq!(
                same_amount(left, right),
                answer[2].as_bool().unwrap(),
                "{left:?} {right:?}"
            );
        }
    }
}
