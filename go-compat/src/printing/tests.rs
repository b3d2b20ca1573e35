use super::{display, sprint, sprintf};
use crate::value::Value;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

#[test]
fn sprint_separates_operands_that_are_not_strings() {
    let values = [
        Value::Int(1),
        Value::Int(2),
        Value::from("a"),
        Value::from("b"),
        Value::Int(3),
    ];
    assert_eq!(text(sprint(&values)), "1 2ab3");
}

#[test]
fn floats_switch_to_exponents_where_go_does() {
    for (float, expected) in [
        (100_000.0, "100000"),
        (1_000_000.0, "1e+06"),
        (123_456_789.0, "1.23456789e+08"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5, "1.5"),
        (-0.0, "-0"),
        (1e20, "1e+20"),
        (2_007_201_511_557_284.3, "2.0072015115572842e+15"),
    ] {
        assert_eq!(text(display(&Value::Float(float))), expected);
    }
}

#[test]
fn huge_width_is_refused() {
    let printed = sprintf(b"%99999999d", &[Value::Int(1)], 1000).expect("short");
    assert_eq!(text(printed), "%!(NOVERB)%!(EXTRA int=1)");
    assert_eq!(sprintf(b"%9999999d", &[Value::Int(1)], 1000), None);
}

#[test]
fn huge_precision_is_filled_with_zeros() {
    let most = 1_000_000;
    for (format, value, start, length) in [
        ("%.1000000f", Value::Float(1.5), "1.5000", most + 2),
        ("%.1000000e", Value::Float(1.5), "1.5000", most + 6),
        ("%.1000000g", Value::Float(1.5), "1.5", 3),
        ("%#.1000000g", Value::Float(1.5), "1.5000", most + 1),
        ("%.1000000x", Value::Float(1.5), "0x1.8000", most + 8),
        ("%.1000000U", Value::Int(1), "U+0000", most + 2),
        ("%.1000000d", Value::Int(1), "0000", most),
        ("%01000000d", Value::Int(1), "0000", most),
        ("%.1000000f", Value::Float(5e-324), "0.0000", most + 2),
    ] {
        let printed = sprintf(format.as_bytes(), &[value], usize::MAX).expect("no limit");
        assert_eq!(printed.len(), length, "{format}");
        assert!(printed.starts_with(start.as_bytes()), "{format}");
    }
}

#[test]
fn width_on_every_item_stops_at_the_limit() {
    let items = Value::list((0..1_000_000).map(Value::Int));
    for format in [
        "%1000000d",
        "%01000000d",
        "%.1000000d",
        "%-1000000v",
        "%.1000000f",
    ] {
        assert_eq!(
            sprintf(format.as_bytes(), std::slice::from_ref(&items), 1 << 22),
            None
        );
    }
}
